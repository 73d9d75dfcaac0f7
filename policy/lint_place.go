package policy

import (
	"cmp"
	"slices"
)

// placeOf is where a finding can be mended. That is its key where the linted file has it. Where the key is in
// what the file extends, it is the key of the user's that brings the finding about, found by trying; where the
// extended policy has the finding by itself, that is looked at in turn, and the line that extends a built-in policy
// is what is left.
func placeOf(p *Policy, f Finding) Position {
	at := p.Position(f.Key)
	if at.File == f.Key { // given by Set
		return at
	}
	for q := p; q.File != "" && at.File != q.File && q.base != nil; q = q.base {
		if !has(q.base, f) {
			return q.cause(f)
		}
		if q.base.File == "" { // a built-in one: nothing of it is the user's
			return q.at[extendsKey]
		}
	}
	return at
}

func has(p *Policy, f Finding) bool {
	return slices.ContainsFunc(findings(p), func(other Finding) bool { return other.Key == f.Key && other.Rule == f.Rule })
}

// cause is the first key of the policy's own file without which there would be no such finding, or else with which
// alone there is one; where no key does it by itself, it is the line of what is extended.
func (p *Policy) cause(f Finding) Position {
	var own []string
	for key, at := range p.at {
		if at.File == p.File || at.File == key { // the file's, or given by Set
			own = append(own, key)
		}
	}
	slices.SortFunc(own, func(a, b string) int {
		return cmp.Or(cmp.Compare(p.at[a].Line, p.at[b].Line), cmp.Compare(p.at[a].Column, p.at[b].Column), cmp.Compare(a, b))
	})
	for _, key := range own {
		without := p.Clone()
		if without.take(key, p.base) && !has(without, f) {
			return p.at[key]
		}
	}
	for _, key := range own {
		alone := p.base.Clone()
		if alone.take(key, p) && has(alone, f) {
			return p.at[key]
		}
	}
	return p.at[extendsKey]
}

// take gives a key the value it has in another policy; false where either has no such key.
func (p *Policy) take(key string, from *Policy) bool {
	if key == "stages" {
		p.Stages = from.Clone().Stages
		p.share()
		return true
	}
	to, err := p.field(key)
	if err != nil {
		return false
	}
	value, err := from.field(key)
	if err != nil {
		return false
	}
	to.Ref.Set(value.Ref)
	return true
}
