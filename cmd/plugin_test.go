package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPlugin holds that the skill names commands that there are, and the hooks files that there are.
func TestPlugin(t *testing.T) {
	plugin := filepath.Join("..", "scripts", "plugin")
	skill, err := os.ReadFile(filepath.Join(plugin, "skills", "ctxkit", "SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("`(ctxkit [^`]*)`").FindAllStringSubmatch(string(skill), -1)
	if len(commands) < 7 {
		t.Errorf("%d commands", len(commands))
	}
	tokens := strings.NewReplacer("TOKENS", "1000", "COMMAND --help", "stats")
	for _, c := range commands {
		args, ok := ctxkitArgs(tokens.Replace(c[1]))
		if !ok {
			t.Errorf("%s: no command line", c[1])
		} else if err := parses(args); err != nil {
			t.Errorf("%s: %v", c[1], err)
		}
	}

	var hooks struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	text, err := os.ReadFile(filepath.Join(plugin, "hooks", "hooks.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &hooks); err != nil {
		t.Fatal(err)
	}
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
