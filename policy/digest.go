package policy

import "sync"

// Digests keeps what stages work out from recorded texts alone, so that
// replays of one conversation under many policies do it once. A nil *Digests
// keeps nothing. Several goroutines may use one.
type Digests struct {
	mu   sync.RWMutex
	kept map[digestKey]any
	room int // bytes that may still be kept
}

// digestKey is what was worked out, and of which block.
type digestKey struct {
	what string
	at   Target
}

// NewDigests keeps digests of about so many bytes in all; what comes after
// them is worked out each time.
func NewDigests(room int) *Digests {
	return &Digests{kept: map[digestKey]any{}, room: room}
}

// DigestsOf keeps what is made of a block that stands in the view as it was
// recorded; it is nil of any other.
func (c *Context) DigestsOf(t Target) *Digests {
	if t.Item < 0 || c.View.Replacement(t) != nil {
		return nil
	}
	return c.Digests
}

// digestCost is what keeping a digest takes beside its own bytes, about.
const digestCost = 128

// Digest is what work makes of a recorded block: kept from before, or made now
// and kept. what names the digest; it must depend on the block's recorded text
// and on nothing else, and nobody may change it. work gives its size in bytes,
// too.
func Digest[T any](d *Digests, what string, at Target, work func() (digest T, size int, err error)) (T, error) {
	if d == nil {
		digest, _, err := work()
		return digest, err
	}
	key := digestKey{what, at}
	d.mu.RLock()
	kept, ok := d.kept[key]
	d.mu.RUnlock()
	if ok {
		return kept.(T), nil
	}
	digest, size, err := work()
	if err != nil {
		return digest, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if size += digestCost; size <= d.room {
		if _, ok := d.kept[key]; !ok {
			d.room -= size
			d.kept[key] = digest
		}
	}
	return digest, nil
}
