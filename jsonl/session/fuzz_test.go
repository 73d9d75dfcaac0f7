package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// fuzzed is a session with a bit of everything.
func fuzzed() []line {
	lines := []line{
		snapshot(), progress("p0", ""), user("u1", "p0", "hello"), attachment("x1", "u1", "task_reminder"),
		assistant("a1", "x1", "m1", thinking()), called("a2", "a1", "m1", "t1"), called("a3", "a2", "m1", "t2"),
		progress("p1", "a2"), result("r1", "a2", "t1"), result("r2", "a3", "t2"), attachment("x2", "r1", "edited_text_file"),
		said("a4", "r2", "m2"), system("y1", "a4", "turn_duration"), user("u2", "y1", "wrong"), user("u3", "y1", "right"),
		result("r3", "a5", "t3"), called("a5", "u3", "m3", "t3"), micro("c1", "r3", 1000, "t1"), called("a6", "c1", "m4", "t4"),
		queued("q1", "a6", "and this"), result("r4", "a6", "t4"), lastPrompt("r4"),
		boundary("b1", "r4", "manual", 1000), summary("s1", "b1"),
	}
	for _, l := range compactLines("s1") {
		lines = append(lines, l.(line))
	}
	return append(lines,
		attachment("x3", "k3", "file"), user("u4", "x3", "on"), called("a7", "u4", "m5", "t5"), called("a8", "a7", "m5", "t6"),
		side(user("v1", "", "look")), side(called("w1", "v1", "n1", "t9")), side(result("v2", "w1", "t9")), side(said("w2", "v2", "n2")),
		user("r5", "a8", []any{line{"type": "tool_result", "tool_use_id": "t5"}, line{"type": "tool_result", "tool_use_id": "t6"}}),
		said("a9", "r5", "m6").with("isApiErrorMessage", true), said("a10", "r5", "m7"), replacement("t4", "stub"), staged(true, span("u2", "a6"), span("u4", "u4")),
		commit("c1", "s9", "u2", "r4"), snips("a12", "a10", "m9", "t7", "given up", jsonl.ShortID("u1"), "u3"), result("r6", "a12", "t7"), snipped("z1", "r6", "u1", "x1", "a3"),
		user("u5", "z1", "later"), snips("a13", "u5", "m10", "t8", "", "u5", "nobody"), result("r7", "a13", "t8"), user("u6", "r7", "last"), said("a14", "u6", "m11"), commit("c2", "s8", "u1", "s9"), boundary("b2", "lost", "auto", 2000), summary("s2", "b2"), said("a11", "s2", "m8"),
	)
}

// mutate changes a session by the bytes of ops, three at a time.
func mutate(lines []line, ops []byte) string {
	for ; len(ops) >= 3 && len(lines) > 0; ops = ops[3:] {
		i, j := int(ops[1])%len(lines), int(ops[2])%len(lines)
		switch ops[0] % 14 {
		case 0: // change places
			lines[i], lines[j] = lines[j], lines[i]
		case 1: // move
			l := lines[i]
			lines = slices.Insert(slices.Delete(lines, i, i+1), min(j, len(lines)-1), l)
		case 2: // drop
			lines = slices.Delete(lines, i, i+1)
		case 3: // say twice
			if len(lines) < 200 {
				lines = slices.Insert(lines, j, lines[i])
			}
		case 4: // copy under a uuid of its own
			if len(lines) < 200 {
				l := clone(lines[i])
				l["uuid"] = fmt.Sprintf("copy%d", len(lines))
				lines = slices.Insert(lines, j, l)
			}
		case 5: // hang elsewhere
			lines[i] = clone(lines[i]).with("parentUuid", lines[j]["uuid"])
		case 6: // hang in the air, on nothing, or know of no parents
			l := clone(lines[i])
			switch ops[2] % 3 {
			case 0:
				l["parentUuid"] = "gone"
			case 1:
				l["parentUuid"] = nil
			case 2:
				delete(l, "parentUuid")
			}
			lines[i] = l
		case 7: // another message's
			if m, ok := lines[i]["message"].(line); ok {
				if o, ok := lines[j]["message"].(line); ok {
					lines[i] = clone(lines[i])
					m = clone(m)
					m["id"] = o["id"]
					lines[i]["message"] = m
				}
			}
		case 8: // another's content, of the same role
			if m, ok := lines[i]["message"].(line); ok {
				if o, ok := lines[j]["message"].(line); ok && o["role"] == m["role"] {
					lines[i] = clone(lines[i])
					m = clone(m)
					m["content"] = o["content"]
					lines[i]["message"] = m
				}
			}
		case 9: // another uuid, logical parent or leaf
			key := []string{"uuid", "logicalParentUuid", "leafUuid"}[int(ops[2])%3]
			lines[i] = clone(lines[i]).with(key, lines[j]["uuid"])
		case 10: // of a sidechain, of another session
			lines[i] = clone(lines[i]).with("isSidechain", ops[2]%2 == 0).with("sessionId", fmt.Sprint("s", ops[2]%3))
		case 12: // a snip, or a span, of other lines
			l := clone(lines[i])
			for _, key := range []string{"removedUuids", "firstArchivedUuid", "lastArchivedUuid", "summaryUuid"} {
				if _, ok := l[key]; !ok {
					continue
				}
				if was, ok := l[key].([]string); ok {
					if u, ok := lines[j]["uuid"].(string); ok {
						l[key] = append(slices.Clone(was), u)
					}
				} else if ops[2]%2 == 0 {
					l[key] = lines[j]["uuid"]
				}
			}
			lines[i] = l
		case 13: // a line like any other now lists what was removed
			if u, ok := lines[j]["uuid"].(string); ok {
				lines[i] = clone(lines[i]).with("removedUuids", []string{u})
			}
		case 11: // cut short
			text := written(lines)
			return text[:len(text)*int(ops[1])/256]
		}
	}
	return written(lines)
}

func clone(l line) line {
	c := line{}
	for k, v := range l {
		c[k] = v
	}
	return c
}

func written(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		data, err := json.Marshal(l)
		if err != nil {
			panic(err)
		}
		b.Write(data)
		b.WriteByte('\n')
	}
	return b.String()
}

// FuzzLoad: whatever a session has been through, its lines are accounted for, nothing stands twice, and results
// follow their calls.
func FuzzLoad(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{88, 122, 41}) // a copy of the last message at the root
	for op := range byte(14) {
		f.Add([]byte{op, 8, 5, op, 11, 30, op, 25, 6, op, 34, 7})
	}
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) > 120 {
			return
		}
		text := mutate(fuzzed(), ops)
		f, err := session.LoadReader("hand-made", strings.NewReader(text), session.LoadOptions{})
		if err == nil {
			f.Close()
		}
		if refused := (*foreign.RefusedError)(nil); errors.As(err, &refused) {
			return // no line that tells whose it is was left
		}
		loadText(t, text, session.LoadOptions{})
	})
}
