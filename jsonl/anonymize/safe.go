package anonymize

import (
	_ "embed"
	"regexp"
	"strings"
)

// format.txt lists the words that stay, by section.
//
//go:embed format.txt
var formatText string

var (
	format      = sections(formatText)
	keys        = format["keys"]
	plainValues = format["plainValues"]
	vocabulary  = format["vocabulary"]
	statuses    = format["statuses"]
	tools       = format["tools"]
	kept        = format["kept"]
)

// sections reads lines of words under headings such as "[keys] what they are".
func sections(text string) map[string]map[string]bool {
	list := map[string]map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\[(\w+)\].*\n((?:[^\[\n].*\n|\n)*)`).FindAllStringSubmatch(text, -1) {
		list[m[1]] = set(m[2])
	}
	return list
}

// markers are phrases of the client that readers and policies recognise, in the order in which they are tried. They
// are never replaced.
var markers = func() (list []string) {
	_, section, _ := strings.Cut(formatText, "\n[markers]")
	for _, m := range regexp.MustCompile(`"(.+?)"`).FindAllStringSubmatch(section, -1) {
		list = append(list, m[1])
	}
	return list
}()

// markerBytes are the bytes a marker begins with.
var markerBytes = func() (t [256]bool) {
	for _, m := range markers {
		t[m[0]] = true
	}
	return t
}()

// Names of the folders and files beside a session.
var (
	folders = set(`tool-results subagents session-memory workflows`)
	files   = set(`summary.md`)
)

// ends are the suffixes of such files that name their kind.
var ends = []string{".meta.json"}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// SafeWords are the letter runs of everything that may stay, in lower case: any other word of an anonymised session
// is a substitute.
func SafeWords() map[string]bool {
	safe := map[string]bool{}
	add := func(s string) {
		letterRuns(s, func(run string) { safe[strings.ToLower(run)] = true })
	}
	for _, m := range []map[string]bool{keys, tools, kept, statuses, vocabulary, folders, files} {
		for w := range m {
			add(w)
		}
	}
	for _, m := range markers {
		add(m)
	}
	return safe
}
