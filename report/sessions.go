package report

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
)

// SessionsSchema is the version of the JSON form of a list of sessions.
const SessionsSchema = "ctxkit.sessions/v1"

// MostSessions is how many sessions a table shows.
const MostSessions = 200

// SessionItem is a session of a list.
type SessionItem struct {
	session.FileInfo
	*replay.Glance        // nil: there is no file, it was not read, or not to its end
	Short          string `json:"-"` // beginning of its id that tells it from sessions that are not listed, too; "": from the listed ones
}

// Sessions prints the sessions of project folders.
func Sessions(w io.Writer, list []SessionItem, opt Layout) error {
	list = slices.Clone(list)
	t := tableOf[sessionCells]()
	counts := map[session.Standing]int{}
	var notes []string
	var bills [][]bill.Entry
	short := itemIDs(list)
	subagents := 0
	if slices.ContainsFunc(list, func(i SessionItem) bool {
		return cmp.Or(i.Product, session.Product) != cmp.Or(list[0].Product, session.Product)
	}) {
		t.column("client").Drop = 1 // it says which agent's session it is
	}
	for n := range list {
		i := &list[n]
		counts[i.Standing]++
		hide := !opt.All && n >= MostSessions
		if i.Standing == session.Stale && !hide {
			notes = append(notes, "stale: "+i.ID+": "+i.Why)
		}
		if i.Parent != "" {
			subagents++
		}
		if i.Glance != nil {
			bills = append(bills, i.Billed)
		}
		i.Created, i.Last, i.Changed, i.Subagents = i.Created.UTC(), i.Last.UTC(), i.Changed.UTC(), notNil(i.Subagents)
		sessionRow(t, i, short[n], opt.Now).noTab = hide
	}
	if opt.By != "" {
		return sessionsBy(w, list, bills, opt)
	}
	note := count(len(list), "session") + phraseIf(subagents > 0, ", %v of them subagents of others", subagents)
	if hidden := len(list) - MostSessions; hidden > 0 && !opt.All {
		notes = append(notes, opt.Hints.hidden(hidden, "session", "json and csv contain them"))
	} else if b := bill.OfEntries(bills...); b.CostUSD.Known || b.ClientUSD.Known {
		note += ", billed " + either(b.CostUSD.Known, billedAs(b, usdText(b.CostUSD)), "an amount that is not known"+clientReports(b))
		notes = append(notes, joined(" ", before("at least: ", shortText(b, nil))+phraseIf(b.AtLeast(), "."), copiesText(b.Copies)))
	}
	if counts[session.Unindexed] < len(list) {
		note += "; in the client's index: " + joined(", ", phraseIf(counts[session.Listed] > 0, "%v up to date", counts[session.Listed]),
			phraseIf(counts[session.Stale] > 0, "%v changed since it was written", counts[session.Stale]),
			phraseIf(counts[session.Missing] > 0, "%v without a file", counts[session.Missing]),
			phraseIf(counts[session.Unlisted] > 0, "%v not in it", counts[session.Unlisted]))
	}
	return listing(note, t, object{{"schema", SessionsSchema}, {"sessions", list}}, notes...).print(w, opt)
}

// leastID is the least length of a shortened id.
const leastID = 8

// SessionItems are sessions without their figures, with the beginnings of their ids that tell them apart.
func SessionItems(list []session.FileInfo) []SessionItem {
	items := make([]SessionItem, len(list))
	for i := range list {
		items[i].FileInfo = list[i]
	}
	for i, short := range itemIDs(items) {
		items[i].Short = short
	}
	return items
}

// itemIDs are the beginnings of the ids of sessions that tell them apart.
func itemIDs(list []SessionItem) []string {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	ids = shortIDs(ids)
	for i := range list {
		ids[i] = cmp.Or(list[i].Short, ids[i])
	}
	return ids
}

// shortIDs are the beginnings of ids that tell them apart.
func shortIDs(all []string) []string {
	ids := slices.Clone(all)
	sorted := slices.Sorted(slices.Values(ids))
	common := func(a, b string) (n int) {
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		return n
	}
	for i, id := range ids {
		at, _ := slices.BinarySearch(sorted, id)
		n := leastID
		if at > 0 {
			n = max(n, common(id, sorted[at-1])+1)
		}
		if at+1 < len(sorted) {
			n = max(n, common(id, sorted[at+1])+1)
		}
		for n < len(id) && !utf8.RuneStart(id[n]) {
			n++
		}
		ids[i] = id[:min(n, len(id))]
	}
	return ids
}

// Age is how long ago t was: minutes, hours, days, or years; "" where t is not known.
func Age(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	switch d := now.Sub(t); {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < day:
		return count(int(d/time.Hour), "hour")
	case d < 2*year:
		return count(int(d/day), "day")
	default:
		return count(int(d/year), "year")
	}
}

// headlineLength is the longest Headline, in columns.
const headlineLength = 72

// Headline is the session's title, or its first prompt, cut; of a subagent's session, which session started it before it.
func Headline(i *session.FileInfo) string {
	title := Clean(cmp.Or(i.Title, i.Prompt))
	if i.Parent != "" {
		parent := Clean(i.Parent)
		if len(parent) > leastID && !strings.Contains(parent[:leastID], "_") { // a name such as ses_… begins alike
			parent = parent[:leastID]
		}
		title = joined(": ", "subagent of "+parent, title)
	}
	return cut(title, headlineLength)
}

var fillSession = sync.OnceValue(filler[sessionCells, SessionItem])

func sessionRow(t *table, i *SessionItem, short string, now time.Time) *row {
	shown := func(n int) number { return number(phraseIf(n > 0, "%v", n)) }
	r := sessionCells{Session: pair{short, i.ID}, Age: number(Age(now, i.Used())), Project: pair{cut(Clean(projectName(i)), 24), i.Project}, Bytes: int(i.Size),
		Subagents: len(i.Subagents), Headline: Headline(&i.FileInfo), Client: client(i), Size: number(either(i.Size > 0, fileSize(i.Size), "")), Agents: shown(len(i.Subagents))}
	fillSession()(&r, i)
	if g := i.Glance; g != nil {
		r.Peak, r.LastContext, r.USD = pair{shown(g.PeakContext), g.PeakContext}, pair{shown(g.LastContext), g.LastContext}, pair{billCell(g.CostUSD, g.AtLeast, 2), g.CostUSD}
		r.Idle = pair{number(timeSpan(g.Idle)), decimal{g.Idle, 0}}
		r.Models = strings.Join(g.Models, " ")
	}
	return t.put(map[session.Standing]style{session.Missing: red, session.Stale: yellow}[i.Standing], r)
}

// projectName is the last part of the folder that a session was recorded in.
func projectName(i *SessionItem) string {
	project := cmp.Or(i.Project, i.Folder)
	return project[strings.LastIndexAny(project, `/\`)+1:]
}

// client is the client that recorded a session, and its version: Claude Code's alone.
func client(i *SessionItem) string {
	if i.Product == "" || i.Product == session.Product {
		return i.Version
	}
	return strings.TrimSpace(i.Product + " " + Clean(i.Version))
}

// timeSpan is a length of time: minutes, hours or days; "" where it is none.
func timeSpan(seconds float64) string {
	switch minutes := seconds / 60; {
	case minutes == 0:
		return ""
	case minutes < 60:
		return places(minutes, 0) + " min"
	case minutes < 48*60:
		return places(minutes/60, 1) + " h"
	default:
		return places(minutes/60/24, 1) + " days"
	}
}
