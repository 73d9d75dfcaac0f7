package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// charges are what a conversation was billed, a line each.
func charges(conv *session.Conversation) string {
	var list []string
	for _, q := range conv.Charges {
		s := fmt.Sprintf("%s %s:%d in %d out %d", q.ID, q.Kind, q.Line, q.Usage.Context(), q.Usage.Output)
		if q.Request > 0 {
			s += fmt.Sprintf(" #%d", q.Request)
		}
		if !q.HasUsage {
			s += " unknown"
		}
		if q.Partial {
			s += fmt.Sprintf(" partial of %d", q.Written)
		}
		for _, a := range q.Usage.Others().Attempts {
			s += fmt.Sprintf(" + %s %d", a.Model, a.Spent.Output)
		}
		if q.Calls != 1 {
			s += fmt.Sprintf(" x%d", q.Calls)
		}
		list = append(list, s)
	}
	return strings.Join(list, "\n")
}

func TestCharges(t *testing.T) {
	ended := func(l line, stop any) line {
		l["message"].(line)["stop_reason"] = stop
		return l
	}
	for _, c := range []struct {
		name  string
		lines []any
		want  string
		side  string
	}{
		{
			name:  "a response on two lines, whose output grows",
			lines: transcript(`user u1 - hello; said a1 u1 m1 used=[10,3]; said a2 a1 m1 used=[10,90]`),
			want:  "m1 request:2 in 33 out 90 #1",
		},
		{
			name:  "a branch that was left was paid for",
			lines: transcript(`user u1 - hello; said a1 u1 m1; user u2 a1 "one way"; said a2 u2 m2 used=[70,4]; user u3 a1 another; said a3 u3 m3`),
			want:  "m1 request:2 in 123 out 5 #1\nm2 branch:4 in 93 out 4\nm3 request:6 in 123 out 5 #2",
		},
		{
			name:  "copies under other uuids, whose ids are the same",
			lines: transcript(`user u1 - hello; said a1 u1 m1; user u2 - hello; said a1 u2 m1 uuid=a2; user u3 a2 more; said a3 u3 m3`),
			want:  "m1 request:2 in 123 out 5 #1\nm3 request:6 in 123 out 5 #2",
		},
		{
			name:  "a uuid twice, with more of the usage",
			lines: transcript(`user u1 - hello; said a1 u1 m1; said a1 u1 m1 used=[10,50]`),
			want:  "m1 request:2 in 123 out 50 #1",
		},
		{
			name:  "a uuid twice, of another response",
			lines: transcript(`user u1 - hello; said a1 u1 m1; said a1 u1 m2 used=[10,50]`),
			want:  "m1 request:2 in 123 out 5 #1\nm2 branch:3 in 33 out 50",
		},
		{
			name:  "without a message id, with that of the request",
			lines: transcript(`user u1 - hello; said a1 u1 "" requestId=req_1; user u2 a1 more; said a2 u2 ""`),
			want:  "req_1 request:2 in 123 out 5 #1\n request:4 in 123 out 5 #2",
		},
		{
			name:  "what was not asked for, and what nothing is known of",
			lines: transcript(`user u1 - hello; assistant a1 u1 m1 {"text":"x","type":"text"} isApiErrorMessage=true; said a2 u1 m2 used=[0,0] message={"content":[{"text":"x","type":"text"}],"id":"m2","model":"claude","role":"assistant"}`),
			want:  "m2 request:3 in 0 out 0 #1 unknown",
		},
		{
			name:  "a sidechain has its own",
			lines: transcript(`user u1 - hello; said a1 u1 m1; user u2 - look isSidechain=true agentId=s1; said a2 u2 m2 isSidechain=true agentId=s1; user u3 - again isSidechain=true agentId=s1; said a3 u3 m3 isSidechain=true agentId=s1`),
			want:  "m1 request:2 in 123 out 5 #1",
			side:  "m2 branch:4 in 123 out 5\nm3 request:6 in 123 out 5 #1",
		},
		{
			name:  "the start of an output, where nothing says why it ended",
			lines: []any{user("u1", "", "hello"), ended(assistant("a1", "u1", "m1", text(strings.Repeat("word ", 100))), nil).used(10, 1).with("version", "2.1.286")},
			want:  "m1 request:2 in 33 out 1 #1 partial of 125",
		},
		{
			name:  "an output that a line says the end of",
			lines: []any{user("u1", "", "hello"), ended(assistant("a1", "u1", "m1", text(strings.Repeat("word ", 100))), "end_turn").used(10, 1).with("version", "2.1.286")},
			want:  "m1 request:2 in 33 out 1 #1",
		},
		{
			name:  "an old client, whose count fits what was written",
			lines: []any{user("u1", "", "hello"), ended(assistant("a1", "u1", "m1", text("word word")), nil).used(10, 40).with("version", "2.1.7")},
			want:  "m1 request:2 in 33 out 40 #1",
		},
		{
			name:  "an old client, whose count is too small for what was written",
			lines: []any{user("u1", "", "hello"), ended(assistant("a1", "u1", "m1", text("word word")), nil).used(10, 1).with("version", "2.1.7")},
			want:  "m1 request:2 in 33 out 1 #1 partial of 2",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, l := range c.lines {
				if m := l.(line)["message"].(line); m["role"] == "assistant" && m["stop_reason"] == nil && l.(line)["version"] == "2.1.50" {
					m["stop_reason"] = "end_turn"
				}
			}
			f := loadText(t, file(c.lines...), session.LoadOptions{})
			balanced(t, f)
			same(t, c.want, charges(f.Main), "charges")
			side := ""
			for _, conv := range f.Sidechains {
				side += charges(conv)
			}
			same(t, c.side, side, "of the sidechain")
		})
	}
}

