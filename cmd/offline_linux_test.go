package cmd

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// offlineLines are lines of every command, as they are run in a folder with sessions, policies and a check: behind " > " is what a
// line is told to write besides the cache, behind " < " what it reads from standard input, and one that ends with " !" cannot do
// its work. The first is empty. TestOfflineLines fails on a command without.
const offlineLines = `
--help
--version
sessions/big.jsonl
nonsense !
__complete replay --policy c
__complete view -
anonymize sessions/big.jsonl
anonymize sessions/big.jsonl --check
anonymize sessions/big.jsonl -o out/a.jsonl > out
anonymize nowhere.jsonl -o out/none.jsonl !
backtest sessions
backtest sessions/big.jsonl -f json -o out/backtest.json > out
backtest --counters sessions/big.jsonl sessions/compaction.jsonl
cache
cache info
sessions
cache clear
check !
check --update --force > base.json
check
check --also junit=out/check.xml > out
compare sessions -p none -p opencode
compare sessions -p none -p opencode -f html -o out/c.html > out
completion
completion bash
completion fish
completion powershell
completion zsh
convert sessions/big.jsonl
convert sessions/big.jsonl -o out/b.jsonl > out
cost sessions/big.jsonl -p opencode
cost sessions/big.jsonl -p none --prices nothing.json !
demo
config
explore sessions/big.jsonl !
diff sessions/big.jsonl -p opencode
export sessions -p opencode -o out/tables > out
export sessions/big.jsonl !
help replay
help columns
lint sessions/big.jsonl
compare sessions -p none -f rows -o out/1.rows > out
merge out/1.rows
policy
policy diff opencode gemini-cli
policy lint mine.yaml
policy list
policy new
policy new a -o out/a.yaml > out
policy schema
policy show opencode
policy test mine.yaml
policy test mine.yaml sessions/big.jsonl
prices
prices -f json -o out/prices.json > out
regret sessions/big.jsonl -p opencode
replay sessions/big.jsonl -p mine.yaml
replay sessions -p opencode --tokens o200k_base
replay sessions/big.jsonl -p opencode -f html -o out/r.html > out
replay last -p recorded
replay nowhere.jsonl -p none !
replay sessions/big.jsonl -p program.yaml !
resume
sessions
sessions --no-cache
sessions sessions --sort cost -f csv -o out/s.csv > out
stats sessions/big.jsonl
stats sessions/big.jsonl --pager
statusline < {"transcript_path": "sessions/big.jsonl", "version": "2.1.139", "context_window": {"context_window_size": 200000, "current_usage": {"input_tokens": 142310}}}
sweep sessions/big.jsonl -p opencode --vary opencode_prune.protect=20000,40000
synth --requests 3
synth --requests 3 --dir out/p > out
synth --requests 3 -o out/y.jsonl > out
thresholds
version
validate sessions
view sessions/big.jsonl -p opencode
view sessions/big.jsonl -p opencode -f json -o out/v.json > out
why sessions/big.jsonl
`

type offlineLine struct {
	args, told, in string
	code           int
}

func readOfflineLine(text string) (l offlineLine) {
	l.args = strings.TrimRight(text, "\n")
	if args, fails := strings.CutSuffix(l.args, " !"); fails || args == "!" {
		l.args, l.code = args, exitNotDone
	}
	l.args, l.in, _ = strings.Cut(l.args, " < ")
	l.args, l.told, _ = strings.Cut(l.args, " > ")
	return l
}

// TestOfflineLines holds that TestOffline runs every command.
func TestOfflineLines(t *testing.T) {
	root := newRoot(newSystem(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}))
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	commands, run := commandNames(root), map[string]bool{}
	for line := range strings.Lines(offlineLines) {
		run[runBy(readOfflineLine(line).args, commands)] = true
	}
	for _, name := range commands {
		if !run[name] {
			t.Errorf("no line runs ctxkit %s: add one to offlineLines", name)
		}
	}
}

