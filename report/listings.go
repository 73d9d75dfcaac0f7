package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// Versions of the JSON forms of listings.
const (
	SessionsSchema = "ctxkit.sessions/v1"
	PoliciesSchema = "ctxkit.policies/v1"
)

// ListFormats are the formats a listing can be printed in.
var ListFormats = []Format{FormatTable, FormatJSON, FormatCSV, FormatMarkdown}

// listing is a list for people and for programs.
type listing struct {
	table   *Table
	notes   []string   // after the table, for people
	json    any        // all of it
	columns []string   // of the csv form
	rows    [][]string // of the csv form
}

func (l *listing) print(w io.Writer, opt Options) error {
	var p page
	switch opt.Format {
	case FormatTable, "":
		p = &textPage{w: w, color: opt.Color}
	case FormatMarkdown:
		p = &markdownPage{w: w}
	case FormatJSON:
		return WriteJSON(w, l.json)
	case FormatCSV:
		out := csv.NewWriter(w)
		if err := out.Write(l.columns); err != nil {
			return err
		}
		for _, r := range l.rows {
			for i := range r {
				r[i] = csvText(r[i])
			}
			if err := out.Write(r); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	default:
		return fmt.Errorf("format %q: want one of %v", opt.Format, ListFormats)
	}
	p.table(l.table)
	for _, n := range l.notes {
		p.note(faint, n)
	}
	return p.end()
}

// PolicyInfo is one policy of the catalogue.
type PolicyInfo struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases"`
	About   string   `json:"about"`
	Source  string   `json:"source"`
	Date    string   `json:"date"`
	Truth   string   `json:"truth"`
	Stages  []string `json:"stages"`
}

// Policies prints the catalogue of policies.
func Policies(w io.Writer, list []PolicyInfo, opt Options) error {
	l := &listing{
		table: &Table{Columns: []Column{
			{Title: "policy"}, {Title: "date"}, {Title: "truth"}, {Title: "what it does, and its source", Flex: true},
		}},
		columns: []string{"policy", "aliases", "about", "source", "date", "truth", "stages"},
	}
	l.json = struct {
		Schema   string       `json:"schema"`
		Policies []PolicyInfo `json:"policies"`
	}{PoliciesSchema, append([]PolicyInfo{}, list...)}
	for _, p := range list {
		name := p.Name
		about := strings.TrimSuffix(p.About, ".") + ". Source: " + p.Source
		if len(p.Aliases) > 0 {
			about += ". Also called " + strings.Join(p.Aliases, ", ")
		}
		l.table.Row(name, p.Date, p.Truth, about)
		l.rows = append(l.rows, []string{p.Name, strings.Join(p.Aliases, " "), p.About, p.Source, p.Date, p.Truth, strings.Join(p.Stages, " ")})
	}
	return l.print(w, opt)
}

// sessionInfo is the JSON form of a session in a listing.
type sessionInfo struct {
	ID          string         `json:"session"`
	File        string         `json:"file,omitempty"`
	Folder      string         `json:"folder"`
	Project     string         `json:"project,omitempty"`
	Branch      string         `json:"branch,omitempty"`
	Version     string         `json:"client_version,omitempty"`
	Title       string         `json:"title,omitempty"`
	Prompt      string         `json:"first_prompt,omitempty"`
	Created     time.Time      `json:"created,omitzero"`
	Last        time.Time      `json:"last,omitzero"`
	Changed     time.Time      `json:"file_changed,omitzero"`
	Size        int64          `json:"bytes"`
	Index       string         `json:"index"` // "", listed, stale, missing, unlisted
	Why         string         `json:"why,omitempty"`
	Sidechain   bool           `json:"sidechain,omitempty"`
	Subagents   []subagentInfo `json:"subagents"`
	ToolResults int            `json:"tool_results"`
}

