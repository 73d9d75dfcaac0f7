package report

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/ctxkit/ctxkit/replay/diff"
)

// viewJSON prints a view as a request body, the scrollback with its marks.
func viewJSON(w io.Writer, v *NamedView) error {
	body, err := v.Body.Append(nil)
	if err != nil {
		return err
	}
	if v.As == "scrollback" {
		marks, err := json.Marshal(placed(v))
		if err != nil {
			return err
		}
		body = append(bytes.TrimSuffix(body, []byte("\n}\n")), ",\n\"marks\":"...)
		body = append(append(body, marks...), "\n}\n"...)
	}
	_, err = w.Write(escapeJSON(body))
	return err
}

// placedMark is a mark with its place in the body: before block Block of message Message. At the end of the body
// Message is the number of messages.
type placedMark struct {
	Message int `json:"message"`
	Block   int `json:"block"`
	diff.Mark
}

func placed(v *NamedView) []placedMark {
	list := []placedMark{}
	message, block := 0, 0
	for _, m := range v.Marks {
		for ; message < len(v.Body.Messages); message, block = message+1, 0 {
			blocks := v.Body.Messages[message].Blocks
			for block < len(blocks) && int(blocks[block].Source.Item) < m.Before {
				block++
			}
			if block < len(blocks) {
				break
			}
		}
		list = append(list, placedMark{message, block, m})
	}
	return list
}

// editsText returns the server's edits as JSON, "" if there are none.
func editsText(edits []any) string {
	js, err := json.Marshal(edits)
	if err != nil {
		return err.Error()
	}
	return either(len(edits) > 0, string(js), "")
}
