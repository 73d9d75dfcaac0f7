package synth_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/synth"
)

// The arithmetic of a session, worked out again from its lines: what each request should have cost, and when the
// client should have compacted.

const (
	overhead  = 18800
	perTool   = 2.9
	perProse  = 3.6
	perInput  = 3.0
	msgFrame  = 4
	useFrame  = 24
	tailFrame = 9 // of a result
)

func weigh(s string, per float64) float64 {
	w := 0.0
	for _, r := range s {
		switch utf8.RuneLen(r) {
		case 1:
			w += 1 / per
		case 2:
			w += 0.7
		case 3:
			w += 1.1
		default:
			w += 2.6
		}
	}
	return w
}

// ledger follows a session from line to line.
type ledger struct {
	t         *testing.T
	threshold int
	micro     bool
	siblings  bool // the estimate counts from the first line of a message

	context   float64 // expected input of the next request, without overhead
	known     bool    // false after a compaction, until the next request
	last      *record // line of the last request
	lastID    string
	lastTotal int
	tail      int
	boundary  bool // since the last request
	autos     int
	manuals   int
	micros    int

	names map[string]string // of tool calls
	live  []liveResult
}

type liveResult struct {
	id    string
	est   int
	real  float64
	order int
}

func (l *ledger) walk(rs []record) {
	l.names = map[string]string{}
	l.known = true
	order := map[string]int{}
	for i := range rs {
		r := &rs[i]
		switch {
		case r.Subtype == "compact_boundary" || r.IsCompactSummary && (i == 0 || rs[i-1].Subtype != "compact_boundary"):
			l.compaction(i, r)
		case r.IsCompactSummary:
		case r.Subtype == "microcompact_boundary":
			l.clearing(i, r)
		case r.Message == nil || r.IsSidechain:
		case r.Type == "assistant" && r.Message.Model == "<synthetic>":
			l.said(r.Message.Content.all())
		case r.Type == "assistant":
			if r.Message.ID != l.lastID {
				l.request(i, r)
			}
			b := &r.Message.Content.blocks[0]
			if b.Type == "tool_use" {
				l.names[b.ID] = b.Name
				order[b.ID] = len(order)
			}
			l.context += blockWeight(b)
			if l.siblings && r != l.last {
				l.tail += blockGuess(b)
			}
			l.lastTotal = r.Message.Usage.context() + r.Message.Usage.Output
		default:
			l.user(r, order)
		}
	}
}

func blockWeight(b *block) float64 {
	switch b.Type {
	case "tool_use":
		return weigh(b.Name, perInput) + weigh(string(b.Input), perInput) + useFrame
	case "thinking":
		return weigh(b.Thinking, perProse)
	}
	return weigh(b.Text, perProse)
}

func blockGuess(b *block) int {
	if b.Type == "tool_use" {
		return guess(b.Name + string(b.Input))
	}
	return guess(b.Text + b.Thinking)
}

func (l *ledger) said(s string) {
	l.context += weigh(s, perProse) + msgFrame
	l.tail += guess(s)
}

func (l *ledger) user(r *record, order map[string]int) {
	for _, b := range r.Message.Content.blocks {
		if b.Type != "tool_result" {
			continue
		}
		s := b.Content.all()
		w := weigh(s, perTool) + tailFrame
		l.context += w
		l.tail += guess(s)
		if slices.Contains([]string{"Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"}, l.names[b.ToolUseID]) {
			l.live = append(l.live, liveResult{b.ToolUseID, guess(s), w, order[b.ToolUseID]})
		}
		return
	}
	l.said(r.Message.Content.all())
}

// due is what a microcompaction would clear now.
func (l *ledger) due() (ids []string, total, saved int) {
	if !l.micro || l.lastTotal < l.threshold-20000 {
		return nil, 0, 0
	}
	slices.SortStableFunc(l.live, func(a, b liveResult) int { return a.order - b.order })
	for _, r := range l.live {
		total += r.est
	}
	for i, r := range l.live {
		if i < len(l.live)-3 && total-saved > 40000 {
			ids = append(ids, r.id)
			saved += r.est
		}
	}
	if saved < 20000 {
		return nil, 0, 0
	}
	return ids, total, saved
}

