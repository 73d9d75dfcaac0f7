package report

import (
	"fmt"
	"io"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// ClientStatus is a session in the middle of its work. Zero fields are not known.
type ClientStatus struct {
	Usage   jsonl.Usage // of the last response
	Window  int         // tokens
	Limits  []ListedLimit
	Rules   string // the release that has the limits, where the client is newer than any that was read
	Now     time.Time
	Expires time.Time // of the prompt cache
	Misses  int       // of it, in the session
	USD     float64   // what the client says that the session has cost
}

// StatusLine prints the line of a status.
func StatusLine(w io.Writer, s ClientStatus) error {
	used := s.Usage.Total()
	input := s.Usage.Context()
	context := "no context yet"
	if used > 0 {
		context = "context " + short(used) + phraseIf(s.Window > 0, " of %s, %s", short(s.Window), percent(used, s.Window))
	}
	compacts := ""
	if first := firstLimit(s.Limits); used > 0 && first.Tokens > 0 {
		compacts = either(first.Blocks, "stops ", "compacts ") + either(used < first.Tokens, "in "+short(first.Tokens-used)+" tokens", "at the next request") + before(" by the rules of ", s.Rules)
	}
	cached := phraseIf(input > 0, "cache read %s", percent(s.Usage.CacheRead, input))
	if !s.Expires.IsZero() {
		cached = joined(", ", cached, either(s.Now.Before(s.Expires), "lives until "+s.Expires.In(s.Now.Location()).Format("15:04"), "cold by now"))
	}
	if s.Misses > 0 {
		cached = joined(", ", cached, count(s.Misses, "miss"))
	}
	cost := ""
	if s.USD > 0 {
		cost = fmt.Sprintf("USD %.2f", s.USD)
	}
	_, err := fmt.Fprintln(w, joined(" | ", context, compacts, cached, cost))
	return err
}
