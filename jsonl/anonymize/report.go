package anonymize

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Disclosure lists what an anonymised session reveals about its original.
type Disclosure struct {
	Lines    int            `json:"records"` // written
	Words    int            `json:"words"`   // with a substitute
	Models   []string       `json:"models"`
	Versions []string       `json:"client_versions"`
	First    time.Time      `json:"first,omitzero"`
	Last     time.Time      `json:"last,omitzero"`
	Kept     map[string]int `json:"kept"` // words of the format that were not replaced, with their frequency
	Survived []Survivor     `json:"survived"`
}

// Survivor is a word of more than 6 letters of the original that is in the output and is not a word of the format.
type Survivor struct {
	Word string `json:"word"`
	Location
}

// Location is a line of the output, or a file name.
type Location struct {
	File string `json:"file,omitempty"` // beside the session, with slashes; "": the session itself
	Line int    `json:"line"`           // 0: in the file's name
}

// String is the location as in messages.
func (p Location) String() string {
	line := "line " + strconv.Itoa(p.Line)
	switch {
	case p.File == "":
		return line
	case p.Line == 0:
		return "the name of " + p.File
	}
	return line + " of " + p.File
}

func (r *Disclosure) entry(e *jsonl.Entry) {
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

// with inserts a new name into a sorted list.
func with(list []string, name string) []string {
	i, found := slices.BinarySearch(list, name)
	if found || name == "" {
		return list
	}
	return slices.Insert(list, i, name)
}

// escape matches an escape in a JSON string, a surrogate pair as one.
var escape = regexp.MustCompile(`\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)`)

// Check searches a line of the output, or a file's name, for words of the original.
func (a *Anonymizer) Check(line string, at Location) {
	if strings.Contains(line, `\`) && json.Valid([]byte(line)) {
		// The letters of an escape belong to no word; the character may.
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

// Disclosure is complete once everything has been written and checked.
func (a *Anonymizer) Disclosure() *Disclosure {
	a.report.Words = len(a.book.assigned)
	return &a.report
}
