package explore

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/report"
)

// sessions is the list of sessions.
type sessions struct {
	work
	agents bool // it lists the subagents of a session
	all    []report.SessionItem
	read   int // of all, in the order of the list: their figures are read
	listed bool
	shown  []report.SessionItem
	rows

	filter, agent, project, order string
}

func (s *sessions) title() string {
	what := "sessions"
	if s.agents {
		what = "subagents"
	}
	parts := []string{what}
	if s.listed || len(s.all) > 0 {
		parts[0] = policy.Thousands(len(s.shown)) + " of " + policy.Thousands(len(s.all)) + " " + what
	}
	for _, p := range [][2]string{{"by ", s.order}, {"agent ", s.agent}, {"project ", s.project}, {"with ", s.filter}} {
		if p[1] != "" {
			parts = append(parts, p[0]+report.Clean(p[1]))
		}
	}
	return strings.Join(parts, ", ")
}

func (s *sessions) start() tea.Cmd {
	if s.listed {
		return s.figures()
	}
	s.rows, s.all, s.shown = newRows(), nil, nil
	s.m.resize()
	list := s.m.src.Sessions
	return s.run("looking for sessions", nil, func(j *job) (then, error) {
		found, err := list(func(some []report.SessionItem) {
			j.show(func() tea.Cmd { s.all = some; s.show(); return nil })
		}, j.step)
		return func() tea.Cmd {
			s.all, s.read, s.listed = found, 0, true
			s.show()
			if len(found) == 1 {
				return s.open()
			}
			return s.figures()
		}, err
	})
}

// atOnce is how many sessions are read before the list is drawn again: at first. Later it is as many as are read already,
// because drawing a long list takes its time.
const atOnce = 32

// figures reads the figures of the sessions that have none yet, some at a time, while the list is shown.
func (s *sessions) figures() tea.Cmd {
	if s.read >= len(s.all) {
		return nil
	}
	src, from, total := s.m.src, s.read, len(s.all)
	to := min(from+max(from, atOnce), total)
	part := slices.Clone(s.all[from:to])
	cmd := s.run("reading sizes and costs", nil, func(j *job) (then, error) {
		src.Figures(j.ctx, part, func(done, _ int) { j.step(from+done, total) })
		return func() tea.Cmd {
			copy(s.all[from:], part)
			s.read = to
			s.show()
			return s.figures()
		}, nil
	})
	s.job.done, s.job.total = from, total
	return cmd
}

func (s *sessions) matches(i *report.SessionItem) bool {
	text := strings.Join([]string{i.ID, i.Title, i.Prompt, i.Project, i.Folder, s.m.src.Agent(i)}, "\n")
	if i.Glance != nil {
		text += "\n" + strings.Join(i.Models, "\n")
	}
	return (s.agent == "" || s.agent == s.m.src.Agent(i)) && (s.project == "" || s.project == projectOf(i)) &&
		strings.Contains(strings.ToLower(text), strings.ToLower(s.filter))
}

func projectOf(i *report.SessionItem) string {
	if i.Project != "" {
		return i.Project
	}
	return i.Folder
}

// show lists the sessions that match, in their order. The cursor stays on its session, or on the first row.
func (s *sessions) show() {
	id := ""
	if i := s.selected(); i != nil && s.Cursor() > 0 {
		id = i.Path
	}
	s.shown = slices.DeleteFunc(slices.Clone(s.all), func(i report.SessionItem) bool { return !s.matches(&i) })
	s.m.src.Sort(s.shown, cmp.Or(s.order, s.m.src.Orders[0]))
	s.set(report.SessionRows(s.shown, s.m.src.Now))
	if at := slices.IndexFunc(s.shown, func(i report.SessionItem) bool { return i.Path == id }); at >= 0 {
		s.to(at)
	}
}

func (s *sessions) selected() *report.SessionItem {
	if at := s.Cursor(); at >= 0 && at < len(s.shown) {
		return &s.shown[at]
	}
	return nil
}

func (s *sessions) open() tea.Cmd {
	if i := s.selected(); i != nil {
		return s.m.push(newSession(s.m, *i))
	}
	return nil
}

func (s *sessions) view() string {
	if s.listed && len(s.all) == 0 {
		return "There are no sessions here."
	}
	return s.View()
}

// values are what sessions have, each once, after an entry for all of them.
func (s *sessions) values(of func(*report.SessionItem) string) []string {
	var list []string
	for i := range s.all {
		list = append(list, of(&s.all[i]))
	}
	slices.Sort(list)
	return append([]string{"all"}, slices.Compact(list)...)
}

// choose lets the user choose which sessions are listed, or in what order. The first of the names stands for "".
func (s *sessions) choose(what string, names []string, to *string) tea.Cmd {
	return s.m.choose(what, names, *to, func(name string) tea.Cmd {
		if *to = name; name == names[0] {
			*to = ""
		}
		s.show()
		s.to(0)
		return nil
	})
}

func (s *sessions) actions() []action {
	list := []action{
		on("enter", "open", s.open),
		on("/", "filter", func() tea.Cmd {
			return s.m.ask("filter", s.filter, func(text string) { s.filter = text; s.show() }, func(string) tea.Cmd { return nil })
		}),
		on("s", "sort", func() tea.Cmd { return s.choose("order", s.m.src.Orders, &s.order) }),
		on("a", "agent", func() tea.Cmd { return s.choose("agent", s.values(s.m.src.Agent), &s.agent) }),
		on("d", "project", func() tea.Cmd { return s.choose("project", s.values(projectOf), &s.project) }),
	}
	if !s.agents {
		list = append(list, on("r", "list again", func() tea.Cmd { s.listed = false; return s.start() }))
	}
	return list
}

func (s *sessions) words() []string {
	if s.agents {
		return nil
	}
	words := append([]string{"sessions"}, s.m.src.Folders...)
	for _, p := range [][2]string{{"--sort", s.order}, {"--source", s.agent}, {"--project", s.project}, {"--grep", s.filter}} {
		if p[1] != "" {
			words = append(words, p[:]...)
		}
	}
	return words
}
