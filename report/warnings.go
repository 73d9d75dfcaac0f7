package report

import (
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// fewWarnings are listed one by one; more are counted by kind.
const fewWarnings = 10

// mostKinds is how many kinds of warnings are distinguished; no transcript can make more.
const mostKinds = 100

// WarningKinds counts warnings by kind and keeps the first of each.
type WarningKinds struct {
	all   int
	some  []session.Warning // the first of all
	kinds []*warningKind    // in the order of their first warnings
	by    map[string]*warningKind
}

// warningKind is the warnings of one kind.
type warningKind struct {
	n     int
	first session.Warning
	files map[string]bool
}

// particular is what differs between warnings of one kind: numbers, quoted texts, names of files and models.
var particular = pattern.New(`"(?:[^"\\\\]|\\\\.)*"|\S*[\d/]\S*`)

// Add counts warnings, one that is of no file once.
func (k *WarningKinds) Add(list ...session.Warning) {
	for _, w := range list {
		if w.File == "" && slices.Contains(k.some, w) {
			continue
		}
		n := max(w.More, 1)
		if k.all += n; k.all <= fewWarnings {
			k.some = append(k.some, w)
		}
		name := string(w.Code)
		if name == "" {
			name = particular().ReplaceAllString(w.Message, "#")
		}
		kind := k.by[name]
		switch {
		case kind == nil && len(k.kinds) < mostKinds:
			kind = &warningKind{first: w, files: map[string]bool{}}
			k.kinds = append(k.kinds, kind)
			if k.by == nil {
				k.by = map[string]*warningKind{}
			}
			k.by[name] = kind
		case kind == nil:
			kind = k.kinds[mostKinds-1]
		}
		kind.n += n
		if w.File != "" {
			kind.files[w.File] = true
		}
	}
}

// Lines has a line for each warning, or where there are many for each kind: its only one, or how many there are and the
// first of them. hidden is how many warnings no line shows, text how one is written.
func (k *WarningKinds) Lines(text func(w session.Warning) string) (lines []string, hidden int) {
	if k.all <= fewWarnings {
		for _, w := range k.some {
			lines = append(lines, text(w))
		}
		return lines, 0
	}
	for _, kind := range k.kinds {
		line := text(kind.first)
		if kind.n > 1 {
			line = fmt.Sprintf("%s%s, the first: %s", count(kind.n, "warning"), phraseIf(len(kind.files) > 1, " in %v", count(len(kind.files), "file")), line)
		}
		lines = append(lines, line)
	}
	return lines, k.all - len(k.kinds)
}
