// Package explore is a terminal program that shows sessions: from a list to a session, to one of its requests, to a block of
// that, and each under one policy or two. The command line gives it what it shows (see Backend).
package explore

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/report"
)

// ProgressFunc reports how much of a piece of work is done; total is 0 where that is not known.
type ProgressFunc func(done, total int)

// Backend gives the explorer what it shows. Its functions may take long, and are not called on the goroutine that draws.
type Backend struct {
	Sessions func(show func([]report.SessionItem), step ProgressFunc) ([]report.SessionItem, error) // shows some of them before it has all
	Figures  func(ctx context.Context, list []report.SessionItem, step ProgressFunc)                // reads sizes and costs into the items
	Open     func(ctx context.Context, item *report.SessionItem, step ProgressFunc) (*Opened, error)
	Page     func(ctx context.Context, item *report.SessionItem, policy, file string, replace bool) error // writes a page; fs.ErrExist: another one is there
	Stamp    func(list []report.SessionItem) string                                                       // changes with the files that sessions are read from
	State    func(list []report.SessionItem) string                                                       // changes with the files of a list and with what is in their folders

	Context  context.Context                                                // ends with the explorer
	Folders  []string                                                       // that the user named
	Select   func(f Filter, list []report.SessionItem) []report.SessionItem // the sessions that match, in their order
	Orders   []string                                                       // for Filter; the first is that of Sessions
	Agent    func(item *report.SessionItem) string
	Policies []string
	Policy   string                                  // with which a session is shown at first
	Words    func(item *report.SessionItem) []string // of a command line, that name it
	Line     func(words []string) string             // a command line to paste
	Layout   report.Layout
	Watch    time.Duration // how often files that grow are looked at; 0: never
	Send     func(tea.Msg) // to the program; nil: there is none
}

// Filter says which sessions are listed, and in what order, as the flags of `ctxkit sessions` do. "" leaves the choice open.
type Filter struct{ Grep, Source, Project, Model, Sort string }

// Opened is a session that was read.
type Opened struct {
	Conv    *session.Conversation
	Record  *replay.Record
	Agents  []report.SessionItem // its subagents, with their figures
	Options replay.Options
	Policy  func(name string) (*policy.Policy, error)
	Bill    func(pol *policy.Policy, opt replay.Options) (print func(w io.Writer, layout report.Layout) error, err error)
	Close   func()

	users sync.WaitGroup // background work on it
}

// close closes the session once no background work needs it.
func (o *Opened) close() {
	if o != nil {
		go func() { o.users.Wait(); o.Close() }()
	}
}

// until are the options of replays that stop with a job.
func (o *Opened) until(j *job) replay.Options {
	opt := o.Options
	opt.Stop = j.ctx.Err
	return opt
}

// A screen is one of those that lie on each other. The uppermost is shown and gets the keys.
type screen interface {
	title() string
	start() tea.Cmd // begins its work, or goes on with it
	actions() []action
	resize(w, h int)
	update(msg tea.Msg) tea.Cmd
	view() string
	words() []string // of the command that shows the same; nil: there is none
	typing() bool    // it takes every key
	background() *work
}

// action is what keys do. foot is what the last line of a screen says of them; without a description it leaves them out.
type action struct {
	key.Binding
	do   func() tea.Cmd
	foot key.Help
}

func on(keys, help string, do func() tea.Cmd) action {
	list := strings.Fields(keys)
	return action{key.NewBinding(key.WithKeys(list...), key.WithHelp(strings.Join(list, " "), help)), do, key.Help{Key: list[0], Desc: help}}
}

// as has the last line of a screen call an action something shorter.
func (a action) as(keys, help string) action {
	a.foot = key.Help{Key: keys, Desc: help}
	return a
}

// moves are the keys that move through rows, names and texts.
func moves() []action {
	return []action{
		on("up k", "up", nil), on("down j", "down", nil), on("pgup", "page up", nil), on("pgdown space", "page down", nil),
		on("home", "first line", nil), on("end", "last line", nil),
	}
}

