package regret

import (
	"github.com/ctxkit/ctxkit/policy"
)

// Judge finds the misses of a policy by the edits it made. record says that
// they are the record's own. Tokens are by w.
func (x *Index) Judge(edits []policy.Edit, w policy.Weigher, record bool) (*Result, error) {
	n := len(x.of)
	j := &judge{
		sight: newSight(x, record), edits: edits,
		took: make([]int32, n), missed: make([]bool, n), removed: make([]bool, n),
	}
	j.onEdit = j.note
	if err := j.walk(edits, j.visit); err != nil {
		return nil, err
	}
	r := &Result{Misses: j.misses, Removed: j.takenAway, Used: len(x.used)}
	if r.Misses == nil {
		r.Misses = []Miss{}
	}
	for i := range r.Misses {
		m := &r.Misses[i]
		at, b := x.at(m.block)
		m.Tokens = w.Block(at, b)
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

// judge looks at each use with the view as it was sent.
type judge struct {
	*sight
	edits     []policy.Edit
	took      []int32 // by block: 1 + the edit that took it away, 0: none did
	missed    []bool  // by block
	removed   []bool  // by block: it was taken away once
	takenAway int     // blocks that were
	misses    []Miss
}

// note remembers by which edit a block went.
func (j *judge) note(i int, e *policy.Edit) {
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindCacheEdit, policy.KindServerClear:
		j.gone(j.target(e.Target), i)
	case policy.KindServerKeep:
		j.took[j.target(e.Target)] = 0
	case policy.KindRemove, policy.KindCollapse:
		for _, id := range e.Items {
			if id >= 0 {
				j.goneMessage(int(id), i)
			}
		}
	case policy.KindSummarize:
		for m := range j.joined {
			if b := j.x.base[m]; b < j.x.base[m+1] && !j.present[b] {
				j.goneMessage(m, i)
			}
		}
	}
}

func (j *judge) goneMessage(m, edit int) {
	if j.x.conv.Messages[m].RecordOnly {
		return
	}
	for b := j.x.base[m]; b < j.x.base[m+1]; b++ {
		j.gone(b, edit)
	}
}

// gone notes the edit that took a block away: the first, until the block is
// back.
func (j *judge) gone(b int32, edit int) {
	m, i := j.x.at(b)
	if !evictable(j.x.conv.Messages[m].Blocks[i].Kind) {
		return
	}
	if !j.removed[b] {
		j.removed[b] = true
		j.takenAway++
	}
	if j.took[b] == 0 {
		j.took[b] = int32(edit) + 1
	}
}

func (j *judge) visit(u *use) error {
	edit := int(j.took[u.source]) - 1
	if edit < 0 || j.missed[u.source] {
		return nil // in view all along; or never, a loss of the record's own
	}
	if missing, err := j.missing(u); err != nil || !missing {
		return err
	}
	j.missed[u.source] = true
	at, i := j.x.at(u.source)
	msg := &j.x.conv.Messages[at]
	bl := &msg.Blocks[i]
	e := &j.edits[edit]
	m := Miss{
		Message: msg.UUID, Line: int(bl.Line), Removed: e.Request, Stage: e.Stage, Kind: e.Kind,
		Needed: u.request, Evidence: u.evidence, Quote: u.quote, UsedBy: j.x.conv.Messages[u.message].UUID, UsedLine: int(u.line),
		block: u.source,
	}
	if bl.ID != "" {
		m.ToolUse, m.Tool = bl.ID, j.x.conv.ToolName(bl.ID)
	}
	j.misses = append(j.misses, m)
	return nil
}
