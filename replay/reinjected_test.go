package replay

import (
	"os"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

// TestCorpusReinjected holds what post_compact attaches against what recorded compactions re-injected: it comes
// nearer than attaching nothing.
func TestCorpusReinjected(t *testing.T) {
	dir := os.Getenv("CTXKIT_CORPUS")
	if dir == "" {
		t.Skip("CTXKIT_CORPUS names no folder of real sessions")
	}
	files := must.Glob(t, 1, dir, "*.jsonl.gz")
	reg := must.Get(stage.Registry())(t)
	type sums struct{ n, recorded, attached, off int }
	bands := []struct {
		policy, from, before string
		sums
	}{{policy: "claude-code-2.1", from: "2.1.21", before: "2.1.52"}, {policy: "claude-code-2.1.119", from: "2.1.119", before: "99"}}
	for _, path := range files {
		f := must.Get(session.Load(path, session.LoadOptions{Jobs: 2}))(t)
		t.Cleanup(func() { f.Close() })
		for i := range bands {
			b := &bands[i]
			if v := f.Main.Version; len(f.Main.Requests) == 0 || len(f.Main.Boundaries) == 0 || session.CompareVersions(v, b.from) < 0 || session.CompareVersions(v, b.before) >= 0 {
				continue
			}
			pol := must.Get(preset.Load(b.policy, reg))(t)
			recorded, attached := reinjected(t, f.Main, pol)
			for k := range recorded {
				b.n++
				b.recorded += recorded[k]
				b.attached += attached[k]
				b.off += max(recorded[k]-attached[k], attached[k]-recorded[k])
			}
		}
	}
	for _, b := range bands {
		n := max(b.n, 1)
		t.Logf("%s: %d compactions re-injected a mean of %d tokens, %d are attached, a mean difference of %d", b.policy, b.n, b.recorded/n, b.attached/n, b.off/n)
		if b.n == 0 || b.off*10 > b.recorded*9 {
			t.Errorf("%s: want a difference of at most nine tenths", b.policy)
		}
	}
}

// reinjected is what each recorded compaction sent beside its summary, and what the policy attaches where it compacts
// there without the record's help, in tokens.
func reinjected(t *testing.T, conv *session.Conversation, pol *policy.Policy) (recorded, attached []int) {
	rec := must.Get(NewRecord(conv))(t)
	for _, set := range [][2]string{{"window.auto_compact", "false"}, {"autocompact.summary", "[fixed: 5000]"}} {
		must.Do(t, pol.Set(set[0], set[1]))
	}
	at := map[int]int{}
	var opt Options
	for i, b := range conv.Boundaries {
		if b.Request > len(conv.Requests) {
			continue
		}
		at[b.Request] = len(recorded)
		n := rec.record.Reinject[i]
		for _, a := range b.Attached {
			n += rec.Cal.Message(a)
		}
		recorded = append(recorded, n)
		if b.Trigger == "auto" {
			opt.CompactAt = append(opt.CompactAt, b.Request)
		}
	}
	attached = make([]int, len(recorded))
	tl := must.Get(rec.Replay(pol, opt))(t)
	for _, ev := range tl.Events {
		if ev.Stage == "post_compact" && ev.Request != nil {
			if k, ok := at[*ev.Request]; ok {
				attached[k] = ev.After
			}
		}
	}
	return recorded, attached
}
