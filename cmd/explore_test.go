package cmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ctxkit/ctxkit/cmd/internal/explore"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/report"
	"github.com/ctxkit/ctxkit/report/golden"
)

var screenSizes = [][2]int{{60, 20}, {80, 24}, {160, 50}, {240, 70}}

// driver presses the keys of an explorer, and keeps its screens in all sizes.
type driver struct {
	t      testing.TB
	m      tea.Model
	src    *explore.Backend
	quit   bool
	wait   time.Duration // the longest until a message was taken in and drawn
	copied string
	pages  map[[2]int]*bytes.Buffer
	keys   map[string]bool             // "a session: enter"
	golden string                      // folder of the screens
	tmux   func(args ...string) string // of a terminal with the same program, which gets the same keys; nil: there is none
}

// explored is the explorer of inputs in a folder, with its list on the screen. The test goes on in the folder.
func explored(t testing.TB, dir string, inputs ...string) *driver {
	t.Helper()
	folder := must.Get(filepath.Abs(filepath.Join("testdata", "explore")))(t)
	t.Chdir(dir)
	t.Setenv("NO_COLOR", "1")
	sys := newSystem(strings.NewReader(""), io.Discard, io.Discard)
	must.Do(t, sys.register())
	must.Do(t, newPriceOptions(sys).check())
	o := &replayOptions{Inputs: inputs, policyOptions: policyOptions{Policy: preset.Recorded}}
	_, src, err := newExplorer(sys, o, time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	src.Watch = 0
	src.Words = func(i *report.SessionItem) []string { return []string{filepath.Base(i.Path)} }
	d := &driver{t: t, src: src, golden: folder, m: explore.New(src), pages: map[[2]int]*bytes.Buffer{}, keys: map[string]bool{}}
	for _, size := range screenSizes {
		d.pages[size] = &bytes.Buffer{}
	}
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	d.run(d.m.Init())
	return d
}

func (d *driver) send(msg tea.Msg) {
	begin := time.Now()
	var cmd tea.Cmd
	d.m, cmd = d.m.Update(msg)
	d.view()
	d.wait = max(d.wait, time.Since(begin))
	d.run(cmd)
}

// run runs a command and what follows from it.
func (d *driver) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.QuitMsg:
		d.quit = true
	case tea.BatchMsg:
		for _, c := range msg {
			d.run(c)
		}
	default:
		if name := fmt.Sprintf("%T", msg); strings.Contains(name, "lipboard") {
			d.copied = fmt.Sprint(msg)
			return
		}
		d.send(msg)
	}
}

var keyCodes = map[string]rune{
	"delete": tea.KeyDelete,
	"enter":  tea.KeyEnter, "esc": tea.KeyEscape, "backspace": tea.KeyBackspace, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft,
	"right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "space": tea.KeySpace,
}

// press presses keys, separated by spaces, on a screen as the help names it. A key that does something is one that was tested.
func (d *driver) press(screen, keys string) {
	d.t.Helper()
	for _, k := range strings.Fields(keys) {
		before := d.view() + d.copied
		if control, ok := strings.CutPrefix(k, "ctrl+"); ok {
			d.send(tea.KeyPressMsg{Code: rune(control[0]), Mod: tea.ModCtrl})
			d.mirror("C-" + control)
		} else if code, ok := keyCodes[k]; ok {
			d.send(tea.KeyPressMsg{Code: code})
			d.mirror(tmuxKeys[k])
		} else {
			d.typed(k)
		}
		if d.quit || d.view()+d.copied != before {
			d.keys[screen+": "+k] = true
		}
	}
}

func (d *driver) typed(text string) {
	for _, r := range text {
		d.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		d.mirror("-l", string(r))
	}
}

var tmuxKeys = map[string]string{
	"delete": "DC", "enter": "Enter", "esc": "Escape", "backspace": "BSpace", "up": "Up", "down": "Down", "left": "Left",
	"right": "Right", "pgup": "PPage", "pgdown": "NPage", "home": "Home", "end": "End", "space": "Space",
}

// in runs the same program in a terminal of a size, which from now on gets the same keys and has to show the same.
func (d *driver) in(tmux func(args ...string) string, program string, w, h int, inputs ...string) {
	d.t.Helper()
	dir := must.Get(os.Getwd())(d.t)
	d.tmux = tmux
	d.send(tea.WindowSizeMsg{Width: w, Height: h})
	tmux("new-session", "-d", "-s", "x", "-x", strconv.Itoa(w), "-y", strconv.Itoa(h), "-c", dir, "'"+program+"' explore "+strings.Join(inputs, " ")+"; echo ended: $?; cat")
	d.same()
}

