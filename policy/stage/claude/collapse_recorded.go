package claude

import (
	"fmt"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// recordedCollapses counts how much of the recorded session has been followed.
type recordedCollapses struct {
	commit   int
	snapshot int
	paid     map[extent]bool // spans whose summary has been requested
}

// recordedHere does what the client recorded since the last request: it requests the summaries of spans it staged,
// and commits what it committed. Of a span that has left this view in part, the rest is collapsed. With adopt, it
// stages what the last snapshot staged.
func (s *contextCollapse) recordedHere(c *policy.Context, adopt bool) []policy.Edit {
	r := &s.record
	var edits, commits []policy.Edit
	from := r.snapshot
	for ; r.snapshot < len(c.Conv.Snapshots) && c.Conv.Snapshots[r.snapshot].Request <= c.Request; r.snapshot++ {
		snap := &c.Conv.Snapshots[r.snapshot]
		for i := range snap.Staged {
			edits = append(edits, s.recordedStage(c, snap, &snap.Staged[i])...)
		}
	}
	for ; r.commit < len(c.Conv.Collapses) && c.Conv.Collapses[r.commit].Request <= c.Request; r.commit++ {
		commits = s.recordedCommit(c, &c.Conv.Collapses[r.commit], commits)
	}
	if adopt && r.snapshot > from {
		s.adopt(c, &c.Conv.Snapshots[r.snapshot-1], commits)
	}
	return append(edits, commits...)
}

// recordedStage requests the summary of a span the client staged, once.
func (s *contextCollapse) recordedStage(c *policy.Context, snap *session.CollapseSnapshot, st *session.Staged) []policy.Edit {
	x := extent{st.From, st.To}
	items := s.inView(c.View, x, nil)
	if s.record.paid[x] || items == nil {
		return nil
	}
	s.record.paid[x] = true
	return []policy.Edit{{
		Kind: policy.KindCall, Trigger: "recorded", Items: items, Call: s.call(c, items, policy.Text(st.Summary)),
		Reason: fmt.Sprintf("recorded, line %d: a span staged, risk %.2f", snap.Line, st.Risk),
	}}
}

// recordedCommit adds a recorded commit to those made at this request. It replaces an earlier one of them that lies
// within its span.
func (s *contextCollapse) recordedCommit(c *policy.Context, rec *session.Collapse, commits []policy.Edit) []policy.Edit {
	x := extent{rec.From, rec.To}
	taken := itemSet{}
	var others []policy.Edit
	for _, e := range commits {
		if e.Kind == policy.KindCollapse && x.holds(s.extent(e.Items)) {
			if e.Call == nil {
				continue
			}
			// Its summary was requested all the same.
			e = policy.Edit{Kind: policy.KindCall, Trigger: e.Trigger, Items: e.Items, Call: e.Call, Reason: e.Reason}
		} else if e.Kind == policy.KindCollapse {
			taken.add(e.Items)
		}
		others = append(others, e)
	}
	items := s.inView(c.View, x, taken)
	if items == nil {
		return commits
	}
	content := policy.Text(rec.Content)
	e := policy.Edit{
		Kind: policy.KindCollapse, Trigger: "recorded", Items: items, Insert: []policy.Synthetic{placeholder(content)},
		Reason: fmt.Sprintf("recorded, line %d", rec.Line),
	}
	if !s.record.paid[x] {
		s.record.paid[x] = true
		e.Call = s.call(c, items, content)
	}
	return append(others, e)
}

// adopt stages what the client's last snapshot staged, in place of what was staged before.
func (s *contextCollapse) adopt(c *policy.Context, snap *session.CollapseSnapshot, commits []policy.Edit) {
	s.staged = nil
	taken := itemSet{}
	for i := range commits {
		taken.add(commits[i].Items)
	}
	for _, st := range snap.Staged {
		items := s.inView(c.View, extent{st.From, st.To}, taken)
		if items == nil {
			continue
		}
		taken.add(items)
		s.staged = append(s.staged, &span{
			items: items, content: policy.Text(collapsed(collapseID(c, items), st.Summary)),
			from: fmt.Sprintf("recorded, line %d", snap.Line), risk: st.Risk, age: st.From, request: c.Request, recorded: true,
		})
	}
	s.retake()
}

// inView returns what a view shows of a span of recorded messages: the messages themselves and placeholders of parts
// of it. It is nil if these are not together in the view, separate a tool_result from its call, or are only
// placeholders.
func (s *contextCollapse) inView(v policy.View, x extent, taken itemSet) []policy.ItemID {
	var items []policy.ItemID
	recorded := false
	for id := range v.Items {
		if of := s.extentOf(id); of.from >= 0 && x.holds(of) && !taken[id] {
			items = append(items, id)
			recorded = recorded || id >= 0
		}
	}
	if !recorded || !contiguous(v, items) || !closed(v, items) {
		return nil
	}
	return items
}

// recordedSpan returns the recorded summary of exactly these messages, and its line.
func recordedSpan(conv *session.Conversation, x extent) (summary string, line int, ok bool) {
	for i := range conv.Collapses {
		if r := &conv.Collapses[i]; (extent{r.From, r.To}) == x && r.Summary != "" {
			return r.Summary, r.Line, true
		}
	}
	for i := range conv.Snapshots {
		for _, r := range conv.Snapshots[i].Staged {
			if (extent{r.From, r.To}) == x && r.Summary != "" {
				return r.Summary, conv.Snapshots[i].Line, true
			}
		}
	}
	return "", 0, false
}
