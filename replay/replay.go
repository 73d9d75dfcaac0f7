package replay

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/regret"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/replay/trace"
)

// Options of a replay. The zero value is the default.
type Options struct {
	Counter   string           // one of tokens.Names; "": usage
	Model     string           // replaces the recorded model
	Window    int              // context window, tokens; 0: by client version and model
	Overhead  policy.Overhead  // system prompt and tools; not given: the policy's, else from the first request's usage
	CompactAt []int            // requests before which the user runs a manual compaction
	Cache     CacheMode        // whose prompt cache is simulated; "": the policy's own
	Regret    bool             // compute Timeline.Regret; reads every text of the conversation, once for all its replays
	Prices    *price.Table     // replaces the embedded table of models and prices
	Encoders  *tokens.Encoders // of Run: shared with other replays; nil: its own
	Families  []policy.Family  // of Run: what is known of clients and models; nil: those that are built in
	Trace     *trace.Room      // makes Timeline.Trace; nil: none

	// Observe, if set, is called at each main request with the view that is sent. The view, its edits and the messages that
	// they made are valid during the call.
	Observe func(n int, v *view.View)

	// Send, if set, is called with each request in the order of Timeline.Requests. The request, and what it
	// points to, is valid during the call.
	Send func(q *SentRequest)
}

// SentRequest is a request as it is sent.
type SentRequest struct {
	*Request
	Call  *policy.Call // of a call of the policy's own; nil: a main request
	View  *view.View   // the messages; of a call those of the conversation before it
	Model string       // that answers
	Start time.Time    // zero: not known
	End   time.Time    // of the response; zero: not known, as that of every call of the policy's own
	Stop  string       // why the recorded response ended
	Head  SentHead
}

// SentHead is the system prompt and the tools of a request.
type SentHead struct {
	Shared        int // tokens at their start that the client sends in all its sessions
	SharedChanges int // how often that start has changed in the conversation
	Changes       int // how often the rest has, without the changes of that start
}

// Run replays a conversation through a policy.
func Run(conv *session.Conversation, pol *policy.Policy, opt Options) (*Timeline, error) {
	rec, err := NewRecordWith(conv, RecordOptions{Encoders: opt.Encoders, Families: opt.Families})
	if err != nil {
		return nil, err
	}
	return rec.Replay(pol, opt)
}

// Replay replays the record's conversation through a policy. A Record may be replayed by several goroutines at once.
func (r *Record) Replay(pol *policy.Policy, opt Options) (*Timeline, error) {
	t, _, err := r.ReplayAlike(pol, nil, opt)
	return t, err
}

// finish makes the timeline after the last message.
func (e *engine) finish() (*Timeline, error) {
	t := e.timeline()
	if e.tracer != nil {
		var main []category.Beyond
		for _, r := range t.Main() {
			main = append(main, category.Beyond{Tokens: r.Overhead, Recorded: r.Recorded != nil})
		}
		var err error
		if t.Trace, err = e.tracer.Trace(main); err != nil {
			return nil, fmt.Errorf("%s: %w", e.conv.Path, err)
		}
	}
	if !e.opt.Regret {
		return t, nil
	}
	uses, err := e.r.uses()
	if err != nil {
		return nil, err
	}
	judged := regret.Judged{Edits: e.view.Edits(), Recorded: e.pol.Recorded, Weigh: e.report, Refetch: e.refetch(t)}
	if t.Regret, err = uses.Judge(judged); err != nil {
		return nil, err
	}
	t.Regret.Bound = uses.Bound(e.report, t.Budget())
	n := len(t.Regret.Misses)
	t.Totals.Misses = &n
	return t, nil
}

// Budget is the largest payload less the smallest overhead, tokens: what a policy could keep at any request.
func (t *Timeline) Budget() int {
	least := 0
	for i, r := range t.Main() {
		if i == 0 || r.Overhead < least {
			least = r.Overhead
		}
	}
	return t.Totals.PayloadPeak - least
}

// Bound is the fewest misses within a budget of tokens, weighed as replays with these options weigh. Replays that are
// compared have one bound: that of the smallest of their budgets.
func (r *Record) Bound(opt Options, budget int) (*regret.Bound, error) {
	uses, err := r.uses()
	if err != nil {
		return nil, err
	}
	e := &engine{r: r, opt: opt, conv: r.Conv, pol: &policy.Policy{}}
	if _, err := e.weighBy(opt.Counter); err != nil {
		return nil, err
	}
	return uses.Bound(e.report, budget), nil
}

// refetch prices what a policy has to get back before request n: one more request like it, which reads the payload from
// the cache and writes the tokens to it, for as long as the cache's settings say. Without a cache all of it is uncached.
func (e *engine) refetch(t *Timeline) func(n, tokens int) price.USD {
	main := t.Main()
	return func(n, tokens int) price.USD {
		row := main[n-1]
		return e.cache.cost(row.Model, e.cache.refetch(cmp.Or(e.opt.Model, row.Model), row.Payload, tokens), 0)
	}
}
