package cmd

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// labGaps are the requests of sessions that are not rebuilt yet: conversations that differ, blocks that only the true
// request has though all their lines are on the file, blocks of ours that are no placeholders, and marks at other places.
// Every other session has none.
var labGaps = map[string]labRow{
	"claude-2.1.119-hooks":        {Missing: 10, Others: 24, Marks: 5},
	"claude-2.1.119-mcp":          {Marks: 1},
	"claude-2.1.119-parallel":     {Conversation: 3},
	"claude-2.1.119-plan":         {Conversation: 4, Missing: 4, Others: 4},
	"claude-2.1.19":               {Missing: 12, Others: 19, Marks: 2},
	"claude-2.1.260-mcp":          {Marks: 1},
	"claude-2.1.332-hooks":        {Missing: 6},
	"claude-2.1.332-model":        {Conversation: 6, Others: 8},
	"claude-2.1.332-sumfrom-opus": {Missing: 10, Others: 10},
	"claude-2.1.37":               {Missing: 12, Others: 19, Marks: 2},
	"claude-2.1.76":               {Missing: 16, Others: 26, Marks: 4},
}

// labRow is a row of the table.
type labRow struct{ Requests, Conversation, Missing, Others, Marks, Compactions int }

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
	for _, requests := range names {
		name := filepath.Base(filepath.Dir(requests))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := labOf(t, filepath.Dir(requests))
			t.Logf("%+v", got)
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
	Messages      []labMessage
}

type labMessage struct {
	Role    string
	Content json.RawMessage
}

// labBlock is a block as it is compared.
type labBlock struct {
	role, kind, id, text string
	message, at          int
	marked               bool
}

