package backtest

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

func TestClose(t *testing.T) {
	must.Rows(t, `
# saved | wanted | want
20000 | 20000 | true
20200 | 20000 | true
19800 | 20000 | true
20201 | 20000 | false
19799 | 20000 | false
0     | 20000 | false
`, func(saved, wanted int, want bool) {
		m := Microcompacted{Saved: saved, Wanted: wanted}
		must.Equal(t, m.Close(), want, saved)
	})
}

// TestMicroUnscored: a recorded microcompaction of results that lie before the file is not scored, and the policy's
// at the same request is no false alarm.
func TestMicroUnscored(t *testing.T) {
	conv := &session.Conversation{Messages: make([]session.Message, 1), Requests: make([]session.APICall, 9), Micro: []session.Microcompaction{{Request: 3, ToolIDs: []string{"toolu_before"}}}}
	own := &replay.Timeline{}
	for _, n := range []int{5, 3} {
		own.Events = append(own.Events, replay.Event{Stage: "microcompact_size", Kind: policy.KindPersist, Request: &n, Saved: 700})
	}
	rec := must.Get(replay.NewRecord(conv))(t)
	s := &SessionScore{}
	s.microcompactions(rec, own, &replay.Timeline{})
	must.Say(t, "1 0 true", s.MicroUnknown, len(s.Micro), slices.Equal(s.MicroAlarms, []MicroAlarm{{Request: 5, Saved: 700}}))
	bars := Sum("p", []*SessionScore{s}).Fidelity
	i := slices.IndexFunc(bars, func(b Bar) bool { return b.Name == "microcompaction_alarms" })
	if i < 0 || bars[i].Value != 100 || bars[i].Of != 1 || !bars[i].Most {
		t.Errorf("%+v", bars)
	}
}
