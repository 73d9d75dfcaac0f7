package cline

import (
	"encoding/json"
	"fmt"

	"github.com/ctxkit/ctxkit/policy"
)

// fileRead is what a call of a reading tool asked for.
type fileRead struct {
	path     string
	from, to int // lines; 0: from the first, to the last
}

// whole reports whether the call asked for the whole file.
func (r *fileRead) whole() bool { return r.from == 0 && r.to == 0 }

// key names the file, or the lines of it.
func (r *fileRead) key() string {
	switch {
	case r.whole():
		return r.path
	case r.to == 0:
		return fmt.Sprintf("%s:%d-EOF", r.path, r.from)
	}
	return fmt.Sprintf("%s:%d-%d", r.path, max(r.from, 1), r.to)
}

// readOf is what the call behind a result asked for; the path is empty where the call is not in the conversation or
// names no file.
func readOf(c *policy.Context, r *policy.Result) (*fileRead, error) {
	m, b, ok := c.Conv.ToolUse(r.ID)
	if !ok {
		return &fileRead{}, nil
	}
	call := policy.Target{Item: policy.ItemID(m), Block: b}
	return policy.Digest(c.Digests, "cline read", call, func() (*fileRead, int, error) {
		text, err := c.Texts.Recorded(call)
		if err != nil {
			return nil, 0, fmt.Errorf("reading a tool's input: %w", err)
		}
		var in struct {
			FilePath      string `json:"file_path"`
			Path          string
			Offset, Limit json.Number
		}
		if json.Unmarshal([]byte(c.Conv.AlikeInput(c.Conv.ToolName(r.ID), text)), &in) != nil {
			return &fileRead{}, 0, nil
		}
		if in.Path == "" {
			in.Path = in.FilePath
		}
		from, limit := number(in.Offset), number(in.Limit)
		read := &fileRead{path: in.Path, from: from}
		if limit > 0 {
			read.to = max(from, 1) + limit - 1
		}
		return read, len(in.Path), nil
	})
}

// number is a whole number of 1 or more, else 0.
func number(n json.Number) int {
	v, err := n.Int64()
	if err != nil || v < 1 || v > 1<<31 {
		return 0
	}
	return int(v)
}
