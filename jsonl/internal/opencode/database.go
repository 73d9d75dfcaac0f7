package opencode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/database"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// Tables with sessions: those of 1.x, which 2.x keeps and never writes, and those of 2.x.
const (
	tableOne = "session"
	tableTwo = "session_v2"
)

// tables are those that a database has, the newer first.
func tables(db *database.DB) (list []string) {
	for _, name := range []string{tableTwo, tableOne} {
		if db.Has(name) {
			list = append(list, name)
		}
	}
	return list
}

// isDatabase reports whether a database is a client's, by its tables; Kilo's by the versions in it.
func isDatabase(db *database.DB, client string) (bool, error) {
	names := tables(db)
	if len(names) == 0 || !db.Has("message") && !db.Has("session_message") || !db.Has(names[0], "project_id") {
		return false, nil
	}
	version := ""
	err := db.Rows("SELECT version FROM "+names[0]+" ORDER BY rowid DESC LIMIT 1", func(r *database.Row) error { version = r.Text("version"); return nil })
	if (err == nil && ofKilo(version)) != (client != Product) {
		return false, nil
	}
	one := db.Has("message", "id", "session_id", "time_created", "data") && db.Has("part", "id", "message_id", "session_id", "data")
	two := db.Has("session_message", "id", "session_id", "type", "seq", "data")
	if !db.Has(names[0], "id", "directory", "time_created") || slices.Contains(names, tableTwo) && !two || !slices.Contains(names, tableTwo) && !one {
		return true, fmt.Errorf("the tables of a version of OpenCode that is not known, the newest session's is %q: write a session to a file: opencode export ID > FILE", version)
	}
	return true, nil
}

// millis is a column with a time.
func millis(r *database.Row, column string) time.Time { return foreign.Millis(float64(r.Int(column))) }

// list lists the sessions that have messages.
func list(db *database.DB) (found []foreign.Stored, err error) {
	seen := map[string]bool{}
	for _, table := range tables(db) {
		of := "message"
		if table == tableTwo {
			of = "session_message"
		}
		err = db.Rows("SELECT s.*, m.n FROM "+table+" s JOIN (SELECT session_id, count(*) AS n FROM "+of+" GROUP BY session_id) m ON m.session_id = s.id ORDER BY s.time_created, s.id", func(r *database.Row) error {
			s := foreign.Stored{
				ID: r.Text("id"), Parent: r.Text("parent_id"), Title: r.Text("title"), Project: r.Text("directory"), Version: r.Text("version"),
				Created: millis(r, "time_created"), Last: millis(r, "time_updated"), Size: r.Int("n"), Prompt: prompt(db, table, r.Text("id")),
			}
			if !seen[s.ID] {
				seen[s.ID] = true
				found = append(found, s)
			}
			return nil
		})
		if err != nil {
			return found, err
		}
	}
	foreign.Share(db, found)
	return found, nil
}

// prompt is the first one of a session, as far as it can be read.
func prompt(db *database.DB, table, id string) (text string) {
	var data struct{ Role, Text, Type string }
	if table == tableTwo {
		_ = db.Rows("SELECT data FROM session_message WHERE session_id = ? AND type = 'user' ORDER BY seq LIMIT 1", func(r *database.Row) error {
			_ = json.Unmarshal([]byte(r.Text("data")), &data)
			return nil
		}, id)
		return data.Text
	}
	_ = db.Rows("SELECT data FROM part WHERE message_id = (SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id LIMIT 1) ORDER BY id LIMIT 8", func(r *database.Row) error {
		var p part
		if _ = json.Unmarshal([]byte(r.Text("data")), &p); text == "" && p.Type == "text" && !p.Synthetic && !p.Ignored {
			text = p.Text
		}
		return nil
	}, id)
	return text
}

