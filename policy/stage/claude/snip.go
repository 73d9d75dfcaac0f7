package claude

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// Snip are the parameters of snip.
type Snip struct {
	Tag bool        `yaml:"tag" doc:"every user prompt sent carries a line [id:xxxxxx] by which the model can name its turn; false: no tags, and calls are carried out all the same"`
	IDs []SnipTrial `yaml:"ids" doc:"snips to try in addition to the model's own: the turn of the prompt ID (what its tag says, or its uuid) is gone from request REQUEST on"`
}

func defineSnip() policy.Definition {
	return policy.Definition{
		Name:    "snip",
		Summary: "The model removes whole user turns it no longer needs: prompts carry ids, and from the request after a Snip call has its answer the turns it names are gone, tool calls and results together.",
		Source:  "Claude Code, the five-level pipeline analysis and the analysis of views and caching",
		Differs: "How an id is derived from a uuid is this project's choice",
		Truth:   policy.TruthDescribed,
		Moments: policy.Prepare,
		Params:  &Snip{Tag: true},
		Example: `before: user "find all TODOs [id:abc123]", assistant tool_use toolu_01, user tool_result toolu_01, assistant tool_use toolu_02, user tool_result toolu_02, user "never mind, fix the login first [id:def456]", assistant tool_use Snip {"ids":["abc123"],"reason":"the user has changed direction"}, user tool_result
after:  user "never mind, fix the login first [id:def456]", assistant tool_use Snip, user tool_result`,
		Trial: &policy.Trial{
			Form: "ID[,ID]@REQUEST", Doc: "remove turns from a request on: ids as in the prompts' tags, or uuids", Add: addTrials,
		},
		New: policy.Maker(func(p Snip) policy.Stage { return &snip{Snip: p} }),
	}
}

// Check is what is questionable in a policy with snip.
func (p *Snip) Check(c *policy.Check) {
	if !p.Tag && len(p.IDs) == 0 {
		c.Add(policy.RuleNever, "snip.tag", "set it to true, or give snip.ids", "no prompt carries an id and no snip is tried: only calls on record are carried out")
	}
}

// snip carries out the Snip calls of a transcript. A turn is a prompt and all up to the next one. The turn in
// progress, even that of the call, goes as a whole once the next prompt has joined: half of it would leave the model
// without the question it works on. A placeholder or a summary covers more than one turn and stays.
type snip struct {
	Snip
	prompts *session.Prompts
	seen    int       // of the items that ever joined
	calls   int       // of the conversation's Snip calls, looked at
	trials  []removal // of later requests, in order
	waiting []removal
}

// removal is a turn that is to go.
type removal struct {
	prompt  int // index of the message
	next    int // of the next prompt, or the number of messages
	request int // of a trial: n of the first request without it
	trigger string
	reason  string
	line    int // of the call, 0 of a trial
}

// Start refuses a trial of a turn that the conversation does not have, or that is not over before a request.
func (s *snip) Start(conv *session.Conversation) error {
	prompts := conv.Prompts()
	requests := conv.Requests
	for _, t := range s.IDs {
		at, ok := prompts.Find(t.ID)
		refuse := func(hint, msg string, args ...any) error {
			return &policy.Error{Msg: fmt.Sprintf(msg, args...), Hint: hint}
		}
		switch {
		case !ok:
			return refuse("give one of "+someIDs(conv, prompts), "no prompt has the id %q", t.ID)
		case t.Request > len(requests):
			return refuse(fmt.Sprintf("the session has %d", len(requests)), "there is no request %d to snip %s before", t.Request, t.ID)
		case at > requests[t.Request-1].Message:
			return refuse("name a later request", "the prompt %s, line %d, comes after request %d", t.ID, conv.Messages[at].Line, t.Request)
		case conv.NextPrompt(at) >= requests[len(requests)-1].Message:
			return refuse("name an earlier turn", "the turn of %s, line %d, lasts to the end: no request is made without it", t.ID, conv.Messages[at].Line)
		}
	}
	return nil
}

