package replay

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/internal/account"
	"github.com/ctxkit/ctxkit/replay/internal/engine"
	"github.com/ctxkit/ctxkit/replay/internal/record"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// Record is what is computed of a recorded conversation for all policies: weights calibrated to its usage, and the
// recorded view (what the client really sent) at each request. All replays of the conversation share it; it does
// not change once UseWindow and UseRelease have said what was set.
type Record struct {
	Conv    *session.Conversation
	Cal     *tokens.Calibration
	Counted tokens.CountedModel // how Cal weighs the conversation's model
	Session *bill.Bill          // what the session of the conversation was billed, subagents included; nil: the conversation alone counts

	record *record.Record
}

// NewRecord computes the recorded session of a conversation.
func NewRecord(conv *session.Conversation) (*Record, error) {
	return NewRecordWith(conv, RecordOptions{})
}

// NewRecordWith is NewRecord with options.
func NewRecordWith(conv *session.Conversation, opt RecordOptions) (*Record, error) {
	r, err := record.New(conv, opt)
	if err != nil {
		return nil, err
	}
	return &Record{Conv: conv, Cal: r.Cal, Counted: r.Counted, record: r}, nil
}

// Edits returns the recorded session as edits on the raw history.
func (r *Record) Edits() []policy.Edit { return slices.Clip(r.record.Acts.Edits) }

// Client is what is known of the client that recorded the conversation.
func (r *Record) Client() *policy.Recorder { return r.record.Client }

// Encoded is the weight of the conversation's blocks in an encoding. The first call counts; several goroutines may
// call it.
func (r *Record) Encoded(name string) (*tokens.WeightTable, error) { return r.record.Encoded(name) }

// Contradicted reports whether the recorded usage contradicts the content: it is less than the lines weigh.
func (r *Record) Contradicted() bool { return r.record.Contradicted() }

// Pauses are the pauses before the conversation's requests, in their order; the first request has none.
func (r *Record) Pauses() []Pause { return r.record.Pauses() }

// Conversion says how a replay with the options converts the recorded session's tokens; nil where it does not.
func (r *Record) Conversion(opt Options) (*Conversion, error) {
	to, err := r.record.Under(opt.Model, r.record.Table(opt.Prices))
	if err != nil {
		return nil, err
	}
	return to.Conversion(), nil
}

// Decide runs a policy's stages on the recorded view before each request and returns what they propose without
// applying it. So a decision that differs from the recorded session does not change the next one, as it does in a replay.
func (r *Record) Decide(pol *policy.Policy, opt Options) ([]Decision, error) {
	return engine.Decide(r.record, pol, opt)
}

// FitWindow finds the window of a session with recorded automatic compactions, by a policy that compacts as the client
// did. Nil where nothing is recorded to fit to, or where users of the client could set none.
func (r *Record) FitWindow(pol *policy.Policy, opt Options) (*Fit, error) {
	return engine.FitWindow(r.record, pol, opt)
}

// CompactionKind is why the client made the recorded compaction of a boundary, an index into Conversation.Boundaries.
func (r *Record) CompactionKind(boundary int) CompactionKind {
	return r.record.CompactionKind(boundary)
}

// Assumed warns of windows that nothing states of the conversation's models; a replay warns of its own.
func (r *Record) Assumed(opt Options) []session.Warning { return engine.Assumed(r.record, opt) }

// UseWindow lets the recorded session's replays compact in a fitted window, under every policy that sets none, unless
// Options.Window or Options.Model says otherwise. What the API refuses does not depend on it. Call it before the first
// replay.
func (r *Record) UseWindow(f *Fit) { r.record.Fit = f }

// UseRelease tells the recorded session the release of its product that recorded it: the recorded track has its limits,
// and replays compact in the window that the user had set, where the compactions show it. Of a session that is older
// than any known release no limit is known. Call it before the first replay.
func (r *Record) UseRelease(presets *preset.Library) error {
	if len(presets.Releases(r.Conv.Product)) == 0 {
		return nil
	}
	pol, err := presets.LoadFor(r.Conv.Product, preset.ClientOf(r.Conv))
	if err != nil {
		return err
	}
	if !pol.Older {
		r.record.Release = pol
	}
	fit, err := r.FitWindow(pol, Options{})
	if err == nil {
		r.UseWindow(fit)
	}
	return err
}

// Continue returns what continuing the recorded session costs at a time, and after a compaction by a policy, that of its
// client; nil: that is not known. It returns nil where there is no request.
func (r *Record) Continue(pol *policy.Policy, opt Options, now time.Time) (*Continuation, error) {
	return engine.Continue(r.record, pol, opt, now)
}

// RequestOf replays up to event k and returns the request of its call: of one that fails the refused one, else the
// first. It returns an [UnseenError] where the stage does not know the messages.
func (r *Record) RequestOf(pol *policy.Policy, opt Options, k int) (*OwnRequest, error) {
	return engine.RequestOf(r.record, pol, opt, k)
}

