package replay_test

import (
	"strings"
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
	must.Rows(t, `
# name | version | causes of the misses | what is done after a prompt and a call
a tool loop | 2.1.29 | ["first_request", "", ""]
	answer 21000: read t1
	result t1 400
	answer 23000: text 40
a skill begins and ends | 2.1.29 | ["first_request", "", "skill", "skill"]
	answer 21000: use t1 Skill
	result t1 20
	line user {"isMeta": true, "message": {"role": "user", "content": "Base directory for this skill: /s"}}
	answer 23000: text 40
	user 40
	answer 24000: text 40
a prompt is queued while a skill runs | 2.1.29 | ["first_request", "", "skill", ""]
	answer 21000: use t1 Skill
	result t1 20
	line user {"isMeta": true, "message": {"role": "user", "content": "Base directory for this skill: /s"}}
	answer 22000: read t2
	result t2 400
	line attachment {"attachment": {"type": "queued_command", "prompt": "and the tests", "commandMode": "prompt"}}
	answer 23000: text 40
a skill of a later client | 2.1.50 | ["first_request", "", ""]
	answer 21000: use t1 Skill
	result t1 20
	line user {"isMeta": true, "message": {"role": "user", "content": "Base directory for this skill: /s"}}
	answer 23000: text 40
a loaded tool | 2.1.119 | ["first_request", "", "tools_changed"]
	answer 21000: use t1 ToolSearch
	line user {"message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "tool_reference", "tool_name": "WebFetch"}]}]}}
	answer 23000: text 40
the first image | 2.1.215 | ["first_request", "", "image_added", ""]
	answer 21000: text 40
	line user {"message": {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "AAAA"}}, {"type": "text", "text": "what is this"}]}}
	answer 23000: text 40
	line user {"message": {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "AAAA"}}, {"type": "text", "text": "what is this"}]}}
	answer 24000: text 40
an image of an earlier client | 2.1.50 | ["first_request", "", ""]
	answer 21000: text 40
	line user {"message": {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "AAAA"}}, {"type": "text", "text": "what is this"}]}}
	answer 23000: text 40
another effort | 2.1.158 | ["first_request", "", "effort", "", "effort"]
	answer 21000: text 40
	says <local-command-stdout>Set effort level to low: Quick, straightforward</local-command-stdout>
	user 40
	answer 23000: text 40
	says <local-command-stdout>Set effort level to max (this session only): Maximum</local-command-stdout>
	says <local-command-stdout>Set effort level to low: Quick, straightforward</local-command-stdout>
	user 40
	answer 24000: text 40
	says <local-command-stdout>Effort level set to auto</local-command-stdout>
	user 40
	answer 25000: text 40
an effort shown or typed | 2.1.158 | ["first_request", "", ""]
	answer 21000: text 40
	says <local-command-stdout>Current effort level: high</local-command-stdout>
	says Set effort level to low
	answer 23000: text 40
another model | 2.1.50 | ["first_request", "", "model_switch"]
	answer 21000: read t1
	result t1 400
	model claude-haiku-4-5
	answer 23000: text 40
another client | 2.1.50 | ["first_request", "", "restart"]
	answer 21000: read t1
	result t1 400
	version 2.1.51
	answer 23000: text 40
the client started again | 2.1.50 | ["first_request", "restart"]
	restarted
	user 40
	answer 23000: text 40
a pause | 2.1.50 | ["first_request", "", "ttl"]
	answer 21000: text 40
	line user {"timestamp": "2026-02-01T10:05:09.000Z", "message": {"role": "user", "content": "still there?"}}
	answer 23000: text 40
`, func(name, version string, want []cache.BreakCause, steps []string) {
		s := newScript()
		s.version = version
		s.tell("user 40; answer 20000: read t0; result t0 400")
		tl := replayed(t, s.tell(strings.Join(steps, "\n")).load(t), plain(), replay.Options{})
		must.Equal(t, misses(tl), want, name)
		for i, want := range want {
			// What it cost is in the part of its cause, and in no other.
			p := mains(tl)[i].CostParts
			changed := want != "" && want != cache.First && want != cache.Restart && want != cache.Expired
			must.Equal(t, [...]bool{p.Changes.Nano > 0, p.Restarts.Nano > 0, p.Lifetime.Nano > 0}, [...]bool{changed, want == cache.Restart, want == cache.Expired}, name, p)
		}
	})
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
