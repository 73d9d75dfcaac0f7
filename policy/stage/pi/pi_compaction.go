package pi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// PiCompaction are the parameters of pi_compaction.
type PiCompaction struct {
	Auto         bool   `yaml:"auto" doc:"compact without being asked"`
	Reserve      int    `yaml:"reserve" doc:"compact once fewer than this are left of the window" unit:"tokens" min:"0"`
	KeepRecent   int    `yaml:"keep_recent" doc:"the newest messages that stay, by characters / 4" unit:"tokens" min:"0"`
	Rules        string `yaml:"rules" doc:"the release whose rules hold; 0.31: what an earlier compaction kept is dropped by the next; 0.63: it is summarized; 0.84: also between tool results and the next response; 0.87: also where the newest tool results alone exceed keep_recent" enum:"0.31,0.63,0.84,0.87"`
	Prompt       int    `yaml:"prompt_tokens" doc:"the system prompt of the summary and what asks for it" unit:"tokens" min:"0"`
	UpdatePrompt int    `yaml:"update_prompt_tokens" doc:"the same where an earlier summary is brought up to date" unit:"tokens" min:"0"`
	PrefixPrompt int    `yaml:"prefix_prompt_tokens" doc:"the same for the beginning of a turn that is cut in two" unit:"tokens" min:"0"`
	ResultChars  int    `yaml:"result_chars" doc:"what the summary's request shows of a tool result" unit:"characters" min:"0"`
	Thinking     bool   `yaml:"thinking" doc:"the summary's request shows thinking"`
	summarize.Params
}

func definePiCompaction() policy.Definition {
	return policy.Definition{
		Name:    "pi_compaction",
		Summary: "Once more than the window less 16,384 tokens is used, what is older than about the newest 20,000 tokens becomes a summary; a turn cut in two gets a second summary of its beginning.",
		Source:  "Pi coding agent, dist/core/compaction/compaction.js and utils.js, dist/core/agent-session.js (npm @mariozechner/pi-coding-agent 0.63.0 and 0.73.1, @earendil-works/pi-coding-agent 0.85.1 and 1.5.2); the results of one message are several entries there, and a tool named Read, Write, Edit or MultiEdit is its read, write or edit. A session that is less than keep_recent is not compacted, as since 0.79.8; a request for a summary that does not fit the window fails, and is tried again at the next occasion",
		Differs: "Messages that extensions leave out or replace (context_edit) stay as they were: a warning counts those on record",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare | policy.Manual | policy.TurnEnd,
		Params: &PiCompaction{
			Auto: true, Reserve: 16384, KeepRecent: 20000, Rules: rulesProjection,
			Prompt: 306, UpdatePrompt: 411, PrefixPrompt: 252, ResultChars: 2000,
			Params: summarize.DefaultParams(),
		},
		Example: `before: 183,617 of 200,000 tokens used; the newest messages are a call with a result of 30,000 tokens, and an answer
after:  a user message with the summary and the lists of files read and modified, then the call, its result and the answer`,
		Window:     true,
		Compaction: &policy.Compaction{On: func(s *policy.StageConfig) bool { return s.Params.(*PiCompaction).Auto }, Off: "set pi_compaction.auto to false"},
		New: policy.Maker(func(p PiCompaction) policy.Stage {
			return &piCompaction{PiCompaction: p, files: fileOps{}}
		}),
	}
}

// The releases whose rules differ. Each is followed by those after it.
const (
	rulesDrop       = "0.31"
	rulesTurnEnd    = "0.63"
	rulesRun        = "0.84"
	rulesProjection = "0.87"
)

func (p *PiCompaction) limit(window int) int { return window - p.Reserve }

// requestLimit is the most that the request for a summary may hold in a window: until 1.4.0 it reserves four fifths of
// reserve for the summary, from then on what the window leaves.
func (p *PiCompaction) requestLimit(window int) int {
	if p.Rules == rulesProjection {
		return window
	}
	return window - p.Reserve*4/5
}

// exceeds reports whether a number of tokens is too large for a window.
func (p *PiCompaction) exceeds(tokens, window int) bool { return tokens > p.limit(window) }

// inRun reports whether a run is interrupted for a compaction, between its tool results and the next response.
func (p *PiCompaction) inRun() bool { return p.Rules == rulesRun || p.Rules == rulesProjection }

