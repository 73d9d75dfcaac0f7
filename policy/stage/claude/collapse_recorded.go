package claude

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// recordedCollapses is how far the record has been followed.
type recordedCollapses struct {
	commit   int
	snapshot int
	paid     map[extent]bool // spans whose summary has been asked for
}

// recordedHere does what the client recorded since the last request: it asks
// for the summaries of spans it staged, and commits what it committed. Of a
// span that is in part gone from this view, what is left of it is collapsed.
// With adopt, what the last snapshot staged is staged here.
func (s *contextCollapse) recordedHere(c *policy.Context, adopt bool) ([]policy.Edit, error) {
	r := &s.record
	var edits []policy.Edit
	from := r.snapshot
	for ; r.snapshot < len(c.Conv.Snapshots) && c.Conv.Snapshots[r.snapshot].Request <= c.Request; r.snapshot++ {
		snap := &c.Conv.Snapshots[r.snapshot]
		for i := range snap.Staged {
			edits = append(edits, s.recordedStage(c, snap, &snap.Staged[i])...)
		}
	}
	var commits []policy.Edit
	for ; r.commit < len(c.Conv.Collapses) && c.Conv.Collapses[r.commit].Request <= c.Request; r.commit++ {
		commits = s.recordedCommit(c, &c.Conv.Collapses[r.commit], commits)
	}
	if adopt && r.snapshot > from {
		s.adopt(c, &c.Conv.Snapshots[r.snapshot-1], commits)
	}
	return append(edits, commits...), nil
}

// recordedStage asks for the summary of a span the client staged, once.
func (s *contextCollapse) recordedStage(c *policy.Context, snap *session.CollapseSnapshot, st *session.Staged) []policy.Edit {
	x := extent{st.From, st.To}
	if s.record.paid[x] {
		return nil
	}
	items := s.inView(c.View, x, nil)
	if items == nil {
		return nil
	}
	s.record.paid[x] = true
	content := policy.NewContent(jsonl.KindText, st.Summary)
	return []policy.Edit{{
		Kind: policy.KindCall, Trigger: "recorded", Items: items, Call: s.call(c, items, &content),
		Reason: fmt.Sprintf("recorded, line %d: a span staged, risk %.2f", snap.Line, st.Risk),
	}}
}

// recordedCommit adds a recorded commit to those made at this request. An
// earlier one of them that lies within its span goes up in it.
func (s *contextCollapse) recordedCommit(c *policy.Context, rec *session.Collapse, commits []policy.Edit) []policy.Edit {
	x := extent{rec.From, rec.To}
	taken := map[policy.ItemID]bool{}
	var others []policy.Edit
	var within []int
	for i := range commits {
		e := &commits[i]
		if e.Kind != policy.KindCollapse {
			continue
		}
		if in := s.extent(e.Items); in.from >= x.from && in.to <= x.to {
			within = append(within, i)
			continue
		}
		for _, id := range e.Items {
			taken[id] = true
		}
	}
	items := s.inView(c.View, x, taken)
	if items == nil {
		return commits
	}
	for i := range commits {
		if len(within) > 0 && within[0] == i {
			within = within[1:]
			if e := &commits[i]; e.Call != nil { // it was asked for all the same
				others = append(others, policy.Edit{Kind: policy.KindCall, Trigger: e.Trigger, Items: e.Items, Call: e.Call, Reason: e.Reason})
			}
			continue
		}
		others = append(others, commits[i])
	}
	content := policy.NewContent(jsonl.KindText, rec.Content)
	e := policy.Edit{
		Kind: policy.KindCollapse, Trigger: "recorded", Items: items, Insert: []policy.Synthetic{placeholder(content)},
		Reason: fmt.Sprintf("recorded, line %d", rec.Line),
	}
	if !s.record.paid[x] {
		s.record.paid[x] = true
		e.Call = s.call(c, items, &content)
	}
	return append(others, e)
}

// adopt stages what the client's last snapshot staged, in place of what was
// staged before.
func (s *contextCollapse) adopt(c *policy.Context, snap *session.CollapseSnapshot, commits []policy.Edit) {
	s.staged = nil
	taken := map[policy.ItemID]bool{}
	for i := range commits {
		for _, id := range commits[i].Items {
			taken[id] = true
		}
	}
	for i := range snap.Staged {
		st := &snap.Staged[i]
		items := s.inView(c.View, extent{st.From, st.To}, taken)
		if items == nil {
			continue
		}
		for _, id := range items {
			taken[id] = true
		}
		s.staged = append(s.staged, &span{
			items: items, content: policy.NewContent(jsonl.KindText, collapsed(collapseID(c, items), st.Summary)),
			from: fmt.Sprintf("recorded, line %d", snap.Line), risk: st.Risk, age: st.From, request: c.Request, recorded: true,
		})
	}
	s.retake()
}

// inView is what a view shows of a span of recorded messages: the messages
// themselves and placeholders of parts of it. It is nil where that is no
// stretch of the view, parts a tool_result from its call, or is placeholders
// alone.
func (s *contextCollapse) inView(v policy.View, x extent, taken map[policy.ItemID]bool) []policy.ItemID {
	var items []policy.ItemID
	recorded := false
	for id := range v.Items {
		of := extent{int(id), int(id)}
		if id < 0 {
			var ok bool
			if of, ok = s.view.extents[id]; !ok {
				continue
			}
		}
		if of.from >= x.from && of.to <= x.to && of.from >= 0 && !taken[id] {
			items = append(items, id)
			recorded = recorded || id >= 0
		}
	}
	if !recorded || !contiguous(v, items) || !closed(v, items) {
		return nil
	}
	return items
}

// recordedSpan is the summary on record of exactly these messages.
func recordedSpan(conv *session.Conversation, x extent) (summary string, line int, ok bool) {
	for i := range conv.Collapses {
		if r := &conv.Collapses[i]; r.From == x.from && r.To == x.to && r.Summary != "" {
			return r.Summary, r.Line, true
		}
	}
	for i := range conv.Snapshots {
		for k := range conv.Snapshots[i].Staged {
			if r := &conv.Snapshots[i].Staged[k]; r.From == x.from && r.To == x.to && r.Summary != "" {
				return r.Summary, conv.Snapshots[i].Line, true
			}
		}
	}
	return "", 0, false
}
