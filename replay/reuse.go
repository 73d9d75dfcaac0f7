package replay

import (
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// spare is the memory of a replay, or of the recorded view, for the next replay of the record, which then makes less
// garbage.
type spare struct {
	view   *view.Spare
	sim    cache.Sim
	weight []int
	full   bool // it was made in its full size
}

// Release frees what a record keeps only for another replay. One that follows costs more, and is the same.
func (r *Record) Release() {
	r.spare.Store(nil)
	r.converting.Lock()
	defer r.converting.Unlock()
	for _, other := range r.converted {
		other.spare.Store(nil)
	}
}