// TestStartOnly: which outputs are known to be of the start of the response alone.
func TestStartOnly(t *testing.T) {
	must.Rows(t, `
# version | out | stop | listed | want
1.0.53  | 300 | null     | false | false
1.0.53  | 3   | null     | false | true
2.1.11  | 300 | null     | false | false
2.1.12  | 300 | null     | false | true
2.1.30  | 300 | null     | false | true
2.1.31  | 300 | null     | false | false
2.1.31  | 30  | null     | false | true
2.1.38  | 300 | null     | false | true
2.1.38  | 300 | null     | true  | false
2.1.38  | 8   | null     | true  | true
2.1.38  | 8   | "end_turn" | true  | false
2.1.286 | 1   | null     | false | true
2.1.286 | 1   | "end_turn" | false | false
""      | 300 | null     | false | false
""      | 3   | null     | false | true
`, func(version string, out int, stop any, listed, want bool) {
		l := assistant("a1", "u1", "m1", text(strings.Repeat("word ", 100))).used(10, out).with("version", version)
		m := l["message"].(line)
		if m["stop_reason"] = stop; listed {
			m["usage"].(line)["iterations"] = []any{}
		}
		conv := load(t, transcript(`user u1 - hello`), l)
		if q := conv.Charges[0]; q.Partial != want || conv.Response(0).Is(session.StartOnly) != want || q.Written != 125 {
			t.Errorf("%+v: %v, of %d", version, q.Partial, q.Written)
		}
	})
}

// TestWritten: roughly how many tokens a response has, by what the file has of it.
func TestWritten(t *testing.T) {
	for _, c := range []struct {
		name  string
		block line
		want  int
	}{
		{"English", text(strings.Repeat("word ", 800)), 1000},
		{"Chinese", text(strings.Repeat("字", 800)), 800},
		{"Russian", text(strings.Repeat("я", 800)), 500},
		{"thinking", line{"type": "thinking", "thinking": strings.Repeat("hm, ", 100), "signature": strings.Repeat("A", 1000)}, 100},
		{"thinking that is not shown", line{"type": "thinking", "thinking": "", "signature": strings.Repeat("A", 1250)}, 300},
		{"an empty thought", line{"type": "thinking", "thinking": "", "signature": strings.Repeat("A", 240)}, 0},
		{"a call", line{"type": "tool_use", "id": "t", "name": "Write", "input": line{"text": strings.Repeat("word ", 600)}}, 1063},
	} {
		conv := load(t, transcript(`user u1 - hello`), assistant("a1", "u1", "m1", c.block).used(10, 1))
		same(t, c.want, conv.Charges[0].Written, c.name)
	}
}

