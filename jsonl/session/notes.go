package session

import (
	"fmt"
	"maps"
	"slices"
)

// notes are the warnings of a file: the first ones of each kind are kept, all are counted.
type notes struct {
	path  string
	most  int
	kinds map[Code]int
	watch func(Warning) // called with each; the message of one that is not kept is empty
}

// add adds a warning to a list.
func (n *notes) add(list *[]Warning, code Code, line int, format string, args ...any) {
	w := Warning{File: n.path, Line: line, Code: code}
	n.kinds[code]++
	if n.kinds[code] <= n.most {
		w.Message = fmt.Sprintf(format, args...)
		*list = append(*list, w)
	}
	if n.watch != nil {
		n.watch(w)
	}
}

// rest lists how many warnings of each kind are not kept.
func (n *notes) rest() (list []Warning) {
	for _, code := range slices.Sorted(maps.Keys(n.kinds)) {
		if more := n.kinds[code] - n.most; more > 0 {
			list = append(list, Warning{File: n.path, Code: code, More: more,
				Message: fmt.Sprintf("%d more warnings of this kind are counted, not kept: over the limit findings=%d", more, n.most)})
		}
	}
	return list
}
