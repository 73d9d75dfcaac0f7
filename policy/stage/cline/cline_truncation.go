package cline

import (
	"fmt"
	"math"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// Texts that Cline puts in place of others.
const (
	duplicateRead   = "[[NOTE] This file read has been removed to save space in the context window. Refer to the latest file read for the most up to date version of this file.]"
	truncatedNotice = "[NOTE] Some previous conversation history with the user has been removed to maintain optimal context window length. The initial user task has been retained for continuity, while intermediate conversation history has been removed. Keep this in mind as you continue assisting the user. Pay special attention to the user's latest messages."
	resultMissing   = "result missing"
)

// ClineTruncation are the parameters of cline_truncation.
type ClineTruncation struct {
	Reads     []string `yaml:"read_tools" doc:"tools whose results are file reads; a trailing * matches any rest"`
	MinSaving float64  `yaml:"min_saving" doc:"nothing is removed where replacing older reads of a file saves this share of the characters" min:"0" max:"1"`
}

const truncationName = "cline_truncation"

func defineClineTruncation() policy.Definition {
	return policy.Definition{
		Name:    truncationName,
		Summary: "Once the last response left less of the window than Cline reserves (40,000 of 200,000), reads of a file but the newest are replaced; where that saves less than 30 %, half of the messages after the first two leave, or three quarters of far too many.",
		Source:  "Cline, ContextManager: src/core/context/context-management/ContextManager.ts and context-window-utils.ts, as bundled in npm cline 2.18.0 (dist/cli.mjs); a tool_result of a reading tool is a file read, and edits show no file",
		Differs: "The retry after the API refuses a prompt is left out",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare,
		Params:  &ClineTruncation{Reads: []string{"Read"}, MinSaving: 0.3},
		Example: `before: the last response used 160,000 tokens of 200,000; 42 messages, no file was read twice
after:  the first two, "[NOTE] Some previous conversation history with the user has been removed …" in the second, and the newest 20`,
		Window: true,
		New:    policy.Maker(func(p ClineTruncation) policy.Stage { return &clineTruncation{ClineTruncation: p} }),
	}
}

// allowed is maxAllowedSize: the tokens of a response, input and output, from which on the next request is cut down.
func allowed(window int) float64 {
	switch window {
	case 64000:
		return 37000
	case 128000:
		return 98000
	case 200000:
		return 160000
	}
	return max(float64(window-40000), float64(window)*0.8)
}

// Limits are what decides when cline_truncation acts.
func (*ClineTruncation) Limits(l *policy.StageLimits) {
	l.Acts(policy.Limit{Name: "truncation", Label: "truncate", Tokens: int(math.Ceil(allowed(l.Window))),
		From: "the window less what Cline reserves of it: the last response, its output included", Key: truncationName})
}

// clineTruncation has the messages as Cline has them: adjacent ones of one role are one. Those that were removed are
// gone from it; one that lost all its blocks is still counted.
type clineTruncation struct {
	ClineTruncation
	runs    []messageRun
	seen    measure.Follower
	noticed bool            // the first response holds the notice, where it can
	stub    []policy.ItemID // results of the second message's calls, once what follows them was removed
	hidden  []hiddenResult
}

// hiddenResult is a result of the oldest message that stays: Cline does not send it, because its call is gone, and
// counts it all the same.
type hiddenResult struct {
	result   policy.Result
	length   int // of its text, UTF-16 units
	replaced bool
}

type messageRun struct {
	items []policy.ItemID
	role  session.Role
}

func (s *clineTruncation) Run(c *policy.Context) ([]policy.Edit, error) {
	s.follow(c.View)
	limit := allowed(c.Window)
	used := c.Last.Usage.Total()
	if !c.Last.Known || c.Last.Summary || float64(used) < limit {
		return nil, nil
	}
	reason := fmt.Sprintf("the last response's %d tokens >= %d", used, int(math.Ceil(limit)))
	edits, saved, err := s.replaceReads(c, reason)
	if err != nil || saved > 0 && saved >= s.MinSaving {
		return edits, err
	}
	n := (len(s.runs) - 2) / 4 * 2
	if float64(used)/2 > limit {
		n = (len(s.runs) - 2) * 3 / 8 * 2
	}
	end := 2 + n // the first message that stays
	if n > 0 && end < len(s.runs) && s.runs[end-1].role != session.Assistant {
		end--
	}
	edits = append(edits, s.notice(c.View, reason)...)
	if n <= 0 || end >= len(s.runs) {
		return edits, nil
	}
	cut, out := s.truncate(c.View, end, reason)
	for i := range s.hidden { // a read that was just replaced
		h := &s.hidden[i]
		if at := slices.IndexFunc(edits, func(e policy.Edit) bool { return e.Target == h.result.Target }); at >= 0 {
			h.replaced = true
			h.length = edits[at].New.Length.UTF16
		}
	}
	edits = slices.DeleteFunc(edits, func(e policy.Edit) bool {
		return slices.Contains(out, e.Target.Item) || slices.ContainsFunc(cut, func(o policy.Edit) bool { return len(o.Items) == 0 && o.Target == e.Target })
	})
	return append(edits, cut...), nil
}

// notice says in the second message that others were removed, once, where that message begins with a text. Cline says
// so also where too few messages are left to remove any.
func (s *clineTruncation) notice(v policy.View, reason string) []policy.Edit {
	if s.noticed || len(s.runs) < 2 {
		return nil
	}
	s.noticed = true
	t := policy.Target{Item: s.runs[1].items[0]}
	if v.Blocks(t.Item) == 0 {
		return nil
	}
	if raw := v.Raw(t); raw == nil || raw.Kind != jsonl.KindText || v.Replacement(t) != nil {
		return nil
	}
	content := policy.Text(truncatedNotice)
	return []policy.Edit{{Kind: policy.KindTruncate, Trigger: "auto", Target: t, New: &content, Reason: reason}}
}

// truncate removes the messages from the third up to end. Cline takes the results out of the message at end, whose
// calls are gone, and adds "result missing" for the calls of the second message: here the results of that one stay,
// with that text, in place of those. One that is replaced already stays as it is.
func (s *clineTruncation) truncate(v policy.View, end int, reason string) (edits []policy.Edit, out []policy.ItemID) {
	replace := func(t policy.Target, content policy.Content) {
		edits = append(edits, policy.Replace(policy.KindTruncate, t, &content, reason))
	}
	open := map[string]bool{}
	for _, id := range s.runs[1].items {
		for t := range policy.Targets(v, id) {
			if raw := v.Raw(t); raw != nil && raw.Kind == jsonl.KindToolUse {
				open[raw.ID] = true
			}
		}
	}
	next := messageRun{role: session.User}
	s.stub = nil
	s.hidden = nil
	for i, r := range s.runs[2:min(end+1, len(s.runs))] {
		for _, id := range r.items {
			answers, others := results(v, id, open)
			switch {
			case answers > 0:
				next.items = append(next.items, id)
				s.stub = append(s.stub, id)
				for t := range policy.Targets(v, id) {
					if c := v.Replacement(t); v.Kind(t) == jsonl.KindToolResult && (c == nil || c.Partial) {
						replace(t, policy.NewContent(jsonl.KindToolResult, resultMissing))
					}
				}
			case 2+i == end && others == 0:
				next.items = append(next.items, id)
			default:
				out = append(out, id)
				if 2+i == end {
					s.hide(v, id)
				}
			}
		}
	}
	s.runs = slices.Replace(s.runs, 2, min(end+1, len(s.runs)), next)
	return append(edits, policy.Edit{Kind: policy.KindRemove, Trigger: "auto", Items: out, Reason: reason}), out
}

// results counts a message's tool_results: those that answer calls in open, and the others.
func results(v policy.View, id policy.ItemID, open map[string]bool) (answers, others int) {
	for t := range policy.Targets(v, id) {
		raw := v.Raw(t)
		switch {
		case raw == nil || raw.Kind != jsonl.KindToolResult:
		case open[raw.ID]:
			answers++
		default:
			others++
		}
	}
	return answers, others
}

// hide notes the results of a message that is removed and that Cline still counts.
func (s *clineTruncation) hide(v policy.View, id policy.ItemID) {
	for t := range policy.Targets(v, id) {
		raw := v.Raw(t)
		if raw == nil || raw.Kind != jsonl.KindToolResult {
			continue
		}
		c := v.Replacement(t)
		tool := v.Conversation().ToolName(raw.ID)
		s.hidden = append(s.hidden, hiddenResult{
			result: policy.Result{Target: t, ID: raw.ID, Tool: tool, Alike: v.Conversation().Alike(tool)},
			length: v.Length(t).UTF16, replaced: c != nil && !c.Partial,
		})
	}
}

// replaceReads replaces the reads of each file but the newest. saved is the share of the characters of all messages
// that it saves.
func (s *clineTruncation) replaceReads(c *policy.Context, reason string) (edits []policy.Edit, saved float64, err error) {
	v := c.View
	total := 0
	gone := 0
	for i := range s.hidden {
		total += s.hidden[i].length
	}
	latest := map[string]func(content *policy.Content){}
	note := func(r *policy.Result, replace func(content *policy.Content)) error {
		if !measure.Matches(s.Reads, r.Tool, r.Alike) {
			return nil
		}
		read, err := measure.InputOf(c, r)
		if err != nil || read.Path == "" {
			return err
		}
		if older := latest[read.Path]; older != nil {
			content := policy.NewContent(jsonl.KindToolResult, fmt.Sprintf("[read_file for '%s'] Result:\n%s", read.Path, duplicateRead))
			older(&content)
		}
		latest[read.Path] = replace
		return nil
	}
	for i := range s.hidden {
		h := &s.hidden[i]
		if h.replaced {
			continue
		}
		err := note(&h.result, func(content *policy.Content) {
			gone += h.length - content.Length.UTF16
			h.length = content.Length.UTF16
			h.replaced = true
		})
		if err != nil {
			return nil, 0, err
		}
	}
	list := v.Results()
	for i := range list {
		r := &list[i]
		if r.State != policy.ResultLive || s.early(r.Target.Item) {
			continue
		}
		err := note(r, func(content *policy.Content) {
			gone += v.Length(r.Target).UTF16 - content.Length.UTF16
			edits = append(edits, policy.Replace(policy.KindClear, r.Target, content, reason+"; the file was read again"))
		})
		if err != nil {
			return nil, 0, err
		}
	}
	if gone == 0 {
		return edits, 0, nil
	}
	for id := range v.Items {
		if !slices.Contains(s.stub, id) {
			total += characters(v, id)
		}
	}
	return edits, float64(gone) / float64(max(total, 1)), nil
}

// early reports whether an item belongs to the first two messages.
func (s *clineTruncation) early(id policy.ItemID) bool {
	return slices.ContainsFunc(s.runs[:min(2, len(s.runs))], func(r messageRun) bool { return slices.Contains(r.items, id) })
}

// characters are those of a message's texts and results; an image counts as its JSON.
func characters(v policy.View, id policy.ItemID) int {
	n := 0
	for t := range policy.Targets(v, id) {
		switch v.Kind(t) {
		case jsonl.KindImage:
			if raw := v.Raw(t); raw != nil {
				n += raw.JSON.UTF16
			}
		case jsonl.KindText, jsonl.KindToolResult, jsonl.KindAttachment:
			n += v.Length(t).UTF16
		}
	}
	return n
}

func (s *clineTruncation) follow(v policy.View) {
	items, anew := s.seen.Arrived(v, func(e policy.Edit) bool { return e.Moves() && e.Stage != truncationName })
	if anew {
		s.runs = nil
		s.stub = nil
		s.hidden = nil
	}
	for _, id := range items {
		s.put(v, id)
	}
}

// put appends an item. One that is not sent belongs to the message before it.
func (s *clineTruncation) put(v policy.View, id policy.ItemID) {
	n := len(s.runs)
	if n == 0 || measure.Sent(v, id) && s.runs[n-1].role != v.Role(id) {
		s.runs = append(s.runs, messageRun{role: v.Role(id)})
		n++
	}
	s.runs[n-1].items = append(s.runs[n-1].items, id)
}
