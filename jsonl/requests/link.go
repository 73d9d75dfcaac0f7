package requests

import "fmt"

// link finds the request that each goes on from, how many messages each has, and what is wrong with it.
func (r *reader) link() {
	const begun, done = 1, 2
	state := make([]uint8, len(r.Requests))
	var path []int
	for first := range r.Requests {
		for i := first; state[i] == 0; {
			state[i] = begun
			path = append(path, i)
			if base, ok := r.request[r.bases[i]]; ok {
				r.Requests[i].base = base
				i = base
			}
		}
		for ; len(path) > 0; path = path[:len(path)-1] { // bases first
			i := path[len(path)-1]
			base := r.Requests[i].base
			r.linkOne(i, base >= 0 && state[base] != done)
			state[i] = done
		}
	}
	followers := make([]int, len(r.Requests))
	first := map[int]int{} // request by shape that is not in the file
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.Fault == "" && r.ShapeLine(q) == 0 {
			q.Fault = "its system prompt and tools are not in the file"
			if k, again := first[q.shape]; again && q.shape >= 0 {
				q.broken = k
			} else {
				first[q.shape] = i
			}
		}
		if q.broken >= 0 {
			followers[q.broken]++
		}
	}
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.Fault == "" || q.broken >= 0 {
			continue
		}
		text := "the request cannot be put together, and is rebuilt from the conversation: " + q.Fault
		if n := followers[i]; n > 0 {
			text += fmt.Sprintf("; other requests that need the same: %d", n)
		}
		r.add(q.Line, CodeBroken, "%s", text)
	}
}

// linkOne links a request whose base is linked, or is itself in a circle.
func (r *reader) linkOne(i int, circle bool) {
	q := &r.Requests[i]
	q.Count = q.keep + len(q.tail)
	q.lacks = q.Count
	fault := ""
	switch {
	case q.keep == 0:
		q.base = -1
	case circle:
		q.base = -1
		q.lacks = 0
		fault = "it is its own base"
	case q.base < 0 && r.bases[i] == "":
		q.lacks = 0
		fault = fmt.Sprintf("it keeps %d messages of no request", q.keep)
	case q.base < 0:
		q.lacks = 0
		fault = fmt.Sprintf("its base %.40q is not in the file", r.bases[i])
	default:
		fault = r.inherit(q)
	}
	for k, m := range q.tail {
		if r.messages[m].line == 0 && q.lacks == q.Count {
			q.lacks = q.keep + k
			fault = fmt.Sprintf("its message %d is not in the file", q.lacks+1)
		}
	}
	if q.Fault == "" {
		q.Fault = fault
	} else {
		q.broken = -1 // it would be broken without its base
	}
	q.jump = q.base
	if q.base >= 0 { // jumps get longer with the depth, so that a search takes few steps
		b := &r.Requests[q.base]
		q.depth = b.depth + 1
		if b.jump >= 0 {
			if j := &r.Requests[b.jump]; j.jump >= 0 && b.depth-j.depth == j.depth-r.Requests[j.jump].depth {
				q.jump = j.jump
			}
		}
	}
}

// inherit is what is wrong with the messages that a request keeps of its base. The base becomes the nearest request of
// which the last of them was sent anew.
func (r *reader) inherit(q *LogRequest) string {
	base := &r.Requests[q.base]
	if q.keep > base.Count {
		q.lacks = 0
		return fmt.Sprintf("it keeps %d of the %d messages of its base, line %d", q.keep, base.Count, base.Line)
	}
	fault := ""
	if q.keep > base.lacks {
		q.lacks = base.lacks
		q.broken = q.base
		if base.broken >= 0 {
			q.broken = base.broken
		}
		fault = fmt.Sprintf("its base, line %d, cannot be put together", base.Line)
	}
	for base.keep >= q.keep {
		if base.jump >= 0 && r.Requests[base.jump].keep >= q.keep {
			q.base = base.jump
		} else {
			q.base = base.base
		}
		if q.base < 0 {
			break
		}
		base = &r.Requests[q.base]
	}
	return fault
}

// list is the messages of a request that can be put together, as indexes into messages.
func (l *Log) list(q *LogRequest) []int {
	list := make([]int, q.Count)
	for end := q.Count; end > 0; q = &l.Requests[q.base] {
		copy(list[min(q.keep, end):end], q.tail)
		if end = min(end, q.keep); q.base < 0 {
			break
		}
	}
	return list
}
