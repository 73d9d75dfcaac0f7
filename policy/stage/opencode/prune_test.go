package opencode_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/policy/stage/opencode"
)

// session builds messages for tests: ids count up, and an assistant message answers the last user message.
type session struct {
	messages []opencode.Message
	parent   string
}

func (s *session) add(role string, parts ...opencode.Part) *opencode.Message {
	n := len(s.messages) + 1
	m := opencode.Message{Info: opencode.Info{ID: fmt.Sprintf("msg_%04d", n), Role: role}}
	m.Info.Time.Created = int64(n)
	for i, p := range parts {
		p.ID = fmt.Sprintf("prt_%04d_%d", n, i)
		m.Parts = append(m.Parts, p)
	}
	s.messages = append(s.messages, m)
	return &s.messages[n-1]
}

func (s *session) user(parts ...opencode.Part) *opencode.Message {
	m := s.add(opencode.RoleUser, parts...)
	s.parent = m.Info.ID
	return m
}

func (s *session) assistant(finish string, parts ...opencode.Part) *opencode.Message {
	m := s.add(opencode.RoleAssistant, parts...)
	m.Info.ParentID, m.Info.Finish = s.parent, finish
	m.Info.ProviderID, m.Info.ModelID = "anthropic", "claude"
	return m
}

func text(s string) opencode.Part { return opencode.Part{Type: opencode.PartText, Text: s} }

func call(tool, output string) opencode.Part {
	return opencode.Part{Type: opencode.PartTool, Tool: tool, CallID: "call", State: opencode.State{
		Status: opencode.StatusCompleted, Input: []byte(`{}`), Output: output,
	}}
}

// output is a completed call of a tool whose output estimates to n tokens.
func output(tool string, n int) opencode.Part { return call(tool, strings.Repeat("a", 4*n)) }

func (s *session) twoTurns() []opencode.Message {
	for range 2 {
		s.user(text("next"))
		s.assistant("stop", text("done"))
	}
	return s.messages
}

func TestPruneThresholds(t *testing.T) {
	for _, test := range []struct {
		about         string
		outputs       []int // oldest first
		total, pruned int
		marks         []string
	}{
		{"nothing", nil, 0, 0, nil},
		{"39,999 protected", []int{39999}, 39999, 0, nil},
		{"40,000 protected", []int{40000}, 40000, 0, nil},
		{"40,001: the crossing part goes whole", []int{40001}, 40001, 40001, []string{"prt_0002_0"}},
		{"40,000, then 19,999 saved", []int{19999, 40000}, 59999, 19999, nil},
		{"40,000, then 20,000 saved", []int{20000, 40000}, 60000, 20000, nil},
		{"40,000, then 20,001 saved", []int{20001, 40000}, 60001, 20001, []string{"prt_0002_0"}},
		{"20,000 cross and 1 more", []int{1, 20000, 40000}, 60001, 20001, []string{"prt_0002_1", "prt_0002_0"}},
		{"39,999 and 1 stay", []int{20001, 1, 39999}, 60001, 20001, []string{"prt_0002_0"}},
		{"empty outputs behind go along", []int{0, 20001, 0, 40000}, 60001, 20001, []string{"prt_0002_1", "prt_0002_0"}},
	} {
		var s session
		s.user(text("do it"))
		var parts []opencode.Part
		for _, n := range test.outputs {
			parts = append(parts, output("bash", n))
		}
		s.assistant("stop", parts...)
		got := opencode.Prune(s.twoTurns(), opencode.DefaultPruneRules())
		var marks []string
		for _, m := range got.Marks {
			marks = append(marks, m.PartID)
		}
		if got.Total != test.total || got.Pruned != test.pruned || !slices.Equal(marks, test.marks) {
			t.Errorf("%s: total %d, pruned %d, marks %v; want %d, %d, %v",
				test.about, got.Total, got.Pruned, marks, test.total, test.pruned, test.marks)
		}
	}
}

func TestPruneRulesAreParameters(t *testing.T) {
	var s session
	s.user(text("do it"))
	s.assistant("stop", output("read", 10), output("bash", 10), output("bash", 10))
	s.user(text("next"))
	rules := opencode.PruneRules{Protect: 10, Minimum: 9, Turns: 1, ProtectedTools: []string{"read"}}
	got := opencode.Prune(s.messages, rules)
	if got.Total != 20 || got.Pruned != 10 || len(got.Marks) != 1 || got.Marks[0].PartID != "prt_0002_1" {
		t.Errorf("got %+v", got)
	}
}

func TestReplayWaitsForTheAnswer(t *testing.T) {
	var s session
	s.user(text("one"))
	s.assistant("stop", text("done"))
	s.user(text("two"))
	s.user(text("queued"))
	s.assistant("tool-calls", output("bash", 1))
	s.assistant("stop", text("done"))
	s.user(text("unanswered"))
	var after []string
	for _, b := range opencode.Replay(s.messages, opencode.DefaultPruneRules()) {
		after = append(after, b.After)
	}
	if diff := cmp.Diff([]string{"msg_0002", "msg_0006"}, after); diff != "" {
		t.Error(diff)
	}
}

