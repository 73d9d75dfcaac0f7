package explore

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/diff"
	"github.com/ctxkit/ctxkit/report"
)

// replayed is the replay of a session under a policy.
type replayed struct {
	name string // as it was chosen
	pol  *policy.Policy
	tl   *replay.Timeline
	main []*replay.Request
}

// sessionScreen is a session, request by request.
type sessionScreen struct {
	work
	item   report.SessionItem
	opened *Opened // nil: not read yet
	stamp  string  // of the file that was read

	first, second *replayed // second is nil where there is one policy
	rows
	byTime        bool
	width, height int
}

func newSession(m *Browser, item report.SessionItem) *sessionScreen {
	return &sessionScreen{work: work{m: m}, item: item, rows: newRows(), first: &replayed{name: m.src.Policy}}
}

func (s *sessionScreen) title() string {
	return cmp.Or(report.Headline(&s.item.FileInfo), report.Clean(s.item.ID))
}

// aLot is how many bytes of a session are read again, where it grows, once in a Watch: a larger one is read less often.
const aLot = 4 << 20

// openSession shows a session, which is read, and read again where its file changes.
func (m *Browser) openSession(item report.SessionItem) tea.Cmd {
	s := newSession(m, item)
	every := m.src.Watch * time.Duration(1+item.Size/aLot)
	files := []report.SessionItem{item}
	return tea.Batch(m.push(s), watch{s, every, func() []report.SessionItem { return files }, m.src.Stamp, &s.stamp, s.read}.start())
}

func (s *sessionScreen) start() tea.Cmd {
	if s.opened != nil || s.job != nil {
		return nil
	}
	return s.read()
}

// read reads the session and replays it.
func (s *sessionScreen) read() tea.Cmd {
	src := s.m.src
	item := s.item
	names := s.names()
	return s.run("reading", nil, func(j *job) (then, error) {
		stamp := src.Stamp([]report.SessionItem{item})
		opened, err := src.Open(j.ctx, &item, j.step)
		if err != nil {
			return nil, err
		}
		list, err := opened.replay(j, names)
		if err != nil {
			opened.close()
			return nil, err
		}
		return func() tea.Cmd {
			s.opened.close()
			s.opened = opened
			s.stamp = stamp
			return s.show(list)
		}, nil
	})
}

func (s *sessionScreen) names() []string {
	var names []string
	for _, r := range s.replays() {
		names = append(names, r.name)
	}
	return names
}

// replays are the replays that are shown, one or two.
func (s *sessionScreen) replays() []*replayed {
	if s.second == nil {
		return []*replayed{s.first}
	}
	return []*replayed{s.first, s.second}
}

// other is the replay under the second policy; nil: there is none.
func (s *sessionScreen) other() *replay.Timeline {
	if s.second == nil {
		return nil
	}
	return s.second.tl
}

// replay replays the session under policies.
func (o *Opened) replay(j *job, names []string) ([]*replayed, error) {
	var list []*replayed
	for _, name := range names {
		pol, err := o.Policy(name)
		if err != nil {
			return nil, err
		}
		tl, err := o.Record.Replay(pol, o.until(j))
		if err != nil {
			return nil, err
		}
		list = append(list, &replayed{name, pol, tl, tl.Main()})
	}
	return list, nil
}

// show shows replays. A cursor on the last request stays on the last request.
func (s *sessionScreen) show(list []*replayed) tea.Cmd {
	at := s.Cursor()
	last := s.first.tl == nil || s.Cursor() == len(s.first.main)-1
	s.first = list[0]
	s.second = nil
	if len(list) > 1 {
		s.second = list[1]
	}
	s.set(report.RequestRows(s.first.tl, s.other(), s.m.src.Layout.Zone))
	if last {
		at = len(s.first.main) - 1
	}
	s.to(at)
	s.resize(s.width, s.height)
	for _, above := range s.m.stack {
		if r, ok := above.(*requestScreen); ok && r.session == s {
			if r.at = 0; s.m.top() == r.text { // it is shown again
				row := &r.shown[r.Cursor()]
				r.want = &report.FoundRow{Target: row.Target, Second: row.Right.Status == diff.Absent}
				return s.m.back()
			}
			return r.start()
		}
	}
	return nil
}

// again replays the session under other policies.
func (s *sessionScreen) again(names []string) tea.Cmd {
	opened := s.opened
	cmd := s.run("replaying", opened, func(j *job) (then, error) {
		list, err := opened.replay(j, names)
		return func() tea.Cmd { return s.show(list) }, err
	})
	s.job.asked = true
	return cmd
}

