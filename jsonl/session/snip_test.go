package session_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// snips is a call of the Snip tool, a line of the message id.
func snips(uuid, parent, id, tool, reason string, ids ...string) line {
	return assistant(uuid, parent, id, line{"type": "tool_use", "id": tool, "name": "Snip", "input": line{"ids": ids, "reason": reason}})
}

// snipped is the line that lists what a snip removed.
func snipped(uuid, parent string, removed ...string) line {
	return system(uuid, parent, "snip_boundary").with("removedUuids", removed)
}

// twoTurns is two turns of one round each, and a call that snips the first.
func twoTurns() []any {
	return []any{
		user("u1", "", "find the TODOs"), called("a1", "u1", "m1", "t1"), result("r1", "a1", "t1"), said("a2", "r1", "m2"),
		user("u2", "a2", "never mind"), snips("a3", "u2", "m3", "t2", "given up", jsonl.ShortID("u1")), result("r2", "a3", "t2"),
	}
}

func oneSnip(t *testing.T, conv *session.Conversation) session.RecordedSnip {
	t.Helper()
	if len(conv.Snips) != 1 {
		t.Fatalf("%d snips, want 1: %+v", len(conv.Snips), conv.Snips)
	}
	return conv.Snips[0]
}

// TestSnip: the places where a line may list what was removed. Raw keeps it.
func TestSnip(t *testing.T) {
	removed := []string{"u1", "a1", "r1", "a2"}
	for name, l := range map[string]line{
		"on the line":      snipped("s1", "r2", removed...),
		"in snipMetadata":  system("s1", "r2", "snip_boundary").with("snipMetadata", line{"removedUuids": removed}),
		"on a boundary":    system("s1", "r2", "compact_boundary").with("removedUuids", removed),
		"a root of sorts":  snipped("s1", "", removed...).with("logicalParentUuid", "r2"),
		"logically lost":   snipped("s1", "", removed...).with("logicalParentUuid", "gone"),
		"without a parent": snipped("s1", "", removed...),
	} {
		t.Run(name, func(t *testing.T) {
			conv := load(t, append(twoTurns(), l, said("a4", "s1", "m4"), user("u3", "a4", "more"), said("a5", "u3", "m5"))...)
			wantShape(t, conv, "u1 a1 r1 a2 u2 a3 r2 a4 u3 a5")
			s := oneSnip(t, conv)
			must.Say(t, "8 7 4 given up 0 true", s.Line, s.Before, s.Request, s.Reason, s.Call, slices.Equal(s.Messages, []int{0, 1, 2, 3}))
			must.Equal(t, conv.Lines.Used, conv.Lines.Read, conv.Lines)
			if name != "on a boundary" { // which has no compactMetadata, and that is told
				wantNoWarning(t, conv)
			}
			if len(conv.Boundaries) > 0 {
				t.Errorf("boundaries %+v", conv.Boundaries)
			}
		})
	}
}

// TestSnipOnBoundary: a compaction that lists removed messages is both.
func TestSnipOnBoundary(t *testing.T) {
	b := boundary("b1", "r2", "auto", 1000).with("compactMetadata", object(`{"preTokens":1000,"removedUuids":["u1"],"trigger":"auto"}`))
	conv := load(t, append(twoTurns(), b, summary("y1", "b1"), said("a4", "y1", "m4"))...)
	wantShape(t, conv, "u1 a1 r1 a2 u2 a3 r2 [y1] a4")
	s := oneSnip(t, conv)
	must.Say(t, "7 true", s.Before, slices.Equal(s.Messages, []int{0}))
	one(t, conv)
}

// TestSnipAtTheEnd: a session that ends in a snip, with a call open before it.
func TestSnipAtTheEnd(t *testing.T) {
	conv := load(t, transcript(`user u1 - find; called a1 u1 m1 t1; snipped s1 a1 u1`))
	checkConversation(t, conv)
	if s := oneSnip(t, conv); s.Before > len(conv.Messages) {
		t.Errorf("snip %+v of %d messages", s, len(conv.Messages))
	}
}

