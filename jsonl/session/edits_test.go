package session_test

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

func commit(id, summary, first, last string) line {
	return line{
		"type": "marble-origami-commit", "sessionId": "s1", "collapseId": id, "summaryUuid": summary, "summary": "what was done",
		"summaryContent": "<collapsed id='" + id + "'>what was done</collapsed>", "firstArchivedUuid": first, "lastArchivedUuid": last,
	}
}

func staged(armed bool, spans ...any) line {
	return line{"type": "marble-origami-snapshot", "sessionId": "s1", "staged": spans, "armed": armed, "lastSpawnTokens": 90000}
}

func span(start, end string) line {
	return line{"startUuid": start, "endUuid": end, "summary": "what was done", "risk": 0.12, "stagedAt": 1712345678901}
}

func replacement(id, text string) line {
	return line{"type": "content-replacement", "sessionId": "s1", "replacements": []any{line{"kind": "tool-result", "toolUseId": id, "replacement": text}}}
}

// fiveTurns is U1 A1 U2 A2 U3 A3 U4 A4, and U5 with a round of a call.
func fiveTurns() []any {
	return transcript(`
user u1 - "1"; said a1 u1 m1; user u2 a1 "2"; said a2 u2 m2; user u3 a2 "3"; said a3 u3 m3
user u4 a3 "4"; said a4 u4 m4; user u5 a4 "5"; called a5 u5 m5 t1; result r5 a5 t1
`)
}

// TestCollapse: the example of the views analysis, U1 A1 [U2 A2 U3 A3 U4 A4] U5.
func TestCollapse(t *testing.T) {
	conv := load(t, append(fiveTurns(), staged(true, span("u2", "a4")), commit("c1", "s1", "u2", "a4"), said("a6", "r5", "m6"))...)
	wantShape(t, conv, "u1 a1 u2 a2 u3 a3 u4 a4 u5 a5 r5 a6")
	wantNoWarning(t, conv)
	if len(conv.Collapses) != 1 || len(conv.Snapshots) != 1 || conv.Lines.Used != 14 {
		t.Fatalf("%+v, %+v, %+v", conv.Collapses, conv.Snapshots, conv.Lines)
	}
	if got, want := conv.Collapses[0], (session.Collapse{
		ID: "c1", Line: 13, From: 2, To: 7, Content: "<collapsed id='c1'>what was done</collapsed>",
		Summary: "what was done", Before: 11, Request: 6,
	}); got != want {
		t.Errorf("collapse\n got %+v\nwant %+v", got, want)
	}
	s := conv.Snapshots[0]
	if s.Line != 12 || s.Before != 11 || s.Request != 6 || len(s.Staged) != 1 {
		t.Fatalf("snapshot %+v", s)
	}
	if got, want := s.Staged[0], (session.Staged{From: 2, To: 7, Summary: "what was done", Risk: 0.12}); got != want {
		t.Errorf("staged\n got %+v\nwant %+v", got, want)
	}
}

// TestCollapseSpans: what a span may name, and what it may not.
func TestCollapseSpans(t *testing.T) {
	for _, tt := range []struct {
		name    string
		lines   []any
		want    [][2]int // the spans taken
		aside   int
		warning string // of the last line
	}{
		{name: "one after the other", lines: transcript(`commit c1 s1 u1 a1; commit c2 s2 u2 a3`), want: [][2]int{{0, 1}, {2, 5}}},
		{name: "of a collapse before", lines: transcript(`commit c1 s1 u1 a1; commit c2 s2 s1 a3`), want: [][2]int{{0, 1}, {0, 5}}},
		{name: "up to one", lines: transcript(`commit c1 s1 u2 a2; commit c2 s2 u1 s1`), want: [][2]int{{2, 3}, {0, 3}}},
		{name: "overlapping", lines: transcript(`commit c1 s1 u1 a2; commit c2 s2 u2 a3`), want: [][2]int{{0, 3}, {2, 5}}},
		{name: "of one message", lines: transcript(`commit c1 s1 u2 u2`), want: [][2]int{{2, 2}}},
		{name: "a result takes its call", lines: transcript(`commit c1 s1 r5 r5`), want: [][2]int{{9, 10}}},
		{name: "a call takes its result", lines: transcript(`commit c1 s1 u1 a5`), want: [][2]int{{0, 10}}},
		{name: "written again", lines: transcript(`commit c1 s1 u1 a1; commit c1 s1 u1 a1`), want: [][2]int{{0, 1}}},
		{name: "no content, but a summary", lines: transcript(`commit c1 s1 u1 a1 summaryContent=null`), want: [][2]int{{0, 1}}},
		{name: "nothing at all", lines: transcript(`commit c1 s1 u1 a1 summaryContent="" summary=""`), aside: 1, warning: "no summary"},
		{name: "another with the same summary", lines: transcript(`commit c1 s1 u1 a1; commit c2 s1 u2 a2`), want: [][2]int{{0, 1}}, aside: 1, warning: `an earlier collapse has the summary "s1"`},
		{name: "unknown", lines: transcript(`commit c1 s1 nobody a1`), aside: 1, warning: `no message before it has the uuid "nobody"`},
		{name: "itself", lines: transcript(`commit c1 s1 s1 a1`), aside: 1, warning: `no message before it has the uuid "s1"`},
		{name: "backwards", lines: transcript(`commit c1 s1 a3 u2`), aside: 1, warning: "before its start"},
		{name: "what is said later", lines: transcript(`commit c1 s1 u1 a6`), aside: 1, warning: `no message before it has the uuid "a6"`},
		{name: "empty", lines: []any{line{"type": "marble-origami-commit"}}, aside: 1, warning: `no message before it has the uuid ""`},
		{name: "of other types", lines: []any{object(`{"collapseId":5,"firstArchivedUuid":[],"type":"marble-origami-commit"}`)}, aside: 1, warning: "partly unreadable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conv := load(t, append(append(fiveTurns(), tt.lines...), said("a6", "r5", "m6"))...)
			var got [][2]int
			for _, c := range conv.Collapses {
				got = append(got, [2]int{c.From, c.To})
				if c.Content == "" {
					t.Errorf("no content: %+v", c)
				}
			}
			must.Equal(t, got, tt.want)
			same(t, tt.aside, conv.Lines.SetAside[session.AsideRecord], conv.Lines)
			if tt.warning == "" {
				wantNoWarning(t, conv)
			} else {
				wantWarning(t, conv, 11+len(tt.lines), tt.warning)
			}
		})
	}
}

