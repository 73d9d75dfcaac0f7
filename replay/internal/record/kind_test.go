package record

import (
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestCompactionKind: two responses, a compaction, a response.
func TestCompactionKind(t *testing.T) {
	const opus, old = "claude-opus-5-5", "claude-opus-4-5-20251101" // windows of 1,000,000 and 200,000
	start := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		what, version string
		b             session.Boundary
		models        [3]string
		used          [2]int
		want          CompactionKind
	}{
		{"at the threshold", "2.1.37", session.Boundary{Trigger: "auto", PreTokens: 167300}, [3]string{old, old, old}, [2]int{160000, 166000}, CompactionThreshold},
		{"by hand", "2.1.299", session.Boundary{Trigger: "manual", PreTokens: 90000, Time: start.Add(10 * time.Minute)}, [3]string{opus, opus, opus}, [2]int{80000, 90000}, CompactionManual},
		{"54 minutes away", "2.1.299", session.Boundary{Trigger: "auto", PreTokens: 341303, Time: start.Add(54 * time.Minute)}, [3]string{opus, opus, opus}, [2]int{340000, 341303}, CompactionIdle},
		{"the same, called manual", "2.1.286", session.Boundary{Trigger: "manual", PreTokens: 341303, Time: start.Add(55 * time.Minute)}, [3]string{opus, opus, opus}, [2]int{340000, 341303}, CompactionIdle},
		{"the same of an older client", "2.1.260", session.Boundary{Trigger: "auto", PreTokens: 341303, Time: start.Add(54 * time.Minute)}, [3]string{opus, opus, opus}, [2]int{340000, 341303}, CompactionThreshold},
		{"54 minutes away, little used", "2.1.299", session.Boundary{Trigger: "auto", PreTokens: 90000, Time: start.Add(54 * time.Minute)}, [3]string{opus, opus, opus}, [2]int{80000, 90000}, CompactionThreshold},
		{"ten minutes away", "2.1.299", session.Boundary{Trigger: "auto", PreTokens: 341303, Time: start.Add(10 * time.Minute)}, [3]string{opus, opus, opus}, [2]int{340000, 341303}, CompactionThreshold},
		{"54 minutes away, at the threshold", "2.1.299", session.Boundary{Trigger: "auto", PreTokens: 968000, Time: start.Add(54 * time.Minute)}, [3]string{opus, opus, opus}, [2]int{950000, 968000}, CompactionThreshold},
		{"written ahead", "2.1.332", session.Boundary{Trigger: "auto", PreTokens: 341303, Precomputed: true}, [3]string{opus, opus, opus}, [2]int{340000, 341303}, CompactionPrecomputed},
		{"above the window", "2.1.170", session.Boundary{Trigger: "auto", PreTokens: 201000}, [3]string{old, old, old}, [2]int{160000, 166000}, CompactionReactive},
		{"requests above the threshold before", "2.1.170", session.Boundary{Trigger: "auto", PreTokens: 195000}, [3]string{old, old, old}, [2]int{180000, 190000}, CompactionReactive},
		{"the same of an older client", "2.1.145", session.Boundary{Trigger: "auto", PreTokens: 195000}, [3]string{old, old, old}, [2]int{180000, 190000}, CompactionThreshold},
		{"below every threshold that can be set", "2.1.260", session.Boundary{Trigger: "auto", PreTokens: 29017}, [3]string{old, old, old}, [2]int{20000, 29000}, CompactionReactive},
		{"the same of a client that does not wait", "2.1.112", session.Boundary{Trigger: "auto", PreTokens: 54017}, [3]string{old, old, old}, [2]int{50000, 54000}, CompactionUnknown},
		{"the same of a client without bounds", "2.1.84", session.Boundary{Trigger: "auto", PreTokens: 54017}, [3]string{old, old, old}, [2]int{50000, 54000}, CompactionThreshold},
		{"another model, as the record says", "2.1.170", session.Boundary{Trigger: "model_change", PreTokens: 26900}, [3]string{old, old, old}, [2]int{20000, 26900}, CompactionModelChange},
		{"a model with a smaller window", "2.1.170", session.Boundary{Trigger: "auto", PreTokens: 400000}, [3]string{opus, opus, old}, [2]int{390000, 400000}, CompactionModelChange},
	} {
		conv := &session.Conversation{Product: session.Product, Version: c.version}
		for i, model := range c.models {
			m := session.Message{Role: session.Assistant, Model: model, Version: c.version, Time: start}
			if i < 2 {
				m.Usage = jsonl.Usage{CacheRead: c.used[i], Write1h: 1}
			}
			conv.Requests = append(conv.Requests, session.APICall{N: i + 1, Message: i})
			conv.Messages = append(conv.Messages, m)
		}
		c.b.Version, c.b.Before, c.b.Request, c.b.Summary = c.version, 2, 3, -1
		conv.Boundaries = []session.Boundary{c.b}
		r := &Record{Conv: conv, Models: price.Default(), Client: policy.RecorderOf(session.Product, stage.Families()), TTLs: lifetimes(conv)}
		must.Equal(t, r.CompactionKind(0), c.want, c.what, c.version)
	}
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