// TestSnipRounds: a call and its results are removed together.
func TestSnipRounds(t *testing.T) {
	lines := transcript(`user u1 - go; called a1 u1 m1 t1; called a2 a1 m1 t2; result r1 a1 t1; result r2 a2 t2; said a3 r2 m2; user u2 a3 on`)
	must.Rows(t, `
r1    | [1, 2, 3]
a2    | [1, 2, 3]
a1 r2 | [1, 2, 3]
u1    | [0]
a3    | [4]
u2    | [5]
u1 r2 | [0, 1, 2, 3]
""    | null
`, func(removed string, want []int) {
		conv := load(t, append(slices.Clone(lines), snipped("s1", "u2", strings.Fields(removed)...), said("a4", "s1", "m3"))...)
		wantShape(t, conv, "u1 a1+a2 r1 r2 a3 u2 a4")
		if removed == "" {
			must.Say(t, "0 1", len(conv.Snips), conv.Lines.SetAside["system: snip_boundary"])
			return
		}
		must.Equal(t, oneSnip(t, conv).Messages, want, removed)
	})
}

// TestSnipHostile: what names nothing, or what cannot go.
func TestSnipHostile(t *testing.T) {
	conv := load(t, append(twoTurns(), snipped("s1", "r2", "nobody", "u1", "a4", "s1"), said("a4", "s1", "m4"))...)
	must.Equal(t, oneSnip(t, conv).Messages, []int{0})
	wantWarning(t, conv, 8, "2 of the 4 removed uuids", `"nobody"`)

	conv = load(t, transcript(`user u1 - go; called a1 u1 m1 t1; snipped s1 a1 a1 u1; user u2 s1 on`))
	if s := oneSnip(t, conv); !slices.Equal(s.Messages, []int{0, 1, 2}) || s.Before != 3 {
		t.Errorf("a lost result goes with its call: %+v", s)
	}

	conv = load(t, transcript(`user u1 - go; system s1 u1 snip_boundary removedUuids=5; said a1 s1 m1`))
	wantWarning(t, conv, 2, "removedUuids is partly unreadable")
	wantShape(t, conv, "u1 a1")
	if len(conv.Snips) > 0 {
		t.Errorf("snips %+v", conv.Snips)
	}
}

// TestSnipRepairedLinks: a client that has repaired the links over the gap leaves the removed lines beside the way
// from leaf to root. Raw has them.
func TestSnipRepairedLinks(t *testing.T) {
	lines := func(u2, u3 string) []any {
		return []any{
			user("u1", "", "one"), called("a1", "u1", "m1", "t1"), progress("p1", "a1"), result("r1", "p1", "t1"), said("a2", "r1", "m2"),
			user("u2", u2, "two"), said("a3", "u2", "m3"),
			user("u3", u3, "three"), said("a4", "u3", "m4"),
		}
	}
	const whole = "u1 a1 r1 a2 u2 a3 u3 a4 u4"
	for _, tt := range []struct {
		name    string
		lines   []any
		removed string
		want    string
	}{
		{"the first turn", lines("", "a3"), "u1 a1 r1 a2", whole},
		{"one in the middle", lines("a2", "a2"), "u2 a3", whole},
		{"two", lines("", ""), "u1 a1 r1 a2 u2 a3", whole},
		{"what was said beside it is a branch", append(lines("a2", "a2")[:7:7], user("x1", "a3", "no"), said("x2", "x1", "m9"), user("u3", "a2", "three"), said("a4", "u3", "m4")), "x2 u2 a3", whole},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conv := load(t, append(tt.lines, snipped("s1", "a4", strings.Fields(tt.removed)...), user("u4", "s1", "four"))...)
			wantShape(t, conv, tt.want)
			if s := oneSnip(t, conv); s.Before != 8 || len(s.Messages) < 2 {
				t.Errorf("snip %+v", s)
			}
		})
	}

	// Where the lines themselves are gone nothing stands in for them: what was removed was not sent.
	conv := load(t, transcript(`user u2 a2 two; said a3 u2 m3; snipped s1 a3 u1 a2; user u3 s1 three`))
	wantShape(t, conv, "u2 a3 u3")
	wantWarning(t, conv, 3, "2 of the 2 removed")
	must.Equal(t, len(conv.Warnings), 1, conv.Warnings)
}

