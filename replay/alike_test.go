package replay_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

// changed is a policy with one parameter changed.
func changed(t *testing.T, base *policy.Policy, key, value string) *policy.Policy {
	t.Helper()
	p := base.Clone()
	must.Do(t, p.Set(key, value))
	return p
}

// What is told to do the same has the same figures; some do and some do not.
func TestReplayAlike(t *testing.T) {
	alike, apart := 0, 0
	for _, file := range []string{"big.jsonl", "compaction.jsonl", "microcompact.jsonl", "parallel-tools.jsonl"} {
		rec := must.Get(replay.NewRecord(load(t, filepath.Join(shipped, file)).Main))(t)
		must.Rows(t, `
# policy | key | values
claude-code-pipeline | microcompact_cached.keep     | ["3", "4", "80", "81", "500"]
claude-code-pipeline | window.buffer                | ["10000", "10001", "90000"]
claude-code-2.1.19   | window.warning_offset        | ["10000", "20000", "160000"]
claude-code-collapse | window.buffer                | ["10000", "10001", "170000"]
codex-local          | codex_compaction.percent     | ["50", "51", "90"]
gemini-cli           | gemini_compression.threshold | ["0.3", "0.301", "0.5"]
opencode-1.1.36      | opencode_compaction.reserved | ["1000", "1001", "100000"]
opencode-1.1.36      | opencode_prune.protect       | ["100", "101", "40000"]
three-layer          | three_layer_auto.threshold   | ["20000", "20001", "60000"]
`, func(thePolicy, key string, values []string) {
			base := named(t, thePolicy)
			var pols []*policy.Policy
			for _, v := range values {
				pols = append(pols, changed(t, base, key, v))
			}
			tl, same, err := rec.ReplayAlike(pols[0], pols[1:], replay.Options{Regret: true})
			if err != nil {
				t.Fatal(err)
			}
			want := figuresOf(tl)
			for i, pol := range pols {
				own := must.Get(rec.Replay(pol, replay.Options{Regret: true}))(t)
				equal := figuresOf(own) == want
				switch {
				case i == 0 || same[i-1]:
					alike++
					if !equal {
						t.Errorf("%s, %s, %s=%s is told to be as %s, and is not:\n%s\n%s", file, thePolicy, key, values[i], values[0], figuresOf(own), want)
					}
				case !equal:
					apart++
				}
			}
		})
	}
	if alike < 60 || apart < 20 {
		t.Errorf("%d alike, %d apart: nothing is told", alike, apart)
	}
}

func figuresOf(tl *replay.Timeline) string {
	return fmt.Sprint([]exact.Decimal(compare.Of(tl)))
}

// Policies that differ in what is not asked of stages are never told to do the same, nor is any beside the record.
func TestReplayAlikeOthers(t *testing.T) {
	rec := must.Get(replay.NewRecord(load(t, filepath.Join(shipped, "thinking.jsonl")).Main))(t)
	base := named(t, "opencode-1.1.36")
	others := []*policy.Policy{
		base.Clone(), changed(t, base, "cache.ttl", "1h"), changed(t, base, "window.overhead", "1000"), changed(t, base, "window.tail", "after_first"),
		named(t, "none"), named(t, "recorded"),
	}
	_, same, err := rec.ReplayAlike(base, others, replay.Options{})
	must.Say(t, "<nil> true", err, slices.Equal(same, []bool{true, false, false, false, false, false}))
	if _, same, err = rec.ReplayAlike(named(t, "recorded"), []*policy.Policy{named(t, "recorded")}, replay.Options{}); err != nil || same[0] {
		t.Errorf("beside the record: %v, %v", same, err)
	}
}