func (l *ledger) clearing(i int, r *record) {
	l.micros++
	l.boundary = true
	m := r.MicrocompactMetadata
	ids, total, saved := l.due()
	if !slices.Equal(ids, m.CompactedToolIDs) || total != m.PreTokens || saved != m.TokensSaved {
		l.t.Errorf("line %d: clears %d results, %d of %d tokens; want %d results, %d of %d", i+1, len(m.CompactedToolIDs), m.TokensSaved, m.PreTokens, len(ids), saved, total)
	}
	left := l.live[:0]
	for _, res := range l.live {
		if !slices.Contains(ids, res.id) {
			left = append(left, res)
			continue
		}
		stub := "<persisted-output>Tool result saved to: /home/dev/.claude/projects/-home-dev-harbor/" + r.SessionID + "/tool-results/" + res.id + ".txt\n\nUse Read to view</persisted-output>"
		if res.est > 0 {
			l.context += weigh(stub, perTool) + tailFrame - res.real
		}
	}
	l.live = left
	if _, _, again := l.due(); again > 0 {
		l.t.Errorf("line %d: still %d tokens to clear", i+1, again)
	}
}

func (l *ledger) compaction(i int, r *record) {
	used := l.lastTotal + l.tail
	if m := r.CompactMetadata; m == nil {
		if used < l.threshold { // a /compact of a client without boundaries
			l.manuals++
		} else {
			l.autos++
		}
	} else {
		if m.PreTokens != used {
			l.t.Errorf("line %d: preTokens %d, want %d", i+1, m.PreTokens, used)
		}
		if m.Trigger == "auto" {
			l.autos++
			if used < l.threshold {
				l.t.Errorf("line %d: compacts by itself at %d, below %d", i+1, used, l.threshold)
			}
		} else {
			l.manuals++
		}
	}
	l.live, l.known, l.boundary = nil, false, true
	l.lastTotal, l.tail = 0, 0
}

func (l *ledger) request(i int, r *record) {
	u := r.Message.Usage
	if used := l.lastTotal + l.tail; used >= l.threshold {
		l.t.Errorf("line %d: a request at %d used tokens, threshold %d", i+1, used, l.threshold)
	}
	if ids, _, _ := l.due(); ids != nil {
		l.t.Errorf("line %d: a request with %d results to clear", i+1, len(ids))
	}
	if want := overhead + l.context; l.known && math.Abs(float64(u.context())-want) > 4+want/400 {
		l.t.Errorf("line %d: input %d, worked out %.0f", i+1, u.context(), want)
	}
	if !l.known && u.context() >= l.threshold {
		l.t.Errorf("line %d: input %d right after a compaction", i+1, u.context())
	}
	l.cache(i, r)
	l.context, l.known = float64(u.context()-overhead)+msgFrame, true
	l.last, l.lastID, l.boundary, l.tail = r, r.Message.ID, false, 0
}

// cache: what was sent before is read, as long as it is warm.
func (l *ledger) cache(i int, r *record) {
	if l.last == nil || l.boundary {
		return
	}
	before, now := l.last.Message.Usage, r.Message.Usage
	ttl := 5 * time.Minute
	if d := now.CacheDetail; d != nil && d.Long > 0 {
		ttl = time.Hour
	}
	switch gap := r.Timestamp.Sub(l.last.Timestamp); {
	case gap > ttl+10*time.Second && now.Read != 0:
		l.t.Errorf("line %d: reads %d from a cache that is %v old", i+1, now.Read, gap)
	case gap < ttl-10*time.Second && abs(now.Read-before.Read-before.Write) > 1:
		l.t.Errorf("line %d: reads %d, before it was %d read and %d written", i+1, now.Read, before.Read, before.Write)
	}
}

func abs(n int) int { return max(n, -n) }

