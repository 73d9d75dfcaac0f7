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

// lists is the memory of what a replay lists.
type lists struct {
	requests RequestList
	events   EventList
}

// Reuse gives the memory of the requests and events of a replay to the next replay of the record. The lists are empty
// afterwards, and copies of them may not be read any more. It is called once for a replay.
func (r *Record) Reuse(t *Timeline) {
	l := &lists{t.Requests, t.Events}
	t.Requests, t.Events = RequestList{}, EventList{}
	l.requests.clear()
	l.events.clear()
	r.lists.Store(l)
}

// Release frees what a record keeps only for another replay. One that follows costs more, and is the same.
func (r *Record) Release() {
	r.lists.Store(nil)
	r.spare.Store(nil)
	r.converting.Lock()
	defer r.converting.Unlock()
	for _, other := range r.converted {
		other.spare.Store(nil)
	}
}