// TestOffline runs every command under strace, where it may be in a network namespace without a device: it makes no
// system call for a network, starts nothing, and writes only what it is told to and its cache.
func TestOffline(t *testing.T) {
	if !long() {
		t.Skip("CTXKIT_LONG is not set")
	}
	watched := strings.Fields("strace -f -y -qq --seccomp-bpf -s 4096 -e signal=none -e trace=%network,%file,ftruncate,fchmod,fchown,fsetxattr,io_uring_setup")
	if out, err := exec.Command(watched[0], append(slices.Clone(watched[1:]), "true")...).CombinedOutput(); err != nil {
		t.Skipf("no strace here: %v %s", err, out)
	}
	alone := strings.Fields("unshare --map-root-user --net")
	if out, err := exec.Command(alone[0], append(slices.Clone(alone[1:]), "true")...).CombinedOutput(); err != nil {
		t.Logf("no network namespace of its own: %v %s", err, out)
		alone = nil
	}
	dir := offlineFolder(t)
	path := filepath.Join(t.TempDir(), "ctxkit")
	if out, err := exec.Command("go", "build", "-o", path, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	log := filepath.Join(t.TempDir(), "log")
	run := func(l offlineLine) (code int, said string, calls []string) {
		args := slices.Concat(alone, watched, []string{"-o", log, path}, strings.Fields(l.args))
		c := exec.Command(args[0], args[1:]...)
		c.Dir, c.Stdin = dir, strings.NewReader(l.in)
		c.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "CLAUDE_CONFIG_DIR=", "CODEX_HOME=", "CI=",
			cacheVariable+"=", "TMPDIR="+filepath.Join(dir, "tmp"))
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatalf("ctxkit %s: %v", l.args, err)
		}
		text := must.Get(os.ReadFile(log))(t)
		return c.ProcessState.ExitCode(), string(out), strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	kept := 0
	for line := range strings.Lines(offlineLines) {
		l := readOfflineLine(line)
		code, said, calls := run(l)
		if code != l.code {
			t.Errorf("ctxkit %s: exit code %d, want %d: %s", l.args, code, l.code, said)
		}
		wrote := 0
		for i, call := range calls {
			bad, paths := judgeCall(dir, call)
			if bad != "" && (i > 0 || bad != startsProgram) {
				t.Errorf("ctxkit %s %s: %s", l.args, bad, call)
			}
			for _, p := range paths {
				switch {
				case l.told != "" && writtenFor(filepath.Join(dir, l.told), p):
					wrote++
				case caches(l) && writtenFor(filepath.Join(dir, "home", ".cache"), p):
					kept++
				default:
					t.Errorf("ctxkit %s writes %s: %s", l.args, p, call)
				}
			}
		}
		if l.told != "" && wrote == 0 {
			t.Errorf("ctxkit %s was not seen to write in %s", l.args, l.told)
		}
	}
	if kept == 0 {
		t.Error("no command was seen to write in the cache")
	}
}

// caches reports whether a line may write in the cache: one that reads sessions may, but for a check.
func caches(l offlineLine) bool {
	first, _, _ := strings.Cut(l.args, " ")
	without := strings.Fields("check completion demo help --help policy prices synth thresholds version --version")
	return !slices.Contains(without, first) && !strings.Contains(l.args, "--no-cache")
}

// offlineFolder has sessions, also those of a home, policies and a check.
func offlineFolder(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"mine.yaml":    "version: 1\nname: mine\nstages:\n  - mask: {keep: 5}\n",
		"program.yaml": "version: 1\nname: program\nstages:\n  - program: {command: [/bin/true]}\n",
		"ctxkit.yaml":  "version: 1\nsessions: [sessions/big.jsonl]\nbaseline: base.json\ncases:\n  - name: a\n    policy: opencode\n",
		"out/kept":     "", "tmp/kept": "",
	} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		writeFile(t, filepath.Join(dir, name), text)
	}
	for _, to := range []string{"sessions", "home/.claude/projects/-p"} {
		must.Do(t, os.CopyFS(filepath.Join(dir, to), os.DirFS("../testdata/sessions")))
	}
	return dir
}

// commandNames are the names of a command and all below it, without that of the root.
func commandNames(c *cobra.Command) []string {
	_, name, _ := strings.Cut(c.CommandPath(), " ")
	list := []string{name}
	for _, sub := range c.Commands() {
		list = append(list, commandNames(sub)...)
	}
	return list
}

// writtenFor reports whether a path is the one that is to be written, in it, or its unfinished form.
func writtenFor(told, path string) bool {
	part, _ := filepath.Match(filepath.Join(filepath.Dir(told), "."+filepath.Base(told)+".*.part"), path)
	return path == told || strings.HasPrefix(path, told+"/") || part
}

