package claude

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// Autocompact are the parameters of autocompact.
type Autocompact struct {
	Enabled      bool                  `yaml:"enabled" doc:"compact automatically at the threshold; false: only when the user asks"`
	Summary      policy.SummaryChoices `yaml:"summary" doc:"where the summary comes from, first that can: recorded, outline, typical, fixed: N tokens"`
	PromptTokens int                   `yaml:"prompt_tokens" doc:"the summary prompt" unit:"tokens" min:"0"`
	Prefix       string                `yaml:"prefix" doc:"what the compaction's own request begins with: its own system prompt (no cache read) or the session's warm prefix" enum:"own,session"`
	MaxOutput    int                   `yaml:"max_output" doc:"the largest summary that the request allows; 0: as the session's requests" unit:"tokens" min:"0"`
	Retries      int                   `yaml:"ptl_retries" doc:"further calls when the compaction's own request is too long, each dropping the oldest rounds" unit:"calls" min:"0"`
	Gap          string                `yaml:"ptl_gap" doc:"whether the API says by how much it is too long: rounds are dropped until that is covered, or a fifth of them a call" enum:"reported,unknown"`
	MaxFailures  int                   `yaml:"max_failures" doc:"no further automatic try for a prompt after this number of failures in a row; 0: each request tries again" unit:"failures" min:"0"`
	MaxRefills   int                   `yaml:"max_refills" doc:"the turn ends in place of a compaction where this number in a row came within refill_requests of the one before; 0: it never does" unit:"compactions" min:"0"`
	RefillSpan   int                   `yaml:"refill_requests" doc:"a compaction fewer requests after the one before, for the same prompt, counts for max_refills" unit:"requests" min:"1"`
	KeepRecent   int                   `yaml:"keep_recent" doc:"the newest rounds that stay verbatim behind the summary; a round is a response and what follows it" unit:"rounds" min:"0"`
	Manual       string                `yaml:"manual" doc:"compactions the user requested: replay or ignore them" enum:"replay,ignore"`
	Ahead        int                   `yaml:"ahead" doc:"percent of the effective window at which the summary is written ahead: at the threshold it takes the place of what it covers, and all that came after stays; 0: never" min:"0" max:"100"`
	IdleAfter    time.Duration         `yaml:"idle_after" doc:"compact before a request that comes so long after the last response, with idle_tokens used: the client does so while the user is away, shortly before an entry of the cache that lives for an hour expires; 0s: never" min:"0s"`
	IdleTokens   int                   `yaml:"idle_tokens" doc:"with idle_after: the least used" unit:"tokens" min:"0"`
}

func defineAutocompact() policy.Definition {
	return policy.Definition{
		Name:    "autocompact",
		Summary: "Before a request whose used tokens reach the auto-compact threshold, or which the API would refuse as too long (window.reactive), the whole view becomes a summary, written by a request of its own; nothing is kept verbatim, or the newest rounds. A request that stays too long for the effective window fails, and the view stays.",
		Source:  "Claude Code 2.1.19 and 2.1.x, analyses of the bundled client, and the code of 2.1.12 to 2.1.332; thresholds confirmed by 95 recorded automatic compactions",
		Differs: "Its request is shown without the tools that it allows (Read, WebFetch, those of MCP servers), which no session holds, and without the field that turns thinking off. Hooks are not run, so what a PreCompact hook adds to the prompt is missing. A compaction of a part that the user chose is read where a session records it, and never simulated. Nor are two flags of the server, off in 2.1.332 as shipped: one raises a percentage for sessions in the cloud, the other puts compaction off to the threshold of the model's whole window where the last summary left nearly as much as a lowered threshold",
		Truth:   policy.TruthRecorded,
		Moments: policy.Prepare | policy.Manual | policy.TurnEnd,
		Params: &Autocompact{
			Enabled: true, Summary: policy.DefaultSummary(),
			PromptTokens: 1257, Prefix: "own", Retries: 3, Gap: "reported", RefillSpan: 3, Manual: "replay", IdleTokens: 200000,
		},
		Example: `before: used 155,277 >= threshold 155,000; the view holds 310 messages
after:  one user message, "This session is being continued from a previous conversation …", and what the client re-injects`,
		Window:     true,
		Shared:     sharedWindow(),
		Compaction: &policy.Compaction{On: compactsAt, Off: "set autocompact.enabled to false", FitsFrom: windowSince},
		New: policy.Maker(func(p Autocompact) policy.Stage {
			s := &autocompact{Autocompact: p}
			s.breaker.Most = s.MaxFailures
			return s
		}),
	}
}

