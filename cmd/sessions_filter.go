package cmd

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/report"
)

// sessionFilter says which sessions are listed, and in which order.
type sessionFilter struct {
	Source  string // the client that recorded; "": any
	Project string `flag:"project" usage:"only sessions whose project's folder contains <TEXT>, in any case"`
	Since   string `flag:"since" usage:"only sessions used at <TIME> or later: 2026-01-31, 2026-01-31T12:00:00Z, or how long ago: 90min, 12h, 7d, 2w" values:"1h,24h,7d,30d"`
	Until   string `flag:"until" usage:"only sessions used last at <TIME> or earlier; of a date the whole day, in the time zone" values:"1h,24h,7d,30d"`
	Model   string `flag:"model" usage:"only sessions with a request to a model whose name contains <TEXT>, in any case"`
	Grep    string `flag:"grep" usage:"only sessions whose title, first prompt, id or folder matches a regular expression (<PATTERN>), in any case"`
	Sort    string // a sortKey
	Limit   int    `flag:"limit" usage:"only the first <N>"`

	pattern      *regexp.Regexp
	since, until time.Time // zero: no limit
}

// A sortKey is an order of sessions. Those that it does not tell apart stay in the order of their last use.
type sortKey struct {
	name   string
	known  func(a, b *session.FileInfo) int // by what is known before files are read
	figure func(g *replay.Glance) float64   // by what is read, the largest first
}

func sortKeys() []sortKey {
	return []sortKey{
		{name: "age", known: func(_, _ *session.FileInfo) int { return 0 }},
		{name: "begun", known: func(a, b *session.FileInfo) int { return b.Created.Compare(a.Created) }},
		{name: "project", known: func(a, b *session.FileInfo) int { return strings.Compare(a.Project, b.Project) }},
		{name: "size", known: func(a, b *session.FileInfo) int { return cmp.Compare(b.Size, a.Size) }},
		{name: "requests", figure: func(g *replay.Glance) float64 { return float64(g.Requests) }},
		{name: "peak", figure: func(g *replay.Glance) float64 { return float64(g.PeakContext) }},
		{name: "last", figure: func(g *replay.Glance) float64 { return float64(g.LastContext) }},
		{name: "compactions", figure: func(g *replay.Glance) float64 { return float64(g.Compactions) }},
		{name: "cost", figure: func(g *replay.Glance) float64 { return float64(g.CostUSD.Nano) }},
		{name: "idle", figure: func(g *replay.Glance) float64 { return g.Idle }},
	}
}

func sortKeyOf(name string) *sortKey {
	list := sortKeys()
	return &list[slices.Index(sortNames(), name)]
}

// sort sorts sessions. Those whose figures are not read come last.
func (k *sortKey) sort(items []report.SessionItem) {
	figure := func(i *report.SessionItem) float64 {
		if i.Glance == nil {
			return -1
		}
		return k.figure(i.Glance)
	}
	slices.SortStableFunc(items, func(a, b report.SessionItem) int {
		if k.known != nil {
			return k.known(&a.FileInfo, &b.FileInfo)
		}
		return cmp.Compare(figure(&b), figure(&a))
	})
}

func sortNames() (names []string) {
	for _, k := range sortKeys() {
		names = append(names, k.name)
	}
	return names
}

func (o *sessionFilter) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Source, "source", "", "only sessions of an `AGENT`: "+strings.Join(agents(), ", "))
	complete(cmd, "source", agents())
	f.StringVar(&o.Sort, "sort", "age", "order by `FIGURE`: "+strings.Join(sortNames(), ", ")+"; the newest or largest first")
	complete(cmd, "sort", sortNames())
	declare(cmd, o)
}

// agents are the clients whose sessions are read.
func agents() []string {
	list := []string{session.Product}
	for _, f := range session.Forms() {
		list = append(list, f.Name)
	}
	return slices.Compact(list)
}

