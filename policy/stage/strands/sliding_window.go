package strands

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// SlidingWindow are the parameters of sliding_window.
type SlidingWindow struct {
	Messages  int     `yaml:"messages" doc:"the newest messages that stay, adjacent ones of one role counted as one" unit:"messages" min:"2"`
	Every     string  `yaml:"every" doc:"when the window slides: when the agent stops, or before each request" enum:"turn_end,request"`
	Cut       string  `yaml:"cut" doc:"where it may begin: at a user message without tool results, or at any assistant message too; then the first user message stays, and counts" enum:"prompt,round"`
	Anchor    bool    `yaml:"anchor" doc:"where no user message can begin the window, the next call with its results does, behind the newest user message without results before it"`
	Truncate  string  `yaml:"truncate" doc:"when the oldest message with tool results has them cut, before a message leaves: never, when a request is larger than the window, or whenever the window slides, which is then put off" enum:"never,overflow,first"`
	Above     int     `yaml:"truncate_above" doc:"a result with more than this is cut; the first and the last 200 stay" unit:"characters" min:"400"`
	Notice    string  `yaml:"notice" doc:"the text between them; {chars} stands for what is left out"`
	Overflow  bool    `yaml:"overflow" doc:"when a request is larger than the window, messages leave until it fits, the first 2 or more of them at a time"`
	Proactive float64 `yaml:"proactive" doc:"before a request that fills this share of the window the window slides; 0: not" min:"0" max:"1"`
}

const (
	slidingWindowName = "sliding_window"
	preserved         = 200 // characters of each end of a result that is cut
	leftOut           = "{chars}"
)

func defineSlidingWindow() policy.Definition {
	return policy.Definition{
		Name:    slidingWindowName,
		Summary: "The oldest messages leave once there are more than 40; the window begins where no tool result is parted from its call.",
		Source:  "Strands Agents, SlidingWindowConversationManager: src/strands/agent/conversation_manager/sliding_window_conversation_manager.py (commit 0cd91bb2), and @strands-agents/sdk 1.19.0, dist/src/conversation-manager/sliding-window-conversation-manager.js, whose own code computed test cases; the texts of a result are cut as one, an image in it becomes [image], and cut: round is not its own",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare | policy.TurnEnd,
		Window:  true,
		Params: &SlidingWindow{
			Messages: 40, Every: "turn_end", Cut: "prompt", Truncate: "first", Above: 400,
			Notice: "...\n\n... [truncated: " + leftOut + " chars removed] ...\n\n...", Overflow: true,
		},
		Example: `before: 43 messages; the fourth and the sixth hold short tool results, the fifth is the assistant's, the seventh a prompt
after:  the 37 from the seventh on`,
		New: policy.Maker(func(p SlidingWindow) policy.Stage {
			return &slidingWindow{SlidingWindow: p, cut: map[policy.Target]bool{}}
		}),
	}
}

// Check is what is questionable in a policy with sliding_window.
func (p *SlidingWindow) Check(c *policy.Check) {
	for _, key := range []string{"truncate_above", "notice"} {
		c.Unused(slidingWindowName+"."+key, p.Truncate == "never", "sliding_window.truncate is never")
	}
	c.Unused(slidingWindowName+".anchor", p.Cut == "round" && p.Anchor, "sliding_window.cut: round begins the window at any call")
}

// Limits are what decides when sliding_window acts.
func (p *SlidingWindow) Limits(l *policy.StageLimits) {
	l.Note("sliding: > %s messages (%s)", policy.Thousands(p.Messages), l.Name("sliding_window.messages"))
	if p.Proactive > 0 {
		l.Acts(policy.Limit{
			Name: "sliding", Label: "slide", Tokens: p.limit(l.Window), Key: "sliding_window.proactive",
			From: fmt.Sprintf("%s of the window (%s)", strict.FloatText(p.Proactive), l.Name("sliding_window.proactive")),
		})
	}
	if p.Overflow {
		l.Note("sliding: a request > the window (sliding_window.overflow)")
	}
}

