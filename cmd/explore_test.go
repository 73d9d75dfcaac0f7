package cmd

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
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
	folder := must.Get(filepath.Abs("testdata/explore"))(t)
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
			d.mirror(strings.NewReplacer("esc", "Escape", "backspace", "BSpace", "pgdown", "PageDown").Replace(k))
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
		d.tmux(append(strings.Fields("send-keys -t x"), keys...)...)
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

// runs copies the command of the screen and runs it. It returns what that prints.
func (d *driver) runs() string {
	d.t.Helper()
	d.copied = ""
	d.press("everywhere", "y")
	words, err := exec.Command("sh", "-c", `printf '%s\n' `+d.copied).Output()
	if err != nil {
		d.t.Skipf("no shell: %v", err)
	}
	code, out, said := ctxkit(append(strings.Split(strings.TrimSpace(string(words)), "\n")[1:], "--quiet")...)
	if code != 0 {
		d.t.Errorf("%s: exit %d: %s", d.copied, code, said)
	}
	return out
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
		writeFile(t, path, string(data))
		must.Do(t, os.Chtimes(path, used, used))
	}
	return dir
}

// play plays a story of testdata/explore/stories: one step a line. start gives it a driver of inputs in a folder. In a folder of
// its own are the files that "sessions", "hostile" and "lines" (the first of a session's) make before.
func play(t *testing.T, name string, start func(dir string, inputs ...string) *driver) (d *driver) {
	t.Helper()
	t.Setenv(nowVariable, "2026-01-20T12:00:00Z")
	read := func(path ...string) string { return string(must.Get(os.ReadFile(filepath.Join(path...)))(t)) }
	lines := strings.SplitAfter(read(repository, "testdata", "sessions", "compaction.jsonl"), "\n")
	_, questions, _ := strings.Cut(read(repository, "docs", "explore.md"), "## Questions")
	dir := t.TempDir()
	var before map[string]string
	for step := range strings.Lines(read("testdata", "explore", "stories", name+".txt")) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(step), " ")
		first, text, _ := strings.Cut(rest, " ")
		n, _ := strconv.Atoi(first)
		in, wanted := "", strings.Split(rest, " | ") // what has to have texts
		switch verb {
		case "#":
			continue
		case "sessions":
			dir = sessionsOf(t, strings.Fields(rest)...)
			continue
		case "in":
			dir = filepath.Join(repository, rest)
			continue
		case "hostile":
			writeFile(t, filepath.Join(dir, rest), string(hostileSession(t, 0)))
			continue
		case "lines":
			if first == "all" {
				n = len(lines)
			}
			writeFile(t, filepath.Join(dir, text), strings.Join(lines[:n], ""))
			continue
		case "start":
			d = start(dir, strings.Fields(rest)...)
			continue
		case "press", "choose":
			screen, keys, _ := strings.Cut(rest, ": ")
			keys, seen, _ := strings.Cut(keys, " -> ")
			if verb == "press" {
				d.press(screen, keys)
			} else {
				key, what, _ := strings.Cut(keys, " ")
				d.press(screen, key)
				d.press("a list to choose from", "/")
				d.typed(what)
				d.press("-", "enter")
				d.press("a list to choose from", "enter")
			}
			in, wanted = d.screen(), []string{seen}
		case "type":
			d.typed(rest)
			continue
		case "see":
			in = d.screen()
		case "line":
			in, wanted = strings.Split(d.screen(), "\n")[n], strings.Split(text, " | ")
		case "shot":
			d.shot(rest)
			continue
		case "runs":
			in = d.runs()
		case "copied":
			in = d.copied
		case "docs":
			in = questions
		case "file":
			in, wanted = read(first), []string{text}
		case "copy":
			writeFile(t, text, read(first))
			continue
		case "write":
			writeFile(t, first, text)
			continue
		case "remove":
			must.Do(t, os.Remove(filepath.Join(dir, rest)))
			continue
		case "remember":
			before = contents(t)
			continue
		case "unchanged":
			must.Equal(t, contents(t), before, step)
			continue
		case "screens":
			d.check(name)
			continue
		default:
			t.Fatalf("%s: there is no such step: %s", name, step)
		}
		for _, w := range wanted {
			if !strings.Contains(in, w) {
				t.Errorf("%s: %s: no %q in\n%s", name, step, w, in)
			}
		}
	}
	return d
}

