package regret

import "github.com/ctxkit/ctxkit/policy"

// Judge finds the misses of a policy from its edits. If record is set, they are the record's own. w gives the tokens
// of blocks.
func (x *Index) Judge(edits []policy.Edit, w policy.Weigher, record bool) (*Regret, error) {
	n := len(x.of)
	j := &judge{sight: newSight(x, record), edits: edits, removed: make([]bool, n), removedBy: make([]int32, n), missed: make([]bool, n)}
	j.onEdit = j.note
	if err := j.walk(edits, j.visit); err != nil {
		return nil, err
	}
	r := &Regret{Misses: append([]Miss{}, j.misses...), Used: len(x.used)}
	for _, removed := range j.removed {
		if removed {
			r.Removed++
		}
	}
	for i := range r.Misses {
		m := &r.Misses[i]
		m.Tokens = w.Block(x.at(m.block))
		r.Tokens += m.Tokens
	}
	r.MedianDistance = median(r.Misses)
	d, err := x.demand(edits, w, record, j.missed)
	if err != nil {
		return nil, err
	}
	r.BoundMisses, r.BoundTokens = d.bound()
	return r, nil
}

// judge checks each use against the view as it was sent.
type judge struct {
	*sight
	edits     []policy.Edit
	removed   []bool  // by block: it was removed at least once
	removedBy []int32 // by block: 1 + the index of the edit that removed it, 0: it is in view
	missed    []bool  // by block
	misses    []Miss
}

// note remembers the blocks that edit i removed.
func (j *judge) note(i int, e *policy.Edit) {
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindCacheEdit, policy.KindServerClear:
		j.remove(j.target(e.Target), i)
	case policy.KindServerKeep:
		j.removedBy[j.target(e.Target)] = 0
	case policy.KindRemove, policy.KindCollapse:
		for _, id := range e.Items {
			if id >= 0 {
				j.removeMessage(int(id), i)
			}
		}
	case policy.KindSummarize:
		for m := range j.joined {
			if b := j.x.base[m]; b < j.x.base[m+1] && !j.present[b] {
				j.removeMessage(m, i)
			}
		}
	}
}

func (j *judge) removeMessage(m, edit int) {
	if j.x.conv.Messages[m].RecordOnly {
		return
	}
	for b := j.x.base[m]; b < j.x.base[m+1]; b++ {
		j.remove(b, edit)
	}
}

// remove notes the edit that removed a block: the first one, until the block is back.
func (j *judge) remove(b int32, edit int) {
	if !evictable(j.x.block(b).Kind) {
		return
	}
	j.removed[b] = true
	if j.removedBy[b] == 0 {
		j.removedBy[b] = int32(edit) + 1
	}
}

func (j *judge) visit(u *use) error {
	edit := int(j.removedBy[u.source]) - 1
	if edit < 0 || j.missed[u.source] {
		return nil // always in view; or never, which is a loss of the record itself
	}
	if missing, err := j.missing(u); err != nil || !missing {
		return err
	}
	j.missed[u.source] = true
	from, _ := j.x.at(u.source)
	bl, e := j.x.block(u.source), &j.edits[edit]
	m := Miss{
		Message: j.x.conv.Messages[from].UUID, Line: int(bl.Line), Removed: e.Request, Stage: e.Stage, Kind: e.Kind,
		Needed: u.request, Evidence: u.evidence, Quote: u.quote,
		UsedBy: j.x.conv.Messages[u.message].UUID, UsedLine: int(u.line), block: u.source,
	}
	if bl.ID != "" {
		m.ToolUse, m.Tool = bl.ID, j.x.conv.ToolName(bl.ID)
	}
	j.misses = append(j.misses, m)
	return nil
}