// compactsAt reports whether automatic compaction is on.
func compactsAt(s *policy.StageConfig) bool {
	return s.Params.(*Autocompact).Enabled && windowOf(s).AutoCompact
}

// Limits are what decides when autocompact acts.
func (p *Autocompact) Limits(l *policy.StageLimits) {
	w := windowOf(l.Stage)
	t := limitsOf(l)
	if !w.AutoCompact {
		return
	}
	if !p.Enabled {
		l.Note("%s is false: nothing is compacted automatically", l.Name("autocompact.enabled"))
		return
	}
	from := fmt.Sprintf("effective window - %s (window.buffer)", policy.Thousands(w.Buffer))
	if t.Percent > 0 {
		from = fmt.Sprintf("min(floor(effective window x %g/100), effective window - %s): %s", t.Percent, policy.Thousands(w.Buffer), l.Name("window.pct_override"))
	}
	if p.Ahead > 0 {
		l.Note("the summary is written ahead at %s (autocompact.ahead)", policy.Thousands(aheadAt(p, t)))
	}
	if p.IdleAfter > 0 {
		l.Note("%s after the last response it compacts from %s on (autocompact.idle_after)", strict.DurationText(p.IdleAfter), policy.Thousands(p.IdleTokens))
	}
	if t.Reactive {
		l.Note("automatic compaction waits until the API refuses a prompt as too long (window.reactive): no window was set for the client, and the model is not in window.proactive; otherwise it would compact at %s", policy.Thousands(t.Auto))
		l.Acts(policy.Limit{
			Name: "compaction when the API refuses", Label: "auto", Operator: ">", Tokens: l.Window, From: "context window",
			Key: "autocompact",
		})
		return
	}
	l.Acts(policy.Limit{
		Name: "auto-compact threshold", Label: "auto", Tokens: t.Auto, From: from,
		Key: "autocompact", Raise: "make window.buffer or the output reserve smaller",
	})
}

// Check is what is questionable in a policy with autocompact.
func (p *Autocompact) Check(c *policy.Check) {
	if p.Enabled && !windowOf(c.Stage).AutoCompact {
		c.Add(policy.RuleNever, "autocompact.enabled", "set it to false, or window.auto_compact to true", "window.auto_compact is off")
	}
}

// aheadAt is where the summary is written ahead, tokens.
func aheadAt(p *Autocompact, t Thresholds) int {
	return min(t.Effective*p.Ahead/100, t.Auto)
}

// autocompact reproduces the LLM path of Claude Code's automatic compaction.
type autocompact struct {
	Autocompact
	breaker summarize.Breaker // of one prompt's requests
	dropped int               // rounds that the last call left out
	kept    []policy.ItemID   // what it did not summarize

	last, refills int  // request of the last compaction for the same prompt, 0: none; how many in a row came soon after another
	ended         bool // the turn was ended in place of a compaction

	ready  bool // the summary is written ahead
	covers int  // with ready: how many items had joined
	epoch  int  // of the view when it was
}

