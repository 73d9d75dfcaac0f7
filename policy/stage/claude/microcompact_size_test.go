package claude

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func bySize(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	return stagetest.Start(t, defineMicrocompactSize(), set, args...)
}

// sizes is a conversation with one result a round, in tokens.
func sizes(tokens ...int) *stagetest.Convo {
	c := stagetest.Talk(`prompt go`)
	for i, n := range tokens {
		c.Play(`call t%d Read %d`, i, 4*n)
	}
	c.Play(`assistant say done`)
	return c
}

// usage makes the last request's figures.
func usage(r *stagetest.Bench, used, tail int) *stagetest.Bench {
	r.Used = func(k int) (int, int) {
		if k == len(r.C.Requests)-1 {
			return used, tail
		}
		return 0, 0
	}
	return r
}

func TestMicrocompactSize(t *testing.T) {
	must.Rows(t, `
# name | change | tokens | used | tail | want
the definition's example       | ""                    | [30000,15000,10000,5000,400,100] | 136000 | 0    | [0]
134,999                        | ""                    | [30000,30000,1,1,1]              | 134999 | 0    | null
135,000                        | ""                    | [30000,30000,1,1,1]              | 135000 | 0    | [0]
the tail does not count        | ""                    | [30000,30000,1,1,1]              | 136939 | 1940 | null
unless it is asked for         | gate: usage_plus_tail | [30000,30000,1,1,1]              | 136939 | 1940 | [0]
19,999 saved                   | ""                    | [19999,39997,1,1,1]              | 150000 | 0    | null
20,000 saved                   | ""                    | [20000,39998,1,1,0]              | 150000 | 0    | [0]
40,000 are left                | ""                    | [20000,39997,1,1,1]              | 150000 | 0    | [0]
40,001 are not                 | ""                    | [20000,39998,1,1,1]              | 150000 | 0    | [0,1]
40,000 from the beginning      | ""                    | [20000,19997,1,1,1]              | 150000 | 0    | null
the last three are kept        | ""                    | [30000,30000,30000,30000,30000]  | 150000 | 0    | [0,1]
three alone                    | ""                    | [50000,50000,50000]              | 199000 | 0    | null
by hand: no gates              | manual: true          | [19999,39997,1,1,1]              | 0      | 0    | [0]
by hand: the target stays      | manual: true          | [20000,19997,1,1,1]              | 0      | 0    | null
another target keeps the gates | target: 10            | [19990,1,1,1,1]                  | 134999 | 0    | null
no tools                       | tools: []             | [30000,30000,1,1,1]              | 150000 | 0    | null
`, func(name, change string, tokens []int, used, tail int, theWant []int) {
		p := bySize(t, change)
		r := usage(stagetest.NewRun(t, sizes(tokens...), p), used, tail).All()
		var got []int
		for i := range tokens {
			at := 2 + 2*i
			if r.Shown(at) == "" {
				continue
			}
			got = append(got, i)
			stub := fmt.Sprintf("<persisted-output>Tool result saved to: ~/.claude/projects/-home-u-p/session/tool-results/t%d.txt\n\nUse Read to view</persisted-output>", i)
			must.Equal(t, r.Shown(at), stub, "stub")
		}
		must.Equal(t, got, theWant, name)
		if len(got) > 0 && !p.Stage.(*microcompactSize).Manual { // that fires before the last request
			sum, saved := 0, 0
			for i, n := range tokens {
				sum += n
				if i < len(got) {
					saved += n
				}
			}
			want := map[string]int{"pre_tokens": sum, "tokens_saved": saved, "compacted_ids": len(got)}
			must.Equal(t, r.View.Edits()[0].Detail, want, "detail")
		}
	})
}

// The 2.1.19 analysis' stub.
func TestPersistedStub(t *testing.T) {
	conv := &session.Conversation{CWD: "/Users/xxx/a.b", SessionID: "s1"}
	want := "<persisted-output>Tool result saved to: ~/.claude/projects/-Users-xxx-a-b/s1/tool-results/toolu_01ABC123.txt\n\nUse Read to view</persisted-output>"
	got, plain := persistedStub(conv, "toolu_01ABC123", "txt"), policy.NewContent(jsonl.KindToolResult, want)
	if got.Text != want || got.Length != plain.Length || !got.Same(&plain) || !plain.Same(&got) {
		t.Errorf("got %q, of %+v, want %+v", got.Text, got.Length, plain.Length)
	}
	other := persistedStub(conv, "toolu_01ABC124", "txt")
	must.Say(t, "false false", other.Same(&got), other.Same(&plain))
	escaping := persistedStub(conv, "../../x", "txt")
	if got := escaping.Text; strings.Contains(got, "..") {
		t.Errorf("an id that leaves the folder: %q", got)
	}
}

