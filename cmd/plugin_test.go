package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestSkill runs the commands of the skill as Claude Code has them run, with the id of a session in its folder, and holds
// that each begins with its answer.
func TestSkill(t *testing.T) {
	skill := must.Get(os.ReadFile(filepath.Join(plugin, "skills", "ctxkit", "SKILL.md")))(t)
	const id = "3fea94ca-9a1c-4900-ba4b-332afdaddc4a"
	home := t.TempDir()
	project := filepath.Join(home, "projects", "-home-dev-harbor")
	text, err := os.ReadFile("../testdata/sessions/big.jsonl")
	if err == nil {
		err = os.MkdirAll(project, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(project, id+".jsonl"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CLAUDE_CONFIG_DIR", home)
	t.Setenv(cacheVariable, cacheOff)

	answers := map[string]string{
		"ctxkit stats ID":                                     "298 requests had 27,771,466 tokens of input, which cost 18.74 USD",
		"ctxkit stats ID --at peak":                           "The context was largest at request 244 of 298: 155,091 tokens",
		"ctxkit regret ID --policy recorded":                  "342 blocks removed by the client, and 22 of them read again later",
		"ctxkit diff ID --policy recorded --stat":             "summarised by the client at request 245",
		"ctxkit resume ID":                                    "The next request of the session sends",
		"ctxkit why ID":                                       "2.90 USD (15.4 %) for 7 cache misses",
		"ctxkit thresholds --policy claude-code --used 74637": "first changes the context at 200,000",
		"ctxkit compare ID":                                   "In this session, opencode costs 5.9 % less than recorded",
		"ctxkit stats --help":                                 "Show what the input of a session consisted of",
	}
	placeholders := strings.NewReplacer("${CLAUDE_SESSION_ID}", "ID", "TOKENS", "74637", "COMMAND", "stats")
	seen := map[string]bool{}
	for _, c := range regexp.MustCompile("`(ctxkit [^`]*)`").FindAllStringSubmatch(string(skill), -1) {
		line := placeholders.Replace(c[1])
		seen[line] = true
		args := strings.Fields(strings.Replace(line, " ID", " "+id, 1))[1:]
		code, out, errs := ctxkit(args...)
		if code != exitDone {
			t.Errorf("%s: exit %d: %s", line, code, errs)
		}
		begin := strings.Join(strings.Fields(out[:min(len(out), 1200)]), " ")
		if answer := answers[line]; answer == "" || !strings.Contains(begin, answer) {
			t.Errorf("%s begins with %q, want %q", line, begin, answer)
		}
	}
	if len(seen) != len(answers) {
		t.Errorf("the skill has %d commands, want %d", len(seen), len(answers))
	}
}

const plugin = "../scripts/plugin"

// TestPlugin holds that the hooks name files that there are.
func TestPlugin(t *testing.T) {
	var hooks struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	text := must.Get(os.ReadFile(filepath.Join(plugin, "hooks", "hooks.json")))(t)
	must.Do(t, json.Unmarshal(text, &hooks))
	for event, list := range hooks.Hooks {
		for _, hook := range list[0].Hooks {
			_, name, ok := strings.Cut(strings.Trim(hook.Command, `"`), "${CLAUDE_PLUGIN_ROOT}/")
			if _, err := os.Stat(filepath.Join(plugin, filepath.FromSlash(name))); !ok || err != nil {
				t.Errorf("%s: %q names no file of the plugin (%v)", event, hook.Command, err)
			}
		}
	}
	if len(hooks.Hooks["PreCompact"]) != 1 {
		t.Error("no hook before a compaction")
	}
}