func (s *autocompact) Run(c *policy.Context) ([]policy.Edit, error) {
	if isCompactor(c.Agent) {
		return nil, nil
	}
	s.ready = s.ready && c.View.Epoch() == s.epoch
	trigger := "auto"
	reason := ""
	t := thresholds(c)
	switch {
	case c.Moment == policy.TurnEnd:
		s.last = 0
		s.refills = 0
		s.ended = false
		s.breaker.Note(nil)
		return nil, nil
	case c.Moment == policy.Prepare && compactedHere(c):
		s.breaker.Note(nil)
		return nil, nil
	case c.Moment == policy.Manual && s.Manual == "replay":
		trigger = "manual"
		reason = fmt.Sprintf("the user asked for it, used %d", c.Used)
	case c.Moment != policy.Manual && s.Enabled && t.On && !s.ended && !s.breaker.Open():
		reason = s.due(c, t)
	}
	switch {
	case c.View.Len() == 0:
		return nil, nil
	case reason == "":
		return s.ahead(c, t), nil
	case trigger == "auto" && s.thrashes(c.Request):
		s.ended = true
		return []policy.Edit{{Kind: policy.KindFail, Trigger: trigger, Detail: map[string]int{"refills": s.refills},
			Reason: fmt.Sprintf("%s; %d times in a row within %d requests of the compaction before: the client ends the turn", reason, s.refills, s.RefillSpan)}}, nil
	}
	try := summarize.Plan{Trigger: trigger, Reason: reason, Limit: t.Effective}
	if t.Reactive {
		try.Limit = c.Window
	}
	s.keep(c, t)
	if s.ready {
		s.kept = slices.DeleteFunc(c.View.IDs(), func(id policy.ItemID) bool { return int(id) < s.covers })
		try.Reason += "; the summary was written ahead"
	} else {
		try.Call = s.call(c, s.kept, try.Limit)
		failure := try.Failure(c)
		if trigger == "auto" {
			s.breaker.Note(failure)
		}
		if failure != nil {
			return failure, nil
		}
	}
	text := SummaryText{Version: c.Version, Transcript: transcriptPath(c.Conv), Auto: trigger == "auto", Kept: len(s.kept) > 0}
	summary, boundary, from, err := summarize.Take(c, s.Summary, text.Message)
	if err != nil {
		return nil, err
	}
	if try.Call != nil && try.Call.Retries > 0 {
		from += "; too long, " + retries(try.Call.Retries)
	}
	e := policy.Edit{
		Kind: policy.KindSummarize, Trigger: trigger, Reason: try.Reason + "; summary: " + from,
		Insert: summarize.Message(summary),
		Call:   try.Call, Detail: map[string]int{"pre_tokens": c.Used},
	}
	e.Keep = summarize.Kept(c, boundary, s.kept)
	if boundary >= 0 {
		attached := &e.Insert
		if len(s.kept) > 0 { // the client attaches behind what it keeps
			attached = &e.Tail
		}
		*attached = append(*attached, c.Record.Reinjected(boundary)...)
	}
	s.ready = false
	return []policy.Edit{e}, nil
}

// due is why a request is compacted before, "" where it is not.
func (s *autocompact) due(c *policy.Context, t Thresholds) string {
	prompt := c.Overhead + c.View.PayloadTokens()
	if since := c.Now.Sub(lastAnswer(c.View)); s.IdleAfter > 0 && c.Agent == "" && !lastAnswer(c.View).IsZero() && since >= s.IdleAfter && c.Used >= s.IdleTokens {
		return fmt.Sprintf("%s since the last response >= %s, used %d >= %d", since.Round(time.Second), s.IdleAfter, c.Used, s.IdleTokens)
	}
	switch {
	case t.Reactive && prompt > c.Window:
		return fmt.Sprintf("the API refuses a prompt of %d > window %d", prompt, c.Window)
	case !t.Reactive && c.Used >= t.Auto:
		return fmt.Sprintf("used %d >= threshold %d", c.Used, t.Auto)
	}
	return ""
}

// thrashes counts a compaction before a request, and reports whether the client ends the turn in its place.
func (s *autocompact) thrashes(request int) bool {
	if s.last > 0 && request-s.last < s.RefillSpan {
		s.refills++
	} else {
		s.refills = 0
	}
	s.last = request
	return s.MaxRefills > 0 && s.refills >= s.MaxRefills
}

// keep chooses what stays verbatim: the newest rounds, and where the API refused the prompt, as many more as it takes for the
// rest to fit.
func (s *autocompact) keep(c *policy.Context, t Thresholds) {
	least := 0
	if t.Reactive {
		least = summaryCall(c.View, nil, c.Before, c.Overhead, s.PromptTokens, s.Prefix).Input - c.Window
	}
	if s.kept = newestRounds(c.View, s.KeepRecent, least); len(s.kept) == c.View.Len() {
		s.kept = nil
	}
}

