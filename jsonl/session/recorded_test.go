package session_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// one is the only boundary of a conversation.
func one(t *testing.T, conv *session.Conversation) session.Boundary {
	t.Helper()
	if len(conv.Boundaries) != 1 {
		t.Fatalf("%d boundaries, want 1: %+v", len(conv.Boundaries), conv.Boundaries)
	}
	return conv.Boundaries[0]
}

// TestBoundary: the form of 2.0.76 and later, automatic, with what the client re-injected.
func TestBoundary(t *testing.T) {
	conv := load(t,
		transcript(`
user u1 - hello; called a1 u1 m1 t1; result r1 a1 t1; system y1 r1 informational
boundary b1 y1 auto 155782 version=2.1.119 timestamp=2026-02-01T10:07:00.000Z compactMetadata={"durationMs":70000,"postTokens":9400,"preTokens":155782,"trigger":"auto"}
summary s1 b1; progress p1 s1; attachment x1 p1 compact_file_reference; attachment x2 x1 file
snapshot; attachment x3 x2 skill_listing; said a2 x3 m2; attachment x4 a2 task_reminder; user u2 x4 more
`),
	)
	wantShape(t, conv, "u1 a1 r1 [s1] [x1] [x2] [x3] a2 x4 u2")
	wantNoWarning(t, conv)
	b := one(t, conv)
	must.Say(t, "b1 5 auto 155782 9400 2.1.119 7", b.UUID, b.Line, b.Trigger, b.PreTokens, b.PostTokens, b.Version, b.Time.Minute())
	if b.Before != 3 || b.Summary != 3 || b.Request != 2 || !slices.Equal(b.Attached, []int{4, 5, 6}) || b.Preserved != nil {
		t.Errorf("boundary %+v", b)
	}
}

// TestBoundaryPlaces: a boundary belongs to the first request after it.
func TestBoundaryPlaces(t *testing.T) {
	conv := load(t,
		transcript(`
user u1 - hello; said a1 u1 m1
boundary b1 a1 auto 1000; summary s1 b1; said a2 s1 m2; user u2 a2 more; said a3 u2 m3
boundary b2 a3 auto 2000; summary s2 b2
`),
	)
	wantShape(t, conv, "u1 a1 [s1] a2 u2 a3 [s2]")
	var got [][3]int
	for _, b := range conv.Boundaries {
		got = append(got, [3]int{b.Before, b.Summary, b.Request})
	}
	if want := [][3]int{{2, 2, 2}, {6, 6, 4}}; !reflect.DeepEqual(got, want) {
		t.Errorf("before, summary, request: %v, want %v", got, want)
	}
}

// TestSummaryOnly: the form of 1.0.x has no boundary line.
func TestSummaryOnly(t *testing.T) {
	conv := load(t,
		transcript(`
user u1 - hello; said a1 u1 m1; user u2 a1 more; said a2 u2 m2
summary s1 -; said a3 s1 m3; user u3 a3 on
`),
	)
	wantShape(t, conv, "u1 a1 u2 a2 [s1] a3 u3")
	b := one(t, conv)
	must.Say(t, "s1 5 auto 0 4 4 3", b.UUID, b.Line, b.Trigger, b.PreTokens, b.Before, b.Summary, b.Request)
}

// TestLostAtBoundary: what the client lost when it compacted.
func TestLostAtBoundary(t *testing.T) {
	conv := load(t,
		transcript(`
user u1 - hello; called a1 u1 m1 t1; called a2 a1 m1 t2; called a3 a2 m1 t3; result r1 a1 t1
boundary b1 lost auto 155000; summary s1 b1; said a4 s1 m2
`),
	)
	wantShape(t, conv, "u1 a1+a2+a3 r1 lost-t2 [s1] a4")
	m := conv.Messages[3]
	if !m.Lost || m.Class != session.ClassToolResult || len(m.Blocks) != 2 || m.Blocks[0].ID != "t2" || m.Blocks[1].ID != "t3" {
		t.Errorf("the stand-in is %+v", m)
	}
	must.Both(conv.Text(3, 0))(t, "", nil)
	wantWarning(t, conv, 2, "t2, t3", "placeholder")
	must.Equal(t, one(t, conv).Before, 4)

	// The pending prompt was lost: nothing stands in for it, but it is told.
	conv = load(t,
		transcript(`
user u1 - hello; said a1 u1 m1
boundary b1 lost auto 155000; summary s1 b1; said a2 s1 m2
`),
	)
	wantShape(t, conv, "u1 a1 [s1] a2")
	wantWarning(t, conv, 3, "lost")
}

