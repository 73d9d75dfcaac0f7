package policy

import "sync"

// Digests keeps results that stages compute from recorded texts alone, so that replays of one conversation under many
// policies compute them once. A nil *Digests keeps nothing. Several goroutines may use one.
type Digests struct {
	mu   sync.RWMutex
	kept map[digestKey]any
	room int // bytes that may still be kept
}

// digestKey names a digest and its block.
type digestKey struct {
	what string
	at   Target
}

// NewDigests keeps digests of about room bytes in all. Later ones are computed each time.
func NewDigests(room int) *Digests { return &Digests{kept: map[digestKey]any{}, room: room} }

// DigestsOf is the digests for a block that no edit has replaced, nil for any other.
func (c *Context) DigestsOf(t Target) *Digests {
	if t.Item < 0 || c.View.Replacement(t) != nil {
		return nil
	}
	return c.Digests
}

// digestCost is what keeping a digest takes beside its own bytes, about.
const digestCost = 128

// Digest is the result of work on a recorded block: the one kept from before, or a new one, which it keeps. what
// names the digest, which may depend on the block's recorded text alone; callers do not change it. size is in bytes.
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
