package generic

import (
	"crypto/sha256"
	"fmt"

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
	waiting []pair
}

// pair is a result and a newer one of the same text, as indexes into View.Results, the text's length, and what takes the
// place of the older one.
type pair struct {
	old, newer int
	length     jsonl.Metrics
	content    *policy.Content
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
	made, less, left := saving{c: c}, 0, s.waiting[:0]
	for _, p := range s.waiting {
		old, newer := &list[p.old], &list[p.newer]
		if old.State != policy.ResultLive || newer.State != policy.ResultLive || v.Length(old.Target) != p.length || v.Length(newer.Target) != p.length {
			continue
		}
		if n := made.less(old.Target, p.content); n > 0 {
			left, less = append(left, p), less+n
		}
	}
	if s.waiting = left; len(left) == 0 || less < s.Step {
		return nil, nil
	}
	for _, p := range left {
		made.clear(list[p.old].Target, p.content)
	}
	s.waiting = nil
	return made.because("%s", savedEnough("identical to a newer result", made.saved, s.Step)), nil
}

// savedEnough is the reason of edits that wait for a number of tokens.
func savedEnough(why string, saved, step int) string {
	if step == 0 {
		return why
	}
	return fmt.Sprintf("%s; %s tokens saved at once, a step is %s", why, policy.Thousands(saved), policy.Thousands(step))
}

// join compares a result that has joined with those before it, and notes it.
func (s *dedupe) join(c *policy.Context, list []policy.Result, at int) error {
	v, r := c.View, &list[at]
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
	s.waiting = append(s.waiting, pair{old, at, length, &content})
	return nil
}