// children finds the sessions that one started: there is an index for it.
func children(db *database.DB) func(id string) ([]string, error) {
	return func(id string) (ids []string, err error) {
		for _, table := range tables(db) {
			if err == nil {
				err = db.Rows("SELECT id FROM "+table+" WHERE parent_id = ? ORDER BY time_created, id", func(r *database.Row) error {
					ids = append(ids, r.Text("id"))
					return nil
				}, id)
			}
		}
		return ids, err
	}
}

// exporter writes a session as an export has it, with the same lines.
type exporter struct {
	db *database.DB
	bytes.Buffer
	most int64
	lost []string
}

// exported is a session as `opencode export` writes it: of 2.x as `opencode session export` does.
func exported(db *database.DB, id string, most int64) ([]byte, []string, error) {
	e := exporter{db: db, most: most}
	e.WriteString("{\n  \"info\": ")
	for _, table := range tables(db) {
		found := false
		if err := db.Rows("SELECT * FROM "+table+" WHERE id = ?", func(r *database.Row) error { found = true; return e.info(r, table) }, id); err != nil {
			return nil, nil, err
		}
		if !found {
			continue
		}
		e.WriteString(",\n  \"messages\": [")
		read := e.messages
		if table == tableTwo {
			read = e.flat
		}
		n, err := read(id)
		if errors.As(err, new(*jsonl.LimitError)) || err != nil && n == 0 {
			return nil, nil, err
		}
		if err != nil {
			e.lose("the rest of the messages", err.Error())
		}
		if n > 0 {
			e.WriteString("\n  ")
		}
		e.WriteString("]\n}\n")
		return e.Bytes(), e.lost, nil
	}
	return nil, nil, foreign.ErrNotThere
}

func (e *exporter) lose(what, why string) { e.lost = append(e.lost, what+": "+why) }

// value writes a JSON value, indented as deep as what is around it.
func (e *exporter) value(text []byte, indent string) error {
	if err := json.Indent(&e.Buffer, text, indent, "  "); err != nil {
		return err
	}
	if int64(e.Len()) > e.most {
		return &jsonl.LimitError{Name: "document", Most: e.most}
	}
	return nil
}

// info writes the session's own row.
func (e *exporter) info(r *database.Row, table string) error {
	var f fields
	text := func(name, column string) {
		if !r.Null(column) {
			f.add(name, r.Text(column))
		}
	}
	number := func(to *fields, name, column string) {
		if !r.Null(column) {
			to.add(name, r.Float(column))
		}
	}
	raw := func(name, column string) {
		switch data := r.Text(column); {
		case r.Null(column):
		case json.Valid([]byte(data)):
			f.add(name, json.RawMessage(data))
		default:
			e.lose("column "+column+" of the session", "it is no JSON")
		}
	}
	text("id", "id")
	text("slug", "slug")
	text("projectID", "project_id")
	text("workspaceID", "workspace_id")
	if table == tableTwo {
		var location fields
		location.add("directory", r.Text("directory"))
		f.add("location", location.object())
		text("forkSessionID", "fork_session_id")
	}
	text("directory", "directory")
	text("path", "path")
	text("parentID", "parent_id")
	text("title", "title")
	text("agent", "agent")
	raw("model", "model")
	text("version", "version")
	var summary, tokens, cache, times fields
	number(&summary, "additions", "summary_additions")
	number(&summary, "deletions", "summary_deletions")
	number(&summary, "files", "summary_files")
	if len(summary) > 0 {
		f.add("summary", summary.object())
	}
	number(&f, "cost", "cost")
	number(&tokens, "input", "tokens_input")
	number(&tokens, "output", "tokens_output")
	number(&tokens, "reasoning", "tokens_reasoning")
	number(&cache, "read", "tokens_cache_read")
	number(&cache, "write", "tokens_cache_write")
	if len(cache) > 0 {
		tokens.add("cache", cache.object())
		f.add("tokens", tokens.object())
	}
	raw("metadata", "metadata")
	raw("revert", "revert")
	raw("permission", "permission")
	for _, name := range []string{"created", "updated", "compacting", "archived"} {
		number(&times, name, "time_"+name)
	}
	f.add("time", times.object())
	return e.value(f.object(), "  ")
}

