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
)

// Offload is a file the client wrote a large tool result to, leaving a stub
// with a preview in the session. Only its lengths are kept.
type Offload struct {
	Path string // of the file
	Text jsonl.Metrics
}

// OffloadCount counts the stubs of a conversation.
type OffloadCount struct {
	Read    int // the file is there
	Missing int // it is not
	Refused int // it is not read: no plain file inside the folder, or no name of one
}

// stubHead opens the text that stands in for an offloaded result, and stubPath
// comes before the path of its file.
const (
	stubHead = "<persisted-output>"
	stubPath = "saved to: "
	maxStub  = 64 << 10 // bytes; a longer text only quotes a stub
)

// offloads is where a conversation's offloaded results stand, or another
// folder of its own.
type offloads struct {
	trusted string // a folder that may be a link, or lie behind one
	inside  string // the way from there, that may not lead out
}

// offloadsOf is where the results of a session file stand: in the folder given,
// or beside the file in a folder of the session's name. A subagent's stand with
// its session's. A session without a file has none.
func offloadsOf(file, folder string) offloads {
	if folder != "" {
		return offloads{trusted: folder, inside: "."}
	}
	if file == "" {
		return offloads{}
	}
	if dir, _ := filepath.Split(filepath.Clean(file)); filepath.Base(dir) == "subagents" {
		return offloads{trusted: filepath.Join(dir, ".."), inside: toolResultsName}
	}
	return ownFolder(file, toolResultsName)
}

// ownFolder is a folder in the one a session keeps beside its file, under its
// name; nowhere for a stream or a file that has no session's name.
func ownFolder(file, folder string) offloads {
	dir, base := filepath.Split(filepath.Clean(file))
	name, _, cut := strings.Cut(base, ".jsonl")
	if !cut {
		return offloads{}
	}
	return offloads{trusted: filepath.Join(dir, "."), inside: filepath.Join(name, folder)}
}

// open opens the folder; an error that is fs.ErrNotExist where there is none.
func (o offloads) open() (*os.Root, error) {
	if o.trusted == "" {
		return nil, fs.ErrNotExist
	}
	root, err := os.OpenRoot(o.trusted)
	if err != nil || o.inside == "." {
		return root, err
	}
	defer root.Close()
	inner, err := root.OpenRoot(o.inside)
	return inner, plainly(err)
}

// readOffloads finds and measures the files of a conversation's stubs.
func (conv *Conversation) readOffloads(where offloads) {
	conv.offloads = where
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
				continue // it quotes a stub, or cannot be read: that is told elsewhere
			}
			if !opened {
				opened = true
				if root, openErr = where.open(); root != nil {
					defer root.Close()
				}
			}
			name, length, err := findOffload(root, openErr, bl.ID, text)
			switch {
			case err == nil:
				bl.Offload = &Offload{Path: filepath.Join(where.trusted, where.inside, name), Text: length}
				conv.Offloads.Read++
			case errors.Is(err, fs.ErrNotExist):
				conv.Offloads.Missing++
				conv.warnOffload(bl, CodeOffloadMissing, "the file of an offloaded result is missing: its preview is what is known of it")
			default:
				conv.Offloads.Refused++
				conv.warnOffload(bl, CodeOffloadRefused, fmt.Sprintf("an offloaded result is not read: %v", err))
			}
		}
	}
}

func (conv *Conversation) warnOffload(bl *Block, code Code, text string) {
	conv.Warnings = append(conv.Warnings, Warning{File: conv.Path, Line: int(bl.Line), Message: fmt.Sprintf("%s (%.80q)", text, bl.ID), Code: code})
}

// errRefused says why a file is not read.
type errRefused string

func (e errRefused) Error() string { return string(e) }

const errLeadsOut errRefused = "it is a link that leads out of the session's folder"

// leadsOut reports whether a root did not open a path because a link leads out
// of it. A root says so by an error of its own, which has no name.
func leadsOut(err error) bool { return err != nil && strings.Contains(err.Error(), "escapes") }

// plainly is the error of a root in plain words.
func plainly(err error) error {
	if leadsOut(err) {
		return errLeadsOut
	}
	return err
}

// findOffload looks for the file of a stub by the call's id, then by the last
// element of the path the stub names: never by the path itself.
func findOffload(root *os.Root, openErr error, id, stub string) (string, jsonl.Metrics, error) {
	if !plainName(id) {
		return "", jsonl.Metrics{}, errRefused("its id is no file name")
	}
	if errors.Is(openErr, fs.ErrNotExist) {
		return "", jsonl.Metrics{}, openErr
	}
	if openErr != nil {
		return "", jsonl.Metrics{}, fmt.Errorf("opening the folder of offloaded results: %w", openErr)
	}
	names := []string{id + ".txt", id + ".json"}
	if name := stubName(stub); plainName(name) {
		names = append(names, name)
	}
	for _, name := range names {
		length, err := measureFile(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return name, length, err
	}
	return "", jsonl.Metrics{}, fs.ErrNotExist
}

// stubName is the file name in a stub, whatever system wrote it.
func stubName(stub string) string {
	_, p, ok := strings.Cut(stub, stubPath)
	if !ok {
		return ""
	}
	p, _, _ = strings.Cut(p, "\n")
	p = strings.TrimSpace(p)
	return p[strings.LastIndexAny(p, `/\`)+1:]
}

// plainName reports whether a name is that of a file in a folder, on every
// system: letters, digits, and - _ . in it, none of them a leading dot.
func plainName(s string) bool {
	if s == "" || len(s) > 200 || s[0] == '.' {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.' {
			return false
		}
	}
	return true
}

// openPlain opens a plain file of a folder: no folder, device or pipe, and
// nothing that a link leads out of the folder to.
func openPlain(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name) // before it is opened: opening a pipe would wait
	if err != nil {
		return nil, plainly(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errRefused("it is no plain file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, plainly(err)
	}
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errRefused("it is no plain file")
	}
	return f, nil
}

func measureFile(root *os.Root, name string) (jsonl.Metrics, error) {
	f, err := openPlain(root, name)
	if err != nil {
		return jsonl.Metrics{}, err
	}
	defer f.Close()
	return measureStream(f)
}

// measureStream is jsonl.Measure of a stream's text, bytes that are no UTF-8
// taken as U+FFFD.
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

// lastRune is where a rune that b only begins starts, else len(b).
func lastRune(b []byte) int {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}

// validText is the text of bytes, each byte that is no UTF-8 a U+FFFD.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

// OffloadText reads an offloaded result back, or returns "" for a block that
// has none.
func (conv *Conversation) OffloadText(message, block int) (string, error) {
	bl := &conv.Messages[message].Blocks[block]
	if bl.Offload == nil {
		return "", nil
	}
	root, err := conv.offloads.open()
	if err != nil {
		return "", &jsonl.FileError{Path: conv.Path, Line: int(bl.Line), Err: fmt.Errorf("reading an offloaded result: %w", err)}
	}
	defer root.Close()
	f, err := openPlain(root, filepath.Base(bl.Offload.Path))
	if err != nil {
		return "", &jsonl.FileError{Path: conv.Path, Line: int(bl.Line), Err: fmt.Errorf("reading an offloaded result: %w", err)}
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return "", &jsonl.FileError{Path: conv.Path, Line: int(bl.Line), Err: fmt.Errorf("reading an offloaded result: %w", err)}
	}
	return validText(data), nil
}
