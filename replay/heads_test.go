package replay_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
)

// asked is a request of a recorded session: how many minutes after the one before, with what it read and wrote.
type asked struct {
	After       int
	Read, Write int
	Compacted   bool   // a compaction is recorded before it
	Version     string // of the client; "": as before
	Restarted   bool   // the client was started again before it
	Short       bool   // what it wrote lives for five minutes, although the session's lives for an hour
}

// recordedReads is what the recorded track reads at each request.
func recordedReads(t *testing.T, hour bool, list ...asked) (reads []int) {
	t.Helper()
	s := newScript()
	now := time.Date(2026, 2, 1, 10, 0, 0, 0, time.UTC)
	for _, a := range list {
		now = now.Add(time.Duration(a.After) * time.Minute)
		s.version = cmp.Or(a.Version, s.version)
		from := len(s.lines)
		if a.Compacted {
			s.boundary("manual", 50000, 4000)
		}
		if a.Restarted {
			s.tell("restarted")
		}
		s.user(400)
		s.answer(jsonl.Usage{Input: 10, CacheRead: a.Read, CacheWrite: a.Write, Output: 50}, text(40))
		for _, l := range s.lines[from:] {
			l["timestamp"] = now.Format("2006-01-02T15:04:05.000Z")
		}
		life := "ephemeral_5m_input_tokens"
		if hour && !a.Short {
			life = "ephemeral_1h_input_tokens"
		}
		usage := s.lines[len(s.lines)-1]["message"].(map[string]any)["usage"].(map[string]any)
		usage["cache_creation"] = map[string]any{life: a.Write}
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
	must.Rows(t, `
# name | the prefix lives for an hour, and a step a request: what the simulation reads (-1: whatever) of it
the first request shows what is kept | true
	12000 {"read": 12000, "write": 8000}
	12000 {"after": 120, "read": 12000, "write": 8200}
in five minutes nobody keeps it | false
	12000 {"read": 12000, "write": 8000}
	0 {"after": 120, "write": 20200}
nobody had kept it | true
	0 {"write": 20000}
	0 {"after": 120, "write": 20200}
somebody does now | true
	0 {"write": 20000}
	0 {"after": 120, "read": 9000, "write": 11200}
	9000 {"after": 120, "read": 9000, "write": 11400}
nobody does any longer | true
	12000 {"read": 12000, "write": 8000}
	12000 {"after": 120, "write": 20200}
	0 {"after": 120, "write": 20400}
a compaction shows all of it | true
	12000 {"read": 12000, "write": 18000}
	30010 {"after": 1, "read": 30000, "write": 20000}
	12000 {"after": 1, "read": 14000, "write": 9000, "compacted": true}
	-1 {"after": 1, "read": 23000, "write": 20000}
	14000 {"after": 1, "read": 14000, "write": 9000, "compacted": true}
	12000 {"after": 120, "read": 12000, "write": 12000}
another version's | true
	12000 {"read": 12000, "write": 8000}
	20010 {"after": 1, "read": 20000, "write": 500}
	12000 {"after": 1, "write": 21000, "version": "2.1.51"}
as usual | true
	0 {"write": 20000}
	20010 {"after": 1, "read": 20000, "write": 20000}
	17000 {"after": 1, "read": 14000, "write": 9000, "compacted": true}
a restart of a client with another system prompt each time | false
	0 {"write": 20000, "version": "2.1.260"}
	20010 {"after": 1, "read": 20000, "write": 500}
	0 {"after": 1, "write": 20900, "restarted": true}
and of one with the same | false
	0 {"write": 20000, "version": "2.1.280"}
	20010 {"after": 1, "read": 20000, "write": 500}
	20500 {"after": 1, "write": 20900, "restarted": true}
`, func(name string, hour bool, steps []string) {
		want, list := make([]int, len(steps)), make([]asked, len(steps))
		for i, step := range steps {
			read, text, _ := strings.Cut(step, " ")
			must.JSON(t, read, &want[i])
			must.JSON(t, text, &list[i])
		}
		got := recordedReads(t, hour, list...)
		for i := range got {
			if want[i] == -1 {
				got[i] = -1
			}
		}
		must.Equal(t, got, want, name)
	})
}

// TestLifetimeByRequest: what a request wrote lives as long as that request asked for, whatever most of the session did. What
// was written for an hour before is still read.
func TestLifetimeByRequest(t *testing.T) {
	var list []asked
	must.JSON(t, `[{"read": 15000, "write": 3000}, {"after": 20, "read": 18000, "write": 500}, {"after": 1, "read": 18500, "write": 500, "short": true},
		{"after": 1, "read": 19000, "write": 500, "short": true}, {"after": 20, "read": 15000, "write": 4800, "short": true}]`, &list)
	if got := recordedReads(t, true, list...); got[1] < 18000 || got[4] > 18500 {
		t.Errorf("reads %v", got)
	}
}