// Limits are what decides when pi_compaction acts.
func (p *PiCompaction) Limits(l *policy.StageLimits) {
	if !p.Auto {
		return
	}
	l.Acts(policy.Limit{Name: "compaction", Label: "compact", Operator: ">", Tokens: p.limit(l.Window),
		From: "the window less " + l.Name("pi_compaction.reserve"), Key: "pi_compaction.reserve", Lower: "make pi_compaction.reserve larger", Raise: "make pi_compaction.reserve smaller"})
	l.Add(policy.Limit{Name: "overflow", Operator: ">", Tokens: l.Window, Of: policy.OfRequest, Acts: true, From: "context window", Key: "window.context"})
	if !p.inRun() {
		l.Note("pi_compaction acts when the agent stops, or when a request exceeds the window")
	}
}

// Check is what is questionable in a policy with pi_compaction.
func (p *PiCompaction) Check(c *policy.Check) {
	at := p.limit(c.Window())
	overhead := c.Overhead()
	if p.Auto && p.KeepRecent+overhead >= at && overhead < at {
		c.Add(policy.RuleAlways, "pi_compaction.keep_recent", "make it smaller", "%d of messages with %d of system prompt and tools reach %d, where pi_compaction compacts again", p.KeepRecent, overhead, at)
	}
}

// piCompaction keeps what one compaction leaves for the next.
type piCompaction struct {
	PiCompaction
	files fileOps
	kept  policy.ItemID // the newest item behind the last summary that the last compaction left
	made  bool          // there is a last compaction, and kept is set
	said  bool          // that edits of extensions are left out
	sums  measure.ItemSums
}

func (s *piCompaction) Run(c *policy.Context) ([]policy.Edit, error) {
	if n := len(c.Conv.Snips) + len(c.Conv.Collapses) + len(c.Conv.Replaced); n > 0 && c.Conv.Product == product && !s.said {
		s.said = true
		c.Warn(0, "%d recorded context edits of extensions are left out: the policy recorded has them", n)
	}
	if c.Moment == policy.Manual {
		if s.Manual != "replay" {
			return nil, nil
		}
		history, pending := split(c.View)
		return s.compact(c, history, pending, "manual", "the user asked for it", false)
	}
	if !s.Auto || !c.Last.Known && c.Moment == policy.TurnEnd {
		return nil, nil
	}
	if c.Moment == policy.TurnEnd {
		used := c.Last.Usage.Context() + c.Last.Usage.Output
		if c.Last.Summary || !s.exceeds(used, c.Window) || s.small(c.View) { // a compaction has come since the last response
			return nil, nil
		}
		return s.compact(c, c.View.IDs(), nil, "auto", s.why(used, c.Window), false)
	}
	pending := prompts(c.View)
	used := s.used(c, len(pending))
	if s.inRun() && afterResults(c.View, len(pending)) && s.exceeds(used, c.Window) && !s.small(c.View) {
		history, _ := split(c.View)
		if edits, err := s.compact(c, history, pending, "auto", s.why(used, c.Window), false); err != nil || edits != nil {
			return edits, err
		}
	}
	for _, id := range pending {
		used += s.tokens(c.View, id)
	}
	used = max(used, measure.PromptTokens(c)) // the API refuses by its own count
	if used <= c.Window || s.small(c.View) {
		return nil, nil
	}
	return s.compact(c, c.View.IDs(), nil, "auto", fmt.Sprintf("the request of %d tokens > %d, the window", used, c.Window), true)
}

func (s *piCompaction) why(used, window int) string {
	return fmt.Sprintf("used %d > %d", used, s.limit(window))
}

// split divides the view into what the client has in its session and the prompts that begin the next run.
func split(v policy.View) (history, pending []policy.ItemID) {
	ids := v.IDs()
	at := len(ids) - len(prompts(v))
	return ids[:at], ids[at:]
}

// prompts are the prompts that begin the next run, and what is among them.
func prompts(v policy.View) (pending []policy.ItemID) {
	n := 0
	for id := range v.Backward {
		m := v.Message(id)
		if m == nil || m.Role == session.Assistant || m.Class == session.ClassToolResult {
			break
		}
		if pending = append(pending, id); m.Class == session.ClassPrompt {
			n = len(pending)
		}
	}
	pending = pending[:n]
	slices.Reverse(pending)
	return pending
}

// before calls yield with the items before the newest pending ones, from the newest to the oldest.
func before(v policy.View, pending int) func(yield func(policy.ItemID) bool) {
	return func(yield func(policy.ItemID) bool) {
		for id := range v.Backward {
			if pending--; pending < 0 && !yield(id) {
				return
			}
		}
	}
}

// afterResults reports whether the item before the newest pending ones is no response.
func afterResults(v policy.View, pending int) bool {
	for id := range before(v, pending) {
		return v.Role(id) == session.User
	}
	return false
}