// object writes the object of a row behind a text, with more members. One that is no JSON object is lost.
func (e *exporter) object(before, row, indent, what string, more ...field) (ok bool, err error) {
	at := e.Len()
	e.WriteString(before)
	if err = e.value(withIDs(row, more...), indent); errors.As(err, new(*json.SyntaxError)) {
		e.Truncate(at)
		e.lose(what, "its data is no JSON object: it is set aside")
		return false, nil
	}
	return true, err
}

// messages writes the messages of 1.x with their parts.
func (e *exporter) messages(id string) (n int, err error) {
	err = e.db.Rows("SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", func(m *database.Row) error {
		message := m.Text("id")
		ok, err := e.object(comma(n)+"\n    {\n      \"info\": ", m.Text("data"), "      ", "message "+message+" with its parts", field{"id", message}, field{"sessionID", id})
		if !ok || err != nil {
			return err
		}
		n++
		e.WriteString(",\n      \"parts\": [")
		k := 0
		err = e.db.Rows("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", func(p *database.Row) error {
			ok, err := e.object(comma(k)+"\n        ", p.Text("data"), "        ", "part "+p.Text("id"), field{"id", p.Text("id")}, field{"sessionID", id}, field{"messageID", message})
			if ok {
				k++
			}
			return err
		}, message)
		if k > 0 {
			e.WriteString("\n      ")
		}
		e.WriteString("]\n    }")
		return err
	}, id)
	return n, err
}

// flat writes the messages of 2.x.
func (e *exporter) flat(id string) (n int, err error) {
	err = e.db.Rows("SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq", func(m *database.Row) error {
		ok, err := e.object(comma(n)+"\n    ", m.Text("data"), "    ", "message "+m.Text("id"), field{"id", m.Text("id")}, field{"type", m.Text("type")})
		if ok {
			n++
		}
		return err
	}, id)
	if err == nil && e.db.Has("message", "id", "session_id") {
		err = e.db.Rows("SELECT count(*) AS n FROM message WHERE session_id = ?1 AND id NOT IN (SELECT id FROM session_message WHERE session_id = ?1)"+
			" AND time_created > (SELECT max(time_created) FROM session_message WHERE session_id = ?1)", func(r *database.Row) error {
			if later := r.Int("n"); later > 0 {
				e.lose(fmt.Sprintf("%d later messages", later), "OpenCode 1.x wrote them after 2.x had taken the session over: they are set aside")
			}
			return nil
		}, id)
	}
	return n, err
}

func comma(n int) string {
	if n > 0 {
		return ","
	}
	return ""
}

// field is a member of an object.
type field struct {
	name  string
	value any
}

// fields are an object's members, in order.
type fields []field

func (f *fields) add(name string, value any) { *f = append(*f, field{name, value}) }

// object is the object as JSON.
func (f fields) object() json.RawMessage { return withIDs("{}", f...) }

// withIDs adds members to an object. What is no JSON stays none.
func withIDs(object string, more ...field) []byte {
	text := bytes.TrimSpace([]byte(object))
	if !bytes.HasPrefix(text, []byte("{")) || !bytes.HasSuffix(text, []byte("}")) {
		return nil
	}
	out := bytes.NewBuffer(bytes.TrimRight(text[:len(text)-1], " \t\r\n"))
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, f := range more {
		if b := out.Bytes(); b[len(b)-1] != '{' {
			out.WriteByte(',')
		}
		_ = enc.Encode(f.name) // a string, or the argument of add: both can be encoded
		out.WriteByte(':')
		_ = enc.Encode(f.value)
	}
	out.WriteByte('}')
	return out.Bytes()
}
