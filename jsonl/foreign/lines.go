package foreign

import (
	"io"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Lines calls each with every object of a file of JSON lines, as a unit of its own. Other lines are units that are set
// aside, malformed ones with a warning. The entry is valid until each returns; its Raw is the object.
func (w *Writer) Lines(in io.Reader, each func(u Unit, e *jsonl.Entry)) error {
	r := jsonl.NewReader(in, "", jsonl.ReadOptions{MaxLine: int(w.Limits.Filled().Line)})
	for r.Scan() && w.Err() == nil {
		item := r.Item()
		u := w.Unit(item.Line)
		switch item.Kind {
		case jsonl.ItemError:
			w.Aside(u, "malformed")
			w.Warn(item.Err.Line, "malformed-line", "column %d: %s: line set aside", item.Err.Col, item.Err.Msg)
		case jsonl.ItemComment:
			w.Aside(u, "comment")
		case jsonl.ItemBlank:
			w.Aside(u, "blank")
		default:
			each(u, item.Entry)
		}
	}
	return r.Err()
}