// TestUnanswered: a call that is not answered yet is no lost one.
func TestUnanswered(t *testing.T) {
	conv := load(t, transcript(`user u1 - hello; called a1 u1 m1 t1; called a2 a1 m1 t2; result r1 a1 t1`))
	wantShape(t, conv, "u1 a1+a2 r1")
	wantNoWarning(t, conv)

	// One that was never answered, although the conversation went on, is.
	conv = load(t, transcript(`user u1 - hello; called a1 u1 m1 t1; user u2 a1 more; said a2 u2 m2`))
	wantShape(t, conv, "u1 a1 lost-t1 u2 a2")
	wantWarning(t, conv, 2, "t1", "placeholder")
}

// TestPreserved: what a compaction kept verbatim.
func TestPreserved(t *testing.T) {
	lines := func(meta line) []any {
		meta["trigger"], meta["preTokens"] = "auto", 1000
		return []any{
			user("u1", "", "hello"), called("a1", "u1", "m1", "t1"), result("r1", "a1", "t1"),
			assistant("a2", "r1", "m2", thinking()), said("a3", "a2", "m2"),
			boundary("b1", "a3", "auto", 1000).with("compactMetadata", meta), summary("s1", "b1"), user("u2", "s1", "more"), said("a4", "u2", "m3"),
		}
	}
	must.Rows(t, `
# name | meta
segment  | {"preservedSegment":{"anchorUuid":"s1", "headUuid":"r1", "tailUuid":"a3"}}
messages | {"preservedMessages":{"allUuids":["r1", "a2", "a3"],"anchorUuid":"s1", "uuids":["r1", "a2", "a3"]}}
`, func(name string, meta line) {
		conv := load(t, lines(meta)...)
		wantShape(t, conv, "u1 a1 r1 a2+a3 [s1] u2 a4")
		must.Equal(t, one(t, conv).Preserved, []int{2, 3}, name)
	})
	must.Rows(t, `
# name | meta
nowhere  | {"preservedSegment":{"anchorUuid":"s1", "headUuid":"zz", "tailUuid":"a3"}}
reversed | {"preservedSegment":{"anchorUuid":"s1", "headUuid":"a3", "tailUuid":"u1"}}
later    | {"preservedMessages":{"anchorUuid":"s1", "uuids":["u2", "zz"]}}
`, func(name string, meta line) {
		must.Equal(t, len(one(t, load(t, lines(meta)...)).Preserved), 0, name)
	})
}

// TestMicrocompact: a microcompact stands in the chain, or beside it where a compaction followed at the same request.
func TestMicrocompact(t *testing.T) {
	conv := load(t,
		transcript(`
user u1 - hello; called a1 u1 m1 t1; result r1 a1 t1; micro c1 r1 20801 t1; said a2 c1 m2
called a3 a2 m2 t2; result r2 a3 t2; micro c2 r2 3000 t2
boundary b1 r2 auto 155000; summary s1 b1; said a4 s1 m3
`),
	)
	wantShape(t, conv, "u1 a1 r1 a2+a3 r2 [s1] a4")
	if len(conv.Micro) != 2 {
		t.Fatalf("%d microcompactions", len(conv.Micro))
	}
	m := conv.Micro[0]
	must.Say(t, "4 auto 58573 20801 true 3 2", m.Line, m.Trigger, m.PreTokens, m.TokensSaved, slices.Equal(m.ToolIDs, []string{"t1"}), m.Before, m.Request)
	if m = conv.Micro[1]; m.Before != 5 || m.Request != 3 {
		t.Errorf("beside the chain: %+v", m)
	}
}

// TestBrokenMetadata: a boundary is one, whatever its metadata says.
func TestBrokenMetadata(t *testing.T) {
	for _, meta := range []any{nil, "x", object(`{"preTokens":"many","trigger":"auto"}`), line{"trigger": 7}} {
		l := boundary("b1", "a1", "auto", 1000).with("compactMetadata", meta)
		if meta == nil {
			delete(l, "compactMetadata")
		}
		conv := load(t, transcript(`user u1 - hello; said a1 u1 m1`), l, transcript(`summary s1 b1; said a2 s1 m2`))
		wantShape(t, conv, "u1 a1 [s1] a2")
		one(t, conv)
		wantWarning(t, conv, 3, "compactMetadata")
	}
}