// someIDs lists the first ids of prompts, with their lines.
func someIDs(conv *session.Conversation, prompts *session.Prompts) string {
	const most = 8
	var list []string
	for m := range conv.Messages {
		if id := prompts.ID(m); id != "" {
			list = append(list, fmt.Sprintf("%s (line %d)", id, conv.Messages[m].Line))
		}
	}
	switch n := len(list); {
	case n == 0:
		return "the session's own: it has no prompts"
	case n > most:
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(list, ", ")
}

func (s *snip) Run(c *policy.Context) ([]policy.Edit, error) {
	if s.prompts == nil {
		s.begin(c)
	}
	edits := s.tags(c)
	s.called(c)
	for len(s.trials) > 0 && s.trials[0].request <= c.Request {
		s.waiting = append(s.waiting, s.trials[0])
		s.trials = s.trials[1:]
	}
	return append(edits, s.remove(c)...), nil
}

// begin finds the turns that the trials name.
func (s *snip) begin(c *policy.Context) {
	s.prompts = c.Conv.Prompts()
	for _, t := range s.IDs {
		at, ok := s.prompts.Find(t.ID)
		if !ok {
			c.Warn(0, "snip: no prompt has the id %q", t.ID)
			continue
		}
		s.trials = append(s.trials, removal{
			prompt: at, next: c.Conv.NextPrompt(at), request: t.Request, trigger: "manual", reason: "tried: " + t.String(),
		})
	}
	slices.SortStableFunc(s.trials, func(a, b removal) int { return cmp.Compare(a.request, b.request) })
}

// tags gives the prompts that have joined since the last request their ids.
func (s *snip) tags(c *policy.Context) []policy.Edit {
	arrived := c.View.Arrived()[s.seen:]
	s.seen += len(arrived)
	if !s.Tag {
		return nil
	}
	var edits []policy.Edit
	for _, id := range arrived {
		if id < 0 || !c.View.Has(id) || c.View.Tag(id) != nil {
			continue
		}
		short := s.prompts.ID(int(id))
		if short == "" {
			continue
		}
		tag := policy.Text("\n[id:" + short + "]")
		edits = append(edits, policy.Edit{
			Kind: policy.KindTag, Trigger: "auto", Target: policy.BlockOf(id, policy.WholeItem), New: &tag,
			Reason: "the model names a turn by the id of its prompt",
		})
	}
	return edits
}

// called lists the turns of the Snip calls that are answered by now.
func (s *snip) called(c *policy.Context) {
	for ; s.calls < len(c.Conv.SnipCalls); s.calls++ {
		call := &c.Conv.SnipCalls[s.calls]
		switch {
		case call.Answered < 0 || call.Failed:
			continue
		case call.Answered >= c.View.Joined():
			return
		}
		reason := cmp.Or(call.Reason, "the model snipped the turn")
		for _, p := range call.Prompts {
			s.waiting = append(s.waiting, removal{prompt: p, next: c.Conv.NextPrompt(p), trigger: "model", reason: reason, line: call.Line})
		}
	}
}

// remove removes the waiting turns that are over.
func (s *snip) remove(c *policy.Context) []policy.Edit {
	var edits []policy.Edit
	gone := map[int]bool{}
	s.waiting = slices.DeleteFunc(s.waiting, func(r removal) bool {
		turn := c.Conv.Turn(r.prompt)
		switch {
		case max(r.next, turn[len(turn)-1]) >= c.View.Joined():
			return false
		case gone[r.prompt] || !c.View.Has(policy.ItemID(r.prompt)):
			c.Warn(r.line, "snip: the turn of %s has left the view before", s.prompts.ID(r.prompt))
			return true
		case answerFirst(c.View, turn, gone):
			c.Warn(r.line, "snip: the turn of %s stays: without it an answer would be the first message", s.prompts.ID(r.prompt))
			return true
		}
		e := policy.Edit{Kind: policy.KindRemove, Trigger: r.trigger, Reason: r.reason}
		for _, m := range turn {
			if id := policy.ItemID(m); c.View.Has(id) && !gone[m] {
				e.Items = append(e.Items, id)
			}
			gone[m] = true
		}
		edits = append(edits, e)
		return true
	})
	return edits
}

// answerFirst reports whether the view would begin with an assistant message without a turn and what is gone already.
// Another stage may have removed the prompt before it.
func answerFirst(v policy.View, turn []int, gone map[int]bool) bool {
	for id := range v.Items {
		if !measure.Sent(v, id) {
			continue
		}
		if _, in := slices.BinarySearch(turn, int(id)); id < 0 || !in && !gone[int(id)] {
			return v.Role(id) == session.Assistant
		}
	}
	return false
}

// SnipTrial is a snip to try: the turn of a prompt is gone from a request on.
type SnipTrial struct {
	ID      string // six characters, or a uuid
	Request int    // n of the first request without the turn
}

func (t SnipTrial) String() string { return fmt.Sprintf("%s@%d", t.ID, t.Request) }

// ParseSnipTrials reads ID@REQUEST, or with commas several ids for one request.
func ParseSnipTrials(s string) ([]SnipTrial, error) {
	ids, request, ok := strings.Cut(s, "@")
	n, err := strconv.Atoi(strings.TrimSpace(request))
	if !ok || err != nil || n < 1 {
		return nil, noSnip(strconv.Quote(s) + " is no snip")
	}
	var list []SnipTrial
	for id := range strings.SplitSeq(ids, ",") {
		if id = strings.TrimSpace(id); id == "" {
			return nil, noSnip(strconv.Quote(s) + " names no prompt")
		}
		list = append(list, SnipTrial{id, n})
	}
	return list, nil
}

func noSnip(msg string) error {
	return &policy.Error{Msg: msg, Hint: "write ID@REQUEST, such as 5x1k0q@12"}
}

// DecodeParam reads ID@REQUEST.
func (t *SnipTrial) DecodeParam(plain any) error {
	s, ok := plain.(string)
	if !ok {
		return noSnip("no snip")
	}
	list, err := ParseSnipTrials(s)
	if err != nil {
		return err
	}
	if len(list) > 1 {
		return noSnip(strconv.Quote(s) + " names more than one prompt")
	}
	*t = list[0]
	return nil
}

// EncodeParam returns the plain form.
func (t *SnipTrial) EncodeParam() any { return t.String() }

// ParamForm describes the notation.
func (t *SnipTrial) ParamForm() (string, map[string]any) {
	return "ID@REQUEST", map[string]any{"type": "string", "pattern": `^[^@,\s][^@,]*@[1-9][0-9]*$`}
}

// addTrials adds the snips of a text to the parameters, each once.
func addTrials(params any, text string) error {
	p := params.(*Snip)
	trials, err := ParseSnipTrials(text)
	for _, t := range trials {
		if !slices.Contains(p.IDs, t) {
			p.IDs = append(p.IDs, t)
		}
	}
	return err
}
