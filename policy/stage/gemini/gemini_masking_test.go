package gemini

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// sized is a result's text of so many tokens: {"output":"…"} and the tool's name are 17 characters.
func sized(tokens int) string { return strings.Repeat("x", 4*tokens-17) }

func TestGeminiMasking(t *testing.T) {
	must.Rows(t, `
# name | results | want
the example                          | Read 20000, Read 20000, Read 30000, Read 30000 | [0,1,2]
all protected                        | Read 20000, Read 30000 | null
the one that crosses is large enough | Read 30000, Read 20001 | [0]
just not enough                      | Read 29999, Read 50000 | null
just enough                          | Read 30000, Read 50000 | [0]
exempt tools are not counted         | Read 20000, Skill 30000, Read 50000 | null
nor masked                           | ask_user 20000, Read 30000, Read 50000 | [1]
small ones count, and stay           | Read 100, Read 29900, Read 50000 | [1]
one line of a shell stays            | Bash 40000, Read 50000 | null
`, func(name string, results string, want []int) {
		c := stagetest.Talk(`prompt go`)
		var at []int
		for i, res := range strings.Split(results, ", ") {
			id := fmt.Sprint(i)
			var tool string
			var tokens int
			fmt.Sscan(res, &tool, &tokens)
			c.Play(`assistant use %q %q`, id, tool)
			at = append(at, c.Answers(stagetest.Result(id, sized(tokens))))
		}
		c.Play(`assistant use last Read`)
		c.Answers(stagetest.Result("last", sized(90000))) // about to be sent: no part of the history
		c.Play(`assistant say done`)
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineGeminiMasking(), nil)).All()
		var got []int
		for i, m := range at {
			if r.Shown(m) != "" {
				got = append(got, i)
			}
		}
		must.Equal(t, got, want, name)
	})
}

func TestGeminiMaskedText(t *testing.T) {
	lines := func(n int) string { return strings.TrimSuffix(strings.Repeat("0123456789\n", n), "\n") }
	for _, tt := range []struct {
		name, got, want string
	}{
		{"head and tail", headAndTail("output", strings.Repeat("a", 300)+"\n"+strings.Repeat("b", 300)),
			"{\n  \"output\": \"" + strings.Repeat("a", 235) + "\n... [TRUNCATED] ...\n" + strings.Repeat("b", 247) + "\"\n}"},
		{"20 lines", shellPreview(lines(20)), lines(20)},
		{"21 lines", shellPreview(lines(21)), lines(10) + "\n\n... [1 lines omitted] ...\n\n" + lines(10)},
		{"sections", shellPreview("Output: " + lines(21) + "\nExit Code: 1\n"), "Output: " + lines(10) + "\n\n... [1 lines omitted] ...\n\n" + lines(10) + "\nExit Code: 1"},
	} {
		must.Equal(t, tt.got, tt.want, tt.name)
	}
}

// What is masked stays masked, and nothing more is until enough has come again.
func TestGeminiMaskingWaves(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	for i := range 30 {
		id := fmt.Sprint(i)
		c.Play(`assistant use %q Read`, id)
		c.Answers(stagetest.Result(id, sized(10000)))
	}
	c.Play(`assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineGeminiMasking(), nil)).All()
	waves := map[int]int{}
	for _, e := range r.View.Edits() {
		must.Equal(t, e.Kind, policy.KindPersist, "an edit of kind")
		waves[e.Request]++
	}
	// Eight results are in the history of request 10: five of them are protected.
	want := map[int]int{10: 3, 13: 3, 16: 3, 19: 3, 22: 3, 25: 3, 28: 3, 31: 3}
	must.Equal(t, waves, want)
}
