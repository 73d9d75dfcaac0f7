package claude

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
	"github.com/ctxkit/ctxkit/policy/view"
)

func after(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	return stagetest.Start(t, definePostCompact(), set, args...)
}

// answeredCall appends one round: a call and its result.
func answeredCall(c *stagetest.Convo, tool, input, result string) {
	id := fmt.Sprintf("toolu_%02d", len(c.Messages))
	c.Play(`assistant calling %q %q %q; answers result %q %q`, id, tool, input, id, result)
}

// works appends what is written in short, parted by "; ": "TOOL INPUT > RESULT" is a round, "read PATH > TEXT" one that reads a
// whole file, and the rest is for Play. \n and \t of a result are what they are in Go.
func works(c *stagetest.Convo, story string) {
	for step := range strings.SplitSeq(story, "; ") {
		call, result, ok := strings.Cut(step, " >")
		result = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(strings.TrimPrefix(result, " "))
		tool, input, _ := strings.Cut(call, " ")
		switch {
		case tool == "read":
			reads(c, input, result)
		case ok:
			answeredCall(c, tool, input, result)
		default:
			c.Play("%s", step)
		}
	}
}

// reads appends a Read of a file that shows text, its lines numbered.
func reads(c *stagetest.Convo, path, text string) {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		n++
		fmt.Fprintf(&b, "%6d→%s", n, line)
	}
	answeredCall(c, "Read", fmt.Sprintf(`{"file_path":%q}`, path), b.String())
}

// compactedAt runs a conversation in which autocompact fires before request n, and gives the messages then attached,
// block by block.
func compactedAt(t *testing.T, c *stagetest.Convo, n int, set string, prep func(*stagetest.Bench)) [][]string {
	t.Helper()
	r := stagetest.NewRun(t, c, auto(t, ""), after(t, set))
	r.Used = func(k int) (int, int) {
		if k+1 == n {
			return 155000, 0
		}
		return 0, 0
	}
	if prep != nil {
		prep(r)
	}
	var got [][]string
	each := r.Each
	r.Each = func(k int) {
		if each != nil {
			each(k)
		}
		if k+1 == n {
			got = attached(r)
		}
	}
	r.All()
	return got
}

// attached is the messages in view that a compaction attached.
func attached(r *stagetest.Bench) [][]string {
	var list [][]string
	for id := range r.View.Items {
		sy := r.View.Synthetic(id)
		if sy == nil || !sy.Attached {
			continue
		}
		var blocks []string
		for b := range sy.Contents {
			text, err := r.Texts.Text(policy.Target{Item: id, Block: b})
			if err != nil {
				r.T.Fatal(err)
			}
			blocks = append(blocks, text)
		}
		list = append(list, blocks)
	}
	return list
}

// heads is the first line of each block.
func heads(messages [][]string) []string {
	var list []string
	for _, m := range messages {
		for _, b := range m {
			line, _, _ := strings.Cut(b, "\n")
			list = append(list, line)
		}
	}
	return list
}

