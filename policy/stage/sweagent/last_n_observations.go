package sweagent

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// LastNObservations are the parameters of last_n_observations.
type LastNObservations struct {
	N           int      `yaml:"n" doc:"the newest observations that stay" unit:"observations" min:"1"`
	Polling     int      `yaml:"polling" doc:"observations are counted in multiples of this, so that the messages change once per multiple and the prompt cache lasts in between" unit:"observations" min:"1"`
	KeepTools   []string `yaml:"keep_tools" doc:"tools whose results always stay (always_keep_output_for_tags, by tool); a trailing * matches any rest"`
	RemoveTools []string `yaml:"remove_tools" doc:"tools whose results are always masked, also the newest (always_remove_output_for_tags, by tool)"`
}

func defineLastNObservations() policy.Definition {
	return policy.Definition{
		Name:    "last_n_observations",
		Summary: "Before each request, every tool result older than the newest 5 becomes a line that says how many lines it had.",
		Source:  "SWE-agent, LastNObservations: sweagent/agent/history_processors.py (commit 318f9091). An observation is a tool_result here, and the task is the first observation; a prompt typed later is none, and stays",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare,
		Params:  &LastNObservations{N: 5, Polling: 1, KeepTools: []string{}, RemoveTools: []string{}},
		Example: `before: the task and 8 results, the first of 12 lines
after:  the first is "Old environment output: (12 lines omitted)", the second and the third likewise; the newest 5 stay`,
		New: policy.Maker(func(p LastNObservations) policy.Stage {
			return &lastNObservations{LastNObservations: p}
		}),
	}
}

// Limits are what decides when last_n_observations acts.
func (p *LastNObservations) Limits(l *policy.StageLimits) {
	l.Note("masking: all but the newest %d results (%s)", p.N, l.Name("last_n_observations.n"))
}

// lastNObservations is the source's loop. The source works on a copy of the whole history at each request. What it
// masks once it masks at every later request, because the number of observations only grows.
type lastNObservations struct {
	LastNObservations
	results measure.Ageing
	passed  int // results that are no longer among the newest
	seen    int // results that remove_tools was asked about
}

func (s *lastNObservations) Run(c *policy.Context) ([]policy.Edit, error) {
	if s.results.Renew(c.View) {
		s.passed = 0
		s.seen = 0
	}
	var edits []policy.Edit
	mask := func(r *policy.Result, reason string) error {
		text, err := s.masked(c, r.Target)
		if err != nil || r.State != policy.ResultLive {
			return err
		}
		content := policy.NewContent(jsonl.KindToolResult, text)
		edits = append(edits, policy.Replace(policy.KindClear, r.Target, &content, reason))
		return nil
	}
	results := c.View.Results()
	for ; s.seen < len(results); s.seen++ {
		if r := &results[s.seen]; measure.Matches(s.RemoveTools, r.Tool, r.Alike) {
			if err := mask(r, "results of "+r.Tool+" are always masked"); err != nil {
				return nil, err
			}
		}
	}
	live := s.results.Live(c.View)
	observations := 1 + s.passed + len(live) // the task is the first
	last := observations/s.Polling*s.Polling - s.N
	old := live[:min(max(last-1-s.passed, 0), len(live))]
	for _, i := range old {
		r := &results[i]
		if measure.Matches(s.RemoveTools, r.Tool, r.Alike) || measure.Matches(s.KeepTools, r.Tool, r.Alike) {
			continue
		}
		if err := mask(r, fmt.Sprintf("not among the newest %d of %d results", s.N, observations-1)); err != nil {
			return nil, err
		}
	}
	s.passed += len(old)
	s.results.Done(len(old))
	return edits, nil
}

// masked is what the source leaves of a result.
func (s *lastNObservations) masked(c *policy.Context, t policy.Target) (string, error) {
	said, err := c.Texts.Text(t)
	if err != nil {
		return "", fmt.Errorf("reading a tool result: %w", err)
	}
	text := fmt.Sprintf("Old environment output: (%d lines omitted)", countLines(said))
	if n := measure.Images(c.View, t); n > 0 {
		text += fmt.Sprintf(" (%d images omitted)", n)
	}
	return text, nil
}

// countLines is len(text.splitlines()) of Python.
func countLines(text string) int {
	n := 0
	for text != "" {
		n++
		i := strings.IndexFunc(text, endsLine)
		if i < 0 {
			break
		}
		if strings.HasPrefix(text[i:], "\r\n") {
			i++
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		text = text[i+size:]
	}
	return n
}

// endsLine reports whether Python ends a line at a character.
func endsLine(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\x1c', '\x1d', '\x1e', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}
