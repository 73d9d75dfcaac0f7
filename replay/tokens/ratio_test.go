package tokens_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// TestCorpusRatio holds ClaudeRatio against real sessions: the growth of the recorded context over what joined, in
// o200k_base.
func TestCorpusRatio(t *testing.T) {
	dir := os.Getenv("CTXKIT_CORPUS")
	if dir == "" {
		t.Skip("CTXKIT_CORPUS names no folder of real sessions")
	}
	models := price.Default()
	encoder := must.Get(tokens.NewEncoder(tokens.NameO200K))(t)
	paths, _ := filepath.Glob(filepath.Join(dir, "*.jsonl*"))
	ratios := map[string][]float64{}
	for _, path := range paths {
		file := must.Get(session.Load(path, session.LoadOptions{Jobs: 2}))(t)
		defer file.Close()
		conv := file.Main
		m, known := models.Find(conv.Model)
		table := must.Get(tokens.Encoded(conv, encoder, tokens.EncodeOptions{Jobs: 2}))(t)
		growth, counted := growthByTable(conv, table)
		if counted < 5000 || !known {
			continue
		}
		ratios[m.Tokenizer] = append(ratios[m.Tokenizer], float64(growth)/float64(counted))
	}
	for tokenizer, list := range ratios {
		slices.Sort(list)
		median := list[len(list)/2]
		t.Logf("tokenizer %q: median %.3f of %d sessions, quartiles %.3f to %.3f", tokenizer, median, len(list), list[len(list)/4], list[len(list)*3/4])
		if want := tokens.Ratio("claude", tokenizer); len(list) >= 10 && math.Abs(median-want) > 0.02 {
			t.Errorf("tokenizer %q: the median is %.3f, Ratio says %.2f", tokenizer, median, want)
		}
	}
}

func TestRatio(t *testing.T) {
	must.Rows(t, `
# model | tokenizer | want
claude-opus-4-5     | old | 1.24
claude-fable-5      | new | 1.7
claude-unheard-of-9 | ""  | 1.24
""                  | ""  | 1.24
gpt-5               | ""  | 1
`, func(model, tokenizer string, want float64) {
		must.Equal(t, tokens.Ratio(model, tokenizer), want, model, tokenizer)
	})
}

// growthByTable adds up how far the context grew over spans without a compaction, and what joined in them by a table.
func growthByTable(conv *session.Conversation, table *tokens.WeightTable) (growth, counted int) {
	broken := map[int]bool{}
	for i := range conv.Boundaries {
		broken[conv.Boundaries[i].Request] = true
	}
	for i := range conv.Micro {
		broken[conv.Micro[i].Request] = true
	}
	for k := 1; k < len(conv.Requests); k++ {
		from, to := conv.Requests[k-1].Message, conv.Requests[k].Message
		p, q := &conv.Messages[from], &conv.Messages[to]
		if !p.HasUsage || !q.HasUsage || broken[k+1] || p.Model != q.Model {
			continue
		}
		joined := 0
		for m := from; m < to; m++ {
			joined += table.Message(m)
		}
		grew := q.Usage.Context() - p.Usage.Context()
		if r := float64(grew) / float64(joined); joined > 200 && r > 0.3 && r < 3 {
			growth, counted = growth+grew, counted+joined
		}
	}
	return growth, counted
}