// TestPostCompactExample is the pipeline analysis' worked example: u128 is the last message the summary holds,
// u129-u134 stay word by word (with what is typed next they are five messages with text), and behind them stands what
// is attached.
func TestPostCompactExample(t *testing.T) {
	c := stagetest.NewConvo()
	c.Attach("hook_success", stagetest.Block(jsonl.KindAttachment, "attachment", "<session start hook output>"))
	c.Prompt("我们得重构 auth 中间件,legal 那边给了新要求")
	works(c, `read src/redis/sessionStore.ts > export class Store {}\n; read src/auth/login.ts > export function login() {}\n; Skill {"skill":"systematic-debugging"} > Launching skill; Skill {"skill":"test-driven-development"} > Launching skill; ExitPlanMode {"plan":"implement AuthSession.refresh with multi-device support"} > User has approved your plan`)
	for len(c.Messages) < 127 {
		c.Play(`assistant say "a long discussion"; prompt "go on"`)
	}
	c.Play(`assistant say "so far"`)
	refresh := strings.Repeat("await redis.expire(id)\n", 1600)
	at := len(c.Messages)
	c.Play(`
assistant say "AuthSession.refresh 的主要分支我画出来了,先写核心路径。" calling toolu_80 Read "{\"file_path\":\"src/auth/AuthSession.ts\"}"
answers result toolu_80 %q
assistant say "refresh 要更新 Redis TTL 并回写新 opaque id。写一版。" calling toolu_81 Edit "{\"file_path\":\"src/auth/AuthSession.ts\",\"old_string\":\"await\",\"new_string\":\"return\"}"
answers result toolu_81 "File edited."; prompt "等下 refresh 里要考虑多设备场景"
assistant say "好,那 refresh 不能作废其它 device 的 session id。让我把设计稍微调一下……"
`, "     1→"+strings.ReplaceAll(strings.TrimSuffix(refresh, "\n"), "\n", "\n     1→"))
	for m := at; m < len(c.Messages); m++ {
		c.Messages[m].UUID = fmt.Sprintf("u%d", 129+m-at)
	}
	c.Play(`prompt "and then?"; assistant say done`)

	last := len(c.Requests)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineSessionMemory(), nil), auto(t, ""), stagetest.Start(t, definePostCompact(), nil))
	limits(r).Auto = 167000
	r.Record.Memory = "# Session Title\nRefactor auth middleware for compliance rewrite\n"
	r.Used = func(k int) (int, int) {
		switch m := c.Requests[min(k, last-1)].Message; {
		case k >= last-1:
			return 167000, 81000 // since u134, which finds the summary not worth an update
		case m <= at:
			return 80000 + 5000*min(m/at, 1), 0 // the summary is last brought up to date after u128
		}
		return 86000, 0
	}
	r.Each = func(k int) {
		if k == 0 {
			s := r.Stages[2].Stage.(*postCompact) // this conversation has no file to read the hook's event from
			s.hooks = []policy.Target{{}}
		}
		if k+1 < last {
			return
		}
		var got []string
		for id := range r.View.Items {
			switch m := r.View.Message(id); {
			case m != nil:
				got = append(got, m.UUID)
				for b := range m.Blocks {
					if r.View.Replacement(policy.Target{Item: id, Block: b}) != nil {
						t.Errorf("%s is not as it was", m.UUID)
					}
				}
			case r.View.Synthetic(id).Summary:
				got = append(got, r.Block(int(id), 0))
			}
		}
		want := []string{"Below is a summary of the session so far:\n\n# Session Title\nRefactor auth middleware for compliance rewrite"}
		for u := 129; u <= 134; u++ {
			want = append(want, fmt.Sprintf("u%d", u))
		}
		want = append(want, fmt.Sprintf("m%d", len(c.Messages)-2)) // what was typed since
		must.Equal(t, got, want)
		edited := strings.Replace(refresh, "await", "return", 1)
		attachments := [][]string{
			{"<attachment: src/auth/AuthSession.ts>\n" + edited[:20000], "<attachment: src/auth/login.ts>\nexport function login() {}\n", "<attachment: src/redis/sessionStore.ts>\nexport class Store {}\n"},
			{"<plan: implement AuthSession.refresh with multi-device support>"},
			{"<invoked skills: test-driven-development, systematic-debugging>"},
			{"<session start hook output>"},
		}
		must.Equal(t, attached(r), attachments, "attachments")
		if ids := r.View.IDs(); !slices.IsSortedFunc(ids, func(a, b policy.ItemID) int { return standing(r.View, a) - standing(r.View, b) }) {
			t.Errorf("summary, messages, attachments stand as %v", ids)
		}
	}
	r.All()
}

// standing is summary, kept messages, attachments.
func standing(v *view.View, id policy.ItemID) int {
	sy := v.Synthetic(id)
	switch {
	case sy == nil:
		return 1
	case sy.Summary:
		return 0
	}
	return 2
}

