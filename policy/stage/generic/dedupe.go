package generic

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// Dedupe are the parameters of dedupe.
type Dedupe struct {
	MinTokens int `yaml:"min_tokens" doc:"results smaller than this stay" unit:"tokens" min:"0"`
	Step      int `yaml:"step" doc:"act only once this much is saved, so that the prefix changes rarely" unit:"tokens" min:"0"`
	Tools
}

func defineDedupe() policy.Definition {
	return policy.Definition{
		Name:    "dedupe",
		Summary: "Before a request, a tool result whose text is that of a newer result becomes a pointer to it.",
		Source:  "no product. Texts are compared byte by byte, whatever tool returned them; a result with an image is left alone",
		Truth:   policy.TruthOwn,
		Moments: policy.Prepare,
		Params:  &Dedupe{MinTokens: 50, Tools: allTools()},
		Example: `before: go test ./... has printed the same 900 tokens three times
after:  the first two are "[The same as a newer result of Bash go test ./...]", the third stays`,
		New: policy.Maker(func(p Dedupe) policy.Stage { return &dedupe{Dedupe: p} }),
	}
}

// Limits are what decides when dedupe acts.
func (p *Dedupe) Limits(l *policy.StageLimits) {
	stepNote(l, "identical results", "dedupe.step", p.Step)
}

// stepNote says what must be saved at once.
func stepNote(l *policy.StageLimits, what, key string, step int) {
	if step > 0 {
		l.Note("%s: once %s tokens are saved (%s)", what, policy.Thousands(step), l.Name(key))
	}
}

// dedupe compares each result that joins with the newest of each text.
type dedupe struct {
	Dedupe
	begun   bool
	epoch   int
	seen    int                       // of View.Results
	newest  map[[sha256.Size]byte]int // by sum: the newest result of each text, an index into View.Results
	waiting []covered
}

func (s *dedupe) Run(c *policy.Context) ([]policy.Edit, error) {
	v := c.View
	if !s.begun || v.Epoch() != s.epoch {
		*s = dedupe{Dedupe: s.Dedupe, begun: true, epoch: v.Epoch(), newest: map[[sha256.Size]byte]int{}}
	}
	list := v.Results()
	for ; s.seen < len(list); s.seen++ {
		if err := s.join(c, list, s.seen); err != nil {
			return nil, err
		}
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(w covered) bool { // an edit has changed one of them
		newer := &list[w.newer]
		return newer.State != policy.ResultLive || v.Length(newer.Target) != w.length || v.Length(list[w.old].Target) != w.length
	})
	return clearCovered(c, list, &s.waiting, s.Step, "identical to a newer result"), nil
}

// covered is a result and a newer one that covers it, as indexes into View.Results, and what takes the older one's place.
type covered struct {
	old, newer int
	length     jsonl.Metrics // of both, where they have the same text
	content    *policy.Content
}

// clearCovered clears the waiting results that are live, once that saves the tokens of a step.
func clearCovered(c *policy.Context, list []policy.Result, waiting *[]covered, step int, why string) []policy.Edit {
	made := saving{c: c}
	less := 0
	left := (*waiting)[:0]
	for _, w := range *waiting {
		old := &list[w.old]
		if old.State != policy.ResultLive {
			continue
		}
		if n := made.less(old.Target, w.content); n > 0 {
			left = append(left, w)
			less += n
		}
	}
	if *waiting = left; len(left) == 0 || less < step {
		return nil
	}
	for _, w := range left {
		made.clear(list[w.old].Target, w.content)
	}
	*waiting = nil
	if step > 0 {
		why = fmt.Sprintf("%s; %s tokens saved at once, a step is %s", why, policy.Thousands(made.saved), policy.Thousands(step))
	}
	return made.because("%s", why)
}

// join compares a result that has joined with those before it, and notes it.
func (s *dedupe) join(c *policy.Context, list []policy.Result, at int) error {
	v := c.View
	r := &list[at]
	if !s.live(r) || !plain(v, r.Target) || v.BlockTokens(r.Target) < s.MinTokens {
		return nil
	}
	said, err := c.Texts.Text(r.Target)
	if err != nil {
		return fmt.Errorf("reading a tool result: %w", err)
	}
	sum := sha256.Sum256([]byte(said))
	old, again := s.newest[sum]
	s.newest[sum] = at
	length := v.Length(r.Target)
	if !again || list[old].State != policy.ResultLive || v.Length(list[old].Target) != length {
		return nil // an edit has changed it since
	}
	call, err := measure.InputOf(c, r)
	if err != nil {
		return err
	}
	content := policy.NewContent(jsonl.KindToolResult, fmt.Sprintf("[The same as a newer result of %s]", named(r, call)))
	s.waiting = append(s.waiting, covered{old, at, length, &content})
	return nil
}
