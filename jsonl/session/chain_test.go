package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// shapeCase is a hand-made session and the messages it makes.
type shapeCase struct {
	name  string
	lines []any
	want  string
}

// runShapes tries cases. Those in text are "# " and a name, a transcript, and "= " and the messages.
func runShapes(t *testing.T, text string, cases ...shapeCase) {
	t.Helper()
	for _, one := range strings.Split(text, "\n# ")[1:] {
		name, said, _ := strings.Cut(one, "\n")
		said, want, _ := strings.Cut(said, "\n= ")
		cases = append(cases, shapeCase{name, transcript(said), strings.TrimSpace(want)})
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			conv := load(t, tt.lines...)
			wantShape(t, conv, tt.want)
			wantNoWarning(t, conv)
		})
	}
}

// TestChain: one hand-made session a quirk.
func TestChain(t *testing.T) {
	runShapes(t, `
# spliced through progress, attachment and system lines
progress s1 -; user u1 s1 hello; attachment x1 u1 task_reminder
called a1 x1 m1 t1; result r1 a1 t1; system y1 r1 informational
said a2 y1 m2; system y2 a2 stop_hook_summary; progress s2 y2; user u2 s2 more
= u1 x1 a1 r1 a2 u2
# lines of one message split by its results and by metadata
user u1 - hello; assistant a1 u1 m1 thinking; snapshot; called a2 a1 m1 t1
result r1 a2 t1; lastPrompt r1; called a3 r1 m1 t2; progress p1 a3; result r2 a3 t2
attachment x1 r2 task_reminder; said a4 x1 m2
= u1 a1+a2+a3 r1 r2 x1 a4
# parallel calls in a row, the form of 1.0.x
user u1 - hello; called a1 u1 m1 t1; called a2 a1 m1 t2
result r1 a2 t1; result r2 r1 t2; said a3 r2 m2
= u1 a1+a2 r1 r2 a3
# parallel calls as a graph, the form since 2.1.1, on from the last result
user u1 - hello; called a1 u1 m1 t1; called a2 a1 m1 t2; called a3 a2 m1 t3
result r1 a1 t1; result r2 a2 t2; result r3 a3 t3; said a4 r3 m2
= u1 a1+a2+a3 r1 r2 r3 a4
# parallel calls as a graph, on from the first result
user u1 - hello; called a1 u1 m1 t1; called a2 a1 m1 t2; called a3 a2 m1 t3
result r3 a3 t3; result r2 a2 t2; result r1 a1 t1; said a4 r1 m2
= u1 a1+a2+a3 r3 r2 r1 a4
# the results of one round on one line
user u1 - hello; called a1 u1 m1 t1; called a2 a1 m1 t2
user r1 a2 [{"tool_use_id":"t1","type":"tool_result"},{"tool_use_id":"t2","type":"tool_result"}]
said a3 r1 m2
= u1 a1+a2 r1 a3
# what hangs under a result beside the chain
user u1 - hello; called a1 u1 m1 t1; called a2 a1 m1 t2
result r1 a1 t1; attachment x1 r1 edited_text_file; result r2 a2 t2; said a3 r2 m2
= u1 a1+a2 r1 r2 x1 a3
# progress of a hook after a tool is a dead end
user u1 - hello; called a1 u1 m1 t1; progress p1 a1; progress p2 p1
result r1 a1 t1; said a2 r1 m2
= u1 a1 r1 a2
# progress of a stop hook is part of the chain
user u1 - hello; said a1 u1 m1; progress p1 a1; progress p2 p1
system y1 p2 stop_hook_summary; user u2 y1 more; said a2 u2 m2
= u1 a1 u2 a2
# results written before the line of their call
user u1 - hello; result r1 a1 t1; result r2 a2 t2; attachment x1 r2 task_reminder
called a1 u1 m1 t1; called a2 a1 m1 t2; said a3 x1 m2
= u1 a1+a2 r1 r2 x1 a3
# timestamps that go backwards
user u1 - hello timestamp=2026-02-01T10:00:09.000Z
said a1 u1 m1 timestamp=2026-02-01T10:00:05.000Z
user u2 a1 more timestamp=2026-02-01T10:00:01.000Z
= u1 a1 u2
# a message copied onto the branch a resumed session goes on
user u1 - hello; assistant a1 u1 m1 thinking; said a2 a1 m1
user v1 - hello; assistant b1 v1 m1 thinking; said b2 b1 m1; user v2 b2 more; said b3 v2 m2
= v1 b1+b2 v2 b3
`, []shapeCase{
		{
			name: "progress that holds a subagent's messages",
			lines: []any{
				user("u1", "", "hello"), called("a1", "u1", "m1", "t1"),
				progress("p1", "a1").with("data", line{"type": "agent_progress", "message": said("b1", "", "m9")}),
				result("r1", "a1", "t1"), said("a2", "r1", "m2"),
			},
			want: "u1 a1 r1 a2",
		},
	}...)
}

