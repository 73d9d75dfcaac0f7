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
	d := NewDigests(2*digestCost+100, 0)
	for _, c := range []struct {
		what        string
		block, size int
		err         error
		made        int // calls of work so far
	}{
		{"a", 0, 10, nil, 1}, {"a", 0, 10, nil, 1}, // kept
		{"b", 0, 10, nil, 2}, {"b", 0, 10, nil, 2}, // by name
		{"a", 1, 200, nil, 3}, {"a", 1, 200, nil, 4}, // no room
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

// TestDigestsOfLate holds that of digests that have no room those stay that were asked for last.
func TestDigestsOfLate(t *testing.T) {
	d := NewDigests(digestCost, 3*digestCost)
	ask := func(block int) (made bool) {
		got, err := Digest(d, "a", Target{Block: block}, func() (int, int, error) { made = true; return block, 0, nil })
		if got != block || err != nil {
			t.Errorf("digest of block %d: %d, %v", block, got, err)
		}
		return made
	}
	for i, c := range []struct {
		block int
		made  bool
	}{
		{0, true},                       // the first one stays
		{1, true}, {2, true}, {3, true}, // as many as there is room for
		{4, true},              // moves them
		{1, false}, {2, false}, // and they are there, and new again
		{5, true},                         // moves 4, 1 and 2; 3 is forgotten
		{3, true}, {4, false}, {0, false}, // 3 is made again
		{6, true}, {7, true}, {1, true},
	} {
		if made := ask(c.block); made != c.made {
			t.Errorf("step %d, block %d: made %v, want %v", i, c.block, made, c.made)
		}
	}
	if most := len(d.first.of) + len(d.now.of) + len(d.before.of); most > 7 {
		t.Errorf("%d digests are kept, want 7 at most", most)
	}
}