func labOf(t *testing.T, dir string) (row labRow) {
	all := labRead(t, dir)
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
	for _, path := range files {
		raw := labLines(t, path)
		f, err := session.Load(path, session.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rec, err := replay.NewRecord(f.Main)
		if err != nil {
			t.Fatal(err)
		}
		at, summaries := labMatch(f.Main, all, raw)
		row.Compactions += max(len(f.Main.Boundaries)-summaries, summaries-len(f.Main.Boundaries))
		for n, r := range at {
			v, err := rec.ViewAt(replay.RecordedTrack(), replay.Options{}, n)
			if err != nil {
				t.Fatal(err)
			}
			body, err := wire.Payload(v, replay.RecordedTrack())
			if err != nil {
				t.Fatal(err)
			}
			text, err := body.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			var sent struct{ Messages []labMessage }
			if err := json.Unmarshal(text, &sent); err != nil {
				t.Fatal(err)
			}
			row.add(labBlocks(r.Messages), labBlocks(sent.Messages), raw)
		}
		f.Close()
	}
	return row
}

func (row *labRow) add(want, got []labBlock, raw string) {
	row.Requests++
	prompts := map[string]bool{}
	for _, b := range want {
		prompts[labCut(b.text)] = true
	}
	if !slices.Equal(labCore(want, nil), labCore(got, prompts)) {
		row.Conversation++
	}
	key := func(b labBlock) [3]string { return [3]string{b.kind, b.id, b.text} }
	count := map[[3]string]int{}
	for _, b := range got {
		count[key(b)]++
	}
	for _, b := range want {
		if count[key(b)]--; count[key(b)] < 0 && labOnFile(b.text, raw) {
			row.Missing++
		}
	}
	for k, n := range count {
		if !strings.Contains(k[2], "[placeholder for ") {
			row.Others += max(n, 0)
		}
	}
	marks := func(list []labBlock) (at [][2]int) {
		for _, b := range list {
			if b.marked {
				at = append(at, [2]int{b.message, b.at})
			}
		}
		return at
	}
	if !slices.Equal(marks(want), marks(got)) {
		row.Marks++
	}
}

// labMatch finds the request that was sent as request n, by the id of the answer where the log names it.
func labMatch(conv *session.Conversation, all []labRequest, raw string) (at map[int]labRequest, summaries int) {
	at, named := map[int]labRequest{}, slices.ContainsFunc(all, func(r labRequest) bool { return r.Answer.ID != "" })
	ids, n := map[string]int{}, 0
	for k := range conv.Requests {
		ids[conv.Messages[conv.Requests[k].Message].ID] = k + 1
	}
	for _, r := range all {
		switch {
		case r.Answer.Error != nil || named && r.Answer.ID == "":
		case r.Who == "summary" && (!named || strings.Contains(raw, "request "+jsonText(r.N)+".")):
			summaries++
		case r.Who == "main" && !named:
			n++
			if n <= len(conv.Requests) {
				at[n] = r
			}
		case r.Who == "main" && ids[r.Answer.ID] > 0:
			at[ids[r.Answer.ID]] = r
		}
	}
	return at, summaries
}

func jsonText(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func labBlocks(messages []labMessage) (list []labBlock) {
	message, at, role := -1, 0, ""
	for _, m := range messages {
		if m.Role != role { // messages of one role in a row count as one
			message, at, role = message+1, 0, m.Role
		}
		var blocks []map[string]json.RawMessage
		var text string
		if json.Unmarshal(m.Content, &text) == nil {
			blocks = []map[string]json.RawMessage{{"type": []byte(`"text"`), "text": m.Content}}
		} else {
			_ = json.Unmarshal(m.Content, &blocks)
		}
		for _, b := range blocks {
			kind := labText(b["type"])
			l := labBlock{role: m.Role, kind: kind, message: message, at: at, marked: b["cache_control"] != nil}
			switch kind {
			case "tool_use":
				var input any
				_ = json.Unmarshal(b["input"], &input)
				l.id, l.text = labText(b["id"]), jsonText(input)
			case "tool_result":
				l.id, l.text = labText(b["tool_use_id"]), labText(b["content"])
			case "thinking":
				l.text = labText(b["thinking"])
			default:
				l.text = labText(b["text"])
			}
			list = append(list, l)
			at++
		}
	}
	return list
}

// labText is the text of a content.
func labText(raw json.RawMessage) string {
	var text string
	var parts []map[string]json.RawMessage
	if json.Unmarshal(raw, &text) == nil || json.Unmarshal(raw, &parts) != nil {
		return text
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		if texts[i] = labText(p["text"]); p["text"] == nil {
			texts[i] = string(p["tool_name"]) + string(p["source"])
		}
	}
	return strings.Join(texts, "\n")
}

// labCore is what persons, models and tools said, without the client's own words.
func labCore(blocks []labBlock, prompts map[string]bool) (list [][3]string) {
	for _, b := range blocks {
		text := b.text
		if b.kind != "tool_use" {
			text = labCut(text)
		}
		if b.role == "system" || text == "" || prompts != nil && b.role == "user" && b.kind == "text" && !prompts[text] {
			continue
		}
		list = append(list, [3]string{b.kind, b.id, text})
	}
	return list
}

var (
	labReminder = regexp.MustCompile(`\s*<system-reminder>|</system-reminder>\s*`)
	labOwn      = regexp.MustCompile(`(?s)^Tool loaded\.$|\[placeholder for [^\]]*\]\n?|^\[SYSTEM NOTIFICATION - NOT USER INPUT\].*No human input[^<]*`)
	labQueued   = regexp.MustCompile(`(?s)^The user sent a new message while you were working:\n(.*?)\n\n(This is how|IMPORTANT).*$`)
)

// labCut is a text without reminders, which may hold others, and other words of the client.
func labCut(text string) string {
	text = labQueued.ReplaceAllString(labOwn.ReplaceAllString(text, ""), "$1")
	var out strings.Builder
	depth, from := 0, 0
	for _, at := range labReminder.FindAllStringIndex(text, -1) {
		opens := strings.HasSuffix(text[at[0]:at[1]], "<system-reminder>")
		if depth == 0 {
			out.WriteString(text[from:at[0]])
		}
		if from = at[1]; opens {
			depth++
		} else {
			depth = max(depth-1, 0)
		}
	}
	if depth == 0 {
		out.WriteString(text[from:])
	}
	return strings.TrimSpace(out.String())
}

// labOnFile reports whether every line of a block is on some line of the file.
func labOnFile(text, raw string) bool {
	for _, line := range strings.Split(labReminder.ReplaceAllString(text, ""), "\n") {
		var quoted bytes.Buffer
		enc := json.NewEncoder(&quoted)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(strings.TrimSpace(line))
		if q := quoted.String(); !strings.Contains(raw, q[1:len(q)-2]) {
			return false
		}
	}
	return true
}

func labOpen(t *testing.T, path string) io.Reader {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	r, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func labRead(t *testing.T, dir string) (list []labRequest) {
	dec := json.NewDecoder(labOpen(t, filepath.Join(dir, "requests.ndjson.gz")))
	for {
		var r labRequest
		switch err := dec.Decode(&r); err {
		case nil:
			list = append(list, r)
		case io.EOF:
			return list
		default:
			t.Fatal(err)
		}
	}
}

// labLines is the text of a file, without the lines that hold requests.
func labLines(t *testing.T, path string) string {
	var out strings.Builder
	lines := bufio.NewReader(labOpen(t, path))
	for {
		line, err := lines.ReadString('\n')
		if !strings.HasPrefix(line, `{"type":"api-request`) {
			out.WriteString(line)
		}
		if err != nil {
			return out.String()
		}
	}
}