// edits are the keys of a line that is typed.
func edits() []action {
	return []action{
		on("enter", "take the line", nil), on("esc", "leave the line", nil), on("left", "character before", nil), on("right", "next character", nil),
		on("home ctrl+a", "beginning", nil), on("end ctrl+e", "end", nil), on("backspace", "delete the character before", nil),
		on("delete ctrl+d", "delete the next character", nil), on("ctrl+w", "delete the word before", nil), on("ctrl+u", "delete all before", nil),
		on("ctrl+k", "delete all after", nil),
	}
}

// plain gives a line that is typed the keys of edits, and a cursor that stands still.
func plain(in *textinput.Model) {
	e := edits()
	in.KeyMap = textinput.KeyMap{
		CharacterBackward: e[2].Binding, CharacterForward: e[3].Binding, LineStart: e[4].Binding, LineEnd: e[5].Binding,
		DeleteCharacterBackward: e[6].Binding, DeleteCharacterForward: e[7].Binding, DeleteWordBackward: e[8].Binding,
		DeleteBeforeCursor: e[9].Binding, DeleteAfterCursor: e[10].Binding,
	}
	st := in.Styles()
	st.Cursor.Blink = false
	in.SetStyles(st)
}

// Browser is the explorer.
type Browser struct {
	src           *Backend
	stack         []screen
	width, height int
	prompt        *prompt // a line that is typed; nil: none
	note          string  // what came of the last key
}

// New returns the explorer of a source.
func New(src *Backend) *Browser {
	m := &Browser{src: src}
	m.stack = []screen{newSessions(m)}
	return m
}

// Init begins with the list of sessions.
func (m *Browser) Init() tea.Cmd {
	s := m.stack[0].(*sessions)
	w := watch{s, m.src.Watch, func() []report.SessionItem { return slices.Clone(s.all) }, m.src.State, &s.state, func() tea.Cmd { return s.list("") }}
	return tea.Batch(s.start(), w.start())
}

func (m *Browser) top() screen { return m.stack[len(m.stack)-1] }

// push shows a screen above the others. Their work goes on until the screen begins its own.
func (m *Browser) push(s screen) tea.Cmd {
	m.stack = append(m.stack, s)
	m.resize()
	return s.start()
}

// leave ends the work of a screen.
func (m *Browser) leave(w *work) {
	if w.job != nil && w.job.asked {
		m.note = w.job.what + ": stopped"
	}
	w.halt()
}

// back leaves the uppermost screen.
func (m *Browser) back() tea.Cmd {
	if len(m.stack) == 1 {
		return nil
	}
	m.leave(m.top().background())
	if s, ok := m.top().(*sessionScreen); ok {
		s.opened.close()
	}
	m.stack = m.stack[:len(m.stack)-1]
	m.resize()
	return m.top().start()
}

// The lines above and below a screen.
const frameLines = 3

func (m *Browser) resize() {
	m.top().resize(max(m.width, 20), max(m.height-frameLines, 5))
}

// global are the keys that each screen has.
func (m *Browser) global() []action {
	return []action{
		on("esc backspace", "back", m.back),
		on("y", "copy the command", m.copy).as("y", "copy"),
		on("q ctrl+c", "quit", func() tea.Cmd { return tea.Quit }),
		on("?", "keys", func() tea.Cmd { return m.push(newHelp(m)) }),
	}
}

func (m *Browser) copy() tea.Cmd {
	words := m.top().words()
	if words == nil {
		m.note = "no command shows this"
		return nil
	}
	line := m.src.Line(append([]string{"ctxkit"}, words...))
	m.note = "sent to the clipboard: " + line
	return tea.SetClipboard(line)
}

// Update takes a message.
func (m *Browser) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width = msg.Width
		m.height = msg.Height
		m.resize()
		return m, nil
	case progress:
		msg.job.done = msg.done
		msg.job.total = msg.total
		return m, nil
	case partly:
		if msg.job.ctx.Err() == nil {
			return m, msg.then()
		}
		return m, nil
	case finished:
		if msg.job.ctx.Err() != nil {
			return m, nil // its screen was left
		}
		msg.work.halt()
		if msg.err != nil {
			msg.work.failed = report.Clean(msg.err.Error())
			if m.top().view() != "" {
				m.note = msg.work.failed
			}
			return m, nil
		}
		return m, msg.then()
	case tick:
		return m, msg.look(m)
	case tea.KeyPressMsg:
		return m, m.press(msg)
	}
	if m.prompt != nil {
		return m, m.prompt.update(msg)
	}
	return m, m.top().update(msg)
}

