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
	whole := func(text string) string { return text }
	for _, c := range []struct {
		file   string
		change func(text string) string
		model  string
		agents int
		want   []compare.Flag
	}{
		{"big", whole, "", 0, []compare.Flag{compare.FlagOutputs, compare.FlagCompacted}},
		{"rewind", whole, "nonesuch-9", 2, []compare.Flag{compare.FlagSubagents, compare.FlagUnpriced}},
		{"rewind", func(text string) string { return strings.ReplaceAll(text, `"usage"`, `"usages"`) }, "", 0, []compare.Flag{compare.FlagEstimated}},
		{"rewind", func(text string) string { return strings.Join(strings.SplitAfter(text, "\n")[6:], "") }, "", 0, []compare.Flag{compare.FlagMidway}},
		{"rewind", whole, "", 0, nil},
	} {
		text := must.Get(os.ReadFile("../../testdata/sessions/" + c.file + ".jsonl"))(t)
		file := filepath.Join(t.TempDir(), "s.jsonl")
		must.Do(t, os.WriteFile(file, []byte(c.change(string(text))), 0o600))
		rec := recordOf(t, file)
		tl := must.Get(rec.Replay(pol, replay.Options{Model: c.model}))(t)
		s := compare.NewSession(tl, "p")
		if err := s.Mark(rec, tl, c.agents); err != nil || !slices.Equal(s.Flags, c.want) {
			t.Errorf("%s: %q, %v, want %q", c.file, s.Flags, err, c.want)
		}
		s.Values = append(s.Values, compare.Of(tl))
		s.Rereads.Files++
		all := compare.Compare([]string{"recorded"}, []compare.ComparedSession{s, s}, compare.ByNothing)[0]
		for _, flag := range compare.Flags() {
			if n := all.Flagged(flag); n != 0 != slices.Contains(c.want, flag) || n != 0 && n != 2 {
				t.Errorf("%s: %d sessions with %s", c.file, n, flag)
			}
		}
		if n := all.Rereads().Files; n < 2 || n != 2*s.Rereads.Files {
			t.Errorf("%s: %d files read again", c.file, n)
		}
	}
}
