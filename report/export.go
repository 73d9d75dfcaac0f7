package report

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/report/parquet"
)

// ExportSchema is the version of the columns of exported tables.
const ExportSchema = "ctxkit.export/v1"

// ExportedSession is a conversation to export, with its replays.
type ExportedSession struct {
	compare.ComparedSession
	Glance *replay.Glance // of the conversation alone
	Client string         // that recorded it
	Began  time.Time      // first time in it; zero: none
	Lines  session.Accounting
}

// ExportTable is a table that export writes.
type ExportTable struct {
	Name    string // of its file, without .parquet
	About   string
	Columns []ExportColumn
}

// ExportColumn is a column of such a table.
type ExportColumn struct {
	parquet.Column
	About string
}

// Export writes conversations to tables.
type Export struct {
	Large    int // amounts too large for their column, which are null
	policies []string
	tables   []exportFile
	sessions []ExportedSession // without replays: their projects are known once all are there
}

type exportFile struct {
	ExportTable
	*parquet.TableWriter
	row []parquet.Cell
}

// The tables, by index.
const (
	sessionsTable = iota
	requestsTable
	eventsTable
	comparisonTable
)

// NewExport begins the tables of ExportTables, each in the writer of its index. Names are those of the policies.
func NewExport(files []io.Writer, policies []string) (*Export, error) {
	x := &Export{policies: policies}
	for i, t := range ExportTables() {
		columns := make([]parquet.Column, len(t.Columns))
		for j := range t.Columns {
			columns[j] = t.Columns[j].Column
		}
		w, err := parquet.NewWriter(files[i], t.Name, ExportSchema, columns)
		if err != nil {
			return nil, err
		}
		x.tables = append(x.tables, exportFile{t, w, make([]parquet.Cell, len(columns))})
	}
	return x, nil
}

func (x *Export) write(table int, cells []any) error {
	f := &x.tables[table]
	for i := range f.Columns {
		f.row[i] = x.cell(&f.Columns[i], cells[i])
	}
	return f.Write(f.row)
}

// Add writes the replays of a conversation. Its own row follows when the tables are closed.
func (x *Export) Add(s *ExportedSession) error {
	fillRequest := filler[exportedRequest, replay.Request]()
	fillEvent := filler[exportedEvent, replay.Event]()
	for p, tl := range s.Timelines {
		of := exportedReplay{s.conversation(), x.policies[p]}
		for i, r := range tl.Requests {
			row := exportedRequest{exportedReplay: of, Position: i + 1, Events: len(r.Events)}
			fillRequest(&row, &r)
			if err := x.write(requestsTable, fieldCells(reflect.ValueOf(row))); err != nil {
				return err
			}
		}
		for _, e := range tl.Events {
			row := exportedEvent{exportedReplay: of, Targets: len(e.Targets)}
			if fillEvent(&row, &e); len(e.Detail) > 0 {
				detail, _ := json.Marshal(e.Detail) // of numbers by name: it cannot fail
				row.Detail = string(detail)
			}
			if err := x.write(eventsTable, fieldCells(reflect.ValueOf(row))); err != nil {
				return err
			}
		}
		if err := x.write(comparisonTable, s.compared(of, p)); err != nil {
			return err
		}
	}
	kept := *s
	kept.Timelines = nil
	kept.Values = nil
	kept.Breaks = nil
	kept.Series = nil
	kept.Policies = nil
	x.sessions = append(x.sessions, kept)
	return nil
}

// Close writes the table of sessions and ends all.
func (x *Export) Close() error {
	projects := make([]compare.ComparedSession, len(x.sessions))
	for i := range x.sessions {
		projects[i] = compare.ComparedSession{Project: x.sessions[i].Project, Repository: x.sessions[i].Repository}
	}
	compare.JoinProjects(projects)
	for i := range x.sessions {
		x.sessions[i].Project = projects[i].Project
		if err := x.write(sessionsTable, x.sessions[i].cells()); err != nil {
			return err
		}
	}
	var errs []error
	for i := range x.tables {
		errs = append(errs, x.tables[i].Close())
	}
	return errors.Join(errs...)
}
