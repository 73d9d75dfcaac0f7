package engine

import (
	"time"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/internal/account"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/replay/trace"
)

// Options of a replay. The zero value is the default.
type Options struct {
	Counter   string            // one of tokens.Names; "": usage
	Model     string            // replaces the recorded model
	Window    int               // context window, tokens; 0: by client version and model
	WindowSet bool              // the user had set it: automatic compaction follows it
	Overhead  policy.Overhead   // system prompt and tools; not given: the policy's, else from the first request's usage
	CompactAt []int             // requests before which the user runs a manual compaction
	Cache     account.CacheMode // whose prompt cache is simulated; "": the policy's own
	Regret    bool              // compute Timeline.Regret; reads every text of the conversation, once for all its replays
	Prices    *price.Table      // replaces the embedded table of models and prices
	Encoders  *tokens.Encoders  // of Run: shared with other replays; nil: its own
	Families  []policy.Family   // of Run: what is known of clients and models; nil: those that are built in
	Trace     *trace.TextLimit  // makes Timeline.Trace; nil: none

	// Observe, if set, is called at each main request with the view that is sent. The view, its edits and the messages that
	// they made are valid during the call.
	Observe func(n int, v *view.View)

	// Stop, if set, is called at each main request. An error ends the replay with that error.
	Stop func() error

	// Send, if set, is called with each request in the order of Timeline.Requests. The request, and what it
	// points to, is valid during the call.
	Send func(q *SentRequest)
}

// SentRequest is a request as it is sent.
type SentRequest struct {
	*account.Request
	Call  *policy.Call // of a call of the policy's own; nil: a main request
	View  *view.View   // the messages; of a call those of the conversation before it
	Model string       // that answers
	Start time.Time    // zero: not known
	End   time.Time    // of the response; zero: not known, as that of every call of the policy's own
	Stop  string       // why the recorded response ended
	Head  account.SentHead
}
