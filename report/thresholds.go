package report

import (
	"io"
	"math"

	"github.com/ctxkit/ctxkit/policy"
)

// ThresholdsSchema is the version of the JSON form of Thresholds.
const ThresholdsSchema = "ctxkit.thresholds/v1"

// LimitList are the limits of a policy in a context window, each with how it is worked out. Figures are tokens.
type LimitList struct {
	Schema     string         `json:"schema"`
	Policy     string         `json:"policy"`
	Source     string         `json:"source"`
	Model      string         `json:"model,omitempty"`
	Window     int            `json:"window"`
	WindowFrom string         `json:"window_from"`
	Limits     []policy.Limit `json:"limits"`
	Notes      []string       `json:"notes,omitempty"`
}

// PrintThresholds prints the limits as a listing.
func PrintThresholds(w io.Writer, list LimitList, opt Layout) error {
	t := newTable([]column{{Title: "limit", Key: "limit"}, {Title: "stage", Key: "stage"}, {Title: "acts", Key: "operator"}, {Title: "tokens", Key: "tokens"},
		{Title: "of window", Key: "share_of_window"}, {Title: "where it comes from", Key: "from", Flex: true}})
	add := func(name, stage, operator string, tokens int, from string) {
		share := 0.0
		if list.Window > 0 {
			share = math.Floor(float64(tokens)/float64(list.Window)*1000+0.5) / 10
		}
		text := places(share, 1)
		t.add(none, name, stage, operator, tokens, pair{number(text + " %"), text}, from)
	}
	add("context window", "", "", list.Window, list.WindowFrom)
	for _, l := range list.Limits {
		add(l.Name, l.Stage, l.Operator, l.Tokens, l.From)
	}
	return listing(t, list, append([]string{"policy " + list.Policy + " (" + list.Source + ")"}, list.Notes...)...).print(w, opt)
}
