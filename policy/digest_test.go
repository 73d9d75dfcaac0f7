package policy

import (
	"errors"
	"testing"
)

func TestDigests(t *testing.T) {
	made := 0
	make := func(d *Digests, what string, block, size int, fail error) (string, error) {
		return Digest(d, what, Target{Item: 1, Block: block}, func() (string, int, error) {
			made++
			return what, size, fail
		})
	}
	wrong := errors.New("wrong")
	d := NewDigests(2*digestCost + 100)
	for _, c := range []struct {
		what        string
		block, size int
		err         error
		made        int // calls of work so far
	}{
		{"a", 0, 10, nil, 1}, {"a", 0, 10, nil, 1}, // kept
		{"b", 0, 10, nil, 2}, {"b", 0, 10, nil, 2}, // by name
		{"a", 1, 300, nil, 3}, {"a", 1, 300, nil, 4}, // no room
		{"c", 0, 0, wrong, 5}, {"c", 0, 0, wrong, 6}, // errors are not kept
	} {
		got, err := make(d, c.what, c.block, c.size, c.err)
		if got != c.what || !errors.Is(err, c.err) || made != c.made {
			t.Errorf("%s of block %d: %q, %v after %d calls, want %d", c.what, c.block, got, err, made, c.made)
		}
	}
	for range 2 {
		if _, err := make(nil, "a", 0, 1, nil); err != nil {
			t.Error(err)
		}
	}
	if made != 8 {
		t.Errorf("nothing keeps what was made: %d calls, want 8", made)
	}
}

// TestDigestsForget holds that digests that have no room take that of those before.
func TestDigestsForget(t *testing.T) {
	d := NewDigests(2 * digestCost)
	for i, c := range []struct {
		block int
		made  bool
	}{
		{0, true}, {1, true}, {0, false}, // as many as there is room for
		{2, true}, {2, false}, {1, true}, // 0 and 1 are forgotten
		{2, false}, {0, true}, {2, true},
	} {
		made := false
		got, err := Digest(d, "a", Target{Block: c.block}, func() (int, int, error) { made = true; return c.block, 0, nil })
		if got != c.block || err != nil || made != c.made {
			t.Errorf("step %d, block %d: %d, %v, made %v, want %v", i, c.block, got, err, made, c.made)
		}
	}
}
