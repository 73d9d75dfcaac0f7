package opencode_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ctxkit/ctxkit/policy/stage/opencode"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// decisions are those of the three versions, oldest version first.
func decisions(t *testing.T, messages []opencode.Message, cfg opencode.Config) [3]opencode.Decision {
	t.Helper()
	var out [3]opencode.Decision
	for i, v := range opencode.Versions() {
		round, err := v.LoopDecision(messages, opencode.Limit{Context: 200000, Output: 64000}, cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = round.Decision
	}
	return out
}

func TestLoopDecision(t *testing.T) {
	const exit, normal, overflow = opencode.DecideExit, opencode.DecideNormal, opencode.DecideOverflow
	tool := call("bash", "x")
	ran := tool
	ran.Metadata = []byte(`{"providerExecuted":true}`)
	interrupted := tool
	interrupted.State = opencode.State{Status: opencode.StatusError, Metadata: []byte(`{"interrupted":true}`)}
	failed := interrupted
	failed.State.Metadata = nil
	for _, test := range []struct {
		finish string
		part   opencode.Part
		want   [3]opencode.Decision
	}{
		{"stop", text("done"), [3]opencode.Decision{exit, exit, exit}},
		{"length", text("done"), [3]opencode.Decision{exit, exit, exit}},
		{"", text("cut off"), [3]opencode.Decision{normal, normal, normal}},
		{"tool-calls", tool, [3]opencode.Decision{normal, normal, normal}},
		{"unknown", text("?"), [3]opencode.Decision{normal, exit, normal}},
		{"stop", tool, [3]opencode.Decision{exit, normal, normal}},
		{"stop", failed, [3]opencode.Decision{exit, normal, normal}},
		{"stop", ran, [3]opencode.Decision{exit, exit, exit}},
		{"stop", interrupted, [3]opencode.Decision{exit, exit, exit}},
	} {
		var s session
		s.user(text("do it"))
		s.assistant(test.finish, test.part)
		stagetest.Same(t, test.want, decisions(t, s.messages, opencode.Config{}), test.finish, test.part.Type)
	}

	// A queued prompt: by id it is older than the answer, but it is not the one answered.
	var s session
	s.user(text("one"))
	s.user(text("two"))
	s.assistant("stop", text("done")).Info.ParentID = "msg_0001"
	if got, want := decisions(t, s.messages, opencode.Config{}), [3]opencode.Decision{exit, exit, normal}; got != want {
		t.Errorf("queued prompt: %v, want %v", got, want)
	}

	// The usage of the last finished message decides, unless compaction is off.
	s = session{}
	s.user(text("one"))
	s.assistant("tool-calls", tool).Info.Tokens.Input = 168000
	if got, want := decisions(t, s.messages, opencode.Config{}), [3]opencode.Decision{normal, overflow, overflow}; got != want {
		t.Errorf("at the limit: %v, want %v", got, want)
	}
	off := opencode.Config{Compaction: opencode.CompactionConfig{Auto: pointer(false)}}
	if got, want := decisions(t, s.messages, off), [3]opencode.Decision{normal, normal, normal}; got != want {
		t.Errorf("compaction off: %v, want %v", got, want)
	}
}

func TestLoopTasks(t *testing.T) {
	var s session
	s.user(text("one"))
	s.assistant("stop", text("done"))
	s.user(opencode.Part{Type: opencode.PartSubtask})
	s.user(opencode.Part{Type: opencode.PartCompaction})
	// The oldest is served first at 1.1.36, the newest in later versions.
	want := [3]opencode.Decision{opencode.DecideSubtask, opencode.DecideCompaction, opencode.DecideCompaction}
	stagetest.Same(t, want, decisions(t, s.messages, opencode.Config{}))
}

// TestLoopClockWraps has ids that start again from the beginning: only the order by time knows which message is the
// newer.
func TestLoopClockWraps(t *testing.T) {
	var s session
	s.user(text("one")).Info.ID = "msg_fff1"
	s.assistant("stop", text("done")).Info.ID = "msg_fff2"
	s.user(text("two")).Info.ID = "msg_0001"
	for i, want := range []string{"msg_0001", "msg_fff1", "msg_0001"} {
		v := opencode.Versions()[i]
		round, err := v.LoopDecision(s.messages, opencode.Limit{}, opencode.Config{}, nil)
		if err != nil || round.LastUser.ID != want {
			t.Errorf("%s: last user %+v, %v; want %s", v.Name, round.LastUser, err, want)
		}
	}
}

func TestLoopWithoutUser(t *testing.T) {
	var s session
	s.assistant("stop", text("hello"))
	for _, v := range opencode.Versions() {
		if _, err := v.LoopDecision(s.messages, opencode.Limit{}, opencode.Config{}, nil); !errors.Is(err, opencode.ErrNoUser) {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
}

func TestWrapQueued(t *testing.T) {
	var s session
	s.user(text("first"))
	s.assistant("tool-calls", call("bash", "x"))
	synthetic, ignored := text("synthetic"), text("ignored")
	synthetic.Synthetic, ignored.Ignored = true, true
	s.user(text("queued"), synthetic, ignored, text(" \n\ufeff"), text("\u0085"))
	wrapped := func(text string) string {
		return "<system-reminder>\nThe user sent the following message:\n" + text +
			"\n\nPlease address this message and continue with your tasks.\n</system-reminder>"
	}
	for _, v := range opencode.Versions() {
		for step := 1; step <= 2; step++ {
			want := []string{"first", "", "queued", "synthetic", "ignored", " \n\ufeff", "\u0085"}
			if v.Name == "pinned" && step > 1 {
				want[2], want[6] = wrapped("queued"), wrapped("\u0085")
			}
			var got []string
			for _, m := range v.WrapQueued(s.messages, step) {
				for _, p := range m.Parts {
					got = append(got, p.Text)
				}
			}
			stagetest.Same(t, want, got, v.Name, step)
		}
	}
	if s.messages[2].Parts[0].Text != "queued" {
		t.Error("the session was changed")
	}
}

func TestFilterUnfinishedCompaction(t *testing.T) {
	var s session
	s.user(text("one"))
	s.assistant("stop", text("done"))
	s.user(opencode.Part{Type: opencode.PartCompaction})
	s.assistant("", text("half a summary")).Info.Summary = true
	for _, v := range opencode.Versions() {
		stagetest.Same(t, len(s.messages), len(v.FilterCompacted(s.messages)), v.Name)
	}
}

func ExampleVersion_FilterCompacted() {
	var s session
	s.user(text("old"))
	s.assistant("stop", text("done"))
	s.user(text("recent"))
	s.assistant("stop", text("done"))
	s.user(opencode.Part{Type: opencode.PartCompaction, TailStartID: pointer("msg_0003")})
	s.assistant("stop", text("summary")).Info.Summary = true
	s.user(text(opencode.ContinueText))
	for _, v := range opencode.Versions() {
		fmt.Print(v.Name, ":")
		for _, m := range v.FilterCompacted(s.messages) {
			fmt.Print(" ", m.Info.ID)
		}
		fmt.Println()
	}
	// Output:
	// pinned: msg_0005 msg_0006 msg_0007
	// 1.18.3: msg_0005 msg_0006 msg_0003 msg_0004 msg_0007
	// 1.18.34: msg_0005 msg_0006 msg_0003 msg_0004 msg_0007
}