// TestPostCompactFiles holds the figures of the files: how many, how long, how much together. Sizes are tokens,
// oldest first.
func TestPostCompactFiles(t *testing.T) {
	must.Rows(t, `
# name | files | want | parameters
four  | 1 2 3 4     | 4 3 2 1   | ""
five  | 1 2 3 4 5   | 5 4 3 2 1 | ""
six   | 1 2 3 4 5 6 | 6 5 4 3 2 | ""
below, at and above what one may weigh | 4999 5000 5001 9000 | 5000 5000 5000 4999 | ""
five full ones fit                     | {5000 *5} | {5000 *5} | ""
ten full ones fit, an eleventh does not | {5000 *11} | {5000 *10} | max_files: 20
one that does not fit is passed over   | 3 5000 1 4999 {5000 *9} | {5000 *9}4999 1 | max_files: 20
exactly what is left                   | 9 1 4999 {5000 *9} | {5000 *9}4999 1 | max_files: 20
a longer one named                     | 1 5000 5001 | 0 5000 1 | long_files: name
named ones weigh nothing, and count    | {9000 *5}1 | 1 0 0 0 0 | long_files: name, files_tokens: 5000
twenty                                 | {1 *25} | {1 *20} | max_files: 20
none                                   | 1 2 | "" | max_files: 0
`, func(name, files, want, set string) {
		c := stagetest.Talk(`prompt go`)
		for i, size := range strings.Fields(files) {
			n, _ := strconv.Atoi(size)
			reads(c, fmt.Sprintf("/p/%d", i), strings.Repeat("x", 4*n))
		}
		c.Play(`assistant say done; prompt on; assistant say so`)
		var got []string
		for _, m := range compactedAt(t, c, len(c.Requests), set, nil) {
			for _, b := range m {
				_, text, _ := strings.Cut(b, ">\n")
				got = append(got, fmt.Sprint(len(text)/4))
			}
		}
		must.Equal(t, strings.Join(got, " "), strings.TrimSpace(want), name)
	})
}

// TestPostCompactSkills holds those of the skills: 5,000 one, 25,000 together.
func TestPostCompactSkills(t *testing.T) {
	must.Rows(t, `
# name | skills | want
below, at and above what one may weigh | 4999 5000 5001                   | s2 s1 s0: 5000 5000 4999
five full ones fit, a sixth does not | "5000 5000 5000 5000 5000 5000 " | s5 s4 s3 s2 s1: 5000 5000 5000 5000 5000
one that does not fit is passed over | 1 5000 4999 5000 5000 5000 5000  | s6 s5 s4 s3 s2 s0: 5000 5000 5000 5000 4999 1
`, func(_, skills, want string) {
		c := stagetest.Talk(`prompt go`)
		for i, size := range strings.Fields(skills) {
			var n int
			fmt.Sscan(size, &n)
			works(c, fmt.Sprintf(`Skill {"skill":"s%d"} > Launching skill; meta say x*%d`, i, 4*n))
		}
		c.Play(`assistant say done`)
		got := compactedAt(t, c, len(c.Requests), "", nil)
		if len(got) != 1 {
			t.Fatalf("%d messages", len(got))
		}
		line := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(got[0][0], "<invoked skills: "), ">"), ",", "") + ":"
		for _, b := range got[0][1:] {
			_, text, _ := strings.Cut(b, ">\n")
			line += fmt.Sprint(" ", len(text)/4)
		}
		must.Equal(t, line, want)
	})
}

