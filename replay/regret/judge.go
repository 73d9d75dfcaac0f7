package regret

import (
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Judged is what a policy did to a conversation.
type Judged struct {
	Edits    []policy.Edit
	Recorded bool           // the edits are the recorded session's own
	Weigh    policy.Weigher // tokens of blocks

	// Refetch is the cost of getting a number of tokens back before request n. nil: it is not known.
	Refetch func(n, tokens int) price.USD
}

// Judge finds the content that a policy removed and that was needed later.
func (x *Index) Judge(p Judged) (*Regret, error) {
	j := newJudge(x, p.Edits, p.Recorded)
	r := &Regret{Misses: []Miss{}}
	missed := make([]bool, len(x.of))
	at := 0
	for n := 1; n <= len(x.conv.Requests); n++ {
		if err := j.until(p.Edits, n); err != nil {
			return nil, err
		}
		for ; at < len(x.uses) && x.uses[at].request == n; at++ {
			u := &x.uses[at]
			source := j.source(u, p.Weigh)
			if source < 0 || missed[source] || !j.missing(u) {
				continue
			}
			missed[source] = true
			r.add(j.miss(u, source, p.Weigh), &p)
		}
	}
	for b, removed := range j.removed {
		if removed && x.can(b) {
			r.Removed++
		}
	}
	r.USD = r.Cost()
	r.MedianDistance = median(r.Misses)
	return r, nil
}

// add adds a block needed later, with its price.
func (r *Regret) add(m Miss, p *Judged) {
	if p.Refetch != nil {
		m.USD = p.Refetch(m.Needed, m.Tokens)
	}
	r.Tokens += m.Tokens
	r.Misses = append(r.Misses, m)
}

// judge follows which blocks a policy has removed.
type judge struct {
	*sight
	edits     []policy.Edit
	removed   []bool // by block: it was removed once
	removedBy []int  // by block: 1 + the index of the edit that removed it, 0: it is in view
	seen      int    // messages that a rebuild has come after
	open      []int  // of these, those that a rebuild may still remove blocks of
	isOpen    []bool // by message: it is among them
}

func newJudge(x *Index, edits []policy.Edit, record bool) *judge {
	j := &judge{sight: newSight(x, record), edits: edits, removed: make([]bool, len(x.of)), removedBy: make([]int, len(x.of)), isOpen: make([]bool, len(x.conv.Messages))}
	j.onEdit = j.note
	return j
}

// source is the smallest removed block that would have served a use, -1 where none was removed.
func (j *judge) source(u *needle, w policy.Weigher) int {
	source := -1
	least := 0
	for _, b := range u.sources {
		if j.removedBy[b] == 0 {
			continue
		}
		if t := w.Block(j.at(b)); source < 0 || t < least {
			source = b
			least = t
		}
	}
	return source
}

func (j *judge) miss(u *needle, source int, w policy.Weigher) Miss {
	from, _ := j.at(source)
	bl := j.block(source)
	e := j.edits[j.removedBy[source]-1]
	m := Miss{
		Message: j.conv.Messages[from].UUID, Line: bl.Line, Removed: e.Request, Stage: e.Stage, Kind: e.Kind,
		Needed: u.request, Evidence: u.evidence, Quote: u.quote, Tokens: w.Block(j.at(source)),
		UsedBy: j.conv.Messages[j.of[u.at]].UUID, UsedLine: j.block(u.at).Line, Offset: u.offset,
	}
	if bl.ID != "" {
		m.ToolUse, m.Tool = bl.ID, j.conv.ToolName(bl.ID)
	}
	return m
}

// note remembers the blocks that edit i removed.
func (j *judge) note(i int, e *policy.Edit) {
	if e.Trigger == policy.TriggerRestart {
		return // the client's loss, under every policy
	}
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindCacheEdit, policy.KindServerClear:
		j.remove(j.target(e.Target), i)
	case policy.KindServerKeep:
		b := j.target(e.Target)
		j.removedBy[b] = 0
		if m, _ := j.at(b); m < j.seen {
			j.reopen(m)
		}
	case policy.KindRemove, policy.KindCollapse:
		for _, id := range e.Items {
			if id >= 0 {
				j.removeMessage(int(id), i)
			}
		}
	case policy.KindSummarize:
		j.rebuilt(i)
	}
}

// rebuilt removes the messages that edit i left out. One that was removed once stays so, whether it is shown again or
// not: only a block that the server keeps again can be removed anew.
func (j *judge) rebuilt(i int) {
	for ; j.seen < j.joined; j.seen++ {
		j.reopen(j.seen)
	}
	j.open = slices.DeleteFunc(j.open, func(m int) bool {
		if b := j.base[m]; b < j.base[m+1] && j.present[b] {
			return false
		}
		j.removeMessage(m, i)
		j.isOpen[m] = false
		return true
	})
}

func (j *judge) reopen(m int) {
	if !j.isOpen[m] {
		j.isOpen[m] = true
		j.open = append(j.open, m)
	}
}

func (j *judge) removeMessage(m, edit int) {
	for b := j.base[m]; b < j.base[m+1]; b++ {
		j.remove(b, edit)
	}
}

// remove notes the edit that removed a block: the first one, until the block is back.
func (j *judge) remove(b int, edit int) {
	j.removed[b] = true
	if j.removedBy[b] == 0 {
		j.removedBy[b] = edit + 1
	}
}