// compactLines are /compact's own lines, under the summary.
func compactLines(parent string) []any {
	return []any{
		user("k1", parent, "<local-command-caveat>Caveat: The messages below were generated by the user while running local commands.</local-command-caveat>").with("isMeta", true),
		user("k2", "k1", "<command-name>/compact</command-name>\n<command-message>compact</command-message>"),
		user("k3", "k2", "<local-command-stdout>Compacted (ctrl+o to see full summary)</local-command-stdout>"),
	}
}

// TestManual: /compact's own lines leave raw with the summary.
func TestManual(t *testing.T) {
	before := transcript(`user u1 - hello; said a1 u1 m1`)
	runShapes(t, "", []shapeCase{
		{
			name: "with a boundary, hook progress, a command of another kind after it",
			lines: slices.Concat(before, transcript(`boundary b1 a1 manual 1000; summary s1 b1`), compactLines("s1"), transcript(`
progress p1 k3; user c1 p1 "<local-command-caveat>Caveat: The messages below were generated by the user while running local commands.</local-command-caveat>" isMeta=true
user c2 c1 <bash-input>pwd</bash-input>; user c3 c2 <bash-stdout>/home/u</bash-stdout>; user u2 c3 more; said a2 u2 m2
`)),
			want: "u1 a1 [s1] [k1] [k2] [k3] c1 c2 c3 u2 a2",
		},
		{
			name:  "with attachments after its lines",
			lines: slices.Concat(before, transcript(`user c0 a1 /compact; boundary b1 a1 manual 1000; summary s1 b1`), compactLines("s1"), transcript(`attachment x1 k3 compact_file_reference; attachment x2 x1 deferred_tools_delta; user u2 x2 go; attachment x3 u2 skill_listing; said a2 x3 m2`)),
			want:  "u1 a1 [s1] [k1] [k2] [k3] [x1] [x2] u2 x3 a2",
		},
		{
			name:  "the command as typed, on the chain before the boundary",
			lines: slices.Concat(before, transcript(`user c0 a1 "/compact keep the tests"; boundary b1 c0 manual 1000; summary s1 b1`), compactLines("s1"), transcript(`user u2 k3 go; said a2 u2 m2`)),
			want:  "u1 a1 [c0] [s1] [k1] [k2] [k3] u2 a2",
		},
		{
			name: "without a boundary, the form of 1.0.x",
			lines: slices.Concat(before, transcript(`
summary s1 -; user k1 s1 "Caveat: The messages below were generated by the user while running local commands." isMeta=true
user k2 k1 <command-name>/compact</command-name>; user k3 k2 <local-command-stdout>Compacted.</local-command-stdout>
user u2 k3 go; said a2 u2 m2
`)),
			want: "u1 a1 [s1] [k1] [k2] [k3] u2 a2",
		},
		{
			name: "another command right after an automatic compaction",
			lines: slices.Concat(before, transcript(`
boundary b1 a1 auto 1000; summary s1 b1
user c1 s1 "<local-command-caveat>Caveat: The messages below were generated by the user.</local-command-caveat>" isMeta=true
user c2 c1 <command-name>/cost</command-name>; user c3 c2 "<local-command-stdout>1 $</local-command-stdout>"
user u2 c3 go; said a2 u2 m2
`)),
			want: "u1 a1 [s1] c1 c2 c3 u2 a2",
		},
	}...)
	for _, tt := range []struct {
		lines []any
		want  string
	}{
		{transcript(`boundary b1 a1 manual 1000; summary s1 b1`), "manual"},
		{transcript(`summary s1 -`), "manual"},
		{transcript(`boundary b1 a1 auto 1000; summary s1 b1`), "auto"},
	} {
		conv := load(t, slices.Concat(before, tt.lines, compactLines("s1"), transcript(`user u2 k3 go; said a2 u2 m2`))...)
		if b := one(t, conv); b.Trigger != tt.want || len(b.Attached) != 3 {
			t.Errorf("boundary %+v, want a %s one with 3 lines attached", b, tt.want)
		}
	}
}

