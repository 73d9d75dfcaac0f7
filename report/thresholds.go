package report

import (
	"io"
	"math"
	"strconv"

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

// Thousands is a figure as tables show it: 200,000.
func Thousands(n int) string { return thousands(n) }

// PrintThresholds prints them as a listing.
func PrintThresholds(w io.Writer, t Thresholds, opt Options) error {
	l := &listing{
		table: &Table{Columns: []Column{
			{Title: "figure"}, {Title: "reached"}, {Title: "tokens", Right: true}, {Title: "of window", Right: true}, {Title: "where it comes from", Flex: true},
		}},
		notes:   append([]string{"policy " + t.Policy + " (" + t.Source + ")"}, t.Notes...),
		columns: []string{"figure", "operator", "tokens", "share_of_window", "from"},
		json:    t,
	}
	for _, r := range t.Rows {
		share := strconv.FormatFloat(r.Share, 'f', 1, 64)
		l.table.Row(r.Name, r.Operator, thousands(r.Tokens), share+" %", r.From)
		l.rows = append(l.rows, []string{r.Name, r.Operator, strconv.Itoa(r.Tokens), share, r.From})
	}
	return l.print(w, opt)
}
