package cmd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/report/golden"
)

// widthCommands are command lines that print every report for people.
var widthCommands = strings.Split(`replay testdata/sessions/compaction.jsonl -p opencode
replay testdata/sessions/microcompact.jsonl testdata/sessions/compaction.jsonl testdata/sessions/cjk.jsonl -p claude-code@recorded-version
compare testdata/sessions/compaction.jsonl testdata/sessions/microcompact.jsonl -p recorded -p claude-code@recorded-version -p gemini-cli,gemini_compression.threshold=0.7
compare testdata/sessions/compaction.jsonl -p recorded -p opencode --all
cost testdata/sessions/compaction.jsonl testdata/sessions/microcompact.jsonl -p opencode
regret testdata/sessions/microcompact.jsonl -p three-layer
sweep testdata/sessions/microcompact.jsonl -p opencode --vary opencode_prune.protect=20000,40000
thresholds -p claude-code --model claude-opus-4-5 --used 100k
sessions testdata/sessions
policy diff opencode-1.1.36 opencode-1.18
lint testdata/sessions/lost.jsonl
lint testdata/sessions/lost.jsonl testdata/sessions/fused.jsonl
anonymize testdata/sessions/parallel-tools.jsonl --check
backtest testdata/sessions/microcompact.jsonl --counters
backtest testdata/sessions/microcompact.jsonl
backtest testdata/sessions/compaction.jsonl --explain=3
diff testdata/sessions/microcompact.jsonl -p recorded
diff testdata/sessions/microcompact.jsonl -p recorded --against opencode --stat
view testdata/sessions/parallel-tools.jsonl -p opencode --at 2
stats testdata/sessions/microcompact.jsonl
stats testdata/sessions/microcompact.jsonl testdata/sessions/compaction.jsonl
why testdata/sessions/microcompact.jsonl
resume testdata/sessions/microcompact.jsonl
resume testdata/sessions/microcompact.jsonl testdata/sessions/big.jsonl testdata/sessions/compaction-1.0.jsonl
validate testdata/sessions
why testdata/sessions/microcompact.jsonl testdata/sessions/compaction.jsonl -p opencode`, "\n")

// wideCommands are more of them, with too much output for a golden.
var wideCommands = []string{
	"replay testdata/sessions/big.jsonl -p claude-code",
	"replay testdata/sessions -p opencode --verbose",
	"compare testdata/sessions -p none -p opencode --all",
	"cost testdata/sessions -p claude-code",
	"regret testdata/sessions -p opencode --verbose",
	"lint testdata/sessions --verbose --all",
	"check testdata/check/threshold/ctxkit.yaml",
	"policy list",
	"prices",
	"diff testdata/sessions/big.jsonl -p claude-code-pipeline --against opencode",
	"view testdata/sessions/big.jsonl -p opencode --at 140",
	"stats testdata/sessions/big.jsonl --all",
	"why testdata/sessions/big.jsonl -p claude-code-2.1.19,window.context=60000 --all",
	"why testdata/sessions --verbose",
}

// TestWidths holds that at every width of a terminal the lines of every report fit, and that no id and no name of a
// policy is broken. What small sessions give is kept at four widths.
func TestWidths(t *testing.T) {
	t.Chdir("..")
	t.Setenv(nowVariable, "2026-01-20T12:00:00Z")
	names := brokenNames(policyNamesKnown(t))
	for _, w := range []int{60, 80, 100, 160, 200} {
		if w != 80 && w != 160 && !must.CI() && !golden.Update() {
			continue
		}
		t.Run(strconv.Itoa(w), func(t *testing.T) {
			t.Setenv("COLUMNS", strconv.Itoa(w))
			var all bytes.Buffer
			commands := slices.Clone(widthCommands)
			if w != 80 && w != 160 || long() {
				commands = append(commands, wideCommands...)
			}
			for i, command := range commands {
				code, out, errs := ctxkit(strings.Fields(command + " --quiet")...)
				if code == exitNotDone {
					t.Errorf("%s: %s", command, errs)
				}
				checkLines(t, command, out, w, names)
				if i < len(widthCommands) {
					fmt.Fprintf(&all, "$ ctxkit %s\n%s\n", command, out)
				}
			}
			if w < 200 {
				golden.Check(t, filepath.Join("cmd", "testdata", "widths", strconv.Itoa(w)+".txt"), all.Bytes())
			}
		})
	}
}