// What counts and what is touched are two things.
func TestMicrocompactSizeLeaves(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	memory := c.Attach("memory", stagetest.Say("remember"))
	other := c.Attach("file", stagetest.Say("a file"))
	add := func(id string, p stagetest.BlockText) int {
		c.Play(`assistant use %q Bash`, id)
		return c.Answers(p)
	}
	big := c.Call("a", "Read", 4*50000)
	empty := add("b", stagetest.Result("b", ""))
	clear := add("c", stagetest.Result("c", ClearedText))
	stub := add("d", stagetest.Result("d", "text with <persisted-output> in it"))
	array := add("e", stagetest.Results("e", "<persisted-output>", stagetest.Image))
	none := add("f", stagetest.Results("f"))
	same := add("g", stagetest.Result("g", strings.Repeat("z", len(ClearedText)))) // as long as the cleared text
	free := c.Call("h", "Task", 4*90000)
	for i := range 3 {
		c.Play(`call %v Bash %d`, i, 4*20000)
	}
	c.Play(`assistant say done`)
	p := bySize(t, "persist: false")
	r := usage(stagetest.NewRun(t, c, p), 135000, 0).All()
	for _, m := range []int{big, array, same} {
		must.Equal(t, r.Shown(m), ClearedText, m)
	}
	for _, m := range []int{empty, clear, stub, none, free} {
		must.Equal(t, r.Shown(m), "", m)
	}
	must.Say(t, "false true", r.View.Has(policy.ItemID(memory)), r.View.Has(policy.ItemID(other)))
	// 50,000 + 0 + 8 + 9 + (5 + 2,000) + 0 + 8 are marked: all that are not among the last three.
	want := map[string]int{"pre_tokens": 112030, "tokens_saved": 52030, "compacted_ids": 7, "cleared_attachments": 1}
	must.Equal(t, r.View.Edits()[0].Detail, want)
}

// naive is the analysis' listing over whole messages, from the beginning at every request, with the sets it keeps:
// compacted ids and token counts.
type naive struct {
	p         *MicrocompactSize
	compacted map[string]bool
	counted   map[string]int
}

// content is what the messages hold of one result.
type content struct {
	at     policy.Target
	text   string
	array  bool
	images int
	parts  []string
}

func (n *naive) run(ids []string, contents map[string]*content, aboveWarning bool) (marked map[string]bool, sum, saved int) {
	count := func(id string) int {
		c := contents[id]
		if c == nil {
			return 0
		}
		if _, ok := n.counted[id]; !ok {
			tokens := (len(c.text) + 2) / 4
			if c.array {
				tokens = 2000 * c.images
				for _, p := range c.parts {
					tokens += (len(p) + 2) / 4
				}
			}
			n.counted[id] = tokens
		}
		return n.counted[id]
	}
	var w []string
	for _, id := range ids {
		if !n.compacted[id] {
			w = append(w, id)
			sum += count(id)
		}
	}
	marked = map[string]bool{}
	for i, id := range w {
		if i >= len(w)-n.p.KeepRecent {
			continue
		}
		if sum-saved > n.p.Target {
			marked[id] = true
			saved += count(id)
		}
	}
	if !n.p.Manual && (!aboveWarning || saved < n.p.MinSavings) {
		return map[string]bool{}, sum, saved
	}
	for id := range marked {
		n.compacted[id] = true
		c := contents[id]
		already := !c.array && (c.text == ClearedText || strings.Contains(c.text, "<persisted-output>") || c.text == "")
		if c.array && len(c.parts)+c.images == 0 || already {
			continue
		}
		ext := "txt"
		if c.array {
			ext = "json"
		}
		stub := persistedStub(&session.Conversation{SessionID: "session", CWD: "/home/u/p"}, id, ext)
		c.text, c.array = stub.Text, false
	}
	return marked, sum, saved
}