// TestCollapsePlaces: a line belongs where it stands in the file.
func TestCollapsePlaces(t *testing.T) {
	conv := load(t,
		staged(false), transcript(`user u1 - "1"; said a1 u1 m1`), staged(true), transcript(`
user x1 a1 wrong; said x2 x1 m9
user u2 a1 "2"; called a2 u2 m2 t1
`), staged(true, span("u1", "a1"), span("x1", "x2")), transcript(`result r2 a2 t1; said a3 r2 m3`), staged(false),
	)
	wantShape(t, conv, "u1 a1 u2 a2 r2 a3")
	var got [][2]int
	for _, s := range conv.Snapshots {
		got = append(got, [2]int{s.Before, s.Request})
	}
	if want := [][2]int{{0, 1}, {2, 2}, {4, 3}, {6, 4}}; !slices.Equal(got, want) {
		t.Errorf("before, request: %v, want %v", got, want)
	}
	if st := conv.Snapshots[2].Staged; len(st) != 1 || st[0].From != 0 || st[0].To != 1 {
		t.Errorf("staged %+v", st)
	}
	wantWarning(t, conv, 9, "staged span", `"x1"`)
}

// TestReplacements: decisions on tool results, in every spelling that is taken.
func TestReplacements(t *testing.T) {
	for name, l := range map[string]line{
		"a list":     replacement("t1", "stub"),
		"by itself":  {"type": "content-replacement", "toolUseId": "t1", "replacement": "stub"},
		"the API's":  {"type": "content-replacement", "tool_use_id": "t1", "content": "stub"},
		"other case": {"type": "content-replacement", "replacements": []any{object(`{"content":"stub","toolUseID":"t1"}`)}},
		"with more":  {"type": "content-replacement", "uuid": "z1", "parentUuid": "r5", "replacements": []any{object(`{"kind":5,"replacement":"stub","toolUseId":"t1"}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			conv := load(t, append(fiveTurns(), l, said("a6", "r5", "m6"))...)
			wantNoWarning(t, conv)
			if want := (session.Replacement{Line: 12, ToolID: "t1", Message: 10, Text: "stub", Before: 11, Request: 6}); len(conv.Replaced) != 1 || conv.Replaced[0] != want {
				t.Errorf("replaced\n got %+v\nwant %+v", conv.Replaced, want)
			}
			must.Equal(t, conv.Lines.Used, 13, conv.Lines)
		})
	}
}

// TestReplacementPlaces: it counts from where its result stands on; the first on a result holds.
func TestReplacementPlaces(t *testing.T) {
	conv := load(t, append(transcript(`replacement t1 stub`), fiveTurns()...)...)
	if r := conv.Replaced; len(r) != 1 || r[0].Before != 11 || r[0].Line != 1 {
		t.Errorf("replaced %+v", r)
	}
	conv = load(t, append(fiveTurns(), replacement("t1", "stub"), said("a6", "r5", "m6"), replacement("t1", "stub"), replacement("t1", "another"), replacement("t9", "x"), replacement("t1", ""))...)
	if r := conv.Replaced; len(r) != 1 || r[0].Before != 11 {
		t.Errorf("replaced %+v", r)
	}
	wantWarning(t, conv, 15, "earlier replacement by another text")
	wantWarning(t, conv, 16, `"t9"`, "not in the conversation")
	wantWarning(t, conv, 17, "without a text")
	if n := conv.Lines.SetAside[session.AsideRecord]; n != 2 || len(conv.Warnings) != 3 {
		t.Errorf("%+v, %v", conv.Lines, conv.Warnings)
	}
}

// TestEditsOfAnAgent: a line that names an agent is that conversation's.
func TestEditsOfAnAgent(t *testing.T) {
	f := loadText(t, file(
		transcript(`
user u1 - "1"; said a1 u1 m1
user v1 - "2" isSidechain=true agentId=x; said w1 v1 n1 isSidechain=true agentId=x
commit c1 s1 v1 w1 agentId=x; commit c2 s2 u1 a1; commit c3 s3 u1 a1 agentId=nobody
`),
	), session.LoadOptions{})
	if c := f.Main.Collapses; len(c) != 1 || c[0].ID != "c2" {
		t.Errorf("main: %+v", c)
	}
	if c := f.Sidechains[0].Collapses; len(c) != 1 || c[0].ID != "c1" {
		t.Errorf("agent: %+v", c)
	}
	same(t, 1, f.Main.Lines.SetAside[session.AsideRecord], f.Main.Lines)
}
