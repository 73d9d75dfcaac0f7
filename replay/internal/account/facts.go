package account

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// RequestFacts are what the recorded session says of a main request, and its overhead in the replay. Figures are tokens.
type RequestFacts struct {
	N        int              // of the request
	Response *session.Message // that answers it
	Now      time.Time        // of the last message before it; zero: not known
	Overhead int              // the part of it outside messages; below 0 where the recorded usage is less than the content weighs
	Head     cache.Head       // as the recorded session shows it
	Floor    int              // what it reads whatever was sent before, where the provider caches by itself
	Tail     cache.Tail
	TTL      cache.TTL         // that it asked for
	Setting  cache.BreakCause  // what else the client did before it
	Warmings []*session.Charge // before it: they renewed what the request before left in the cache
	Earlier  *jsonl.Usage      // of the first request of a file that begins mid-conversation, as recorded; nil: of any other
}
