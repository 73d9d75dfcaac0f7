package anonymize

import (
	"encoding/json"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Report says what an anonymised session still tells about its original.
type Report struct {
	Lines    int            `json:"records"` // written
	Words    int            `json:"words"`   // that have a stand-in
	Models   []string       `json:"models"`
	Versions []string       `json:"client_versions"`
	First    time.Time      `json:"first,omitzero"`
	Last     time.Time      `json:"last,omitzero"`
	Kept     map[string]int `json:"kept"` // words left as they are, and how often: the format's own
	Survived []Survivor     `json:"survived"`
}

// Survivor is a word of more than 6 letters that stands in the output as it
// did in the original and is none of the format's own.
type Survivor struct {
	Word string `json:"word"`
	Place
}

// Place is where a word stands in what was written.
type Place struct {
	File string `json:"file,omitempty"` // beside the session, with slashes; "": the session itself
	Line int    `json:"line"`           // 0: in the file's name
}

// String is the place as messages name it.
func (p Place) String() string {
	line := "line " + strconv.Itoa(p.Line)
	switch {
	case p.File == "":
		return line
	case p.Line == 0:
		return "the name of " + p.File
	}
	return line + " of " + p.File
}

func (r *Report) entry(e *jsonl.Entry) {
	r.Models = with(r.Models, e.Message.Model)
	r.Versions = with(r.Versions, e.Version)
	if e.Time.IsZero() {
		return
	}
	if r.First.IsZero() || e.Time.Before(r.First) {
		r.First = e.Time
	}
	if e.Time.After(r.Last) {
		r.Last = e.Time
	}
}

// with is a sorted list with one more name in it, if it is new.
func with(list []string, name string) []string {
	if name == "" {
		return list
	}
	i := sort.SearchStrings(list, name)
	if i < len(list) && list[i] == name {
		return list
	}
	list = append(list, "")
	copy(list[i+1:], list[i:])
	list[i] = name
	return list
}

// escape is what stands for a character in a JSON string, or for a pair of
// which both make one.
var escape = regexp.MustCompile(`\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)`)

// Check looks through a line of what was written, or the name of a file, for
// words of the original.
func (a *Anonymizer) Check(line string, at Place) {
	if strings.Contains(line, `\`) && json.Valid([]byte(line)) {
		// None of an escape's letters is a word's; what it stands for may be.
		line = escape.ReplaceAllStringFunc(line, func(e string) string {
			if e[1] != 'u' {
				return " "
			}
			r, _, _ := decode([]byte(e), 0)
			return string(r)
		})
	}
	letterRuns(line, func(run string) {
		if !isLong(run) {
			return
		}
		low := strings.ToLower(run)
		switch {
		case !a.book.originals[low]:
		case a.book.safe[low]:
			a.report.Kept[low]++
		default:
			a.report.Survived = append(a.report.Survived, Survivor{run, at})
		}
	})
}

// Report is what is known once everything has been written and checked.
func (a *Anonymizer) Report() *Report {
	a.report.Words = len(a.book.stand)
	if a.report.Survived == nil {
		a.report.Survived = []Survivor{}
	}
	a.report.Models, a.report.Versions = append([]string{}, a.report.Models...), append([]string{}, a.report.Versions...)
	return &a.report
}
