package tokens_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// TestImageCost has the sizes Anthropic's documentation works out, and some.
func TestImageCost(t *testing.T) {
	must.Rows(t, `
# w | h | standard | large
200        | 200  | 64   | 64
1000       | 1000 | 1296 | 1296
1092       | 1092 | 1521 | 1521
1920       | 1080 | 1560 | 2691
2000       | 1500 | 1564 | 3888
3840       | 2160 | 1560 | 4784
1075       | 1520 | 1551 | 2145
1520       | 1075 | 1551 | 2145
1          | 1    | 1    | 1
28         | 29   | 2    | 2
1568       | 784  | 1568 | 1568
8000       | 8    | 56   | 92
1073741824 | 1    | 56   | 92
`, func(w, h, standard, large int) {
		if s, l := tokens.ImageCost(w, h, false), tokens.ImageCost(w, h, true); s != standard || l != large {
			t.Errorf("%d x %d: %d and %d tokens, want %d and %d", w, h, s, l, standard, large)
		}
	})
}

func picture(w, h int) image.Image {
	m := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black, color.White})
	for i := range m.Pix {
		m.Pix[i] = uint8(i % 2)
	}
	return m
}

// imageFiles are files of 37 by 21 pixels in every form.
func imageFiles(t testing.TB) map[string][]byte {
	m := picture(37, 21)
	files := map[string][]byte{
		"webp lossy":    []byte("RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x25\x00\x15\x00"),
		"webp lossless": []byte("RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f\x24\x00\x05\x00\x00\x00\x00\x00\x00"),
		"webp extended": []byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x24\x00\x00\x14\x00\x00"),
	}
	for name, encode := range map[string]func(*bytes.Buffer) error{
		"png":  func(b *bytes.Buffer) error { return png.Encode(b, m) },
		"jpeg": func(b *bytes.Buffer) error { return jpeg.Encode(b, m, nil) },
		"gif":  func(b *bytes.Buffer) error { return gif.Encode(b, m, nil) },
	} {
		var b bytes.Buffer
		must.Do(t, encode(&b))
		files[name] = b.Bytes()
	}
	return files
}

func TestImageSize(t *testing.T) {
	for name, file := range imageFiles(t) {
		if w, h, ok := tokens.ImageSize(file); w != 37 || h != 21 || !ok {
			t.Errorf("%s: %d x %d, %v, want 37 x 21", name, w, h, ok)
		}
		for n := range min(len(file), 20) {
			if w, h, ok := tokens.ImageSize(file[:n]); ok && (w != 37 || h != 21) {
				t.Errorf("%s: the first %d bytes say %d x %d", name, n, w, h)
			}
		}
	}
	if _, _, ok := tokens.ImageSize([]byte("%PDF-1.7")); ok {
		t.Error("a PDF has a size")
	}
}

func FuzzImageSize(f *testing.F) {
	for _, file := range imageFiles(f) {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		w, h, ok := tokens.ImageSize(head)
		if !ok {
			return
		}
		for _, large := range []bool{false, true} {
			if n := tokens.ImageCost(w, h, large); n < 1 || n > 4784 {
				t.Fatalf("%d x %d: %d tokens", w, h, n)
			}
		}
	})
}
