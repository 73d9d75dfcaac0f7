package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/cmd/internal/explore"
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/replay/trace"
	"github.com/ctxkit/ctxkit/replay/why"
	"github.com/ctxkit/ctxkit/report"
)

func newExplore(sys *system) *cobra.Command {
	o := &replayOptions{}
	o.Policy = preset.Recorded
	prices := newPriceOptions(sys)
	cmd := command(&cobra.Command{
		SuggestFor: []string{"tui", "browse", "open", "ui"},
		Use:        "explore [INPUT...]", Short: "Browse sessions in the terminal",
		Args: arguments(&o.Inputs),
		Long: `Browse sessions in the terminal: from the list of sessions to one of
them, to a request, and to each block of it, as recorded and as sent.

  list      / filters, s sorts, a and d choose an agent and a project
  session   the tokens of each request with limits and events; [ and ] go from
            event to event, t pauses, b the bill, c compactions, g subagents
  request   what fills it, and what became of each block
  p, P      another policy, and a second one next to it
  /         search all texts of a session
  y, o      copy the command that shows the same; write the page to a file
  ?         all keys

Without an input the sessions of the default folders are listed. Nothing is
written but the page, to the file that you name.`,
		Example: `  ctxkit explore
  ctxkit explore last
  ctxkit explore ~/.claude/projects --policy opencode`,
	}, func() error { return runExplore(sys, o, prices) }, flag(o.first), own(&o.outputOptions, "timezone"), prices)
	explainColumns(cmd, report.ExploreTables)
	return cmd
}

// first is the policy with which sessions are shown at first.
func (o *replayOptions) first(cmd *cobra.Command) {
	cmd.Flags().VarP(&once{text: &o.Policy}, "policy", "p", "`NAME` of the policy to begin with, or a policy file")
}

func runExplore(sys *system, o *replayOptions, prices *priceOptions) error {
	if !sys.terminal || sys.env("TERM") == "dumb" {
		return errors.New("explore needs a terminal that can move its cursor, and standard output is none: `ctxkit sessions` and `ctxkit replay` print the same")
	}
	if slices.Contains(o.Inputs, "-") {
		return errors.New("-: explore reads keys from standard input: write the session to a file")
	}
	now, err := sys.date()
	if err != nil {
		return err
	}
	e, src, err := newExplorer(sys, o, now)
	if err != nil {
		return err
	}
	src.Line = func(words []string) string { return shellLine(append(words, prices.words()...)) }
	ctx, leave := context.WithCancel(context.Background())
	defer e.writing.Wait()
	defer leave()
	src.Context = ctx
	program := tea.NewProgram(explore.New(src), tea.WithInput(sys.in), tea.WithOutput(sys.out.w), tea.WithoutSignalHandler())
	src.Send = program.Send
	sys.finishes.Store(true) // the terminal is given back before the end
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-sys.stop:
			program.Kill()
		case <-done:
		}
	}()
	if _, err = program.Run(); errors.Is(err, tea.ErrProgramKilled) && sys.interrupted() {
		return errInterrupted
	}
	return err
}

// explorer is where the explorer gets what it shows.
type explorer struct {
	sys      *system
	listing  sync.Mutex     // one goroutine lists at a time
	writing  sync.WaitGroup // pages
	o        *replayOptions
	encoders *tokens.Encoders
}

func newExplorer(sys *system, o *replayOptions, now time.Time) (*explorer, *explore.Backend, error) {
	e := &explorer{sys: sys, o: o, encoders: &tokens.Encoders{Jobs: runtime.GOMAXPROCS(0)}}
	o.Counter = tokens.NameUsage
	o.Cache = string(replay.CacheOwn)
	if _, err := choosePolicy(sys, o, e.unsaid); err != nil {
		return nil, nil, err
	}
	list := []string{o.Policy, preset.Recorded, "none"}
	for _, product := range sys.presets.Products() {
		list = append(list, product)
		for _, r := range slices.Backward(sys.presets.Releases(product)) {
			list = append(list, r.Policy)
		}
	}
	var names []string
	for _, n := range append(list, sys.presets.Known()...) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	out := &outputOptions{Format: string(report.FormatTable), Color: "auto", Zone: o.Zone, now: now}
	return e, &explore.Backend{
		Context:  context.Background(),
		Sessions: e.sessions, Figures: e.figures, Open: e.open, Page: e.page,
		Stamp: func(list []report.SessionItem) (text string) {
			for i := range list { // by their paths: a session of a list keeps the state that it was listed with
				stamp, err := session.State(list[i].Path)
				text += fmt.Sprint(stamp, err)
			}
			return text
		},
		State: e.state, Folders: o.Inputs, Orders: sortNames(), Select: selectSessions,
		Agent:    func(i *report.SessionItem) string { return cmp.Or(i.Product, session.Product) },
		Policies: names, Policy: o.Policy,
		Words: func(i *report.SessionItem) []string {
			switch {
			case i.Folder == "": // a subagent in the file of the session that started it
				return []string{fileWord(i.Path), "--agent", i.ID}
			case len(o.Inputs) == 0 && i.Short != "":
				return []string{i.Short}
			}
			return []string{fileWord(i.Path)}
		},
		Line: shellLine, Layout: out.report(sys), Watch: 2 * time.Second,
	}, nil
}

