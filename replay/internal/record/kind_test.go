package record

import (
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestCompactionKind: two responses, a compaction, a response. The windows of claude-opus-5-5 and claude-opus-4-5 are 1,000,000 and
// 200,000.
func TestCompactionKind(t *testing.T) {
	start := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	must.Rows(t, `
# what | version | the boundary | minutes after the last response | model before and after | what the responses used | kind
at the threshold | 2.1.37 | {"trigger": "auto", "preTokens": 167300} | 0 | 4-5 4-5 | [160000, 166000] | threshold
by hand | 2.1.299 | {"trigger": "manual", "preTokens": 90000} | 10 | 5-5 5-5 | [80000, 90000] | manual
54 minutes away | 2.1.299 | {"trigger": "auto", "preTokens": 341303} | 54 | 5-5 5-5 | [340000, 341303] | idle
the same, called manual | 2.1.286 | {"trigger": "manual", "preTokens": 341303} | 55 | 5-5 5-5 | [340000, 341303] | idle
the same of an older client | 2.1.260 | {"trigger": "auto", "preTokens": 341303} | 54 | 5-5 5-5 | [340000, 341303] | threshold
54 minutes away, little used | 2.1.299 | {"trigger": "auto", "preTokens": 90000} | 54 | 5-5 5-5 | [80000, 90000] | threshold
ten minutes away | 2.1.299 | {"trigger": "auto", "preTokens": 341303} | 10 | 5-5 5-5 | [340000, 341303] | threshold
54 minutes away, at the threshold | 2.1.299 | {"trigger": "auto", "preTokens": 968000} | 54 | 5-5 5-5 | [950000, 968000] | threshold
written ahead | 2.1.332 | {"trigger": "auto", "preTokens": 341303, "precomputed": true} | 0 | 5-5 5-5 | [340000, 341303] | precomputed
above the window | 2.1.170 | {"trigger": "auto", "preTokens": 201000} | 0 | 4-5 4-5 | [160000, 166000] | reactive
requests above the threshold before | 2.1.170 | {"trigger": "auto", "preTokens": 195000} | 0 | 4-5 4-5 | [180000, 190000] | reactive
the same of an older client | 2.1.145 | {"trigger": "auto", "preTokens": 195000} | 0 | 4-5 4-5 | [180000, 190000] | threshold
below every threshold that can be set | 2.1.260 | {"trigger": "auto", "preTokens": 29017} | 0 | 4-5 4-5 | [20000, 29000] | reactive
the same of a client that does not wait | 2.1.112 | {"trigger": "auto", "preTokens": 54017} | 0 | 4-5 4-5 | [50000, 54000] | ""
the same of a client without bounds | 2.1.84 | {"trigger": "auto", "preTokens": 54017} | 0 | 4-5 4-5 | [50000, 54000] | threshold
another model, as the record says | 2.1.170 | {"trigger": "model_change", "preTokens": 26900} | 0 | 4-5 4-5 | [20000, 26900] | model_change
a model with a smaller window | 2.1.170 | {"trigger": "auto", "preTokens": 400000} | 0 | 5-5 4-5 | [390000, 400000] | model_change
`, func(what, version string, b session.Boundary, minutes int, models string, used []int, want CompactionKind) {
		conv := &session.Conversation{Product: session.Product, Version: version}
		before, after, _ := strings.Cut(models, " ")
		for i, model := range []string{before, before, after} {
			m := session.Message{Role: session.Assistant, Model: "claude-opus-" + model, Version: version, Time: start}
			if i < 2 {
				m.Usage = jsonl.Usage{CacheRead: used[i], Write1h: 1}
			}
			conv.Requests = append(conv.Requests, session.APICall{N: i + 1, Message: i})
			conv.Messages = append(conv.Messages, m)
		}
		if minutes > 0 {
			b.Time = start.Add(time.Duration(minutes) * time.Minute)
		}
		b.Version, b.Before, b.Request, b.Summary = version, 2, 3, -1
		conv.Boundaries = []session.Boundary{b}
		r := &Record{Conv: conv, Models: price.Default(), Client: policy.RecorderOf(session.Product, stage.Families()), TTLs: lifetimes(conv)}
		must.Equal(t, r.CompactionKind(0), want, what, version)
	})
}

func TestCompactionKindText(t *testing.T) {
	must.Rows(t, `
# kind | trigger | want
threshold    | auto         | auto
""           | auto         | auto
manual       | manual       | manual
idle         | auto         | auto, while idle
reactive     | auto         | auto, reactive: prompt too long
model_change | model_change | model change
`, func(kind CompactionKind, trigger, want string) {
		must.Equal(t, kind.Text(trigger), want, kind, trigger)
	})
}
