package policy

import "sync"

// Digests keeps results that stages compute from recorded texts alone, so that replays of one conversation under many
// policies, and compactions that read the same messages, compute them once. A nil *Digests keeps nothing. Several
// goroutines may use one.
type Digests struct {
	mu         sync.Mutex
	of         map[digestKey]any
	most, room int // bytes that may be kept, and may still be
}

// digestKey names a digest and its block.
type digestKey struct {
	what string
	at   Target
}

// NewDigests keeps digests of about so many bytes in all. Where they take more, it forgets those it has.
func NewDigests(most int) *Digests {
	return &Digests{of: map[digestKey]any{}, most: most, room: most}
}

func (d *Digests) get(key digestKey) (digest any, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	digest, ok = d.of[key]
	return digest, ok
}

func (d *Digests) put(key digestKey, digest any, size int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if size > d.most {
		return
	}
	if size > d.room {
		clear(d.of)
		d.room = d.most
	}
	d.of[key] = digest
	d.room -= size
}

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
	if kept, ok := d.get(key); ok {
		return kept.(T), nil
	}
	digest, size, err := work()
	if err == nil {
		d.put(key, digest, size+digestCost)
	}
	return digest, err
}