// TestLinesBeforeSummary: clients from 2.1.280 on write attachments between the boundary and its summary. It is one
// compaction, and what it keeps is sent behind the summary.
func TestLinesBeforeSummary(t *testing.T) {
	conv := load(t,
		transcript(`
user u1 - hello; called a1 u1 m1 t1; result r1 a1 t1
boundary b1 - auto 1000 compactMetadata={"preTokens":1000,"preservedMessages":{"anchorUuid":"s1","uuids":["a1","r1"]},"trigger":"auto"}
attachment x1 b1 instructions; attachment x2 x1 date; summary s1 x2; attachment x3 s1 skill_listing; said a2 x3 m2
`),
	)
	wantShape(t, conv, "u1 a1 r1 [x1] [x2] [s1] [x3] a2")
	wantNoWarning(t, conv)
	b := one(t, conv)
	must.Say(t, "b1 3 5 true 2", b.UUID, b.Before, b.Summary, slices.Equal(b.Attached, []int{3, 4, 6}), b.Request)
	if got, want := b.Kept(), []int{3, 4, 5, 1, 2, 6}; !slices.Equal(got, want) {
		t.Errorf("in context %v, want %v", got, want)
	}
}

// TestKeptLater: what a compaction keeps may be written behind its summary, as the client's reminder of tokens in 2.1.332
// is: the line before is the last one kept that stands above.
func TestKeptLater(t *testing.T) {
	conv := load(t, transcript(`
user u1 - hello; called a1 u1 m1 t1; result r1 a1 t1; said left u1 m9
keeping b1 x1 s1 a1 r1 x1; summary s1 b1; attachment x1 s1 total_tokens_reminder; said a2 x1 m2
`)...)
	wantShape(t, conv, "u1 a1 r1 [s1] [x1] a2")
	wantNoWarning(t, conv)
	must.Equal(t, one(t, conv).Preserved, []int{1, 2})
}

// keeping is a manual boundary that keeps the lines with some uuids, behind an anchor.
func keeping(uuid, logical, anchor string, uuids ...string) line {
	return boundary(uuid, logical, "manual", 1000).with("compactMetadata", line{
		"trigger": "manual", "preTokens": 1000, "preservedMessages": line{"anchorUuid": anchor, "uuids": uuids},
		"preservedSegment": line{"headUuid": uuids[0], "anchorUuid": anchor, "tailUuid": uuids[len(uuids)-1]},
	})
}

// TestBehindKeptTail: lines between what a compaction keeps and its boundary stay on the branch, however many they are.
func TestBehindKeptTail(t *testing.T) {
	lines := transcript(`user u1 - hello; said a1 u1 m1; user u2 a1 more; said a2 u2 m2`)
	conv := load(t, append(slices.Clone(lines), keeping("b1", "a2", "s1", "u1", "a1"), summary("s1", "b1"), user("u3", "s1", "go"), said("a3", "u3", "m3"))...)
	wantShape(t, conv, "u1 a1 u2 a2 [s1] u3 a3")
	if len(conv.Warnings) != 1 || conv.Warnings[0].Line != 5 {
		t.Errorf("%v", conv.Warnings)
	}
	last := "a2"
	for i := range 11_000 {
		uuid := fmt.Sprint("x", i)
		lines = append(lines, attachment(uuid, last, "date"))
		last = uuid
	}
	conv = load(t, append(lines, keeping("b1", "a1", "b1", "u1", "a1"), summary("s1", "b1"), user("u3", "s1", "go"), said("a3", "u3", "m3"))...)
	same(t, 11_007, len(conv.Messages))
}

