package cmd

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/payloads"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// labGaps are the requests of sessions whose marks are at other places, and those that are not equal as a whole but for
// placeholders, each in the place of one block that no line has. No conversation is among them, no block of a true request is
// missing that the file has as a whole, and ours alone are placeholders alone. Every other session has no gap.
var labGaps = map[string]labRow{
	// Where files that changed outside are named is on no line before 2.1.91, nor is what is sent again after a compaction.
	"claude-2.1.19": {Marks: 2, Whole: 13},
	"claude-2.1.37": {Marks: 2, Whole: 13},
	"claude-2.1.76": {Marks: 3, Whole: 13},
}

// labRow is a row of the table: what is not so.
type labRow struct{ Sessions, Requests, Conversation, Whole, Missing, Others, Marks, Compactions int }

func (row *labRow) sum(r labRow) {
	row.Sessions += r.Sessions
	row.Requests += r.Requests
	row.Conversation += r.Conversation
	row.Whole += r.Whole
	row.Missing += r.Missing
	row.Others += r.Others
	row.Marks += r.Marks
	row.Compactions += r.Compactions
}

// TestLab holds what the recorded track sends of real clients' sessions against what they really sent. CTXKIT_LAB names
// the folder of sessions and requests.
func TestLab(t *testing.T) {
	dir := folderOf(t, "CTXKIT_LAB")
	names := must.Glob(t, 1, dir, "claude-*", "requests.ndjson.gz")
	var mu sync.Mutex
	sums := map[string]*labRow{} // by release
	t.Cleanup(func() { labTables(t, sums) })
	for _, requests := range names {
		name := filepath.Base(filepath.Dir(requests))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := labOf(t, filepath.Dir(requests))
			t.Logf("%+v", got)
			mu.Lock()
			got.Sessions = 1
			for _, of := range []string{strings.SplitN(name, "-", 3)[1], "all"} {
				if sums[of] == nil {
					sums[of] = &labRow{}
				}
				sums[of].sum(got)
			}
			mu.Unlock()
			gap := labGaps[name]
			if got.Conversation > gap.Conversation || got.Whole > gap.Whole || got.Missing > gap.Missing || got.Others > gap.Others || got.Marks > gap.Marks || got.Compactions > gap.Compactions {
				t.Errorf("gaps %+v, at most %+v are known", got, gap)
			}
		})
	}
}

// labTables holds the table of docs/agents.md against the sums by release.
func labTables(t *testing.T, sums map[string]*labRow) {
	if sums["all"] == nil || sums["all"].Sessions < 44 {
		return // some were asked for
	}
	text := must.Get(os.ReadFile("../docs/agents.md"))(t)
	for release, s := range sums {
		row := fmt.Sprintf("\n| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", release, s.Sessions, s.Requests, s.Requests-s.Conversation, s.Requests-s.Whole, s.Compactions, s.Missing, s.Others, s.Requests-s.Marks)
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/agents.md has no row %s", row)
		}
	}
}

// labRequest is a line of requests.ndjson.
type labRequest struct {
	N      int
	Who    string
	Of     string // in whose conversation a summary is asked for: "subagent", else the session's own
	Answer struct {
		ID    string
		Error any
		U     struct{ Total, Read int }
	}
	System, Tools struct{ SHA256 string }
}

func labOf(t *testing.T, dir string) (row labRow) {
	all, sent := labRead(t, dir), labSent(t, dir)
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
	for _, path := range files {
		f, rec := labLoad(t, path)
		s := must.Get(payloads.Score(rec, nil, sent))(t)
		for i := range s.Results {
			c := &s.Results[i]
			row.Requests++
			row.Missing += c.Missing
			row.Others += c.Extra
			if !c.Conversation {
				row.Conversation++
			}
			if !labWhole(&c.BodyComparison) {
				row.Whole++
			}
			if !c.Marks {
				row.Marks++
			}
		}
		summaries := labSummaries(all, labLines(t, path))
		row.Compactions += max(len(f.Main.Boundaries)-summaries, summaries-len(f.Main.Boundaries))
		f.Close()
	}
	return row
}

// labWhole reports whether all blocks of a request are those that were sent, with one placeholder in the place of each that no
// line has.
func labWhole(c *payloads.BodyComparison) bool {
	type place struct{ message, block int }
	left := map[place]int{}
	for _, d := range c.Differences {
		switch at := (place{d.Message, d.Block}); d.What {
		case payloads.Unheld:
			left[at]++
		case payloads.StandIn:
			left[at]--
		default:
			return false
		}
	}
	for _, n := range left {
		if n != 0 {
			return false
		}
	}
	return true
}