// limit is the size of a request, in tokens, before which the window slides.
func (p *SlidingWindow) limit(window int) int { return int(math.Ceil(p.Proactive * float64(window))) }

// slidingWindow keeps the messages in view as a queue: what joins goes to its end, what slides out leaves it at its
// beginning.
type slidingWindow struct {
	SlidingWindow
	runs []messageRun
	seen measure.Follower
	cut  map[policy.Target]bool // results that were cut
}

// messageRun is a message as the API has it: adjacent items of one role.
type messageRun struct {
	items          []policy.ItemID
	role           session.Role
	results, calls bool // one of them is a tool result, or has a tool call
}

func (s *slidingWindow) Run(c *policy.Context) ([]policy.Edit, error) {
	s.follow(c.View)
	r := reduction{s: s, c: c, cut: map[policy.ItemID]int{}, tokens: measure.PromptTokens(c), trigger: "auto"}
	if n := len(s.runs); (c.Moment == policy.TurnEnd) == (s.Every == "turn_end") && n > s.Messages {
		r.reason = fmt.Sprintf("%d messages > %d", n, s.Messages)
		if _, err := r.reduce(s.Truncate == "first"); err != nil {
			return nil, err
		}
	}
	if c.Moment != policy.Prepare || c.Window == 0 {
		return r.edits, nil
	}
	if limit := s.limit(c.Window); s.Proactive > 0 && r.tokens >= limit {
		r.reason = fmt.Sprintf("%d tokens >= %d", r.tokens, limit)
		if _, err := r.reduce(false); err != nil {
			return nil, err
		}
	}
	for again := s.Overflow; again && r.tokens > c.Window; {
		r.trigger = "overflow"
		r.reason = fmt.Sprintf("a request of %d tokens > the window of %d", r.tokens, c.Window)
		var err error
		if again, err = r.reduce(s.Truncate != "never"); err != nil {
			return nil, err
		}
	}
	return r.edits, nil
}

// reduction is what is done at one moment.
type reduction struct {
	s               *slidingWindow
	c               *policy.Context
	trigger, reason string
	edits           []policy.Edit
	tokens          int                   // of the request, as the edits leave it
	cut             map[policy.ItemID]int // tokens that were cut off an item
}

// reduce cuts the results of the oldest message with any, where it is to and has not yet, or else makes messages leave.
// It reports whether it did either.
func (r *reduction) reduce(truncate bool) (done bool, err error) {
	if truncate {
		i := slices.IndexFunc(r.s.runs, func(m messageRun) bool { return m.results })
		if done, err = r.truncate(i); done || err != nil {
			return done, err
		}
	}
	return r.trim(), nil
}

// truncate cuts the results of a message.
func (r *reduction) truncate(i int) (done bool, err error) {
	if i < 0 {
		return false, nil
	}
	v := r.c.View
	for _, id := range r.s.runs[i].items {
		for t := range policy.Targets(v, id) {
			if v.Kind(t) != jsonl.KindToolResult || r.s.cut[t] {
				continue
			}
			content, err := r.content(t)
			if err != nil {
				return done, err
			}
			r.s.cut[t] = true
			if content == nil {
				continue
			}
			saved := v.BlockTokens(t) - r.c.Weigh.Content(content)
			r.cut[id] += saved
			r.tokens -= saved
			r.edits = append(r.edits, policy.Edit{Kind: policy.KindTruncate, Trigger: r.trigger, Target: t, New: content, Reason: r.reason})
			done = true
		}
	}
	return done, nil
}

