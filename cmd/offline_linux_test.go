package cmd

import (
	"bytes"
	"errors"
	"maps"
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

// offlineLine is a command line of TestOffline, run in a folder with sessions, policies and a check.
type offlineLine struct {
	args string
	told string // the file or folder that it is told to write, besides the cache
	in   string // what it reads from standard input
	code int
}

// offlineLines are lines of every command. TestOfflineLines fails on a command without.
func offlineLines() map[string][]offlineLine {
	const big = "sessions/big.jsonl"
	return map[string][]offlineLine{
		"": {
			{args: ""}, {args: "--help"}, {args: "--version"}, {args: big}, {args: "nonsense", code: exitNotDone},
			{args: "__complete replay --policy c"}, {args: "__complete view -"},
		},
		"anonymize": {
			{args: "anonymize " + big}, {args: "anonymize " + big + " --check"}, {args: "anonymize " + big + " -o out/a.jsonl", told: "out"},
			{args: "anonymize nowhere.jsonl -o out/none.jsonl", code: exitNotDone},
		},
		"backtest": {
			{args: "backtest sessions"}, {args: "backtest " + big + " -f json -o out/backtest.json", told: "out"},
			{args: "backtest --counters " + big + " sessions/compaction.jsonl"},
		},
		"cache":       {{args: "cache"}},
		"cache info":  {{args: "cache info"}},
		"cache clear": {{args: "sessions"}, {args: "cache clear"}},
		"check": {
			{args: "check", code: exitNotDone}, {args: "check --update --force", told: "base.json"}, {args: "check"},
			{args: "check --also junit=out/check.xml", told: "out"},
		},
		"compare": {
			{args: "compare sessions -p none -p opencode"},
			{args: "compare sessions -p none -p opencode -f html -o out/c.html", told: "out"},
		},
		"completion":            {{args: "completion"}},
		"completion bash":       {{args: "completion bash"}},
		"completion fish":       {{args: "completion fish"}},
		"completion powershell": {{args: "completion powershell"}},
		"completion zsh":        {{args: "completion zsh"}},
		"convert":               {{args: "convert " + big}, {args: "convert " + big + " -o out/b.jsonl", told: "out"}},
		"cost":                  {{args: "cost " + big + " -p opencode"}, {args: "cost " + big + " -p none --prices nothing.json", code: exitNotDone}},
		"demo":                  {{args: "demo"}},
		"config":                {{args: "config"}},
		"explore":               {{args: "explore " + big, code: exitNotDone}},
		"diff":                  {{args: "diff " + big + " -p opencode"}},
		"export":                {{args: "export sessions -p opencode -o out/tables", told: "out"}, {args: "export " + big, code: exitNotDone}},
		"help":                  {{args: "help replay"}, {args: "help columns"}},
		"lint":                  {{args: "lint " + big}},
		"merge":                 {{args: "compare sessions -p none -f rows -o out/1.rows", told: "out"}, {args: "merge out/1.rows"}},
		"policy":                {{args: "policy"}},
		"policy diff":           {{args: "policy diff opencode gemini-cli"}},
		"policy lint":           {{args: "policy lint mine.yaml"}},
		"policy list":           {{args: "policy list"}},
		"policy new":            {{args: "policy new"}, {args: "policy new a -o out/a.yaml", told: "out"}},
		"policy schema":         {{args: "policy schema"}},
		"policy show":           {{args: "policy show opencode"}},
		"policy test":           {{args: "policy test mine.yaml"}, {args: "policy test mine.yaml " + big}},
		"prices":                {{args: "prices"}, {args: "prices -f json -o out/prices.json", told: "out"}},
		"regret":                {{args: "regret " + big + " -p opencode"}},
		"replay": {
			{args: "replay " + big + " -p mine.yaml"}, {args: "replay sessions -p opencode --tokens o200k_base"},
			{args: "replay " + big + " -p opencode -f html -o out/r.html", told: "out"}, {args: "replay last -p recorded"},
			{args: "replay nowhere.jsonl -p none", code: exitNotDone}, {args: "replay " + big + " -p program.yaml", code: exitNotDone},
		},
		"resume":     {{args: "resume"}},
		"sessions":   {{args: "sessions"}, {args: "sessions --no-cache"}, {args: "sessions sessions --sort cost -f csv -o out/s.csv", told: "out"}},
		"stats":      {{args: "stats " + big}, {args: "stats " + big + " --pager"}},
		"statusline": {{args: "statusline", in: `{"transcript_path": "sessions/big.jsonl", "version": "2.1.139", "context_window": {"context_window_size": 200000, "current_usage": {"input_tokens": 142310}}}`}},
		"sweep":      {{args: "sweep " + big + " -p opencode --vary opencode_prune.protect=20000,40000"}},
		"synth":      {{args: "synth --requests 3"}, {args: "synth --requests 3 --dir out/p", told: "out"}, {args: "synth --requests 3 -o out/y.jsonl", told: "out"}},
		"thresholds": {{args: "thresholds"}},
		"version":    {{args: "version"}},
		"validate":   {{args: "validate sessions"}},
		"view":       {{args: "view " + big + " -p opencode"}, {args: "view " + big + " -p opencode -f json -o out/v.json", told: "out"}},
		"why":        {{args: "why " + big}},
	}
}

// TestOfflineLines holds that TestOffline runs every command.
func TestOfflineLines(t *testing.T) {
	root := newRoot(newSystem(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}))
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	lines, commands := offlineLines(), commandNames(root)
	for _, name := range commands {
		if len(lines[name]) == 0 {
			t.Errorf("no line runs ctxkit %s: add one to offlineLines", name)
		}
	}
	for name := range lines {
		if !slices.Contains(commands, name) {
			t.Errorf("offlineLines: there is no command %q", name)
		}
	}
}

