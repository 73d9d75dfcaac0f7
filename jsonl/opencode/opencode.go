// Package opencode reads sessions of OpenCode: what `opencode export` writes, the lines of early versions, and the
// folder tree in which versions before 1.2 store them.
//
// A document is read by its bytes, not as one value: of one that is cut or damaged, every message and part that is
// whole is used. The units are the session's info, each message's info and each part.
package opencode

import (
	_ "embed"
	"errors"
	"io"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// Product is OpenCode's name, as its policies have it.
const Product = "opencode"

// words.txt lists what of a session carries its structure.
//
//go:embed words.txt
var words string

// Form is the form of OpenCode's sessions.
func Form() foreign.Form {
	return foreign.Form{
		Name: Product, Client: "OpenCode", Looks: looks, Convert: convert, Gather: gather, Files: files, Tree: isTree, Words: words,
		Store: foreign.Store{
			Env: "XDG_DATA_HOME", Home: ".local/share", Folder: "opencode/storage/session", Inside: []string{"*"},
			Unread: "opencode/opencode.db", Export: "opencode export ID > FILE",
		},
		Tools: map[string]string{
			"bash": "Bash", "read": "Read", "write": "Write", "edit": "Edit", "multiedit": "MultiEdit", "patch": "Edit", "apply_patch": "Edit",
			"grep": "Grep", "glob": "Glob", "list": "LS", "webfetch": "WebFetch", "websearch": "WebSearch", "task": "Task",
			"todowrite": "TodoWrite", "todoread": "TodoRead", "skill": "Skill", "question": "AskUserQuestion",
		},
	}
}

// looks recognises a document, a line of the early form, or the file of a session in the storage folder.
func looks(h *foreign.Beginning) bool {
	for i := range h.Values {
		v := &h.Values[i]
		switch {
		case v.Kind != '{':
		case v.Fields["info"] == "{" && (v.Fields["messages"] == "[" || v.Fields["parts"] == "[" && v.Has("info.role") || isSession(v, "info.")):
			return true
		case isSession(v, ""):
			return true
		}
	}
	return false
}

// isSession reports whether the members below a path are those of a session's info.
func isSession(v *foreign.Value, path string) bool {
	return strings.HasPrefix(v.Fields[path+"id"], "ses_") && v.Has(path+"title", path+"time") && (v.Has(path+"projectID") || v.Has(path+"directory"))
}

// convert reads a session.
func convert(in io.Reader, w *foreign.Writer) error {
	text, err := w.Limits.ReadDocument(in)
	d := document{text: text, w: w, line: 1}
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
