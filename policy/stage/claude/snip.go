package claude

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Snip are the parameters of snip.
type Snip struct {
	Tag bool        `yaml:"tag" doc:"every user prompt sent carries a line [id:xxxxxx] by which the model can name its turn; false: no tags, and calls are carried out all the same"`
	IDs []SnipTrial `yaml:"ids" doc:"snips to try beside the model's own: the turn of the prompt ID (what its tag says, or its uuid) is gone from request REQUEST on"`
}

func defineSnip() policy.Definition {
	return policy.Definition{
		Name:    "snip",
		Summary: "The model removes whole user turns it no longer needs: prompts carry ids, and from the request after a Snip call has its answer the turns it names are gone, tool calls and results together.",
		Source:  "Claude Code, the five-level pipeline analysis and the analysis of views and caching; how an id is made of a uuid is this project's choice",
		Truth:   policy.TruthDescribed,
		Moments: policy.Prepare,
		Params:  &Snip{Tag: true},
		Example: `before: user "find all TODOs [id:abc123]", assistant tool_use toolu_01, user tool_result toolu_01, assistant tool_use toolu_02, user tool_result toolu_02, user "never mind, fix the login first [id:def456]", assistant tool_use Snip {"ids":["abc123"],"reason":"the user has changed direction"}, user tool_result
after:  user "never mind, fix the login first [id:def456]", assistant tool_use Snip, user tool_result`,
		Check: checkSnip,
		Trial: &policy.Trial{
			Form: "ID[,ID]@REQUEST", Doc: "remove turns from a request on: ids as in the prompts' tags, or uuids", Add: addTrials,
		},
		New: func(p any) (policy.Stage, error) { return &snip{p: *p.(*Snip)}, nil },
	}
}

func checkSnip(c *policy.Check) {
	if p := c.Stage.Params.(*Snip); !p.Tag && len(p.IDs) == 0 {
		c.Add(policy.RuleNever, "snip.tag", "set it to true, or give snip.ids", "no prompt carries an id and no snip is tried: only calls on record are carried out")
	}
}

