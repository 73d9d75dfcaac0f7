package report

import (
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/anonymize"
)

// AnonymizeSchema is the version of the JSON form of what an anonymised session
// still tells.
const AnonymizeSchema = "ctxkit.anonymize/v1"

// Anonymized lists what an anonymised session still tells of its original.
func Anonymized(w io.Writer, r *anonymize.Report, opt Options) error {
	l := &listing{
		table:   &Table{Columns: []Column{{Title: "what stays"}, {Title: "as it was", Flex: true}}},
		columns: []string{"what", "value", "count"},
		json: struct {
			Schema string `json:"schema"`
			*anonymize.Report
		}{AnonymizeSchema, r},
	}
	add := func(what, value string, n int) {
		l.rows = append(l.rows, []string{what, value, strconv.Itoa(n)})
	}
	for _, m := range r.Models {
		add("model", m, 1)
	}
	for _, v := range r.Versions {
		add("client version", v, 1)
	}
	times := ""
	if !r.First.IsZero() {
		times = r.First.UTC().Format(time.RFC3339) + " to " + r.Last.UTC().Format(time.RFC3339)
		add("times", times, 1)
	}
	words := make([]string, 0, len(r.Kept))
	for word := range r.Kept {
		words = append(words, word)
	}
	sort.Slice(words, func(i, j int) bool {
		if a, b := r.Kept[words[i]], r.Kept[words[j]]; a != b {
			return a > b
		}
		return words[i] < words[j]
	})
	for _, word := range words {
		add("word", word, r.Kept[word])
	}
	for _, s := range r.Survived {
		add("survived", s.Word, s.Line)
	}
	l.table.Row("models", strings.Join(r.Models, ", "))
	l.table.Row("client versions", strings.Join(r.Versions, ", "))
	l.table.Row("times", times)
	l.table.Row("the format's words", wordList(words))
	l.table.Row("and always", "the number and order of lines, lengths and tokens of texts, recorded usage, numbers outside texts, punctuation, emoji, words of one or two letters, and that two words are the same")
	for _, s := range r.Survived {
		l.table.styled(red, "survived", s.Place.String()+": "+s.Word)
	}
	l.notes = append(l.notes, fmt.Sprintf("%s, %s with a stand-in", count(r.Lines, "record"), count(r.Words, "word")))
	return l.print(w, opt)
}

// wordList is the first words of a list.
func wordList(words []string) string {
	const most = 40
	if len(words) <= most {
		return strings.Join(words, " ")
	}
	return fmt.Sprintf("%s and %d more: csv and json hold them", strings.Join(words[:most], " "), len(words)-most)
}