// TestUsage: usage counts once for a message: the input side from any of its lines, the largest output.
func TestUsage(t *testing.T) {
	conv := load(t,
		transcript(`
user u1 - hello
assistant a1 u1 m1 thinking used=[10,1]; called a2 a1 m1 t1 used=[10,7]; result r1 a2 t1
called a3 a2 m1 t2 used=[10,3]; result r2 a3 t2
said a4 r2 m2 used=[50,2]
assistant a5 a4 m3 {"text":"No response requested.","type":"text"} used=[0,0]
`),
	)
	synthetic := conv.Messages[len(conv.Messages)-1]
	if synthetic.ID != "m3" {
		t.Fatalf("the last message is %s", synthetic.ID)
	}
	want := []jsonl.Usage{{Input: 10, CacheWrite: 20, CacheRead: 3, Output: 7}, {Input: 50, CacheWrite: 20, CacheRead: 3, Output: 2}}
	for i, w := range want {
		m := conv.Messages[conv.Requests[i].Message]
		if m.Usage != w || !m.HasUsage {
			t.Errorf("request %d: usage %+v (%v), want %+v", i+1, m.Usage, m.HasUsage, w)
		}
	}
}

// TestLateUsage: a response has all of the usage that a later line of it says first.
func TestLateUsage(t *testing.T) {
	for _, lifetime := range []string{"5m", "1h"} {
		first, second := said("a1", "u1", "m1"), said("a2", "a1", "m1")
		delete(first["message"].(line), "usage")
		second["message"].(line)["usage"] = line{
			"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 5, "cache_creation": line{"ephemeral_" + lifetime + "_input_tokens": 5},
		}
		want := jsonl.Usage{Input: 1, Output: 2, CacheWrite: 5}
		if want.Write1h = 5; lifetime == "5m" {
			want.Write5m, want.Write1h = 5, 0
		}
		conv := load(t, transcript(`user u1 - hello`), first, second)
		same(t, want, conv.Messages[1].Usage, lifetime)
	}
}

// TestResponsesAlike: responses that say the same, without an id, each have their own time.
func TestResponsesAlike(t *testing.T) {
	at := func(uuid, parent, time string) line {
		return assistant(uuid, parent, "", text("hello")).with("timestamp", time)
	}
	const early, late = "2026-01-15T09:00:05Z", "2026-01-15T09:00:09.1234567Z"
	for _, ends := range [][]string{{early, late, ""}, {"", late, early}, {late, "", ""}} {
		conv := load(t, transcript(`user u1 - hello`), at("a1", "u1", ends[0]), at("a2", "a1", ends[1]), at("a3", "a2", ends[2]))
		for i, r := range conv.Requests {
			m := &conv.Messages[r.Message]
			if want, _ := time.Parse(time.RFC3339Nano, ends[i]); !m.End.Equal(want) || !m.Time.Equal(want) || m.Usage.Output != 5 {
				t.Errorf("%q: response %d is from %v to %v", ends, i+1, m.Time, m.End)
			}
		}
		same(t, len(ends), len(conv.Requests))
	}
}

