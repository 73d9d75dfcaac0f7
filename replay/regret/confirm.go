package regret

import (
	"maps"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// confirm drops the quotes of names that none but the agent wrote as such, and not as a part of a longer name.
func (l *locator) confirm(found []needle) error {
	named := make([]bool, len(found))
	asks := map[int][]int{} // by block: the needles whose names may stand there
	for i := range found {
		n := &found[i]
		if named[i] = n.evidence != Quoted || n.dropped || len(n.sources) == 0; named[i] {
			continue
		}
		for _, b := range n.holders {
			if m := &l.conv.Messages[l.of[b]]; m.Role != session.Assistant && !m.Lost && !m.Is(session.Earlier) && !m.RecordOnly {
				asks[b] = append(asks[b], i)
			}
		}
	}
	names := map[uint64][]int{}
	for _, b := range slices.Sorted(maps.Keys(asks)) {
		clear(names)
		for _, i := range asks[b] {
			h := hashName([]byte(found[i].text))
			names[h] = append(names[h], i)
		}
		text, _, err := l.texts.text(b)
		if err != nil {
			return err
		}
		eachName(text, func(name []byte, _ int) {
			for _, i := range names[hashName(name)] {
				named[i] = true
			}
		})
	}
	for i := range found {
		found[i].dropped = found[i].dropped || !named[i]
	}
	return nil
}
