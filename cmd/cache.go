package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/memo"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/report"
)

// cacheVariable is the environment variable that names the folder of the cache; cacheOff in it says that there is none.
const (
	cacheVariable = "CTXKIT_CACHE"
	cacheOff      = "off"
)

// noCache is the flag without which what was worked out from unchanged files is kept.
const noCache = "no-cache"

// cacheFolder is the folder of the cache; "" where there is none.
func cacheFolder(sys *system) string {
	if dir := sys.env(cacheVariable); dir != "" {
		if dir == cacheOff {
			return ""
		}
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "ctxkit", "sessions")
}

// kept is where what is worked out from files is kept; nil: nowhere.
func (s *system) kept() *memo.Cache {
	dir := cacheFolder(s)
	if dir == "" || s.uncached {
		return nil
	}
	return memo.NewCache(dir, buildID())
}

// buildID differs between any two builds of the program, with the prices and rules that are built in.
func buildID() string {
	id := buildVersion()
	if path, err := os.Executable(); err == nil {
		if st, err := os.Stat(path); err == nil {
			id += fmt.Sprintf(" %d %d", st.Size(), st.ModTime().UnixNano())
		}
	}
	return fmt.Sprintf("%q", id)
}

// discovered is what a folder holds.
type discovered struct {
	infos    []session.FileInfo
	warnings []session.Warning
	failed   []failedFile
	err      error
}

type failedFile struct {
	path string
	err  error
}

// discover lists the sessions of a folder, whose files it reads in part, once for a command. Those that cannot be read go
// to failed; nil: they are left out.
func discover(sys *system, dir string, failed func(path string, err error)) ([]session.FileInfo, []session.Warning, error) {
	sys.mu.Lock()
	d := sys.discovered[dir]
	sys.mu.Unlock()
	if d == nil {
		d = &discovered{}
		d.infos, d.warnings, d.err = session.DiscoverWith(dir, session.DiscoverOptions{
			Jobs: runtime.GOMAXPROCS(0), Cache: sys.kept(), Read: sys.listed,
			Failed: func(path string, err error) { d.failed = append(d.failed, failedFile{path, err}) },
		})
		for i := range d.infos {
			sys.files.readsSession(roleSession, d.infos[i].Path)
		}
		sys.remember(dir, d)
	}
	for _, f := range d.failed {
		if failed != nil {
			failed(f.path, f.err)
		}
	}
	return slices.Clone(d.infos), d.warnings, d.err
}

// remember keeps for the command what was found in a folder.
func (s *system) remember(dir string, d *discovered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.discovered == nil {
		s.discovered = map[string]*discovered{}
		s.infos = map[string]*session.FileInfo{}
	}
	s.discovered[dir] = d
	for i := range d.infos {
		s.infos[filepath.Clean(d.infos[i].Path)] = &d.infos[i]
	}
}

// info is what was found of a session file; nil where its folder was not listed.
func (s *system) info(path string) *session.FileInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.infos[filepath.Clean(path)]
}

// subagents lists the transcripts of the subagents of a session file, and what is wrong with them where the listing of
// its folder has not said it.
func (s *system) subagents(path string) ([]session.Subagent, []session.Warning, error) {
	if info := s.info(path); info != nil {
		return info.Subagents, nil, nil
	}
	return session.Subagents(path)
}

func newCache(sys *system) *cobra.Command {
	cmd := &cobra.Command{
		Use: "cache", Short: "Show or empty the cache of what was worked out from session files",
		Long: `Of each session file that was listed, the cache keeps its row: title, first
prompt, times, and the figures of ctxkit sessions. Of each input of ctxkit
compare it keeps what --format rows writes, by policy: the next comparison reads
only sessions that changed, or that it has not yet seen under a policy.

A row is used as long as the file's size, time of change, beginning and end are
the same, the files next to it have the same names, modes, sizes and times, the
policies say the same, the options too, and by the build of ctxkit that wrote
it. All else is worked out again, also where the cache is damaged or cannot be
written. Output is the same to the byte. Standard input, sessions that are trees
of files or have links next to them, and policies that start a program are never
kept; what was not written or used for 30 days is removed, and from 1 GiB or
200,000 files on what was used longest ago.

The cache is in the user's cache folder; CTXKIT_CACHE names another, and
CTXKIT_CACHE=off keeps nothing, as --no-cache does. ctxkit check uses none.`,
	}
	group(cmd)
	cmd.AddCommand(
		command(&cobra.Command{Use: "info", Short: "Say where the cache is and how large", Args: noArguments}, func() error { return runCache(sys, false) }),
		command(&cobra.Command{Use: "clear", Short: "Remove what is in the cache", Args: noArguments}, func() error { return runCache(sys, true) }),
	)
	return cmd
}

// runCache says what the cache holds, or held before it is emptied.
func runCache(sys *system, clear bool) error {
	dir := cacheFolder(sys)
	if dir == "" {
		_, err := fmt.Fprintln(sys.out, "there is no cache: "+cacheVariable+" is "+cacheOff+", or there is no user's cache folder")
		return err
	}
	kept := memo.NewCache(dir, "")
	info, err := kept.Info()
	if err != nil {
		return pathError(dir, err)
	}
	done := ""
	if clear {
		if err := kept.Clear(); err != nil {
			return writeError(dir, err)
		}
		done = " removed"
	}
	_, err = fmt.Fprintf(sys.out, "%s: %d files, %d bytes%s\n", report.Clean(dir), info.Files, info.Bytes, done)
	return err
}
