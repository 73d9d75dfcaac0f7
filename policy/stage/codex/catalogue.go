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

// fallback is the window that Codex CLI takes of a model which its catalogue lacks (model_info_from_slug of codex-rs/models-manager).
const fallback = 272000

// catalogue finds what a release knows of a model, or, where that is "", the newest release of a day: of one that has no
// such release, the oldest that knows the model; the newest where both are unknown. As the client does, it takes a model
// that has no row for the one with the longest name that the model's begins with, else, of OpenAI's, as the fallback. Zero:
// it is another provider's.
func catalogue() func(model, release string, day time.Time) (m CatalogueModel, l policy.ModelLimits) {
	table := sync.OnceValue(func() (t Catalogue) {
		if err := json.Unmarshal(catalogueText, &t); err != nil { // a test reads it
			return Catalogue{}
		}
		return t
	})
	return func(model, release string, day time.Time) (m CatalogueModel, l policy.ModelLimits) {
		t := table()
		model = model[strings.LastIndex(model, "/")+1:]
		name := model
		for name != "" && t.Models[name] == nil {
			name = name[:len(name)-1]
		}
		switch {
		case name != "":
		case strings.HasPrefix(model, "gpt-"):
			return CatalogueModel{}, policy.ModelLimits{Context: fallback, From: "Codex CLI's window for models that its catalogue lacks", Assumed: true}
		default:
			return CatalogueModel{}, policy.ModelLimits{}
		}
		rows := t.Models[name]
		m = rows[0]
		for _, r := range slices.Backward(rows) {
			of := t.Releases[r.Release]
			if release != "" && session.CompareVersions(of.Version, release) <= 0 || release == "" && (day.IsZero() || of.Day <= day.UTC().Format(time.DateOnly)) {
				m = r
				break
			}
		}
		l = policy.ModelLimits{Context: m.Window, From: "the catalogue of Codex CLI from " + t.Releases[m.Release].Version + " on"}
		if name != model {
			l.From = "that of " + name + " in " + l.From
			l.Assumed = true
		}
		return m, l
	}
}

// clientLimits are a model's by the catalogue of the day, for recorded sessions.
func clientLimits() func(provider, model string, day time.Time) policy.ModelLimits {
	find := catalogue()
	return func(_, model string, day time.Time) policy.ModelLimits {
		_, l := find(model, "", day)
		return l
	}
}