// TestSnipCall: a call without a line that lists what it removed counts from its answer on; the turn it stands in
// waits for its end.
func TestSnipCall(t *testing.T) {
	own := jsonl.ShortID("u2")
	for _, tt := range []struct {
		name   string
		ids    []string
		failed bool
		want   []int // messages removed; nil: none
		before int
		unread string // an id the warning names
	}{
		{name: "a turn before", ids: []string{jsonl.ShortID("u1")}, want: []int{0, 1, 2, 3}, before: 7},
		{name: "by its uuid", ids: []string{"u1"}, want: []int{0, 1, 2, 3}, before: 7},
		{name: "by its tag", ids: []string{"[id:" + jsonl.ShortID("u1") + "]"}, want: []int{0, 1, 2, 3}, before: 7},
		{name: "twice", ids: []string{"u1", "u1"}, want: []int{0, 1, 2, 3}, before: 7},
		{name: "its own turn", ids: []string{own}, want: []int{4, 5, 6, 7}, before: 8},
		{name: "both", ids: []string{own, "u1"}, want: []int{0, 1, 2, 3, 4, 5, 6, 7}, before: 8},
		{name: "a turn to come", ids: []string{"u3"}, unread: "u3"},
		{name: "nobody's", ids: []string{"zzzzzz"}, unread: "zzzzzz"},
		{name: "no prompt", ids: []string{"a1"}, unread: "a1"},
		{name: "one of two", ids: []string{"zzzzzz", "u1"}, want: []int{0, 1, 2, 3}, before: 7, unread: "zzzzzz"},
		{name: "refused", ids: []string{"u1"}, failed: true},
		{name: "of nothing", ids: nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := twoTurns()
			lines[5] = snips("a3", "u2", "m3", "t2", "given up", tt.ids...)
			if tt.failed {
				lines[6].(line)["message"].(line)["content"].([]any)[0].(line)["is_error"] = true
			}
			conv := load(t, append(lines, said("a4", "r2", "m4"), user("u3", "a4", "more"), said("a5", "u3", "m5"))...)
			wantShape(t, conv, "u1 a1 r1 a2 u2 a3 r2 a4 u3 a5")
			if len(conv.SnipCalls) != 1 {
				t.Fatalf("calls %+v", conv.SnipCalls)
			}
			if c := conv.SnipCalls[0]; c.ToolID != "t2" || c.Line != 6 || c.Reason != "given up" || c.Message != 5 || c.Answered != 6 || c.Failed != tt.failed {
				t.Errorf("call %+v", c)
			}
			if tt.unread != "" {
				wantWarning(t, conv, 6, tt.unread)
			} else {
				wantNoWarning(t, conv)
			}
			if tt.want == nil {
				if len(conv.Snips) > 0 {
					t.Errorf("snips %+v", conv.Snips)
				}
				return
			}
			if s := oneSnip(t, conv); !slices.Equal(s.Messages, tt.want) || s.Before != tt.before || s.Call != 0 || s.Reason != "given up" || s.Line != 6 {
				t.Errorf("snip %+v", s)
			}
		})
	}

	// At the end of the file it has not taken effect, and its own turn has not ended.
	if conv := load(t, twoTurns()...); len(conv.Snips) > 0 {
		t.Errorf("snips %+v", conv.Snips)
	}
}

