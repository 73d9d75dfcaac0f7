package replay_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
)

func use(id, name string) map[string]any {
	return map[string]any{"type": "tool_use", "id": id, "name": name, "input": map[string]any{"file_path": "12345.go"}}
}

// plain is a policy that edits nothing.
func plain() *policy.Policy {
	return &policy.Policy{Name: "plain", Window: policy.DefaultWindow(), Cache: policy.DefaultCaching()}
}

// misses are the causes of each main request's misses, "" where there is none.
func misses(tl *replay.Timeline) []cache.BreakCause {
	var list []cache.BreakCause
	for _, r := range mains(tl) {
		kind := cache.None
		if r.Cache.Miss != nil {
			kind = r.Cache.Miss.Kind
		}
		list = append(list, kind)
	}
	return list
}

// TestCausesByTheClient: what the client itself does costs the messages' cache under every policy, and is named.
func TestCausesByTheClient(t *testing.T) {
	skill := func(s *script) {
		s.answer(context(21000), use("t1", "Skill"))
		s.result("t1", 20)
		s.line("user", map[string]any{"isMeta": true, "message": map[string]any{"role": "user", "content": "Base directory for this skill: /s"}})
	}
	effort := func(s *script, output string) {
		s.line("user", map[string]any{"message": map[string]any{"role": "user", "content": "<local-command-stdout>" + output + "</local-command-stdout>"}})
	}
	image := func(s *script) {
		s.line("user", map[string]any{"message": map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "image", "source": map[string]any{"type": "base64", "data": "AAAA"}}, map[string]any{"type": "text", "text": "what is this"},
		}}})
	}
	for _, tt := range []struct {
		name    string
		version string
		between func(s *script) // the second request
		then    func(s *script)
		want    []cache.BreakCause
	}{
		{"a tool loop", "2.1.29", func(s *script) { s.answer(context(21000), read("t1")); s.result("t1", 400) }, nil, []cache.BreakCause{cache.First, "", ""}},
		{"a skill begins and ends", "2.1.29", skill, func(s *script) { s.user(40); s.answer(context(24000), text(40)) }, []cache.BreakCause{cache.First, "", cache.SkillRan, cache.SkillRan}},
		{"a prompt is queued while a skill runs", "2.1.29", func(s *script) {
			skill(s)
			s.answer(context(22000), read("t2"))
			s.result("t2", 400)
			s.line("attachment", map[string]any{"attachment": map[string]any{"type": "queued_command", "prompt": "and the tests", "commandMode": "prompt"}})
		}, nil, []cache.BreakCause{cache.First, "", cache.SkillRan, ""}},
		{"a skill of a later client", "2.1.50", skill, nil, []cache.BreakCause{cache.First, "", ""}},
		{"a loaded tool", "2.1.119", func(s *script) {
			s.answer(context(21000), use("t1", "ToolSearch"))
			s.line("user", map[string]any{"message": map[string]any{"role": "user", "content": []any{map[string]any{
				"type": "tool_result", "tool_use_id": "t1", "content": []any{map[string]any{"type": "tool_reference", "tool_name": "WebFetch"}},
			}}}})
		}, nil, []cache.BreakCause{cache.First, "", cache.ToolsChanged}},
		{"the first image", "2.1.215", func(s *script) { s.answer(context(21000), text(40)); image(s) },
			func(s *script) { image(s); s.answer(context(24000), text(40)) }, []cache.BreakCause{cache.First, "", cache.ImageAdded, ""}},
		{"an image of an earlier client", "2.1.50", func(s *script) { s.answer(context(21000), text(40)); image(s) }, nil, []cache.BreakCause{cache.First, "", ""}},
		{"another effort", "2.1.158", func(s *script) {
			s.answer(context(21000), text(40))
			effort(s, "Set effort level to low: Quick, straightforward")
			s.user(40)
		}, func(s *script) {
			effort(s, "Set effort level to max (this session only): Maximum")
			effort(s, "Set effort level to low: Quick, straightforward")
			s.user(40)
			s.answer(context(24000), text(40))
			effort(s, "Effort level set to auto")
			s.user(40)
			s.answer(context(25000), text(40))
		}, []cache.BreakCause{cache.First, "", cache.EffortSet, "", cache.EffortSet}},
		{"an effort shown or typed", "2.1.158", func(s *script) {
			s.answer(context(21000), text(40))
			effort(s, "Current effort level: high")
			s.line("user", map[string]any{"message": map[string]any{"role": "user", "content": "Set effort level to low"}})
		}, nil, []cache.BreakCause{cache.First, "", ""}},
		{"another model", "2.1.50", func(s *script) {
			s.answer(context(21000), read("t1"))
			s.result("t1", 400)
			s.model = "claude-haiku-4-5"
		}, nil, []cache.BreakCause{cache.First, "", cache.ModelSwitch}},
		{"another client", "2.1.50", func(s *script) {
			s.answer(context(21000), read("t1"))
			s.result("t1", 400)
			s.version = "2.1.51"
		}, nil, []cache.BreakCause{cache.First, "", cache.Restart}},
		{"the client started again", "2.1.50", func(s *script) {
			s.line("assistant", map[string]any{"message": map[string]any{
				"role": "assistant", "model": "<synthetic>", "content": []any{map[string]any{"type": "text", "text": "No response requested."}},
			}})
			s.user(40)
		}, nil, []cache.BreakCause{cache.First, cache.Restart}},
		{"a pause", "2.1.50", func(s *script) {
			s.answer(context(21000), text(40))
			s.line("user", map[string]any{"timestamp": "2026-02-01T10:05:09.000Z", "message": map[string]any{"role": "user", "content": "still there?"}})
		}, nil, []cache.BreakCause{cache.First, "", cache.Expired}},
	} {
		s := newScript()
		s.version = tt.version
		s.user(40)
		s.answer(context(20000), read("t0"))
		s.result("t0", 400)
		tt.between(s)
		s.answer(context(23000), text(40))
		if tt.then != nil {
			tt.then(s)
		}
		tl := replayed(t, s.load(t), plain(), replay.Options{})
		got := misses(tl)
		if len(got) != len(tt.want) {
			t.Fatalf("%s: %d requests, want %d", tt.name, len(got), len(tt.want))
		}
		for i, want := range tt.want {
			must.Equal(t, got[i], want, tt.name)
			// What it cost is in the part of its cause, and in no other.
			p := mains(tl)[i].CostParts
			changed := want != "" && want != cache.First && want != cache.Restart && want != cache.Expired
			must.Equal(t, [...]bool{p.Changes.Nano > 0, p.Restarts.Nano > 0, p.Lifetime.Nano > 0}, [...]bool{changed, want == cache.Restart, want == cache.Expired}, tt.name, p)
		}
	}
}

