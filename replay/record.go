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

// Record holds what is computed once for all replays of a conversation: token counts calibrated to the recorded usage,
// and the recorded view (what the client really sent) at each request. UseRelease and UseWindow may change a Record
// before its first replay. After that it is immutable and safe for concurrent use.
type Record struct {
	Conv    *session.Conversation
	Cal     *tokens.Calibration
	Counted tokens.CountedModel // how Cal counts the tokens of the conversation's model
	Session *bill.Bill          // the bill of the whole session, subagents included; nil: the bill of the conversation alone is used

	record *record.Record
}

// NewRecord computes the Record of a conversation. It returns an error if the session's file cannot be read.
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

// Encoded returns the token counts of the conversation's blocks in a tokenizer encoding. The first call for an encoding
// counts the blocks; later calls reuse the counts. Encoded is safe for concurrent use. It returns an error for an
// unknown encoding.
func (r *Record) Encoded(encoding string) (*tokens.WeightTable, error) {
	return r.record.Encoded(encoding)
}

// Contradicted reports whether at some main request the recorded usage is less than the tokens of the recorded content.
func (r *Record) Contradicted() bool { return r.record.Contradicted() }

// Pauses returns the pause before each main request, in order. The pause before the first request is zero.
func (r *Record) Pauses() []Pause { return r.record.Pauses() }

// Conversion returns how a replay with opt converts the recorded tokens to another tokenizer; nil if it does not
// convert them.
func (r *Record) Conversion(opt Options) (*Conversion, error) {
	to, err := r.record.Under(opt.Model, r.record.Table(opt.Prices))
	if err != nil {
		return nil, err
	}
	return to.Conversion(), nil
}

// Decide runs the stages of pol on the recorded view before each request and returns what they decide. It does not
// apply their edits: unlike in a replay, a decision that differs from the recorded session does not affect later
// decisions.
func (r *Record) Decide(pol *policy.Policy, opt Options) ([]Decision, error) {
	return engine.Decide(r.record, pol, opt)
}

// FitWindow derives the context window of the session from its recorded automatic compactions. pol must be a policy
// that compacts as the client does. The result is nil if no such compaction is recorded, or if users could not set the
// window of the client.
func (r *Record) FitWindow(pol *policy.Policy, opt Options) (*Fit, error) {
	return engine.FitWindow(r.record, pol, opt)
}

// CompactionKind returns the reason for the recorded compaction with the index boundary in Conversation.Boundaries.
func (r *Record) CompactionKind(boundary int) CompactionKind {
	return r.record.CompactionKind(boundary)
}

// Assumed returns a warning that names the recorded models whose context window is not known and is therefore assumed.
// It is for programs that do not replay: a replay that uses such a window gives the warning itself (Timeline.Warnings).
func (r *Record) Assumed(opt Options) []session.Warning { return engine.Assumed(r.record, opt) }

// UseWindow makes f the context window of replays for which neither the policy nor Options.Window or Options.Model sets
// one. Stages derive from this window the numbers of tokens at which they act. Whether the API refuses a request still
// depends on the model's own window. Call UseWindow before the first replay.
func (r *Record) UseWindow(f *Fit) { r.record.Fit = f }

// UseRelease looks up in presets the release that recorded the session. Timelines of the recorded track then show the limits of that
// release (Timeline.LimitsOf); what the recorded track does stays the same. If the recorded compactions show which context window the user had set, replays then use it. For a session
// older than every release in presets, the recorded track has no limits; this is no error. Call UseRelease before the
// first replay. The error is that of loading the release or of FitWindow.
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

// Continue returns what the next request would send and cost at the given time: without a compaction, and after a
// compaction by pol, which is usually the client's policy. If pol is nil, the cost after a compaction is left out. The
// result is nil for a session without requests.
func (r *Record) Continue(pol *policy.Policy, opt Options, now time.Time) (*Continuation, error) {
	return engine.Continue(r.record, pol, opt, now)
}

// RequestOf replays up to the event with index k and returns the own request that the policy makes for that event. For
// a failed compaction it returns the request that the API refused; for an event with several own requests, the first.
// The error is an [UnseenError] if the messages of the request are not known.
func (r *Record) RequestOf(pol *policy.Policy, opt Options, k int) (*OwnRequest, error) {
	return engine.RequestOf(r.record, pol, opt, k)
}

// EachView replays the conversation and calls yield with the view of each main request and the number n of the request.
// At the end of the file it calls yield once more; n is then one larger. A view is valid only until yield returns. The
// replay stops if yield returns false. If pol is nil, each view is the whole raw history before the request.
func (r *Record) EachView(pol *policy.Policy, opt Options, yield func(n int, v *view.View) bool) error {
	return engine.EachView(r.record, pol, opt, yield)
}

// EachPair is like EachView, but calls yield with the views of two policies at the same request.
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

// ViewAt returns the view of main request n. The number directly after the last main request stands for the end of the
// file; for other numbers ViewAt returns an error. If pol is nil, the view is the whole raw history before the request.
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

// Bridge returns the steps from the billed cost of the recorded session to the cost of tl, which must be the replay of
// pol with opt.
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

// LineAt returns the line of the response to main request n, or 0 if there is no such request. The recorded content of
// the request is above that line.
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

// ModelAt returns the model of main request n in a replay with opt, and the largest output of that model in tokens. For
// an unknown model the largest output is 32,000, the default of Claude Code. If n is larger than the number of main requests,
// the model is that of the last one.
func (r *Record) ModelAt(opt Options, n int) (model string, maxOutput int) {
	if k := min(n, len(r.Conv.Requests)) - 1; k >= 0 {
		model = r.Conv.Response(k).Model
	}
	model = cmp.Or(opt.Model, model)
	m, _, _ := r.record.Table(opt.Prices).FindLike(model)
	return model, cmp.Or(m.MaxOutput, defaultMaxOutput)
}
