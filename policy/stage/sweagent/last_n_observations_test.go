package sweagent

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func masking(t testing.TB, set string, args ...any) stagetest.Named {
	t.Helper()
	return stagetest.Start(t, defineLastNObservations(), set, args...)
}

// cases are SWE-agent's own answers: scripts/oracle/sweagent.
//
//go:embed testdata/cases.json
var cases []byte

func TestLastNObservationsOracle(t *testing.T) {
	var list []struct {
		N, Polling int
		Results    []struct {
			Text   string
			Images int
			Tag    string
		}
		Masked []*string
	}
	must.Do(t, json.Unmarshal(cases, &list))
	compared, masked := 0, 0
	for number, tt := range list {
		c := stagetest.Talk(`prompt "the task"`)
		var at []int
		for i, r := range tt.Results {
			id, tool := fmt.Sprint(i), "Bash"
			if r.Tag != "" {
				tool = r.Tag
			}
			c.Play(`assistant use %q %q`, id, tool)
			result := stagetest.Result(id, r.Text)
			if r.Images > 0 {
				result = stagetest.Results(id, append([]string{r.Text}, slices.Repeat([]string{stagetest.Image}, r.Images)...)...)
			}
			at = append(at, c.Answers(result))
		}
		c.Play(`assistant say done`)
		p := masking(t, "n: %v, polling: %v, keep_tools: [keep_output], remove_tools: ['remove_*']", tt.N, tt.Polling)
		r := stagetest.NewRun(t, c, p).All()
		for i, m := range at {
			want := ""
			if tt.Masked[i] != nil {
				want = *tt.Masked[i]
				masked++
			}
			compared++
			must.Equal(t, r.Shown(m), want, number, i)
		}
	}
	t.Logf("%d cases, %d results, %d masked", len(list), compared, masked)
	if masked < 100 {
		t.Errorf("only %d of %d results are masked", masked, compared)
	}
}

// At each request the newest n stay, and what is masked stays masked. With polling, masking waits for so many.
func TestLastNObservationsSteps(t *testing.T) {
	must.Rows(t, `
2 | 1 | clear@4 m2, clear@5 m4, clear@6 m6
1 | 1 | clear@3 m2, clear@4 m4, clear@5 m6, clear@6 m8
2 | 3 | clear@6 m2, clear@6 m4, clear@6 m6
5 | 1 | ""
`, func(n, polling int, want string) {
		c := stagetest.Uses(5)
		r := stagetest.NewRun(t, c, masking(t, "n: %v, polling: %v", n, polling)).All()
		must.Equal(t, r.Edits(), want, n, polling)
	})
}

// A prompt typed later is no observation.
func TestLastNObservationsPrompts(t *testing.T) {
	c := stagetest.Talk(`prompt go`)
	first := c.Call("a", "Read", 40)
	c.Play(`assistant say done; prompt more; call b Read 40; assistant say done`)
	r := stagetest.NewRun(t, c, masking(t, "n: 1")).All()
	must.Equal(t, r.Edits(), fmt.Sprintf("clear@4 m%d", first))
}