// TestPostCompactState is which files are attached: not what the round's own microcompaction cleared, nor what is
// kept as last seen.
func TestPostCompactState(t *testing.T) {
	// away: what another stage does, as "STAGE REQUEST MESSAGES".
	must.Rows(t, `
# name | story | away | files
read                            | read /a > text; read /b > text                | "" | /b /a
read again                      | read /a > text; read /b > text; read /a > text | "" | /a /b
written and edited count, too   | Write {"file_path":"/a","content":"text"} > ok; read /b > text; Edit {"file_path":"/a","old_string":"t","new_string":"u"} > ok | "" | /a /b
a call that failed does not     | assistant calling t1 Read {"file_path":"/a"}; answers failing t1 "no such file" | "" | ""
nor one without a path, or of another tool | Read {} > text; Read [] > text; Grep {"file_path":"/a"} > text | "" | ""
a file without text             | Read {"file_path":"/a"} >                     | "" | ""
a plan's file                   | read /h/.claude/plans/p.md > text             | "" | ""
cleared in this round           | read /a > text; read /b > text                | microcompact_time 3 2 | /b
cleared in an earlier round     | read /a > text; read /b > text                | microcompact_time 2 2 | /b /a
cleared by another stage        | read /a > text; read /b > text                | three_layer_micro 3 2 | /b /a
one of two cleared              | read /a > text; read /a > text                | microcompact_size 3 2 | /a
both cleared                    | read /a > text; read /a > text                | microcompact_size 3 2 4 | ""
both cleared, one earlier       | read /a > text; read /a > text                | microcompact_size 2 2, microcompact_size 3 4 | /a
its one Read removed before     | read /a > text; read /b > text                | snip 3 1 2 | /b /a
`, func(name, story, away, want string) {
		c := stagetest.Talk(`prompt go`)
		works(c, story)
		c.Play(`assistant say done`)
		var got []string
		for _, h := range heads(compactedAt(t, c, len(c.Requests), "attachments: [files]", func(r *stagetest.Bench) {
			for does := range strings.SplitSeq(away, ", ") {
				words := strings.Fields(does)
				if len(words) == 0 {
					continue
				}
				r.Stages = slices.Insert(r.Stages, 0, stagetest.Named{Def: policy.Definition{Name: words[0], Moments: policy.Prepare}, Stage: &scripted{func(c *policy.Context) (edits []policy.Edit) {
					if fmt.Sprint(c.Request) != words[1] {
						return nil
					}
					var items []policy.ItemID
					for _, w := range words[2:] {
						m, _ := strconv.Atoi(w)
						items = append(items, policy.ItemID(m))
						content := policy.NewContent(jsonl.KindToolResult, ClearedText)
						edits = append(edits, policy.Edit{Kind: policy.KindClear, Target: policy.Target{Item: policy.ItemID(m)}, New: &content})
					}
					if words[0] == "snip" {
						return []policy.Edit{{Kind: policy.KindRemove, Items: items}}
					}
					return edits
				}}})
			}
		})) {
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(h, "<attachment: "), ">"))
		}
		must.Equal(t, strings.Join(got, " "), want, name)
	})
}

// scripted is a stage that does what a test says.
type scripted struct {
	do func(*policy.Context) []policy.Edit
}

func (s *scripted) Run(c *policy.Context) ([]policy.Edit, error) { return s.do(c), nil }

