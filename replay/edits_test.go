package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
)

// aside writes a line that stands nowhere in the chain.
func (s *script) aside(kind string, fields map[string]any) {
	l := map[string]any{"type": kind, "sessionId": "s1"}
	for k, v := range fields {
		l[k] = v
	}
	s.lines = append(s.lines, l)
}

func (s *script) commit(id, summary, first, last string) {
	s.aside("marble-origami-commit", map[string]any{
		"collapseId": id, "summaryUuid": summary, "firstArchivedUuid": first, "lastArchivedUuid": last,
		"summaryContent": "<collapsed id='" + id + "'>" + strings.Repeat("c", 170) + "</collapsed>",
	})
}

func (s *script) replaced(text string, ids ...string) {
	var list []any
	for _, id := range ids {
		list = append(list, map[string]any{"toolUseId": id, "replacement": text})
	}
	s.aside("content-replacement", map[string]any{"replacements": list})
}

// turns is n turns of a prompt, a Read with a result of 4,000 characters and an answer, to requests of contexts that
// grow as they would.
func turns(n int) *script {
	s := newScript()
	size := 20000
	for k := range n {
		s.user(400)
		size += 100
		s.answer(context(size), read(fmt.Sprint("t", k+1)))
		s.result(fmt.Sprint("t", k+1), 4000)
		size += 1400
		s.answer(context(size), text(400))
		size += 120
	}
	return s
}

// seen lists the messages in view, as their uuids, and the texts of those that were made up.
func seen(v *view.View) string {
	var list []string
	for id := range v.Items {
		switch m := v.Message(id); {
		case m != nil:
			list = append(list, m.UUID)
		default:
			c := v.Synthetic(id).Contents[0]
			head, _, _ := strings.Cut(c.Text, ">")
			list = append(list, head+">")
		}
	}
	return strings.Join(list, " ")
}

// views replays a conversation and gives what was seen at each request.
func views(t *testing.T, s *script, name string) ([]string, *replay.Timeline) {
	t.Helper()
	var list []string
	tl := replayed(t, s.load(t), named(t, name), replay.Options{Observe: func(_ int, v *view.View) { list = append(list, seen(v)) }})
	return list, tl
}

// wantContexts: the recorded track's own rows are the recorded contexts.
func wantContexts(t *testing.T, tl *replay.Timeline) {
	t.Helper()
	for _, q := range mains(tl) {
		if c := q.Recorded.Input + q.Recorded.CacheRead + q.Recorded.CacheWrite; q.Tokens != c {
			t.Errorf("request %d: %d tokens, recorded %d", q.N, q.Tokens, c)
		}
	}
}

// TestRecordedSnip: the messages leave the recorded view where the line stands, raw and other policies keep them, and
// the fall of the context is explained.
func TestRecordedSnip(t *testing.T) {
	s := turns(2)
	s.line("system", map[string]any{"subtype": "snip_boundary", "removedUuids": []string{"l1", "l2", "l3", "l4"}})
	s.tell(`user 400; answer 21700: text 400`)
	got, tl := views(t, s, "recorded")
	must.Equal(t, got, []string{"l1", "l1 l2 l3", "l1 l2 l3 l4 l5", "l1 l2 l3 l4 l5 l6 l7", "l5 l6 l7 l8 l10"})
	wantContexts(t, tl)
	if len(tl.Events) != 1 {
		t.Fatalf("events %+v", tl.Events)
	}
	ev := tl.Events[0]
	want := replay.Event{
		Request: ev.Request, Stage: "recorded", Kind: policy.KindRemove, Trigger: "model", Reason: "the model snipped the turn",
		Before: ev.Before, Saved: ev.Before, Messages: 4, Targets: []replay.EventTarget{{Message: "l1"}, {Message: "l2"}, {Message: "l3"}, {Message: "l4"}},
		Recorded: &replay.RecordedEvent{File: "script", Line: 9, Trigger: "model"},
	}
	if diff := cmp.Diff(want, ev); diff != "" || *ev.Request != 5 || ev.Saved < 1400 || ev.Saved > 1700 {
		t.Errorf("event: -want +got\n%s", diff)
	}
	rows := mains(tl)
	if d := rows[4].Overhead - rows[3].Overhead; d < -100 || d > 100 {
		t.Errorf("the overhead moved by %d", d)
	}
	must.Equal(t, rows[4].Raw-rows[4].Tokens, ev.Saved)

	// A policy that changes nothing is shown it all, and reckons from there.
	got, none := views(t, s, "none")
	if want := "l1 l2 l3 l4 l5 l6 l7 l8 l10"; got[4] != want {
		t.Errorf("under none\n got %s\nwant %s", got[4], want)
	}
	if q := mains(none)[4]; q.Tokens != q.Raw || len(none.Events) != 0 {
		t.Errorf("under none: %+v, %+v", q, none.Events)
	}
}