// ahead writes the summary ahead where it is time to.
func (s *autocompact) ahead(c *policy.Context, t Thresholds) []policy.Edit {
	if s.Ahead == 0 || s.ready || c.Moment != policy.Prepare || !s.Enabled || !t.On || c.Agent != "" || c.Used < aheadAt(&s.Autocompact, t) {
		return nil
	}
	s.keep(c, t)
	reason := fmt.Sprintf("the summary is written ahead: used %d >= %d", c.Used, aheadAt(&s.Autocompact, t))
	try := summarize.Plan{Trigger: "auto", Reason: reason, Call: s.call(c, s.kept, t.Effective), Limit: t.Effective}
	if failure := try.Failure(c); failure != nil {
		return nil // it is tried again at the next request
	}
	if try.Call.Output == 0 {
		try.Call.Output = c.Record.TypicalSummary(c.Request).Tokens
	}
	s.ready, s.epoch, s.covers = true, c.View.Epoch(), c.View.Joined()
	if len(s.kept) > 0 {
		s.covers = int(s.kept[0])
	}
	return []policy.Edit{{Kind: policy.KindCall, Trigger: "auto", Reason: reason, Call: try.Call, Detail: map[string]int{"pre_tokens": c.Used}}}
}

// newestRounds returns the items of the newest n rounds, and of more until they weigh least tokens; all where there are fewer.
func newestRounds(v policy.View, n, least int) []policy.ItemID {
	ids := v.IDs()
	from := len(ids)
	weight := 0
	for i := len(ids) - 1; i >= 0 && (n > 0 || least > 0); i-- {
		weight += v.Weight(ids[i])
		if v.Role(ids[i]) == session.Assistant && (i == 0 || v.Role(ids[i-1]) != session.Assistant) {
			from = i
			if n--; n <= 0 && weight >= least {
				break
			}
		}
	}
	return ids[from:]
}

// call is the compaction's own request: the prompt, and the messages that are not kept as they were before this
// request's microcompaction; with a prefix of its own without images, documents and what an earlier compaction
// re-injected. If the window is too small for it, the oldest rounds are dropped until the gap the API reports is covered,
// in at most ptl_retries further calls. The rest then begins with an assistant message, so a meta user message goes
// first. If the gap is not reported each retry drops a fifth of the rounds that are left, at least one.
func (s *autocompact) call(c *policy.Context, kept []policy.ItemID, limit int) *policy.Call {
	call := summaryCall(c.View, kept, c.Before, c.Overhead, s.PromptTokens, s.Prefix)
	if limit <= 0 {
		return call
	}
	if s.Prefix == "session" {
		limit += c.View.Tokens() - c.View.PayloadTokens() // the server drops that
	}
	s.dropped = 0
	var rounds []int
	if call.Input > limit && s.Retries > 0 {
		rounds = s.roundWeights(c.View, kept)
	}
	if len(rounds) > 1 {
		call.Cut = &policy.Target{Item: c.View.IDs()[0]}
	}
	for i := 0; call.Input > limit && call.Retries < s.Retries && i < len(rounds)-1; call.Retries++ {
		gap := call.Input - limit
		fifth := i + max((len(rounds)-i)/5, 1)
		for more := true; more && i < len(rounds)-1; i++ {
			gap -= rounds[i]
			call.Input -= rounds[i]
			s.dropped++
			if more = gap > 0; s.Gap == "unknown" {
				more = i+1 < fifth
			}
		}
		if call.Retries == 0 {
			call.Input += policy.RoundQuarter(len(truncatedForRetry))
		}
	}
	call.Input = max(call.Input, 1)
	return call
}

