package report

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/ctxkit/ctxkit/replay/diff"
)

// viewJSON prints a view as a request body; scrollback with its marks.
func viewJSON(w io.Writer, v *View) error {
	body, err := v.Body.Append(nil)
	if err != nil {
		return err
	}
	if v.As == "scrollback" {
		marks, err := json.Marshal(append([]diff.Mark{}, v.Marks...))
		if err != nil {
			return err
		}
		body = append(bytes.TrimSuffix(body, []byte("\n}\n")), ",\n\"marks\":"...)
		body = append(append(body, marks...), "\n}\n"...)
	}
	_, err = w.Write(escapeJSON(body))
	return err
}

// editsText is the server's edits as they are sent.
func editsText(edits []any) string {
	js, err := json.Marshal(edits)
	if err != nil {
		return err.Error()
	}
	return string(js)
}
