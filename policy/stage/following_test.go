package stage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/cline"
	"github.com/ctxkit/ctxkit/policy/stage/gemini"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// beside runs a stage that follows the view beside one that sees it for the first time, and leaves out some of the edits
// as a condition does.
type beside struct {
	policy.Stage
	fresh func() policy.Stage
	t     testing.TB
	d     *stagetest.Dice
	made  *int
}

func (s beside) Run(c *policy.Context) ([]policy.Edit, error) {
	got, err := s.Stage.Run(c)
	if err != nil {
		return nil, err
	}
	want, err := s.fresh().Run(c)
	if err != nil {
		return nil, err
	}
	show := func(list []policy.Edit) (shown []string) {
		for _, e := range list {
			why, _, _ := strings.Cut(e.Reason, "; summary: ") // which one is left differs
			shown = append(shown, fmt.Sprint(e.Kind, e.Target, why))
		}
		return shown
	}
	if g, w := show(got), show(want); !slices.Equal(g, w) {
		s.t.Errorf("request %d: %q, a new stage %q", c.Request, g, w)
	}
	*s.made += len(got)
	if s.d.One(3) {
		return nil, nil
	}
	return got, nil
}

// TestFollowing: stages that decide by the view alone do what a new one would at each request, whatever others have
// changed and a condition has held back.
func TestFollowing(t *testing.T) {
	reg := allStages(t)
	masking, _ := reg.Lookup("gemini_masking")
	following(t, masking, func(d *stagetest.Dice) any {
		p := *masking.Params.(*gemini.GeminiMasking)
		p.Protect, p.Minimum = d.N(5000), d.N(3000)
		return &p
	})
	compaction, _ := reg.Lookup("cline_compaction")
	following(t, compaction, func(d *stagetest.Dice) any {
		p := *compaction.Params.(*cline.ClineCompaction)
		p.Trigger = 0.01 * float64(1+d.N(50))
		return &p
	})
}

func following(t *testing.T, def policy.Definition, params func(*stagetest.Dice) any) {
	made := 0
	for seed := range uint64(600) {
		d := stagetest.NewDice(seed, nil)
		defs := slices.DeleteFunc(slices.Clone(allStages(t).Definitions()), func(o policy.Definition) bool { return o.Name == def.Name })
		c := randomConversation(d)
		p := params(d)
		fresh := func() policy.Stage { return stagetest.Start(t, def, p).Stage }
		stages := []stagetest.Named{{Def: def, Stage: beside{fresh(), fresh, t, d, &made}}}
		for range d.N(4) {
			i := d.N(len(defs))
			stages = append(stages, randomStage(d, t, defs[i]))
			defs = slices.Delete(defs, i, i+1)
		}
		d.Rng.Shuffle(len(stages), func(i, j int) { stages[i], stages[j] = stages[j], stages[i] })
		r := stagetest.NewRun(t, c, stages...)
		circumstances(d, r)
		r.All()
		if t.Failed() {
			t.Fatalf("%s, seed %d", def.Name, seed)
		}
	}
	if made == 0 {
		t.Errorf("%s: no edit", def.Name)
	}
}