func (d *driver) mirror(keys ...string) {
	d.t.Helper()
	if d.tmux != nil {
		d.tmux(append([]string{"send-keys", "-t", "x"}, keys...)...)
		d.same()
	}
}

// same waits until the terminal shows what the driver does.
func (d *driver) same() {
	d.t.Helper()
	want := strings.TrimRight(lineEnds.ReplaceAllString(ansiCode.ReplaceAllString(d.view(), "")+"\n", "\n"), "\n")
	seen(d.t, d.tmux, func(screen string) bool { return screen == want }, want)
}

var lineEnds = regexp.MustCompile(` +\n`)

// seen waits until a terminal shows something.
func seen(t testing.TB, tmux func(args ...string) string, there func(screen string) bool, want string) {
	t.Helper()
	screen := ""
	for range 1000 {
		if screen = strings.TrimRight(lineEnds.ReplaceAllString(tmux("capture-pane", "-p", "-t", "x"), "\n"), "\n"); there(screen) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("want\n%s\non the screen:\n%s", want, screen)
}

var ansiCode = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// screen is what is shown, lines with » where the cursor is.
func (d *driver) screen() string {
	var lines []string
	for l := range strings.Lines(d.view()) {
		mark := "  "
		if strings.Contains(l, "\x1b[7m") {
			mark = "» "
		}
		lines = append(lines, strings.TrimRight(mark+ansiCode.ReplaceAllString(l, ""), " \n"))
	}
	return strings.Join(lines, "\n") + "\n"
}

func (d *driver) view() string { return d.m.(*explore.Browser).View().Content }

// shot keeps the screen in all sizes.
func (d *driver) shot(name string) {
	d.t.Helper()
	if d.tmux != nil {
		return // the terminal keeps its size
	}
	for _, size := range screenSizes {
		d.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		fmt.Fprintf(d.pages[size], "──── %s\n%s", name, d.screen())
		text := ansiCode.ReplaceAllString(d.view(), "")
		if n := strings.Count(text, "\n") + 1; n != size[1] {
			d.t.Errorf("%s: %d of %d lines", name, n, size[1])
		}
		for l := range strings.Lines(text) {
			if n := report.Width(strings.TrimRight(l, " \n")); n > size[0] {
				d.t.Errorf("%s: %d of %d columns: %s", name, n, size[0], l)
			}
		}
		if bad := inert([]byte(text)); bad != "" {
			d.t.Errorf("%s: %s", name, bad)
		}
	}
}

// runs copies the command of the screen and runs it: it prints texts.
func (d *driver) runs(texts ...string) {
	d.t.Helper()
	d.copied = ""
	d.press("everywhere", "y")
	words, err := exec.Command("sh", "-c", `printf '%s\n' `+d.copied).Output()
	if err != nil {
		d.t.Skipf("no shell: %v", err)
	}
	args := strings.Split(strings.TrimSpace(string(words)), "\n")
	code, out, said := ctxkit(append(args[1:], "--quiet")...)
	if code != 0 {
		d.t.Errorf("%s: exit %d: %s", d.copied, code, said)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			d.t.Errorf("%s: no %q in\n%s", d.copied, text, out)
		}
	}
}

// holds holds that the screen has a text.
func (d *driver) holds(text string) {
	d.t.Helper()
	if s := d.screen(); !strings.Contains(s, text) {
		d.t.Errorf("no %q on the screen:\n%s", text, s)
	}
}

func (d *driver) check(name string) {
	d.t.Helper()
	if d.tmux != nil {
		d.tmux("send-keys", "-t", "x", "q")
		seen(d.t, d.tmux, func(screen string) bool { return strings.Contains(screen, "ended: 0") }, "ended: 0")
		d.tmux("kill-session", "-t", "x")
		return
	}
	for size, page := range d.pages {
		golden.Check(d.t.(*testing.T), filepath.Join(d.golden, fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1])), page.Bytes())
	}
}

// sessionsOf copies session files into a folder, in which they were used one after another.
func sessionsOf(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, file := range files {
		data := must.Get(os.ReadFile(filepath.Join("..", filepath.FromSlash(file))))(t)
		used := time.Date(2026, 1, 19, 20-i, 0, 0, 0, time.UTC)
		path := filepath.Join(dir, strconv.Itoa(i)+filepath.Base(filepath.Dir(filepath.Dir(file)))+"-"+filepath.Base(file))
		must.Do(t, os.WriteFile(path, data, 0o600))
		must.Do(t, os.Chtimes(path, used, used))
	}
	return dir
}

// A scenario presses keys and keeps screens. start gives it a driver of inputs in a folder.
type scenario func(t *testing.T, start func(dir string, inputs ...string) *driver)