// TestRecordedSnipCall: a call that no line follows removes what it names.
func TestRecordedSnipCall(t *testing.T) {
	s := turns(1)
	s.user(400)
	s.answer(context(21800), map[string]any{"type": "tool_use", "id": "t9", "name": "Snip", "input": map[string]any{"ids": []string{"l1"}, "reason": "given up"}})
	s.tell(`result t9 40; answer 20500: text 40`)
	got, tl := views(t, s, "recorded")
	if want := "l5 l6 l7"; got[3] != want {
		t.Errorf("seen %q, want %q", got[3], want)
	}
	if len(tl.Events) != 1 || tl.Events[0].Reason != "given up" || tl.Events[0].Recorded.Line != 6 || *tl.Events[0].Request != 4 {
		t.Errorf("events %+v", tl.Events)
	}
	wantContexts(t, tl)
}

// TestRecordedCollapse: the placeholder stands at the span's place; a later span takes it in; what has left the view
// is passed over.
func TestRecordedCollapse(t *testing.T) {
	s := turns(3)
	s.commit("c1", "s1", "l5", "l8")
	s.tell(`user 400; answer 23200: text 400`)
	s.commit("c2", "s2", "s1", "l12")
	s.commit("c3", "s3", "l6", "l7") // gone
	s.tell(`user 400; answer 22000: text 400`)
	got, tl := views(t, s, "recorded")
	for k, want := range map[int]string{
		6: "l1 l2 l3 l4 <collapsed id='c1'> l9 l10 l11 l12 l14",
		7: "l1 l2 l3 l4 <collapsed id='c2'> l14 l15 l18",
	} {
		must.Equal(t, got[k], want)
	}
	wantContexts(t, tl)
	var lines []string
	for _, ev := range tl.Events {
		lines = append(lines, fmt.Sprintf("%s@%d line %d, %d messages: %s", ev.Kind, *ev.Request, ev.Recorded.Line, ev.Messages, ev.Reason))
	}
	must.Equal(t, lines, []string{
		"collapse@7 line 13, 4 messages: the client collapsed messages 5 to 8",
		"collapse@8 line 16, 5 messages: the client collapsed messages 5 to 12",
	})
	// Each summary was a call of its own.
	calls := 0
	for _, q := range tl.Requests {
		if q.Kind == "collapse" {
			if calls++; q.Output < 40 || q.Output > 80 || q.Tokens < 20000 {
				t.Errorf("the call %+v", q)
			}
		}
	}
	if calls != 2 || tl.Totals.Calls != tl.Totals.Requests+2 || tl.Totals.Compactions != 0 {
		t.Errorf("%d calls; %+v", calls, tl.Totals)
	}
}

// TestRecordedReplacement: the recorded text is what was sent, at once or later; raw and the weights of other
// policies keep the result.
func TestRecordedReplacement(t *testing.T) {
	const stub = "<persisted-output>\nOutput too large (3.9KB). Full output saved to: /x/t1.txt\n\nPreview (first 2KB):\nrrrr\n</persisted-output>"
	s := newScript().tell(`user 400; answer 20000: read t1, read t2; result t1 4000; result t2 4000`)
	s.replaced(stub, "t1", "t2", "t9")
	s.tell(`answer 20360: read t3; result t3 4000; answer 21790: text 40`)
	s.replaced("[gone]", "t3")
	s.replaced(strings.Repeat("r", 4000), "t3") // too late: the first decision holds
	s.tell(`user 400; answer 20530: text 40`)
	_, tl := views(t, s, "recorded")
	wantContexts(t, tl)
	var got []string
	for _, ev := range tl.Events {
		got = append(got, fmt.Sprintf("%s@%d line %d, %d results", ev.Kind, *ev.Request, ev.Recorded.Line, ev.Results))
	}
	must.Equal(t, got, []string{"persist@2 line 6, 2 results", "clear@4 line 10, 1 results"})
	rows := mains(tl)
	for k, want := range []int{0, 2700, 2700, 4090} {
		if n := rows[k].Raw - rows[k].Tokens; n < want*9/10 || n > want*11/10 {
			t.Errorf("request %d: raw is %d above the recorded view, want about %d", k+1, n, want)
		}
	}
	if d := rows[1].Overhead - rows[0].Overhead; d < -150 || d > 150 {
		t.Errorf("the overhead moved by %d", d)
	}

	// What was written down as it was sent is no edit.
	s = newScript()
	s.tell(`user 400; answer {"input": 20000}: read t1; result t1 40`)
	s.replaced(strings.Repeat("r", 40), "t1")
	s.answer(jsonl.Usage{Input: 20100}, text(40))
	if _, tl := views(t, s, "recorded"); len(tl.Events) != 0 {
		t.Errorf("events %+v", tl.Events)
	}
}