// TestLabOnRecord holds that the requests that a session file of a newer client holds are those that were sent, with
// everything of their messages, those of subagents too.
func TestLabOnRecord(t *testing.T) {
	dir := folderOf(t, "CTXKIT_LAB")
	dir = filepath.Clean(dir)
	held := 0
	for _, pattern := range []string{"*.jsonl.gz", "*/subagents/*.jsonl.gz"} {
		files := must.Get(filepath.Glob(filepath.Join(dir, "claude-2.1.3*", pattern)))(t)
		for _, path := range files {
			f, rec := labLoad(t, path)
			log := must.Get(requestsOf(f.Main))(t)
			if log == nil {
				f.Close()
				continue
			}
			top := path
			for filepath.Dir(top) != dir {
				top = filepath.Dir(top)
			}
			s := must.Get(payloads.Score(rec, log, labSent(t, top)))(t)
			if s.Record.Whole != s.Record.Requests || s.Record.Found != s.Record.Messages {
				t.Errorf("%s: %+v", path, s.Record)
			}
			for i := range s.Results {
				c := &s.Results[i]
				if c.Track != payloads.OnRecord {
					continue
				}
				if held++; !c.Whole || !c.Marks {
					t.Errorf("%s: request %d: %+v", path, c.Request, c.BodyComparison)
				}
			}
			f.Close()
		}
	}
	t.Logf("%d requests", held)
	if held < 200 {
		t.Errorf("%d requests are on record", held)
	}
}

// TestLabFramed holds that a request on record that no policy changes is what was sent, block by block.
func TestLabFramed(t *testing.T) {
	dir := folderOf(t, "CTXKIT_LAB")
	files := must.Get(filepath.Glob(filepath.Join(dir, "claude-2.1.3*", "*.jsonl.gz")))(t)
	n := 0
	for _, path := range files {
		f, rec := labLoad(t, path)
		log := must.Get(requestsOf(f.Main))(t)
		if log == nil {
			f.Close()
			continue
		}
		track := replay.RecordedTrack()
		must.Do(t, rec.EachView(track, replay.Options{}, func(k int, v *view.View) bool {
			q := requestAt(log, f.Main, k)
			if q == nil {
				return true
			}
			sent := must.Get(log.Body(q))(t)
			rebuilt := must.Get(wire.RequestBody(v, track))(t)
			same := must.Get(wire.RequestBody(v, track))(t)
			want := string(sent.Append(nil))
			payloads.Framed(sent, rebuilt, same)
			if got := string(sent.Append(nil)); got != want {
				t.Errorf("%s: request %d:\n%.3000s\nwant\n%.3000s", path, k, got, want)
			}
			n++
			return !t.Failed()
		}))
		f.Close()
	}
	if n < 200 {
		t.Errorf("%d requests", n)
	}
}

func labLoad(t *testing.T, path string) (*session.File, *replay.Record) {
	f := must.Get(session.Load(path, session.LoadOptions{}))(t)
	rec := must.Get(replay.NewRecord(f.Main))(t)
	return f, rec
}

// labSummaries counts the calls for summaries that a file's session made.
func labSummaries(all []labRequest, raw string) (n int) {
	named := slices.ContainsFunc(all, func(r labRequest) bool { return r.Answer.ID != "" })
	for _, r := range all {
		if r.Who == "summary" && r.Answer.Error == nil && (!named || r.Answer.ID != "" && strings.Contains(raw, "request "+jsonText(r.N)+".")) {
			n++
		}
	}
	return n
}

func jsonText(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// labLines is the text of a packed file, without the lines that hold requests.
func labLines(t *testing.T, path string) string {
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	unpacked := must.Get(gzip.NewReader(file))(t)
	raw := must.Get(io.ReadAll(unpacked))(t)
	var out strings.Builder
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, `{"type":"api-request`) {
			out.WriteString(line)
		}
	}
	return out.String()
}

func labRead(t *testing.T, dir string) (all []labRequest) {
	for dec := json.NewDecoder(strings.NewReader(labLines(t, filepath.Join(dir, "requests.ndjson.gz")))); ; {
		var r labRequest
		if err := dec.Decode(&r); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
}

// labSent are the same requests, to compare others with.
func labSent(t *testing.T, dir string) []payloads.TrueRequest {
	sent, _, err := payloads.ReadTrue(dir, strings.NewReader(labLines(t, filepath.Join(dir, "requests.ndjson.gz"))))
	if err != nil {
		t.Fatal(err)
	}
	return sent
}
