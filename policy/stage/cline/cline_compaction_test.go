package cline

import (
	"crypto/sha1"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// compactions and compactions57 are the answers of Cline 3.0.65 and 3.0.57: scripts/oracle/cline.
var (
	//go:embed testdata/compaction.json
	compactions []byte
	//go:embed testdata/compaction-3.0.57.json
	compactions57 []byte
)

func TestClineCompactionOracle(t *testing.T) {
	t.Run("3.0.65", func(t *testing.T) { compareCompactions(t, compactions, 4) })
	t.Run("3.0.57", func(t *testing.T) { compareCompactions(t, compactions57, 1) })
}

func compareCompactions(t *testing.T, cases []byte, underestimate float64) {
	t.Helper()
	var list []struct {
		Window, Output, Overhead, Summary int
		Messages                          []struct {
			Role, ID, Path, Text string
			From, Pad            int
		}
		Steps []struct {
			First, Used int
			Summary     bool
			Changed     []string
		}
	}
	must.Do(t, json.Unmarshal(cases, &list))
	requests, compacted, changed, stayed := 0, 0, 0, map[string]bool{}
	for number, tt := range list {
		c := stagetest.NewConvo()
		for _, m := range tt.Messages {
			switch {
			case m.Role == "user" && m.ID == "":
				c.Prompt(m.Text)
			case m.Role == "user":
				c.Answers(stagetest.Result(m.ID, m.Text+strings.Repeat("x", m.Pad)))
			case m.ID == "":
				c.Play(`assistant say %q`, m.Text)
			case m.Path == "":
				c.Play(`assistant calling %q Bash {"command":"ls"}`, m.ID)
			case m.From == 0:
				c.Assistant(stagetest.Calling(m.ID, "Read", fmt.Sprintf(`{"file_path":%q}`, m.Path)))
			default: // as long as {"file_path":…,"start_line":…,"end_line":…}
				input := fmt.Sprintf(`{"file_path":%q,"offset":%d,"limit":50`, m.Path, m.From)
				source := fmt.Sprintf(`{"file_path":%q,"start_line":%d,"end_line":%d}`, m.Path, m.From, m.From+49)
				c.Assistant(stagetest.Calling(m.ID, "Read", input+strings.Repeat(" ", len(source)-len(input)-1)+"}"))
			}
		}
		c.Play(`assistant say done`)
		p := *defineClineCompaction().Params.(*ClineCompaction)
		p.Underestimate = underestimate
		p.Summary = policy.SummaryChoices{{Kind: policy.SummaryFixed, Tokens: tt.Summary}}
		r := stagetest.NewRun(t, c,
			stagetest.Start(t, defineClineTruncate(), nil), stagetest.Start(t, defineClineOutdatedReads(), nil), stagetest.Start(t, defineClineCompaction(), &p))
		r.Window, r.Overhead, r.MaxOutput = tt.Window, tt.Overhead, tt.Output
		first := 0
		r.Each = func(k int) {
			step := tt.Steps[k]
			r.Last.Usage = jsonl.Usage{Input: step.Used}
			if t.Failed() {
				return
			}
			requests++
			got, summary := -1, false
			var texts []string
			for id := range r.View.Items {
				if id < 0 {
					summary = true
					continue
				}
				if got < 0 {
					got = int(id)
				}
				if c := r.View.Replacement(policy.Target{Item: id}); c != nil {
					texts = append(texts, fmt.Sprintf("%d %.4x", id, sha1.Sum([]byte(c.Text))))
				}
			}
			if step.First != first {
				first = step.First
				compacted++
			}
			if got != step.First || summary != step.Summary {
				t.Errorf("case %d, request %d: from message %d, summary %t; want %d, %t", number, k+1, got, summary, step.First, step.Summary)
			}
			if step.Changed != nil {
				changed += len(step.Changed)
				was := map[string]string{}
				for _, said := range step.Changed {
					at, text, _ := strings.Cut(said, " ")
					was[at] = text
				}
				texts = slices.DeleteFunc(texts, func(said string) bool {
					at, text, _ := strings.Cut(said, " ")
					if summary && text == fmt.Sprintf("%.4x", sha1.Sum([]byte(outdated))) && was[at] != text { // a compaction made it current again
						stayed[fmt.Sprint(number, " ", at)] = true
						step.Changed = slices.DeleteFunc(step.Changed, func(said string) bool { return strings.HasPrefix(said, at+" ") })
						return true
					}
					return false
				})
				if diff := cmp.Diff(step.Changed, texts); diff != "" && len(step.Changed)+len(texts) > 0 {
					t.Errorf("case %d, request %d: -want +got\n%s", number, k+1, diff)
				}
			}
		}
		r.All()
	}
	t.Logf("%d conversations, %d requests, %d compactions, %d changed results; %d stay outdated", len(list), requests, compacted, changed, len(stayed))
}