func (o *sessionFilter) check() (err error) {
	if o.Limit < 0 {
		return fmt.Errorf("flag --limit: %d: want 1 or more, or 0 for all", o.Limit)
	}
	if o.pattern, err = regexp.Compile("(?i)" + o.Grep); err != nil {
		return fmt.Errorf("flag --grep: %w: write \\ before a character that is meant as it is", err)
	}
	if o.Source != "" {
		if err := oneOf("--source", o.Source, agents()); err != nil {
			return err
		}
	}
	return oneOf("--sort", o.Sort, sortNames())
}

// times reads the flags of time. Dates are days in a zone.
func (o *sessionFilter) times(now time.Time, zone *time.Location) (err error) {
	if o.since, err = moment("--since", o.Since, now, zone, false); err == nil {
		o.until, err = moment("--until", o.Until, now, zone, true)
	}
	return err
}

// agoForm is how long ago a time is.
var agoForm = pattern.New(`^(\d{1,6})(min|h|d|w)$`)

// moment reads a time: a date in a zone, nil is UTC: the end of its day or the beginning; a time in RFC 3339; or how long
// before now it is. "" is the zero time.
func moment(flag, text string, now time.Time, zone *time.Location, end bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if m := agoForm().FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		switch m[2] {
		case "min":
			return now.Add(-time.Duration(n) * time.Minute), nil
		case "h":
			return now.Add(-time.Duration(n) * time.Hour), nil
		case "d":
			return now.AddDate(0, 0, -n), nil
		default:
			return now.AddDate(0, 0, -7*n), nil
		}
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, cmp.Or(zone, time.UTC)); err == nil {
		if end {
			t = t.AddDate(0, 0, 1).Add(-1)
		}
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("flag %s: %q is not a time: write 2026-01-31, 2026-01-31T12:00:00Z, or how long ago: 90min, 12h, 7d, 2w", flag, text)
	}
	return t, nil
}

// listed reports whether a session is listed, by what is known before its file is read.
func (o *sessionFilter) listed(i *session.FileInfo) bool {
	used := i.Used()
	return (o.Source == "" || o.Source == cmp.Or(i.Product, session.Product)) &&
		strings.Contains(strings.ToLower(cmp.Or(i.Project, i.Folder)), strings.ToLower(o.Project)) &&
		(o.since.IsZero() || !used.Before(o.since)) && (o.until.IsZero() || !used.IsZero() && !used.After(o.until)) &&
		slices.ContainsFunc([]string{i.Title, i.Prompt, i.ID, i.Project, i.Folder}, o.pattern.MatchString)
}

// hasModel reports whether a session has a request to the model that is asked for.
func (o *sessionFilter) hasModel(i *report.SessionItem) bool {
	return o.Model == "" || i.Glance != nil && slices.ContainsFunc(i.Models, func(m string) bool {
		return strings.Contains(strings.ToLower(m), strings.ToLower(o.Model))
	})
}

// items are the sessions that are listed, in their order, with the figures that read gives them: at least those of the
// first shown, which are all where the order or a filter needs them.
func (o *sessionFilter) items(list []session.FileInfo, shown int, read func([]report.SessionItem) error) (items []report.SessionItem, err error) {
	newestFirst(list)
	for _, i := range report.SessionItems(list) { // ids as a command takes them: from among all sessions
		if o.listed(&i.FileInfo) {
			items = append(items, i)
		}
	}
	key := sortKeyOf(o.Sort)
	limit := func() {
		if o.Limit > 0 {
			items = items[:min(o.Limit, len(items))]
		}
	}
	if key.known != nil {
		key.sort(items)
		if o.Model == "" {
			limit()
		}
	}
	if key.figure != nil || o.Model != "" {
		shown = len(items)
	}
	if err := read(items[:min(shown, len(items))]); err != nil {
		return nil, err
	}
	items = slices.DeleteFunc(items, func(i report.SessionItem) bool { return !o.hasModel(&i) })
	if key.figure != nil {
		key.sort(items)
	}
	limit()
	return items, nil
}
