package tokens

import (
	"bytes"
	"encoding/base64"
	"io"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// unknownImage is what an image or document counts whose size is not known,
// tokens: an image as large as older models see is 1,568.
const unknownImage = 1500

// pictures reads the sizes of a conversation's images, each once, without
// reading the images: the start of a file says it.
type pictures struct {
	conv  *session.Conversation
	large bool // see ImageCost
	known map[jsonl.Span]float64
}

// headLengths are how much of a block is read for the size, in bytes: enough
// for all formats but JPEG, and for what may stand before a JPEG's.
var headLengths = [...]int{4 << 10, 4 * maxHead / 3}

// tokens is what the image or document block at a span of a file counts.
func (p *pictures) tokens(file int32, at jsonl.Span) float64 {
	if n, ok := p.known[at]; ok {
		return n
	}
	n := float64(unknownImage)
	if int(file) < len(p.conv.Sources) {
		for _, length := range headLengths {
			head, err := p.conv.Sources[file].ReadSpan(jsonl.Span{Off: at.Off, Len: min(at.Len, length)})
			if err != nil {
				break
			}
			if w, h, ok := ImageSize(imageData(head)); ok {
				n = float64(ImageCost(w, h, p.large))
				break
			}
		}
	}
	if p.known == nil {
		p.known = map[jsonl.Span]float64{}
	}
	p.known[at] = n
	return n
}

// imageData is the start of an image, from the start of its block's JSON.
func imageData(block []byte) []byte {
	const key = `"data"`
	i := bytes.Index(block, []byte(key))
	if i < 0 {
		return nil
	}
	rest := bytes.TrimLeft(block[i+len(key):], " \t\r\n:")
	if len(rest) == 0 || rest[0] != '"' {
		return nil
	}
	rest = rest[1:]
	if end := bytes.IndexByte(rest, '"'); end >= 0 {
		rest = rest[:end]
	}
	data, _ := io.ReadAll(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(rest))) // what comes before an error is enough
	return data
}