func TestMicrocompactSizeAgainstNaive(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c := stagetest.Talk(`prompt go`)
		ids, contents := []string{}, map[string]*content{}
		upTo := []int{} // ids at each request
		for i := range 2 + rng.IntN(40) {
			upTo = append(upTo, len(ids))
			var calls, answers []stagetest.BlockText
			for j := range 1 + rng.IntN(3) {
				id := fmt.Sprintf("t%d.%d", i, j)
				tool := []string{"Read", "Bash", "Task", "Grep"}[rng.IntN(4)]
				calls = append(calls, stagetest.Use(id, tool))
				p, ct := stagetest.Result(id, strings.Repeat("x", rng.IntN(12000))), &content{}
				switch rng.IntN(12) {
				case 0:
					p = stagetest.Result(id, ClearedText)
				case 1:
					p = stagetest.Result(id, "a <persisted-output> b")
				case 2:
					p = stagetest.Result(id, "")
				case 3:
					ct.parts = []string{strings.Repeat("p", rng.IntN(9000)), "q"}
					ct.array, ct.images = true, 1
					p = stagetest.Results(id, ct.parts[0], ct.parts[1], stagetest.Image)
				case 4:
					ct.array = true
					p = stagetest.Results(id)
				}
				if !ct.array {
					ct.text = p.Said
				}
				answers = append(answers, p)
				if tool != "Task" {
					ids, contents[id] = append(ids, id), ct
				}
			}
			c.Assistant(calls...)
			rng.Shuffle(len(answers), func(a, b int) { answers[a], answers[b] = answers[b], answers[a] })
			m := c.Answers(answers...)
			for b, a := range answers {
				if ct := contents[a.ID]; ct != nil {
					ct.at = policy.Target{Item: policy.ItemID(m), Block: b}
				}
			}
		}
		upTo = append(upTo, len(ids))
		c.Play(`assistant say done`)

		st := bySize(t, "target: %d, min_savings: %d, keep_recent: %d, manual: %t", rng.IntN(9000), rng.IntN(4000), rng.IntN(5), rng.IntN(8) == 0)
		p := &st.Stage.(*microcompactSize).MicrocompactSize
		n := &naive{p: p, compacted: map[string]bool{}, counted: map[string]int{}}
		r := stagetest.NewRun(t, c, st)
		above := make([]bool, len(c.Requests))
		for k := range above {
			above[k] = rng.IntN(3) > 0
		}
		r.Used = func(k int) (int, int) {
			if k < len(above) && above[k] {
				return limits(r).Warning, 0
			}
			return limits(r).Warning - 1, 0
		}
		seen := 0
		r.Each = func(k int) {
			before := r.View.Edits()[seen:]
			seen += len(before)
			marked, sum, saved := n.run(ids[:upTo[k]], contents, above[k])
			if len(before) > 0 {
				want := map[string]int{"pre_tokens": sum, "tokens_saved": saved, "compacted_ids": len(marked)}
				if diff := cmp.Diff(want, before[0].Detail); diff != "" {
					t.Fatalf("seed %d, request %d: -want +got\n%s", seed, k+1, diff)
				}
			}
			for _, id := range ids[:upTo[k]] {
				want, got := contents[id].text, r.Block(int(contents[id].at.Item), contents[id].at.Block)
				if got == "" && !contents[id].array {
					got, _ = r.Texts.Text(contents[id].at)
				}
				if contents[id].array {
					want = ""
				}
				if got != want {
					t.Fatalf("seed %d, request %d: result %s is %.60q, want %.60q", seed, k+1, id, got, want)
				}
			}
		}
		r.All()
	}
}

// listingAnew is the stage without what it knows of its own edits: it lists the whole view after each edit.
type listingAnew struct{ *microcompactSize }

func (s listingAnew) Run(c *policy.Context) ([]policy.Edit, error) {
	s.marked = 0
	return s.microcompactSize.Run(c)
}

// TestMicrocompactSizeListsOn: results whose answers come late or twice are listed after the stage's own edits as in the
// whole view, and so they are where another stage edits too.
func TestMicrocompactSizeListsOn(t *testing.T) {
	moved, again := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		c := stagetest.Talk(`prompt go`)
		var late []string
		for i := range 10 + rng.IntN(30) {
			var calls, answers []stagetest.BlockText
			for j := range 1 + rng.IntN(3) {
				id := fmt.Sprintf("t%d.%d", i, j)
				calls = append(calls, stagetest.Use(id, "Read"))
				late = append(late, id)
			}
			c.Assistant(calls...)
			for range 1 + rng.IntN(3) {
				if len(late) == 0 {
					break
				}
				at := rng.IntN(len(late))
				answers = append(answers, stagetest.Result(late[at], strings.Repeat("x", rng.IntN(12000))))
				if rng.IntN(8) > 0 {
					late = append(late[:at], late[at+1:]...)
				}
			}
			c.Answers(answers...)
		}
		c.Play(`assistant say done`)
		target, savings, keep := rng.IntN(9000), rng.IntN(2000), rng.IntN(5)
		run := func(anew bool) []policy.Edit {
			st := bySize(t, "target: %d, min_savings: %d, keep_recent: %d", target, savings, keep)
			if anew {
				st.Stage = listingAnew{st.Stage.(*microcompactSize)}
			}
			other := stagetest.Start(t, defineMicrocompactTime(), nil)
			r := stagetest.NewRun(t, c, st)
			if seed%2 == 0 {
				r.Stages = append(r.Stages, other)
			}
			r.Used = func(k int) (int, int) { return 150000, 0 }
			r.All()
			return r.View.Edits()
		}
		want, got := run(true), run(false)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: -listed anew +listed on\n%s", seed, diff)
		}
		targets := map[string]bool{}
		for i, e := range got {
			if i > 0 && e.Request > got[i-1].Request {
				again++
			}
			b := c.Messages[e.Target.Item].Blocks[e.Target.Block]
			if targets[b.ID] {
				moved++
			}
			targets[b.ID] = true
		}
	}
	if again < 300 || moved == 0 {
		t.Errorf("%d runs after another, %d results of an id that was compacted before: this shows too little", again, moved)
	}
}