type subagentInfo struct {
	ID          string `json:"agent"`
	File        string `json:"file"`
	Size        int64  `json:"bytes"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	ToolUse     string `json:"tool_use_id,omitempty"`
}

// mostSessions is how many sessions a table shows.
const mostSessions = 200

// Sessions prints the sessions of project folders.
func Sessions(w io.Writer, list []session.Info, opt Options) error {
	l := &listing{
		table: &Table{Columns: []Column{
			{Title: "session", Max: 36}, {Title: "begun (UTC)"}, {Title: "size", Right: true}, {Title: "agents", Right: true},
			{Title: "index"}, {Title: "title", Flex: true},
		}},
		columns: []string{"session", "file", "folder", "project", "branch", "client_version", "title", "first_prompt", "created", "last", "bytes", "index", "why", "subagents", "tool_results"},
	}
	all := []sessionInfo{}
	count := map[session.Standing]int{}
	indexed := false
	for n := range list {
		i := &list[n]
		count[i.Standing]++
		indexed = indexed || i.Standing != session.Unindexed
		info := sessionInfo{
			ID: i.ID, File: i.Path, Folder: i.Folder, Project: i.Project, Branch: i.Branch, Version: i.Version, Title: i.Title, Prompt: i.Prompt,
			Created: i.Created.UTC(), Last: i.Last.UTC(), Changed: i.Changed.UTC(), Size: i.Size, Index: string(i.Standing), Why: i.Why,
			Sidechain: i.Sidechain, Subagents: []subagentInfo{}, ToolResults: i.ToolResults,
		}
		for _, a := range i.Subagents {
			info.Subagents = append(info.Subagents, subagentInfo{a.ID, a.Path, a.Size, a.Type, a.Description, a.ToolUse})
		}
		all = append(all, info)
		l.rows = append(l.rows, []string{
			i.ID, i.Path, i.Folder, i.Project, i.Branch, i.Version, i.Title, i.Prompt, csvTime(i.Created), csvTime(i.Last),
			strconv.FormatInt(i.Size, 10), string(i.Standing), i.Why, strconv.Itoa(len(i.Subagents)), strconv.Itoa(i.ToolResults),
		})
		if opt.All || n < mostSessions {
			sessionRow(l.table, i)
		}
	}
	for n := range list {
		if i := &list[n]; i.Standing == session.Stale && (opt.All || n < mostSessions) {
			l.notes = append(l.notes, "stale: "+i.ID+": "+i.Why)
		}
	}
	if hidden := len(list) - l.table.Len(); hidden > 0 {
		l.notes = append(l.notes, opt.Hints.hidden(strconv.Itoa(hidden)+" more sessions", "json and csv hold them"))
	}
	note := strconv.Itoa(len(list)) + " sessions"
	if len(list) == 1 {
		note = "1 session"
	}
	if indexed {
		for _, s := range []session.Standing{session.Listed, session.Stale, session.Missing, session.Unlisted} {
			note += fmt.Sprintf(", %d %s", count[s], s)
		}
	}
	l.notes = append(l.notes, note)
	l.json = struct {
		Schema   string        `json:"schema"`
		Sessions []sessionInfo `json:"sessions"`
	}{SessionsSchema, all}
	return l.print(w, opt)
}

func sessionRow(t *Table, i *session.Info) {
	text := i.Title
	if text == "" {
		text = i.Prompt
	}
	text = cut(Clean(text), 44)
	st, size, agents := none, bytesText(i.Size), ""
	switch i.Standing {
	case session.Missing:
		st, size = red, ""
	case session.Stale:
		st = yellow
	}
	if len(i.Subagents) > 0 {
		agents = strconv.Itoa(len(i.Subagents))
	}
	begun := ""
	if !i.Created.IsZero() {
		begun = i.Created.UTC().Format("2006-01-02 15:04")
	}
	t.styled(st, i.ID, begun, size, agents, string(i.Standing), text)
}

func csvTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// bytesText is a size for people: 512 B, 12.3 kB, 4.5 MB.
func bytesText(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10) + " B"
	case n < 1_000_000:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + " kB"
	case n < 1_000_000_000:
		return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
	}
	return strconv.FormatFloat(float64(n)/1e9, 'f', 1, 64) + " GB"
}
