package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/pattern"
)

// Offload is the file with the full text of a large tool result. The session file has only a stub with a preview. Of
// the text, only the lengths are kept in memory.
type Offload struct {
	Path string        // path of the file
	Text jsonl.Metrics // lengths of the full text
}

// OffloadCount counts the stubs of offloaded results.
type OffloadCount struct {
	Read    int // number of stubs whose files were read
	Missing int // number of stubs whose files do not exist
	Refused int // number of stubs whose files are not read: the name is not valid, or there is no regular file with this name in the folder of offloaded results
}

// Parts of a stub: its start, and the text before the path of its file.
const (
	stubHead = "<persisted-output>"
	stubPath = "saved to: "
	maxStub  = 64 << 10 // bytes; a longer text only quotes a stub
)

// offloads is the folder of offloaded results, or another one of the conversation.
type offloads struct {
	trusted string // a folder that may be a link, or below one
	inside  string // the path below it, which may not leave it
}

// offloadsOf is the folder of a session's results: the one given, or one next to the file with the session's name. A
// subagent shares its session's. A session without a file has none.
func offloadsOf(file, folder string) offloads {
	if folder != "" {
		return offloads{trusted: folder, inside: "."}
	}
	if file == "" {
		return offloads{}
	}
	if own, ok := ofSubagent(file); ok {
		return offloads{trusted: own, inside: toolResultsName}
	}
	return ownFolder(file, toolResultsName)
}

// ownFolder is a subfolder of the session's own folder next to its file; none for a stream or a file without a
// session's name.
func ownFolder(file, folder string) offloads {
	dir, base := filepath.Split(filepath.Clean(file))
	name, _, cut := strings.Cut(base, ".jsonl")
	if !cut {
		return offloads{}
	}
	return offloads{trusted: filepath.Join(dir, "."), inside: filepath.Join(name, folder)}
}

// open opens the folder. Its error is fs.ErrNotExist where there is none.
func (o offloads) open() (*os.Root, error) {
	if o.trusted == "" {
		return nil, fs.ErrNotExist
	}
	root, err := os.OpenRoot(o.trusted)
	if err != nil || o.inside == "." {
		return root, err
	}
	defer root.Close()
	if st, err := root.Stat(o.inside); err != nil {
		return nil, plainly(err)
	} else if !st.IsDir() { // opening a pipe would wait for its writer
		return nil, errRefused("it is no folder")
	}
	inner, err := root.OpenRoot(o.inside)
	return inner, plainly(err)
}

// readOffloads finds and measures the files of a conversation's stubs.
func (conv *Conversation) readOffloads(where offloads, limits jsonl.InputLimits, ns *notes) {
	conv.offloads = where
	left := limits.Offloads
	var root *os.Root
	var openErr error
	opened := false
	for m := range conv.Messages {
		for b := range conv.Messages[m].Blocks {
			bl := &conv.Messages[m].Blocks[b]
			if bl.Kind != jsonl.KindToolResult || !bl.Persisted || bl.Text.Bytes > maxStub {
				continue
			}
			text, err := conv.Text(m, b)
			if err != nil || !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), stubHead) {
				continue // it quotes a stub, or cannot be read, which is reported elsewhere
			}
			if !opened {
				opened = true
				if root, openErr = where.open(); root != nil {
					defer root.Close()
				}
			}
			name, length, err := findOffload(root, openErr, bl.ID, text, limits, &left)
			switch {
			case err == nil:
				bl.Offload = &Offload{Path: filepath.Join(where.trusted, where.inside, name), Text: length}
				conv.Offloads.Read++
			case errors.Is(err, fs.ErrNotExist):
				conv.Offloads.Missing++
				ns.add(&conv.Warnings, CodeOffloadMissing, bl.Line, "the file that holds this long tool result is missing: its preview is used (%.80q)", bl.ID)
			default:
				conv.Offloads.Refused++
				ns.add(&conv.Warnings, CodeOffloadRefused, bl.Line, "an offloaded result is not read: %v (%.80q)", err, bl.ID)
			}
		}
	}
}

// errRefused is the reason why a file is not read.
type errRefused string

func (e errRefused) Error() string { return string(e) }

const errLeadsOut errRefused = "it is a link to a place outside the session's folder"

// leadsOut reports whether a root refused a path because a link leaves it. The error of os.Root for that is not
// exported.
func leadsOut(err error) bool { return err != nil && strings.Contains(err.Error(), "escapes") }

// plainly replaces the error of a root for a link that leaves it.
func plainly(err error) error {
	if leadsOut(err) {
		return errLeadsOut
	}
	return err
}