// TestIterations: where only a later line of a message lists what the API sampled, that line is believed.
func TestIterations(t *testing.T) {
	first, second := assistant("a1", "u1", "m1", thinking()).used(10, 1), said("a2", "a1", "m1").used(10, 7)
	second["message"].(line)["usage"].(line)["iterations"] = []any{
		object(`{"input_tokens":900,"output_tokens":80,"type":"compaction"}`), object(`{"input_tokens":10,"output_tokens":7,"type":"message"}`),
	}
	for _, lines := range [][]any{{first, second}, {first, second, said("a3", "a2", "m1").used(10, 7)}} {
		conv := load(t, append(transcript(`user u1 - hello`), lines...)...)
		want := jsonl.Usage{Input: 10, CacheWrite: 20, CacheRead: 3, Output: 7, Final: true, Iterations: &jsonl.Iterations{Compactions: []jsonl.Spent{{Calls: 1, Input: 900, Output: 80}}}}
		got := conv.Messages[conv.Requests[0].Message].Usage
		must.Say(t, "true 1", cmp.Equal(got, want), len(conv.Requests))
	}
}

// TestSynthetic: what the client writes itself is no request and no usage.
func TestSynthetic(t *testing.T) {
	zero := object(`{"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"input_tokens":0,"output_tokens":0}`)
	written := func(uuid, parent, id, s string) line {
		l := said(uuid, parent, id)
		m := l["message"].(line)
		m["model"], m["usage"], m["content"] = "<synthetic>", zero, []any{text(s)}
		return l
	}
	conv := load(t,
		transcript(`user u1 - hello`),
		written("e1", "u1", "x1", "API Error: 529").with("isApiErrorMessage", true),
		transcript(`
user u2 e1 again; said a1 u2 m1
user u3 a1 <command-name>/exit</command-name>
`), written("n1", "u3", "x2", "No response requested."),
		transcript(`user u4 n1 more; said a2 u4 m2`),
		written("e2", "a2", "x3", "API Error: 500").with("isApiErrorMessage", true),
	)
	wantShape(t, conv, "u1 u2 a1 u3 n1* u4 a2")
	same(t, 2, len(conv.Requests))
	if m := conv.Messages[4]; m.HasUsage {
		t.Errorf("a synthetic message is a usage anchor: %+v", m.Usage)
	}
	same(t, 2, conv.Lines.SetAside[session.AsideAPIError])
}

// TestDeadEndAttachment: what was sent with a call counts, although the chain goes on elsewhere.
func TestDeadEndAttachment(t *testing.T) {
	runShapes(t, "", []shapeCase{
		{
			name: "what hangs under a call beside the chain",
			lines: transcript(`
user u1 - hello; called a1 u1 m1 t1
attachment x1 a1 hook_success; result r1 a1 t1; said a2 r1 m2
`),
			want: "u1 a1 r1 x1 a2",
		},
	}...)
}

// TestLateLines: the newest line of a file need not end its conversation.
func TestLateLines(t *testing.T) {
	runShapes(t, `
# results written before the line of their call, at the end of the file
user u1 - hello; called a1 u1 m1 t1; result r2 a2 t2; result r1 a1 t1; said a3 r2 m2; called a2 a1 m1 t2
= u1 a1+a2 r2 r1 a3
# a result that came late
user u1 - hello; called a1 u1 m1 t1; called a2 a1 m1 t2
result r2 a2 t2; said a3 r2 m2; result r1 a1 t1
= u1 a1+a2 r2 r1 a3
# an attachment that came late
user u1 - hello; called a1 u1 m1 t1; result r1 a1 t1
said a2 r1 m2; attachment x1 a1 hook_success
= u1 a1 r1 x1 a2
`)
}

// TestCopies: nothing stands twice, on one branch either.
func TestCopies(t *testing.T) {
	runShapes(t, `
# a message copied onto its own branch
user u1 - hello; assistant a1 u1 m1 thinking; called a2 a1 m1 t1; result r1 a2 t1
user v1 r1 hello; assistant b1 v1 m1 thinking; called b2 b1 m1 t1; result s1 b2 t1; said b3 s1 m2
= u1 a1+a2 r1 v1~ b3
# one call on two lines
user u1 - hello; called a1 u1 m1 t1; called a2 u1 m1 t1; result r1 a2 t1; said a3 r1 m2
= u1 a2 r1 a3
# a result twice
user u1 - hello; called a1 u1 m1 t1; result r1 a1 t1; result r2 r1 t1; said a2 r2 m2
= u1 a1 r1 a2
`)
}

