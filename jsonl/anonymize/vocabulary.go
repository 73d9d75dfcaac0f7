package anonymize

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/pattern"
)

// format.txt lists the words of Claude Code's sessions that stay, by section; shared.txt those of any agent's.
var (
	//go:embed format.txt
	formatText string
	//go:embed shared.txt
	sharedText string
)

// vocabulary is the words that carry the structure of a format: anything else is replaced.
type vocabulary struct {
	keys     map[string]bool // names of members that stay
	values   map[string]bool // members whose value stays if its words are all in words
	words    map[string]bool
	models   map[string]bool // members that name a model, such as model.id: id within model; of their values and of versions modelWords stay
	versions map[string]bool // members that name a client's version
	times    map[string]bool // members that hold a time
	names    map[string]bool // members that hold an id, a path or another name: it has one substitute everywhere
	toolIn   map[string]bool // members that name a tool
	tools    map[string]bool
	anywhere map[string]bool // members of values that stay also in what a tool was given or gave
	nested   map[string]bool // members whose string is JSON of a tool's input
	free     map[string]bool // members with what a tool was given or gave: words of the format mean nothing there
	numbers  map[string]bool // members whose number stays there
	kept     map[string]bool // parts of names that stay
	byModel  map[string]bool // members that are dictionaries by model

	markers     []string // phrases that readers and policies recognise, in the order in which they are tried
	markerBytes [256]bool
	before      map[string]bool // those that an id or a path follows

	document bool // a file is one text, not lines
}

// newVocabulary reads the vocabulary of a form, of Claude Code's for nil.
func newVocabulary(form *foreign.Form) *vocabulary {
	text := formatText
	if form != nil {
		text = form.Words
	}
	own := sections(text)
	shared := sections(sharedText)
	both := func(name string) map[string]bool { return jsonl.Set(own[name] + " " + shared[name]) }
	v := &vocabulary{
		keys: both("keys"), values: both("values"), words: both("words"), models: both("models"), versions: both("versions"), times: both("times"), names: both("names"),
		toolIn: both("toolIn"), tools: both("tools"), nested: both("nested"), anywhere: both("anywhere"), free: both("free"), numbers: both("numbers"), kept: both("kept"),
		byModel: both("byModel"), before: map[string]bool{}, document: own["document"] != "",
	}
	if form != nil {
		for name := range form.Tools {
			v.tools[name] = true
		}
	}
	before := own["before"] + shared["before"]
	for _, m := range quoted().FindAllStringSubmatch(before+own["markers"]+shared["markers"], -1) {
		v.before[m[1]] = strings.Contains(before, m[0])
		v.markers = append(v.markers, m[1])
	}
	slices.SortStableFunc(v.markers, func(a, b string) int { return len(b) - len(a) })
	for _, m := range v.markers {
		v.markerBytes[m[0]] = true
	}
	return v
}

var (
	heading = pattern.New(`(?m)^\[(\w+)\].*\n((?:[^\[\n].*\n|\n)*)`)
	quoted  = pattern.New(`"(.+?)"`)
)

// sections reads lines of words under headings such as "[keys] what they are".
func sections(text string) map[string]string {
	list := map[string]string{}
	for _, m := range heading().FindAllStringSubmatch(text, -1) {
		list[m[1]] += m[2]
	}
	return list
}

// markerAt is the marker that s[i:] begins with, "" for none. The letters of one are no part of a word before them.
func (v *vocabulary) markerAt(s string, i int) string {
	if !v.markerBytes[s[i]] || i > 0 && isLetter(s[i]) && isLetter(s[i-1]) {
		return ""
	}
	for _, m := range v.markers {
		if strings.HasPrefix(s[i:], m) {
			return m
		}
	}
	return ""
}

// Names of the folders and files next to a session.
var (
	folders = jsonl.Set(`tool-results subagents session-memory workflows`)
	files   = jsonl.Set(`summary.md`)
)

// ends are the suffixes of such files that name their kind.
var ends = []string{".meta.json"}

// safe are the letter runs of everything that may stay, in lower case: any other long word of an anonymised session is
// a substitute.
func (v *vocabulary) safe() map[string]bool {
	safe := map[string]bool{}
	add := func(s string) {
		letterRuns(s, func(run string) { safe[strings.ToLower(run)] = true })
	}
	for _, m := range []map[string]bool{v.keys, v.tools, v.kept, v.words, folders, files} {
		for w := range m {
			add(w)
		}
	}
	for _, m := range v.markers {
		add(m)
	}
	return safe
}

// SafeWords are the words that may stay in sessions of a form, Claude Code's for nil, in lower case.
func SafeWords(form *foreign.Form) map[string]bool { return newVocabulary(form).safe() }

// stays reports whether a string is a word of the format.
func (v *vocabulary) stays(s string, at place) bool {
	switch {
	case len(s) > 64:
		return false
	case at.free:
		return v.anywhere[at.key] && v.wordsOnly(s, wordDigits)
	case v.times[at.key]:
		return isoTime().MatchString(s)
	case v.models[at.key], v.versions[at.key]:
		return v.wordsOnly(s, versionDigits) || v.versions[at.key] && plainVersion().MatchString(s)
	case v.toolIn[at.key] && v.tools[s]:
		return true
	}
	return v.values[at.key] && v.wordsOnly(s, wordDigits)
}

// A version without a word, and what no word of the format has once its dates are gone: an address, a long number, or one
// in groups as of a telephone.
var (
	plainVersion = pattern.New(`^\d{1,4}(\.\d{1,4}){0,2}$`)
	date         = pattern.New(`(^|[^0-9A-Za-z])20\d\d-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])($|[^0-9A-Za-z])`)
	identifying  = pattern.New(`\d\.\d+\.\d+\.\d|\d{5}|(\d[-. ]?){8}|\d{3}[-. ]\d{4}`)
)

var isoTime = pattern.New(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// The digits that a word of the format may have, and the name of a model or a version.
const (
	wordDigits    = 4
	versionDigits = 12
)

// wordsOnly reports whether a value has words and all belong to the format, with a limited number of digits.
func (v *vocabulary) wordsOnly(s string, most int) bool {
	ok := !identifying().MatchString(date().ReplaceAllString(s, "${1}date$4"))
	words, digits := 0, 0
	letterRuns(s, func(run string) {
		words++
		if v.words[strings.ToLower(run)] {
			return
		}
		humps(run, func(h string) { ok = ok && v.words[strings.ToLower(h)] })
	})
	for _, c := range []byte(s) {
		if isDigit(c) {
			digits++
		}
		ok = ok && (isLetter(c) || isDigit(c) || strings.IndexByte("_-.:/[]<>@+ ", c) >= 0)
	}
	return ok && words > 0 && digits <= most
}
