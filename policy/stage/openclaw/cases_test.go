package openclaw

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// caseFile is testdata/cases.json, made by scripts/oracle/openclaw.
type caseFile struct {
	Package string
	Cases   []upstreamCase
}

type upstreamCase struct {
	Seed, Window int
	TTL          string
	Hard         bool
	Deny         []string
	List         [][]any
	Changed      [][]change // by request
}

// change is a result that is sent in another form than at the request before.
type change struct {
	ID      string
	Length  int // UTF-16 units
	Cleared bool
}

func (c *change) UnmarshalJSON(data []byte) error {
	cleared := 0
	err := json.Unmarshal(data, &[]any{&c.ID, &c.Length, &cleared})
	c.Cleared = cleared == 1
	return err
}

// conversation is a case's conversation, with the time of each request.
func (tt *upstreamCase) conversation() (c *stagetest.Convo, at map[int]time.Time) {
	c, at = stagetest.NewConvo(), map[int]time.Time{}
	said := func(n any) string { return strings.Repeat("x", int(n.(float64))) }
	now := stagetest.Midday
	var open []string
	for i := 0; i < len(tt.List); i++ {
		e := tt.List[i]
		switch e[0] {
		case "u":
			parts := []stagetest.BlockText{stagetest.Say(said(e[1]))}
			for range int(e[2].(float64)) {
				parts = append(parts, stagetest.Block(jsonl.KindImage, "image", ""))
			}
			c.User(session.ClassPrompt, parts...)
		case "a":
			now = now.Add(time.Duration(e[1].(float64)) * time.Minute)
			at[len(c.Requests)] = now
			var parts []stagetest.BlockText
			for j, part := range e[2].([]any) {
				switch p := part.([]any); p[0] {
				case "t":
					parts = append(parts, stagetest.Say(said(p[1])))
				case "k":
					thought := stagetest.Think(said(p[1]))
					thought.Signature = int(p[2].(float64))
					parts = append(parts, thought)
				default:
					id := fmt.Sprintf("c%d.%d", i, j)
					open = append(open, id)
					parts = append(parts, stagetest.Calling(id, p[1].(string), fmt.Sprintf(`{"path":%q}`, said(p[2]))))
				}
			}
			c.Assistant(parts...)
		default:
			var parts []stagetest.BlockText
			for ; i < len(tt.List) && tt.List[i][0] == "r"; i++ {
				var texts []string
				for _, n := range tt.List[i][1].([]any) {
					if n.(float64) < 0 {
						texts = append(texts, stagetest.Image)
					} else {
						texts = append(texts, said(n))
					}
				}
				parts = append(parts, stagetest.Results(open[0], texts...))
				open = open[1:]
			}
			i--
			c.Answers(parts...)
		}
	}
	return c, at
}

// TestUpstream compares what is pruned at each request with what OpenClaw's own code prunes.
func TestUpstream(t *testing.T) {
	f := stagetest.LoadCases[caseFile](t, "testdata/cases.json")
	requests, trims, clears := 0, 0, 0
	for _, tt := range f.Cases {
		p := *defineCacheTTLPrune().Params.(*CacheTTLPrune)
		var err error
		if p.TTL, err = time.ParseDuration(tt.TTL); err != nil {
			t.Fatal(err)
		}
		p.HardClear, p.ExcludeTools = tt.Hard, tt.Deny
		c, at := tt.conversation()
		r := stagetest.NewRun(t, c, stagetest.Start(t, defineCacheTTLPrune(), &p))
		r.Window, r.At = tt.Window, at
		r.Each = func(k int) {
			requests++
			last := map[string]change{}
			var want, got []change
			for id := range r.View.Items {
				for b := range r.View.Blocks(id) {
					target := policy.Target{Item: id, Block: b}
					if content := r.View.Replacement(target); content != nil {
						got = append(got, change{r.View.Raw(target).ID, content.Length.UTF16, content.Text == p.Placeholder})
					}
				}
			}
			for _, changed := range tt.Changed[:k+1] {
				for _, x := range changed {
					last[x.ID] = x
				}
			}
			for _, m := range c.Messages {
				for _, b := range m.Blocks {
					if x, ok := last[b.ID]; ok && b.Kind == jsonl.KindToolResult {
						want = append(want, x)
					}
				}
			}
			must.Equal(t, got, want, tt.Seed, k+1)
			for _, x := range tt.Changed[k] {
				if x.Cleared {
					clears++
				} else {
					trims++
				}
			}
		}
		r.All()
	}
	if trims < 200 || clears < 200 {
		t.Errorf("%d trims, %d clears: the test tests too little", trims, clears)
	}
	t.Logf("%s: %d requests, %d trims, %d clears", f.Package, requests, trims, clears)
}
