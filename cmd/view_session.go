package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// runSession writes a view as a session file.
func runSession(sys *system, o *viewOptions) error {
	if o.Format != o.formats[0] {
		return fmt.Errorf("flag --format: a session file has one form: leave out %q", o.Format)
	}
	to := o.outputOptions
	o.File = "" // the file's name can depend on what it holds
	s, err := o.open(sys)
	if err != nil {
		return err
	}
	return s.close(s.goOn(o, &to))
}

// goOn writes the view at a request as a session file, and says how the client resumes it.
func (s *opened) goOn(o *viewOptions, to *outputOptions) error {
	n, tl, err := s.at("--at", o.At)
	if err != nil {
		return err
	}
	conv := s.conv.conv
	v, err := s.conv.rec.ViewAt(s.pol, s.opt, n)
	if err != nil {
		return err
	}
	s.warnOf(tl, n, v)
	at := fmt.Sprintf("before request %d", n)
	if n > len(conv.Requests) {
		at = "at its end"
	}
	opt := wire.SessionFileOptions{
		Policy: s.pol.Name, Request: n, Overhead: tl.OverheadAt(n),
		Title: fmt.Sprintf("%s, under %s %s", cmp.Or(conv.Title, conv.SessionID), s.pol.Name, at),
	}
	if list := s.sys.presets.Releases(session.Product); len(list) > 0 {
		opt.Client = list[len(list)-1].Version
	}
	file, err := wire.Session(v, opt)
	if err != nil {
		return err
	}
	if len(file.Messages) == 0 {
		return fmt.Errorf("%s: there is no message %s: name a later request with --at", conv.Path, at)
	}
	kept, err := to.writeSession(s.sys, file)
	if err != nil {
		return err
	}
	for _, text := range left(file, kept) {
		s.msgs.warn(session.Warning{Message: text})
	}
	if !o.Quiet {
		for _, line := range howToResume(file, to.File) {
			s.msgs.print(line)
		}
	}
	return nil
}

// writeSession writes a session file, and the offloaded results that it refers to. kept reports whether it has these.
func (o *outputOptions) writeSession(sys *system, file *wire.SessionFile) (kept bool, err error) {
	if st, err := os.Stat(o.File); o.File != "" && o.File != "-" && err == nil && st.IsDir() {
		o.File = filepath.Join(o.File, file.ID+".jsonl")
		if _, err := os.Lstat(o.File); !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("%s: exists, and an agent may have gone on in it: remove it, or name a file with -o", o.File)
		}
	}
	out, err := o.create(sys)
	if err != nil {
		return false, err
	}
	stem, named := strings.CutSuffix(o.File, ".jsonl")
	if kept = len(file.Files) > 0 && named && out.atomic != nil; kept {
		if out.atomic.folder, err = newResults(sys, stem, file.Files); err != nil {
			return false, out.close(err)
		}
		defer func() { _ = out.atomic.folder.remove() }()
	}
	for _, line := range file.Lines {
		if _, err = out.Write(append(line, '\n')); err != nil {
			break
		}
	}
	return kept, out.close(err)
}

// newResults is the folder of a session, which is not there yet, with its offloaded results.
func newResults(sys *system, path string, files []wire.ResultFile) (*atomicFolder, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: exists, and the session's offloaded results would be written there: remove it, or name another file with -o", path)
	}
	folder, err := sys.createAtomicFolder(path)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		err := folder.write("tool-results/"+f.Name, func(w io.Writer) error {
			_, err := io.WriteString(w, f.Text)
			return err
		})
		if err != nil {
			return nil, errors.Join(writeError(path, err), folder.remove())
		}
	}
	return folder, nil
}

// left names the parts of the view that the session file holds changed.
func left(file *wire.SessionFile, kept bool) (list []string) {
	add := func(n int, format string) {
		if n > 0 {
			list = append(list, fmt.Sprintf(format, policy.Thousands(n)))
		}
	}
	add(file.StandIns, "texts that the policy would have had written, such as a summary: %s. Their words are not known, and a few in brackets stand for them: write them into the file before the agent goes on")
	add(file.Unsigned, "blocks of thinking by models of other vendors: %s. They are left out, because the API refuses them")
	add(file.Opaque, "blocks that only the agent that recorded them can read: %s. A text stands for each")
	add(file.Renamed, "calls whose ids the API refuses: %s. They have other ids")
	if !kept {
		add(len(file.Files), "offloaded results: %s. Their files are not written: name a file that ends in .jsonl with -o")
	}
	return list
}

// howToResume says what the session file is, and how the client goes on with it.
func howToResume(file *wire.SessionFile, path string) []string {
	lines := []string{fmt.Sprintf("session %s: %s messages, %s tokens without system prompt and tools", file.ID, policy.Thousands(len(file.Messages)), policy.Thousands(file.Tokens))}
	base := file.ID + ".jsonl"
	folder := session.ProjectsFolder + session.FolderOf(file.CWD)
	put := ""
	switch {
	case path == "" || path == "-":
		put = fmt.Sprintf("write it to %s/%s, then ", folder, base)
	case filepath.Base(path) != base:
		put = fmt.Sprintf("copy it to %s/%s", folder, base)
		if len(file.Files) > 0 {
			put += " and the folder next to it to the same name without .jsonl"
		}
		put += ", then "
	case filepath.Base(filepath.Dir(path)) != session.FolderOf(file.CWD):
		put = fmt.Sprintf("copy it to %s, then ", folder)
	}
	in := ""
	if file.CWD != "" {
		in = " in " + file.CWD
	}
	return append(lines, "to go on from it: "+put+"run "+session.ResumeCommand+" "+file.ID+in)
}
