package cmd

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage"
)

// keepLast is a stage of nobody's product: above a number of tokens all but the newest messages leave.
type keepLast struct {
	Trigger int `yaml:"trigger" doc:"messages leave once used reaches this" unit:"tokens" min:"1"`
	Keep    int `yaml:"keep" doc:"newest messages that stay" unit:"messages" min:"1"`
}

// Limits are what decides when keep_last acts.
func (p *keepLast) Limits(l *policy.StageLimits) {
	l.Add(policy.Limit{
		Name: "keep-last limit", Label: "last", Operator: ">=", Tokens: p.Trigger, Of: policy.OfContext, Acts: true,
		From: l.Name("keep_last.trigger"), Key: "keep_last.trigger",
	})
}

func (p *keepLast) Run(c *policy.Context) ([]policy.Edit, error) {
	ids := c.View.IDs()
	if c.Used < p.Trigger || len(ids) <= p.Keep {
		return nil, nil
	}
	return []policy.Edit{{
		Kind: policy.KindSummarize, Trigger: "auto", Reason: fmt.Sprintf("used %d >= %d", c.Used, p.Trigger),
		Insert: []policy.Synthetic{{Role: "user", Label: "summary", Summary: true, Contents: []policy.Content{{Tokens: 500}}}},
		Keep:   ids[len(ids)-p.Keep:],
	}}, nil
}

// ownFamily has the stage and a policy of it.
func ownFamily() policy.Family {
	return policy.Family{
		Name: "own", Title: "An agent of one's own",
		Presets: fstest.MapFS{"own-window.yaml": {Data: []byte("name: own-window\nabout: Keeps the last messages.\nsource: this test\ndate: 2026-11-22\ntruth: documented\nstages: [keep_last]\n")}},
		Stages: []policy.Definition{{
			Name: "keep_last", Summary: "Keeps the last messages.", Source: "this test", Truth: policy.TruthDescribed,
			Moments: policy.Prepare, Params: &keepLast{Trigger: 120000, Keep: 4}, Compaction: &policy.Compaction{},
			New: func(p any) (policy.Stage, error) { k := *p.(*keepLast); return &k, nil },
		}},
	}
}

// ownRecorder is what ownFamily knows of the client whose sessions are read: another Claude Code.
func ownRecorder() *policy.Recorder {
	return &policy.Recorder{
		Product: "claude-code",
		Version: func(string) policy.ClientVersion {
			return policy.ClientVersion{SilentFrom: 1000, SilentLeast: 2000, MarkedWindows: true}
		},
		Compactions: policy.Bands{{Name: "an own band"}},
		Lines:       policy.Bands{{Name: "an own band of lines"}},
	}
}

// TestOwnRecorder takes what is known of the recording client and of models from a family outside policy/stage.
func TestOwnRecorder(t *testing.T) {
	run := func(t *testing.T, families []policy.Family, args ...string) string {
		t.Helper()
		var out, said bytes.Buffer
		sys := newSystem(strings.NewReader(""), &out, &said)
		sys.families = families
		if err := execute(sys, args); err != nil {
			t.Fatalf("%v\n%s", err, said.String())
		}
		must.Do(t, sys.out.close())
		return out.String()
	}
	recorder := func() []policy.Family {
		list := stage.Families()
		for i := range list {
			list[i].Recorder = nil
		}
		own := ownFamily()
		own.Recorder = ownRecorder()
		return append(list, own)
	}
	thinking := func() []policy.Family {
		own := ownFamily()
		own.ClearsThinking = func(string) bool { return true }
		return append(stage.Families(), own)
	}
	folder := "../testdata/sessions/"
	for _, tt := range []struct {
		name     string
		families []policy.Family
		args     []string
		want     string // not there with the built-in families
	}{
		{"bands of backtest", recorder(), []string{"backtest", folder + "big.jsonl"}, "an own band"},
		{"bands of counters", recorder(), []string{"backtest", "--counters", folder + "big.jsonl"}, "an own band of lines"},
		{"a compaction's request", recorder(), []string{"replay", folder + "compaction.jsonl", "-p", "recorded"}, "recorded"},
		{"a microcompaction", recorder(), []string{"replay", folder + "microcompact.jsonl", "-p", "recorded"}, "recorded"},
		{"thinking of models", thinking(), []string{"view", folder + "thinking.jsonl", "--at", "4", "-p", "recorded"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, without := run(t, tt.families, tt.args...), run(t, nil, tt.args...)
			if !strings.Contains(got, tt.want) {
				t.Errorf("no %q in\n%s", tt.want, got)
			}
			if got == without {
				t.Errorf("the family changes nothing in\n%s", got)
			}
		})
	}
}

// TestOwnFamily registers a stage and a policy outside policy/stage and finds them in every output that knows stages.
func TestOwnFamily(t *testing.T) {
	run := func(t *testing.T, args ...string) (string, error) {
		t.Helper()
		var out, said bytes.Buffer
		sys := newSystem(strings.NewReader(""), &out, &said)
		sys.families = append(stage.Families(), ownFamily())
		err := execute(sys, args)
		if cerr := sys.out.close(); err == nil {
			err = cerr
		}
		return out.String() + said.String(), err
	}
	must.Rows(t, `
# what | line | texts in its output
thresholds | thresholds -p own-window | ["keep-last limit", "keep_last", "120,000"]
setting | thresholds -p own-window --set keep_last.trigger=90000 | ["90,000"]
the chart's line and the page's head | replay BIG -p own-window | ["┄ last 120K", "keep-last limit 120,000", "used 120"]
the timeline's limits | replay BIG -p own-window -f json | ["\"name\": \"keep-last limit\"", "\"tokens\": 120000", "\"label\": \"last\""]
lint | policy lint own-window,keep_last.trigger=5000000 | ["keep_last.trigger never 5,000,000 is not below 1,000,000, the window"]
show | policy show own-window | ["- keep_last:", "trigger: 120000"]
list | policy list | ["own-window"]
schema | policy schema | ["\"keep_last.trigger\""]
completion of policies | __complete replay --policy own | ["own-window"]
completion of parameters | __complete replay --set keep_last | ["keep_last.trigger="]
sweep | sweep BIG -p own-window --vary keep_last.trigger=90000,120000 | ["90000", "120000"]
`, func(name, line string, wants []string) {
		got, err := run(t, strings.Fields(strings.ReplaceAll(line, "BIG", "../testdata/sessions/big.jsonl"))...)
		if err != nil && name != "lint" {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
	})
}
