package anonymize

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
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

	// Tried counts the words of three letters and more in every second line of the texts. Recovered counts those that a
	// reader recovers who has the originals of the other lines: by the word that most often had the same substitute.
	Tried     int `json:"words_tried"`
	Recovered int `json:"words_recovered"`
}

// Survivor is a word of more than 6 letters of the original that is in the output and is not a word of the format.
type Survivor struct {
	Word string `json:"word"`
	Location
}

// Location is a line of the output, or a file name.
type Location struct {
	File string `json:"file,omitempty"` // next to the session, with slashes; "": the session itself
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

// with inserts a new name into a sorted list.
func with(list []string, name string) []string {
	i, found := slices.BinarySearch(list, name)
	if found || name == "" {
		return list
	}
	return slices.Insert(list, i, name)
}

// escape matches an escape in a JSON string, a surrogate pair as one.
var escape = pattern.New(`\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)`)

// Check searches a line of the output, or a file's name, for words of the original.
func (a *Anonymizer) Check(line string, at Location) {
	if strings.Contains(line, `\`) && json.Valid([]byte(line)) {
		// The letters of an escape belong to no word; the character may.
		line = escape().ReplaceAllStringFunc(line, func(e string) string {
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
		case !a.originals[low]:
		case a.isSafe(run):
			a.report.Kept[low]++
		default:
			a.report.Survived = append(a.report.Survived, Survivor{run, at})
		}
	})
}

// Disclosure is complete once everything has been written and checked.
func (a *Anonymizer) Disclosure() *Disclosure {
	if a.names != nil {
		a.report.Words = len(a.names.assigned)
	}
	if a.tries != nil {
		a.report.Tried, a.report.Recovered = a.tries.result()
	}
	return &a.report
}