// TestOffline runs every command under strace, where it may be in a network namespace without a device: it makes no
// system call for a network, starts nothing, and writes only what it is told to and its cache.
func TestOffline(t *testing.T) {
	if !long() {
		t.Skip("CTXKIT_LONG is not set")
	}
	watched := []string{"strace", "-f", "-y", "-qq", "--seccomp-bpf", "-s", "4096", "-e", "signal=none", "-e", "trace=%network,%file,ftruncate,fchmod,fchown,fsetxattr,io_uring_setup"}
	if out, err := exec.Command(watched[0], append(slices.Clone(watched[1:]), "true")...).CombinedOutput(); err != nil {
		t.Skipf("no strace here: %v %s", err, out)
	}
	alone := []string{"unshare", "--map-root-user", "--net"}
	if out, err := exec.Command(alone[0], append(slices.Clone(alone[1:]), "true")...).CombinedOutput(); err != nil {
		t.Logf("no network namespace of its own: %v %s", err, out)
		alone = nil
	}
	lines, dir := offlineLines(), offlineFolder(t)
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
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		for _, l := range lines[name] {
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
	}
	if kept == 0 {
		t.Error("no command was seen to write in the cache")
	}
}

// caches reports whether a line may write in the cache: one that reads sessions may, but for a check.
func caches(l offlineLine) bool {
	first, _, _ := strings.Cut(l.args, " ")
	without := []string{"check", "completion", "demo", "help", "--help", "policy", "prices", "synth", "thresholds", "version", "--version"}
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
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for _, to := range []string{"sessions", "home/.claude/projects/-p"} {
		must.Do(t, os.CopyFS(filepath.Join(dir, to), os.DirFS(filepath.Join("..", "testdata", "sessions"))))
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
	switch name, args := m[1], m[2]; name {
	case "execve", "execveat":
		return startsProgram, nil
	case "stat", "lstat", "newfstatat", "statx", "statfs", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "chdir", "getxattr", "lgetxattr":
		return "", nil
	case "open", "openat", "openat2":
		if !regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_TMPFILE`).MatchString(args) {
			return "", nil
		}
		return "", tracedPaths(dir, args)
	case "creat", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "mknod", "mknodat", "truncate", "ftruncate",
		"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat", "utime", "utimes", "utimensat", "futimesat", "setxattr", "lsetxattr", "fsetxattr":
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
	for _, tt := range []struct{ call, bad, paths string }{
		{`12 openat(AT_FDCWD</d>, "a.jsonl", O_RDONLY|O_CLOEXEC) = 3</d/a.jsonl>`, "", ""},
		{`12 openat(AT_FDCWD</d>, "b", O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC, 0600) = 3</d/b>`, "", "/d/b"},
		{`12 openat(AT_FDCWD</d>, "/e/b", O_WRONLY <unfinished ...>`, "", "/e/b"},
		{`12 <... openat resumed>)             = 9</d/fused.jsonl>`, "", ""},
		{`12 unlinkat(7</x/y>, "z", 0) = 0`, "", "/x/y/z"},
		{`12 renameat(AT_FDCWD</d>, "a", AT_FDCWD</d>, "/e/../f") = 0`, "", "/d/a /f"},
		{`12 mkdir("n", 0700) = 0`, "", "/d/n"},
		{`12 fchmod(5</d/.out.part>, 0644) = 0`, "", "/d/.out.part"},
		{`12 ftruncate(5, 0) = 0`, "writes what is not said", ""},
		{`12 socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_IP) = 3`, "makes a system call that no command needs", ""},
		{`12 connect(3<socket:[1]>, {sa_family=AF_UNIX, sun_path="/run/nscd"}, 110) = -1`, "makes a system call that no command needs", ""},
		{`12 io_uring_setup(8, {}) = 3`, "makes a system call that no command needs", ""},
		{`12 execve("/bin/git", ["git"], 0x7ff /* 3 vars */) = 0`, startsProgram, ""},
		{`12 +++ exited with 0 +++`, "", ""},
		{`12 ???( <detached ...>`, "", ""}, // at the end of the process
		{`what`, "cannot be judged by", ""},
	} {
		if bad, paths := judgeCall("/d", tt.call); bad != tt.bad || strings.Join(paths, " ") != tt.paths {
			t.Errorf("%s: %q, writes %q", tt.call, bad, paths)
		}
	}
}
