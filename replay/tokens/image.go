package tokens

import (
	"encoding/binary"
	"math"
)

// patch is the edge of the square of an image that is one token, pixels.
const patch = 28

// imageLimits limit an image as a model sees it; a larger one is scaled down first. Source: Anthropic's vision
// documentation, "Calculate image costs".
type imageLimits struct {
	edge   int // longest edge, pixels, padded to whole patches
	tokens int
}

var (
	standardImages = imageLimits{1568, 1568}
	largeImages    = imageLimits{2576, 4784} // models from the 4.7 generation on
)

func (l imageLimits) fit(w, h int) (tokens int, ok bool) {
	across := (w + patch - 1) / patch
	down := (h + patch - 1) / patch
	return across * down, across*patch <= l.edge && down*patch <= l.edge && across*down <= l.tokens
}

// ImageCost returns the tokens of an image of w by h pixels: one for each full or partial patch of 28 by 28 pixels,
// after scaling down to the largest size of its shape that fits the model. Models of the 4.7 generation or later see
// large images.
func ImageCost(w, h int, large bool) int {
	l := standardImages
	if large {
		l = largeImages
	}
	long := max(w, h)
	short := max(min(w, h), 1)
	if n, ok := l.fit(long, short); ok {
		return n
	}
	scaled := func(edge int) int {
		return max(int(math.RoundToEven(float64(edge)*float64(short)/float64(long))), 1)
	}
	fits := 1
	not := long
	for not-fits > 1 {
		mid := fits + (not-fits)/2
		if _, ok := l.fit(mid, scaled(mid)); ok {
			fits = mid
		} else {
			not = mid
		}
	}
	n, _ := l.fit(fits, scaled(fits))
	return n
}

// ImageSize reads the size of an image, in pixels, from the start of its file: PNG, JPEG, GIF or WebP. ok is false if
// the start does not contain it.
func ImageSize(head []byte) (w, h int, ok bool) {
	switch {
	case at(head, 0, "\x89PNG\r\n\x1a\n") && at(head, 12, "IHDR") && len(head) >= 24:
		w = int(binary.BigEndian.Uint32(head[16:]))
		h = int(binary.BigEndian.Uint32(head[20:]))
	case (at(head, 0, "GIF87a") || at(head, 0, "GIF89a")) && len(head) >= 10:
		w = int(binary.LittleEndian.Uint16(head[6:]))
		h = int(binary.LittleEndian.Uint16(head[8:]))
	case at(head, 0, "\xff\xd8"):
		w, h = jpegSize(head)
	case at(head, 0, "RIFF") && at(head, 8, "WEBP"):
		w, h = webpSize(head)
	}
	return w, h, w > 0 && h > 0 && w <= math.MaxInt32 && h <= math.MaxInt32
}

// at reports whether b has s at index i.
func at(b []byte, i int, s string) bool { return len(b) >= i+len(s) && string(b[i:i+len(s)]) == s }

// jpegSize reads the segments up to the frame header.
func jpegSize(b []byte) (w, h int) {
	for i := 2; i+4 <= len(b) && b[i] == 0xff; {
		marker := b[i+1]
		switch {
		case marker == 0xff: // a fill byte
			i++
			continue
		case marker == 0x01 || marker >= 0xd0 && marker <= 0xd8: // no length follows
			i += 2
			continue
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			if i+9 > len(b) {
				return 0, 0
			}
			return int(binary.BigEndian.Uint16(b[i+7:])), int(binary.BigEndian.Uint16(b[i+5:]))
		}
		i += 2 + int(binary.BigEndian.Uint16(b[i+2:]))
	}
	return 0, 0
}

// webpSize reads the first chunk of the three forms WebP has.
func webpSize(b []byte) (w, h int) {
	if len(b) < 30 {
		return 0, 0
	}
	switch string(b[12:16]) {
	case "VP8 ": // lossy: 14 bits each behind the start code
		if bits := binary.LittleEndian.Uint32(b[26:]); at(b, 23, "\x9d\x01\x2a") {
			return int(bits & 0x3fff), int(bits >> 16 & 0x3fff)
		}
	case "VP8L": // lossless: 14 bits each, less one
		if b[20] == 0x2f {
			bits := binary.LittleEndian.Uint32(b[21:])
			return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
		}
	case "VP8X": // extended: 24 bits each, less one
		return 1 + (int(b[24]) | int(b[25])<<8 | int(b[26])<<16), 1 + (int(b[27]) | int(b[28])<<8 | int(b[29])<<16)
	}
	return 0, 0
}