// TestKeptTail: what a compaction keeps is part of the live branch, whatever what follows hangs on.
func TestKeptTail(t *testing.T) {
	before := transcript(`user u1 - hello; said a1 u1 m1; user u2 a1 more; said a2 u2 m2; user u3 a2 on; said a3 u3 m3`)
	for _, tt := range []struct {
		name       string
		lines      []any
		want       string
		kept       []int
		boundaries int
	}{
		{
			name:  "the first messages alone are summarized: the others follow the summary",
			lines: transcript(`keeping b1 a1 s1 u2 a2 u3 a3; summary s1 b1; user u4 s1 go; said a4 u4 m4`),
			want:  "u1 a1 u2 a2 u3 a3 [s1] u4 a4", kept: []int{6, 2, 3, 4, 5}, boundaries: 1,
		},
		{
			name:  "the last messages alone are summarized: the summary follows the others",
			lines: transcript(`keeping b1 a1 b1 u1 a1; summary s1 b1; attachment x1 s1 file; user u4 x1 go; said a4 u4 m4`),
			want:  "u1 a1 u2 a2 u3 a3 [s1] [x1] u4 a4", kept: []int{0, 1, 6, 7}, boundaries: 1,
		},
		{
			name:  "what follows hangs on the last kept line",
			lines: slices.Concat(transcript(`keeping b1 a3 s1 a3; summary s1 b1`), compactLines("s1"), transcript(`user u4 a3 go; said a4 u4 m4`)),
			want:  "u1 a1 u2 a2 u3 a3 [s1] [k1] [k2] [k3] u4 a4", kept: []int{6, 5, 7, 8, 9}, boundaries: 1,
		},
		{
			name:  "the branch with the compaction was left",
			lines: transcript(`keeping b1 a3 s1 a3; summary s1 b1; user u4 s1 go; said a4 u4 m4; user u5 a3 again; said a5 u5 m5`),
			want:  "u1 a1 u2 a2 u3 a3 u5 a5",
		},
		{
			name:  "what is kept is not in the file",
			lines: transcript(`keeping b1 a3 s1 zz; summary s1 b1; user u4 s1 go; said a4 u4 m4`),
			want:  "u1 a1 u2 a2 u3 a3 [s1] u4 a4", kept: []int{6}, boundaries: 1,
		},
		{
			name:  "what is kept is of a branch that was left",
			lines: transcript(`user u9 a1 rewound; said a9 u9 m9; keeping b1 a9 b1 u1 a1; summary s1 b1; user u4 s1 go; said a4 u4 m4`),
			want:  "u1 a1 u9 a9 [s1] u4 a4", kept: []int{0, 1, 4}, boundaries: 1,
		},
	} {
		conv := load(t, slices.Concat(before, tt.lines)...)
		if got := shape(conv); got != tt.want || len(conv.Boundaries) != tt.boundaries {
			t.Errorf("%s:\n%s with %d compactions, want\n%s with %d", tt.name, got, len(conv.Boundaries), tt.want, tt.boundaries)
			continue
		}
		if tt.boundaries > 0 && !slices.Equal(conv.Boundaries[0].Kept(), tt.kept) {
			t.Errorf("%s: in context %v, want %v", tt.name, conv.Boundaries[0].Kept(), tt.kept)
		}
	}
}

// TestHalfRecorded: a compaction without its summary, or without lines that it kept, is named, and the rest is read.
func TestHalfRecorded(t *testing.T) {
	kept := func(tail line, uuids ...string) line {
		b := boundary("b1", "a1", "auto", 900)
		meta := b["compactMetadata"].(line)
		meta["preservedSegment"] = tail
		if uuids != nil {
			meta["preservedMessages"] = line{"anchorUuid": "s1", "uuids": uuids}
		}
		return b
	}
	for _, tt := range []struct {
		name  string
		lines []any
		shape string
		want  string // the codes of the warnings of line 3
	}{
		{"whole", transcript(`boundary b1 a1 auto 900; summary s1 b1`), "u1 a1 [s1] u2 a2", ""},
		{"no summary", transcript(`boundary b1 a1 auto 900; attachment x1 b1 date uuid=s1`), "u1 a1 [s1] u2 a2", "no-summary"},
		{"a summary behind attachments", transcript(`boundary b1 a1 auto 900; attachment x1 b1 date; summary s1 x1`), "u1 a1 [x1] [s1] u2 a2", ""},
		{"a lost tail", []any{kept(object(`{"anchorUuid":"s1","headUuid":"u1","tailUuid":"gone"}`)), summary("s1", "b1")}, "u1 a1 [s1] u2 a2", "lost-preserved"},
		{"lost messages", []any{kept(nil, "gone", "a1", "gone too"), summary("s1", "b1")}, "u1 a1 [s1] u2 a2", "lost-preserved"},
		{"both", []any{kept(nil, "gone"), attachment("x1", "b1", "date").with("uuid", "s1")}, "u1 a1 [s1] u2 a2", "lost-preserved no-summary"},
	} {
		conv := load(t, slices.Concat(transcript(`user u1 - hello; said a1 u1 m1`), tt.lines, transcript(`user u2 s1 on; said a2 u2 m2`))...)
		var got []string
		for _, w := range conv.Warnings {
			must.Equal(t, w.Line, 3, tt.name, w)
			got = append(got, string(w.Code))
		}
		if strings.Join(got, " ") != tt.want || len(conv.Boundaries) != 1 || len(conv.Requests) != 2 {
			t.Errorf("%s: warned %v, %d compactions, %d requests; want %q", tt.name, got, len(conv.Boundaries), len(conv.Requests), tt.want)
		}
		wantShape(t, conv, tt.shape)
	}
}