// TestPostCompactKept: a file that stands in the kept part as it was last seen is not attached again; one edited
// since is.
func TestPostCompactKept(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	works(c, `read /old > old\n; read /edited > one\n; read /read > read\n; Write {"file_path":"/written","content":"w\n"} > ok; Edit {"file_path":"/edited","old_string":"one","new_string":"two"} > ok`)
	c.Play(`assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Named{Def: policy.Definition{Name: "keeps", Moments: policy.Prepare}, Stage: &scripted{func(c *policy.Context) []policy.Edit {
		if c.Request != 6 {
			return nil
		}
		return []policy.Edit{{Kind: policy.KindSummarize, Insert: []policy.Synthetic{{Role: "user", Summary: true, Contents: []policy.Content{{Kind: jsonl.KindText, Tokens: 5}}}}, Keep: c.View.IDs()[3:]}}
	}}}, stagetest.Start(t, definePostCompact(), nil))
	r.All()
	want := [][]string{{"<attachment: /edited>\ntwo\n", "<attachment: /old>\nold\n"}}
	must.Equal(t, attached(r), want)
}

// TestPostCompactSince: after a further compaction only what was touched since the last one counts, but its text may
// be known from before.
func TestPostCompactSince(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	works(c, `read /a > one\ntwo\n; read /b > b\n; assistant say first; prompt on; Edit {"file_path":"/a","old_string":"two","new_string":"three"} > ok; assistant say second`)
	n := len(c.Requests)
	got := compactedAt(t, c, n, "", func(r *stagetest.Bench) {
		r.Used = func(k int) (int, int) {
			if k == 2 || k+1 == n {
				return 155000, 0
			}
			return 0, 0
		}
	})
	must.Equal(t, got, [][]string{{"<attachment: /a>\none\nthree\n"}})
}

// TestPostCompactContent: a file is attached as it was last seen.
func TestPostCompactContent(t *testing.T) {
	must.Rows(t, `
# name | story | what is attached, "" for nothing
numbered with arrows      | Read {"file_path":"/a"} >      1→one\n    12→\n   123→three | "one\n\nthree"
numbered with tabs        | Read {"file_path":"/a"} > 1\tone\n2\t\ttwo | "one\n\ttwo"
a reminder behind         | Read {"file_path":"/a"} > 1\tone\n\n<system-reminder>\n2\tno\n</system-reminder> | "one\n"
not numbered              | Read {"file_path":"/a"} > plain\n1\ttext | "plain\n1\ttext"
written                   | Write {"file_path":"/a","content":"new\n"} > ok | "new\n"
read, then written        | read /a > old\n; Write {"file_path":"/a","content":"new\n"} > ok | "new\n"
edited                    | read /a > x x\n; Edit {"file_path":"/a","old_string":"x","new_string":"y"} > ok | "y x\n"
edited everywhere         | read /a > x x\n; Edit {"file_path":"/a","old_string":"x","new_string":"y","replace_all":true} > ok | "y y\n"
edited several times at once | read /a > x y\n; MultiEdit {"file_path":"/a","edits":[{"old_string":"x","new_string":"y"},{"old_string":"y y","new_string":"z"}]} > ok | "z\n"
edited, then read         | Edit {"file_path":"/a","old_string":"x","new_string":"y"} > ok; read /a > now\n | "now\n"
a part first, then all    | Read {"file_path":"/a","offset":7} >      7→part\n; read /a > all\n | "all\n"
all, then a part          | read /a > all\n; Read {"file_path":"/a","limit":1} >      1→part\n | "all\n"
only a part               | Read {"file_path":"/a","offset":7} >      7→part\n | "part\n"
unchanged since           | read /a > all\n; Read {"file_path":"/a"} > UNCHANGED. The content from the earlier Read is still current. | "all\n"
made by an edit           | Edit {"file_path":"/a","old_string":"","new_string":"new\n"} > ok | "new\n"
only edited: what the result shows | Edit {"file_path":"/a","old_string":"x","new_string":"y"} > The file /a has been updated. Here's a snippet:\n     3→a\n     4→y\n | "a\ny\n"
only edited, nothing shown | Edit {"file_path":"/a","old_string":"x","new_string":"y"} > The file /a has been updated. | ""
longer than a file read whole | Write {"file_path":"/a","content":"{é*200000}"} > ok | {é*20000}
edits that would grow without end | Write {"file_path":"/a","content":"{a*100000}"} > ok; GROW; GROW; GROW | {a*20000}
`, func(name, story, want string) {
		grow := `Edit {"file_path":"/a","old_string":"a","new_string":"` + strings.Repeat("a", 50000) + `","replace_all":true} > ok`
		c := stagetest.Talk(`prompt go`)
		works(c, strings.NewReplacer("GROW", grow, "UNCHANGED", session.UnchangedFile).Replace(story))
		c.Play(`assistant say done`)
		var wanted [][]string
		if want != "" {
			wanted = [][]string{{"<attachment: /a>\n" + want}}
		}
		must.Equal(t, compactedAt(t, c, len(c.Requests), "", nil), wanted, name)
	})
}

// TestPostCompactRecorded: a compaction that brings what the client recorded is left as it is, and no text is fetched
// before one.
func TestPostCompactRecorded(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	works(c, `read /a > text\n; assistant say done`)
	sum := policy.NewContent(jsonl.KindText, "what was done")
	c.Boundaries = append(c.Boundaries, stagetest.BoundaryAt(7))
	c.Boundaries[0].Request = 2
	p := auto(t, "summary: [recorded, {fixed: 77}]")
	for name, tt := range map[string]struct {
		tail []policy.Synthetic
		want int
	}{
		"recorded re-injections":      {[]policy.Synthetic{{Role: "user", Attached: true, Contents: []policy.Content{sum}}}, 3},
		"a summary, and nothing else": {nil, 3},
	} {
		r := stagetest.NewRun(t, c, p, stagetest.Start(t, definePostCompact(), nil))
		r.Used = func(k int) (int, int) { return 155000 * k, 0 }
		r.Record = stagetest.Recording{Content: &sum, Tail: tt.tail}
		r.Each = func(k int) {
			if k == 0 && r.Texts.Fetched != 0 {
				t.Errorf("%s: %d texts fetched before any compaction", name, r.Texts.Fetched)
			}
		}
		r.All()
		attaches := slices.ContainsFunc(r.View.Edits(), func(e policy.Edit) bool { return e.Stage == "post_compact" })
		if r.View.Len() != tt.want || attaches != (tt.tail == nil) {
			t.Errorf("%s: %d items, want %d; attaches %t: %v", name, r.View.Len(), tt.want, attaches, r.Edits())
		}
	}
}
