package price

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// FindLike is like Find, except for a model that the table lacks. For such a model FindLike returns the newest model of
// the same family that is not newer than the one with this id: like is then true, and m has no prices. The two models
// probably have the same window, limits and tokenizer. ok is false if the table has no such model, or if id has no
// version.
func (t *Table) FindLike(id string) (m Model, like, ok bool) {
	m, ok = t.Find(id)
	if ok && (m.Context > 0 || t.unpriced == nil) {
		return m, false, true
	}
	if own, stated := find(t.unpriced, Normalize(id)); stated {
		own.Rates = m.Rates
		own.Tier = m.Tier
		own.Fast = m.Fast
		own.Earlier = m.Earlier
		return own, false, true
	}
	if ok {
		return m, false, true
	}
	asked := partsOf(Normalize(id))
	near := nearness{}
	for i := range t.Models {
		if n := asked.near(&t.Models[i]); n.words > 0 && n.over(&near) {
			near = n
			m = t.Models[i]
		}
	}
	m.Rates = Rates{}
	m.Tier = nil
	m.Fast = nil
	m.Earlier = nil
	return m, m.ID != "", m.ID != ""
}

// parts are the words of a model's id in order, and the numbers of its version.
type parts struct {
	words   []string
	version []int
}

// partsOf takes a normalized id apart: claude-opus-4-5-20251101 is claude, opus and 4.5, kimi-k3-1-pro is kimi, k, pro and
// 3.1. Dates and marks behind the version are left out.
func partsOf(id string) (p parts) {
	id, _, _ = strings.Cut(id, "@")
	id, _, _ = strings.Cut(id, ":")
	dated := false
	for _, part := range strings.Split(id, "-") {
		word := strings.TrimRight(part, "0123456789")
		digits := part[len(word):]
		if word == "latest" || word == "v" && p.version != nil {
			continue
		}
		if word != "" {
			p.words = append(p.words, word)
		}
		dated = dated || len(digits) > 2
		if n, err := strconv.Atoi(digits); err == nil && !dated {
			p.version = append(p.version, n)
		}
	}
	return p
}

// nearness is how near a model of the table is to one that is not in it.
type nearness struct {
	words   int // 0: it is not of the family
	version []int
	window  int
	output  int
}

// near compares a row: the more words it begins with as p does, the nearer; all of them are nearest.
func (p *parts) near(m *Model) nearness {
	other := partsOf(m.ID)
	if p.version == nil || other.version == nil || m.Context == 0 || slices.Compare(other.version, p.version) > 0 {
		return nearness{}
	}
	n := nearness{version: other.version, window: m.Context, output: m.MaxOutput}
	for n.words < min(len(p.words), len(other.words)) && p.words[n.words] == other.words[n.words] {
		n.words++
	}
	if n.words > 0 && slices.Equal(p.words, other.words) {
		n.words++
	}
	return n
}

// over reports whether n is nearer. Of several that are as near and as new the smallest limits hold for all.
func (n *nearness) over(o *nearness) bool {
	return cmp.Or(cmp.Compare(n.words, o.words), slices.Compare(n.version, o.version), cmp.Compare(o.window, n.window), cmp.Compare(o.output, n.output)) > 0
}
