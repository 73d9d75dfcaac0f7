package claude

import (
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// MicrocompactCached are the parameters of microcompact_cached.
type MicrocompactCached struct {
	Trigger int      `yaml:"trigger" doc:"deleting begins once there are this many live compactable results; unofficial: public write-ups say 12 or 10" unit:"results" min:"1"`
	Keep    int      `yaml:"keep" doc:"the newest live compactable results that stay; unofficial" unit:"results" min:"0"`
	Tools   []string `yaml:"tools" doc:"tools whose results may be deleted; a trailing * matches any rest"`
}

func defineMicrocompactCached() policy.Definition {
	return policy.Definition{
		Name:    "microcompact_cached",
		Summary: "Once there are 12 live compactable results on the main thread, the oldest down to 5 are deleted from the server's cached view by cache_edits in the payload; the model view and the cached prefix stay as they are.",
		Source:  "Claude Code, the five-level pipeline analysis and the analysis of views and caching; the counts are unofficial, no two write-ups agree",
		Truth:   policy.TruthDescribed,
		Moments: policy.Project,
		Params:  &MicrocompactCached{Trigger: 12, Keep: 5, Tools: compactable()},
		Example: `before: trigger 2, keep 1; user question, assistant tool_use B, user tool_result B, assistant tool_use C, user tool_result C
after:  user question, assistant tool_use B, user tool_result B with cache_reference "B", assistant tool_use C, user {"type":"cache_edits","edits":[{"type":"delete","cache_reference":"B"}]} and tool_result C; the client's own messages are unchanged`,
		CacheEdits: true,
		New:        policy.Maker(func(p MicrocompactCached) policy.Stage { return &microcompactCached{MicrocompactCached: p} }),
	}
}

// Limits are what decides when microcompact_cached acts.
func (p *MicrocompactCached) Limits(l *policy.StageLimits) {
	l.Note("cached microcompact: %s live results (microcompact_cached.trigger, unofficial)", policy.Thousands(p.Trigger))
}

// Check is what is questionable in a policy with microcompact_cached.
func (p *MicrocompactCached) Check(c *policy.Check) {
	c.Less("keep", p.Keep, "trigger", p.Trigger)
	if c.Cache.Breakpoints == policy.BreakpointsNone {
		c.Add(policy.RuleContradict, "microcompact_cached", "give cache.breakpoints, or leave the stage out", "it deletes from what the server has cached, and cache.breakpoints: none caches nothing")
	}
}

// microcompactCached deletes old results from what the server has cached. An edit is pinned to the user message in
// which it was first sent, and is sent again there at each request, so that the prefix stays the same bytes. After
// the time-based path has cleared, the cache is cold: the stage deletes nothing and its state starts again, as it
// does after a compaction.
//
// It reads the view after the other stages: a result that a collapse of the same request takes out is not counted.
type microcompactCached struct {
	MicrocompactCached
	edits   int // of the view, looked at
	live    compactables
	deleted []pinned
}

// pinned is a deleted result and the message that carries the deletion.
type pinned struct {
	compactableAt
	carrier policy.ItemID
}

func (s *microcompactCached) Run(c *policy.Context) ([]policy.Edit, error) {
	if c.Agent != "" {
		return nil, nil
	}
	v := c.View
	left, changed, cold := s.look(v)
	var edits []policy.Edit
	switch {
	case v.Epoch() != s.live.epoch:
		edits = s.restart(v, "the view was compacted: the state starts again")
	case cold:
		edits = s.restart(v, microcompactTimeName+" has cleared, the cache is cold: the state starts again")
	case left || changed:
		s.prune(v, left)
	}
	s.live.follow(v, len(v.Results()), s.Tools, func(r *compactableAt) bool { return shown(v, r.Target) })
	if cold {
		return edits, nil
	}
	carrier, ok := lastSent(v)
	if !ok {
		return edits, nil
	}
	if left {
		edits = append(edits, s.repin(v, carrier)...)
	}
	return append(edits, s.deleteOldest(v, carrier)...), nil
}

// look reports what other stages did since the last request: whether messages left the view, blocks were changed, and
// the time-based path has cleared.
func (s *microcompactCached) look(v policy.View) (left, changed, cold bool) {
	for _, e := range v.Edits()[s.edits:] {
		switch e.Kind {
		case policy.KindRemove, policy.KindCollapse:
			left = true
		case policy.KindClear, policy.KindPersist:
			changed = true
			cold = cold || e.Stage == microcompactTimeName
		}
	}
	s.edits = len(v.Edits())
	return left, changed, cold
}

// restart empties the list of deleted results: they are sent again.
func (s *microcompactCached) restart(v policy.View, reason string) []policy.Edit {
	var edits []policy.Edit
	var back []compactableAt
	for _, d := range s.deleted {
		back = append(back, d.compactableAt)
		if v.Has(d.Target.Item) {
			edits = append(edits, policy.Edit{Kind: policy.KindServerKeep, Trigger: "auto", Target: d.Target, Reason: reason})
		}
	}
	s.live.list = slices.Concat(back, s.live.list)
	s.deleted = nil
	if v.Epoch() == s.live.epoch {
		s.prune(v, false)
	}
	return edits
}

// prune drops results that are no longer live, and, where messages have left, deleted ones that are no longer in
// view.
func (s *microcompactCached) prune(v policy.View, left bool) {
	results := v.Results()
	s.live.list = slices.DeleteFunc(s.live.list, func(r compactableAt) bool {
		return results[r.index].State == policy.ResultGone || !shown(v, r.Target)
	})
	if left {
		s.deleted = slices.DeleteFunc(s.deleted, func(d pinned) bool { return !v.Has(d.Target.Item) })
	}
}

// repin moves edits whose message has left the view to the last message.
func (s *microcompactCached) repin(v policy.View, carrier policy.ItemID) []policy.Edit {
	var edits []policy.Edit
	for i := range s.deleted {
		if d := &s.deleted[i]; !v.Has(d.carrier) {
			d.carrier = carrier
			edits = append(edits, s.edit(d, "the message that carried the deletion has left the view: the last one carries it on", nil))
		}
	}
	return edits
}

// deleteOldest deletes the oldest live results down to keep. Those of the API's last message stay: they were not sent yet, and
// nothing that is referred to may share a message with the last mark of the cache, which this one has, or with the edit.
func (s *microcompactCached) deleteOldest(v policy.View, carrier policy.ItemID) []policy.Edit {
	n := len(s.live.list)
	if n < s.Trigger || n <= s.Keep {
		return nil
	}
	reason := fmt.Sprintf("%d live results >= trigger %d: all but the newest %d", n, s.Trigger, s.Keep)
	detail := map[string]int{"live_results": n, "deleted_results": 0, "tokens_saved": 0}
	edits := make([]policy.Edit, 0, n-s.Keep)
	unsent := map[policy.ItemID]bool{}
	for id := range v.Backward {
		m := v.Message(id)
		if v.Role(id) == session.Assistant {
			break
		}
		if unsent[id] = true; m != nil && m.Class == session.ClassPrompt {
			break // it is a message of its own
		}
	}
	var stay []compactableAt
	for _, r := range s.live.list[:n-s.Keep] {
		if unsent[r.Target.Item] {
			stay = append(stay, r)
			continue
		}
		s.deleted = append(s.deleted, pinned{r, carrier})
		detail["deleted_results"]++
		detail["tokens_saved"] += resultEstimate(v, r.Target)
		edits = append(edits, s.edit(&s.deleted[len(s.deleted)-1], reason, detail))
	}
	s.live.list = slices.Concat(stay, s.live.list[n-s.Keep:])
	return edits
}

func (s *microcompactCached) edit(d *pinned, reason string, detail map[string]int) policy.Edit {
	return policy.Edit{Kind: policy.KindCacheEdit, Trigger: "auto", Target: d.Target, Carrier: d.carrier, Reason: reason, Detail: detail}
}

// lastSent returns the last user message of a view that is sent.
func lastSent(v policy.View) (policy.ItemID, bool) {
	for id := range v.Backward {
		if v.Role(id) == session.User && measure.Sent(v, id) {
			return id, true
		}
	}
	return 0, false
}