var scenarios = map[string]scenario{"agents": exploreAgents, "hostile": exploreHostile, "growing": exploreGrowing, "empty": exploreEmpty}

// TestExploreScreens keeps the screens of scenarios in all sizes.
func TestExploreScreens(t *testing.T) {
	for name, run := range scenarios {
		t.Run(name, func(t *testing.T) {
			run(t, func(dir string, inputs ...string) *driver { return explored(t, dir, inputs...) })
		})
	}
}

// TestExploreTerminal holds that a terminal shows the screens of all scenarios as they are kept, in all sizes.
func TestExploreTerminal(t *testing.T) {
	must.BeCI(t)
	t.Setenv("NO_COLOR", "1")
	t.Setenv(nowVariable, "2026-01-20T12:00:00Z")
	tmux, program := terminals(t)
	for name, run := range scenarios {
		for _, size := range screenSizes {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), func(t *testing.T) {
				run(t, func(dir string, inputs ...string) *driver {
					d := explored(t, dir, inputs...)
					d.in(tmux, program, size[0], size[1], inputs...)
					return d
				})
			})
		}
	}
}

// exploreAgents shows sessions of five agents.
func exploreAgents(t *testing.T, start func(dir string, inputs ...string) *driver) {
	d := start(sessionsOf(t, "testdata/sessions/compaction.jsonl", "jsonl/internal/codex/testdata/rollout.jsonl", "jsonl/internal/opencode/testdata/export.json",
		"jsonl/internal/pi/testdata/v3.jsonl", "jsonl/internal/copilot/testdata/events.jsonl"), ".")
	d.shot("sessions")
	d.press("sessions", "home")
	for i := range 5 {
		d.press("sessions", "enter")
		d.shot(fmt.Sprintf("session %d", i))
		d.press("a session", "enter")
		d.shot(fmt.Sprintf("session %d, request", i))
		d.press("a request", "enter")
		d.shot(fmt.Sprintf("session %d, block", i))
		d.press("everywhere", "esc esc esc")
		d.press("everywhere", "down")
	}
	d.check("agents")
}

