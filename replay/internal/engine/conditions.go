package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/condition"
)

// ConditionUse is how often the condition of a stage held. A condition on what the stage proposes is looked at only
// where it proposes something.
type ConditionUse struct {
	Stage  string `json:"stage"`
	When   string `json:"when"`
	Held   int    `json:"held"`   // times that it was looked at and held
	Failed int    `json:"failed"` // times that it did not
}

// stageCondition is the condition of a stage at work.
type stageCondition struct {
	*condition.Test
	use   ConditionUse
	acted int // 0-based request before which the stage last did something
}

// newStageCondition is the condition of a stage, which has not been looked at; nil where it has none.
func newStageCondition(s *policy.StageConfig) *stageCondition {
	if s.When.Condition == nil {
		return nil
	}
	return &stageCondition{
		Test: s.When.Condition.Test(), use: ConditionUse{Stage: s.Definition.Name, When: string(s.When.Expression)},
	}
}

// asks reports whether the stage's condition is looked at at a moment: a compaction that the user asks for needs none.
func (s *stageRun) asks(moment policy.Moment) bool { return s.when != nil && moment != policy.Manual }

// may reports whether a stage runs at all: whether its condition holds, or follows from what the stage proposes.
func (e *Engine) may(s *stageRun, c *policy.Context) bool {
	if !s.asks(c.Moment) || s.when.NeedsEdits() {
		return true
	}
	return e.holds(s, c, nil)
}

// propose runs a stage. Of what it proposes nothing is left where its condition does not hold; it is then as if it had
// not run. A frozen stage that a condition held back does not touch what was sent in the meantime.
func (e *Engine) propose(s *stageRun, c *policy.Context) ([]policy.Edit, error) {
	if s.when == nil {
		return s.stage.Run(c)
	}
	run := s.stage
	asks := s.asks(c.Moment) && s.when.NeedsEdits()
	if asks {
		run = policy.Fork(run)
	}
	edits, err := run.Run(c)
	if err != nil {
		return nil, err
	}
	if s.Definition.Memory == policy.Frozen {
		edits = slices.DeleteFunc(edits, func(ed policy.Edit) bool {
			return ed.Target != (policy.Target{}) && e.sent(ed.Target.Item, c.Request-1)
		})
	}
	if asks && len(edits) > 0 && !e.holds(s, c, edits) {
		return nil, nil
	}
	s.stage = run
	return edits, nil
}

// holds evaluates the condition of a stage and counts the result.
func (e *Engine) holds(s *stageRun, c *policy.Context, edits []policy.Edit) bool {
	w := s.when
	e.values(&w.Situation, s, c, edits)
	ok, err := w.Holds()
	if err != nil {
		e.fail(fmt.Errorf("stage %s: its condition: %w", s.Definition.Name, err))
		return false
	}
	if ok {
		w.use.Held++
	} else {
		w.use.Failed++
	}
	return ok
}

// outputReserve is the most of the window that is kept free for a response, tokens.
const outputReserve = 20000

// values sets the variables of a stage's condition. Those that take more work than a sum are set only where it names
// them.
func (e *Engine) values(v *condition.Situation, s *stageRun, c *policy.Context, edits []policy.Edit) {
	w, k := s.when, c.Request-1 // 0-based number of the request to come
	*v = condition.Situation{
		Turn: float64(e.progress.turns), Request: float64(c.Request),
		LastCompaction: float64(max(k-e.progress.compactAt, 0)), LastAct: float64(max(k-w.acted, 0)),
	}
	before := c.Moment == policy.Prepare || c.Moment == policy.Project
	v.TurnStart = before && (k == 0 || w.Uses("turn_start") && k < len(e.conv.Requests) && e.record.Tails[k].Typed)
	v.Cold, v.Idle = e.cold(c)
	if w.Uses("tokens") || w.Uses("used") {
		used, _ := e.used()
		if !e.changes.compacted {
			used = max(used-e.changes.trimmed, 0)
		}
		v.Tokens = float64(used)
	}
	if next := min(k, len(e.conv.Requests)-1); next >= 0 && (w.Uses("window") || w.Uses("usable") || w.Uses("used")) {
		window := e.window(next)
		reserve := outputReserve
		if c.MaxOutput > 0 {
			reserve = min(reserve, c.MaxOutput)
		}
		v.Window = float64(window)
		v.Usable = float64(max(window-reserve, 0))
		if v.Usable > 0 {
			v.Used = v.Tokens / v.Usable
		}
	}
	if w.Uses("results") {
		n := 0
		for _, r := range e.view.Results() {
			if r.State == policy.ResultLive {
				n++
			}
		}
		v.Results = float64(n)
	}
	if w.NeedsEdits() {
		p := e.view.Propose(edits)
		v.TokensFreed = float64(p.Freed)
		v.Payback = math.Inf(1)
		if w.Uses("payback") && p.Freed > 0 {
			v.Payback = e.payback(c, v.Cold, p.Freed, p.Rewritten, edits)
		}
	}
}

// cold reports whether nothing of the conversation is in the prompt cache when the next request is made, and the minutes
// since the last response.
func (e *Engine) cold(c *policy.Context) (cold bool, idle float64) {
	if len(e.weights) == 0 {
		return true, math.Inf(1)
	}
	pause := c.Now.Sub(e.progress.last.Time)
	known := !c.Now.IsZero() && !e.progress.last.Time.IsZero()
	if known {
		idle = max(pause, 0).Minutes()
	}
	life, ok := e.account.LifetimeFor(c.Model)
	return !ok || known && pause > life, idle
}

// payback is the number of requests after which edits have paid for themselves: what is written to the cache anew
// instead of read, and the stage's own requests, over what each later request reads less. Where the cache is cold
// anyway, nothing is written for their sake.
func (e *Engine) payback(c *policy.Context, cold bool, freed, rewritten int, edits []policy.Edit) float64 {
	read, write, input, output := e.account.Rates(c.Model)
	if cold {
		write = read
	}
	paid := float64(rewritten) * (write - read)
	for i := range edits {
		for call := edits[i].Call; call != nil; call = call.Then {
			size := call.Input
			rate := input
			if size == 0 {
				size = e.view.ClientTokens() + call.Prompt
			}
			if call.Prefix == "session" {
				if call.Input == 0 {
					size += c.Overhead
				}
				if !cold {
					rate = read
				}
			}
			written := call.Output
			if written == 0 {
				written = e.summaryTokens(edits[i].Made())
			}
			paid += float64(size)*rate + float64(written)*output
		}
	}
	if paid <= 0 {
		return 0
	}
	return paid / (float64(freed) * read) // a price of 0 is saved never
}
