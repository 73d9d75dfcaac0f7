package opencode

import "slices"

// FilterCompacted is the view of a session the model works from: what lies before the newest completed compaction is
// left out, and a retained tail is moved behind the compaction's summary. OpenCode 1.1.36 knows no tail and takes a
// failed summary for a complete one; 1.18.3 and 1.18.34. Section 7.
func (v Version) FilterCompacted(messages []Message) []Message {
	var visible []Message
	done := map[string]bool{}
	retain := ""
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		visible = append(visible, *m)
		if retain != "" {
			if m.Info.ID == retain {
				break
			}
			continue
		}
		if m.Info.Role == RoleUser && done[m.Info.ID] {
			if part := m.compactionPart(); part != nil {
				if !v.KeepsTail || part.TailStartID == nil || *part.TailStartID == "" || *part.TailStartID == m.Info.ID {
					break
				}
				retain = *part.TailStartID
			}
			continue
		}
		if v.completes(&m.Info) {
			done[m.Info.ParentID] = true
		}
	}
	slices.Reverse(visible)
	if v.KeepsTail {
		return tailBehindSummary(visible)
	}
	return visible
}

// completes reports whether a message is the summary of a finished compaction.
func (v Version) completes(info *Info) bool {
	return info.Role == RoleAssistant && bool(info.Summary) && info.Finish != "" &&
		(v.FailedSummaryCounts || info.Error == nil)
}

// tailBehindSummary puts the newest compaction with a tail, and its summary, before that tail.
func tailBehindSummary(visible []Message) []Message {
	compaction, tailID := -1, ""
	for i := len(visible) - 1; i >= 0 && compaction < 0; i-- {
		if visible[i].Info.Role != RoleUser {
			continue
		}
		for _, part := range visible[i].Parts {
			if part.Type == PartCompaction && part.TailStartID != nil {
				compaction, tailID = i, *part.TailStartID
				break
			}
		}
	}
	if compaction < 0 || tailID == "" {
		return visible
	}
	tail := slices.IndexFunc(visible, func(m Message) bool { return m.Info.ID == tailID })
	summary := slices.IndexFunc(visible[compaction+1:], func(m Message) bool {
		return m.Info.Role == RoleAssistant && bool(m.Info.Summary) && m.Info.ParentID == visible[compaction].Info.ID
	})
	if tail < 0 || tail >= compaction || summary < 0 {
		return visible
	}
	after := compaction + 1 + summary + 1
	return slices.Concat(visible[:0:0], visible[compaction:after], visible[tail:compaction], visible[after:])
}