// snip carries out the Snip calls of a transcript. A turn is a prompt and all
// up to the next one. The turn that is still being worked in, be it the call's
// own, goes as a whole once the next prompt has joined: half of it would leave
// the model without the question it is at. What stands in for messages (a
// placeholder, a summary) stands for more than one turn and stays.
type snip struct {
	p       Snip
	prompts *session.Prompts
	seen    int       // of the items that ever joined
	calls   int       // of the conversation's Snip calls, looked at
	trials  []removal // still to come, by request
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

// Start refuses trials that the conversation has no place for.
func (s *snip) Start(conv *session.Conversation) error {
	prompts := conv.Prompts()
	for _, t := range s.p.IDs {
		at, ok := prompts.Find(t.ID)
		switch {
		case !ok:
			return &policy.Error{Msg: fmt.Sprintf("no prompt has the id %q", t.ID), Hint: "give one of " + someIDs(conv, prompts)}
		case t.Request > len(conv.Requests):
			return &policy.Error{Msg: fmt.Sprintf("there is no request %d to snip %s before", t.Request, t.ID), Hint: fmt.Sprintf("the session has %d", len(conv.Requests))}
		case at > conv.Requests[t.Request-1].Message:
			return &policy.Error{
				Msg:  fmt.Sprintf("the prompt %s, line %d, is not said yet at request %d", t.ID, conv.Messages[at].Line, t.Request),
				Hint: "name a request behind it",
			}
		case !seenWithout(conv, at):
			return &policy.Error{
				Msg:  fmt.Sprintf("the turn of %s, line %d, is worked in to the end: no request is made without it", t.ID, conv.Messages[at].Line),
				Hint: "name a turn before it",
			}
		}
	}
	return nil
}

// seenWithout reports whether a request is made when the turn of a prompt is
// over.
func seenWithout(conv *session.Conversation, prompt int) bool {
	return conv.NextPrompt(prompt) < conv.Requests[len(conv.Requests)-1].Message
}

// someIDs lists ids a person may have meant: the first, with their lines.
func someIDs(conv *session.Conversation, prompts *session.Prompts) string {
	const most = 8
	list, n := "", 0
	for m := range conv.Messages {
		id := prompts.ID(m)
		if id == "" {
			continue
		}
		switch n++; {
		case n > most:
		case n > 1:
			list += ", "
			fallthrough
		default:
			list += fmt.Sprintf("%s (line %d)", id, conv.Messages[m].Line)
		}
	}
	switch {
	case n == 0:
		return "the session's own: it has no prompts"
	case n > most:
		list += fmt.Sprintf(" and %d more", n-most)
	}
	return list
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
	return append(edits, s.due(c)...), nil
}

// begin finds the turns that the trials name.
func (s *snip) begin(c *policy.Context) {
	s.prompts = c.Conv.Prompts()
	for _, t := range s.p.IDs {
		at, ok := s.prompts.Find(t.ID)
		if !ok {
			c.Warn(0, "snip: no prompt has the id %q", t.ID)
			continue
		}
		s.trials = append(s.trials, removal{
			prompt: at, next: c.Conv.NextPrompt(at), request: t.Request, trigger: "manual",
			reason: "tried: " + t.String(),
		})
	}
	slices.SortStableFunc(s.trials, func(a, b removal) int { return cmp.Compare(a.request, b.request) })
}

// tags gives the prompts that have joined since the last request their ids.
func (s *snip) tags(c *policy.Context) []policy.Edit {
	arrived := c.View.Arrived()
	from := s.seen
	s.seen = len(arrived)
	if !s.p.Tag {
		return nil
	}
	var edits []policy.Edit
	for _, id := range arrived[from:] {
		if id < 0 || !c.View.Has(id) || c.View.Tag(id) != nil {
			continue
		}
		short := s.prompts.ID(int(id))
		if short == "" {
			continue
		}
		tag := policy.NewContent(jsonl.KindText, "\n[id:"+short+"]")
		edits = append(edits, policy.Edit{
			Kind: policy.KindTag, Trigger: "auto", Target: policy.Target{Item: id, Block: policy.WholeItem}, New: &tag,
			Reason: "the model names a turn by the id of its prompt",
		})
	}
	return edits
}

// called takes in the Snip calls that have their answers by now.
func (s *snip) called(c *policy.Context) {
	for ; s.calls < len(c.Conv.SnipCalls); s.calls++ {
		call := &c.Conv.SnipCalls[s.calls]
		switch {
		case call.Answered < 0 || call.Failed:
			continue
		case call.Answered >= c.View.Joined():
			return
		}
		reason := call.Reason
		if reason == "" {
			reason = "the model snipped the turn"
		}
		for _, p := range call.Prompts {
			s.waiting = append(s.waiting, removal{prompt: p, next: c.Conv.NextPrompt(p), trigger: "model", reason: reason, line: call.Line})
		}
	}
}

// due removes the turns that are over.
func (s *snip) due(c *policy.Context) []policy.Edit {
	var edits []policy.Edit
	gone := map[int]bool{}
	s.waiting = slices.DeleteFunc(s.waiting, func(r removal) bool {
		if r.next >= c.View.Joined() {
			return false
		}
		turn := c.Conv.Turn(r.prompt)
		if turn[len(turn)-1] >= c.View.Joined() {
			return false
		}
		if gone[r.prompt] || !c.View.Has(policy.ItemID(r.prompt)) {
			c.Warn(r.line, "snip: the turn of %s has left the view before", s.prompts.ID(r.prompt))
			return true
		}
		if answerFirst(c.View, turn, gone) {
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

// answerFirst reports whether the view would begin with the assistant's words
// once a turn is gone, besides what is gone already: another stage may have
// taken the prompt that stood before them.
func answerFirst(v policy.View, turn []int, gone map[int]bool) bool {
	for id := range v.Items {
		if id >= 0 && gone[int(id)] {
			continue
		}
		if id < 0 {
			return v.Role(id) == session.Assistant
		}
		if _, in := slices.BinarySearch(turn, int(id)); !in {
			return v.Role(id) == session.Assistant
		}
	}
	return false
}