// TestSnipCallIDs: the ways in which ids may be written down. What does not read is told once, with what it names in
// vain.
func TestSnipCallIDs(t *testing.T) {
	u1, u2 := jsonl.ShortID("u1"), jsonl.ShortID("u2")
	for _, tt := range []struct {
		name   string
		ids    any
		want   []int    // prompts named
		unread string   // what the one warning holds
		names  []string // as they are kept; nil: those wanted
	}{
		{name: "a plain string", ids: u1, want: []int{0}, names: []string{u1}},
		{name: "the tag as a plain string", ids: "[id:" + u1 + "]", want: []int{0}, names: []string{"[id:" + u1 + "]"}},
		{name: "a tag without its brackets", ids: []any{"id:" + u1}, want: []int{0}, names: []string{"id:" + u1}},
		{name: "several in one string", ids: u1 + ", [id:" + u2 + "]", want: []int{0, 4}, names: []string{u1, "[id:" + u2 + "]"}},
		{name: "several in one element", ids: []any{u1 + " " + u2}, want: []int{0, 4}, names: []string{u1, u2}},
		{name: "nothing in it", ids: "", names: nil},
		{name: "null", ids: nil, names: nil},
		{name: "an element that is nothing", ids: []any{u1, nil}, want: []int{0}, unread: "partly unreadable", names: []string{u1}},
		{name: "a number and nothing", ids: []any{1, nil}, unread: "partly unreadable", names: []string{"1"}},
		{name: "a number", ids: 5, unread: `1 of the 1 ids of the Snip call name no prompt before it, "5"`, names: []string{"5"}},
		{name: "an object", ids: line{"id": u1}, unread: "partly unreadable"},
		{name: "a list in a list", ids: []any{[]any{u1}, u2}, want: []int{4}, unread: "partly unreadable", names: []string{u2}},
		{name: "several in vain", ids: []any{"zzzzzz", u1, "yyyyyy"}, want: []int{0}, unread: `2 of the 3 ids of the Snip call name no prompt before it, "zzzzzz"`, names: []string{"zzzzzz", u1, "yyyyyy"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := twoTurns()
			lines[5] = assistant("a3", "u2", "m3", line{"type": "tool_use", "id": "t2", "name": "Snip", "input": line{"ids": tt.ids, "reason": "given up"}})
			conv := load(t, append(lines, said("a4", "r2", "m4"), user("u3", "a4", "more"), said("a5", "u3", "m5"))...)
			c := conv.SnipCalls[0]
			must.Say(t, "true true given up", slices.Equal(c.Prompts, tt.want), slices.Equal(c.IDs, tt.names), c.Reason)
			switch {
			case tt.unread == "":
				wantNoWarning(t, conv)
			case len(conv.Warnings) != 1:
				t.Errorf("%d warnings, want 1: %v", len(conv.Warnings), conv.Warnings)
			default:
				wantWarning(t, conv, 6, tt.unread)
			}
		})
	}
}

// TestSnipCallByRecord: ids made in a way of the client's own are told by what was removed.
func TestSnipCallByRecord(t *testing.T) {
	lines := twoTurns()
	lines[5] = snips("a3", "u2", "m3", "t2", "given up", "abc123")
	conv := load(t, append(lines, snipped("s1", "r2", "u1", "a1", "r1", "a2"), said("a4", "s1", "m4"))...)
	if c := conv.SnipCalls[0]; !slices.Equal(c.Prompts, []int{0}) || c.Unknown != nil {
		t.Errorf("call %+v", c)
	}
	wantNoWarning(t, conv)
}

// TestPrompts: each id names one prompt, also where uuids begin alike.
func TestPrompts(t *testing.T) {
	uuid := func(k int) string { return fmt.Sprintf("0198c0de-1000-7000-8000-%012d", k) }
	var lines []any
	for k := range 20 {
		parent := ""
		if k > 0 {
			parent = fmt.Sprint("a", k-1)
		}
		lines = append(lines, user(uuid(k), parent, "go"), said(fmt.Sprint("a", k), uuid(k), fmt.Sprint("m", k)))
	}
	conv := load(t, lines...)
	p := conv.Prompts()
	seen := map[string]int{}
	for m := range conv.Messages {
		id := p.ID(m)
		must.Equal(t, id != "", conv.Messages[m].Class == session.ClassPrompt, m, id)
		if id == "" {
			continue
		}
		if at, twice := seen[id]; twice {
			t.Errorf("%s is message %d and %d", id, at, m)
		}
		seen[id] = m
		for _, name := range []string{id, "[id:" + id + "]", " " + id, conv.Messages[m].UUID} {
			must.Both(p.Find(name))(t, m, true)
		}
	}
	if len(seen) != 20 || p.ID(0) != jsonl.ShortID(uuid(0)) {
		t.Errorf("ids %v", seen)
	}
	if again := conv.Prompts(); !reflect.DeepEqual(p, again) {
		t.Error("made again they differ")
	}
}

// TestSnippedCircle: removed lines that are each other's parents are part of no conversation, in whichever order the others
// are.
func TestSnippedCircle(t *testing.T) {
	lines := transcript(`
user u1 - hello; said a1 u1 m1; user x1 x2 removed; said x2 x1 mx
user u2 a1 "go on"; said a2 u2 m2; snipped s1 a2 x1 x2; user u3 s1 "and on"; said a3 u3 m3
`)
	for _, swap := range []bool{false, true} {
		if swap {
			lines[4], lines[5] = lines[5], lines[4]
		}
		wantShape(t, load(t, lines...), "u1 a1 u2 a2 u3 a3")
	}
}