func (m *Browser) press(msg tea.KeyPressMsg) tea.Cmd {
	if msg.Mod.Contains(tea.ModAlt) { // a terminal sends alt and a key as esc and that key, soon after each other
		after := tea.KeyPressMsg{Code: msg.Code, Mod: msg.Mod &^ tea.ModAlt}
		if after.Mod&^tea.ModShift == 0 && unicode.IsPrint(msg.Code) {
			after.Text = string(msg.Code)
			if after.Mod != 0 {
				after.Text = strings.ToUpper(after.Text)
			}
		}
		return tea.Batch(m.press(tea.KeyPressMsg{Code: tea.KeyEscape}), m.press(after))
	}
	switch {
	case msg.String() == "ctrl+c":
		return tea.Quit
	case m.prompt != nil:
		return m.prompt.press(msg)
	case m.top().typing():
		return m.top().update(msg)
	}
	m.note = ""
	for _, list := range [][]action{m.top().actions(), m.global()} {
		for _, a := range list {
			if key.Matches(msg, a.Binding) {
				return a.do()
			}
		}
	}
	if !slices.ContainsFunc(moves(), func(a action) bool { return key.Matches(msg, a.Binding) }) {
		m.note = "no such key here: ? lists those that there are"
	}
	return m.top().update(msg)
}

var (
	bold     = lipgloss.NewStyle().Bold(true)
	faint    = lipgloss.NewStyle().Faint(true)
	selected = lipgloss.NewStyle().Reverse(true)
)

// line is a text on one line.
func line(st lipgloss.Style, text string, w int) string {
	return st.Inline(true).MaxWidth(w).Render(text)
}

// View draws the uppermost screen, between its place and its keys.
func (m *Browser) View() tea.View {
	var v tea.View
	v.AltScreen = true
	if m.width == 0 {
		return v
	}
	var titles []string
	note := m.note
	for _, s := range m.stack {
		titles = append(titles, s.title())
		if j := s.background().job; j != nil && j.what != "" {
			note = j.text()
		}
	}
	place := strings.Join(titles, " › ")
	for len(titles) > 1 && lipgloss.Width(place) > m.width {
		titles = titles[1:]
		place = "… › " + strings.Join(titles, " › ")
	}
	const hyphen, solid = "-", "\u2011"                                                                 // a command is not cut inside a word
	note = strings.ReplaceAll(wrapped(strings.ReplaceAll(note, hyphen, solid), m.width), solid, hyphen) // over the last lines of the screen
	if m.prompt != nil {
		note = m.prompt.View()
	}
	var keys []key.Binding
	for _, a := range append(m.top().actions(), m.global()[1:]...) {
		if a.foot.Desc != "" {
			keys = append(keys, key.NewBinding(key.WithKeys(a.Keys()...), key.WithHelp(a.foot.Key, a.foot.Desc)))
		}
	}
	h := help.New()
	h.Styles = help.Styles{ShortKey: bold}
	h.ShortSeparator = "  "
	most := len(keys) - 1
	end := h.ShortSeparator + h.ShortHelpView(keys[most:])
	for most > 0 && lipgloss.Width(h.ShortHelpView(keys[:most])+end) > m.width {
		most--
	}
	text := m.top().view()
	if text == "" {
		text = m.top().background().failed
	}
	rest := max(m.height-2-lipgloss.Height(note), 1)
	body := lipgloss.NewStyle().Width(m.width).Height(rest).MaxHeight(rest).Render(text)
	v.Content = strings.Join([]string{line(bold, place, m.width), body, faint.Render(note), line(lipgloss.NewStyle(), h.ShortHelpView(keys[:most])+end, m.width)}, "\n")
	return v
}