// used is the client's estimate before a request, in tokens: the last response's total and the estimates of what came
// after it, or of all where there was no response since a compaction. The newest pending items are not counted.
func (s *piCompaction) used(c *policy.Context, pending int) int {
	used := c.Overhead
	all := true
	if c.Last.Known && !c.Last.Summary {
		used = c.Last.Usage.Context() + c.Last.Usage.Output
		all = false
	}
	for id := range before(c.View, pending) {
		if !all && c.View.Role(id) == session.Assistant {
			break
		}
		used += s.tokens(c.View, id)
	}
	return used
}

// small reports whether all of a view is less than what a compaction keeps, so that nothing goes.
func (s *piCompaction) small(v policy.View) bool {
	if s.Rules == rulesDrop && s.made { // it looks at a part of the view, which may begin with results
		return false
	}
	s.sums.Of = s.tokens
	if s.sums.Follow(v); s.sums.Sum >= s.KeepRecent {
		return false
	}
	first := true // of what the compaction looks at
	for id := range v.Items {
		if sy := v.Synthetic(id); first && sy != nil && sy.Summary {
			first = false
			continue
		}
		return !holdsResult(v, id)
	}
	return true
}

// compact replaces what is before the cut by a summary. ids is the client's session, pending what joins it after.
// overflow: the request was refused, and its failed response is in the session.
func (s *piCompaction) compact(c *policy.Context, ids, pending []policy.ItemID, trigger, reason string, overflow bool) ([]policy.Edit, error) {
	v := c.View
	previous, items := s.since(v, ids)
	cut, turn := s.cut(v, previous, items, overflow)
	if cut == 0 {
		return nil, nil
	}
	head := items[:cut]
	prefix := items[cut:cut]
	if turn >= 0 {
		head = items[:turn]
		prefix = items[turn:cut]
	}
	summary, boundary, from, err := summarize.Take(c, s.Summary, summarize.Bare)
	if err != nil {
		return nil, err
	}
	attempt := summarize.Plan{Trigger: trigger, Reason: reason, Call: s.call(c, previous, head, prefix, &summary), Limit: s.requestLimit(c.Window)}
	if failure := attempt.Failure(c); failure != nil {
		return failure, nil // it is tried again at the next occasion
	}
	for _, id := range items[:cut] {
		if err := s.files.note(c, id); err != nil {
			return nil, err
		}
	}
	stay := slices.Concat(items[cut:], pending)
	keep := summarize.Kept(c, boundary, stay)
	if s.made = len(items) > cut; s.made {
		s.kept = items[len(items)-1]
	}
	return []policy.Edit{{
		Kind: policy.KindSummarize, Trigger: trigger, Reason: reason + "; summary: " + from,
		Insert: []policy.Synthetic{{Role: "user", Label: "summary", Summary: true, Contents: s.message(summary)}},
		Keep:   keep,
		Call:   attempt.Call,
		Detail: map[string]int{"pre_tokens": s.used(c, c.View.Len()-len(ids))},
	}}, nil
}

// since lists what the next compaction looks at: what stands behind the last summary, or what came after the last
// compaction. previous is that summary's message, 0 for none.
func (s *piCompaction) since(v policy.View, ids []policy.ItemID) (previous policy.ItemID, items []policy.ItemID) {
	if len(ids) > 0 {
		if sy := v.Synthetic(ids[0]); sy != nil && sy.Summary {
			previous = ids[0]
			ids = ids[1:]
		}
	}
	if s.Rules == rulesDrop && s.made {
		ids = ids[slices.Index(ids, s.kept)+1:]
	}
	return previous, ids
}

// cut is findCutPoint: the first item that stays, as an index; 0 where nothing goes. turn is the index of the message
// that began the turn it cuts in two, -1 where it cuts none. previous is the message of the summary before.
func (s *piCompaction) cut(v policy.View, previous policy.ItemID, items []policy.ItemID, overflow bool) (cut, turn int) {
	points := cutPoints(v, items)
	if overflow && s.Rules != rulesProjection { // the failed response
		points = append(points, len(items))
	}
	if len(points) == 0 {
		return 0, -1
	}
	cut = points[0]
	sum := 0
	full := false
	reaches := func(i, tokens int) { // adds what stands before item i or at it
		if sum += tokens; tokens == 0 || sum < s.KeepRecent {
			return
		}
		full = true
		if at := slices.IndexFunc(points, func(p int) bool { return p >= i }); at >= 0 {
			cut = points[at]
		} else if s.Rules == rulesProjection {
			cut = points[len(points)-1]
		}
	}
	for i := len(items) - 1; i >= 0 && !full; i-- {
		if s.Rules == rulesRun && s.made && items[i] == s.kept && previous != 0 { // the last summary's place in the session
			reaches(i+1, s.tokens(v, previous))
		}
		if !full {
			reaches(i, s.tokens(v, items[i]))
		}
	}
	if overflow && full && s.Rules == rulesProjection && cut == len(items)-1 {
		cut++ // nothing but the failed response comes after it
	}
	if cut < len(items) && startsTurn(v, items[cut]) {
		return cut, -1
	}
	for turn = min(cut, len(items)-1); turn >= 0 && !startsTurn(v, items[turn]); turn-- {
	}
	return cut, turn
}

