package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/policy"
)

// paramMutant is one parameter of one policy with another value.
type paramMutant struct {
	at       int // case
	key      string
	from, to string
}

func (m paramMutant) name(w *world) string {
	return fmt.Sprintf("%s: %s %s -> %s", w.config.Cases[m.at].Name, m.key, m.from, m.to)
}

// paramMutants lists every other value to try of every parameter: numbers
// doubled, halved and one more, switches flipped, words exchanged for the
// next. Values that the policy refuses are no mutants.
func (w *world) paramMutants() []paramMutant {
	var list []paramMutant
	for i, p := range w.policies {
		if p == nil || p.Recorded {
			continue
		}
		params := parameters(p)
		for _, key := range p.Keys() {
			from, err := p.Get(key)
			if err != nil {
				continue
			}
			seen := map[string]bool{from: true}
			for _, to := range others(params[key], from) {
				c := p.Clone()
				if c.Set(key, to) != nil {
					continue
				}
				// What it reads as decides whether it is another value.
				if now, err := c.Get(key); err == nil && !seen[now] {
					seen[now] = true
					list = append(list, paramMutant{i, key, from, now})
				}
			}
		}
	}
	return list
}

// parameters describes the keys of a policy.
func parameters(p *policy.Policy) map[string]policy.Param {
	m := map[string]policy.Param{}
	add := func(owner string, list []policy.Param) {
		for _, one := range list {
			m[owner+"."+one.Name] = one
		}
	}
	add("window", policy.WindowParameters())
	add("cache", policy.CachingParameters())
	for _, s := range p.Stages {
		add(s.Definition.Name, s.Definition.Parameters())
	}
	return m
}

// others are values to try in place of one.
func others(p policy.Param, value string) []string {
	switch {
	case value == "true":
		return []string{"false"}
	case value == "false":
		return []string{"true"}
	case len(p.Enum) > 0:
		i := slices.Index(p.Enum, strings.Trim(value, `'"`))
		return []string{p.Enum[(i+1)%len(p.Enum)]}
	}
	if d, err := time.ParseDuration(value); err == nil && d > 0 {
		return []string{(2 * d).String(), (d / 2).String(), (d + time.Second).String()}
	}
	plain := strings.Trim(value, `'"`)
	if x, err := strconv.ParseFloat(plain, 64); err == nil {
		var list []string
		for _, y := range []float64{2 * x, x / 2, x + 1} {
			text := strconv.FormatFloat(y, 'f', -1, 64)
			list = append(list, text, strconv.FormatFloat(math.Floor(y), 'f', -1, 64), strconv.Quote(text))
		}
		return list
	}
	if plain == p.Zero || plain == p.None || plain == "" || plain == "none" || plain == "auto" {
		return []string{"20000", "3"} // a number where there was none
	}
	if strings.HasPrefix(value, "[") {
		return []string{"[]", "[Read]"}
	}
	return nil
}

// tryParam replays a case with the mutated parameter.
func (w *world) tryParam(m paramMutant, before []outcome) (verdict, error) {
	p := w.policies[m.at].Clone()
	if err := p.Set(m.key, m.to); err != nil {
		return verdict{}, err
	}
	after, err := w.replay(m.at, p)
	if err != nil {
		return verdict{}, err
	}
	for i := range after {
		after[i].Policy = w.policies[m.at] // the check shall go by what came of it
	}
	return w.judge(before, after), nil
}
