package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// SessionsSchema is the version of the JSON form of a list of sessions.
const SessionsSchema = "ctxkit.sessions/v1"

// mostSessions is how many sessions a table shows.
const mostSessions = 200

// Sessions prints the sessions of project folders.
func Sessions(w io.Writer, list []session.FileInfo, opt Layout) error {
	list = slices.Clone(list)
	t := newTable(
		[]column{{Title: "session", Key: "session", Max: 36}}, keys("file folder project branch client_version title first_prompt"),
		[]column{{Title: "begun (UTC)", Key: "created"}, {Key: "last"}, {Title: "size", Key: "bytes"}, {Title: "index", Key: "index"}, {Key: "why"},
			{Title: "agents", Key: "subagents"}, {Key: "tool_results"}, {Title: "title", Flex: true}},
	)
	counts := map[session.Standing]int{}
	var notes []string
	for n := range list {
		i := &list[n]
		counts[i.Standing]++
		hide := !opt.All && n >= mostSessions
		if i.Standing == session.Stale && !hide {
			notes = append(notes, "stale: "+i.ID+": "+i.Why)
		}
		i.Created, i.Last, i.Changed, i.Subagents = i.Created.UTC(), i.Last.UTC(), i.Changed.UTC(), notNil(i.Subagents)
		sessionRow(t, i).noTab = hide
	}
	if hidden := len(list) - mostSessions; hidden > 0 && !opt.All {
		notes = append(notes, opt.Hints.hidden(hidden, "session", "json and csv contain them"))
	}
	note := count(len(list), "session")
	if counts[session.Unindexed] < len(list) {
		for _, s := range []session.Standing{session.Listed, session.Stale, session.Missing, session.Unlisted} {
			note += fmt.Sprintf(", %d %s", counts[s], s)
		}
	}
	return listing(t, object{{"schema", SessionsSchema}, {"sessions", list}}, append(notes, note)...).print(w, opt)
}

func sessionRow(t *table, i *session.FileInfo) *row {
	st := map[session.Standing]style{session.Missing: red, session.Stale: yellow}[i.Standing]
	size, agents := either(i.Standing == session.Missing, "", fileSize(i.Size)), len(i.Subagents)
	return t.add(st, i.ID, i.Path, i.Folder, i.Project, i.Branch, i.Version, i.Title, i.Prompt, i.Created, i.Last, pair{number(size), int(i.Size)},
		i.Standing, i.Why, pair{number(phraseIf(agents > 0, "%v", agents)), agents}, i.ToolResults,
		cut(Clean(cmp.Or(i.Title, i.Prompt)), 44))
}