// unsaid drops warnings: each is on the page of a session.
func (e *explorer) unsaid(...session.Warning) {}

// firstListed is how many sessions are found before they are shown at first. Later it is four times as many as before.
const firstListed = 64

// sessions lists the sessions of the inputs, or of the default folders, the last used first. It shows what it has found while
// it looks for more.
func (e *explorer) sessions(show func([]report.SessionItem), step explore.ProgressFunc) ([]report.SessionItem, error) {
	e.listing.Lock()
	defer e.listing.Unlock()
	sys := e.sys
	var found []session.FileInfo
	n := 0
	next := firstListed
	folders := !slices.ContainsFunc(e.o.Inputs, func(name string) bool {
		st, err := os.Stat(name)
		return err != nil || !st.IsDir()
	})
	sys.listed = func(i *session.FileInfo) {
		n++
		step(n, 0)
		if i == nil || !folders { // others are read to find one
			return
		}
		if found = append(found, *i); len(found) == next {
			next *= 4
			show(report.SessionItems(slices.Clone(found)))
		}
	}
	sys.mu.Lock()
	sys.discovered = nil
	sys.infos = nil
	sys.mu.Unlock()
	var list []session.FileInfo
	if len(e.o.Inputs) > 0 {
		in, err := resolve(sys, e.o.Inputs, e.unsaid)
		if err != nil {
			return nil, err
		}
		list = describe(sys, in.list)
		newestFirst(list)
	} else {
		dirs, err := defaultFolders(sys)
		if err != nil {
			return nil, err
		}
		list = known(sys, dirs)
	}
	return report.SessionItems(list), nil
}

// state tells states of the files of sessions apart, and of the folders that they are in: a file that is added changes its folder.
func (e *explorer) state(list []report.SessionItem) string {
	names := slices.Clone(e.o.Inputs)
	if len(names) == 0 {
		names, _ = defaultFolders(e.sys) // those that are there
	}
	for _, name := range slices.Clone(names) {
		names = append(names, name+"-wal") // of a database
	}
	for i := range list {
		dir := filepath.Dir(list[i].Path)
		names = append(names, list[i].Path, dir, filepath.Dir(dir))
	}
	slices.Sort(names)
	hash := fnv.New64a()
	for _, name := range slices.Compact(names) {
		if st, err := os.Stat(name); err == nil {
			fmt.Fprintln(hash, name, st.Size(), st.ModTime().UnixNano())
		}
	}
	return strconv.FormatUint(hash.Sum64(), 16)
}

// selectSessions are the sessions of a list that match a filter, in its order.
func selectSessions(f explore.Filter, list []report.SessionItem) []report.SessionItem {
	o := sessionFilter{Source: f.Source, Project: f.Project, Model: f.Model, Grep: regexp.QuoteMeta(f.Grep), Sort: f.Sort}
	list = slices.Clone(list)
	if o.check() == nil { // its values are those that there are
		list = slices.DeleteFunc(list, func(i report.SessionItem) bool { return !o.listed(&i.FileInfo) || !o.hasModel(&i) })
		sortKeyOf(f.Sort).sort(list)
	}
	return list
}

// figuresAtOnce is how many sessions are read before the explorer is notified.
const figuresAtOnce = 256

func (e *explorer) figures(ctx context.Context, list []report.SessionItem, step explore.ProgressFunc) {
	for at := 0; at < len(list) && ctx.Err() == nil; at += figuresAtOnce {
		to := min(at+figuresAtOnce, len(list))
		if readGlances(e.sys, list[at:to], runtime.GOMAXPROCS(0), true, func(error) {}) != nil {
			return // interrupted
		}
		step(to, len(list))
	}
}