// sessionID is an id of a session.
var sessionID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// cutID is an id that is cut.
var cutID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]*…|…[0-9a-f-]*[0-9a-f]{11}`)

// partID is the beginning of one.
var partID = regexp.MustCompile(`(^|[ (])[0-9a-f]{8}-[0-9a-f]{0,4}(-[0-9a-f]{0,4})?(-[0-9a-f]{0,4})?(-[0-9a-f]{0,11})?( |$)`)

func checkLines(t *testing.T, command, text string, w int, names map[string][]string) {
	t.Helper()
	// In the text of a message, which view and diff show, a line breaks anywhere; and a single word of a command to paste
	// stays whole.
	prose := strings.HasPrefix(command, "view ") || strings.HasPrefix(command, "diff ")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if n := twwidth.WidthWithOptions(line, twwidth.Options{}); n > w {
			if words := strings.Fields(strings.TrimSuffix(line, ` \`)); strings.HasPrefix(line, "    ") && len(words) <= 2 && strings.Contains(text, "  ctxkit ") {
				continue
			}
			t.Errorf("%s: %d of %d columns: %s", command, n, w, line)
		}
		if prose || i+1 == len(lines) {
			continue
		}
		if cutID.MatchString(line) {
			t.Errorf("%s: at %d columns an id is cut: %s", command, w, line)
		}
		if found := partID.FindString(sessionID.ReplaceAllString(line, "")); found != "" {
			t.Errorf("%s: at %d columns an id is broken: %s", command, w, line)
		}
		next := strings.Fields(lines[i+1])
		for _, word := range strings.Fields(line) {
			for _, rest := range names[word] {
				if slices.Contains(next, rest) {
					t.Errorf("%s: at %d columns %s%s is broken: %s", command, w, word, rest, line)
				}
			}
		}
	}
}

// brokenNames are the beginnings of names, from four letters on, that are no names themselves, each with the ends that make
// it one.
func brokenNames(names []string) map[string][]string {
	ends := map[string][]string{}
	for _, name := range names {
		for k := 4; k < len(name); k++ {
			if begin := name[:k]; !slices.Contains(names, begin) {
				ends[begin] = append(ends[begin], name[k:])
			}
		}
	}
	return ends
}

// terminals starts a server of terminals, which ends with the test, and returns what runs tmux and the path of ctxkit.
func terminals(t *testing.T) (tmux func(args ...string) string, program string) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux: the package of that name has it")
	}
	if testing.Short() {
		t.Skip("waits for terminals")
	}
	dir := t.TempDir()
	self := must.Get(os.Executable())(t)
	program = filepath.Join(dir, "ctxkit") // by which name the test's program is ctxkit
	if err := os.Symlink(self, program); err != nil {
		t.Skip(err)
	}
	tmux = func(args ...string) string {
		c := exec.Command("tmux", append([]string{"-S", filepath.Join(dir, "socket"), "-f", os.DevNull}, args...)...)
		c.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=xterm-256color")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %s: %v: %s", args, err, out)
		}
		return string(out)
	}
	tmux("new-session", "-d", "-s", "server", "cat") // which ends with its last session
	t.Cleanup(func() { tmux("kill-server") })
	return tmux, program
}

// TestTerminal runs commands in a terminal, by tmux, and holds that no line of theirs goes on below.
func TestTerminal(t *testing.T) {
	must.BeCI(t)
	tmux, program := terminals(t)
	root := must.Get(filepath.Abs(".."))(t)
	for _, w := range []int{60, 80, 100, 160, 200} {
		for i, command := range widthCommands {
			if prose := strings.HasPrefix(command, "view "); prose || w > 60 && i%4 != w%3 {
				continue // some of them at each width; all at the narrowest
			}
			name := fmt.Sprintf("w%d-%d", w, i)
			// The screen stays until it is read: cat waits for input that does not come.
			tmux("new-session", "-d", "-s", name, "-x", strconv.Itoa(w), "-y", "400", "cd '"+root+"' && '"+program+"' "+command+" -q; printf 'end of it\\n'; cat")
			var plain string
			for range 200 {
				if plain = tmux("capture-pane", "-p", "-t", name); strings.Contains(plain, "end of it") {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			joined := tmux("capture-pane", "-p", "-J", "-t", name)
			tmux("kill-session", "-t", name)
			if !strings.Contains(plain, "end of it") {
				t.Errorf("%s: not ended at %d columns:\n%s", command, w, plain)
			}
			for line := range strings.Lines(joined) {
				if n := twwidth.WidthWithOptions(strings.TrimRight(line, " \n"), twwidth.Options{}); n > w && !strings.HasPrefix(line, "    ") {
					t.Errorf("%s: %d of %d columns: %s", command, n, w, line)
				}
			}
			if !strings.Contains(plain, "\n") || len(strings.TrimSpace(plain)) < 40 {
				t.Errorf("%s: nothing on the screen at %d columns", command, w)
			}
		}
	}
}