// findOffload looks for the file of a stub by the call's id, then by the last element of the path the stub names:
// never by the path itself. Its size is taken from what is left for the files of a conversation.
func findOffload(root *os.Root, openErr error, id, stub string, limits jsonl.InputLimits, left *int64) (name string, length jsonl.Metrics, err error) {
	switch {
	case !plainName(id):
		return "", length, errRefused("its id is not a file name")
	case errors.Is(openErr, fs.ErrNotExist):
		return "", length, openErr
	case openErr != nil:
		return "", length, fmt.Errorf("opening the folder of offloaded results: %w", openErr)
	}
	names := []string{id + ".txt", id + ".json"}
	if name := stubName(stub); plainName(name) {
		names = append(names, name)
	}
	for _, name = range names {
		if length, err = measureFile(root, name, limits, left); !errors.Is(err, fs.ErrNotExist) {
			return name, length, err
		}
	}
	return "", length, fs.ErrNotExist
}

// stubName is the file name in a stub, of a path of any system.
func stubName(stub string) string {
	_, p, _ := strings.Cut(stub, stubPath)
	p, _, _ = strings.Cut(p, "\n")
	p = strings.TrimSpace(p)
	return p[strings.LastIndexAny(p, `/\`)+1:]
}

// plainName reports whether a name is valid for a file on every system: letters, digits, and - _ . except for a
// leading dot.
func plainName(s string) bool { return len(s) <= 200 && plainNames().MatchString(s) }

var plainNames = pattern.New(`^[A-Za-z0-9_-][A-Za-z0-9_.-]*$`)

// openPlain opens a regular file of a folder, not through a link that leaves it.
func openPlain(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name) // before it is opened: opening a pipe would wait
	var f *os.File
	if err == nil && info.Mode().IsRegular() {
		if f, err = root.Open(name); err == nil {
			if info, err = f.Stat(); err == nil && info.Mode().IsRegular() {
				return f, nil
			}
			f.Close()
		}
	}
	if err != nil {
		return nil, plainly(err)
	}
	return nil, errRefused("it is not a regular file")
}

func measureFile(root *os.Root, name string, limits jsonl.InputLimits, left *int64) (jsonl.Metrics, error) {
	f, err := openPlain(root, name)
	if err != nil {
		return jsonl.Metrics{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return jsonl.Metrics{}, err
	case st.Size() > limits.Offload:
		return jsonl.Metrics{}, &jsonl.LimitError{Name: "offload", Most: limits.Offload}
	case st.Size() > *left:
		return jsonl.Metrics{}, &jsonl.LimitError{Name: "offloads", Most: limits.Offloads}
	}
	*left -= st.Size()
	return measureStream(io.LimitReader(f, st.Size()))
}

// measureStream is jsonl.Measure of a stream, with U+FFFD for each byte that is not UTF-8.
func measureStream(r io.Reader) (jsonl.Metrics, error) {
	sum := jsonl.Metrics{JSON: 2}
	buf := make([]byte, 64<<10)
	n := 0
	for {
		k, err := r.Read(buf[n:])
		n += k
		end := n
		if err == nil {
			end = lastRune(buf[:n])
		}
		m := jsonl.Measure(validText(buf[:end]))
		m.JSON -= 2
		sum = sum.Add(m)
		n = copy(buf, buf[end:n])
		if err == io.EOF {
			return sum, nil
		}
		if err != nil {
			return sum, err
		}
	}
}

// lastRune is the index of an incomplete rune at the end of b, or len(b).
func lastRune(b []byte) int {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) && !utf8.FullRune(b[i:]) {
			return i
		}
	}
	return len(b)
}

// validText is the text of bytes, with U+FFFD for each byte that is not UTF-8.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

// OffloadText reads the full text of an offloaded result from its file. It returns "" for other blocks.
func (conv *Conversation) OffloadText(message, block int) (string, error) {
	bl := &conv.Messages[message].Blocks[block]
	if bl.Offload == nil {
		return "", nil
	}
	data, err := conv.offloads.readFile(filepath.Base(bl.Offload.Path), int64(bl.Offload.Text.Bytes))
	if err != nil {
		return "", &jsonl.FileError{Path: conv.Path, Line: bl.Line, Err: fmt.Errorf("reading an offloaded result: %w", err)}
	}
	return validText(data), nil
}

// readFile reads at most limit bytes of a regular file of the folder.
func (o offloads) readFile(name string, limit int64) ([]byte, error) {
	root, err := o.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readPlain(root, name, limit)
}

// readPlain reads at most limit bytes of a regular file of a folder.
func readPlain(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := openPlain(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
