// Package database reads SQLite databases in which agents keep sessions, as they are at one moment: the file together
// with the write-ahead log next to it. It takes no lock and writes nothing, neither to them nor elsewhere, so that it
// disturbs no agent that is running, and needs no right but to read.
package database

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

const (
	attempts  = 4         // to read a database that changes meanwhile
	cacheSize = 4 << 10   // KiB of pages that SQLite keeps
	mostValue = 256 << 20 // longest value that is read, in bytes
)

// DB is an open database.
type DB struct {
	conn  *sqlite3.Conn
	known map[string]*Row // by query: statements that are prepared

	Size int64 // bytes of all pages

	// Missing is how many bytes the file lacks at its end: it is cut, and what is in them cannot be read.
	Missing int64
}

// errBusy is the error of a database that does not stay the same for as long as it takes to read it.
var errBusy = errors.New("it changes while it is read: try again, or close its agent")

// Read calls use with the database at a path, again where the database has changed meanwhile: use begins anew each time.
// Errors say what to do.
func Read(path string, use func(*DB) error) error {
	for range attempts {
		s, err := openSnapshot(path)
		if err != nil {
			return err
		}
		err = s.read(use)
		still := s.still()
		s.close()
		if still {
			return err
		}
	}
	return errBusy
}

func (s *snapshot) read(use func(*DB) error) error {
	name := fmt.Sprintf("%p", s) // no other that is open has it
	vfs.Register(name, only{s})
	conn, err := sqlite3.OpenFlags("file:db?immutable=1&vfs="+name, sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	vfs.Unregister(name)
	if err != nil {
		return explain(err)
	}
	defer conn.Close()
	conn.Limit(sqlite3.LIMIT_LENGTH, mostValue)
	if err := conn.Exec(fmt.Sprintf("PRAGMA temp_store=memory; PRAGMA cache_size=-%d; PRAGMA trusted_schema=off", cacheSize)); err != nil {
		return explain(err)
	}
	db := &DB{conn: conn, known: map[string]*Row{}, Size: s.size, Missing: s.missing}
	defer func() {
		for _, r := range db.known {
			r.stmt.Close()
		}
	}()
	return use(db)
}

// explain says what an error of SQLite's means, and what to do.
func explain(err error) error {
	switch {
	case errors.Is(err, sqlite3.CORRUPT), errors.Is(err, sqlite3.NOTADB), errors.Is(err, sqlite3.IOERR):
		return fmt.Errorf("the database is damaged (%w): take a copy of it and its -wal while its agent is closed, or repair one with `sqlite3 FILE .recover`", err)
	case errors.Is(err, sqlite3.TOOBIG):
		return fmt.Errorf("a value in it has more than %d MiB: %w", mostValue>>20, err)
	}
	return err
}

// Has reports whether there is a table with these columns.
func (d *DB) Has(table string, columns ...string) bool {
	var have []string
	err := d.Rows("SELECT name FROM pragma_table_info(?)", func(r *Row) error { have = append(have, r.Text("name")); return nil }, table)
	return err == nil && len(have) > 0 && !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(have, c) })
}

// Rows calls each with the rows of a query, whose parameters are texts. each asks other queries.
func (d *DB) Rows(query string, each func(*Row) error, args ...string) error {
	r := d.known[query]
	if r == nil {
		stmt, _, err := d.conn.Prepare(query)
		if err != nil {
			return explain(err)
		}
		r = &Row{stmt: stmt, columns: map[string]int{}}
		for i := range stmt.ColumnCount() {
			r.columns[stmt.ColumnName(i)] = i
		}
		d.known[query] = r
	}
	defer func() { _ = r.stmt.Reset() }() // its error is that of the last step
	for i, a := range args {
		if err := r.stmt.BindText(i+1, a); err != nil {
			return explain(err)
		}
	}
	for r.stmt.Step() {
		if err := each(r); err != nil {
			return err
		}
	}
	if err := r.stmt.Err(); err != nil {
		return explain(err)
	}
	return nil
}

// Row is a row of a query. A column that there is not is NULL.
type Row struct {
	stmt    *sqlite3.Stmt
	columns map[string]int
}

// Null reports whether a column is NULL.
func (r *Row) Null(column string) bool {
	i, ok := r.columns[column]
	return !ok || r.stmt.ColumnType(i) == sqlite3.NULL
}

// Text is a column as a text, "" for NULL.
func (r *Row) Text(column string) string {
	i, ok := r.columns[column]
	if !ok {
		return ""
	}
	return strings.ToValidUTF8(r.stmt.ColumnText(i), "\uFFFD")
}

// Int is a column as a whole number, 0 for NULL.
func (r *Row) Int(column string) int64 {
	i, ok := r.columns[column]
	if !ok {
		return 0
	}
	return r.stmt.ColumnInt64(i)
}

// Float is a column as a number, 0 for NULL.
func (r *Row) Float(column string) float64 {
	i, ok := r.columns[column]
	if !ok {
		return 0
	}
	return r.stmt.ColumnFloat(i)
}

// JSON is the row as an object, with what kind of row it is as "row" and without the columns that are NULL. A text that
// is an object or array is that one.
func (r *Row) JSON(kind string) []byte {
	object := map[string]any{}
	for name, i := range r.columns {
		switch r.stmt.ColumnType(i) {
		case sqlite3.NULL:
		case sqlite3.INTEGER:
			object[name] = r.Int(name)
		case sqlite3.FLOAT:
			if f := r.Float(name); !math.IsInf(f, 0) {
				object[name] = f
			}
		default:
			object[name] = r.Text(name)
			text := strings.TrimSpace(r.Text(name))
			if (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && json.Valid([]byte(text)) {
				object[name] = json.RawMessage(text)
			}
		}
	}
	object["row"] = kind
	line, _ := json.Marshal(object) // of what JSON can hold
	return line
}
