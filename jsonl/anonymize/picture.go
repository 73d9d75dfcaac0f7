package anonymize

import (
	"bytes"
	"encoding/base64"
	"io"
)

// maxPictureHead is how much of an image is searched for its size, in bytes.
const maxPictureHead = 256 << 10

// pictureHead is the start of an image's data, as base64, with the image's size and nothing else of it; "" where the
// data is no image that starts with its size. The size stays, since it decides the tokens of an image.
func pictureHead(data []byte) string {
	decoder := base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data[:min(len(data), 4*maxPictureHead/3)]))
	head, _ := io.ReadAll(decoder) // the bytes before an error are enough
	n := 0                         // bytes, a multiple of 3
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		n = 24
	case bytes.HasPrefix(head, []byte("GIF8")):
		n = 12
	case bytes.HasPrefix(head, []byte("RIFF")):
		n = 30
	case bytes.HasPrefix(head, []byte("\xff\xd8")):
		head = jpegFrame(head)
		n = 12
	}
	if n == 0 || len(head) < n || len(data) < 2*n {
		return ""
	}
	return base64.StdEncoding.EncodeToString(head[:n])
}

// jpegFrame is the start of a JPEG without the segments before its frame header, such as a thumbnail, which shows the
// picture.
func jpegFrame(b []byte) []byte {
	for i := 2; i+9 <= len(b) && b[i] == 0xff; {
		marker := b[i+1]
		switch {
		case marker == 0xff:
			i++
			continue
		case marker == 0x01 || marker >= 0xd0 && marker <= 0xd8:
			i += 2
			continue
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			return append(append([]byte{0xff, 0xd8, 0xff}, b[i:i+9]...), 0)
		}
		i += 2 + int(b[i+2])<<8 + int(b[i+3])
	}
	return nil
}

// picture rewrites the data of an image but for its size.
func (w *writer) picture(body []byte) bool {
	head := pictureHead(body)
	if head == "" {
		return false
	}
	if w.names == nil { // the same letters may be in the rest of the data
		w.keep(head)
	}
	w.dst = append(w.dst, head...)
	w.plain(body[len(head):], place{})
	return true
}
