package database

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// writer opens a database for writing.
func writer(t *testing.T, path string, statements ...string) *sqlite3.Conn {
	t.Helper()
	conn := must.Get(sqlite3.Open(path))(t)
	t.Cleanup(func() { conn.Close() })
	execute(t, conn, statements...)
	return conn
}

func execute(t *testing.T, conn *sqlite3.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if err := conn.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// words reads the texts of a table "words".
func words(path string) (list []string, missing int64, err error) {
	err = Read(path, func(db *DB) error {
		list, missing = nil, db.Missing
		return db.Rows("SELECT word FROM words ORDER BY rowid", func(r *Row) error { list = append(list, r.Text("word")); return nil })
	})
	return list, missing, err
}

func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		text := must.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		list = append(list, e.Name()+string(text))
	}
	return list
}

const (
	withLog = "PRAGMA journal_mode=wal"
	table   = "CREATE TABLE words (word TEXT)"
)

// TestRead has databases with and without a log, in use and at rest.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	conn := writer(t, path, withLog, table, "INSERT INTO words VALUES ('one')", "PRAGMA wal_checkpoint(truncate)", "INSERT INTO words VALUES ('two')")
	must.Rows(t, `
# name | want
begin           | ["one", "two"]
BEGIN EXCLUSIVE | ["one", "two"]
`, func(name string, want []string) {
		execute(t, conn, name, "INSERT INTO words VALUES ('three')")
		before := files(t, dir)
		got, missing, err := words(path)
		if err != nil || missing != 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %d missing, %v", name, got, missing, err)
		}
		must.Equal(t, before, files(t, dir), name)
		execute(t, conn, "ROLLBACK")
	})
	if err := Read(path, func(*DB) error { return conn.Exec("INSERT INTO words VALUES ('three')") }); err != nil {
		t.Errorf("writing while it is read: %v", err)
	}
	if got, _, err := words(path); err != nil || len(got) != 3 {
		t.Errorf("%q, %v", got, err)
	}
	copied := filepath.Join(t.TempDir(), "b.db")
	text := must.Get(os.ReadFile(path))(t)
	must.Do(t, os.WriteFile(copied, text, 0o400))
	if got, _, err := words(copied); err != nil || !slices.Equal(got, []string{"one"}) {
		t.Errorf("without its log: %q, %v", got, err)
	}
}

// TestChanging has a database into which its writer moves the log while it is read.
func TestChanging(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	conn := writer(t, path, withLog, table)
	times := 0
	err := Read(path, func(db *DB) error {
		if times++; times < 3 {
			execute(t, conn, "INSERT INTO words VALUES ('more')", "PRAGMA wal_checkpoint(truncate)")
		}
		return nil
	})
	must.Say(t, "<nil> 3", err, times)
	err = Read(path, func(db *DB) error {
		execute(t, conn, "INSERT INTO words VALUES ('more')", "PRAGMA wal_checkpoint(truncate)")
		return nil
	})
	if !errors.Is(err, errBusy) {
		t.Errorf("always changing: %v", err)
	}
}

// TestUnreadable has what is said of databases that cannot be read.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.db")
	conn := writer(t, whole, withLog, table, "INSERT INTO words VALUES ('one')")
	log := must.Get(os.ReadFile(whole + "-wal"))(t)
	execute(t, conn, "PRAGMA wal_checkpoint(truncate)")
	conn.Close()
	base := must.Get(os.ReadFile(whole))(t)
	other := bytes.Clone(base)
	other[16], other[17] = 2, 0
	for _, tt := range []struct {
		name, base, wal, journal, want string
	}{
		{"no base", "", string(log), "", "only changes to it in its -wal"},
		{"text", "hello, this is no database, but a text of some length", "", "", "no SQLite database"},
		{"page size", string(base[:16]) + "\x01\x23" + string(base[18:]), "", "", "pages have 291 bytes"},
		{"another's log", string(other), string(log), "", "another database's"},
		{"a change that is not finished", string(base), "", journalMagic + strings.Repeat("\x00", 504), "not finished"},
		{"cut", string(base[:5000]), "", "", "damaged"},
	} {
		path := filepath.Join(t.TempDir(), "a.db")
		for suffix, text := range map[string]string{"": tt.base, "-wal": tt.wal, "-journal": tt.journal} {
			if suffix != "" && text == "" {
				continue
			}
			must.Do(t, os.WriteFile(path+suffix, []byte(text), 0o600))
		}
		if _, _, err := words(path); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, _, err := words(filepath.Join(dir, "none.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestCutLog has a log that is cut at each place: what was written before a change that is not whole is read.
func TestCutLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	conn := writer(t, path, withLog, table, "INSERT INTO words VALUES ('one')", "PRAGMA wal_checkpoint(truncate)")
	for i := range 3 {
		execute(t, conn, fmt.Sprintf("INSERT INTO words VALUES ('w%d')", i))
	}
	base, log := panics(os.ReadFile(path)), panics(os.ReadFile(path+"-wal"))
	last := 0
	for n := 0; n <= len(log); n += 509 {
		copied := filepath.Join(t.TempDir(), "b.db")
		must.Do(t, errors.Join(os.WriteFile(copied, base, 0o600), os.WriteFile(copied+"-wal", log[:n], 0o600)))
		got, _, err := words(copied)
		if err != nil || len(got) < last {
			t.Fatalf("%d bytes of the log: %q, %v", n, got, err)
		}
		last = len(got)
	}
	if last < 3 {
		t.Errorf("%d words of the longest", last)
	}
}

func panics(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// TestDamaged has damaged databases, more of them with CTXKIT_DAMAGED set: none panics or hangs.
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	conn := writer(t, path, withLog, table)
	for i := range 200 {
		execute(t, conn, fmt.Sprintf("INSERT INTO words VALUES ('%s')", strings.Repeat(fmt.Sprint(i, " "), 1+i%90)))
	}
	execute(t, conn, "PRAGMA wal_checkpoint", "DELETE FROM words WHERE rowid % 3 = 0")
	base, log := panics(os.ReadFile(path)), panics(os.ReadFile(path+"-wal"))
	r := rand.New(rand.NewPCG(1, 2))
	n := 100
	if os.Getenv("CTXKIT_DAMAGED") != "" {
		n = 2000
	}
	copied := filepath.Join(t.TempDir(), "b.db")
	for range n {
		b, l := bytes.Clone(base), bytes.Clone(log)
		for range 1 + r.IntN(20) {
			b[r.IntN(len(b))] = byte(r.Uint32())
			l[r.IntN(len(l))] = byte(r.Uint32())
		}
		if r.IntN(4) == 0 {
			b = b[:r.IntN(len(b))]
		}
		must.Do(t, errors.Join(os.WriteFile(copied, b, 0o600), os.WriteFile(copied+"-wal", l, 0o600)))
		_, _, _ = words(copied)
	}
}