// TestExploreKeys presses every key of the help, and looks at what comes of it.
func TestExploreKeys(t *testing.T) {
	folder := sessionsOf(t, "testdata/sessions/compaction.jsonl", "testdata/sessions/cjk.jsonl", "jsonl/internal/codex/testdata/rollout.jsonl")
	d := explored(t, folder, ".")
	see := func(screen, keys, text string) {
		t.Helper()
		d.press(screen, keys)
		d.holds(text)
	}
	d.holds("3 of 3 sessions")
	see("sessions", "/", "filter:")
	d.typed("CJK a b c d")
	d.press("a line that is typed", "left right home delete ctrl+d end backspace left left ctrl+k ctrl+w ctrl+a ctrl+e ctrl+u")
	d.holds("3 of 3 sessions")
	d.typed("CJK")
	d.press("a line that is typed", "esc")
	d.holds("3 of 3 sessions")
	d.press("sessions", "/")
	d.typed("a small fix")
	d.holds("1 of 3 sessions, with a small fix")
	d.shot("a filter")
	d.press("a line that is typed", "enter")
	d.press("sessions", "/")
	d.press("", "ctrl+u")
	d.typed("CJK")
	d.press("", "esc")
	d.holds("1 of 3 sessions, with a small fix")
	d.press("sessions", "/")
	d.press("", "ctrl+u enter")
	see("sessions", "s", "begun")
	d.shot("orders")
	d.press("a list to choose from", "/")
	d.typed("cost")
	d.press("", "enter")
	see("a list to choose from", "enter", "by cost")
	if lines := strings.Split(d.screen(), "\n"); !strings.HasPrefix(lines[2], "»") {
		t.Errorf("the cursor is not on the first row: %q", lines)
	}
	d.press("sessions", "s")
	d.press("a list to choose from", "home enter")
	see("sessions", "a", "codex")
	d.press("everywhere", "down down")
	see("a list to choose from", "enter", "1 of 3 sessions, agent codex")
	d.press("sessions", "a home")
	d.press("a list to choose from", "enter")
	see("sessions", "d", "all")
	d.press("everywhere", "down")
	see("a list to choose from", "enter", "project")
	d.press("sessions", "d home")
	d.press("a list to choose from", "enter")
	see("sessions", "m", "all")
	d.press("everywhere", "end")
	see("a list to choose from", "enter", ", model ")
	d.press("sessions", "m home")
	d.press("a list to choose from", "enter")
	another := filepath.Join(folder, "another.jsonl")
	if data, err := os.ReadFile("0testdata-compaction.jsonl"); err != nil || os.WriteFile(another, data, 0o600) != nil {
		t.Fatal(err)
	}
	see("sessions", "r", "4 of 4 sessions")
	must.Do(t, os.Remove(another))
	see("sessions", "r", "3 of 3 sessions")
	see("everywhere", "y", "sent to the clipboard: ctxkit sessions")
	if !strings.HasPrefix(d.copied, "ctxkit sessions") {
		t.Errorf("copied %q", d.copied)
	}
	see("everywhere", "end", "» 1")
	d.press("everywhere", "home j k down up pgdown pgup space home")
	d.press("sessions", "/")
	d.typed("bin path")
	d.press("", "enter")

	see("sessions", "enter", "16 requests")
	see("a session", "t", "01-15 ")
	d.shot("by time")
	see("a session", "t [", "» ")
	see("a session", "[ [ [ [ [", "no event there")
	d.press("everywhere", "home")
	see("a session", "]", "» ")
	see("a session", "g", "the session has no subagent")
	see("a session", "b", "what was paid for")
	d.shot("the bill")
	see("everywhere", "y", "ctxkit why")
	see("everywhere", "end", "The rows of ")
	see("everywhere", "home", "The session cost ")
	d.press("everywhere", "esc")
	see("a session", "c", "SUMMARY")
	d.shot("a compaction")
	see("compactions", "[", "no compaction there")
	d.press("everywhere", "home")
	see("compactions", "]", "no compaction there")
	d.press("everywhere", "home")
	see("compactions", "c", "no compaction there")
	see("everywhere", "y", "--from")
	see("compactions", "enter", "request 13")
	d.press("everywhere", "esc")
	d.press("everywhere", "backspace")
	see("a session", "p", "claude-code")
	d.press("a list to choose from", "/")
	d.typed("opencode")
	d.press("", "enter")
	see("a list to choose from", "enter", "opencode-")
	see("a session", "P", "none: one policy")
	d.press("everywhere", "down")
	see("a list to choose from", "enter", "second")
	d.shot("two policies")
	see("a session", "o", "page under opencode to:")
	for range 40 {
		d.press("", "backspace")
	}
	d.typed("page.html")
	d.press("", "enter")
	d.holds("page.html is written")
	if page, err := os.ReadFile("page.html"); err != nil || !bytes.Contains(page, []byte("opencode")) {
		t.Errorf("the page: %v", err)
	}
	see("a session", "enter", "recorded, second: ")
	d.shot("a request under two policies")
	see("everywhere", "y", "--against recorded")
	see("a request", "x", "no such key here")
	see("a request", "left", "request 1")
	see("a request", "h l right", "request 1")
	see("a request", "[", "request ")
	d.press("a request", "left left")
	see("a request", "]", "request ")
	see("a request", "s", "» ")
	d.press("a request", "s")
	see("a request", "p", "claude-code")
	d.press("everywhere", "esc")
	see("a request", "P", "none: one policy")
	d.press("everywhere", "home")
	see("a list to choose from", "enter", "opencode: ")
	see("a request", "c", "SUMMARY")
	d.press("everywhere", "esc")
	see("a request", "enter", "UNDER opencode")
	see("a block", "left", "UNDER opencode")
	see("a block", "h l right", "UNDER opencode")
	see("everywhere", "y", "--line 38")
	see("a block", "/", "search all texts:")
	d.press("", "esc")
	see("a block", "P", "none: one policy")
	d.press("everywhere", "esc")
	see("a block", "p", "claude-code")
	d.press("a list to choose from", "home")
	see("a list to choose from", "enter", "UNDER recorded")
	d.press("a block", "p")
	d.press("a list to choose from", "/")
	d.typed("opencode")
	d.press("", "enter")
	see("a list to choose from", "enter", "UNDER opencode")
	d.press("", "esc")
	see("a request", "/", "search all texts:")
	d.press("", "esc esc")
	see("a session", "/", "search all texts:")
	d.typed("ERR")
	d.press("", "enter")
	d.shot("found")
	see("everywhere", "y", "view 0testdata-compaction.jsonl --policy opencode --find ERR")
	see("what a search found", "enter", " blocks › request 2 › ")
	d.shot("the block that was found")
	see("a block", "n", "» ")
	see("a block", "N", "» ")
	d.send(tea.KeyPressMsg{Code: tea.KeyEscape, Mod: tea.ModAlt}) // two escapes that came together
	d.holds("“ERR”: ")
	d.send(tea.KeyPressMsg{Code: 'p', Mod: tea.ModAlt | tea.ModShift}) // escape and P
	d.holds("none: one policy")
	d.press("everywhere", "esc")
	see("everywhere", "?", "EVERYWHERE")
	d.send(tea.WindowSizeMsg{Width: 80, Height: 200})
	help := d.screen()
	d.shot("keys")
	d.press("everywhere", "esc")
	d.press("everywhere", "q")
	if !d.quit {
		t.Error("q does not quit")
	}
	d.quit = false
	if d.press("everywhere", "ctrl+c"); !d.quit {
		t.Error("ctrl+c does not quit")
	}

	section := ""
	for l := range strings.Lines(help) {
		if l = strings.TrimSpace(l); l != "" && l == strings.ToUpper(l) && !strings.ContainsAny(l, "?/") {
			section = strings.ToLower(l)
			continue
		}
		keys, _, ok := strings.Cut(l, "  ")
		if section == "" || !ok || strings.HasSuffix(l, "? keys") { // the foot of the screen
			continue
		}
		for _, k := range strings.Fields(keys) {
			if !d.keys[section+": "+k] && section+k != "a sessionr" { // a session that did not grow looks the same
				t.Errorf("%s: the key %s is not pressed here", section, k)
			}
		}
	}
	d.check("keys")
}

