package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/anonymize"
)

// AnonymizeSchema is the version of the JSON form of what an anonymised session reveals.
const AnonymizeSchema = "ctxkit.anonymize/v1"

// Anonymized lists what an anonymised session reveals of its original.
func Anonymized(w io.Writer, r *anonymize.Disclosure, opt Layout) error {
	t := newTable(titles("what stays"), []column{{Title: "as it was", Flex: true}}, keys("what value count"))
	text := func(st style, name, value string) { t.add(st, name, value).noCSV = true }
	add := func(what, value string, n int) { t.add(none, nil, nil, what, value, n).noTab = true }
	for _, m := range r.Models {
		add("model", m, 1)
	}
	for _, v := range r.Versions {
		add("client version", v, 1)
	}
	times := ""
	if !r.First.IsZero() {
		times = timeText(r.First, time.RFC3339) + " to " + timeText(r.Last, time.RFC3339)
		add("times", times, 1)
	}
	words := byCount(r.Kept)
	for _, word := range words {
		add("word", word, r.Kept[word])
	}
	for _, s := range r.Survived {
		add("survived", s.Word, s.Line)
	}
	text(none, "models", strings.Join(r.Models, ", "))
	text(none, "client versions", strings.Join(r.Versions, ", "))
	text(none, "times", times)
	text(none, "the format's words", wordList(words))
	text(none, "and always", "the number and order of lines, lengths and tokens of texts, recorded usage, numbers outside texts, punctuation, emoji, words of one or two letters, and that two words are the same")
	for _, s := range r.Survived {
		text(red, "survived", s.String()+": "+s.Word)
	}
	return listing(t, struct {
		Schema string `json:"schema"`
		*anonymize.Disclosure
	}{AnonymizeSchema, r}, fmt.Sprintf("%s, %s replaced", count(r.Lines, "record"), count(r.Words, "word"))).print(w, opt)
}

// wordList joins the first words of a list.
func wordList(words []string) string {
	shown := words[:min(len(words), 40)]
	hidden := len(words) - len(shown)
	return strings.Join(shown, " ") + phraseIf(hidden > 0, " and %v more: json and csv contain them", hidden)
}
