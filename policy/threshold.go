package policy

import (
	"strconv"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// ThresholdKey is a key for Policy.Get and Policy.Set that is not the key of a parameter. Its value is the number of
// tokens at which the policy compacts if the context window is too large to lower it. Set changes the parameter that fixes this number, and
// returns an error if the policy has no such parameter.
const ThresholdKey = "threshold"

// roomy are windows of two sizes: a parameter that sets the threshold sets the same one in both.
func roomy() [2]Circumstances {
	return [2]Circumstances{{Window: 1_000_000, MaxOutput: 64_000}, {Window: 900_000, MaxOutput: 64_000}}
}

// setThreshold sets the first parameter with which the policy compacts at a number of tokens.
func (p *Policy) setThreshold(value string) error {
	want, ok := strict.ParseCount(value)
	if !ok || want <= 0 {
		return &Error{Msg: ThresholdKey + ": " + strict.Quote(value) + " is no number of tokens"}
	}
	for _, key := range p.Keys() {
		// From a value that no client raises, each time by what the one before missed: a share comes nearer step by step.
		changed := p.Clone()
		n := roomy()[0].Window / 2
		miss := 0
		for range 8 {
			if changed.Set(key, strconv.Itoa(n)) != nil {
				break
			}
			miss = want - changed.CompactsAt(roomy()[0])
			n += miss
		}
		if miss != 0 || changed.CompactsAt(roomy()[0]) != want || changed.CompactsAt(roomy()[1]) != want {
			continue
		}
		*p = *changed
		return nil
	}
	return &Error{Msg: "no parameter of the policy sets at how many tokens it compacts"}
}
