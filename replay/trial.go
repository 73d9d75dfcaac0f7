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

// counters are those a trial tries, the usage counter first.
func counters() []string { return []string{tokens.NameUsage, tokens.NameHeuristic} }

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
	tables := map[string]policy.Weigher{}
	for _, name := range counters() {
		if name == tokens.NameHeuristic {
			tables[name] = tokens.Heuristic(conv)
		}
	}
	spans, _ := tokens.Spans(conv)
	meter := tokens.NewMeter(conv, r.counted)
	edits := r.edits
	for i := range spans {
		n := 0
		for n < len(edits) && edits[n].Request <= spans[i].Request {
			n++
		}
		t.Steps = append(t.Steps, r.step(&spans[i], meter, tables, edits[:n]))
		edits = edits[n:]
	}
	return t, nil
}

// step measures one request: what joined since the one before, and what the
// record's edits and the server took off.
func (r *Record) step(s *tokens.Span, meter *tokens.Meter, tables map[string]policy.Weigher, edits []policy.Edit) TrialStep {
	answer := &r.Conv.Messages[s.To]
	step := TrialStep{
		Request: s.Request, Model: answer.Model, Version: answer.Version, Context: s.Context, Growth: s.Growth,
		Anchor: s.Cut, Learn: s.Learn, Counts: map[string]float64{},
	}
	joined, left := meter.Next(s)
	step.Amounts = joined
	for i := range edits {
		e := &edits[i]
		step.TakenOff -= e.Delta
		if e.Kind != policy.KindClear || e.New == nil {
			continue
		}
		left = append(left, e.Target)
		in := tokens.Content(e.New.Kind, e.New.Length)
		step.Amounts.Add(&in, 1)
		for name, table := range tables {
			step.Counts[name] += float64(table.Content(e.New))
		}
	}
	out := meter.Sent(left...)
	step.Amounts.Add(&out, -1)
	for name, table := range tables {
		n := 0
		for m := s.From; m < s.To; m++ {
			if !r.Conv.Messages[m].RecordOnly {
				for b := range r.Conv.Messages[m].Blocks {
					n += r.sent(table, m, b)
				}
			}
		}
		for _, target := range left {
			n -= r.sent(table, int(target.Item), target.Block)
		}
		step.Counts[name] += float64(n)
	}
	return step
}

// sent is the weight of a block as it was sent: of an offloaded result that of
// its stub.
func (r *Record) sent(table policy.Weigher, m, b int) int {
	bl := &r.Conv.Messages[m].Blocks[b]
	if bl.ReadBack() {
		t := policy.Target{Item: policy.ItemID(m), Block: b}
		return table.Content(&policy.Content{Kind: bl.Kind, Length: bl.Text, Ref: &t, Stub: true})
	}
	return table.Block(m, b)
}
