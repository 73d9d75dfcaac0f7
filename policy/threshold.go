package policy

import (
	"strconv"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// ThresholdKey is a key of Get and Set beside the parameters: at how many tokens the policy compacts, in every window
// that has room for them.
const ThresholdKey = "threshold"

// roomy are windows of two sizes: a parameter that sets the threshold sets the same one in both.
func roomy() [2]Circumstances {
	return [2]Circumstances{{Window: 1_000_000, MaxOutput: 64_000}, {Window: 900_000, MaxOutput: 64_000}}
}

// setThreshold sets the first parameter with which the policy compacts at so many tokens.
func (p *Policy) setThreshold(value string) error {
	want, ok := strict.ParseCount(value)
	if !ok || want <= 0 {
		return &Error{Msg: ThresholdKey + ": " + strict.Quote(value) + " is no number of tokens"}
	}
	for _, key := range p.Keys() {
		changed, off := p.Clone(), 0
		for range 2 { // the second time by what the first one missed
			if changed.Set(key, strconv.Itoa(want+off)) != nil {
				break
			}
			off = want - changed.CompactsAt(roomy()[0])
		}
		if off != 0 || changed.CompactsAt(roomy()[0]) != want || changed.CompactsAt(roomy()[1]) != want {
			continue
		}
		*p = *changed
		return nil
	}
	return &Error{Msg: "no parameter of the policy sets at how many tokens it compacts"}
}
