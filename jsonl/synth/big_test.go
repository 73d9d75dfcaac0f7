package synth_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestBigTriggers works out, roughly and on its own, that big.jsonl is large enough for what it is there for:
// OpenCode's prune at the end of a turn and, with that done, its compaction at 168,000.
func TestBigTriggers(t *testing.T) {
	data := must.Get(os.ReadFile(filepath.Join(samplesDir, "big.jsonl")))(t)
	micros, autos := 0, 0
	rs := parse(t, data)
	for _, r := range rs {
		if r.Subtype == "microcompact_boundary" {
			micros++
		}
		if r.Subtype == "compact_boundary" && r.CompactMetadata.Trigger == "auto" {
			autos++
		}
	}
	turns, prunes, compactions := openCode(rs)
	if turns < 8 || prunes < 1 || compactions < 1 || micros < 1 || autos < 1 {
		t.Errorf("%d turns, %d prunes, %d compactions, recorded %d microcompactions and %d automatic compactions", turns, prunes, compactions, micros, autos)
	}
}

// openCode counts what OpenCode would do with a session, by a rough sum.
func openCode(rs []record) (turns, prunes, compactions int) {
	type output struct{ turn, est int }
	var outputs []output
	pruned := 0 // outputs before this one are gone
	context := float64(overhead)
	prune := func() {
		kept, saved, from := 0, 0, pruned
		for i := len(outputs) - 1; i >= pruned; i-- {
			if outputs[i].turn > turns-2 {
				continue
			}
			if kept += outputs[i].est; kept > 40000 {
				saved += outputs[i].est
				from = max(from, i+1)
			}
		}
		if saved > 20000 {
			prunes++
			pruned = from
			context -= float64(saved) * 4 / perTool
		}
	}
	for _, r := range rs {
		switch {
		case r.Message == nil || r.IsMeta || r.IsCompactSummary:
		case r.Message.Content.plain && !strings.HasPrefix(r.Message.Content.text, "<"):
			if turns > 0 {
				prune()
			}
			turns++
			context += weigh(r.Message.Content.text, perProse) + msgFrame
		case r.Type == "assistant":
			context += blockWeight(&r.Message.Content.blocks[0])
			if context >= 168000 {
				compactions++
				context, pruned = 35000, len(outputs)
			}
		default:
			for _, b := range r.Message.Content.blocks {
				s := b.Content.all()
				outputs = append(outputs, output{turns, guess(s)})
				context += weigh(s, perTool) + tailFrame
			}
		}
	}
	return turns, prunes, compactions
}

// TestSampleArithmetic holds small samples against the ledger.
func TestSampleArithmetic(t *testing.T) {
	must.Rows(t, `
# name | threshold | micro
microcompact.jsonl   | 155000 | true
compaction.jsonl     | 167000 | false
compaction-1.0.jsonl | 155000 | false
thinking.jsonl       | 155000 | true
parallel-tools.jsonl | 155000 | true
`, func(name string, threshold int, micro bool) {
		data := must.Get(os.ReadFile(filepath.Join(samplesDir, name)))(t)
		rs := parse(t, data)
		l := &ledger{t: t, threshold: threshold, micro: micro}
		if name == "microcompact.jsonl" {
			l.context = 45000 - overhead
		}
		l.walk(rs)
	})
}
