package synth

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
)

// texts.txt holds the words and texts of the simulated people and code base.
//
//go:embed texts.txt
var textFile string

// texts are the sections of texts.txt, each without the newline at its end.
var texts = sync.OnceValue(func() map[string]string {
	list := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\[(\w+)\]\n((?:[^\[\n].*\n|\n)*)`).FindAllStringSubmatch(textFile, -1) {
		list[m[1]] = strings.TrimSuffix(m[2], "\n")
	}
	return list
})

// The words of the code base: acts and things are verbs and nouns in lower case.
var (
	verbs    = section("verbs", strings.Fields)
	nouns    = section("nouns", strings.Fields)
	acts     = section("verbs", lowerFields)
	things   = section("nouns", lowerFields)
	packages = section("packages", strings.Fields)
	remarks  = section("remarks", lines)
	twists   = []string{"", "", "", "Once", "WithRetry", "ByRegion", "InWindow", "Partial", "Locked", "Strict", "Async", "Legacy"}
)

// section returns a function that splits a section of texts.txt, once.
func section(name string, split func(string) []string) func() []string {
	return sync.OnceValue(func() []string { return split(texts()[name]) })
}

func lines(s string) []string { return strings.Split(s, "\n") }

func lowerFields(s string) []string { return strings.Fields(strings.ToLower(s)) }

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// pickLine draws a line of a section.
func pickLine(r *rand.Rand, section string) string {
	return pick(r, lines(texts()[section]))
}

// pickWord draws a word of a section.
func pickWord(r *rand.Rand, section string) string { return pick(r, strings.Fields(texts()[section])) }

// function draws the name of a function.
func function(r *rand.Rand) string { return pick(r, verbs()) + pick(r, nouns()) + pick(r, twists) }

// writer draws the texts of the user and the agent.
type writer struct {
	r   *rand.Rand
	p   *project
	cjk float64
}

// foreign draws whether a text is in Chinese, Japanese or Korean.
func (w *writer) foreign() bool { return w.cjk > 0 && w.r.Float64() < w.cjk }

func (w *writer) prompt() string {
	f, name := w.p.named()
	if w.foreign() {
		return fmt.Sprintf(pickLine(w.r, "cjkPrompts"), f.path, name)
	}
	noun := pick(w.r, things())
	verb := pick(w.r, acts())
	return fmt.Sprintf(pickLine(w.r, "prompts"), f.path, name, noun, verb)
}

func (w *writer) sentence() string {
	f, name := w.p.named()
	if w.foreign() {
		return pickLine(w.r, "cjkNotes")
	}
	_, other := w.p.named()
	return fmt.Sprintf(pickLine(w.r, "sentences"), f.path, name, other, pick(w.r, things()))
}

func (w *writer) sentences(n int) string {
	s := make([]string, n)
	for i := range s {
		s[i] = w.sentence()
	}
	return strings.Join(s, " ")
}

// aside is a text before a tool call.
func (w *writer) aside() string {
	_, name := w.p.named()
	return fmt.Sprintf(pickLine(w.r, "asides"), name)
}

func (w *writer) thinking() string { return w.sentences(2 + w.r.IntN(6)) }

// answer ends a turn.
func (w *writer) answer() string {
	var b strings.Builder
	b.WriteString(w.sentences(1 + w.r.IntN(2)))
	if w.r.IntN(3) > 0 {
		b.WriteString("\n\nWhat changed:\n")
		for range 2 + w.r.IntN(3) {
			f, _ := w.p.named()
			fmt.Fprintf(&b, "- `%s`: %s\n", f.path, w.sentence())
		}
	}
	if w.r.IntN(4) == 0 {
		b.WriteString("\nAll tests pass. Shall I go on with the remaining callers?")
	}
	return strings.TrimRight(b.String(), "\n")
}
