package cmd

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/payloads"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// labGaps are the requests of sessions that are not rebuilt: blocks that only the true request has though all their lines
// are on the file, blocks of ours that are no placeholders, and marks at other places. No conversation is among them, and
// every other session has none. Each has a limit that the files set.
var labGaps = map[string]labRow{
	// Reminders of clients before 2.1.91 are on no line, and where they are part of a result, or stand before the place of a
	// mark, is known to no file: files changed outside, lists of tasks and skills.
	"claude-2.1.19": {Others: 7, Marks: 2},
	"claude-2.1.37": {Others: 7, Marks: 2},
	"claude-2.1.76": {Others: 10, Marks: 4},
	// What a hook said that kept the agent from stopping is sent twice, once it is read back: not by the process that wrote it.
	"claude-2.1.119-hooks": {Others: 2, Marks: 1},
	// The words around what that hook said are on another line by chance; ours have a placeholder.
	"claude-2.1.332-hooks": {Missing: 6},
	// Files that are attached behind the summary of "Summarize from here" end their lines.
	"claude-2.1.332-sumfrom-opus": {Missing: 10, Others: 10},
}

// labRow is a row of the table.
type labRow struct{ Requests, Conversation, Missing, Others, Marks, Compactions int }

func (row *labRow) sum(r labRow) {
	row.Requests += r.Requests
	row.Conversation += r.Conversation
	row.Missing += r.Missing
	row.Others += r.Others
	row.Marks += r.Marks
	row.Compactions += r.Compactions
}

// TestLab holds what the recorded track sends of real clients' sessions against what they really sent. CTXKIT_LAB names
// the folder of sessions and requests.
func TestLab(t *testing.T) {
	dir := os.Getenv("CTXKIT_LAB")
	if dir == "" {
		t.Skip("CTXKIT_LAB names no folder")
	}
	names, err := filepath.Glob(filepath.Join(dir, "claude-*", "requests.ndjson.gz"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d sessions, %v", len(names), err)
	}
	var mu sync.Mutex
	var sum labRow
	t.Cleanup(func() { t.Logf("all %d sessions: %+v", len(names), sum) })
	for _, requests := range names {
		name := filepath.Base(filepath.Dir(requests))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := labOf(t, filepath.Dir(requests))
			t.Logf("%+v", got)
			mu.Lock()
			sum.sum(got)
			mu.Unlock()
			gap := labGaps[name]
			if got.Conversation > gap.Conversation || got.Missing > gap.Missing || got.Others > gap.Others || got.Marks > gap.Marks || got.Compactions > gap.Compactions {
				t.Errorf("gaps %+v, at most %+v are known", got, gap)
			}
		})
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
		s, err := payloads.Score(rec, nil, sent)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Results {
			c := &s.Results[i]
			row.Requests++
			row.Missing += c.Missing
			row.Others += c.Extra
			if !c.Conversation {
				row.Conversation++
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

// TestLabOnRecord holds that the requests that a session file of a newer client holds are those that were sent, with
// everything of their messages, those of subagents too.
func TestLabOnRecord(t *testing.T) {
	dir := os.Getenv("CTXKIT_LAB")
	if dir == "" {
		t.Skip("CTXKIT_LAB names no folder")
	}
	dir = filepath.Clean(dir)
	held := 0
	for _, pattern := range []string{"*.jsonl.gz", "*/subagents/*.jsonl.gz"} {
		files, err := filepath.Glob(filepath.Join(dir, "claude-2.1.3*", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			f, rec := labLoad(t, path)
			log, err := requestsOf(f.Main)
			if err != nil {
				t.Fatal(err)
			}
			if log == nil {
				f.Close()
				continue
			}
			top := path
			for filepath.Dir(top) != dir {
				top = filepath.Dir(top)
			}
			s, err := payloads.Score(rec, log, labSent(t, top))
			if err != nil {
				t.Fatal(err)
			}
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
	dir := os.Getenv("CTXKIT_LAB")
	if dir == "" {
		t.Skip("CTXKIT_LAB names no folder")
	}
	files, err := filepath.Glob(filepath.Join(dir, "claude-2.1.3*", "*.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range files {
		f, rec := labLoad(t, path)
		log, err := requestsOf(f.Main)
		if err != nil {
			t.Fatal(err)
		}
		if log == nil {
			f.Close()
			continue
		}
		track := replay.RecordedTrack()
		err = rec.EachView(track, replay.Options{}, func(k int, v *view.View) bool {
			q := requestAt(log, f.Main, k)
			if q == nil {
				return true
			}
			sent, err := log.Body(q)
			if err != nil {
				t.Fatal(err)
			}
			rebuilt, err := wire.Payload(v, track)
			if err != nil {
				t.Fatal(err)
			}
			same, err := wire.Payload(v, track)
			if err != nil {
				t.Fatal(err)
			}
			want := string(sent.Append(nil))
			payloads.Framed(sent, rebuilt, same)
			if got := string(sent.Append(nil)); got != want {
				t.Errorf("%s: request %d:\n%.3000s\nwant\n%.3000s", path, k, got, want)
			}
			n++
			return !t.Failed()
		})
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if n < 200 {
		t.Errorf("%d requests", n)
	}
}

func labLoad(t *testing.T, path string) (*session.File, *replay.Record) {
	f, err := session.Load(path, session.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := replay.NewRecord(f.Main)
	if err != nil {
		t.Fatal(err)
	}
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
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
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
	sent, err := payloads.ReadTrue(dir, strings.NewReader(labLines(t, filepath.Join(dir, "requests.ndjson.gz"))))
	if err != nil {
		t.Fatal(err)
	}
	return sent
}
