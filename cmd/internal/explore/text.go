package explore

import (
	"strings"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/ctxkit/ctxkit/replay/trace"
	"github.com/ctxkit/ctxkit/report"
)

// textScreen is a text to scroll.
type textScreen struct {
	work
	viewport.Model
	name    string
	command []string
	keys    []action
	render  func(w int) string // nil: not known yet
	request int                // that the text is about
	find    string             // is marked
}

func newText(m *Browser, name string, command ...string) *textScreen {
	t := &textScreen{work: work{m: m}, Model: viewport.New(), name: name, command: command}
	t.HighlightStyle, t.SelectedHighlightStyle = selected, selected.Bold(true)
	k := moves()
	t.KeyMap = viewport.KeyMap{Up: k[0].Binding, Down: k[1].Binding, PageUp: k[2].Binding, PageDown: k[3].Binding}
	return t
}

// show shows a text, from its beginning.
func (t *textScreen) show(render func(w int) string) tea.Cmd {
	t.render = render
	t.m.resize()
	t.GotoTop()
	t.mark()
	return nil
}

func (t *textScreen) title() string { return t.name }

func (t *textScreen) view() string {
	if t.render == nil {
		return ""
	}
	return t.View()
}

func (t *textScreen) resize(w, h int) {
	t.SetWidth(w)
	t.SetHeight(h)
	if t.render != nil {
		t.SetContent(t.render(w))
		t.mark()
	}
}

// mark marks what was searched for.
func (t *textScreen) mark() {
	if t.find != "" {
		t.SetHighlights(anyCase(t.find).FindAllStringIndex(t.GetContent(), -1))
	}
}

func (t *textScreen) update(msg tea.Msg) (cmd tea.Cmd) {
	switch k, _ := msg.(tea.KeyPressMsg); k.String() {
	case "home":
		t.GotoTop()
	case "end":
		t.GotoBottom()
	}
	t.Model, cmd = t.Update(msg)
	return cmd
}

func (t *textScreen) actions() []action {
	if t.find == "" {
		return t.keys
	}
	return append([]action{
		on("n", "next match", func() tea.Cmd { t.HighlightNext(); return nil }),
		on("N", "match before", func() tea.Cmd { t.HighlightPrevious(); return nil }),
	}, t.keys...)
}

func (t *textScreen) words() []string {
	if len(t.command) > 1 {
		return t.command
	}
	return nil
}

// mostText is how much of a text is shown, bytes. A longer one is cut in the middle.
const mostText = 512 << 10

// cleaned is a text of a session with nothing in it that a terminal obeys, line by line.
func cleaned(text string) string {
	lines := strings.Split(trace.Shorten(text, mostText), "\n")
	for i := range lines {
		lines[i] = report.Clean(strings.ReplaceAll(strings.TrimSuffix(lines[i], "\r"), "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

// wrapped is a text in lines of at most w columns.
func wrapped(text string, w int) string { return lipgloss.Wrap(text, w, "") }

// newHelp is the screen of all keys.
func newHelp(m *Browser) *textScreen {
	t := newText(m, "keys")
	zero := work{m: m}
	s := &sessionScreen{work: zero}
	parts := []struct {
		name string
		keys []action
	}{
		{"everywhere", append(m.global(), moves()...)},
		{"a line that is typed", edits()},
		{"sessions", newSessions(m).actions()},
		{"a session", s.actions()},
		{"a request", (&requestScreen{session: s}).actions()},
		{"a block", append((&textScreen{find: "x"}).actions(), s.blockKeys(nil)...)},
		{"compactions", s.compactionKeys(nil, nil)},
		{"what a search found", (&searchScreen{}).actions()},
		{"a list to choose from", (&chooser{}).actions()},
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strings.ToUpper(p.name) + "\n")
		for _, a := range p.keys {
			b.WriteString("  " + lipgloss.NewStyle().Width(34).Render(a.Help().Key) + " " + a.Help().Desc + "\n")
		}
		b.WriteString("\n")
	}
	text := b.String()
	t.render = func(int) string { return text }
	return t
}
