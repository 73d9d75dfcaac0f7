package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// input is one session file, or standard input.
type input struct {
	path string // "-" for standard input
}

// inputs is what the arguments come to.
type inputs struct {
	list    []input
	several bool // several files may have been meant, however many there were
}

// resolve finds the session files that the arguments name: files, "-",
// folders, session ids.
func resolve(sys *system, args []string, warn func(session.Warning)) (inputs, error) {
	var in inputs
	if len(args) == 0 {
		return in, fmt.Errorf("no input: name a session file, a folder, a session id, or - for standard input")
	}
	in.several = len(args) > 1
	stdin := false
	for _, arg := range args {
		if arg == "-" {
			if stdin {
				return in, fmt.Errorf("-: standard input can be read only once: name it once")
			}
			stdin = true
			in.list = append(in.list, input{"-"})
			continue
		}
		st, err := os.Stat(arg)
		switch {
		case err == nil && st.IsDir():
			in.several = true
			found, err := folderInputs(arg, warn)
			if err != nil {
				return in, err
			}
			in.list = append(in.list, found...)
		case err == nil:
			in.list = append(in.list, input{arg})
		case errors.Is(err, fs.ErrNotExist):
			path, err := findSession(sys, arg)
			if err != nil {
				return in, err
			}
			in.list = append(in.list, input{path})
		default:
			return in, pathError(arg, err)
		}
	}
	return in, nil
}

// folderInputs are the sessions of a folder, subagents' files left out.
func folderInputs(dir string, warn func(session.Warning)) ([]input, error) {
	infos, warnings, err := session.Discover(dir)
	if err != nil {
		return nil, pathError(dir, err)
	}
	for _, w := range warnings {
		warn(w)
	}
	var list []input
	for i := range infos {
		switch {
		case infos[i].Path == "":
			warn(session.Warning{File: infos[i].Folder, Message: "session " + infos[i].ID + " is in the index and has no file"})
		case !infos[i].Sidechain:
			list = append(list, input{infos[i].Path})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no session in it: name a project folder, or the folder of projects", dir)
	}
	return list, nil
}

// findSession finds the file of a session id in the default folders.
func findSession(sys *system, arg string) (string, error) {
	if !session.IsID(arg) {
		return "", fmt.Errorf("%s: no such file or folder: check the name", arg)
	}
	var found []string
	exactly := false
	dirs, err := defaultFolders(sys)
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		paths, exact, err := session.Find(dir, arg)
		if err != nil {
			continue // it need not be there
		}
		if exact && !exactly {
			found, exactly = nil, true
		}
		if exact == exactly {
			found = append(found, paths...)
		}
	}
	sort.Strings(found)
	switch {
	case len(found) == 1 && (exactly || len(arg) >= 4):
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%s: %d sessions have that id, or one that begins so: name the file: %s", arg, len(found), strings.Join(found[:min(3, len(found))], ", "))
	}
	return "", fmt.Errorf("%s: no such file or folder, and no session of that id in %s: check the name, or list sessions with `ctxkit sessions`", arg, strings.Join(dirs, ", "))
}

// defaultFolders are where sessions are looked for: the projects folders of
// CLAUDE_CONFIG_DIR (a list with commas), else of ~/.claude.
func defaultFolders(sys *system) ([]string, error) {
	if list := sys.env("CLAUDE_CONFIG_DIR"); list != "" {
		var dirs []string
		for _, d := range strings.Split(list, ",") {
			if d = strings.TrimSpace(d); d != "" {
				dirs = append(dirs, filepath.Join(d, "projects"))
			}
		}
		if len(dirs) > 0 {
			return dirs, nil
		}
	}
	home, err := sys.home()
	if err != nil {
		return nil, fmt.Errorf("no home folder: %w: name a folder, or set CLAUDE_CONFIG_DIR", err)
	}
	return []string{filepath.Join(home, ".claude", "projects")}, nil
}

// bare is an error without the operation and the path, which are said already.
func bare(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// pathError says what is wrong with a file, without the system call's name.
func pathError(path string, err error) error {
	err = bare(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file or folder: check the name", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: no permission to read it: check its mode", path)
	}
	if msg := err.Error(); strings.HasPrefix(msg, path+":") {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// conversations are the parts of one session file that were asked for.
type conversations struct {
	files []*session.File
	list  []agentConversation
}

type agentConversation struct {
	agent string // id, where the conversation does not hold it itself
	input string // what it was read from, or stands beside
	main  bool   // it is the input's main conversation
	conv  *session.Conversation
}

func (c *conversations) close() {
	for _, f := range c.files {
		f.Close()
	}
}

// load reads what --agent asks for of one input.
func (in input) load(stdin io.Reader, o InputOptions, jobs int, warn func(session.Warning)) (*conversations, error) {
	c := &conversations{}
	opt := session.LoadOptions{Jobs: jobs, Leaf: o.Leaf}
	f, err := in.open(stdin, opt)
	if err != nil {
		return nil, err
	}
	c.files = append(c.files, f)
	if o.Agent == "main" {
		c.list = append(c.list, agentConversation{main: true, conv: f.Main})
		return c, nil
	}
	id := strings.TrimPrefix(o.Agent, "agent-")
	wanted := func(agent string) bool { return o.Agent == "all" || agent == id }
	if o.Agent == "all" {
		c.list = append(c.list, agentConversation{main: true, conv: f.Main})
	}
	var known []string
	for _, s := range f.Sidechains {
		known = append(known, s.Agent)
		if wanted(s.Agent) {
			c.list = append(c.list, agentConversation{conv: s})
		}
	}
	if in.path != "-" {
		agents, warnings, err := session.Subagents(in.path)
		if err != nil {
			c.close()
			return nil, pathError(in.path, err)
		}
		for _, w := range warnings {
			warn(w)
		}
		for _, a := range agents {
			known = append(known, a.ID)
			if !wanted(a.ID) {
				continue
			}
			// --leaf names a line of the main conversation.
			sub, err := session.Load(a.Path, session.LoadOptions{Jobs: jobs})
			if err != nil {
				c.close()
				return nil, pathError(a.Path, err)
			}
			c.files = append(c.files, sub)
			for _, conv := range sub.Conversations() {
				c.list = append(c.list, agentConversation{agent: a.ID, conv: conv})
			}
		}
	}
	if len(c.list) == 0 {
		c.close()
		what := "the session has no subagent"
		if len(known) > 0 {
			what = suggestion(id, known, "the session has "+strings.Join(known[:min(5, len(known))], ", "))
		}
		return nil, fmt.Errorf("%s: no subagent %q: %s", in.path, o.Agent, what)
	}
	return c, nil
}

func (in input) open(stdin io.Reader, opt session.LoadOptions) (*session.File, error) {
	if in.path == "-" {
		f, err := session.LoadReader("-", stdin, opt)
		if err != nil {
			return nil, pathError("-", err)
		}
		return f, nil
	}
	f, err := session.Load(in.path, opt)
	if err != nil {
		return nil, pathError(in.path, err)
	}
	return f, nil
}
