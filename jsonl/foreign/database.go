package foreign

import (
	"errors"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/database"
)

// Database says how sessions are read that an agent keeps in an SQLite database.
type Database struct {
	// Is reports whether a database is this agent's. Problem is what keeps one that is from being read, as of another
	// version; nil: nothing.
	Is func(db *database.DB) (is bool, problem error)

	// List lists the sessions that have messages, subagents' too.
	List func(db *database.DB) ([]Stored, error)

	// Children finds the ids of the sessions that one started as subagents, some of them twice.
	Children func(db *database.DB) func(id string) ([]string, error)

	// Document is one session in the form that Convert reads, up to a number of bytes. Lost lists what cannot be read
	// where it is and why: it is not in the document.
	Document func(db *database.DB, id string, most int64) (text []byte, lost []string, err error)
}

// Stored is a session of a database, as a list has it.
type Stored struct {
	ID, Parent, Title, Prompt, Project, Version string

	Created, Last time.Time
	Size          int64 // bytes: see Share
}

// ErrNotThere is the error of a session that a database does not have.
var ErrNotThere = errors.New("no session of the database has that id: take one from a list of its sessions")

// Share makes of the number of messages that each session has as its Size its share of the bytes of the database: to add
// up what they are, all pages would have to be read.
func Share(db *database.DB, list []Stored) {
	all := int64(0)
	for i := range list {
		all += list[i].Size
	}
	for i := range list {
		list[i].Size = int64(float64(list[i].Size) / float64(all) * float64(db.Size))
	}
}