// TestEditsAndTheCache: what clears breaks the prefix where it clears; a cache_edit keeps it, and what it took off is
// not read any more.
func TestEditsAndTheCache(t *testing.T) {
	run := func(kind policy.EditKind) []replay.Request {
		s := loop(20000, 21200, 22400, 23600, 24800)
		return mains(replayed(t, s.load(t), acting(policy.Prepare, func(c *policy.Context) []policy.Edit {
			if c.Request != 4 {
				return nil
			}
			list := clearing(c, 40)
			for i := range list {
				if list[i].Kind = kind; kind == policy.KindCacheEdit {
					list[i].Carrier, _ = c.View.Last()
				}
			}
			return list
		}), replay.Options{}))
	}
	clear, cached := run(policy.KindClear), run(policy.KindCacheEdit)
	if m := clear[3].Cache.Miss; m == nil || m.Kind != cache.Edited || clear[3].Cache.Read >= clear[2].Payload/10*9 {
		t.Errorf("clearing: %+v", clear[3].Cache)
	}
	off := cached[3].Tokens - cached[3].Payload
	if m := cached[3].Cache.Miss; m != nil || off <= 0 || cached[3].Cache.Read != cached[2].Payload-cached[2].Cache.Uncached-off {
		t.Errorf("cache_edit: %+v, %d taken off, the request before sent %d", cached[3].Cache, off, cached[2].Payload)
	}
	for _, rows := range [][]replay.Request{clear, cached} {
		if last := rows[4]; last.Cache.Miss != nil || last.Cache.Read != rows[3].Payload-rows[3].Cache.Uncached {
			t.Errorf("the request after reads %+v of %d", last.Cache, rows[3].Payload)
		}
	}
}

