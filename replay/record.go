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

// Record is what is computed once for all replays of a conversation: token counts calibrated to the recorded usage, and
// the recorded view (what the client really sent) at each request. UseRelease and UseWindow may change it before the
// first replay. After that it is immutable and safe for concurrent use.
type Record struct {
	Conv    *session.Conversation
	Cal     *tokens.Calibration
	Counted tokens.CountedModel // how Cal counts the tokens of the conversation's model
	Session *bill.Bill          // the bill of the whole session, subagents included; nil: that of the conversation alone

	record *record.Record
}

// NewRecord computes the Record of a conversation. An error comes from reading the texts of the session's file.
func NewRecord(conv *session.Conversation) (*Record, error) {
	return NewRecordWith(conv, RecordOptions{})
}

// NewRecordWith is like NewRecord, with options.
func NewRecordWith(conv *session.Conversation, opt RecordOptions) (*Record, error) {
	r, err := record.New(conv, opt)
	if err != nil {
		return nil, err
	}
	return &Record{Conv: conv, Cal: r.Cal, Counted: r.Counted, record: r}, nil
}

// Edits returns the changes of the context that the client recorded, as edits of the raw history.
func (r *Record) Edits() []policy.Edit { return slices.Clip(r.record.Acts.Edits) }

// Client returns what is known of the client that recorded the conversation.
func (r *Record) Client() *policy.Recorder { return r.record.Client }

// Encoded returns the token counts of the conversation's blocks in the tokenizer encoding name. They are counted at the
// first call and kept. It is safe for concurrent use, and returns an error for an unknown encoding.
func (r *Record) Encoded(name string) (*tokens.WeightTable, error) { return r.record.Encoded(name) }

// Contradicted reports whether the recorded usage is less than the tokens of the recorded content.
func (r *Record) Contradicted() bool { return r.record.Contradicted() }

// Pauses returns the pauses before the main requests, in their order; that before the first request is zero.
func (r *Record) Pauses() []Pause { return r.record.Pauses() }

// Conversion returns how a replay with opt converts the recorded tokens to another tokenizer; nil where it does not.
func (r *Record) Conversion(opt Options) (*Conversion, error) {
	to, err := r.record.Under(opt.Model, r.record.Table(opt.Prices))
	if err != nil {
		return nil, err
	}
	return to.Conversion(), nil
}

// Decide runs the stages of pol on the recorded view before each request and returns what they decide, without applying
// their edits. Unlike in a replay, a decision that differs from the recorded session does not affect later ones.
func (r *Record) Decide(pol *policy.Policy, opt Options) ([]Decision, error) {
	return engine.Decide(r.record, pol, opt)
}

// FitWindow derives the context window of the session from its recorded automatic compactions. pol is a policy that
// compacts as the client does. The result is nil where there is no such compaction or the client had no setting for the
// window.
func (r *Record) FitWindow(pol *policy.Policy, opt Options) (*Fit, error) {
	return engine.FitWindow(r.record, pol, opt)
}

// CompactionKind returns why the client made the compaction Conversation.Boundaries[boundary].
func (r *Record) CompactionKind(boundary int) CompactionKind {
	return r.record.CompactionKind(boundary)
}

// Assumed returns a warning for each recorded model whose context window is assumed. A replay itself warns of the
// windows that it assumes.
func (r *Record) Assumed(opt Options) []session.Warning { return engine.Assumed(r.record, opt) }

// UseWindow sets the context window at which replays compact, unless the policy, Options.Window or Options.Model sets
// one. It does not affect which requests are refused. Call it before the first replay.
func (r *Record) UseWindow(f *Fit) { r.record.Fit = f }

// UseRelease looks up the release that recorded the session in presets. The recorded track then has the limits of that
// release, and replays use the context window that the user had set, if the recorded compactions show it. A session
// older than every known release has no known limits. Call it before the first replay. The error is that of loading the
// release or of FitWindow.
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

// Continue returns the cost of the next request at time now: without a compaction, and after one by pol, usually the
// client's policy. With a nil pol the second is left out. The result is nil for a session without requests.
func (r *Record) Continue(pol *policy.Policy, opt Options, now time.Time) (*Continuation, error) {
	return engine.Continue(r.record, pol, opt, now)
}

// RequestOf replays up to event k, an index from 0, and returns the request of the call that the event contains: the
// refused one of a failed event, else the first. The error is an [UnseenError] where the messages of that call are not
// known.
func (r *Record) RequestOf(pol *policy.Policy, opt Options, k int) (*OwnRequest, error) {
	return engine.RequestOf(r.record, pol, opt, k)
}

// EachView replays the conversation and calls yield with the view of each main request n and, at the end of the file,
// of one further request. A view is valid during the call only. The replay stops where yield returns false. With a nil
// pol the views are those of the raw history.
func (r *Record) EachView(pol *policy.Policy, opt Options, yield func(n int, v *view.View) bool) error {
	return engine.EachView(r.record, pol, opt, yield)
}

// EachPair is like EachView, for the views of two policies at the same request.
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

// ViewAt returns the view of main request n; the number after the last request stands for the end of the file. With a
// nil pol it is the raw history before the request. It returns an error for other numbers.
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

// Bridge returns the steps from the billed cost of the recorded session to the cost of tl, the replay of pol with opt.
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

// InsteadOfUsage reports whether tokens are counted from the content although the session records usage.
func (t *Timeline) InsteadOfUsage() bool {
	return t.Counter != tokens.NameUsage && slices.ContainsFunc(t.Requests, func(r Request) bool { return r.Recorded != nil })
}

// CacheFit replays the recorded track and returns how well its simulated prompt cache agrees with the recorded usage.
func (r *Record) CacheFit(opt Options) (*CacheFit, error) {
	t, err := r.Replay(RecordedTrack(), Options{Prices: opt.Prices})
	if err != nil {
		return nil, err
	}
	return t.CacheFit, nil
}

// LineAt returns the line of the response to main request n, or 0 where there is no such request. What was sent is
// above that line.
func (r *Record) LineAt(n int) int {
	if n < 1 || n > len(r.Conv.Requests) {
		return 0
	}
	return r.Conv.Response(n - 1).Line
}

// Prices returns the table of models and prices that a replay with opt uses.
func (r *Record) Prices(opt Options) *price.Table { return r.record.Table(opt.Prices) }

// defaultMaxOutput is the max_tokens of clients without a setting (analysis of Claude Code 2.1.19).
const defaultMaxOutput = 32000

// ModelAt returns the model of main request n, or of the last main request where n is above it, and the largest output
// of that model in tokens: for an unknown model the client's default, 32,000.
func (r *Record) ModelAt(opt Options, n int) (model string, maxOutput int) {
	if k := min(n, len(r.Conv.Requests)) - 1; k >= 0 {
		model = r.Conv.Response(k).Model
	}
	model = cmp.Or(opt.Model, model)
	m, _, _ := r.record.Table(opt.Prices).FindLike(model)
	return model, cmp.Or(m.MaxOutput, defaultMaxOutput)
}
