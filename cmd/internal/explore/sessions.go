package explore

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/report"
)

// sessions is the list of sessions.
type sessions struct {
	work
	parent *sessionScreen // whose subagents it lists; nil: it lists the sessions
	all    []report.SessionItem
	tried  map[version]bool // whose figures were read, or cannot be
	listed bool
	state  string // of the files that are listed
	shown  []report.SessionItem
	rows
	by Filter
}

// version is a session as its file was.
type version struct {
	path, id string
	size     int64
	changed  time.Time
}

func versionOf(i *report.SessionItem) version { return version{i.Path, i.ID, i.Size, i.Changed} }

func newSessions(m *Browser) *sessions {
	return &sessions{work: work{m: m}, rows: newRows(), tried: map[version]bool{}}
}

func (s *sessions) title() string {
	what := "sessions"
	if s.parent != nil {
		what = "subagents"
	}
	parts := []string{what}
	if s.listed || len(s.all) > 0 {
		parts[0] = policy.Thousands(len(s.shown)) + " of " + policy.Thousands(len(s.all)) + " " + what
	}
	for _, p := range [][2]string{{"by ", s.by.Sort}, {"agent ", s.by.Source}, {"project ", s.by.Project}, {"model ", s.by.Model}, {"with ", s.by.Grep}} {
		if p[1] != "" {
			parts = append(parts, p[0]+report.Clean(p[1]))
		}
	}
	return strings.Join(parts, ", ")
}

func (s *sessions) start() tea.Cmd {
	switch {
	case s.job != nil:
		return nil
	case s.listed:
		return s.figures()
	}
	return s.list("looking for sessions")
}

// list lists the sessions. Those that it lists already stay until then.
func (s *sessions) list(what string) tea.Cmd {
	src := s.m.src
	first := !s.listed
	return s.run(what, nil, func(j *job) (then, error) {
		found, err := src.Sessions(func(some []report.SessionItem) {
			j.show(func() tea.Cmd {
				if first {
					s.all = some
					s.show()
				}
				return nil
			})
		}, j.step)
		state := src.State(found)
		return func() tea.Cmd {
			figures := map[version]*report.SessionItem{}
			for i := range s.all {
				figures[versionOf(&s.all[i])] = &s.all[i]
			}
			for i := range found {
				if old := figures[versionOf(&found[i])]; old != nil {
					found[i].Glance = old.Glance
					found[i].Last = old.Last
				}
			}
			s.all = found
			s.listed = true
			s.state = state
			s.show()
			if first && len(found) == 1 && s.m.top() == s {
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
	var at []int
	for i := range s.all {
		if s.all[i].Glance == nil && !s.tried[versionOf(&s.all[i])] {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return nil
	}
	src := s.m.src
	total := len(s.all)
	from := total - len(at)
	at = at[:min(len(at), max(from, atOnce))]
	part := make([]report.SessionItem, len(at))
	for n, i := range at {
		part[n] = s.all[i]
	}
	cmd := s.run("reading sizes and costs", nil, func(j *job) (then, error) {
		src.Figures(j.ctx, part, func(done, _ int) { j.step(from+done, total) })
		return func() tea.Cmd {
			for n, i := range at {
				s.all[i] = part[n]
				s.tried[versionOf(&part[n])] = true
			}
			s.show()
			return s.figures()
		}, nil
	})
	s.job.done = from
	s.job.total = total
	return cmd
}

func projectOf(i *report.SessionItem) string { return cmp.Or(i.Project, i.Folder) }

// modelOf is the model of a session's first request.
func modelOf(i *report.SessionItem) string {
	if i.Glance == nil || len(i.Models) == 0 {
		return ""
	}
	return i.Models[0]
}

// show lists the sessions that match, in their order. The cursor stays on its session, or on the first row.
func (s *sessions) show() {
	id := ""
	if i := s.selected(); i != nil && s.Cursor() > 0 {
		id = i.Path
	}
	f := s.by
	f.Sort = cmp.Or(f.Sort, s.m.src.Orders[0])
	s.shown = s.m.src.Select(f, s.all)
	s.set(report.SessionRows(s.shown, s.m.src.Layout.Now))
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
		return s.m.openSession(*i)
	}
	return nil
}

func (s *sessions) view() string {
	switch {
	case len(s.all) > 0:
		return s.View()
	case s.listed:
		return "There are no sessions here."
	}
	return ""
}

// values are what sessions have, each once, after an entry for all of them.
func (s *sessions) values(of func(*report.SessionItem) string) []string {
	list := []string{""}
	for i := range s.all {
		list = append(list, of(&s.all[i]))
	}
	slices.Sort(list)
	list = slices.Compact(list)
	list[0] = "all"
	return list
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
			return s.m.ask("filter", s.by.Grep, func(text string) { s.by.Grep = text; s.show() }, func(string) tea.Cmd { return nil })
		}),
		on("s", "sort", func() tea.Cmd { return s.choose("order", s.m.src.Orders, &s.by.Sort) }),
		on("a", "agent", func() tea.Cmd { return s.choose("agent", s.values(s.m.src.Agent), &s.by.Source) }),
		on("d", "project", func() tea.Cmd { return s.choose("project", s.values(projectOf), &s.by.Project) }),
		on("m", "model", func() tea.Cmd { return s.choose("model", s.values(modelOf), &s.by.Model) }),
	}
	if s.parent == nil {
		list = append(list, on("r", "list again", func() tea.Cmd { return s.list("looking for sessions") }))
	}
	return list
}

func (s *sessions) words() []string {
	words := append([]string{"sessions", "--all"}, s.m.src.Folders...)
	if p := s.parent; p != nil {
		words = p.command("replay", "--agent", "all")
		for i := range s.shown {
			if s.shown[i].Parent != "" {
				words = append(words, s.m.src.Words(&s.shown[i])...)
			}
		}
		return words
	}
	for _, p := range [][2]string{{"--sort", s.by.Sort}, {"--source", s.by.Source}, {"--project", s.by.Project}, {"--model", s.by.Model}, {"--grep", regexp.QuoteMeta(s.by.Grep)}} {
		if p[1] != "" {
			words = append(words, p[:]...)
		}
	}
	return words
}
