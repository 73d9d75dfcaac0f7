// Package tables reads the sessions of Goose and Crush, whose databases have a row for each session and for each message.
// A document of one has these rows as JSON lines, in their order.
//
// Goose: crates/goose/src/session/session_manager.rs, conversation/message.rs and context_mgmt/mod.rs. Crush:
// internal/db, internal/message/content.go and internal/agent/agent.go.
package tables

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/database"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// words.txt lists the words that carry the structure of a session.
//
//go:embed words.txt
var words string

// client is what sets a client's database apart.
type client struct {
	name, title string
	session     []string // columns of table sessions that only it has
	content     string   // column of table messages with what one says
	order       string   // of messages
	more        string   // a further table, whose rows come last; "": none
}

func goose() client {
	return client{"goose", "Goose", []string{"working_dir", "extension_data"}, "content_json", "id", "usage_ledger"}
}

func crush() client {
	return client{"crush", "Crush", []string{"prompt_tokens", "completion_tokens"}, "parts", "created_at, rowid", ""}
}

// Goose is the form of Goose's sessions.
func Goose() foreign.Form {
	return goose().form(foreign.Store{Env: "XDG_DATA_HOME", Home: ".local/share", Databases: []string{"goose/sessions/sessions.db"}}, foreign.Tools(`
		Bash: developer__shell shell
		Edit: developer__text_editor edit
		Write: write
		LS: tree
		Read: read
		TodoWrite: todo__todo_write
		Task: delegate subagent
	`))
}

// Crush is the form of Crush's sessions. It keeps a database in the folder of each project.
func Crush() foreign.Form {
	return crush().form(foreign.Store{Databases: []string{".crush/crush.db"}}, foreign.Tools(`
		Bash: bash
		Read: view
		Write: write
		Edit: edit
		MultiEdit: multiedit
		Grep: grep
		Glob: glob
		LS: ls
		WebFetch: fetch agentic_fetch
		Task: agent
		TodoWrite: todos
	`))
}

// declared is what the reader of a client says of itself.
func (c client) declared() foreign.Declared {
	if c.name == crush().name {
		return foreign.Declared{Reads: "the database of a project", Exact: "messages, and where a summary begins anew", Estimated: "the tokens of each request: only sums are recorded"}
	}
	return foreign.Declared{
		Reads: "the database", Exact: "messages, compactions; tokens of each request where there is a table `usage_ledger`", Estimated: "the tokens of each request before that",
	}
}

func (c client) form(store foreign.Store, tools map[string]string) foreign.Form {
	return foreign.Form{
		Name: c.name, Client: c.title, Store: store, Tools: tools, Words: words, Declared: c.declared(), Convert: convert,
		Looks:    func(v *foreign.Value) bool { return v.Fields["row"] == c.name },
		Database: &foreign.Database{Is: c.is, List: c.list, Children: children, Document: c.document},
	}
}

// is reports whether a database is the client's.
func (c client) is(db *database.DB) (bool, error) {
	if !db.Has("sessions", c.session...) {
		return false, nil
	}
	if !db.Has("sessions", "id", "created_at") || !db.Has("messages", "id", "session_id", "role", c.content) {
		return true, fmt.Errorf("the tables of a version of %s that is not known: export the session with %[1]s", c.title)
	}
	return true, nil
}

func (c client) list(db *database.DB) (found []foreign.Stored, err error) {
	err = db.Rows("SELECT s.*, m.n FROM sessions s JOIN (SELECT session_id, count(*) AS n FROM messages GROUP BY session_id) m ON m.session_id = s.id ORDER BY s.created_at, s.id", func(r *database.Row) error {
		found = append(found, foreign.Stored{
			ID: r.Text("id"), Parent: r.Text("parent_session_id"), Title: cmp.Or(r.Text("title"), r.Text("name"), r.Text("description")),
			Project: r.Text("working_dir"), Created: when(r.Text("created_at")), Last: when(r.Text("updated_at")), Size: r.Int("n"),
		})
		return nil
	})
	foreign.Share(db, found)
	for i := range found {
		_ = db.Rows("SELECT "+c.content+" AS content FROM messages WHERE session_id = ? AND role = 'user' ORDER BY "+c.order+" LIMIT 1", func(r *database.Row) error {
			var list []part
			_ = json.Unmarshal([]byte(r.Text("content")), &list) // the readable part
			for _, p := range list {
				found[i].Prompt = cmp.Or(found[i].Prompt, p.Text, p.inner().Text)
			}
			return nil
		}, found[i].ID)
	}
	return found, err
}

// children reads once which sessions each one started.
func children(db *database.DB) func(id string) ([]string, error) {
	of := map[string][]string{}
	err := db.Rows("SELECT * FROM sessions ORDER BY created_at, id", func(r *database.Row) error {
		of[r.Text("parent_session_id")] = append(of[r.Text("parent_session_id")], r.Text("id"))
		return nil
	})
	return func(id string) ([]string, error) { return of[id], err }
}

func (c client) document(db *database.DB, id string, most int64) ([]byte, []string, error) {
	var doc bytes.Buffer
	add := func(kind, query string) error {
		return db.Rows(query, func(r *database.Row) error {
			doc.Write(append(r.JSON(kind), '\n'))
			if int64(doc.Len()) > most {
				return &jsonl.LimitError{Name: "document", Most: most}
			}
			return nil
		}, id)
	}
	if err := add(c.name, "SELECT * FROM sessions WHERE id = ?"); err != nil || doc.Len() == 0 {
		return nil, nil, cmp.Or(err, foreign.ErrNotThere)
	}
	err := add("message", "SELECT * FROM messages WHERE session_id = ? ORDER BY "+c.order)
	if err == nil && c.more != "" && db.Has(c.more, "session_id") {
		err = add("usage", "SELECT * FROM "+c.more+" WHERE session_id = ? ORDER BY id")
	}
	if errors.As(err, new(*jsonl.LimitError)) {
		return nil, nil, err
	}
	if err != nil {
		return doc.Bytes(), []string{"the rest of the session: " + err.Error()}, nil
	}
	return doc.Bytes(), nil, nil
}

// when is a time: seconds or milliseconds of the epoch, or a text, which is UTC where it does not say. Zero: none.
func when(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, time.DateTime} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	n, _ := strconv.ParseFloat(text, 64) // 0 of what is no number
	if n < 1e11 {
		n *= 1000
	}
	return foreign.Millis(n)
}
