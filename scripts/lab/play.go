package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ctxkit/ctxkit/scripts/lab/mock"
)

const settle = 1200 * time.Millisecond

// recording is one client that plays one scenario.
type recording struct {
	ctx      context.Context
	client   *client
	scenario *scenario
	version  string
	limit    time.Duration // after which a client counts as hanging
	out      string        // folder of session files and requests.ndjson
	folder   string        // of the client's home, removed afterwards
	home     string
	work     string
	path     string // PATH of the client
	bin      string
	port     int
	session  string
	server   *mock.Server
	problems []string
}

// play plays a scenario and returns what went wrong: a client that hangs, dies, asks for an unknown path or writes no
// session. Only where nothing could be started is it an error.
func play(ctx context.Context, c *client, version string, s *scenario, out string, whole bool, limit time.Duration) ([]string, error) {
	r := &recording{ctx: ctx, client: c, scenario: s, version: version, limit: limit, out: out, bin: clientBin(c, version)}
	folder, err := os.MkdirTemp("", "ctxkit-lab-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	// Ids of a run have the same length in every run, and so has what the client says of its folder.
	r.folder = folder
	r.home = filepath.Join(folder, strings.Repeat("h", max(1, 40-len(folder))))
	r.work = filepath.Join(r.home, "shop")
	r.path = clientPath() + string(os.PathListSeparator) + os.Getenv("PATH")
	if err := os.RemoveAll(out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(out, "requests.ndjson"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	r.server = &mock.Server{Log: log, Whole: whole, Limit: s.limit}
	stop, err := r.server.Start(0)
	if err != nil {
		return nil, err
	}
	defer stop()
	if r.port, err = freePort(); err != nil {
		return nil, err
	}
	for name, steps := range s.scripts {
		r.server.Script(name, r.expand(c.translate(steps)))
	}
	if err := r.project(); err != nil {
		return nil, err
	}
	if len(s.typed) > 0 {
		err = r.inTerminal()
	} else {
		err = r.inTurns()
	}
	if err != nil {
		r.problems = append(r.problems, err.Error())
	}
	if err := r.collect(); err != nil {
		r.problems = append(r.problems, err.Error())
	}
	for _, asked := range r.server.Unknown() {
		if !slices.ContainsFunc(c.ignored, func(known string) bool { return strings.HasPrefix(asked, known) }) {
			r.problems = append(r.problems, "asks for an unknown path: "+asked)
		}
	}
	for _, problem := range r.server.Problems() {
		r.problems = append(r.problems, "mock: "+problem)
	}
	if len(r.problems) > 0 {
		return r.problems, nil
	}
	// Only a recording that is complete has this file.
	about := fmt.Sprintf("%s\n%s %s\n", s.about, c.label, version)
	return nil, os.WriteFile(filepath.Join(out, "scenario.txt"), []byte(about), 0o644)
}

var scriptPart = regexp.MustCompile(`^([a-z]+) (.+)$`)

// translate replaces the calls of a scenario by those of the client's tools. A call that the client has no tool for is
// left out, a step without any part too.
func (c *client) translate(steps string) string {
	var out []string
	for step := range strings.SplitSeq(steps, "||") {
		var parts []string
		for part := range strings.SplitSeq(step, "&&") {
			part = strings.TrimSpace(part)
			m := scriptPart.FindStringSubmatch(part)
			if m != nil && !strings.HasPrefix(m[2], "{") && slices.Contains(operations, m[1]) {
				tool, ok := c.tools[m[1]]
				if !ok {
					continue
				}
				argument, _ := json.Marshal(m[2])
				part = strings.ReplaceAll(tool, "{}", string(argument[1:len(argument)-1]))
			}
			parts = append(parts, part)
		}
		if len(parts) > 0 {
			out = append(out, strings.Join(parts, " && "))
		}
	}
	return strings.Join(out, " || ")
}

// operations are the words of scenarios that client.tools translates.
var operations = []string{"read", "sh", "agent", "background", "write", "edit"}

// expand replaces the $ names of client in a text.
func (r *recording) expand(text string) string {
	window := r.client.window
	if r.scenario.window > 0 {
		window = r.scenario.window
	}
	model := r.client.model
	if r.scenario.model != "" {
		model = r.scenario.model
	}
	self, _ := os.Executable()
	return strings.NewReplacer(
		"$URL", r.server.URL(), "$WORK", r.work, "$HOME", r.home, "$WINDOW", fmt.Sprint(window), "$LIMIT", fmt.Sprint(window*3/4),
		"$MODEL", model, "$PORT", fmt.Sprint(r.port), "$SESSION", r.session, "$LAB", self,
	).Replace(text)
}

func (r *recording) expandAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = r.expand(t)
	}
	return out
}

// project writes the home and the project: three long files and rules, under git.
func (r *recording) project() error {
	files := map[string]string{"$WORK/CLAUDE.md": "# Project rules\nAlways be terse.\n", "$WORK/AGENTS.md": "# Project rules\nAlways be terse.\n"}
	for _, name := range []string{"a", "b", "c"} {
		var text strings.Builder
		for i := 1; i <= 270; i++ {
			fmt.Fprintf(&text, "%s line %d: the quick brown fox reads file number %d of the shop and writes down what it sees\n", name, i, i)
		}
		files["$WORK/"+name+".txt"] = text.String()
	}
	for name, text := range r.client.files {
		files["$HOME/"+name] = text
	}
	for name, text := range r.scenario.files {
		if !strings.HasPrefix(name, "$") {
			name = "$HOME/" + name
		}
		files[name] = text
	}
	for name, text := range files {
		if !strings.HasSuffix(name, ".png") && (strings.HasPrefix(name, "$HOME") || r.scenario.files[name] != "") {
			text = r.expand(text)
		}
		name = r.expand(name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main", "."}, {"add", "-A"}, {"-c", "user.name=dev", "-c", "user.email=dev@example.com", "commit", "-qm", "start"}} {
		git := exec.Command("git", args...)
		git.Dir, git.Env = r.work, r.environment()
		if out, err := git.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// environment is the client's: nothing of the user's own but PATH.
func (r *recording) environment() []string {
	env := []string{"PATH=" + r.path, "HOME=" + r.home, "TERM=xterm-256color", "LANG=C.UTF-8", "TZ=UTC", "SHELL=/bin/bash"}
	return append(append(env, r.expandAll(r.client.env)...), r.expandAll(r.scenario.env)...)
}

// command runs a program in the project, in a process group of its own that is killed after the limit, or after the
// program has ended.
func (r *recording) command(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(r.ctx, r.limit)
	defer cancel()
	cmd := r.group(ctx, name, args...)
	// Files, not pipes: some clients exit before a pipe has taken all they write.
	output, err := os.Create(filepath.Join(r.folder, "output"))
	if err != nil {
		return "", err
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	if slices.Equal(args, r.expandAll(r.client.list)) || slices.Equal(args, r.expandAll(r.client.export)) {
		cmd.Stderr = nil // they print JSON on standard output
	}
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	text, readErr := os.ReadFile(output.Name())
	out := string(text)
	switch {
	case r.ctx.Err() != nil:
		return out, errors.New("stopped")
	case ctx.Err() != nil:
		return out, fmt.Errorf("hangs: killed after %s: %s", r.limit, tail(out))
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return out, fmt.Errorf("dies: %w: %s", err, tail(out))
	}
	return out, readErr
}

// group prepares a program in a process group of its own, which is killed with the context.
func (r *recording) group(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = r.work, r.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second // children may hold the output open
	return cmd
}

// tail is the last line of an output, cut.
func tail(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := lines[len(lines)-1]
	return last[:min(len(last), 300)]
}

// inTurns plays turns, each as a run of the client.
func (r *recording) inTurns() error {
	c := r.client
	serving := r.scenario.serve && len(c.serve) > 0
	if serving {
		ctx, cancel := context.WithCancel(r.ctx)
		server := r.group(ctx, r.bin, r.expandAll(c.serve)...)
		if err := server.Start(); err != nil {
			cancel()
			return err
		}
		defer func() {
			cancel()
			_ = server.Wait()
		}()
		if err := r.awaitPort(); err != nil {
			return err
		}
	}
	begun := false
	for i, t := range r.scenario.turns {
		if t.only != "" && t.only != c.name {
			continue
		}
		for _, ch := range t.before {
			if err := r.change(ch); err != nil {
				return err
			}
		}
		args := c.first
		if begun && !t.fresh {
			if err := r.findSession(); err != nil {
				return err
			}
			args = c.next
		}
		if t.replaces != nil {
			args = t.replaces
		}
		if len(c.common) > 0 {
			args = slices.Concat(c.common, t.args, args)
		} else { // the first argument is a command
			attach := c.attach
			if !serving {
				attach = nil
			}
			args = slices.Concat(args[:1], attach, t.args, args[1:])
		}
		args = r.expandAll(args)
		for j := range args {
			args[j] = strings.ReplaceAll(args[j], "$PROMPT", t.prompt)
		}
		before, _ := r.server.Requests()
		_, err := r.command(r.bin, args...)
		after, _ := r.server.Requests()
		switch {
		case err != nil && strings.HasPrefix(err.Error(), "hangs"):
			return fmt.Errorf("turn %d: %w", i+1, err)
		case err != nil && after == before:
			return fmt.Errorf("turn %d: %w", i+1, err)
		case err != nil: // errors and refusals of the model end some clients with a failure
			fmt.Fprintf(os.Stderr, "lab: note: turn %d: %v\n", i+1, err)
		case after == before:
			return fmt.Errorf("turn %d: asks the model nothing", i+1)
		}
		begun = true
	}
	return nil
}

// awaitPort waits until the client's server listens.
func (r *recording) awaitPort() error {
	for end := time.Now().Add(r.limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", r.port))
		if err == nil {
			return connection.Close()
		}
	}
	return fmt.Errorf("hangs: its server does not listen after %s", r.limit)
}

var (
	fileID  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	labelID = regexp.MustCompile(`ses_\w+`)
)

// findSession finds the id of the session that a turn goes on with.
func (r *recording) findSession() error {
	if r.session != "" {
		return nil
	}
	if len(r.client.list) > 0 {
		out, err := r.command(r.bin, r.client.list...)
		if err != nil {
			return err
		}
		r.session = labelID.FindString(out)
	} else if files := r.sessionFiles(); len(files) > 0 {
		r.session = fileID.FindString(filepath.Base(files[0]))
	}
	return nil
}

func (r *recording) sessionFiles() []string {
	var files []string
	for _, pattern := range r.client.session {
		found, _ := filepath.Glob(filepath.Join(r.home, pattern))
		files = append(files, found...)
	}
	return files
}

var isoTime = regexp.MustCompile(`"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"`)

// change changes a file of the project, or the times of the session.
func (r *recording) change(c change) error {
	if c.back != "" {
		by, err := time.ParseDuration(c.back)
		if err != nil {
			return err
		}
		for _, file := range r.sessionFiles() {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			text = isoTime.ReplaceAllFunc(text, func(quoted []byte) []byte {
				t, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(quoted))
				if err != nil {
					return quoted
				}
				return []byte(t.Add(-by).Format(`"2006-01-02T15:04:05.000Z"`))
			})
			if err := os.WriteFile(file, text, 0o600); err != nil {
				return err
			}
		}
		return nil
	}
	name := filepath.Join(r.work, c.file)
	switch {
	case c.from != "":
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(name, bytes.Replace(text, []byte(c.from), []byte(c.to), 1), 0o644)
	case c.to != "":
		return os.WriteFile(name, []byte(c.to), 0o644)
	}
	return os.Remove(name)
}

// collect copies session files, and the folders beside them that have their names, into the output folder.
func (r *recording) collect() error {
	if len(r.client.export) > 0 {
		if err := r.findSession(); err != nil {
			return err
		}
		if r.session == "" {
			return errors.New("writes no session")
		}
		for _, id := range r.allSessions() {
			r.session = id
			text, err := r.command(r.bin, r.expandAll(r.client.export)...)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(r.out, id+".json"), []byte(text), 0o644); err != nil {
				return err
			}
		}
		return nil
	}
	files := r.sessionFiles()
	if len(files) == 0 {
		return errors.New("writes no session")
	}
	for _, file := range files {
		if err := copyFile(file, filepath.Join(r.out, filepath.Base(file))); err != nil {
			return err
		}
		folder := strings.TrimSuffix(file, filepath.Ext(file))
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			if err := os.CopyFS(filepath.Join(r.out, filepath.Base(folder)), os.DirFS(folder)); err != nil {
				return err
			}
		}
	}
	return nil
}

// allSessions lists the ids of all sessions that the client lists.
func (r *recording) allSessions() []string {
	out, err := r.command(r.bin, r.client.list...)
	if err != nil {
		return []string{r.session}
	}
	ids := labelID.FindAllString(out, -1)
	slices.Sort(ids)
	return slices.Compact(ids)
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