// TestCompactionCall: one that begins as the session does reads the warm cache; one with a prompt of its own reads
// nothing.
func TestCompactionCall(t *testing.T) {
	must.Rows(t, `
own     | false
session | true
`, func(prefix string, reads bool) {
		s := loop(20000, 21200, 22400)
		tl := replayed(t, s.load(t), acting(policy.Prepare, func(c *policy.Context) []policy.Edit {
			if c.Request != 3 {
				return nil
			}
			return []policy.Edit{{
				Kind: policy.KindSummarize, Reason: "told to", Call: &policy.Call{Kind: "compaction", Prefix: prefix, Prompt: 800, Output: 3000},
				Insert: []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 2000}}}},
			}}
		}), replay.Options{})
		before, call, after := tl.Requests[1], tl.Requests[2], tl.Requests[3]
		if call.Kind != "compaction" || (call.Cache.Read == before.Payload) != reads || !reads && call.Cache.Uncached != call.Payload {
			t.Errorf("%s: the call is %+v, the request before sent %d", prefix, call.Cache, before.Payload)
		}
		if !call.CostUSD.Known || call.CostUSD.Nano <= 0 {
			t.Errorf("%s: it costs %s", prefix, call.CostUSD)
		}
		if m := after.Cache.Miss; m == nil || m.Kind != cache.Compacted || after.Cache.Read == 0 && reads {
			t.Errorf("%s: the request after it is %+v", prefix, after.Cache)
		}
	})
}

// TestCachePolicies: breakpoints, lifetime, prefix and warmth are the policy's.
func TestCachePolicies(t *testing.T) {
	conv := loop(20000, 21200, 22400).load(t)
	must.Rows(t, `
# set | reads | long
{"breakpoints": "last_two", "ttl": "5m", "warm": "never"} | [0, 20000] | false
{"breakpoints": "last_two", "ttl": "1h", "warm": "auto", "system": 9000} | [0, 20000] | true
{"breakpoints": "last_two", "ttl": "5m", "warm": "always", "system": 9000} | [9000, 20000] | false
{"breakpoints": "last_two_if_anthropic", "ttl": "5m", "warm": "never"} | [0, 20000] | false
{"breakpoints": "automatic", "ttl": "5m", "warm": "always"} | [17000, 20000] | false
{"breakpoints": "none", "ttl": "5m", "warm": "never"} | [0, 0] | false
`, func(set policy.Caching, reads [2]int, long bool) {
		p := plain()
		p.Cache = set
		rows := mains(replayed(t, conv, p, replay.Options{}))
		for i, want := range reads {
			must.Equal(t, rows[i].Cache.Read, want, set)
		}
		if c := rows[2].Cache; (c.Write1h > 0) != long || set.Breakpoints == policy.BreakpointsNone && c.Uncached != rows[2].Payload {
			t.Errorf("%+v: request 3 is %+v", set, c)
		}
	})
}

// TestUnknownModel: its requests are counted in tokens, and it is said.
func TestUnknownModel(t *testing.T) {
	s := loop(20000, 21200)
	s.lines[len(s.lines)-1]["message"].(map[string]any)["model"] = "acme-1"
	tl := replayed(t, s.load(t), plain(), replay.Options{})
	if tl.Requests[1].CostUSD.Known || !tl.Requests[0].CostUSD.Known || tl.Totals.Unpriced != 1 || tl.Totals.CostUSD != tl.Requests[0].CostUSD {
		t.Errorf("costs %s and %s, %s in all, %d without", tl.Requests[0].CostUSD, tl.Requests[1].CostUSD, tl.Totals.CostUSD, tl.Totals.Unpriced)
	}
	told := false
	for _, w := range tl.Warnings {
		told = told || w.Message == `no price is known for "acme-1": those requests are counted in tokens only`
	}
	if !told {
		t.Errorf("warnings %v", tl.Warnings)
	}
}