// EachView replays and calls yield with the view that is sent at each main request n, and once more at the end of the
// file, with the number of a further request. The view is valid during the call; the replay ends where yield returns
// false. Without a policy the views are those of the raw history.
func (r *Record) EachView(pol *policy.Policy, opt Options, yield func(n int, v *view.View) bool) error {
	return engine.EachView(r.record, pol, opt, yield)
}

// EachPair calls yield with the views under two policies at each request, as EachView does.
func (r *Record) EachPair(a, b *policy.Policy, opt Options, yield func(n int, a, b *view.View) bool) error {
	var failed error
	next, stop := iter.Pull(func(yield func(*view.View) bool) {
		failed = r.EachView(a, opt, func(_ int, v *view.View) bool { return yield(v) })
	})
	defer stop()
	err := r.EachView(b, opt, func(n int, v *view.View) bool {
		other, ok := next()
		return ok && yield(n, other, v)
	})
	return errors.Join(failed, err)
}

// ViewAt is the view that is sent at main request n; at one more than there are, the view at the end of the file.
// Without a policy it is the raw history before request n, nothing compacted.
func (r *Record) ViewAt(pol *policy.Policy, opt Options, n int) (*view.View, error) {
	var found *view.View
	err := r.EachView(pol, opt, func(k int, v *view.View) bool {
		if k == n {
			found = v
		}
		return found == nil
	})
	if err == nil && found == nil {
		err = fmt.Errorf("there is no request %d: the session has %d", n, len(r.Conv.Requests))
	}
	return found, err
}

// bill is what was billed, with what the conversation alone was.
func (r *Record) bill(opt Options) (all, alone *bill.Bill) {
	alone = bill.Of(r.Conv, r.record.Table(opt.Prices))
	return cmp.Or(r.Session, alone), alone
}

// Bridge leads from what the API billed to the cost of a replay of the recorded session under a policy with these options.
func (r *Record) Bridge(tl *Timeline, pol *policy.Policy, opt Options) (*Bridge, error) {
	same := opt
	same.Regret = false
	same.CompactAt = nil
	same.Observe = nil
	same.Send = nil
	same.Trace = nil
	priced := func(t *Timeline) *account.ReplayCost {
		return &account.ReplayCost{Requests: t.Requests, CostUSD: t.Totals.CostUSD, CostParts: t.Totals.CostParts}
	}
	recorded := func(model string) (*account.ReplayCost, error) {
		if pol.Recorded && model == opt.Model {
			return priced(tl), nil
		}
		same.Model = model
		t, err := r.Replay(RecordedTrack(), same)
		if err != nil {
			return nil, err
		}
		return priced(t), nil
	}
	own, err := recorded("")
	if err != nil {
		return nil, err
	}
	replaced := own
	if opt.Model != "" {
		if replaced, err = recorded(opt.Model); err != nil {
			return nil, err
		}
	}
	all, alone := r.bill(opt)
	b := account.NewBridge(r.Conv, all, alone, r.record.Table(opt.Prices), r.record.Kinds, own, replaced, priced(tl))
	if b.Model = opt.Model; opt.Cache == CacheNone || tl.InsteadOfUsage() {
		b.Fit = nil // it would be another cache, or other requests
	}
	return b, nil
}

// InsteadOfUsage reports whether tokens are those of the content although usage is recorded.
func (t *Timeline) InsteadOfUsage() bool {
	return t.Counter != tokens.NameUsage && slices.ContainsFunc(t.Requests, func(r Request) bool { return r.Recorded != nil })
}

// CacheFit replays the recorded track and says how well its simulated prompt cache fits the recorded session.
func (r *Record) CacheFit(opt Options) (*CacheFit, error) {
	t, err := r.Replay(RecordedTrack(), Options{Prices: opt.Prices})
	if err != nil {
		return nil, err
	}
	return t.CacheFit, nil
}

// LineAt is the line of the response to main request n; what was sent is above it. 0 where there is no such request.
func (r *Record) LineAt(n int) int {
	if n < 1 || n > len(r.Conv.Requests) {
		return 0
	}
	return r.Conv.Response(n - 1).Line
}

// Prices is the table of models and prices of a replay.
func (r *Record) Prices(opt Options) *price.Table { return r.record.Table(opt.Prices) }

// defaultMaxOutput is the max_tokens of clients without a setting (analysis of Claude Code 2.1.19).
const defaultMaxOutput = 32000

// ModelAt is the model of main request n, or of the last one for the end, and its largest output in tokens, the
// client's default where the model is not known.
func (r *Record) ModelAt(opt Options, n int) (model string, maxOutput int) {
	if k := min(n, len(r.Conv.Requests)) - 1; k >= 0 {
		model = r.Conv.Response(k).Model
	}
	model = cmp.Or(opt.Model, model)
	m, _, _ := r.record.Table(opt.Prices).FindLike(model)
	return model, cmp.Or(m.MaxOutput, defaultMaxOutput)
}
