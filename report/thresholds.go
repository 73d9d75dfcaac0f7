package report

import (
	"io"
	"math"

	"github.com/ctxkit/ctxkit/policy"
)

// ThresholdsSchema is the version of the JSON form of Thresholds.
const ThresholdsSchema = "ctxkit.thresholds/v1"

// Thresholds are the limits that apply to a model, a window and a policy, with
// where each figure comes from.
type Thresholds struct {
	Schema string             `json:"schema"`
	Policy string             `json:"policy"`
	Source string             `json:"source"`
	Model  string             `json:"model,omitempty"`
	Limits *policy.Thresholds `json:"limits,omitempty"` // where the policy goes by them
	Rows   []ThresholdRow     `json:"rows"`
	Notes  []string           `json:"notes,omitempty"`
}

// ThresholdRow is one figure, in tokens.
type ThresholdRow struct {
	Name     string  `json:"name"`
	Operator string  `json:"operator,omitempty"` // how what is used compares with it; "": nothing does
	Tokens   int     `json:"tokens"`
	Share    float64 `json:"share_of_window"` // percent
	From     string  `json:"from"`
}

// Add adds a figure. The first is the window, of which the others are a share.
func (t *Thresholds) Add(name, operator string, tokens int, from string) {
	window := tokens
	if len(t.Rows) > 0 {
		window = t.Rows[0].Tokens
	}
	share := 0.0
	if window > 0 {
		share = math.Floor(float64(tokens)/float64(window)*1000+0.5) / 10
	}
	t.Rows = append(t.Rows, ThresholdRow{name, operator, tokens, share, from})
}

// PrintThresholds prints the thresholds as a listing.
func PrintThresholds(w io.Writer, list Thresholds, opt Layout) error {
	t := newTable([]column{{Title: "figure", Key: "figure"}, {Title: "reached", Key: "operator"}, {Title: "tokens", Key: "tokens"},
		{Title: "of window", Key: "share_of_window"}, {Title: "where it comes from", Key: "from", Flex: true}})
	for _, r := range list.Rows {
		share := places(r.Share, 1)
		t.add(none, r.Name, r.Operator, r.Tokens, pair{number(share + " %"), share}, r.From)
	}
	return listing(t, list, append([]string{"policy " + list.Policy + " (" + list.Source + ")"}, list.Notes...)...).print(w, opt)
}