// cutPoints are the indexes of the items before which a view may be cut: not before tool results, which follow their
// calls.
func cutPoints(v policy.View, items []policy.ItemID) (points []int) {
	var open session.OpenCalls
	for i, id := range items {
		if !holdsResult(v, id) && len(open) == 0 {
			points = append(points, i)
		}
		if m := v.Message(id); m != nil {
			open.Note(m)
		}
	}
	return points
}

// startsTurn reports whether an item is a message of the user.
func startsTurn(v policy.View, id policy.ItemID) bool {
	return v.Role(id) == session.User && !holdsResult(v, id)
}

func holdsResult(v policy.View, id policy.ItemID) bool {
	return measure.Has(v, id, jsonl.KindToolResult)
}

// The client's words around a summary.
const (
	summaryBegin = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
	summaryEnd   = "\n</summary>"
)

// message is the content of the summary's message: the summary, the lists of files, and the client's words around
// them, in one text where the summary has its own text here.
func (s *piCompaction) message(summary policy.Content) []policy.Content {
	end := s.files.lists() + summaryEnd
	if summary.Ref == nil && summary.Tokens == 0 {
		return []policy.Content{policy.Text(summaryBegin + summary.Text + end)}
	}
	return []policy.Content{policy.Text(summaryBegin), summary, policy.Text(end)}
}

// call is the request for the summary of head, and the one for that of a turn's beginning. Where there are both, each
// gives half of the summary.
func (s *piCompaction) call(c *policy.Context, previous policy.ItemID, head, prefix []policy.ItemID, summary *policy.Content) *policy.Call {
	request := func(prompt int, items []policy.ItemID) *policy.Call {
		call := &policy.Call{Kind: "compaction", Prompt: prompt, Prefix: "own", Input: prompt}
		for _, id := range items {
			call.Input += s.shown(c.View, id)
		}
		return call
	}
	var first, second *policy.Call
	if len(prefix) > 0 {
		second = request(s.PrefixPrompt, prefix)
	}
	if len(head) > 0 {
		if first = request(s.Prompt, head); previous != 0 {
			first = request(s.UpdatePrompt, head)
			first.Input += c.View.Weight(previous)
		}
	}
	if first == nil {
		return second
	}
	if second != nil {
		n := c.Weigh.Content(summary)
		second.Output = n / 2
		first.Output = n - n/2
		first.Then = second
	}
	return first
}

// words is the label that the request puts before a part, in tokens, about.
const words = 4

// shown is the size of an item in the request for a summary, in tokens.
func (s *piCompaction) shown(v policy.View, id policy.ItemID) int {
	n := 0
	for t := range policy.Targets(v, id) {
		switch kind := v.Kind(t); {
		case kind == jsonl.KindImage, kind == jsonl.KindRedactedThinking, kind == jsonl.KindThinking && !s.Thinking:
		case kind == jsonl.KindToolResult && v.Length(t).UTF16 == 0:
		case kind == jsonl.KindToolResult:
			n += resultTokens(v, t, s.ResultChars) + words
		default:
			n += v.BlockTokens(t) + words
		}
	}
	return n
}

// fileOps are the files that calls of the summarized messages are about, and whether one changed them.
type fileOps map[string]bool

// lists is what the summary's message says of the files.
func (f fileOps) lists() string {
	var read, modified []string
	for path, changed := range f {
		if changed {
			modified = append(modified, path)
		} else {
			read = append(read, path)
		}
	}
	var b strings.Builder
	section := func(tag string, paths []string) {
		if slices.Sort(paths); len(paths) > 0 {
			fmt.Fprintf(&b, "\n\n<%s>\n%s\n</%s>", tag, strings.Join(paths, "\n"), tag)
		}
	}
	section("read-files", read)
	section("modified-files", modified)
	return b.String()
}
