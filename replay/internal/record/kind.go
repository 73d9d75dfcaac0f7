package record

import (
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// CompactionKind is why a client compacted.
type CompactionKind string

// The values of CompactionKind.
const (
	CompactionThreshold   CompactionKind = "threshold"    // the context reached the client's threshold
	CompactionReactive    CompactionKind = "reactive"     // the API refused a prompt as too long
	CompactionIdle        CompactionKind = "idle"         // the user was away and the prompt cache was about to expire
	CompactionModelChange CompactionKind = "model_change" // the next model has a smaller window, or cannot read the previous model's compaction
	CompactionManual      CompactionKind = "manual"       // the user asked for it
	CompactionServer      CompactionKind = "server"       // the API compacted
	CompactionPrecomputed CompactionKind = "precomputed"  // the client had written the summary in advance
	CompactionUnknown     CompactionKind = ""             // the client does not say
)

// Text names the trigger of a compaction and, where that does not say it all, its kind.
func (k CompactionKind) Text(trigger string) string {
	more := map[CompactionKind]string{
		CompactionReactive: "reactive: prompt too long", CompactionIdle: "while idle", CompactionServer: "by the API", CompactionPrecomputed: "summary written ahead",
	}[k]
	switch {
	case k == CompactionModelChange:
		return "model change"
	case more != "":
		return trigger + ", " + more
	}
	return trigger
}

// idleSlack is what the client's timer and the call for the summary take, either way.
const idleSlack = 2 * time.Minute

// CompactionKind is why the client made the compaction of a boundary. A file says little of it: an automatic one is taken to
// be none of the threshold's where its time, its size or the models around it show another cause.
func (r *Record) CompactionKind(i int) CompactionKind {
	b := &r.Conv.Boundaries[i]
	var client policy.ClientVersion
	if b.Version != "" {
		client = r.Client.At(b.Version)
	}
	window := r.windowBefore(b)
	threshold := window - client.Headroom
	switch {
	case b.Trigger == string(CompactionModelChange):
		return CompactionModelChange
	case b.Trigger != "auto" && b.Trigger != "manual":
		return CompactionUnknown
	case client.CompactsIdle > 0 && r.isIdle(b, client.CompactsIdle) && b.PreTokens >= client.IdleLeast && b.PreTokens < threshold:
		return CompactionIdle
	case b.Trigger == "manual":
		return CompactionManual
	case b.Precomputed:
		return CompactionPrecomputed
	case b.Summary >= 0 && sealed(&r.Conv.Messages[b.Summary]):
		return CompactionServer
	case r.isModelChange(b, client.Headroom):
		return CompactionModelChange
	case b.PreTokens > 0 && b.PreTokens < client.LeastWindow-client.Headroom:
		if client.Reactive {
			return CompactionReactive
		}
		return CompactionUnknown // a percentage that was set, of a window that is not known
	case client.Reactive && (b.PreTokens >= window || r.passed(i, threshold)):
		return CompactionReactive
	}
	return CompactionThreshold
}

// isIdle reports whether a compaction came as an hour's cache was about to expire.
func (r *Record) isIdle(b *session.Boundary, before time.Duration) bool {
	if k := b.Request - 2; k < 0 || k >= len(r.TTLs) || r.TTLs[k] != cache.Long {
		return false
	}
	for m := b.Before - 1; m >= 0; m-- {
		if msg := &r.Conv.Messages[m]; msg.Role == session.Assistant && msg.Usage.Context() > 0 {
			gap := b.Time.Sub(msg.Time)
			return !b.Time.IsZero() && !msg.Time.IsZero() && gap >= time.Hour-before-idleSlack && gap <= time.Hour-before+idleSlack
		}
	}
	return false
}

// windowBefore is the largest window that the model before a compaction may have had, tokens.
func (r *Record) windowBefore(b *session.Boundary) int {
	if k := b.Request - 2; k >= 0 && k < len(r.Conv.Requests) {
		return r.LargestWindow(r.Conv.Response(k))
	}
	return defaultWindow
}

// defaultWindow is that of a model that is not known, tokens.
const defaultWindow = 200000

// LargestWindow is the largest window that a response's model may have had, tokens.
func (r *Record) LargestWindow(m *session.Message) int {
	if m.Window > 0 {
		return m.Window
	}
	model, _, _ := r.Models.FindLike(m.Model)
	n := model.Context
	if n == 0 {
		n = defaultWindow
	}
	if most := r.Largest[m.Model]; most > n || strings.Contains(m.Model, "[1m]") {
		n = millionWindow
	}
	return n
}

const millionWindow = 1000000

// isModelChange reports whether the response after a compaction has another model than the one before, with a smaller
// window that the context does not fit.
func (r *Record) isModelChange(b *session.Boundary, headroom int) bool {
	k := b.Request - 1
	if k < 1 || k >= len(r.Conv.Requests) {
		return false
	}
	before := r.Conv.Response(k - 1)
	after := r.Conv.Response(k)
	return before.Model != after.Model && r.LargestWindow(after) < r.LargestWindow(before) && b.PreTokens >= r.LargestWindow(after)-headroom
}

// passed reports whether a request since the compaction before was sent, and answered, with the threshold reached already.
func (r *Record) passed(i, threshold int) bool {
	from := 0
	if i > 0 {
		from = r.Conv.Boundaries[i-1].Request - 1
	}
	for k := max(from, 0); k < r.Conv.Boundaries[i].Request-2 && k < len(r.Conv.Requests); k++ {
		if u := r.Conv.Response(k).Usage; u.Total() >= threshold {
			return true
		}
	}
	return false
}