// exploreHostile shows a session whose texts are to be acted on by a terminal.
func exploreHostile(t *testing.T, start func(dir string, inputs ...string) *driver) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "hostile.jsonl"), hostileSession(t, 0), 0o600))
	d := start(dir, "hostile.jsonl")
	d.shot("session")
	d.press("a session", "enter")
	d.shot("request")
	d.press("a request", "enter")
	d.shot("block")
	d.press("everywhere", "esc esc")
	d.press("a session", "b")
	d.shot("bill")
	d.press("everywhere", "esc")
	d.press("a session", "/")
	d.typed("e")
	d.press("", "enter")
	d.shot("found")
	d.press("everywhere", "esc esc")
	d.shot("sessions")
	d.check("hostile")
}

// exploreGrowing shows a session without a request, to which lines are added.
func exploreGrowing(t *testing.T, start func(dir string, inputs ...string) *driver) {
	dir := t.TempDir()
	data := must.Get(os.ReadFile(filepath.Join("..", "testdata", "sessions", "compaction.jsonl")))(t)
	lines := strings.SplitAfter(string(data), "\n")
	path := filepath.Join(dir, "growing.jsonl")
	write := func(n int) {
		t.Helper()
		must.Do(t, os.WriteFile(path, []byte(strings.Join(lines[:n], "")), 0o600))
	}
	write(2)
	d := start(dir, "growing.jsonl")
	d.shot("no request")
	for _, k := range []string{"enter", "b", "c", "p", "/", "["} {
		d.press("a session", k)
		d.holds("there is no request yet")
	}
	write(len(lines))
	d.press("a session", "r")
	if !d.keys["a session: r"] {
		t.Error("r does not read the session again")
	}
	d.holds("33,812")
	d.shot("grown")
	d.check("growing")

	d = explored(t, dir, "growing.jsonl")
	must.Do(t, os.Remove(path))
	d.press("everywhere", "esc")
	d.press("sessions", "enter")
	d.holds("no such file")
}

// TestExploreSubagents shows the subagents of sessions: one with a file of its own, and one in the file of its session.
func TestExploreSubagents(t *testing.T) {
	folder := must.Get(filepath.Abs(filepath.Join("..", "testdata", "sessions")))(t)
	d := explored(t, filepath.Join(folder, "subagent"), ".")
	d.press("a session", "g")
	d.holds("1 of 1 subagents")
	d.shot("subagents")
	d.runs("a5310ea", "10,449")
	d.press("sessions", "enter")
	d.shot("a subagent")
	d.press("a session", "g")
	d.holds("the session has no subagent")
	d.press("everywhere", "y")
	d.holds("sent to the clipboard: ctxkit replay agent-")
	d.check("subagents")

	d = explored(t, folder, "sidechain-1.0.jsonl")
	d.press("a session", "g")
	d.holds("subagents")
	d.press("sessions", "enter")
	d.holds("recorded: ")
}

