package replay_test

import (
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
)

// asked is a request of a recorded session: so long after the one before, with what it read and wrote.
type asked struct {
	after       time.Duration
	read, write int
	compacted   bool   // a compaction is recorded before it
	version     string // of the client; "": as before
	restarted   bool   // the client was started again before it
	short       bool   // what it wrote lives for five minutes, although the session's lives for an hour
}

// recordedReads is what the recorded track reads at each request.
func recordedReads(t *testing.T, hour bool, list ...asked) (reads []int) {
	t.Helper()
	s := newScript()
	now := time.Date(2026, 2, 1, 10, 0, 0, 0, time.UTC)
	stamp := func(l map[string]any) { l["timestamp"] = now.Format("2006-01-02T15:04:05.000Z") }
	for _, a := range list {
		now = now.Add(a.after)
		if a.version != "" {
			s.version = a.version
		}
		from := len(s.lines)
		if a.compacted {
			s.boundary("manual", 50000, 4000)
		}
		if a.restarted {
			s.line("assistant", map[string]any{"message": map[string]any{
				"role": "assistant", "model": "<synthetic>", "content": []any{map[string]any{"type": "text", "text": "No response requested."}},
			}})
		}
		s.user(400)
		s.answer(jsonl.Usage{Input: 10, CacheRead: a.read, CacheWrite: a.write, Output: 50}, text(40))
		for _, l := range s.lines[from:] {
			stamp(l)
		}
		life := "ephemeral_5m_input_tokens"
		if hour && !a.short {
			life = "ephemeral_1h_input_tokens"
		}
		usage := s.lines[len(s.lines)-1]["message"].(map[string]any)["usage"].(map[string]any)
		usage["cache_creation"] = map[string]any{life: a.write}
	}
	tl := replayed(t, s.load(t), named(t, "recorded"), replay.Options{})
	for _, row := range mains(tl) {
		reads = append(reads, row.Cache.Read)
	}
	return reads
}

// TestHeads: what is read where the messages are not in the cache is what the requests before have shown, and of the
// first request what it shows itself.
func TestHeads(t *testing.T) {
	const long, short = 2 * time.Hour, time.Minute
	for _, tt := range []struct {
		name string
		hour bool
		list []asked
		want []int // by request: what is read; -1: whatever
	}{
		{"the first request shows what is kept", true, []asked{{read: 12000, write: 8000}, {after: long, read: 12000, write: 8200}}, []int{12000, 12000}},
		{"in five minutes nobody keeps it", false, []asked{{read: 12000, write: 8000}, {after: long, write: 20200}}, []int{12000, 0}},
		{"nobody had kept it", true, []asked{{write: 20000}, {after: long, write: 20200}}, []int{0, 0}},
		{
			"somebody does now", true,
			[]asked{{write: 20000}, {after: long, read: 9000, write: 11200}, {after: long, read: 9000, write: 11400}}, []int{0, 0, 9000},
		},
		{
			"nobody does any longer", true,
			[]asked{{read: 12000, write: 8000}, {after: long, write: 20200}, {after: long, write: 20400}}, []int{12000, 12000, 0},
		},
		{
			"a compaction shows all of it", true,
			[]asked{
				{read: 12000, write: 18000}, {after: short, read: 30000, write: 20000}, {after: short, read: 14000, write: 9000, compacted: true},
				{after: short, read: 23000, write: 20000}, {after: short, read: 14000, write: 9000, compacted: true}, {after: long, read: 12000, write: 12000},
			},
			[]int{12000, 30010, 12000, -1, 14000, 12000},
		},
		{"another version's", true, []asked{{read: 12000, write: 8000}, {after: short, read: 20000, write: 500}, {after: short, write: 21000, version: "2.1.51"}}, []int{12000, 20010, 12000}},
		{"as usual", true, []asked{{write: 20000}, {after: short, read: 20000, write: 20000}, {after: short, read: 14000, write: 9000, compacted: true}}, []int{0, 20010, 17000}},
		{
			"a restart of a client with another system prompt each time", false,
			[]asked{{write: 20000, version: "2.1.260"}, {after: short, read: 20000, write: 500}, {after: short, write: 20900, restarted: true}},
			[]int{0, 20010, 0},
		},
		{
			"and of one with the same", false,
			[]asked{{write: 20000, version: "2.1.280"}, {after: short, read: 20000, write: 500}, {after: short, write: 20900, restarted: true}},
			[]int{0, 20010, 20500},
		},
	} {
		got := recordedReads(t, tt.hour, tt.list...)
		for i, want := range tt.want {
			if want == -1 && i < len(got) {
				got[i] = -1
			}
		}
		must.Equal(t, got, tt.want, tt.name)
	}
}

// TestLifetimeByRequest: what a request wrote lives as long as that request asked for, whatever most of the session did. What
// was written for an hour before is still read.
func TestLifetimeByRequest(t *testing.T) {
	const pause = 20 * time.Minute
	list := []asked{
		{read: 15000, write: 3000}, {after: pause, read: 18000, write: 500},
		{after: time.Minute, read: 18500, write: 500, short: true}, {after: time.Minute, read: 19000, write: 500, short: true},
		{after: pause, read: 15000, write: 4800, short: true},
	}
	if got := recordedReads(t, true, list...); got[1] < 18000 || got[4] > 18500 {
		t.Errorf("reads %v", got)
	}
}
