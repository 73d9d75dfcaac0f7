package explore

import (
	"charm.land/bubbles/v2/list"
	"charm.land/bubbles/v2/table"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/ctxkit/ctxkit/report"
)

// rows is a table of a report that the cursor moves through.
type rows struct {
	table.Model
	of *report.RowList
}

func newRows() rows {
	k := moves()
	t := table.New(table.WithFocused(true), table.WithStyles(table.Styles{
		Header: lipgloss.NewStyle().Faint(true).PaddingRight(2), Cell: lipgloss.NewStyle().PaddingRight(2), Selected: selected,
	}), table.WithKeyMap(table.KeyMap{
		LineUp: k[0].Binding, LineDown: k[1].Binding, PageUp: k[2].Binding, PageDown: k[3].Binding, GotoTop: k[4].Binding, GotoBottom: k[5].Binding,
	}))
	return rows{Model: t}
}

// set shows other rows. The cursor stays at its place in them.
func (r *rows) set(of *report.RowList) {
	r.of = of
	r.resize(r.Width(), r.Height()+1)
}

func (r *rows) resize(w, h int) {
	at := r.Cursor()
	r.SetRows(nil)
	r.SetWidth(w)
	if r.of != nil {
		titles, widths, cells := r.of.Fit(w)
		columns := make([]table.Column, len(titles))
		list := make([]table.Row, len(cells))
		for i := range titles {
			columns[i] = table.Column{Title: titles[i], Width: widths[i]}
		}
		for i := range cells {
			list[i] = cells[i]
		}
		r.SetColumns(columns)
		r.SetRows(list)
	}
	r.SetHeight(h)
	r.to(at)
}

// to moves the cursor to a row, which comes into view: SetCursor alone does not scroll.
func (r *rows) to(n int) {
	r.SetCursor(0)
	r.GotoTop()
	r.MoveDown(max(n, 0))
}

func (r *rows) update(msg tea.Msg) (cmd tea.Cmd) {
	r.Model, cmd = r.Update(msg)
	return cmd
}

// chooser is a list of names to choose one from.
type chooser struct {
	work
	list.Model
	what   string
	chosen func(name string) tea.Cmd
}

type name string

// FilterValue is what a filter looks at.
func (n name) FilterValue() string { return string(n) }

// Title is what the list shows.
func (n name) Title() string { return report.Clean(string(n)) }

// Description is not shown.
func (n name) Description() string { return "" }

// choose lets the user choose one of some names; at is the one that is chosen now.
func (m *Browser) choose(what string, names []string, at string, chosen func(string) tea.Cmd) tea.Cmd {
	items := make([]list.Item, len(names))
	index := 0
	for i, n := range names {
		if items[i] = name(n); n == at {
			index = i
		}
	}
	lines := list.NewDefaultDelegate()
	lines.ShowDescription = false
	lines.SetSpacing(0)
	c := &chooser{work: work{m: m}, what: what, chosen: chosen, Model: list.New(items, lines, 0, 0)}
	c.SetShowTitle(false)
	c.SetShowHelp(false)
	c.SetShowStatusBar(false)
	k := moves()
	e := edits()
	c.KeyMap = list.KeyMap{
		CursorUp: k[0].Binding, CursorDown: k[1].Binding, PrevPage: k[2].Binding, NextPage: k[3].Binding, GoToStart: k[4].Binding, GoToEnd: k[5].Binding,
		Filter: c.actions()[1].Binding, AcceptWhileFiltering: e[0].Binding, CancelWhileFiltering: e[1].Binding,
	}
	plain(&c.FilterInput)
	cmd := m.push(c)
	c.Select(index)
	return cmd
}

func (c *chooser) title() string   { return c.what }
func (c *chooser) resize(w, h int) { c.SetSize(w, h) }
func (c *chooser) view() string    { return c.View() }
func (c *chooser) typing() bool    { return c.FilterState() == list.Filtering }

func (c *chooser) update(msg tea.Msg) (cmd tea.Cmd) {
	c.Model, cmd = c.Update(msg)
	return cmd
}

func (c *chooser) actions() []action {
	return []action{
		on("enter", "choose", func() tea.Cmd {
			item := c.SelectedItem()
			if item == nil {
				return nil
			}
			return tea.Batch(c.m.back(), c.chosen(item.FilterValue()))
		}),
		on("/", "filter", func() tea.Cmd { return c.update(tea.KeyPressMsg{Code: '/', Text: "/"}) }),
	}
}