func (e *explorer) open(ctx context.Context, i *report.SessionItem, step explore.ProgressFunc) (*explore.Opened, error) {
	f, err := session.Load(i.Path, session.LoadOptions{
		Jobs: runtime.GOMAXPROCS(0), Limits: e.sys.limits, Item: func(rec *jsonl.Item) error {
			step(int(rec.Span.Off), int(i.Size))
			return ctx.Err()
		},
	})
	if err != nil {
		return nil, pathError(i.Path, err)
	}
	c := agentConversation{sys: e.sys, input: i.Path, main: true, file: f, conv: f.Main}
	for _, s := range f.Sidechains {
		if s.Agent == i.ID {
			c.main = false
			c.conv = s
		}
	}
	if err = ctx.Err(); err == nil {
		c.rec, err = newRecord(e.sys, c.conv, e.encoders)
	}
	if err != nil {
		f.Close()
		return nil, pathError(i.Path, err)
	}
	c.rec.Session = c.bill(e.sys.table, e.unsaid)
	return &explore.Opened{
		Conv: c.conv, Record: c.rec, Agents: e.agents(&c, i), Options: e.o.options(), Close: func() { f.Close() },
		Policy: func(name string) (*policy.Policy, error) {
			choose, err := choosePolicy(e.sys, &replayOptions{policyOptions: policyOptions{Policy: name}}, e.unsaid)
			if err != nil {
				return nil, err
			}
			return choose(preset.ClientOf(c.conv))
		},
		Bill: func(pol *policy.Policy, opt replay.Options) (func(io.Writer, report.Layout) error, error) {
			log, err := requestsOf(c.conv)
			if err != nil {
				return nil, err
			}
			s, _, err := why.Replay(c.rec, pol, opt, log)
			return func(w io.Writer, layout report.Layout) error {
				return report.Why(w, []*why.SessionBreaks{s}, policy.NewUse(pol.Name, []*policy.Policy{pol}), layout)
			}, err
		},
	}, nil
}

// agents are the subagents of a session.
func (e *explorer) agents(c *agentConversation, i *report.SessionItem) []report.SessionItem {
	if !c.main {
		return nil
	}
	list, done := c.beside(e.unsaid)
	defer done()
	infos := make([]session.FileInfo, len(list))
	for n, a := range list {
		infos[n] = session.FileInfo{ID: a.name(), Path: a.conv.Path, Project: i.Project, Product: i.Product, Version: a.conv.Version, Prompt: task(a.conv)}
		if a.file == c.file {
			continue
		}
		infos[n].Folder = i.Folder
		if st, err := os.Stat(a.conv.Path); err == nil {
			infos[n].Size = st.Size()
		}
	}
	items := report.SessionItems(infos)
	for n, a := range list {
		items[n].Glance = replay.GlanceAt(a.conv, nil, e.sys.table)
		items[n].Last = items[n].Ended
	}
	return items
}

// task is the first prompt of a conversation, with which a subagent begins.
func task(conv *session.Conversation) string {
	for i := range conv.Messages {
		if m := &conv.Messages[i]; m.Class == session.ClassPrompt && len(m.Blocks) > 0 {
			text, _ := conv.NewBlockReader().WholeText(i, 0) // without it there is no title
			return trace.Shorten(string(text), 200)
		}
	}
	return ""
}

// pageIn is nil where a file is not there, fs.ErrExist where it is a page, and the error of any other file.
func pageIn(file string) error {
	f, err := jsonl.OpenFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return pathError(file, err)
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err == nil && bytes.Contains(head, []byte(" · ctxkit</title>")) {
		return fs.ErrExist
	}
	return refusedFile(file, "is there, and is no page of ctxkit")
}

// page writes the page of a session as `ctxkit replay` does, with its care for files that are there: none of the sessions that
// are listed is replaced, and no file but a page. Once ctx is done it leaves nothing of what is not finished.
func (e *explorer) page(ctx context.Context, i *report.SessionItem, policy, file string, replace bool) error {
	if why := e.sys.files.taken(file); why != "" {
		return refusedFile(file, why)
	}
	if err := pageIn(file); err != nil && !(replace && errors.Is(err, fs.ErrExist)) {
		return err
	}
	sys := newSystem(strings.NewReader(""), io.Discard, io.Discard) // this page may replace the one before
	if err := sys.register(); err != nil {
		return err
	}
	sys.uncached = true
	sys.limits = e.sys.limits
	sys.table = e.sys.table
	sys.tableText = e.sys.tableText
	o := *e.o
	o.Inputs = []string{i.Path}
	o.Policy = policy
	o.inputOptions = inputOptions{Agent: "main", Jobs: runtime.GOMAXPROCS(0)}
	o.outputOptions = outputOptions{Format: string(report.FormatHTML), File: file, Quiet: true}
	o.stop = ctx.Err
	e.writing.Add(1)
	defer e.writing.Done()
	r := &running{sys: sys, done: make(chan struct{})}
	go func() {
		r.err = runReplay(sys, &o)
		close(r.done)
	}()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		close(sys.stop)
		r.leave()
		return ctx.Err()
	}
}
