package report

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/report/golden"
)

func sampleSessions() []SessionItem {
	items := sampled[[]SessionItem]("sessions")
	items[0].Billed = []bill.Entry{{USD: price.USD{Nano: 12_345_678_901, Known: true}}}
	return items
}

// listed is when sessions are listed.
var listed = time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC)

func TestAge(t *testing.T) {
	for _, c := range []struct {
		ago  time.Duration
		want string
	}{
		{-time.Hour, "now"}, {0, "now"}, {time.Minute, "1 min"}, {59 * time.Minute, "59 min"}, {time.Hour, "1 hour"},
		{23 * time.Hour, "23 hours"}, {24 * time.Hour, "1 day"}, {729 * 24 * time.Hour, "729 days"}, {730 * 24 * time.Hour, "2 years"},
	} {
		must.Equal(t, Age(listed, listed.Add(-c.ago)), c.want, c.ago)
	}
	must.Equal(t, Age(listed, time.Time{}), "")
}

// TestMixedSessions holds that a narrow list of several agents' sessions says which agent each is of.
func TestMixedSessions(t *testing.T) {
	for _, product := range []string{"opencode", session.Product} {
		items := sampleSessions()
		items[1].Product, items[1].Version = product, "1.18.4"
		var b bytes.Buffer
		must.Do(t, Sessions(&b, items, Layout{Width: 80, Now: listed}))
		if got, want := strings.Contains(b.String(), "opencode 1.18.4"), product == "opencode"; got != want {
			t.Errorf("%s: client shown: %v:\n%s", product, got, b.String())
		}
	}
}

func TestShortIDs(t *testing.T) {
	list := strings.Fields("aaaaaaaa-1 big cccccccc-11 cccccccc-12 dddddddd-1 dddddddd-1 eeeeeeee eeeeeeee-1 0123456é")
	want := strings.Fields("aaaaaaaa big cccccccc-11 cccccccc-12 dddddddd-1 dddddddd-1 eeeeeeee eeeeeeee- 0123456é")
	must.Equal(t, shortIDs(list), want)
}

func samplePolicies() []PolicyInfo { return sampled[[]PolicyInfo]("policies") }

func TestListings(t *testing.T) {
	must.Rows(t, `
table    | txt
json     | json
csv      | csv
markdown | md
`, func(format Format, ext string) {
		var s, p bytes.Buffer
		must.Do(t, Sessions(&s, sampleSessions(), Layout{Now: listed, Format: format}))
		must.Do(t, Policies(&p, samplePolicies(), Layout{Format: format}))
		golden.Check(t, filepath.Join("testdata", "sessions."+ext), s.Bytes())
		golden.Check(t, filepath.Join("testdata", "policies."+ext), p.Bytes())
		for _, r := range s.String() {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Errorf("%s: %U in the output", format, r)
			}
		}
	})
	if err := Sessions(&bytes.Buffer{}, nil, Layout{Now: listed, Format: "xml"}); err == nil {
		t.Error("no error for a format that is not there")
	}
}

func TestLongListingsSayWhatTheyHide(t *testing.T) {
	list := make([]SessionItem, 250)
	for i := range list {
		list[i] = SessionItem{FileInfo: session.FileInfo{ID: "s", Path: "s.jsonl"}}
	}
	var b bytes.Buffer
	must.Do(t, Sessions(&b, list, Layout{Now: listed, Hints: Hints{All: "this shows them"}}))
	if !bytes.Contains(b.Bytes(), []byte("(50 more sessions hidden: this shows them, json and csv contain them)")) {
		t.Errorf("the end is %q", b.String()[b.Len()-100:])
	}
}

// TestSubagentHeadline: the headline of a subagent's session names the session that started it.
func TestSubagentHeadline(t *testing.T) {
	must.Rows(t, `
# parent | title | want
""           | a title | a title
019d7d08-46c9-7f73-affe-4e6ca9852d56 | a title | subagent of 019d7d08: a title
ses_20c685993ffe8NJ44bWWcyosxi | ""      | subagent of ses_20c685993ffe8NJ44bWWcyosxi
"x\u001b[1m" | t       | subagent of x\x1b[1m: t
`, func(parent, title, want string) {
		must.Equal(t, Headline(&session.FileInfo{Parent: parent, Title: title}), want, parent, title)
	})
}
