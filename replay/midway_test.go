package replay_test

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// midway is a tool loop whose first line has a parent that is not in the file, and whose first request read so many
// tokens of its context from the cache.
func midway(read int, contexts ...int) *script {
	s := loop(contexts...)
	s.version = "2.1.39"
	s.lines[0]["parentUuid"] = "before"
	usage := s.lines[1]["message"].(map[string]any)["usage"].(map[string]any)
	usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"] = read, contexts[0]-10-read
	return s
}

// TestMidwayCache: the cache of a file that begins mid-conversation starts with what its first request read, under every
// policy, whatever counts the tokens.
func TestMidwayCache(t *testing.T) {
	for _, read := range []int{0, 25000, 90000, 119950} {
		conv := midway(read, 120000, 121500, 123000).load(t)
		for _, name := range []string{"recorded", "claude-code-2.1.37", "opencode", "gemini-cli", "anthropic-context-editing"} {
			for _, opt := range []replay.Options{{}, {Cache: replay.CacheEqual}, {Cache: replay.CacheNone}, {Counter: "o200k_base"}, {Model: "claude-opus-4-7"}} {
				tl := replayed(t, conv, named(t, name), opt)
				first := mains(tl)[0]
				want := read
				if opt.Cache == replay.CacheNone {
					want = 0
				} else if opt.Counter != "" || opt.Model != "" {
					want = read * first.Payload / 120000
				}
				if got := first.Cache.Read; got < want-1 || got > want {
					t.Errorf("read %d, %s %+v: request 1 reads %d of %d, want %d", read, name, opt, got, first.Payload, want)
				}
				if h := tl.Earlier; h == nil || h.Cached == nil || (*h.Cached > read) != (opt.Model != "" && read > 0) || h.Tokens < 90000 {
					t.Errorf("%s: earlier history %+v", name, h)
				}
			}
		}
		rows := mains(replayed(t, conv, named(t, "recorded"), replay.Options{}))
		if got := rows[1].Cache.Read; got < 119900 || rows[1].Cache.Miss != nil {
			t.Errorf("read %d: request 2 reads %d, %v", read, got, rows[1].Cache.Miss)
		}
		if miss := rows[0].Cache.Miss; (miss == nil) != (read > 0) {
			t.Errorf("read %d: the cause at request 1 is %v", read, miss)
		}
	}
	whole := replayed(t, loop(120000, 121500).load(t), named(t, "recorded"), replay.Options{})
	if rows := mains(whole); whole.Earlier != nil || rows[0].Cache.Miss == nil {
		t.Errorf("a file that begins with its conversation: %+v, %+v", whole.Earlier, rows[0].Cache)
	}
}

// TestMidwayFirstRequest: no limit of the whole prompt is compared at the first request of a file that begins
// mid-conversation: what the client counted then is not known, and the request was made. From the second on it is.
func TestMidwayFirstRequest(t *testing.T) {
	all := must.Get(loaded())(t)
	at := func(tl *replay.Timeline) (list []int) {
		for _, e := range tl.Events {
			if e.Stage != "recorded" && e.Stage != "server" && e.Request != nil {
				list = append(list, *e.Request)
			}
		}
		return list
	}
	conv := midway(179000, 180000, 181500, 183000).load(t)
	begun := loop(180000, 181500, 183000).load(t)
	compared := 0
	for name, pol := range all {
		tl := replayed(t, conv, pol, replay.Options{})
		for _, e := range tl.Events {
			counts := slices.ContainsFunc(tl.Limits, func(l policy.Limit) bool {
				return l.Stage == e.Stage && l.Acts && slices.Contains([]policy.Quantity{policy.OfContext, policy.OfRequest, policy.OfMessages}, l.Of)
			})
			if e.Request == nil || !counts && e.Stage != "client" && e.Stage != "api" {
				continue
			}
			if compared++; *e.Request == 1 {
				t.Errorf("%s, %s: acts at request 1: %s", name, e.Stage, e.Reason)
			}
		}
	}
	if compared < 20 {
		t.Errorf("%d events: the session is too small", compared)
	}
	for _, c := range []struct {
		conv *session.Conversation
		want int
	}{{conv, 2}, {begun, 1}} {
		events := at(replayed(t, c.conv, named(t, "claude-code-2.1.37"), replay.Options{}))
		if len(events) == 0 || events[0] != c.want {
			t.Errorf("the first compaction is at %v, want %d", events, c.want)
		}
		rec := must.Get(replay.NewRecord(c.conv))(t)
		decisions, err := rec.Decide(named(t, "claude-code-2.1.37"), replay.Options{})
		if err != nil || decisions[0].Compact != (c.want == 1) || !decisions[1].Compact {
			t.Errorf("decisions %+v, %v", decisions[:2], err)
		}
	}
	// What is not counted over the whole prompt is done as elsewhere.
	told := acting(policy.Prepare, func(c *policy.Context) []policy.Edit {
		if c.Request > 1 {
			return nil
		}
		return []policy.Edit{{Kind: policy.KindTag, Target: policy.Target{Item: 1, Block: 0}, New: &policy.Content{Kind: jsonl.KindText, Text: "x", Length: jsonl.Measure("x")}, Reason: "told to"}}
	})
	must.Equal(t, at(replayed(t, conv, told, replay.Options{})), []int{1})
}
