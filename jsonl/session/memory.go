package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Memory is the summary that a client keeps of a session while it goes on, in
// session-memory/summary.md beside the session's file. The text is fetched
// when somebody asks (Conversation.MemoryText).
type Memory struct {
	Path string // of the file
	Text jsonl.Metrics
}

const (
	memoryName = "session-memory"
	memoryFile = "summary.md"
	maxMemory  = 1 << 20 // bytes; a client's own is some thousand
)

// readMemory finds and measures a session's summary file. What is no plain
// file in the session's own folder, or too long for one, is warned of and not
// read.
func (conv *Conversation) readMemory(where offloads) {
	conv.memory = where
	text, err := conv.memoryText()
	switch {
	case err == nil:
		conv.Memory = &Memory{Path: filepath.Join(where.trusted, where.inside, memoryFile), Text: jsonl.Measure(text)}
	case !errors.Is(err, fs.ErrNotExist):
		conv.Warnings = append(conv.Warnings, Warning{File: conv.Path, Message: fmt.Sprintf("the session's own summary is not read: %v", err)})
	}
}

// MemoryText is the text of the session's own summary file, or "" where it has
// none.
func (conv *Conversation) MemoryText() (string, error) {
	if conv.Memory == nil {
		return "", nil
	}
	text, err := conv.memoryText()
	if err != nil {
		return "", &jsonl.FileError{Path: conv.Path, Err: fmt.Errorf("reading the session's own summary: %w", err)}
	}
	return text, nil
}

func (conv *Conversation) memoryText() (string, error) {
	root, err := conv.memory.open()
	if err != nil {
		return "", err
	}
	defer root.Close()
	f, err := openPlain(root, memoryFile)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxMemory+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxMemory {
		return "", errRefused(fmt.Sprintf("it is longer than %d bytes", maxMemory))
	}
	return validText(data), nil
}
