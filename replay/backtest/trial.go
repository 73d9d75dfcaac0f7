package backtest

import (
	"cmp"
	"path/filepath"
	"sort"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// GrowthTrial is the growth of a conversation's recorded context from request to request, and what joined it, for
// token counters to predict. It holds figures only and needs no session file.
type GrowthTrial struct {
	Session   string
	Agent     string
	File      string
	Project   string // the folder it was recorded in, or else that of its file
	Model     string // of the first request
	Version   string // of the client then
	Tokenizer string // of its model
	First     int    // recorded context of the first request, tokens
	Steps     []TrialStep

	bands policy.Bands // of which TrialStep.Clients is one
}

// TrialStep is one request after the first.
type TrialStep struct {
	Request int    // n
	Model   string // of the response
	Version string // of the client
	Clients string // its band of versions
	Context int    // recorded, tokens
	Growth  int    // over the request before, tokens
	Anchor  bool   // its context is not predicted: before it a compaction is recorded, or a restart of another client version
	Learn   bool   // the usage counter learns from it

	// What joined the context less what left it, as far as the file holds it: for the usage counter, and in tokens by
	// each counter that is not fitted.
	Amounts tokens.Amounts
	Counts  map[string]float64

	TakenOff int // tokens that the client reports it removed from results that are in no file
}

// NewTrial measures the recorded session's conversation. It has no steps where fewer than two requests have recorded usage.
func NewTrial(r *replay.Record) (*GrowthTrial, error) {
	conv := r.Conv
	t := &GrowthTrial{
		Session: conv.SessionID, Agent: conv.Agent, File: conv.Path, Project: cmp.Or(conv.Repository, conv.CWD, filepath.Dir(conv.Path)),
		Model: conv.Model, Version: conv.Version, Tokenizer: r.Counted.Tokenizer, bands: r.Counted.Client.Lines,
	}
	for _, q := range conv.Requests {
		if m := &conv.Messages[q.Message]; m.HasUsage {
			t.First = m.Usage.Context()
			break
		}
	}
	y := tally{
		conv: conv, bands: t.bands, meter: tokens.NewMeter(conv, r.Counted),
		tables:  map[string]policy.Weigher{tokens.NameHeuristic: r.Cal.Heuristic()},
		instead: map[policy.Target]*policy.Content{}, inserted: map[policy.ItemID][]policy.Content{},
	}
	for _, name := range tokens.Names() {
		if name == tokens.NameUsage || name == tokens.NameHeuristic {
			continue
		}
		table, err := r.Encoded(name)
		if err != nil {
			return nil, err
		}
		y.tables[name] = table
	}
	spans, _ := tokens.Spans(conv, r.Counted)
	edits := r.Edits()
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

// tally measures one request after another: what joined, and what the recorded session's edits and the server removed and
// inserted.
type tally struct {
	conv     *session.Conversation
	bands    policy.Bands
	meter    *tokens.Meter
	tables   map[string]policy.Weigher
	instead  map[policy.Target]*policy.Content  // replacements of results
	inserted map[policy.ItemID][]policy.Content // placeholders
	step     TrialStep
}

func (y *tally) request(s *tokens.Increment, edits []policy.Edit) TrialStep {
	answer := &y.conv.Messages[s.To]
	y.step = TrialStep{
		Request: s.Request, Model: answer.Model, Version: answer.Version, Clients: y.bands.Of(answer.Version), Context: s.Context, Growth: s.Growth,
		Anchor: s.Cut || y.updated(s), Learn: s.Learn, Counts: make(map[string]float64, len(y.tables)),
	}
	joined, left, back := y.meter.Next(s)
	y.step.Amounts = joined
	for m := s.From; m < s.To; m++ {
		if !y.conv.Messages[m].RecordOnly {
			for b := range y.conv.Messages[m].Blocks {
				y.count(policy.BlockOf(m, b), 1)
			}
		}
	}
	for _, t := range left {
		y.leave(t)
	}
	for _, t := range back {
		in := y.meter.Sent(t)
		y.step.Amounts.Add(&in, 1)
		y.count(t, 1)
	}
	for i := range edits {
		y.edit(&edits[i])
	}
	return y.step
}

// updated reports whether the client was restarted in a span, as another version: its system prompt and tools are others,
// and on no line of the file.
func (y *tally) updated(s *tokens.Increment) bool {
	list := y.conv.Restarts
	i := sort.Search(len(list), func(i int) bool { return list[i].Before > s.From })
	return i < len(list) && list[i].Before <= s.To && y.conv.Messages[s.From].Version != y.conv.Messages[s.To].Version
}

// edit counts what an edit of the recorded session removes and inserts. A result that is offloaded as it joins was
// counted as its stub already.
func (y *tally) edit(e *policy.Edit) {
	y.step.TakenOff -= e.Delta
	switch {
	case e.Kind == policy.KindSummarize:
		// The step is an anchor: not predicted.
	case e.New != nil && e.New.Gone:
		y.leave(e.Target)
		y.instead[e.Target] = e.New
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

// removed subtracts all of an item.
func (y *tally) removed(id policy.ItemID) {
	if id < 0 {
		for c := range y.inserted[id] {
			y.put(&y.inserted[id][c], -1)
			y.step.TakenOff += y.inserted[id][c].Tokens
		}
		return
	}
	for b := range y.conv.Messages[id].Blocks {
		y.leave(policy.BlockOf(id, b))
	}
}

// leave subtracts a recorded block, or its replacement.
func (y *tally) leave(t policy.Target) {
	if c := y.instead[t]; c != nil && c.Gone {
		return
	} else if c != nil {
		y.put(c, -1)
		return
	}
	out := y.meter.Sent(t)
	y.step.Amounts.Add(&out, -1)
	y.count(t, -1)
}

// count adds a recorded block as it was sent: an offloaded result as its stub.
func (y *tally) count(t policy.Target, times float64) {
	bl := &y.conv.Messages[t.Item].Blocks[t.Block]
	for name, table := range y.tables {
		n := table.Block(int(t.Item), t.Block)
		if bl.Offload != nil {
			n = table.Content(&policy.Content{Kind: bl.Kind, Length: bl.Text, Ref: &t, Stub: true})
		}
		y.step.Counts[name] += times * float64(n)
	}
}

// put adds a text that is not a recorded block.
func (y *tally) put(c *policy.Content, times float64) {
	in := tokens.Content(c.Kind, c.Length)
	y.step.Amounts.Add(&in, times)
	for name, table := range y.tables {
		y.step.Counts[name] += times * float64(table.Content(c))
	}
}