// FuzzPrune builds sessions from bytes and checks what holds of every prune.
func FuzzPrune(f *testing.F) {
	f.Add([]byte("u\x00\x00a\x01\xf0a\x01\xf0u\x00\x00a\x00\x00u\x00\x00"))
	f.Add([]byte("a\xff\xffa\xff\xffuuuaaas\x00\x00a\xff\xfe"))
	f.Add([]byte("u00b\xff\xffb\xff\xfek\xff\xffb\xff\xffe00u00u00"))
	shared := strings.Repeat("a", 1<<18)
	f.Fuzz(func(t *testing.T, data []byte) {
		messages := fuzzSession(data, shared)
		original := opencode.CloneMessages(messages)
		rules := opencode.DefaultPruneRules()
		first := opencode.Prune(messages, rules)
		if diff := cmp.Diff(original, messages); diff != "" {
			t.Fatalf("prune changed the session:\n%s", diff)
		}
		checkPruning(t, messages, first, rules)
		first.Apply(messages, 1)
		// The newest mark is the first output behind the protected ones, and a cleared output ends the walk: nothing
		// is left to do.
		if again := opencode.Prune(messages, rules); len(first.Marks) > 0 && (len(again.Marks) > 0 || again.Pruned != 0) {
			t.Fatalf("a second prune finds %+v after %+v", again, first)
		} else if len(first.Marks) == 0 && !cmp.Equal(first, again) {
			t.Fatalf("two prunes that mark nothing differ: %+v, %+v", first, again)
		}
		for _, v := range opencode.Versions() {
			view := v.FilterCompacted(messages)
			v.ToModelMessages(view, opencode.Model{}, opencode.ModelOptions{})
			_, _ = v.LoopDecision(view, opencode.Limit{Context: 200000}, opencode.Config{}, nil)
		}
		opencode.Replay(messages, rules)
	})
}

// fuzzSession takes three bytes a message or part: its kind, and a size.
func fuzzSession(data []byte, shared string) []opencode.Message {
	var s session
	s.assistant("stop")
	for ; len(data) >= 3; data = data[3:] {
		last := &s.messages[len(s.messages)-1]
		p := output("bash", 0)
		p.ID = fmt.Sprintf("prt_%d_%d", len(s.messages), len(last.Parts))
		p.State.Output = shared[:int(binary.LittleEndian.Uint16(data[1:3]))*4]
		switch data[0] % 9 {
		case 0:
			s.user(text("prompt"))
			continue
		case 1:
			s.assistant("stop", text("answer"))
			continue
		case 2:
			s.user(opencode.Part{Type: opencode.PartCompaction})
			s.assistant("stop", text("summary")).Info.Summary = true
			continue
		case 3:
			p.Tool = "skill"
		case 4:
			p.State.Status = opencode.StatusError
		case 5:
			p.State.Time.Compacted = int64(data[1])
		}
		last.Parts = append(last.Parts, p)
	}
	return s.messages
}

// checkPruning checks what is marked against the outputs prune may visit.
func checkPruning(t *testing.T, messages []opencode.Message, p opencode.Pruning, rules opencode.PruneRules) {
	t.Helper()
	if p.Pruned > p.Total {
		t.Fatalf("pruned %d of %d", p.Pruned, p.Total)
	}
	if len(p.Marks) > 0 != (p.Pruned > rules.Minimum) {
		t.Fatalf("%d marks for %d tokens", len(p.Marks), p.Pruned)
	}
	var users []int
	for i, m := range slices.Backward(messages) {
		if m.Info.Role == opencode.RoleUser {
			users = append(users, i)
		}
	}
	marked := map[[2]int]bool{}
	sum := 0
	for i, m := range p.Marks {
		if len(users) < rules.Turns || m.Message > users[rules.Turns-1] {
			t.Fatalf("mark %+v lies within the protected turns (user messages at %v)", m, users)
		}
		if i > 0 {
			before := p.Marks[i-1]
			if m.Message > before.Message || m.Message == before.Message && m.Part >= before.Part {
				t.Fatalf("marks are not newest first: %+v, %+v", before, m)
			}
		}
		part := messages[m.Message].Parts[m.Part]
		if part.ID != m.PartID || part.State.Status != opencode.StatusCompleted || part.Tool == "skill" || part.State.Time.Compacted != 0 {
			t.Fatalf("mark %+v on %+v", m, part.State.Status)
		}
		sum += opencode.EstimateText(part.State.Output)
		marked[[2]int{m.Message, m.Part}] = true
	}
	if len(p.Marks) == 0 {
		return
	}
	if sum != p.Pruned {
		t.Fatalf("the marks hold %d tokens, pruned is %d", sum, p.Pruned)
	}
	// Frontier: from the newest mark to the oldest, every output that could be marked is.
	first, last := p.Marks[0], p.Marks[len(p.Marks)-1]
	for i := last.Message; i <= first.Message; i++ {
		for j, part := range messages[i].Parts {
			if i == last.Message && j < last.Part || i == first.Message && j > first.Part {
				continue
			}
			if part.Type == opencode.PartTool && part.State.Status == opencode.StatusCompleted && part.Tool != "skill" && !marked[[2]int{i, j}] {
				t.Fatalf("output %d/%d lies between marks and is not marked", i, j)
			}
		}
	}
}
