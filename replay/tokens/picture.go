package tokens

import (
	"bytes"
	"encoding/base64"
	"io"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// unknownImage is the weight of an image or document of unknown size, tokens: an image as large as older models see
// has 1,568.
const unknownImage = 1500

// pictures reads the sizes of a conversation's images, each once, from the start of the image.
type pictures struct {
	conv  *session.Conversation
	large bool // see ImageCost
	known map[jsonl.Span]float64
}

// maxHead is the length of the start of an image that is searched for its size, in bytes: more than everything that
// can precede it in a JPEG.
const maxHead = 256 << 10

// headLengths are the bytes of a block to read for the size: enough for all formats but JPEG, and then enough for a
// JPEG.
var headLengths = [...]int{4 << 10, 4 * maxHead / 3}

// tokens returns the weight of the image or document block at a span of a file.
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

// imageData returns the start of an image, from the start of its block's JSON.
func imageData(block []byte) []byte {
	_, rest, _ := bytes.Cut(block, []byte(`"data"`))
	rest = bytes.TrimLeft(rest, " \t\r\n:")
	if len(rest) == 0 || rest[0] != '"' {
		return nil
	}
	rest, _, _ = bytes.Cut(rest[1:min(len(rest), 4*maxHead/3)], []byte(`"`))
	data, _ := io.ReadAll(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(rest))) // the data before an error is enough
	return data
}
