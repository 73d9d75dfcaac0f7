// Package opencode reads sessions of OpenCode and Kilo: their database, what `opencode export` writes, the lines of early
// versions, and the folder tree in which versions before 1.2 store them.
//
// A document is read by its bytes, not as one value: of one that is cut or damaged, every message and part that is
// whole is used. The units are the session's info, each message's info and each part.
package opencode

import (
	_ "embed"
	"errors"
	"io"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/database"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// Product is OpenCode's name, as its policies have it.
const Product = "opencode"

// words.txt lists the words that carry the structure of a session.
//
//go:embed words.txt
var words string

// Form is the form of OpenCode's sessions.
func Form() foreign.Form {
	f := form(Product, "OpenCode", "opencode/storage/session", looks, "opencode/opencode.db", "opencode/opencode-*.db")
	f.Store.DatabaseEnv = "OPENCODE_DB"
	return f
}

// Kilo is the form of Kilo's sessions since 7.2.21: OpenCode's, with versions of its own.
func Kilo() foreign.Form {
	return form("kilo", "Kilo", "kilo/storage/session", func(v *foreign.Value) bool {
		return looks(v) && (ofKilo(v.Fields["info.version"]) || ofKilo(v.Fields["version"]))
	}, "kilo/kilo.db")
}

// ofKilo reports whether a version is Kilo's: OpenCode's are far below.
func ofKilo(version string) bool { return foreign.Since(version, 7) }

func form(name, client, folder string, looks func(*foreign.Value) bool, databases ...string) foreign.Form {
	return foreign.Form{
		Name: name, Client: client, Looks: looks, Convert: convert, Gather: gather, Files: files, Words: words,
		Declared: foreign.Declared{
			Reads:     "the database (1.2 to 2.x), `opencode export`, the older storage folder, early JSON lines",
			Exact:     "tokens and cost of each request and of compactions, prunes, what compactions kept",
			Estimated: "what a provider takes: by its tables of that day",
		},
		Store: foreign.Store{
			Env: "XDG_DATA_HOME", Home: ".local/share", Folder: folder, Inside: []string{"*"}, Databases: databases,
		},
		Database: &foreign.Database{
			Is:   func(db *database.DB) (bool, error) { return isDatabase(db, name) },
			List: list, Children: children, Document: exported,
		},
		Tools: foreign.Tools(`
			Bash: bash shell
			Read: read
			Write: write
			Edit: edit patch apply_patch
			MultiEdit: multiedit
			Grep: grep
			Glob: glob
			LS: list
			WebFetch: webfetch
			WebSearch: websearch
			Task: task subagent
			TodoWrite: todowrite
			TodoRead: todoread
			Skill: skill
			AskUserQuestion: question
		`),
	}
}

// looks recognises a document, a line of the early form, or the file of a session in the storage folder.
func looks(v *foreign.Value) bool {
	return v.Kind == '{' && (isSession(v, "") ||
		v.Fields["info"] == "{" && (v.Fields["messages"] == "[" || v.Fields["parts"] == "[" && v.Has("info.role") || isSession(v, "info.")))
}

// isSession reports whether the members below a path are those of a session's info.
func isSession(v *foreign.Value, path string) bool {
	return strings.HasPrefix(v.Fields[path+"id"], "ses_") && v.Has(path+"time") &&
		(v.Has(path+"title") && (v.Has(path+"projectID") || v.Has(path+"directory")) || v.Has(path+"location"))
}

// convert reads a session.
func convert(in io.Reader, w *foreign.Writer) error {
	text, err := w.Limits.ReadDocument(in)
	d := document{text: text, Writer: w, line: 1}
	d.read()
	c := converter{document: &d}
	if d.order(); d.info != nil || len(d.messages) > 0 {
		c.session()
	}
	if len(d.messages) == 0 && err == nil {
		err = errors.New("an OpenCode session without messages: write it with opencode export ID > FILE")
	}
	return err
}
