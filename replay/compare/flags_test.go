package compare_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
)

func TestFlags(t *testing.T) {
	pol := named(t, "recorded")[0]
	must.Rows(t, `
# session | what "usage" is called in it | lines left out at its beginning | model | subagents | flags
big    | usage  | 0 | ""         | 0 | ["outputs_estimated", "compacted_when_recorded"]
rewind | usage  | 0 | nonesuch-9 | 2 | ["subagents_left_out", "model_without_price"]
rewind | usages | 0 | ""         | 0 | ["usage_estimated"]
rewind | usage  | 6 | ""         | 0 | ["begins_mid_conversation"]
rewind | usage  | 0 | ""         | 0 | null
`, func(name, usage string, without int, model string, agents int, want []compare.Flag) {
		text := must.Get(os.ReadFile("../../testdata/sessions/" + name + ".jsonl"))(t)
		file := filepath.Join(t.TempDir(), "s.jsonl")
		must.Do(t, os.WriteFile(file, []byte(strings.Join(strings.SplitAfter(strings.ReplaceAll(string(text), `"usage"`, `"`+usage+`"`), "\n")[without:], "")), 0o600))
		rec := recordOf(t, file)
		tl := must.Get(rec.Replay(pol, replay.Options{Model: model}))(t)
		s := compare.NewSession(tl, "p")
		if err := s.Mark(rec, tl, agents); err != nil || !slices.Equal(s.Flags, want) {
			t.Errorf("%s: %q, %v, want %q", name, s.Flags, err, want)
		}
		s.Values = append(s.Values, compare.Of(tl))
		s.Rereads.Files++
		all := compare.Compare([]string{"recorded"}, []compare.ComparedSession{s, s}, compare.ByNothing)[0]
		for _, flag := range compare.Flags() {
			if n := all.Flagged(flag); n != 0 != slices.Contains(want, flag) || n != 0 && n != 2 {
				t.Errorf("%s: %d sessions with %s", name, n, flag)
			}
		}
		if n := all.Rereads().Files; n < 2 || n != 2*s.Rereads.Files {
			t.Errorf("%s: %d files read again", name, n)
		}
	})
}
