package strict

import (
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestDurationText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", time.Minute: "1m", time.Hour: "1h", 90 * time.Minute: "1h30m",
		3661 * time.Second: "1h1m1s", 3601 * time.Second: "1h0m1s", 20 * time.Minute: "20m", 10 * time.Second: "10s", 1500 * time.Millisecond: "1.5s",
	} {
		must.Equal(t, DurationText(d), want, d)
		must.Both(time.ParseDuration(DurationText(d)))(t, d, nil)
	}
}

func TestSuggest(t *testing.T) {
	names := []string{"opencode-1.1.36", "claude-code-2.1", "none", "recorded"}
	must.Rows(t, `
# name | want
opencode                | did you mean opencode-1.1.36? the others are claude-code-2.1, none, recorded
Claude_Code-2.1         | did you mean claude-code-2.1? the others are opencode-1.1.36, none, recorded
nnoe                    | did you mean none? the others are opencode-1.1.36, claude-code-2.1, recorded
none                    | use one of opencode-1.1.36, claude-code-2.1, recorded
sliding                 | use one of opencode-1.1.36, claude-code-2.1, none, recorded
""                      | use one of opencode-1.1.36, claude-code-2.1, none, recorded
{opencode-1.1.36*90000} | use one of opencode-1.1.36, claude-code-2.1, none, recorded
`, func(name, want string) {
		must.Equal(t, Suggest(name, names), want, name)
	})
	must.Equal(t, Suggest("a", nil), "leave it out")
}