// A conversation of the recorded kind keeps what was compacted compacted, and takes up the next ones from there.
func TestMicrocompactSizeGoesOn(t *testing.T) {
	c := sizes(30000, 30000, 1, 1, 1, 30000, 1, 1, 1)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactSize(), nil))
	r.Used = func(int) (int, int) { return 150000, 0 }
	r.All()
	var got []string
	for _, e := range r.View.Edits() {
		got = append(got, fmt.Sprintf("%d: m%d of %d", e.Request, e.Target.Item, e.Detail["pre_tokens"]))
	}
	want := []string{"5: m2 of 60002", "7: m4 of 60003"}
	must.Equal(t, got, want)
	if k := jsonl.KindToolResult; r.View.Edits()[0].New.Kind != k {
		t.Errorf("what stands in is a %v, want a tool_result", r.View.Edits()[0].New.Kind)
	}
}

// With state: recorded a recorded microcompaction is repeated: just what it names is cleared, and nothing is decided
// there.
func TestMicrocompactSizeRecorded(t *testing.T) {
	must.Rows(t, `
all there       | ["a", "b"]
one of them     | ["b", "before-the-file"]
none            | ["before-the-file"]
two at one call | ["a", "c"]
`, func(name string, ids []string) {
		t.Run(name, func(t *testing.T) {
			c := stagetest.Talk(`prompt go`)
			for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
				c.Play(`call %q Read 60000`, id)
			}
			c.Play(`assistant say done`)
			c.IndexTools()
			var want []string
			for _, id := range ids {
				c.Micro = append(c.Micro, session.Microcompaction{Line: 9, ToolIDs: []string{id}, Request: 5})
				if id != "before-the-file" {
					want = append(want, id)
				}
			}
			p := defaultMicrocompactSize()
			p.State = "recorded"
			r := stagetest.NewRun(t, c, stagetest.Start(t, defineMicrocompactSize(), p))
			r.Used = func(int) (int, int) { return 0, 0 } // nothing would fire by itself
			r.All()
			var got []string
			for _, e := range r.View.Edits() {
				must.Equal(t, e.Request, 5, "an edit at request")
				got = append(got, r.View.Raw(e.Target).ID)
			}
			must.Equal(t, got, want, "cleared")
		})
	})
}

// An image in array content counts 2,000, a document and what nobody knows nothing, and each text is rounded on its
// own.
func TestResultEstimateParts(t *testing.T) {
	with := func(p stagetest.BlockText, kinds ...jsonl.Kind) stagetest.BlockText {
		for _, k := range kinds {
			p.Parts = append(p.Parts, jsonl.Part{Kind: k, Type: "some"})
		}
		return p
	}
	for _, tt := range []struct {
		name string
		p    stagetest.BlockText
		want int
	}{
		{"one text", stagetest.Results("a", "12345"), 1},
		{"two texts, each 1.5", stagetest.Results("a", "123456", "123456"), 4},
		{"a string as long", stagetest.Result("a", "123456123456"), 3},
		{"an image", stagetest.Results("a", stagetest.Image), 2000},
		{"two images", stagetest.Results("a", stagetest.Image, stagetest.Image), 4000},
		{"a document", with(stagetest.Results("a"), jsonl.KindDocument), 0},
		{"a text and a document", with(stagetest.Results("a", "12345678"), jsonl.KindDocument), 2},
		{"an image and two documents", with(stagetest.Results("a", stagetest.Image), jsonl.KindDocument, jsonl.KindDocument), 2000},
		{"a text, an image and a document", with(stagetest.Results("a", "1234", stagetest.Image), jsonl.KindDocument), 2001},
		{"a tool's name", with(stagetest.Results("a", "1234"), jsonl.KindToolUse), 1},
		{"nothing", stagetest.Results("a"), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := stagetest.Talk(`prompt go; assistant use a Read`)
			at := c.Answers(tt.p)
			c.Play(`call b Read %d; assistant say done`, 4*10)
			r := stagetest.NewRun(t, c, bySize(t, "keep_recent: 0, target: 0, manual: true"))
			r.Join()
			must.Equal(t, resultEstimate(r.View, policy.Target{Item: policy.ItemID(at)}), tt.want, "estimate")
			r.Fire(policy.Prepare, 3, policy.Context{})
			must.Equal(t, r.View.Edits()[0].Detail["pre_tokens"], tt.want+10)
		})
	}
}
