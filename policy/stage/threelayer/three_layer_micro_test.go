package threelayer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

func TestThreeLayerMicro(t *testing.T) {
	tests := []struct {
		name  string
		p     ThreeLayerMicro
		sizes []int
		want  string
	}{
		{"three are kept", ThreeLayerMicro{3, 100}, []int{500, 500, 500}, ""},
		{"the fourth makes the first old", ThreeLayerMicro{3, 100}, []int{500, 500, 500, 500}, "clear@5 m2"},
		{"100 characters stay", ThreeLayerMicro{3, 100}, []int{100, 500, 500, 500}, ""},
		{"101 go", ThreeLayerMicro{3, 100}, []int{101, 500, 500, 500}, "clear@5 m2"},
		{"the definition's example", ThreeLayerMicro{3, 100}, []int{500, 100, 600, 20, 700}, "clear@5 m2"},
		{"keep none", ThreeLayerMicro{0, 100}, []int{500, 500}, "clear@2 m2, clear@3 m4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := stagetest.Talk(`prompt go`)
			for i, n := range tt.sizes {
				c.Play(`call %v Read %d`, i, n)
			}
			c.Play(`assistant say done`)
			r := stagetest.NewRun(t, c, stagetest.Start(t, defineThreeLayerMicro(), &tt.p)).All()
			must.Equal(t, r.Edits(), tt.want)
			for _, e := range r.View.Edits() {
				must.Equal(t, e.New.Text, "[Previous tool result compacted]")
			}
		})
	}
}

// Arrays and images count among the newest but are never replaced, whatever their size; every tool counts.
func TestThreeLayerMicroArrays(t *testing.T) {
	c := stagetest.Talk(`prompt go; assistant use a Task use b Read`)
	old := c.Answers(stagetest.Results("a", strings.Repeat("x", 900), stagetest.Image), stagetest.Result("b", strings.Repeat("x", 900)))
	for i := range 2 {
		c.Play(`assistant use %v Read`, i)
		c.Answers(stagetest.Results(fmt.Sprint(i), stagetest.Image))
	}
	c.Play(`call c Other 10; assistant say done`)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineThreeLayerMicro(), nil)).All()
	must.Equal(t, r.Edits(), fmt.Sprintf("clear@5 m%d.1", old))
}