// summaryCall is the compaction's own request for a view that fits the window. What it keeps at the end of the view is
// not sent. With the session's prefix all else is sent as it is.
func summaryCall(v policy.View, kept []policy.ItemID, before, overhead, prompt int, prefix string) *policy.Call {
	call := &policy.Call{Kind: "compaction", Prompt: prompt, Prefix: prefix, Input: before + prompt}
	for id := range v.Items {
		if len(kept) > 0 && id == kept[0] {
			call.Cut = &policy.Target{Item: id}
		}
		switch {
		case call.Cut != nil:
			call.Input -= v.Weight(id)
		case prefix == "own":
			call.Input -= leftOut(v, id)
		}
	}
	if prefix == "session" {
		call.Input += overhead
	}
	return call
}

// recordedCall is the request of a compaction that a client recorded: from 2.1.86 on with the session's prefix, whose
// cache it reads. The prompt is a quarter of the characters of that of 2.1.19, 2.1.37 and 2.1.76, 2.1.119, and 2.1.210 to
// 2.1.332.
func recordedCall(version string, v policy.View, kept []policy.ItemID, before, overhead int) *policy.Call {
	prompt := 1257
	prefix := "own"
	since := func(release string) bool { return version != "" && session.CompareVersions(version, release) >= 0 }
	switch {
	case since("2.1.210"):
		prompt = 1590
		prefix = "session"
	case since("2.1.86"):
		prompt = 1395
		prefix = "session"
	case since("2.1.21"):
		prompt = 1286
	}
	return summaryCall(v, endOf(v, kept), before, overhead, prompt, prefix)
}

// endOf returns those of a view's items behind which no response is that is not one of them: none if they are the first round
// of a turn, which is sent with its prompt. (True requests of 2.1.332.)
func endOf(v policy.View, items []policy.ItemID) []policy.ItemID {
	kept := map[policy.ItemID]bool{}
	for _, id := range items {
		kept[id] = true
	}
	var end []policy.ItemID
	for id := range v.Backward {
		if kept[id] {
			end = append(end, id)
		} else if v.Role(id) == session.Assistant {
			break
		} else if m := v.Message(id); m != nil && m.Class == session.ClassPrompt && !m.Is(session.Queued) && len(end) > 0 {
			return nil
		}
	}
	slices.Reverse(end)
	return end
}

// leftOut returns the tokens of one item that a compaction's request leaves out.
func leftOut(v policy.View, id policy.ItemID) (tokens int) {
	if sy := v.Synthetic(id); sy != nil {
		if sy.Attached {
			return v.Weight(id)
		}
		return 0
	}
	for t := range policy.Targets(v, id) {
		switch kind := v.Kind(t); {
		case isMedia(kind):
			tokens += v.BlockTokens(t)
		case kind == jsonl.KindToolResult && v.Replacement(t) == nil:
			media := 0
			for _, p := range v.Raw(t).Parts {
				if isMedia(p.Kind) {
					media++
				}
			}
			tokens += min(media*imageTokens, v.BlockTokens(t))
		}
	}
	return tokens
}

func isMedia(k jsonl.Kind) bool { return k == jsonl.KindImage || k == jsonl.KindDocument }

// isCompactor reports whether an agent is a compaction's or session memory's own: its conversation is never
// compacted.
func isCompactor(agent string) bool {
	return strings.HasPrefix(agent, "acompact") || strings.HasPrefix(agent, "asession_memory")
}

// truncatedForRetry is the text before an assistant message that would be first.
const truncatedForRetry = "[earlier conversation truncated for compaction retry]"

// roundWeights returns the tokens of each round in a compaction's request, oldest first. A round is an assistant
// message and what follows it; what is before the first one belongs to it.
func (s *autocompact) roundWeights(v policy.View, kept []policy.ItemID) []int {
	rounds := []int{0}
	seen := false
	for id := range v.Items {
		if len(kept) > 0 && id == kept[0] {
			break
		}
		if v.Role(id) == session.Assistant {
			if seen {
				rounds = append(rounds, 0)
			}
			seen = true
		}
		n := v.Weight(id)
		if s.Prefix == "own" {
			n -= leftOut(v, id)
		}
		rounds[len(rounds)-1] += n
	}
	return rounds
}

func retries(n int) string {
	if n == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("%d retries", n)
}
