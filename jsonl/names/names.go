// Package names finds the names in a text: identifiers, paths and ids, never words of a natural language. Two texts
// that share a name are likely related.
package names

import (
	"path"
	"strings"
)

// Min and Max bound the length of a name, in bytes: a shorter one may occur by chance, a longer one is data.
const (
	Min = 10
	Max = 256
)

// Hash is FNV-1a, 64 bits.
func Hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// Each yields the names of a text in order, repetitions included; of a path, the whole and its last element. A name
// consists of letters, digits and _ . / - $ @. It has a letter, and a digit, an underscore, a slash, a dot or a
// capital after a small letter.
func Each(text string, yield func(name string)) {
	for i := 0; i < len(text); {
		if !nameByte[text[i]] {
			i++
			continue
		}
		from := i
		for i < len(text) && nameByte[text[i]] {
			i++
		}
		w := Trim(text[from:i])
		if len(w) < Min || len(w) > Max {
			continue
		}
		if distinctive(w) {
			yield(w)
		}
		if strings.IndexByte(w, '/') >= 0 {
			if base := path.Base(w); len(base) >= Min && distinctive(base) {
				yield(base)
			}
		}
	}
}

// Trim removes the characters that a name neither begins nor ends with.
func Trim(w string) string { return strings.Trim(w, "./-$@") }

var nameByte = func() (t [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-$@") {
		t[c] = true
	}
	return t
}()

// distinctive reports whether w can be a name and not a word, by the rule of Each.
func distinctive(w string) bool {
	letter := false
	mark := false
	for i := 0; i < len(w); i++ {
		c := w[i]
		switch {
		case c >= 'a' && c <= 'z':
			letter = true
		case c >= 'A' && c <= 'Z':
			letter = true
			mark = mark || i > 0 && w[i-1] >= 'a' && w[i-1] <= 'z'
		case c >= '0' && c <= '9' || c == '_' || c == '/' || c == '.':
			mark = true
		}
	}
	return letter && mark
}
