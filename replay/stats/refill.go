package stats

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/category"
)

// Refill is what joined the context before a compaction, since the one before it or the beginning. Tokens are as it came;
// what the compaction removed before a request held it is included.
type Refill struct {
	From     int            `json:"from"` // n of the first request, or of the first one after the compaction before
	To       int            `json:"to"`   // n of the request before which the next one was made; one past the last request: after it
	Requests int            `json:"requests"`
	Prompts  int            `json:"prompts"`                  // that were typed, and not queued
	Seconds  float64        `json:"seconds"`                  // from one request to the other; 0: not known
	After    int            `json:"tokens_after"`             // messages that the compaction before left
	Before   int            `json:"tokens_before"`            // messages that the compaction found
	System   int            `json:"system_tokens"`            // of system prompt and tools in the request before it
	Joined   int            `json:"joined_tokens"`            // of all Parts
	Parts    []RefillSource `json:"parts"`                    // by category and tool, the most tokens first
	Heaviest []RefillSource `json:"heaviest"`                 // by what calls were about, each prompt by itself, the most tokens first
	Freed    int            `json:"freed_per_mille"`          // of what it found, by the compaction
	Reason   string         `json:"reason"`                   // of the compaction
	Context  int            `json:"context_tokens,omitempty"` // at which the client compacted, by its own count; 0: not recorded
}

// RefillSource is where tokens came from.
type RefillSource struct {
	Category category.Name `json:"category"`
	Of       string        `json:"of,omitempty"`     // the tool, the type of an attachment, or the class of a message
	Target   string        `json:"target,omitempty"` // what a call was about, or the start of a prompt
	Line     int           `json:"line,omitempty"`   // of the first, in the session's file; 0 for what is on none
	Times    int           `json:"times"`
	Tokens   int           `json:"tokens"`
}

// mostSources is how many of the heaviest sources a refill has.
const mostSources = 20

// Refills returns what joined before each compaction of a replay whose views the ledger has observed, in their order.
func Refills(conv *session.Conversation, tl *replay.Timeline, l *Ledger) ([]Refill, error) {
	list := []Refill{}
	main := mainRequests(tl)
	sizes := bases(conv, main)
	var last *replay.Event
	for i := range tl.Events {
		ev := &tl.Events[i]
		if ev.Kind != policy.KindSummarize {
			continue
		}
		from := 1
		after := 0
		if last != nil {
			from = atRequest(last, main)
			after = last.After
		}
		if to := atRequest(ev, main); from < to {
			r := Refill{From: from, To: to, Requests: to - from, After: after, Before: ev.Before, System: sizes[to-2], Freed: portion(1000, ev.Saved, ev.Before), Reason: ev.Reason}
			if ev.Recorded != nil {
				r.Context = ev.Recorded.PreTokens
			}
			if to <= len(main) && !main[from-1].time.IsZero() && !main[to-1].time.IsZero() {
				r.Seconds = max(main[to-1].time.Sub(main[from-1].time).Seconds(), 0)
			}
			list = append(list, r)
		}
		last = ev
	}
	if len(list) == 0 {
		return list, nil
	}
	t := targets{conv: conv, texts: conv.NewBlockReader(), of: map[string]string{}}
	for i, blocks := range joinedBlocks(list, l) {
		if err := list[i].fill(conv, blocks, &t); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// atRequest is the request before which an event took place, or the one past the last.
func atRequest(ev *replay.Event, main []mainRequest) int {
	if ev == nil || ev.Request == nil {
		return len(main) + 1
	}
	return *ev.Request
}

// joinedBlocks are the blocks of a ledger by the refill they joined in, in their order. The refills are in order and
// share no request.
func joinedBlocks(list []Refill, l *Ledger) [][]*LedgerBlock {
	joined := make([][]*LedgerBlock, len(list))
	for i := range l.Blocks {
		b := &l.Blocks[i]
		n, ok := b.arrived()
		if !ok {
			continue
		}
		k := sort.Search(len(list), func(k int) bool { return list[k].To > n })
		if k < len(list) && list[k].From <= n {
			joined[k] = append(joined[k], b)
		}
	}
	return joined
}

// fill counts what joined.
func (r *Refill) fill(conv *session.Conversation, blocks []*LedgerBlock, t *targets) error {
	type key struct {
		category   category.Name
		of, target string
	}
	parts := map[key]*RefillSource{}
	heaviest := map[key]*RefillSource{}
	add := func(sums map[key]*RefillSource, k key, line, tokens int) {
		s := sums[k]
		if s == nil {
			s = &RefillSource{Category: k.category, Of: k.of, Target: k.target, Line: line}
			sums[k] = s
		}
		s.Times++
		s.Tokens += tokens
	}
	for _, b := range blocks {
		tokens := b.weight
		if len(b.Spans) > 0 {
			tokens = b.Spans[0].Tokens
		}
		if tokens == 0 {
			continue
		}
		target, err := t.find(b)
		if err != nil {
			return err
		}
		r.Joined += tokens
		add(parts, key{b.Category, b.Of, ""}, b.Line, tokens)
		add(heaviest, key{b.Category, b.Of, target}, b.Line, tokens)
	}
	sorted := func(sums map[key]*RefillSource) []RefillSource {
		list := make([]RefillSource, 0, len(sums))
		for _, s := range sums {
			list = append(list, *s)
		}
		slices.SortFunc(list, func(a, b RefillSource) int {
			return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Line, b.Line), strings.Compare(string(a.Category), string(b.Category)),
				strings.Compare(a.Of, b.Of), strings.Compare(a.Target, b.Target))
		})
		return list
	}
	r.Parts, r.Heaviest = sorted(parts), sorted(heaviest)
	r.Heaviest = r.Heaviest[:min(mostSources, len(r.Heaviest))]
	end := len(conv.Messages)
	if r.To <= len(conv.Requests) {
		end = conv.Requests[r.To-1].Message
	}
	for m := conv.Requests[r.From-1].Message; m < end; m++ {
		if msg := &conv.Messages[m]; msg.Class == session.ClassPrompt && !msg.Is(session.Queued) && !msg.RecordOnly {
			r.Prompts++
		}
	}
	return nil
}

// arrived is the main request n that a block joined with: the first that held it, or the last before one joined that
// was gone again before the next request. ok is false for a block that never joined.
func (b *LedgerBlock) arrived() (n int, ok bool) {
	if len(b.Spans) == 0 {
		return b.unsent - 1, b.unsent > 0
	}
	return b.Spans[0].From, true
}

// targets knows what calls were about.
type targets struct {
	conv  *session.Conversation
	texts *session.BlockReader
	of    map[string]string // by id of the call
}

// find is what a block's call was about, or how a prompt begins.
func (t *targets) find(b *LedgerBlock) (string, error) {
	if b.Item < 0 || b.Line == 0 || b.Index >= len(t.conv.Messages[b.Item].Blocks) {
		return "", nil
	}
	raw := &t.conv.Messages[b.Item].Blocks[b.Index]
	switch {
	case raw.Kind == jsonl.KindToolUse || raw.Kind == jsonl.KindToolResult:
		target, known := t.of[raw.ID]
		if m, i, ok := t.conv.ToolUse(raw.ID); !known && ok {
			in, err := readInput(t.conv, t.texts, m, i)
			if err != nil {
				return "", err
			}
			target = in.target(t.conv.CWD)
			t.of[raw.ID] = target
		}
		return target, nil
	case b.Category == category.Prompts && raw.Kind == jsonl.KindText:
		text, err := t.texts.Text(int(b.Item), b.Index)
		return shortened(string(text)), err
	}
	return "", nil
}