// TestExploreScreens plays stories, and keeps the screens of some in all sizes.
func TestExploreScreens(t *testing.T) {
	for _, path := range must.Glob(t, 9, "testdata", "explore", "stories", "*.txt") {
		if name := strings.TrimSuffix(filepath.Base(path), ".txt"); name != "keys" {
			t.Run(name, func(t *testing.T) {
				play(t, name, func(dir string, inputs ...string) *driver { return explored(t, dir, inputs...) })
			})
		}
	}
}

// TestExploreTerminal holds that a terminal shows the screens of some stories as they are kept, in all sizes.
func TestExploreTerminal(t *testing.T) {
	must.BeCI(t)
	t.Setenv("NO_COLOR", "1")
	t.Setenv(nowVariable, "2026-01-20T12:00:00Z") // for the terminal, too
	tmux, program := terminals(t)
	for _, name := range strings.Fields("agents hostile growing empty") {
		for _, size := range screenSizes {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), func(t *testing.T) {
				play(t, name, func(dir string, inputs ...string) *driver {
					d := explored(t, dir, inputs...)
					d.in(tmux, program, size[0], size[1], inputs...)
					return d
				})
			})
		}
	}
}

// TestExploreKeys presses every key of the help, and looks at what comes of it.
func TestExploreKeys(t *testing.T) {
	d := play(t, "keys", func(dir string, inputs ...string) *driver { return explored(t, dir, inputs...) })
	d.send(tea.KeyPressMsg{Code: tea.KeyEscape, Mod: tea.ModAlt}) // two escapes that came together
	d.holds("“ERR”: ")
	d.send(tea.KeyPressMsg{Code: 'p', Mod: tea.ModAlt | tea.ModShift}) // escape and P
	d.holds("none: one policy")
	d.press("everywhere", "esc")
	d.press("everywhere", "?")
	d.holds("EVERYWHERE")
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
	data := must.Get(os.ReadFile("../testdata/sessions/cjk.jsonl"))(t)
	dir := t.TempDir()
	for i := range 70 {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", i)), string(data))
	}
	d := explored(t, dir, ".")
	shown := 0
	all, err := d.src.Sessions(func(some []report.SessionItem) { shown = len(some) }, func(int, int) {})
	if err != nil || len(all) != 70 || shown != 64 {
		t.Errorf("%d sessions, after %d: %v", len(all), shown, err)
	}
}

// TestExploreWatch runs explore in a terminal, which gets another size, over a folder that a session is added to, and one that grows.
func TestExploreWatch(t *testing.T) {
	must.BeCI(t)
	t.Setenv("NO_COLOR", "1")
	t.Setenv(nowVariable, "2026-01-20T12:00:00Z")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	tmux, program := terminals(t)
	dir := sessionsOf(t, "testdata/sessions/cjk.jsonl", "jsonl/internal/codex/testdata/rollout.jsonl")
	data := must.Get(os.ReadFile("../testdata/sessions/compaction.jsonl"))(t)
	see := func(text string) {
		t.Helper()
		seen(t, tmux, func(screen string) bool { return strings.Contains(screen, text) }, text)
	}
	tmux("new-session", "-d", "-s", "x", "-x", "60", "-y", "20", "'"+program+"' explore '"+dir+"'; echo ended: $?; cat")
	see("2 of 2 sessions")
	path := filepath.Join(dir, "growing.jsonl")
	writeFile(t, path, string(bytes.Join(bytes.SplitAfter(data, []byte("\n"))[:8], nil)))
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
	writeFile(t, path, string(data))
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

// TestExploreNamed holds that sessions that nobody named are never shown, and one file is opened without reading the others.
func TestExploreNamed(t *testing.T) {
	dir := t.TempDir()
	data := must.Get(os.ReadFile("../testdata/sessions/cjk.jsonl"))(t)
	for i := range 70 {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", i)), string(data))
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
		data := must.Get(os.ReadFile("../testdata/sessions/cjk.jsonl"))(b)
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

// contents are the files under the working folder.
func contents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if st, err := os.Stat(name); err == nil && st.IsDir() { // a link to one
			return nil
		}
		text, err := os.ReadFile(name)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
