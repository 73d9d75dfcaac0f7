package policy

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// The stages of these tests do nothing. kinds has a parameter of every type, picky refuses some values, bare has no
// parameters. The stages of a made-up agent have limits: sweep and trim clear, fold, recall and compress compact the
// whole conversation, refill adds to that. Some of them share parameters of the window; spare, of another family, has
// one of its own there.

type kinds struct {
	Switch  bool           `yaml:"switch" doc:"a bool"`
	Count   int            `yaml:"count" doc:"an int" unit:"results" min:"1" max:"9"`
	Free    int            `yaml:"free" doc:"an int without limits"`
	Auto    int            `yaml:"auto" doc:"an int with a word for 0" min:"0" zero:"auto"`
	Share   float64        `yaml:"share" doc:"a float" min:"0" max:"1"`
	Style   string         `yaml:"style" doc:"a word" enum:"human,chars"`
	Note    string         `yaml:"note" doc:"any text"`
	Gap     time.Duration  `yaml:"gap" doc:"a duration" min:"1s" max:"24h"`
	Tools   []string       `yaml:"tools" doc:"a list"`
	Modes   []string       `yaml:"modes" doc:"a list of words" enum:"a,b,c"`
	PerTool map[string]int `yaml:"per_tool" doc:"a map" unit:"characters"`
	Limit   *int           `yaml:"limit" doc:"an int or none" min:"0"`
	Turns   *int           `yaml:"turns" doc:"an int or all" min:"1" none:"all"`
	Summary SummaryChoices `yaml:"summary" doc:"choices"`
	When    Trigger        `yaml:"trigger" doc:"a trigger"`
	Least   *Trigger       `yaml:"least" doc:"a trigger or none"`
}

func defineKinds() Definition {
	return testStage("kinds", &kinds{
		Switch: true, Count: 3, Auto: 0, Share: 0.5, Style: "human", Gap: time.Hour,
		Tools: []string{"Read", "Bash"}, PerTool: map[string]int{"Grep": 20000, "Read": -1},
		Summary: SummaryChoices{{Kind: SummaryRecorded}, {SummaryFixed, 5000}},
		When:    Trigger{TriggerInputTokens, 100000},
	})
}

func testStage(name string, params any) Definition {
	return Definition{
		Name: name, Summary: "Does nothing.", Source: "these tests", Truth: TruthDescribed, Moments: Prepare,
		Params: params, New: func(any) (Stage, error) { return nil, nil },
	}
}

// pickyParams are refused together although each is fine by itself.
type pickyParams struct {
	Low  int `yaml:"low" doc:"at most high" min:"0"`
	High int `yaml:"high" doc:"at least low" min:"0"`
}

func definePicky() Definition {
	d := testStage("picky", &pickyParams{1, 2})
	d.New = func(p any) (Stage, error) {
		if q := p.(*pickyParams); q.Low > q.High {
			return nil, &Error{Msg: fmt.Sprintf("low %d is over high %d", q.Low, q.High), Hint: "swap them"}
		}
		return nil, nil
	}
	return d
}

// sharedParams are those that stages of the made-up agent share.
type sharedParams struct {
	Buffer  int    `yaml:"buffer" doc:"the limit is the window less this" unit:"tokens" min:"0"`
	Percent string `yaml:"percent" doc:"of the window, at most; empty: all of it"`
	Active  bool   `yaml:"active" doc:"whether compress and recall act"`
}

// limit is the one that the window and the parameters give, tokens.
func (s *sharedParams) limit(window int) int {
	at := window - s.Buffer
	if n, err := strconv.Atoi(s.Percent); err == nil {
		at = min(at, window*n/100)
	}
	return at
}

func madeShared() *Shared {
	return &Shared{
		Name: "made", Params: &sharedParams{Buffer: 50000, Active: true},
		Check: func(params any) (string, error) {
			if p := params.(*sharedParams).Percent; p != "" {
				if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 100 {
					return "percent", &Error{Msg: fmt.Sprintf("%q is no percentage", p), Hint: "give 1 to 100"}
				}
			}
			return "", nil
		},
		Lint: func(c *Check) {
			if w := sharedOf(c.Stage); w.limit(c.Window()) <= 0 {
				c.Add(RuleWindow, "window.buffer", "make it smaller", "%d of %d tokens leave nothing to use", w.Buffer, c.Window())
			}
		},
		Limits: func(params any, c Circumstances, l *Limits) {
			l.Add(Limit{Name: "usable", Tokens: params.(*sharedParams).limit(c.Window), From: c.Name("window.buffer")})
		},
	}
}

func sharedOf(s *StageConfig) *sharedParams { return s.Shared.(*sharedParams) }

// foldParams and trimParams are a limit.
type (
	foldParams struct {
		At int `yaml:"at" doc:"tokens" min:"0"`
	}
	trimParams   foldParams
	recallParams struct{}
)

type sweepParams struct {
	Offset int `yaml:"offset" doc:"the limit is the shared one less this" min:"0"`
	Keep   int `yaml:"keep" doc:"newest results that stay" min:"0"`
	Least  int `yaml:"least" doc:"least results to clear" min:"0"`
	Most   int `yaml:"most" doc:"most results to clear" min:"0"`
}

