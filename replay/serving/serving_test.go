package serving

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
)

const blockSize = 64

func load(t *testing.T, path string) *session.File {
	t.Helper()
	f, err := session.Load(path, session.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func policies(t *testing.T, names ...string) (list []*policy.Policy) {
	t.Helper()
	reg, err := stage.Registry()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		p, err := preset.Load(name, reg)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// prompt is a main request as its view has it: the messages with their texts.
type prompt struct {
	row      int
	messages []message
	head     int // tokens laid out before the messages
	laid     int // tokens laid out; what is beyond the payload is cut
	changes  [2]int
	fewer    int
}

type message struct {
	text   string
	tokens int
}

// read lists the messages of a payload, read from the file.
func read(t *testing.T, v *view.View) (list []message) {
	t.Helper()
	for id := range v.Items {
		var text strings.Builder
		add := func(c *policy.Content, at policy.Target) {
			s, err := v.TextOf(at, c)
			if err != nil {
				t.Fatal(err)
			}
			if c != nil && c.Ref == nil && c.Text == "" { // a number of tokens: nobody knows of what
				s = fmt.Sprint(at)
			}
			fmt.Fprintf(&text, "%d %q\n", v.Kind(at), s)
		}
		for b := range v.Blocks(id) {
			at := policy.Target{Item: id, Block: b}
			with, on := v.PayloadReplacement(at)
			switch {
			case on && with == nil:
				text.WriteString("removed\n")
			case on:
				add(with, at)
			default:
				add(v.Replacement(at), at)
			}
		}
		if tag := v.Tag(id); tag != nil {
			text.WriteString(tag.Text)
		}
		list = append(list, message{text.String(), v.PayloadWeight(id)})
	}
	return list
}

func common[T comparable](a, b []T) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// TestPrompts holds the numbers of blocks against the texts of the payloads, and the lengths against the rows of the
// replay: over the shipped sessions and their subagents, under policies that edit in every way.
func TestPrompts(t *testing.T) {
	files, err := filepath.Glob("../../testdata/sessions/*.jsonl")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d sessions: %v", len(files), err)
	}
	if dir := os.Getenv("CTXKIT_CORPUS"); dir != "" {
		more, _ := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
		for i, path := range more {
			if i%8 == 3 {
				files = append(files, path)
			}
		}
	}
	list := append(policies(t, "none", "opencode", "claude-code-2.1.19", "anthropic-context-editing", "sliding-window", "gemini-cli", "goose"), replay.RecordedTrack())
	equal, edited, calls := 0, 0, 0
	for _, path := range files {
		for _, conv := range load(t, path).Conversations() {
			rec, err := replay.NewRecord(conv)
			if err != nil {
				t.Fatal(err)
			}
			for _, pol := range list {
				l := New(blockSize)
				var prompts []prompt
				tl, err := rec.Replay(pol, replay.Options{Window: 60_000, Send: func(q *replay.SentRequest) {
					if l.Add(q); q.Call != nil {
						calls++
						return
					}
					p := prompt{row: len(l.Requests) - 1, messages: read(t, q.View), head: l.head[0].tokens + l.head[1].tokens, changes: [2]int{q.Head.SharedChanges, q.Head.Changes}, fewer: l.fewer}
					p.laid = p.head
					for i := range l.fillers {
						p.laid += l.fillers[i].tokens
					}
					for _, m := range p.messages {
						p.laid += m.tokens
					}
					prompts = append(prompts, p)
				}})
				if err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("%s %s under %s", path, conv.Agent, pol.Name)
				blocks := lengths(t, name, tl, l)
				for i := 1; i < len(prompts); i++ {
					a, b := &prompts[i-1], &prompts[i]
					if a.changes != b.changes || a.fewer < b.fewer {
						continue // the head is another one
					}
					same, n := common(blocks[a.row], blocks[b.row]), common(a.messages, b.messages)
					if n == len(a.messages) {
						equal++
						if all := min(len(blocks[a.row]), len(blocks[b.row])); same != all { // the second is the shorter one where the usage says so
							t.Errorf("%s, request %d: %d blocks as before, and the prompt goes on from all %d", name, i+1, same, all)
						}
						continue
					}
					edited++
					least, most := a.head, a.laid
					for k, m := range a.messages {
						if k < n {
							least += m.tokens
						} else if k > n {
							most -= m.tokens
						}
					}
					if whole := min(least, tl.Requests[a.row].Payload, tl.Requests[b.row].Payload) / blockSize; same < whole || same > most/blockSize {
						t.Errorf("%s, request %d: %d blocks as before, from %d to %d are equal", name, i+1, same, whole, most/blockSize)
					}
				}
			}
		}
	}
	if equal < 1000 || edited < 50 || calls < 20 {
		t.Errorf("%d prompts that go on, %d that were edited, %d calls", equal, edited, calls)
	}
}

// lengths compares the requests with the rows, and returns the blocks of each: equal in one place, equal in all before it.
func lengths(t *testing.T, name string, tl *replay.Timeline, l *PromptBlocks) (blocks [][]int) {
	t.Helper()
	if len(l.Requests) != len(tl.Requests) {
		t.Fatalf("%s: %d requests of %d", name, len(l.Requests), len(tl.Requests))
	}
	before, at := map[int]int{}, map[int]int{}
	for i, row := range tl.Requests {
		q := &l.Requests[i]
		list := l.AppendBlocks(nil, q)
		if q.In != row.Payload || q.Out != row.Output || q.Model != row.Model || len(list) != row.Payload/blockSize {
			t.Errorf("%s: request %d: %+v with %d blocks, the row has %d tokens, %d out, %q", name, i, q, len(list), row.Payload, row.Output, row.Model)
		}
		for k, n := range list {
			if n < 1 || n > l.Blocks() {
				t.Fatalf("%s: block %d of %d", name, n, l.Blocks())
			}
			last := 0
			if k > 0 {
				last = list[k-1]
			}
			if place, ok := at[n]; ok && (place != k || before[n] != last) {
				t.Fatalf("%s: block %d is at %d behind %d, and at %d behind %d", name, n, place, before[n], k, last)
			}
			at[n], before[n] = k, last
		}
		blocks = append(blocks, list)
	}
	return blocks
}

// sessionOf is a session of prompts and answers, each with the context that the API reported.
func sessionOf(t *testing.T, contexts ...int) *replay.Record {
	t.Helper()
	var b strings.Builder
	parent := "null"
	for i, n := range contexts {
		fmt.Fprintf(&b, `{"type":"user","uuid":"u%d","parentUuid":%s,"sessionId":"s","version":"2.1.19","timestamp":"2026-01-15T09:%02d:00Z","cwd":"/w","message":{"role":"user","content":"%s"}}`+"\n",
			i, parent, i, strings.Repeat("what ", 500))
		fmt.Fprintf(&b, `{"type":"assistant","uuid":"a%d","parentUuid":"u%d","sessionId":"s","version":"2.1.19","timestamp":"2026-01-15T09:%02d:20Z","cwd":"/w","message":{"id":"m%d","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"end_turn","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":%d,"output_tokens":500}}}`+"\n",
			i, i, i, i, strings.Repeat("that ", 500), n)
		parent = fmt.Sprintf(`"a%d"`, i)
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	rec, err := replay.NewRecord(load(t, path).Main)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// TestPromptsDrift: a payload that is a little more or less than its messages and the head leaves what is before its end as
// it was, and what is on no line once stays where it came.
func TestPromptsDrift(t *testing.T) {
	l := New(blockSize)
	drift := []int{0, 3, -70, -200, 900, 880}
	var sizes []int
	if _, err := sessionOf(t, 20500, 21500, 22500, 23500, 24500, 25500).Replay(policies(t, "none")[0], replay.Options{Send: func(q *replay.SentRequest) {
		row := *q.Request
		row.Payload += drift[q.N-1]
		q.Request = &row
		sizes = append(sizes, row.Payload)
		l.Add(q)
	}}); err != nil {
		t.Fatal(err)
	}
	var before []int
	for i := range l.Requests {
		list := l.AppendBlocks(nil, &l.Requests[i])
		if len(list) != sizes[i]/blockSize || common(before, list) != len(before) {
			t.Errorf("request %d has %d blocks, %d of the %d before", i+1, len(list), common(before, list), len(before))
		}
		before = list
	}
	if q := l.Requests[1]; q.Start.Format("04:05") != "01:00" || q.End.Format("04:05") != "01:20" || q.Stop != "end_turn" {
		t.Errorf("%+v", q)
	}
}

// TestPromptsHead: another head changes all blocks, but for the part that the client sends in all sessions.
func TestPromptsHead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		other replay.SentHead
		least int
		most  int
	}{
		{"the same", replay.SentHead{Shared: 6400}, 20000, 30000},
		{"a new process", replay.SentHead{Shared: 6400, Changes: 1}, 6400, 6400},
		{"other tools", replay.SentHead{Shared: 6400, SharedChanges: 1}, 0, 0},
	} {
		l := New(blockSize)
		n := 0
		if _, err := sessionOf(t, 20500, 21500).Replay(policies(t, "none")[0], replay.Options{Send: func(q *replay.SentRequest) {
			q.Head = replay.SentHead{Shared: 6400}
			if n++; n > 1 {
				q.Head = tt.other
			}
			l.Add(q)
		}}); err != nil {
			t.Fatal(err)
		}
		same := blockSize * common(l.AppendBlocks(nil, &l.Requests[0]), l.AppendBlocks(nil, &l.Requests[1]))
		if same < tt.least || same > tt.most {
			t.Errorf("%s: %d tokens as before, want %d to %d", tt.name, same, tt.least, tt.most)
		}
	}
}

// TestPromptsCalls: a call with the session's prefix begins as the session's requests do, up to its first change; another
// shares nothing.
func TestPromptsCalls(t *testing.T) {
	rec := sessionOf(t, 20500, 21500, 22500)
	l := New(blockSize)
	var prefixed, cut, own []int
	if _, err := rec.Replay(policies(t, "none")[0], replay.Options{Send: func(q *replay.SentRequest) {
		l.Add(q)
		if q.N != 3 {
			return
		}
		call := func(c policy.Call) []int {
			row := *q.Request
			row.Payload += 1000
			l.Add(&replay.SentRequest{Request: &row, Call: &c, View: q.View, Head: q.Head})
			return l.AppendBlocks(nil, &l.Requests[len(l.Requests)-1])
		}
		ids := q.View.IDs()
		prefixed = call(policy.Call{Prefix: "session", Prompt: 1000})
		cut = call(policy.Call{Prefix: "session", Prompt: 1000, Cut: &policy.Target{Item: ids[3]}})
		own = call(policy.Call{Prefix: "own", Prompt: 1000})
	}}); err != nil {
		t.Fatal(err)
	}
	last := l.AppendBlocks(nil, &l.Requests[2])
	if common(last, prefixed) != len(last) || len(prefixed) <= len(last) {
		t.Errorf("%d of %d blocks", common(last, prefixed), len(last))
	}
	if n, before := common(last, cut), len(l.AppendBlocks(nil, &l.Requests[1])); n < before || n >= len(last) {
		t.Errorf("%d of %d blocks up to the change, the request before has %d", n, len(last), before)
	}
	if common(last, own) != 0 || slices.Contains(last, own[0]) {
		t.Errorf("%d blocks of a call with its own prefix", common(last, own))
	}
}