// content is what is left of a result that is cut, nil where nothing is.
func (r *reduction) content(t policy.Target) (*policy.Content, error) {
	v := r.c.View
	n := v.Length(t).UTF16
	images := measure.Images(v, t)
	if n <= r.s.Above && images == 0 {
		return nil, nil
	}
	text, err := r.c.Texts.Text(t)
	if err != nil {
		return nil, fmt.Errorf("reading a tool result: %w", err)
	}
	if n > r.s.Above {
		notice := strings.ReplaceAll(r.s.Notice, leftOut, strconv.Itoa(n-2*preserved))
		text = measure.FirstUnits(text, preserved) + notice + measure.LastUnits(text, preserved)
	}
	content := policy.Text(text + strings.Repeat("[image]", images))
	content.Partial = n > 0
	return &content, nil
}

// trim makes the oldest messages leave, down to the number that stays, or the first 2 where there are no more, and on
// to where the window may begin.
func (r *reduction) trim() bool {
	s := r.s
	n := len(s.runs)
	pinned := s.pinned()
	from := 2
	if n > s.Messages {
		from = n - s.Messages + pinned
	}
	anchor := -1
	at := from
	for at < n && !s.begins(at) {
		at++
	}
	if at >= n && s.Anchor {
		at, anchor = s.pair(from)
	}
	if at >= n || at <= pinned {
		return false
	}
	var out []policy.ItemID
	var stay []messageRun
	for i, m := range s.runs {
		if i >= pinned && i < at && i != anchor {
			out = append(out, m.items...)
		} else {
			stay = append(stay, m)
		}
	}
	if len(out) == 0 {
		return false
	}
	for _, id := range out {
		r.tokens -= r.c.View.Weight(id) - r.cut[id]
	}
	s.runs = stay
	r.edits = append(r.edits, policy.Edit{Kind: policy.KindRemove, Trigger: r.trigger, Items: out, Reason: r.reason})
	return true
}

// pair finds the first call with its results from a message on, and the newest user message without results before
// it. The first is the number of messages where one of them is missing.
func (s *slidingWindow) pair(from int) (at, anchor int) {
	for at = from; at+1 < len(s.runs); at++ {
		if !s.runs[at].calls || !s.runs[at+1].results {
			continue
		}
		for anchor = at - 1; anchor >= 0; anchor-- {
			if s.runs[anchor].role == session.User && !s.runs[anchor].results {
				return at, anchor
			}
		}
		break
	}
	return len(s.runs), -1
}

// pinned is the number of messages at the beginning that never leave.
func (s *slidingWindow) pinned() int {
	if s.Cut == "round" && len(s.runs) > 0 && s.runs[0].role == session.User {
		return 1
	}
	return 0
}

// begins reports whether the window may begin at message i.
func (s *slidingWindow) begins(i int) bool {
	if s.runs[i].role == session.Assistant {
		return s.pinned() > 0
	}
	return !s.runs[i].results
}

func (s *slidingWindow) follow(v policy.View) {
	items, anew := s.seen.Arrived(v, otherRemoval)
	if anew {
		s.runs = nil
	}
	for _, id := range items {
		s.put(v, id)
	}
}

// otherRemoval reports whether another stage took messages out of the view.
func otherRemoval(e policy.Edit) bool {
	return (e.Kind == policy.KindRemove || e.Kind == policy.KindCollapse) && e.Stage != slidingWindowName
}

// put appends an item. One that is not sent belongs to the message before it.
func (s *slidingWindow) put(v policy.View, id policy.ItemID) {
	role := v.Role(id)
	results := false
	calls := false
	for t := range policy.Targets(v, id) {
		kind := v.Kind(t)
		results = results || kind == jsonl.KindToolResult
		calls = calls || kind == jsonl.KindToolUse
	}
	n := len(s.runs)
	if n == 0 || measure.Sent(v, id) && s.runs[n-1].role != role {
		s.runs = append(s.runs, messageRun{role: role})
		n++
	}
	last := &s.runs[n-1]
	last.items = append(last.items, id)
	last.results = last.results || results
	last.calls = last.calls || calls
}
