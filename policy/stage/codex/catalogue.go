package codex

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

//go:embed catalogue.json
var catalogueText []byte // scripts/gencatalogue

// Catalogue is what releases of Codex CLI know of models: the catalogue that each carries. Codex follows it
// rather than the limits of the API, unless its server sends it another.
type Catalogue struct {
	Note     string                      `json:"note"`
	Unit     string                      `json:"unit"`
	Releases []CatalogueRelease          `json:"releases"` // oldest first
	Models   map[string][]CatalogueModel `json:"models"`   // what changed, oldest first
}

// CatalogueRelease is where rows are from.
type CatalogueRelease struct {
	Version string `json:"version"`
	Day     string `json:"day"` // it was published on
}

// CatalogueModel is a model from a release on.
type CatalogueModel struct {
	Release int    `json:"release"` // its index
	Window  int    `json:"window"`
	Hash    string `json:"hash,omitempty"` // models with the same one can read each other's compactions
}

// catalogue finds what a release knows of a model, or, where that is "", the newest release of a day: of one that has no
// such release, the oldest that knows the model; the newest where both are unknown. Zero: none knows it.
func catalogue() func(model, release string, day time.Time) (m CatalogueModel, from string) {
	table := sync.OnceValue(func() (t Catalogue) {
		if err := json.Unmarshal(catalogueText, &t); err != nil { // a test reads it
			return Catalogue{}
		}
		return t
	})
	return func(model, release string, day time.Time) (m CatalogueModel, from string) {
		t := table()
		rows := t.Models[model[strings.LastIndex(model, "/")+1:]]
		if len(rows) == 0 {
			return CatalogueModel{}, ""
		}
		m = rows[0]
		for _, r := range slices.Backward(rows) {
			of := t.Releases[r.Release]
			if release != "" && session.CompareVersions(of.Version, release) <= 0 || release == "" && (day.IsZero() || of.Day <= day.UTC().Format(time.DateOnly)) {
				m = r
				break
			}
		}
		return m, "the catalogue of Codex CLI from " + t.Releases[m.Release].Version + " on"
	}
}

// clientLimits are a model's by the catalogue of the day, for recorded sessions.
func clientLimits() func(provider, model string, day time.Time) policy.ModelLimits {
	find := catalogue()
	return func(_, model string, day time.Time) policy.ModelLimits {
		m, _ := find(model, "", day)
		return policy.ModelLimits{Context: m.Window}
	}
}
