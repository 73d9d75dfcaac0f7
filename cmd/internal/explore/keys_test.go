package explore

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// TestKeysListed holds that the help lists every key that is bound anywhere, those of rows, texts, lists and typed lines too.
func TestKeysListed(t *testing.T) {
	m := New(&Backend{Orders: []string{"age"}})
	m.width, m.height = 80, 24
	m.choose("names", []string{"a"}, "a", func(string) tea.Cmd { return nil })
	m.ask("a line", "", nil, nil)
	help := newHelp(m)
	listed := strings.Fields(help.render(80))
	c := m.top().(*chooser)
	for what, keys := range map[string]any{
		"rows": newRows().KeyMap, "a text": help.KeyMap, "a list": c.KeyMap, "its filter": c.FilterInput.KeyMap, "a line": m.prompt.KeyMap,
	} {
		bindings := reflect.ValueOf(keys)
		for i := range bindings.NumField() {
			for _, k := range bindings.Field(i).Interface().(key.Binding).Keys() {
				if !slices.Contains(listed, k) {
					t.Errorf("%s: the help does not list %q", what, k)
				}
			}
		}
	}
}

func TestMarked(t *testing.T) {
	for _, c := range [][3]string{
		{"a\nb\nc", "a\nb\nc", "a\nb\nc"},
		{"a\nb\nc", "a\nx\ny\nc", "a\n≠ b\nc"},
		{"a\nx\ny\nc", "a\nb\nc", "a\n≠ x\n≠ y\nc"},
		{"a\na", "a", "a\n≠ a"},
		{"a", "a\na", "a"},
		{"a", "b", "≠ a"},
		{"a", "", "a"},
	} {
		if got := marked(c[0], c[1]); got != c[2] {
			t.Errorf("marked(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
