package explore

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/report"
)

// searchScreen lists the blocks with a text.
type searchScreen struct {
	work
	session *sessionScreen
	text    string
	list    []report.FoundRow
	rows
	done bool
}

// search asks for a text and lists the blocks that have it.
func (s *sessionScreen) search() tea.Cmd {
	return s.m.ask("search all texts", "", nil, func(text string) tea.Cmd {
		if text == "" {
			return nil
		}
		return s.m.push(&searchScreen{work: work{m: s.m}, session: s, text: text, rows: newRows()})
	})
}

// start searches, recorded texts first, then those that the policy made.
func (f *searchScreen) start() tea.Cmd {
	if f.done {
		return nil
	}
	opened := f.session.opened
	replays := f.session.replays()
	text := f.text
	return f.run("searching", opened, func(j *job) (then, error) {
		var ends []func() (*view.View, error)
		for _, r := range replays {
			ends = append(ends, func() (*view.View, error) { return opened.view(j, r.pol, len(opened.Conv.Requests)+1) })
		}
		list, err := Search(opened.Conv, text, func(done, total int) error {
			j.step(done, total)
			return j.ctx.Err()
		}, ends...)
		return func() tea.Cmd {
			f.list = list
			f.done = true
			f.set(report.FoundRows(list))
			f.m.resize()
			return nil
		}, err
	})
}

// Search lists the blocks of a session with a text, in any case: those that were recorded, then those that policies made,
// which are in the edits of their views at the end: one view, or two. It lists no more than some. step ends it by an error.
func Search(conv *session.Conversation, text string, step func(done, total int) error, ends ...func() (*view.View, error)) ([]report.FoundRow, error) {
	texts, pattern, lower := conv.NewBlockReader(), anyCase(text), []byte(strings.ToLower(text)) // a pattern is slow
	var list []report.FoundRow
	second := false
	add := func(t policy.Target, request, line int, about string, body []byte) {
		if len(list) == report.MostFound || !bytes.Contains(bytes.ToLower(body), lower) {
			return
		}
		if at := pattern.FindIndex(body); at != nil {
			row := report.FoundRow{Target: t, Request: request, Line: line, About: about, Text: around(body, at[0]), Second: second}
			if !second || !slices.ContainsFunc(list, func(f report.FoundRow) bool { return f.Line == 0 && f.About == about && f.Text == row.Text }) {
				list = append(list, row)
			}
		}
	}
	for i := range conv.Messages {
		if err := step(i, len(conv.Messages)); err != nil {
			return nil, err
		}
		m := &conv.Messages[i]
		request := 1 + len(conv.Requests)
		if n, _ := slices.BinarySearchFunc(conv.Requests, i+1, func(c session.APICall, i int) int { return c.Message - i }); n < len(conv.Requests) {
			request = n + 1
		}
		for b := range m.Blocks {
			body, err := texts.WholeText(i, b)
			if err != nil {
				return nil, err
			}
			add(policy.BlockOf(i, b), request, m.Line, aboutBlock(conv, policy.ItemID(i), b), body)
		}
	}
	for n, end := range ends {
		v, err := end()
		if err != nil {
			return nil, err
		}
		second = n > 0
		for _, e := range v.Edits() {
			for _, made := range slices.Concat(e.Insert, e.Tail) {
				for c := range made.Contents {
					add(policy.BlockOf(made.ID, c), max(e.Request, 1), 0, made.Label, []byte(made.Contents[c].Text))
				}
			}
		}
	}
	return list, nil
}

// anyCase finds a text, in any case.
func anyCase(text string) *regexp.Regexp { return regexp.MustCompile("(?i)" + regexp.QuoteMeta(text)) }

// around is what stands about a place of a text.
func around(text []byte, at int) string {
	return strings.ToValidUTF8(string(text[max(at-12, 0):min(at+200, len(text))]), "")
}

func (f *searchScreen) title() string {
	title := "“" + report.Clean(f.text) + "”"
	if f.done {
		title += ": " + report.FoundText(f.list)
	}
	return title
}

func (f *searchScreen) words() []string { return f.session.command("view", "--find", f.text) }

func (f *searchScreen) view() string {
	switch {
	case !f.done:
		return ""
	case len(f.list) == 0:
		return "No text of the session has it."
	}
	return f.View()
}

func (f *searchScreen) actions() []action {
	return []action{on("enter", "go to the block", func() tea.Cmd {
		at := f.Cursor()
		if at < 0 || at >= len(f.list) {
			return nil
		}
		found := &f.list[at]
		f.session.to(found.Request - 1)
		r := newRequest(f.session, found.Request)
		r.want = found
		r.find = f.text
		return f.m.push(r)
	})}
}