// request is the number of the request under the cursor; 0: there is none.
func (s *sessionScreen) request() int { return max(s.Cursor()+1, 0) }

// chartRows is the height of the chart, lines.
func (s *sessionScreen) chartRows() int { return min(max((s.height-9)/2, 3), 16) }

func (s *sessionScreen) resize(w, h int) {
	s.width = w
	s.height = h
	s.rows.resize(w, max(h-s.chartRows()-3-len(s.replays())-s.eventLines(), 2))
}

// eventLines are the lines below the requests, for what happened.
func (s *sessionScreen) eventLines() int { return min(max(s.height/10, 1), 4) }

func (s *sessionScreen) view() string {
	switch {
	case s.opened == nil:
		return ""
	case len(s.first.main) == 0:
		return "There is no request in this session: nothing was sent."
	}
	var lines []string
	for _, r := range s.replays() {
		verdict := report.Verdict(r.tl)
		for lipgloss.Width(verdict) > s.width && strings.Contains(verdict, ", ") { // the last parts say the least
			verdict = verdict[:strings.LastIndex(verdict, ", ")]
		}
		lines = append(lines, line(bold, verdict, s.width))
	}
	lines = append(lines, report.TimelineChart(s.first.tl, s.other(), report.ChartLayout{
		Width: s.width, Rows: s.chartRows(), Request: s.request(), ByTime: s.byTime, Color: s.m.src.Layout.Color, Zone: s.m.src.Layout.Zone,
	})...)
	return strings.Join(append(lines, s.View(), s.eventText()), "\n")
}

// eventText says what happened before the request under the cursor.
func (s *sessionScreen) eventText() string {
	var texts []string
	for _, r := range s.replays() {
		for _, n := range r.main[s.Cursor()].Events {
			text := report.EventText(r.tl, &r.tl.Events[n])
			if s.second != nil {
				text = r.name + ": " + text
			}
			texts = append(texts, report.Clean(text))
		}
	}
	return lipgloss.NewStyle().Width(s.width).MaxHeight(s.eventLines()).Render(strings.Join(texts, "; "))
}

// quiet are the kinds of events that [ and ] pass over: they change nothing, or are before every request.
var quiet = []policy.EditKind{policy.KindCall, policy.KindTag, policy.KindWrap}

