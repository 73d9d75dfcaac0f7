package claude

import (
	"cmp"
	"slices"
)

// ordered are named values in the order they were last put in.
type ordered[T any] struct {
	at  map[string]place[T]
	seq int
}

type place[T any] struct {
	name  string
	value T
	seq   int
}

func (o *ordered[T]) get(name string) (T, bool) {
	p, ok := o.at[name]
	return p.value, ok
}

// put sets a value and moves it to the end.
func (o *ordered[T]) put(name string, value T) {
	if o.at == nil {
		o.at = map[string]place[T]{}
	}
	o.seq++
	o.at[name] = place[T]{name, value, o.seq}
}

func (o *ordered[T]) drop(name string) { delete(o.at, name) }

// oldestFirst calls yield with each name and value.
func (o *ordered[T]) oldestFirst(yield func(string, T) bool) {
	for _, p := range o.places() {
		if !yield(p.name, p.value) {
			return
		}
	}
}

func (o *ordered[T]) newestFirst(yield func(string, T) bool) {
	for _, p := range slices.Backward(o.places()) {
		if !yield(p.name, p.value) {
			return
		}
	}
}

func (o *ordered[T]) places() []place[T] {
	list := make([]place[T], 0, len(o.at))
	for _, p := range o.at { // sorted below
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b place[T]) int { return cmp.Compare(a.seq, b.seq) })
	return list
}