// TestPromptInPieces: some clients write one prompt as a line a block.
func TestPromptInPieces(t *testing.T) {
	runShapes(t, `
# one prompt written as a line a block
user u1 - [{"text":"<ide_opened_file>x</ide_opened_file>","type":"text"}]; user u2 u1 [{"source":{},"type":"image"}]
user u3 u2 [{"text":"hello","type":"text"}]; said a1 u3 m1
= u1+u2+u3 a1
# other lines between its lines
user u1 - [{"text":"one","type":"text"}]; system s1 u1 informational; user u2 u1 [{"text":"two","type":"text"}]
progress p1 u2; user u3 u2 [{"text":"three","type":"text"}]; user u4 u3 [{"text":"four","type":"text"}]; said a1 u4 m1
user u5 a1 next; said a2 u5 m2
= u1+u2+u3+u4 a1 u5 a2
`)
}

// TestFields: what a conversation says of itself.
func TestFields(t *testing.T) {
	conv := load(t,
		object(`{"leafUuid":"elsewhere","summary":"An old title","type":"summary"}`),
		object(`{"aiTitle":"A first title","type":"ai-title"}`),
		transcript(`
user u1 - hello cwd=/home/u/one version=2.1.29
said a1 u1 m1 cwd=/home/u/one version=2.1.31
`),
		object(`{"aiTitle":"A later title","type":"ai-title"}`),
		transcript(`user u2 a1 more cwd=/home/u/two version=2.1.31`),
	)
	must.Say(t, "s1 /home/u/one 2.1.31 claude-opus-4-6 A later title", conv.SessionID, conv.CWD, conv.Version, conv.Model, conv.Title)
	must.Equal(t, len(conv.Versions), 2, conv.Versions)
	conv = load(t, object(`{"customTitle":"Mine","type":"custom-title"}`), object(`{"aiTitle":"Its","type":"ai-title"}`), transcript(`user u1 - hello`))
	same(t, "Mine", conv.Title, "title")
}

// TestBeginsWithSummary holds that a summary with nothing before it is part of the raw history: no line has what it
// summarises.
func TestBeginsWithSummary(t *testing.T) {
	summary := `{"type":"user","uuid":"s","parentUuid":%s,"isCompactSummary":true,"message":{"role":"user","content":"What was said."}}` + "\n" +
		`{"type":"assistant","uuid":"a","parentUuid":"s","message":{"role":"assistant","id":"m","content":[{"type":"text","text":"Done."}]}}` + "\n"
	for name, lines := range map[string]string{
		"with its boundary": `{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"compactMetadata":{"trigger":"auto","preTokens":9}}` + "\n" + fmt.Sprintf(summary, `"b"`),
		"alone":             fmt.Sprintf(summary, "null"),
	} {
		f := must.Get(session.LoadReader("test", strings.NewReader(lines), session.LoadOptions{}))(t)
		c := f.Main
		if len(c.Messages) != 2 || c.Messages[0].Class != session.ClassSummary || c.Messages[0].RecordOnly || len(c.Boundaries) != 0 || len(c.Warnings) != 0 {
			t.Errorf("%s: %d compactions, messages %+v, warnings %v", name, len(c.Boundaries), c.Messages, c.Warnings)
		}
		f.Close()
	}
}

// TestSessionOfLeaf: the session of a path over two files is that of its last line, its folder that of the first.
func TestSessionOfLeaf(t *testing.T) {
	conv := load(t,
		transcript(`
user u1 - hello sessionId=before cwd=/one; said a1 u1 m1 sessionId=before cwd=/two
user u2 a1 "go on" cwd=/two; said a2 u2 m2 cwd=/two
`),
	)
	must.Say(t, "s1 /one", conv.SessionID, conv.CWD)
}