func TestArithmetic(t *testing.T) {
	t.Parallel()
	must.Rows(t, `
# version | threshold | micro | siblings
1.0.53 | 155000 | false | false
2.0.76 | 155000 | false | false
2.1.12 | 155000 | true  | false
2.1.19 | 155000 | true  | false
2.1.20 | 155000 | true  | false
2.1.22 | 167000 | true  | false
2.1.29 | 167000 | false | false
2.1.50 | 167000 | false | false
`, func(version string, threshold int, micro, siblings bool) {
		autos, micros := 0, 0
		tried := func() bool { return autos > 0 && (micros > 0 || !micro) }
		for seed := uint64(1); seed <= 2 && (!tried() || os.Getenv("CTXKIT_LONG") == "1"); seed++ {
			t.Run(fmt.Sprintf("%s/%d", version, seed), func(t *testing.T) {
				o := lively(version, seed)
				o.Rewinds, o.Requests = 0, 260
				data, stats := generate(t, o)
				l := &ledger{t: t, threshold: threshold, micro: micro, siblings: siblings}
				l.walk(parse(t, data))
				autos, micros = autos+l.autos, micros+l.micros
				if l.autos+l.manuals != stats.Compactions || l.micros != stats.Microcompacts {
					t.Errorf("%d compactions and %d microcompactions, Stats %d and %d", l.autos+l.manuals, l.micros, stats.Compactions, stats.Microcompacts)
				}
			})
		}
		if !tried() {
			t.Errorf("%s: %d automatic compactions, %d microcompactions: nothing was tried", version, autos, micros)
		}
	})
}

// TestSiblingEstimate: newer clients count the blocks of the last message again. Their thinking is empty and their
// attachments are rendered on no line, so only the decisions are worked out, in sessions without either.
func TestSiblingEstimate(t *testing.T) {
	for _, v := range []string{"2.1.119", "2.1.139", "2.1.210"} {
		o := lively(v, 5)
		o.Rewinds, o.Requests, o.Thinking, o.Attachments, o.Queued, o.ManualCompacts = 0, 300, 0, 0, 0, 0
		data, _ := generate(t, o)
		l := &ledger{t: t, threshold: 167000, siblings: true}
		// The first request's input holds listings that are on no line: begin as after a compaction.
		rs := []record{{Type: "system", Subtype: "compact_boundary"}}
		for _, r := range parse(t, data) {
			if r.Type != "attachment" {
				rs = append(rs, r)
			}
		}
		for i := 1; i < len(rs); i++ { // a result may stand before its call
			if p := rs[i-1].ParentUUID; p != nil && *p == rs[i].UUID {
				rs[i-1], rs[i] = rs[i], rs[i-1]
			}
		}
		l.walk(rs)
		if l.autos == 0 {
			t.Errorf("%s: no automatic compaction", v)
		}
	}
}

func TestLostResults(t *testing.T) {
	o := synth.Default()
	o.Version, o.Requests, o.ResultChars, o.Lost = "2.1.25", 250, 5000, 1
	data, stats := generate(t, o)
	rs := parse(t, data)
	lines, calls := map[string]bool{}, map[string]bool{}
	for _, r := range rs {
		lines[r.UUID] = true
		if r.Message == nil {
			continue
		}
		for _, b := range r.Message.Content.blocks {
			if b.Type == "tool_use" {
				calls[b.ID] = true
			}
			delete(calls, b.ToolUseID)
		}
	}
	lost := 0
	for i, r := range rs {
		if r.Subtype == "compact_boundary" && !lines[r.LogicalParentUUID] {
			lost++
			if r.CompactMetadata.PreTokens < 167000 {
				t.Errorf("line %d: preTokens %d do not count what was lost", i+1, r.CompactMetadata.PreTokens)
			}
		} else if r.ParentUUID != nil && !lines[*r.ParentUUID] {
			t.Errorf("line %d: parent on no line", i+1)
		}
	}
	if lost == 0 || lost != stats.Compactions || len(calls) != lost {
		t.Errorf("%d compactions, %d of them with a lost result, %d calls without answer", stats.Compactions, lost, len(calls))
	}
}

func TestOffloadedResultsAreBeside(t *testing.T) {
	samples := must.Get(synth.Samples())(t)
	files := map[string]int{}
	for _, s := range samples {
		files[s.Path] = len(s.Data)
	}
	var index struct {
		Entries []struct{ SessionID string }
	}
	for _, s := range samples {
		if s.Path == "subagent/sessions-index.json" {
			must.Do(t, json.Unmarshal(s.Data, &index))
		}
	}
	there := 0
	for _, e := range index.Entries {
		if files["subagent/"+e.SessionID+".jsonl"] > 0 {
			there++
		}
	}
	must.Say(t, "2 1", len(index.Entries), there)
}
