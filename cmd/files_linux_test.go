package cmd

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// opens tells which files of a folder are opened.
type opens struct {
	fd   int
	dirs map[int32]string
}

func watch(t *testing.T, dir string) *opens {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	w := &opens{fd: fd, dirs: map[int32]string{}}
	err = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		wd, err := syscall.InotifyAddWatch(fd, path, syscall.IN_OPEN)
		w.dirs[int32(wd)] = path
		return err
	})
	if err != nil {
		t.Skip(err)
	}
	return w
}

// take lists the files that were opened since it was last called, sorted.
func (w *opens) take() (list []string) {
	buf := make([]byte, 1<<20)
	for {
		n, err := syscall.Read(w.fd, buf)
		if err != nil || n <= 0 {
			break
		}
		for rest := buf[:n]; len(rest) >= syscall.SizeofInotifyEvent; {
			wd, size := int32(binary.NativeEndian.Uint32(rest)), int(binary.NativeEndian.Uint32(rest[12:]))
			name := string(bytes.TrimRight(rest[16:16+size], "\x00"))
			rest = rest[16+size:]
			path := filepath.Join(w.dirs[wd], name)
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
				list = append(list, path)
			}
		}
	}
	return slices.Compact(sorted(list))
}

// TestNothingReadIsReplaced watches which files every command with -o opens, and holds that it replaces none of them.
func TestNothingReadIsReplaced(t *testing.T) {
	dir := t.TempDir()
	samples := must.Get(os.OpenRoot("../testdata/sessions"))(t)
	defer samples.Close()
	for _, name := range []string{"subagent", "offload"} {
		sub, err := fs.Sub(samples.FS(), name)
		if err == nil {
			err = os.CopyFS(filepath.Join(dir, "p", name), sub)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		writeFile(t, name, text)
	}
	t.Chdir(dir)
	t.Setenv("CTXKIT_CACHE", "off")
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(dir, "none"))
	write("base.yaml", "version: 1\nname: base\nextends: opencode-1.1.1\n")
	write("team.yaml", "version: 1\nname: team\nextends: ./base.yaml\n")
	write("ctxkit.yaml", "version: 1\nsessions: [p/subagent/*.jsonl]\nprices: prices.json\nbaseline: base.json\ncases:\n  - {name: one, policy: ./team.yaml}\n")
	var prices bytes.Buffer
	if Main(strings.Fields("prices --format json"), strings.NewReader(""), &prices, &prices) != exitDone {
		t.Fatal(prices.String())
	}
	write("prices.json", prices.String())
	if code, _, said := ctxkit("check", "--update", "--force"); code != exitDone {
		t.Fatal(said)
	}

	if code, _, said := ctxkit("compare", "p", "-p", "none", "-f", "rows", "-o", "all.rows"); code != exitDone {
		t.Fatal(said)
	}
	session := "p/" + "subagent/b32e519c-43e7-4331-9b9b-59720f862fab.jsonl"
	special := strings.Split(strings.ReplaceAll(`check
sessions p
resume SESSION
resume p
lint SESSION
lint p
compare SESSION
compare p --jobs 2
merge all.rows
demo
policy schema
synth --requests 2
prices
thresholds
policy lint ./team.yaml
policy diff ./team.yaml ./base.yaml
policy show ./team.yaml
policy list
policy test ./team.yaml SESSION
policy new mine
sweep SESSION --vary opencode_prune.protect=1000,2000
view SESSION --as transcript
view SESSION --as payload --full
view SESSION --as session`, "SESSION", session), "\n")
	opened := 0
	var try func(c *cobra.Command, name string)
	try = func(c *cobra.Command, name string) {
		for _, sub := range c.Commands() {
			try(sub, strings.TrimSpace(name+" "+sub.Name()))
		}
		if c.RunE == nil || c.Flags().Lookup("output") == nil || name == "export" { // writes a folder: export.txtar
			return
		}
		lines := slices.DeleteFunc(slices.Clone(special), func(line string) bool { return !strings.HasPrefix(line+" ", name+" ") })
		if len(lines) == 0 {
			if !strings.Contains(c.Use, "INPUT") {
				t.Errorf("%s: no arguments to try it with", name)
				return
			}
			lines = []string{name + " " + session}
		}
		for _, line := range lines {
			args := strings.Fields(line)
			if f := c.Flags().Lookup("policy"); f != nil && name != "check" {
				args = append(args, "--policy", "./team.yaml")
			}
			if c.Flags().Lookup("prices") != nil {
				args = append(args, "--prices", "prices.json")
			}
			if c.Flags().Lookup("agent") != nil && !slices.Contains([]string{"view", "diff"}, name) {
				args = append(args, "--agent", "all")
			}
			w := watch(t, dir)
			code, _, said := ctxkit(append(args, "-o", "out.jsonl")...)
			if code == exitNotDone {
				t.Errorf("%q: %s", args, said)
				continue
			}
			for _, path := range w.take() {
				rel, err := filepath.Rel(dir, path)
				if err != nil || rel == "out.jsonl" {
					continue
				}
				before, err := os.ReadFile(path)
				if err != nil {
					continue // its own unfinished output
				}
				opened++
				if !long() && opened%4 != 0 && name != "replay" && strings.HasPrefix(rel, "p/") && rel != session {
					continue
				}
				code, _, said := ctxkit(append(args, "-o", rel)...)
				after, err := os.ReadFile(path)
				if code != exitNotDone || !strings.Contains(said, ": name another") && !strings.Contains(said, "give the output another name") {
					t.Errorf("%q reads %s, and with -o %s exits %d: %s", args, rel, rel, code, said)
				}
				if !bytes.Equal(before, after) {
					t.Errorf("%q -o %s has replaced it: %v", args, rel, err)
					write(path, string(before))
				}
			}
			if left, _ := filepath.Glob(".*.part"); len(left) > 0 {
				t.Errorf("%q leaves %v", args, left)
			}
		}
	}
	try(newRoot(newSystem(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})), "")
	if opened < 50 {
		t.Errorf("%d files were opened", opened)
	}
}