type compressParams struct {
	Enabled bool           `yaml:"enabled" doc:"whether it acts"`
	Summary SummaryChoices `yaml:"summary" doc:"where the summary is from"`
	Prefix  string         `yaml:"prefix" doc:"of its call" enum:"own,session"`
}

type spareParams struct {
	Room int `yaml:"room" doc:"kept free" min:"0"`
}

func (p *sweepParams) Limits(l *StageLimits) {
	at := sharedOf(l.Stage).limit(l.Window) - p.Offset
	l.Add(Limit{Name: "sweeping", Operator: ">=", Tokens: at, Of: OfContext, Acts: true, Key: "sweep", Lower: "make sweep.offset larger", Raise: "make sweep.offset smaller"})
	l.Note("sweep: %d results", p.Keep)
}

func (p *compressParams) Limits(l *StageLimits) {
	if p.Enabled && sharedOf(l.Stage).Active {
		l.Add(Limit{Name: "compression", Label: "compress", Operator: ">=", Tokens: sharedOf(l.Stage).limit(l.Window), Of: OfContext, Acts: true, Key: "compress", Raise: "make window.buffer smaller"})
	}
}

func (*recallParams) Limits(l *StageLimits) {
	l.Add(Limit{Name: "recall", Operator: ">=", Tokens: sharedOf(l.Stage).limit(l.Window), Of: OfContext, Acts: true, Key: "recall"})
}

func (p *foldParams) Limits(l *StageLimits) {
	at := p.At
	l.Add(Limit{Name: "preparing", Operator: ">=", Tokens: at / 2, Of: OfContext, Acts: true, Key: "fold.at"})
	l.Add(Limit{Name: "folding", Label: "fold", Operator: ">", Tokens: at, Of: OfContext, Acts: true, Key: "fold.at"})
	l.Add(Limit{Name: "target", Operator: "<", Tokens: at / 4, Of: OfContext, Acts: true, Key: "fold.at"})
}

func (p *trimParams) Limits(l *StageLimits) {
	l.Add(Limit{Name: "trimming", Operator: ">", Tokens: p.At, Of: OfMessages, Acts: true, Key: "trim.at"})
	l.Add(Limit{Name: "least", Operator: ">=", Tokens: 1, Of: OfResults, Acts: true, Key: "trim.at"})
}

func (p *sweepParams) Check(c *Check) {
	c.Less("keep", p.Keep, "least", p.Least)
	c.AtMost("least", p.Least, "most", p.Most)
	c.Unused("sweep.keep", c.Has("trim") != nil, "trim leaves none")
}

func (p *compressParams) Check(c *Check) {
	if p.Enabled && !sharedOf(c.Stage).Active {
		c.Add(RuleNever, "compress.enabled", "set it to false", "window.active is off")
	}
}

// madeUp is the family of the made-up agent.
func madeUp() Family {
	sweep := testStage("sweep", &sweepParams{20000, 3, 4, 9})
	sweep.Shared = madeShared()
	compress := testStage("compress", &compressParams{true, SummaryChoices{{Kind: SummaryRecorded}, {SummaryFixed, 5000}}, "own"})
	compress.Shared = madeShared()
	compress.Compaction = &Compaction{
		On:  func(s *StageConfig) bool { return s.Params.(*compressParams).Enabled && sharedOf(s).Active },
		Off: "set compress.enabled to false", FitsFrom: "2.0",
	}
	recall := testStage("recall", &recallParams{})
	recall.Shared = madeShared()
	recall.Compaction = &Compaction{With: "compress", On: func(s *StageConfig) bool { return sharedOf(s).Active }}
	fold := testStage("fold", &foldParams{120000})
	fold.Compaction = &Compaction{}
	trim := testStage("trim", &trimParams{90000})
	refill := testStage("refill", nil)
	refill.AfterCompaction = true
	return Family{
		Name: "made", Title: "A made-up agent", Stages: []Definition{sweep, trim, fold, recall, compress, refill},
		Orders: [][]string{{"sweep", "fold", "recall", "compress", "refill"}},
	}
}

func testFamilies() []Family {
	spare := testStage("spare", nil)
	spare.Shared = &Shared{Name: "spare", Params: &spareParams{7}}
	return []Family{
		{Name: "test", Title: "Tests", Stages: []Definition{defineKinds(), definePicky(), testStage("bare", nil), spare}},
		madeUp(),
	}
}

func testRegistry(t testing.TB) Registry {
	t.Helper()
	r, err := NewRegistry(testFamilies()...)
	if err == nil {
		err = r.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// library resolves names to texts.
func library(texts map[string]string) Resolve {
	return func(name string) ([]byte, string, error) {
		s, ok := texts[name]
		if !ok {
			return nil, "", fmt.Errorf("unknown policy %q: use a known one", name)
		}
		return []byte(s), name, nil
	}
}

// mustDecode decodes a policy that is fine.
func mustDecode(t testing.TB, name, text string, resolve Resolve) *Policy {
	t.Helper()
	p := must.Get(Decode(name, []byte(text), testRegistry(t), resolve))(t)
	return p
}

// same fails a test whose result is not the one that is wanted; of says what it belongs to.
func same[T any](t testing.TB, want, got T, of ...any) {
	t.Helper()
	must.Equal(t, got, want, of)
}