// TestExplorePageLeft holds that nothing is left of a page whose session is left before it is written.
func TestExplorePageLeft(t *testing.T) {
	dir := sessionsOf(t, "testdata/sessions/compaction.jsonl")
	d := explored(t, dir, ".")
	d.press("a session", "o")
	d.typed("x")
	var writes tea.Cmd
	d.m, writes = d.m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	d.press("a session", "enter")
	d.holds(": stopped")
	writes()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// TestExploreListing holds that sessions are shown while others are looked for.
func TestExploreListing(t *testing.T) {
	data := must.Get(os.ReadFile(filepath.Join("..", "testdata", "sessions", "cjk.jsonl")))(t)
	dir := t.TempDir()
	for i := range 70 {
		must.Do(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", i)), data, 0o600))
	}
	d := explored(t, dir, ".")
	shown := 0
	all, err := d.src.Sessions(func(some []report.SessionItem) { shown = len(some) }, func(int, int) {})
	if err != nil || len(all) != 70 || shown != 64 {
		t.Errorf("%d sessions, after %d: %v", len(all), shown, err)
	}
}

// exploreEmpty shows a folder without a session, and a list that no session matches.
func exploreEmpty(t *testing.T, start func(dir string, inputs ...string) *driver) {
	d := start(t.TempDir(), ".")
	d.shot("an empty folder")
	d.press("sessions", "enter s")
	d.press("a list to choose from", "enter")
	d.press("sessions", "a")
	d.press("a list to choose from", "enter")
	d.shot("the same")
	d.check("empty")
}

// TestExploreWatch runs explore in a terminal, which gets another size, over a folder that a session is added to, and one that grows.
func TestExploreWatch(t *testing.T) {
	must.BeCI(t)
	t.Setenv("NO_COLOR", "1")
	t.Setenv(nowVariable, "2026-01-20T12:00:00Z")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	tmux, program := terminals(t)
	dir := sessionsOf(t, "testdata/sessions/cjk.jsonl", "jsonl/internal/codex/testdata/rollout.jsonl")
	data := must.Get(os.ReadFile(filepath.Join("..", "testdata", "sessions", "compaction.jsonl")))(t)
	see := func(text string) {
		t.Helper()
		seen(t, tmux, func(screen string) bool { return strings.Contains(screen, text) }, text)
	}
	tmux("new-session", "-d", "-s", "x", "-x", "60", "-y", "20", "'"+program+"' explore '"+dir+"'; echo ended: $?; cat")
	see("2 of 2 sessions")
	path := filepath.Join(dir, "growing.jsonl")
	must.Do(t, os.WriteFile(path, bytes.Join(bytes.SplitAfter(data, []byte("\n"))[:8], nil), 0o600))
	see("3 of 3 sessions")
	tmux("send-keys", "-t", "x", "/")
	tmux("send-keys", "-t", "x", "-l", "bin path")
	see("with bin path")
	tmux("send-keys", "-t", "x", "Enter", "Enter")
	see("21,362")
	for _, size := range screenSizes {
		tmux("resize-window", "-t", "x", "-x", strconv.Itoa(size[0]), "-y", strconv.Itoa(size[1]))
		see("21,362")
	}
	must.Do(t, os.WriteFile(path, data, 0o600))
	see("16 requests")
	tmux("send-keys", "-t", "x", "q")
	see("ended: 0")
}

// TestExploreElsewhere holds that explore says what it needs.
func TestExploreElsewhere(t *testing.T) {
	for _, args := range [][]string{{"explore"}, {"explore", "-"}} {
		if code, out, said := ctxkit(args...); code != exitNotDone || !strings.Contains(said, "needs a terminal") || out != "" {
			t.Errorf("%q: exit %d, %s", args, code, said)
		}
	}
}

// TestExploreCopies runs the command that y copies on each screen: it shows the same.
func TestExploreCopies(t *testing.T) {
	t.Setenv(nowVariable, "2026-01-20T12:00:00Z")
	folder := sessionsOf(t, "testdata/sessions/compaction.jsonl", "testdata/sessions/cjk.jsonl", "jsonl/internal/codex/testdata/rollout.jsonl", "testdata/sessions/microcompact.jsonl")
	d := explored(t, folder, ".")
	choose := func(screen, key, name string) {
		t.Helper()
		d.press(screen, key)
		d.press("a list to choose from", "/")
		d.typed(name)
		d.press("", "enter")
		d.press("a list to choose from", "enter")
	}
	d.runs("0testdat", "1testdat", "harbor")
	for _, c := range [][3]string{{"s", "cost", "0testdat"}, {"a", "codex", "codex"}, {"m", "gpt", "codex"}} {
		choose("sessions", c[0], c[1])
		d.runs(c[2])
	}
	for _, k := range []string{"a", "m"} {
		choose("sessions", k, "all")
	}
	d.press("sessions", "/")
	d.typed("do (the")
	d.holds("0 of 4 sessions")
	d.press("", "ctrl+u")
	d.typed("bin path")
	d.press("", "enter")
	d.runs("0testdat", "1 session,")

	d.press("sessions", "enter")
	d.runs("33,812", "16")
	choose("a session", "p", "opencode")
	d.runs("opencode-1.1.36", "33,812")
	choose("a session", "P", "recorded")
	d.runs("opencode", "recorded", "0.58", "0.80")
	d.press("a session", "[ enter")
	d.holds("request 14")
	d.runs("recorded to opencode-1.1.36", "request 14 of 16", "summary")
	d.press("everywhere", "home down down down")
	d.press("a request", "enter")
	d.holds("result of Read, line 5")
	d.runs("line 5", "summarised")
	d.press("everywhere", "esc")
	choose("a request", "P", "none: one policy")
	d.press("everywhere", "end")
	d.press("a request", "enter")
	d.holds("sent as recorded")
	d.runs("line 38")
	d.press("everywhere", "esc")
	d.press("a request", "left enter")
	d.runs("result of Read", "package")
	d.press("everywhere", "esc esc")
	d.press("a session", "b")
	d.runs("cache")
	d.press("everywhere", "esc")
	d.press("a session", "c")
	d.runs("opencode_compaction", "summary")
	d.press("everywhere", "esc")
	d.press("a session", "/")
	d.typed("What did we do so far")
	d.press("", "enter")
	d.holds("1 block")
	d.runs("What did we do so far", "compaction", "1 block")
	d.press("what a search found", "enter")
	d.runs("What did we do so far")
}

// TestExploreOverwrites holds that o replaces no session and no other file, and a page only where the user says so.
func TestExploreOverwrites(t *testing.T) {
	dir := sessionsOf(t, "testdata/sessions/compaction.jsonl", "testdata/sessions/cjk.jsonl")
	d := explored(t, dir, ".")
	d.press("sessions", "home enter")
	must.Do(t, os.WriteFile("notes.txt", []byte("mine\n"), 0o600))
	write := func(name, says string) {
		t.Helper()
		d.press("a session", "o")
		d.press("a line that is typed", "ctrl+u")
		d.typed(name)
		d.press("a line that is typed", "enter")
		d.holds(says)
	}
	for name, says := range map[string]string{"notes.txt": "is no page of ctxkit", "1testdata-cjk.jsonl": "as well", "0testdata-compaction.jsonl": "as well"} {
		before := must.Get(os.ReadFile(name))(t)
		write(name, says)
		if after, err := os.ReadFile(name); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: %d bytes instead of %d: %v", name, len(after), len(before), err)
		}
	}
	write("page.html", "page.html is written")
	write("page.html", "replace it? y")
	d.press("a line that is typed", "enter")
	d.holds("nothing is written")
	write("page.html", "replace it? y")
	d.typed("y")
	d.press("a line that is typed", "enter")
	d.holds("page.html is written")
}

// TestExploreQuestions presses the keys that docs/explore.md names for questions.
func TestExploreQuestions(t *testing.T) {
	page := must.Get(os.ReadFile(filepath.Join("..", "docs", "explore.md")))(t)
	_, questions, _ := strings.Cut(string(page), "## Questions")
	d := explored(t, sessionsOf(t, "testdata/sessions/compaction.jsonl"), ".")
	mine := "version: 1\nname: mine\nstages: []\n"
	must.Do(t, os.WriteFile("mine.yaml", []byte(mine), 0o600))
	for _, q := range []struct{ written, press, holds string }{
		{"`b` on the session", "b", "what was paid for"},
		{"`c`: what filled the request before it", "c", "BEFORE"},
		{"enter: its blocks by size", "c enter", "request 13"},
		{"`p`, then `P` and `recorded`", "p", "claude-code"},
		{"`]` from event to event", "home ]", "16 requests"},
	} {
		if !strings.Contains(questions, q.written) {
			t.Errorf("docs/explore.md: no %q", q.written)
		}
		d.press("a session", q.press)
		d.holds(q.holds)
		for range len(strings.Fields(q.press)) {
			if !strings.Contains(q.press, "]") {
				d.press("everywhere", "esc")
			}
		}
	}
	d.press("a session", "c enter")
	if lines := strings.Split(d.screen(), "\n"); !strings.Contains(lines[6], "»") || !strings.Contains(lines[6], "result of") {
		t.Errorf("the largest block is not the first:\n%s", d.screen())
	}
	d.press("everywhere", "esc esc")
	d.press("a session", "p end")
	d.press("a list to choose from", "enter")
	d.typed("mine.yaml")
	d.press("a line that is typed", "enter")
	d.holds("mine")
}

// TestExploreTwo holds that two policies show the events and the texts of both, and which requests differ.
func TestExploreTwo(t *testing.T) {
	d := explored(t, sessionsOf(t, "testdata/sessions/compaction.jsonl"), ".")
	choose := func(key, name string) {
		t.Helper()
		d.press("a session", key)
		d.press("a list to choose from", "/")
		d.typed(name)
		d.press("", "enter")
		d.press("a list to choose from", "enter")
	}
	choose("p", "none")
	d.press("a session", "home ]")
	d.holds("no event there")
	choose("P", "opencode")
	d.press("a session", "home ]")
	d.holds("opencode: summarised")
	d.holds("≠")
	d.press("a session", "/")
	d.typed("What did we do so far")
	d.press("", "enter")
	d.holds("1 block")
	d.press("what a search found", "enter")
	d.holds("UNDER none: absent")
}

// TestExploreNamed holds that sessions that nobody named are never shown, and one file is opened without reading the others.
func TestExploreNamed(t *testing.T) {
	dir := t.TempDir()
	data := must.Get(os.ReadFile(filepath.Join("..", "testdata", "sessions", "cjk.jsonl")))(t)
	for i := range 70 {
		must.Do(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", i)), data, 0o600))
	}
	names := []string{"00000001-0000-4000-8000-000000000000.jsonl", "./00000002-0000-4000-8000-000000000000.jsonl"}
	for n, inputs := range [][]string{names[:1], names} {
		d := explored(t, dir, inputs...)
		found := 0
		all, err := d.src.Sessions(func([]report.SessionItem) { t.Error("others are shown") }, func(n, _ int) { found = n })
		if err != nil || len(all) != len(inputs) || all[0].Prompt == "" || n == 0 && found != 1 {
			t.Errorf("%q: %d sessions after %d: %v", inputs, len(all), found, err)
		}
	}
}

// TestExploreErrors holds that a policy or a page that fails leaves the screen, with the error below it.
func TestExploreErrors(t *testing.T) {
	d := explored(t, sessionsOf(t, "testdata/sessions/compaction.jsonl"), ".")
	d.src.Policies = append([]string{"broken"}, d.src.Policies...)
	d.press("a session", "p home")
	d.press("a list to choose from", "enter")
	d.holds("broken")
	d.holds("recorded: 0.80 USD")
	d.press("a session", "o")
	d.press("a line that is typed", "ctrl+u")
	d.typed("none/page.html")
	d.press("a line that is typed", "enter")
	d.holds("none/page.html")
	d.holds("recorded: 0.80 USD")
	d.press("a session", "enter")
	d.holds("request 16")
}

// TestExploreRead holds that the first read of a session goes on below the help, and is begun once.
func TestExploreRead(t *testing.T) {
	d := explored(t, sessionsOf(t, "testdata/sessions/compaction.jsonl", "testdata/sessions/cjk.jsonl"), ".")
	d.press("sessions", "home")
	var read tea.Cmd
	d.m, read = d.m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	d.press("everywhere", "?")
	d.holds("reading")
	d.run(read)
	d.press("everywhere", "esc")
	d.holds("16 requests")
}

// BenchmarkExplore opens a folder without a session, lists 10,000 sessions, and reads and searches one of 200 MB. wait is the
// longest time until a key could be answered.
func BenchmarkExplore(b *testing.B) {
	waits := func(b *testing.B, d *driver) { b.ReportMetric(float64(d.wait.Milliseconds()), "ms-wait") }
	b.Run("start", func(b *testing.B) {
		dir := b.TempDir()
		for b.Loop() {
			waits(b, explored(b, dir, "."))
		}
	})
	b.Run("10,000 sessions", func(b *testing.B) {
		data := must.Get(os.ReadFile(filepath.Join("..", "testdata", "sessions", "cjk.jsonl")))(b)
		dir := b.TempDir()
		for i := range 10_000 {
			must.Do(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", i)), data, 0o600))
		}
		for b.Loop() {
			d := explored(b, dir, ".")
			d.holds("10,000 of 10,000 sessions")
			d.press("everywhere", "end home")
			d.press("sessions", "/")
			d.typed("books")
			waits(b, d)
		}
	})
	b.Run("200 MB", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "large.jsonl")
		var said bytes.Buffer
		if code := Main([]string{"synth", "--size", "200MB", "--seed", "1", "-o", path}, strings.NewReader(""), io.Discard, &said); code != 0 {
			b.Fatal(said.String())
		}
		for b.Loop() {
			d := explored(b, filepath.Dir(path), path)
			read := b.Elapsed()
			d.press("a session", "enter")
			d.holds("tokens")
			request := b.Elapsed()
			d.press("everywhere", "esc")
			d.press("a session", "/")
			d.typed("no such text anywhere")
			d.press("a line that is typed", "enter")
			d.holds("No text of the session has it.")
			b.ReportMetric((request - read).Seconds(), "s-request")
			b.ReportMetric((b.Elapsed() - request).Seconds(), "s-search")
			waits(b, d)
		}
	})
}
