package regret

import (
	"path"
	"strings"
)

// What counts as a quotation. A word is a stretch of letters, digits and
// _ . / - $ @ that looks like an identifier, a path or an id, never like a word
// of a natural language; a line counts as one word. What was quoted is told by
// the total length of the distinct words two texts share, so that one long name
// or two short ones are enough and a chance meeting is not.
const (
	minWord    = 10  // bytes: shorter names occur by chance
	maxWord    = 256 // bytes: longer ones are data
	minLine    = 32  // bytes, white space around it left out
	maxLine    = 400
	minQuoted  = 16 // bytes of distinct words shared with one block
	maxHolders = 3  // a word in more blocks than that is common property
	maxWords   = 16 // words kept of one quotation
)

// hash is FNV-1a, 64 bits.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// words yields the distinctive words of a text: names, paths (whole, and their
// last element by itself) and lines. A word may come more than once.
func words(text string, yield func(word string)) {
	for len(text) > 0 {
		line := text
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = ""
		}
		lineWords(line, yield)
		if l := bareLine(line); len(l) >= minLine && len(l) <= maxLine && strings.IndexByte(l, ' ') >= 0 {
			yield(l)
		}
	}
}

// bareLine is a line without the white space around it and without the number
// that a file's reader or a search puts before it.
func bareLine(line string) string {
	l := strings.TrimSpace(line)
	digits := 0
	for digits < len(l) && l[digits] >= '0' && l[digits] <= '9' {
		digits++
	}
	if digits > 0 {
		for _, sep := range []string{"→", "\t", ":", "-"} {
			if rest, ok := strings.CutPrefix(l[digits:], sep); ok {
				return strings.TrimSpace(rest)
			}
		}
	}
	return l
}

func lineWords(line string, yield func(word string)) {
	for i := 0; i < len(line); {
		if !wordByte[line[i]] {
			i++
			continue
		}
		from := i
		for i < len(line) && wordByte[line[i]] {
			i++
		}
		w := strings.Trim(line[from:i], "./-$@")
		if len(w) < minWord || len(w) > maxWord {
			continue
		}
		if distinctive(w) {
			yield(w)
		}
		if strings.IndexByte(w, '/') >= 0 {
			if base := path.Base(w); len(base) >= minWord && distinctive(base) {
				yield(base)
			}
		}
	}
}

var wordByte = func() (t [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-$@") {
		t[c] = true
	}
	return t
}()

// distinctive tells names from words: a letter, and beside it a digit, an
// underscore, a slash, a dot or a capital after a small letter.
func distinctive(w string) bool {
	letter, mark := false, false
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
