package session

import (
	"bytes"

	"github.com/ctxkit/ctxkit/jsonl"
)

// files are the names of files that calls of Read name, each once. A file of lines may name any number of them; of more
// than these, and of longer names, it is not known which call reads which.
type files struct {
	list []string
	at   map[string]uint16 // number, from 1; while a file is loaded
}

// readTool is Claude Code's tool that reads a file.
const readTool = "Read"

const (
	mostFiles    = 4096
	mostFileName = 512 // bytes
)

// number is the number of a file, 0 for one too many.
func (f *files) number(name []byte) uint16 {
	if len(name) > mostFileName {
		return 0
	}
	n, ok := f.at[string(name)]
	if !ok && len(f.list) < mostFiles {
		if f.at == nil {
			f.at = map[string]uint16{}
		}
		f.list = append(f.list, string(name))
		n = uint16(len(f.list))
		f.at[f.list[n-1]] = n
	}
	return n
}

// fileRead is the number of the file that a call of Read names, 0 where it is not known.
func (ld *loader) fileRead(e *jsonl.Entry, bl *jsonl.ContentBlock) uint16 {
	at := bl.Value.Off - e.Offset
	if at < 0 || at+int64(bl.Value.Len) > int64(len(e.Raw)) {
		return 0
	}
	name := plainRead(e.Raw[at : at+int64(bl.Value.Len)])
	if len(name) == 0 {
		return 0
	}
	return ld.files.number(name)
}

// plainRead is the file of an input of Read as Claude Code writes it, a path of ASCII without escapes and two numbers at
// most; nil for any other input.
func plainRead(raw []byte) []byte {
	rest, ok := bytes.CutPrefix(raw, []byte(`{"file_path":"`))
	if !ok {
		return nil
	}
	n := 0
	for n < len(rest) && rest[n] != '"' {
		if c := rest[n]; c < ' ' || c > '~' || c == '\\' {
			return nil
		}
		n++
	}
	name, rest := rest[:n], rest[min(n+1, len(rest)):]
	for _, member := range []string{`,"offset":`, `,"limit":`} {
		if after, ok := bytes.CutPrefix(rest, []byte(member)); ok {
			rest = bytes.TrimLeft(after, "0123456789")
		}
	}
	if string(rest) != "}" {
		return nil
	}
	return name
}

// ReadFile is the file that a call of Read names, where that is known without a look at its input; else empty. The block
// has to be one of this conversation.
func (conv *Conversation) ReadFile(bl *Block) string {
	if bl.Kind != jsonl.KindToolUse || bl.file == 0 || conv.files == nil || int(bl.file) > len(conv.files.list) {
		return ""
	}
	return conv.files.list[bl.file-1]
}