// eventful are the main requests with an event that wanted accepts, by number, the end of the file included.
func (r *replayed) eventful(wanted func(e *replay.Event) bool) (list []int) {
	for i := range r.tl.Events {
		e := &r.tl.Events[i]
		n := len(r.main) + 1
		if e.Request != nil {
			n = *e.Request
		}
		if wanted(e) {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func loud(e *replay.Event) bool { return e.Request != nil && !slices.Contains(quiet, e.Kind) }

func compaction(e *replay.Event) bool {
	return e.Kind == policy.KindSummarize || e.Kind == policy.KindCollapse
}

// near is the next of sorted numbers after n, or with by -1 the one before it; 0: there is none.
func near(list []int, n, by int) int {
	at, found := slices.BinarySearch(list, n)
	if by < 0 {
		at--
	} else if found {
		at++
	}
	if at < 0 || at >= len(list) {
		return 0
	}
	return list[at]
}

// event is the next request with an event after a request, or the one before it, under any of the policies; without one the
// request.
func (s *sessionScreen) event(from, by int) int {
	var list []int
	for _, r := range s.replays() {
		list = append(list, r.eventful(loud)...)
	}
	slices.Sort(list)
	if n := near(slices.Compact(list), from, by); n > 0 {
		return n
	}
	s.m.note = "no event there"
	return from
}

// Entries of the lists of policies that are none.
const (
	noSecond   = "none: one policy"
	policyFile = "a policy file"
)

// policies has the first policy chosen, or with n 1 the second one.
func (s *sessionScreen) policies(n int) tea.Cmd {
	what := "policy"
	list := slices.Concat(s.m.src.Policies, []string{policyFile})
	names := append(s.names(), noSecond)
	if n == 1 {
		what = "second policy"
		list = slices.Concat([]string{noSecond}, list)
	}
	chosen := func(name string) tea.Cmd {
		names[n] = name
		return s.again(slices.DeleteFunc(names, func(name string) bool { return name == noSecond }))
	}
	return s.m.choose(what, list, names[n], func(name string) tea.Cmd {
		if name == policyFile {
			return s.m.ask(policyFile, "", nil, chosen)
		}
		return chosen(name)
	})
}

// policyKeys choose policies.
func (s *sessionScreen) policyKeys() []action {
	return []action{
		on("p", "policy", func() tea.Cmd { return s.policies(0) }).as("p P", "policy"),
		on("P", "second policy", func() tea.Cmd { return s.policies(1) }).as("", ""),
	}
}

func (s *sessionScreen) open() tea.Cmd { return s.m.push(newRequest(s, s.request())) }

// page writes the page of the session to a file that the user names.
func (s *sessionScreen) page() tea.Cmd {
	name := s.first.name
	return s.m.ask("page under "+filepath.Base(name)+" to", cmp.Or(s.item.Short, "session")+".html", nil, func(file string) tea.Cmd {
		return s.write(name, file, false)
	})
}

// write writes the page under a policy. A page that is there is replaced where the user answers y.
func (s *sessionScreen) write(policy, file string, replace bool) tea.Cmd {
	src := s.m.src
	item := s.item
	cmd := s.run("writing "+file, nil, func(j *job) (then, error) {
		err := src.Page(j.ctx, &item, policy, file, replace)
		if errors.Is(err, fs.ErrExist) {
			return func() tea.Cmd {
				return s.m.ask("a page is there, replace it? y", "", nil, func(answer string) tea.Cmd {
					if answer == "y" {
						return s.write(policy, file, true)
					}
					s.m.note = "nothing is written"
					return nil
				})
			}, nil
		}
		return func() tea.Cmd { s.m.note = file + " is written"; return nil }, err
	})
	s.job.asked = true
	return cmd
}

// bill shows what the session cost, and what for.
func (s *sessionScreen) bill() tea.Cmd {
	opened := s.opened
	r := s.first
	t := newText(s.m, "bill under "+r.name, s.command("why")...)
	cmd := s.m.push(t)
	return tea.Batch(cmd, t.run("adding up", opened, func(j *job) (then, error) {
		print, err := opened.Bill(r.pol, opened.until(j))
		return func() tea.Cmd {
			return t.show(func(w int) string { return s.printed(w, print) })
		}, err
	}))
}

// printed is what a report prints in lines of w columns.
func (s *sessionScreen) printed(w int, print func(w io.Writer, layout report.Layout) error) string {
	var b strings.Builder
	layout := s.m.src.Layout
	layout.Width = max(w, 40)
	if err := print(&b, layout); err != nil {
		return report.Clean(err.Error())
	}
	return b.String()
}

func (s *sessionScreen) actions() []action {
	list := slices.Concat([]action{on("enter", "request", s.open).as("enter", "open")}, s.policyKeys(), []action{
		on("[", "event before", func() tea.Cmd { s.to(s.event(s.request(), -1) - 1); return nil }).as("[ ]", "event"),
		on("]", "next event", func() tea.Cmd { s.to(s.event(s.request(), 1) - 1); return nil }).as("", ""),
		on("c", "compactions", func() tea.Cmd { return s.compactions(s.request()) }),
		on("b", "bill", s.bill),
		on("/", "search", s.search).as("/", "find"),
		on("t", "by time", func() tea.Cmd { s.byTime = !s.byTime; return nil }).as("t", "time"),
		on("o", "write the page", s.page).as("o", "page"),
	})
	for i := range list {
		do := list[i].do
		list[i].do = func() tea.Cmd {
			if s.opened == nil || len(s.first.main) == 0 {
				s.m.note = "there is no request yet"
				return nil
			}
			return do()
		}
	}
	return append(list, on("g", "subagents", s.agents).as("g", "agents"), on("r", "read again", s.read).as("r", "reread"))
}

func (s *sessionScreen) words() []string {
	if s.second == nil {
		return s.command("replay")
	}
	return s.command("compare", "--policy", s.second.name, "--cache", "own")
}

// command is a command about the session under the policy.
func (s *sessionScreen) command(name string, more ...string) []string {
	return slices.Concat([]string{name}, s.m.src.Words(&s.item), []string{"--policy", s.first.name}, more)
}

// agents lists the subagents of the session.
func (s *sessionScreen) agents() tea.Cmd {
	list := newSessions(s.m)
	list.parent = s
	list.listed = true
	if s.opened != nil {
		list.all = slices.Clone(s.opened.Agents)
	}
	for _, i := range s.m.stack[0].(*sessions).all { // other agents' subagents are sessions that name the one that started them
		if i.Parent != "" && i.Parent == s.item.ID {
			list.all = append(list.all, i)
		}
	}
	if len(list.all) == 0 {
		s.m.note = "the session has no subagent"
		return nil
	}
	list.show()
	return s.m.push(list)
}

// compactions shows the first compaction at a request or after it, or the last one.
func (s *sessionScreen) compactions(n int) tea.Cmd {
	list := s.first.eventful(compaction)
	if len(list) == 0 {
		s.m.note = "no compaction under " + s.first.name
		return nil
	}
	t := newText(s.m, "compaction", "")
	t.keys = s.compactionKeys(t, list)
	return tea.Batch(s.m.push(t), s.compaction(t, list, cmp.Or(near(list, n-1, 1), list[len(list)-1])))
}

func (s *sessionScreen) compactionKeys(t *textScreen, list []int) []action {
	return []action{
		on("[", "compaction before", func() tea.Cmd { return s.compaction(t, list, near(list, t.request, -1)) }).as("[ ]", "compaction"),
		on("] c", "next compaction", func() tea.Cmd { return s.compaction(t, list, near(list, t.request, 1)) }).as("", ""),
		on("enter", "blocks before it, by size", func() tea.Cmd {
			r := newRequest(s, max(t.request-1, 1))
			r.bySize = true
			return s.m.push(r)
		}).as("enter", "blocks before it"),
	}
}

// compaction shows one compaction: the payload before it, its summary, the payload after it.
func (s *sessionScreen) compaction(t *textScreen, list []int, n int) tea.Cmd {
	if n == 0 {
		s.m.note = "no compaction there"
		return nil
	}
	opened := s.opened
	r := s.first
	t.request, t.name = n, "compaction "+strconv.Itoa(slices.Index(list, n)+1)+" of "+strconv.Itoa(len(list))
	t.command = s.command("diff", "--from", strconv.Itoa(n-1), "--at", strconv.Itoa(n))
	if n == 1 {
		t.command = s.command("diff", "--at", "1")
	}
	return t.run("replaying", opened, func(j *job) (then, error) {
		from := r.pol
		if n == 1 {
			from = nil
		}
		before, err := opened.view(j, from, max(n-1, 1))
		if err != nil {
			return nil, err
		}
		after, err := opened.view(j, r.pol, n)
		if err != nil {
			return nil, err
		}
		compare := diff.Between
		if n == 1 {
			compare = diff.Compare
		}
		d, err := compare(before, after)
		if err != nil {
			return nil, err
		}
		named := report.NewNamedDiff(opened.Conv, d, d.Stat())
		named.Policy = r.pol.Name
		named.Request = n
		named.Against = "raw"
		if n > 1 {
			named.From = n - 1
			named.Against = r.pol.Name
		}
		head := compacted(r, n, d, filling(before, r.tl.OverheadAt(max(n-1, 1))), filling(after, r.tl.OverheadAt(n)))
		return func() tea.Cmd {
			return t.show(func(w int) string {
				return wrapped(head, w) + s.printed(w, func(to io.Writer, layout report.Layout) error {
					return report.NewDiffs(to, report.DiffLayout{Layout: layout}).Add(named)
				})
			})
		}, nil
	})
}

// view is the payload at a request under a policy; without one the whole history.
func (o *Opened) view(j *job, pol *policy.Policy, n int) (*view.View, error) {
	return o.Record.ViewAt(pol, o.until(j), n)
}

// compacted describes a compaction: its events, what was sent before and after it by category, and its summary.
func compacted(r *replayed, n int, d *diff.Diff, before, after string) string {
	var b strings.Builder
	for i := range r.tl.Events {
		if e := &r.tl.Events[i]; compaction(e) && (e.Request != nil && *e.Request == n || e.Request == nil && n > len(r.main)) {
			b.WriteString(report.Clean(report.EventText(r.tl, e)) + "\n")
		}
	}
	b.WriteString("\nBEFORE  " + before + "\nAFTER   " + after + "\n\nSUMMARY\n")
	for i := range d.Messages {
		if m := &d.Messages[i]; m.Right.Status == diff.Added && m.Left.Status == diff.Absent {
			b.WriteString(cleaned(m.Text) + "\n")
		}
	}
	return b.String() + "\n"
}
