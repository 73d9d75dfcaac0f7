package jsonl

import "strconv"

// FileError is an error that names its file, and the line where there is one.
type FileError struct {
	Path string
	Line int // 0: none
	Err  error
}

func (e *FileError) Error() string {
	if e.Line > 0 {
		return e.Path + ":" + strconv.Itoa(e.Line) + ": " + e.Err.Error()
	}
	return e.Path + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *FileError) Unwrap() error { return e.Err }