// TestClientTotals: the last line with what the client says the session has cost counts, of this session alone.
func TestClientTotals(t *testing.T) {
	cost := func(session string, usd any, models string) string {
		return fmt.Sprintf(`{"type":"cost-state","sessionId":%q,"totalCostUSD":%v,"modelUsage":%s,"hasUnknownModelCost":true}`+"\n", session, usd, models)
	}
	one := func(out int) string {
		return fmt.Sprintf(`{"claude-opus-5":{"inputTokens":6,"outputTokens":%d,"cacheReadInputTokens":20,"cacheCreationInputTokens":30,"cacheCreationEphemeral1hInputTokens":25,"webSearchRequests":2,"costUSD":0.25},"a":{"outputTokens":1e300}}`, out)
	}
	for _, c := range []struct {
		name  string
		lines []any
		want  string
	}{
		{"none", nil, "none"},
		{"two", []any{cost("s1", 0.1, one(1)), cost("s1", 0.3513, one(7))}, "line 4: 351300000 true; a 0 out; claude-opus-5 7 out 6+20+30 in, 25 1h, 2 searches, 250000000"},
		{"without a session", []any{cost("s1", 9, one(9)), strings.Replace(cost("s1", 0.1, one(1)), `"sessionId":"s1",`, "", 1)}, "line 4: 100000000 true; a 0 out; claude-opus-5 1 out 6+20+30 in, 25 1h, 2 searches, 250000000"},
		{"without a session, before", []any{strings.Replace(cost("s1", 9, one(9)), `"sessionId":"s1",`, "", 1), cost("s1", 0.1, one(1))}, "line 4: 100000000 true; a 0 out; claude-opus-5 1 out 6+20+30 in, 25 1h, 2 searches, 250000000"},
		{"of another session", []any{cost("s1", 0.1, one(1)), cost("s2", 9, one(9))}, "line 3: 100000000 true; a 0 out; claude-opus-5 1 out 6+20+30 in, 25 1h, 2 searches, 250000000"},
		{"damaged", []any{cost("s1", 0.1, one(1)), cost("s1", `"x"`, one(2)), cost("s1", 1, "[]"), cost("s1", 1, "null")}, "line 3: 100000000 true; a 0 out; claude-opus-5 1 out 6+20+30 in, 25 1h, 2 searches, 250000000"},
		{"a cost that is none", []any{cost("s1", -1, `{"m":{"costUSD":1e40}}`)}, "line 3: 0 true; m 0 out"},
	} {
		f := loadText(t, file(append(transcript(`user u1 - hello; said a1 u1 m1`), c.lines...)...), session.LoadOptions{})
		balanced(t, f)
		got := "none"
		if of := f.Main.Client; of != nil {
			got = fmt.Sprintf("line %d: %d %v", of.Line, of.Nano, of.Unpriced)
			for _, m := range of.Models {
				u := m.Usage
				got += fmt.Sprintf("; %s %d out", m.Model, u.Output)
				if u.Context() > 0 {
					got += fmt.Sprintf(" %d+%d+%d in, %d 1h, %d searches, %d", u.Input, u.CacheRead, u.CacheWrite, u.Write1h, u.Searches, u.Nano)
				}
			}
		}
		same(t, c.want, got, c.name)
	}
}

// TestCompactionModel: a compaction that does not say its model is the model's before it, not the one's that goes on.
func TestCompactionModel(t *testing.T) {
	under := func(l line, model string) line {
		l["message"].(line)["model"] = model
		return l
	}
	meta := object(`{"preTokens":1000,"trigger":"auto","usage":{"input_tokens":7,"output_tokens":2}}`)
	conv := load(t, transcript(`user u1 - hello`), under(said("a1", "u1", "m1"), "claude-a"),
		boundary("b1", "a1", "auto", 1000).with("compactMetadata", meta), transcript(`summary s1 b1`), under(said("a2", "s1", "m2"), "claude-b"))
	for _, q := range conv.Charges {
		if q.Kind == session.ChargeCompaction && q.Model != "claude-a" {
			t.Errorf("the compaction is of %s", q.Model)
		}
	}
	same(t, 3, len(conv.Charges), charges(conv))
}
