package policy

import "sync"

// Digests keeps results that stages compute from recorded texts alone, so that replays of one conversation under many
// policies, and compactions that read the same messages, compute them once. A nil *Digests keeps nothing. Several
// goroutines may use one.
type Digests struct {
	mu          sync.RWMutex
	first       keptDigests // they stay
	now, before keptDigests // of the later ones those of late; before is what now was when it was full
	recent      int         // bytes of either
}

// keptDigests are digests, and the bytes that may still be kept.
type keptDigests struct {
	of   map[digestKey]keptDigest
	room int
}

type keptDigest struct {
	digest any
	size   int
}

// digestKey names a digest and its block.
type digestKey struct {
	what string
	at   Target
}

// NewDigests keeps the first digests, of about so many bytes in all, and of later ones those that were asked for last,
// of at most twice recent bytes. Others are computed each time.
func NewDigests(first, recent int) *Digests {
	return &Digests{first: keptIn(first), now: keptIn(recent), recent: recent}
}

func keptIn(room int) keptDigests { return keptDigests{map[digestKey]keptDigest{}, room} }

// add reports whether there was room.
func (k *keptDigests) add(key digestKey, one keptDigest) bool {
	if one.size > k.room {
		return false
	}
	k.room -= one.size
	k.of[key] = one
	return true
}

func (d *Digests) get(key digestKey) (any, bool) {
	d.mu.RLock()
	one, ok := d.first.of[key]
	if !ok {
		one, ok = d.now.of[key]
	}
	late := false
	if !ok {
		one, late = d.before.of[key]
	}
	d.mu.RUnlock()
	if late {
		d.put(key, one)
	}
	return one.digest, ok || late
}

func (d *Digests) put(key digestKey, one keptDigest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range []*keptDigests{&d.first, &d.now} {
		if _, ok := k.of[key]; ok || k.add(key, one) {
			return
		}
	}
	if one.size <= d.recent {
		d.before, d.now = d.now, keptIn(d.recent)
		d.now.add(key, one)
	}
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
		d.put(key, keptDigest{digest, size + digestCost})
	}
	return digest, err
}
