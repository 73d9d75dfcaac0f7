package session

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/ctxkit/ctxkit/jsonl"
)

// MemoryFile is the summary that a client maintains during a session, in session-memory/summary.md beside the
// session's file. Its text is read on demand (Conversation.MemoryText).
type MemoryFile struct {
	Path string // of the file
	Text jsonl.Metrics
}

const (
	memoryName = "session-memory"
	memoryFile = "summary.md"
	maxMemory  = 1 << 20 // bytes; clients write a few thousand
)

// readMemory finds and measures a session's summary file. It warns of one that is not a regular file in the session's
// own folder, or too long.
func (conv *Conversation) readMemory(where offloads) {
	conv.memory = where
	text, err := conv.memoryText()
	switch {
	case err == nil:
		conv.Memory = &MemoryFile{Path: filepath.Join(where.trusted, where.inside, memoryFile), Text: jsonl.Measure(text)}
	case !errors.Is(err, fs.ErrNotExist):
		conv.Warnings = append(conv.Warnings, Warning{File: conv.Path, Message: fmt.Sprintf("the session's own summary is not read: %v", err)})
	}
}

// MemoryText is the text of the session's own summary file, "" without one.
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
	data, err := conv.memory.readFile(memoryFile, maxMemory+1)
	if err != nil {
		return "", err
	}
	if len(data) > maxMemory {
		return "", errRefused(fmt.Sprintf("it is longer than %d bytes", maxMemory))
	}
	return validText(data), nil
}
