package opencode

import (
	_ "embed"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed limits.json
var limitTable []byte // scripts/genlimits

// LimitTable is what providers let models take and write, by the tables of models.dev that releases of OpenCode carry.
// OpenCode follows that table, which it fetches anew as it runs; from 1.14 on it asks GitHub Copilot itself.
type LimitTable struct {
	Note     string                           `json:"note"`
	Unit     string                           `json:"unit"`
	Releases []LimitRelease                   `json:"releases"` // oldest first
	Models   map[string]map[string][]LimitRow `json:"models"`   // by provider and model: what changed, oldest first
}

// LimitRelease is where rows are from.
type LimitRelease struct {
	Version string `json:"version"`
	Day     string `json:"day"` // of its table
	Source  string `json:"source"`
}

// LimitRow is a model's limits from a release on: the release's index, and tokens of context, input (0: it has no limit
// of its own) and output.
type LimitRow [4]int

// limits finds a provider's limits of a model on a day: those of the newest table that is no later, else of the oldest
// that has the model; the newest where the day is not known. Zero: no table has it.
func limits() func(provider, model string, day time.Time) policy.ModelLimits {
	table := sync.OnceValue(func() (t LimitTable) {
		if err := json.Unmarshal(limitTable, &t); err != nil { // a test reads it
			return LimitTable{}
		}
		return t
	})
	return func(provider, model string, day time.Time) policy.ModelLimits {
		t := table()
		rows := t.Models[provider][model]
		if len(rows) == 0 {
			return policy.ModelLimits{}
		}
		found := rows[0]
		for _, r := range slices.Backward(rows) {
			if day.IsZero() || t.Releases[r[0]].Day <= day.UTC().Format(time.DateOnly) {
				found = r
				break
			}
		}
		return policy.ModelLimits{Context: found[1], Input: found[2], Output: found[3]}
	}
}