var (
	// tracedCall is a system call's name and arguments in a log of strace.
	tracedCall = regexp.MustCompile(`^\d+\s+(\w+)\((.*)`)
	// tracedPath is a path in them, after the folder that it starts from; or that of an open file.
	tracedPath = regexp.MustCompile(`(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"`)
	tracedFile = regexp.MustCompile(`^\d+<([^>]*)>`)
)

const startsProgram = "starts a program"

// judgeCall says what is wrong with a traced system call, and which paths it writes. Relative ones are taken from dir.
func judgeCall(dir, call string) (bad string, paths []string) {
	m := tracedCall.FindStringSubmatch(call)
	if m == nil {
		if strings.Contains(call, "resumed>") || strings.Contains(call, "+++") || strings.Contains(call, "???(") || call == "" {
			return "", nil
		}
		return "cannot be judged by", nil
	}
	is := func(names string) bool { return slices.Contains(strings.Fields(names), m[1]) }
	switch args := m[2]; {
	case is("execve execveat"):
		return startsProgram, nil
	case is("stat lstat newfstatat statx statfs access faccessat faccessat2 readlink readlinkat getcwd chdir getxattr lgetxattr"):
		return "", nil
	case is("open openat openat2"):
		if !regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_TMPFILE`).MatchString(args) {
			return "", nil
		}
		return "", tracedPaths(dir, args)
	case is("creat mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat mknod mknodat truncate ftruncate chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat utime utimes utimensat futimesat setxattr lsetxattr fsetxattr"):
		if paths = tracedPaths(dir, args); len(paths) == 0 {
			return "writes what is not said", nil
		}
		return "", paths
	}
	return "makes a system call that no command needs", nil
}

func tracedPaths(dir, args string) (paths []string) {
	for _, m := range tracedPath.FindAllStringSubmatch(args, -1) {
		if p := m[2]; filepath.IsAbs(p) {
			paths = append(paths, filepath.Clean(p))
		} else if m[1] != "" {
			paths = append(paths, filepath.Join(m[1], p))
		} else {
			paths = append(paths, filepath.Join(dir, p))
		}
	}
	if m := tracedFile.FindStringSubmatch(args); m != nil && len(paths) == 0 {
		paths = []string{m[1]}
	}
	return paths
}

// TestJudgeCall tries the judge of TestOffline on lines of strace.
func TestJudgeCall(t *testing.T) {
	must.Rows(t, `
# call | what is wrong | the paths it writes
12 openat(AT_FDCWD</d>, "a.jsonl", O_RDONLY|O_CLOEXEC) = 3</d/a.jsonl> | "" | ""
12 openat(AT_FDCWD</d>, "b", O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC, 0600) = 3</d/b> | "" | /d/b
12 openat(AT_FDCWD</d>, "/e/b", O_WRONLY <unfinished ...> | "" | /e/b
12 <... openat resumed>)             = 9</d/fused.jsonl> | "" | ""
12 unlinkat(7</x/y>, "z", 0) = 0 | "" | /x/y/z
12 renameat(AT_FDCWD</d>, "a", AT_FDCWD</d>, "/e/../f") = 0 | "" | /d/a /f
12 mkdir("n", 0700) = 0 | "" | /d/n
12 fchmod(5</d/.out.part>, 0644) = 0 | "" | /d/.out.part
12 ftruncate(5, 0) = 0 | writes what is not said | ""
12 socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_IP) = 3 | makes a system call that no command needs | ""
12 connect(3<socket:[1]>, {sa_family=AF_UNIX, sun_path="/run/nscd"}, 110) = -1 | makes a system call that no command needs | ""
12 io_uring_setup(8, {}) = 3 | makes a system call that no command needs | ""
12 execve("/bin/git", ["git"], 0x7ff /* 3 vars */) = 0 | starts a program | ""
12 +++ exited with 0 +++ | "" | ""
12 ???( <detached ...> | "" | ""
what | cannot be judged by | ""
`, func(call, bad, paths string) {
		got, list := judgeCall("/d", call)
		must.Say(t, bad+" "+paths, got, strings.Join(list, " "))
	})
}
