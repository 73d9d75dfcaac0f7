package replay

import (
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// Trial is what token counters are tried on: how far the recorded context of
// a conversation grew from request to request, and what joined it. It holds
// figures only, so that it outlives the session's file.
type Trial struct {
	Session   string
	Agent     string
	File      string
	Model     string // of the first request
	Version   string // of the client then
	Tokenizer string // "old" or "new"
	First     int    // recorded context of the first request, tokens
	Steps     []TrialStep
}

// TrialStep is one request after the first.
type TrialStep struct {
	Request int    // n
	Model   string // that answered it
	Version string // of the client
	Context int    // recorded, tokens
	Growth  int    // over the request before, tokens
	Anchor  bool   // a compaction was recorded before it: what it holds is not foretold
	Learn   bool   // it teaches the usage counter

	// What joined the context less what left it, by what is in the file: for
	// the usage counter, and in tokens by each counter that fits nothing.
	Amounts tokens.Amounts
	Counts  map[string]float64

	TakenOff int // tokens the client says it took off results that are in no file
}

// Trial measures the record's conversation for counters to be tried on. It has
// no steps where fewer than two requests have recorded usage.
func (r *Record) Trial() (*Trial, error) {
	conv := r.Conv
	t := &Trial{Session: conv.SessionID, Agent: conv.Agent, File: conv.Path, Model: conv.Model, Version: conv.Version, Tokenizer: r.counted.Tokenizer}
	for _, q := range conv.Requests {
		if m := &conv.Messages[q.Message]; m.HasUsage {
			t.First = m.Usage.Context()
			break
		}
	}
	y := tally{
		r: r, meter: tokens.NewMeter(conv, r.counted), tables: map[string]policy.Weigher{},
		instead: map[policy.Target]*policy.Content{}, inserted: map[policy.ItemID][]policy.Content{},
	}
	for _, name := range tokens.Names() {
		switch name {
		case tokens.NameUsage:
		case tokens.NameHeuristic:
			y.tables[name] = tokens.Heuristic(conv)
		default:
			table, err := r.Encoded(name)
			if err != nil {
				return nil, err
			}
			y.tables[name] = table
		}
	}
	spans, _ := tokens.Spans(conv)
	edits := r.edits
	for i := range spans {
		n := 0
		for n < len(edits) && edits[n].Request <= spans[i].Request {
			n++
		}
		t.Steps = append(t.Steps, y.request(&spans[i], edits[:n]))
		edits = edits[n:]
	}
	return t, nil
}

// tally measures one request after another: what joined, and what the record's
// edits and the server took off and put in.
type tally struct {
	r        *Record
	meter    *tokens.Meter
	tables   map[string]policy.Weigher
	instead  map[policy.Target]*policy.Content  // what stands for results that were cleared
	inserted map[policy.ItemID][]policy.Content // placeholders
	step     TrialStep
}

func (y *tally) request(s *tokens.Span, edits []policy.Edit) TrialStep {
	conv := y.r.Conv
	answer := &conv.Messages[s.To]
	y.step = TrialStep{
		Request: s.Request, Model: answer.Model, Version: answer.Version, Context: s.Context, Growth: s.Growth,
		Anchor: s.Cut, Learn: s.Learn, Counts: make(map[string]float64, len(y.tables)),
	}
	joined, cleared := y.meter.Next(s)
	y.step.Amounts = joined
	for m := s.From; m < s.To; m++ {
		if !conv.Messages[m].RecordOnly {
			for b := range conv.Messages[m].Blocks {
				y.count(policy.Target{Item: policy.ItemID(m), Block: b}, 1)
			}
		}
	}
	for _, t := range cleared {
		y.leave(t)
	}
	for i := range edits {
		y.edit(&edits[i])
	}
	return y.step
}

// edit takes off and puts in what an edit of the record does. What is offloaded
// as it joins has joined as the stub already.
func (y *tally) edit(e *policy.Edit) {
	y.step.TakenOff -= e.Delta
	switch {
	case e.Kind == policy.KindSummarize:
		// What is left is not foretold.
	case e.New != nil && !e.New.Stub:
		y.leave(e.Target)
		y.put(e.New, 1)
		y.instead[e.Target] = e.New
	default:
		for _, id := range e.Items {
			y.removed(id)
		}
		for i := range e.Insert {
			y.inserted[e.Insert[i].ID] = e.Insert[i].Contents
			for c := range e.Insert[i].Contents {
				y.put(&e.Insert[i].Contents[c], 1)
			}
		}
	}
}

// removed takes off all of an item.
func (y *tally) removed(id policy.ItemID) {
	if id < 0 {
		for c := range y.inserted[id] {
			y.put(&y.inserted[id][c], -1)
		}
		return
	}
	for b := range y.r.Conv.Messages[id].Blocks {
		y.leave(policy.Target{Item: id, Block: b})
	}
}

// leave takes off a recorded block, or what stands for it.
func (y *tally) leave(t policy.Target) {
	if c := y.instead[t]; c != nil {
		y.put(c, -1)
		return
	}
	out := y.meter.Sent(t)
	y.step.Amounts.Add(&out, -1)
	y.count(t, -1)
}

// count counts a recorded block as it was sent: of an offloaded result the
// stub.
func (y *tally) count(t policy.Target, times float64) {
	bl := &y.r.Conv.Messages[t.Item].Blocks[t.Block]
	for name, table := range y.tables {
		n := table.Block(int(t.Item), t.Block)
		if bl.ReadBack() {
			n = table.Content(&policy.Content{Kind: bl.Kind, Length: bl.Text, Ref: &t, Stub: true})
		}
		y.step.Counts[name] += times * float64(n)
	}
}

// put counts a text that is no block.
func (y *tally) put(c *policy.Content, times float64) {
	in := tokens.Content(c.Kind, c.Length)
	y.step.Amounts.Add(&in, times)
	for name, table := range y.tables {
		y.step.Counts[name] += times * float64(table.Content(c))
	}
}
