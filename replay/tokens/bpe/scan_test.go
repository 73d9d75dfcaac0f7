package bpe

import (
	"math/bits"
	"slices"
	"strings"
	"testing"
)

// TestScan compares the ends that the scanner finds with those of split: in all short texts of one character of each
// kind, at the start of a text, over the end of each of two blocks, and at the end of a text.
func TestScan(t *testing.T) {
	const length = 4
	one, two := blockText[:blockSize-4], (blockText + blockText)[:2*blockSize-2]
	digits, indented := strings.Repeat("12", blockSize/2-1), "a\n"+strings.Repeat(" ", blockSize-4)
	characters := []string{"a", "A", "7", " ", "\t", "\n", "/", "'", "!", "→", "é", "中", "\u00a0", "s"}
	for _, name := range Names() {
		e := encoding(t, name)
		for number := range pow(len(characters), length) {
			middle := ""
			for range length {
				middle += characters[number%len(characters)]
				number /= len(characters)
			}
			for _, text := range []string{middle, "x" + middle + ".", one + middle + "b", two + middle + "b", digits + middle + "b", indented + middle + "b"} {
				got, want := scanned(e, []byte(text)), splits(e, []byte(text))
				if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
					t.Fatalf("%s: %q: the scanner finds the ends %d, split %d", name, text, got, want)
				}
			}
		}
	}
}

// TestScanRandom is TestScan of random texts.
func TestScanRandom(t *testing.T) {
	g := newTexts(7)
	for _, name := range Names() {
		e, found, all := encoding(t, name), 0, 0
		for range 20_000 {
			text := []byte(strings.ToValidUTF8(g.next(), "\ufffd"))
			got, want := scanned(e, text), splits(e, text)
			if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
				t.Fatalf("%s: %q: the scanner finds the ends %d, split %d", name, text, got, want)
			}
			found, all = found+len(got), all+len(want)
		}
		if found*10 < all {
			t.Errorf("%s: the scanner finds %d of %d ends", name, found, all)
		}
	}
}

// TestScanWhole checks that the scanner stops in no text of usual ASCII but at its end.
func TestScanWhole(t *testing.T) {
	e := encoding(t, O200K)
	text := []byte("func main() {\n\tif x := 10; x > 1234 {\n\t\treturn \"→ Größe\" // http://a/b\n\t}\n}\n\n  the end")
	got, want := scanned(e, text), splits(e, text)
	if !slices.Equal(got, want[:len(want)-1]) {
		t.Errorf("the ends %d, split %d", got, want)
	}
}

const blockText = "It was the best of times, it was the worst of times, and so on for a while"

func pow(n, by int) int {
	p := 1
	for range by {
		p *= n
	}
	return p
}

// scanned are the ends that the scanner finds in a text, up to where it stops.
func scanned(e *Encoding, text []byte) (found []int) {
	m, base := uint32(0), 0
	for m < uint32(stopped)<<rowBits {
		ends, to, moved := e.block(text, base, m)
		for ; ends != 0; ends &= ends - 1 {
			found = append(found, base-1+bits.TrailingZeros64(ends))
		}
		base, m = base+moved, to
	}
	if m == uint32(stoppedInLine)<<rowBits {
		found = found[:len(found)-1]
	}
	return found
}

func splits(e *Encoding, text []byte) (ends []int) {
	for at := 0; at < len(text); {
		at, _ = e.split(&e.classes, text, at)
		ends = append(ends, at)
	}
	return ends
}
