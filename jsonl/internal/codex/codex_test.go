package codex

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/report/golden"
)

// run converts a rollout and checks that every line of it is accounted for.
func run(t *testing.T, name string, content []byte) (lines []*jsonl.Entry, w *foreign.Writer) {
	t.Helper()
	var out bytes.Buffer
	w = foreign.NewWriter()
	f := Form()
	if err := w.Run(&f, bytes.NewReader(content), &out); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	units := 0
	for r := jsonl.NewReader(bytes.NewReader(content), name, jsonl.ReadOptions{}); r.Scan(); {
		units++
	}
	read, used, aside := w.Account()
	for _, n := range aside {
		used += n
	}
	if read != units || used != read {
		t.Fatalf("%s: %d units of %d, %d accounted for", name, read, units, used)
	}
	r := jsonl.NewReader(&out, name, jsonl.ReadOptions{})
	for r.Scan() {
		e := r.Item().Entry
		if e == nil {
			t.Fatalf("%s: a line was written that is none: %v", name, r.Item().Err)
		}
		kept := *e
		kept.Raw = bytes.Clone(e.Raw)
		kept.Message.Content = slices.Clone(e.Message.Content)
		lines = append(lines, &kept)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return lines, w
}

// outline is a line in short: its origin, type and content.
func outline(w *foreign.Writer, n int, e *jsonl.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", w.Origin(n), e.Type)
	for _, f := range []struct {
		set  bool
		name string
	}{{e.IsMeta, "meta"}, {e.IsCompactSummary, "summary"}, {e.NoRequest, "no-request"}, {e.HasParent && e.ParentUUID == "", "root"}} {
		if f.set {
			b.WriteString(" " + f.name)
		}
	}
	if e.Subtype != "" {
		b.WriteString(" " + e.Subtype)
	}
	if e.Message.Model != "" {
		fmt.Fprintf(&b, " %s %s", e.Message.ID, e.Message.Model)
	}
	if e.Message.HasUsage {
		u := e.Message.Usage
		fmt.Fprintf(&b, " usage %d+%d %d/%d", u.Input, u.CacheRead, u.Output, u.Thinking)
	}
	for _, bl := range e.Message.Content {
		fmt.Fprintf(&b, " %s", bl.Type)
		if bl.ID != "" {
			b.WriteString(":" + bl.ID)
		}
		if bl.Name != "" {
			b.WriteString(":" + bl.Name)
		}
		fmt.Fprintf(&b, "(%d", max(bl.Text.Bytes, bl.JSON.Bytes))
		if bl.Signature > 0 {
			fmt.Fprintf(&b, " signed %d", bl.Signature)
		}
		b.WriteString(")")
	}
	if raw := e.CompactMetadata; raw != nil {
		b.WriteString(" " + string(raw))
	}
	if raw := e.Attachment; raw != nil {
		fmt.Fprintf(&b, " %.40s", raw)
	}
	if e.LeafUUID != "" {
		b.WriteString(" leaf " + e.LeafUUID)
	}
	return b.String()
}

func TestConvert(t *testing.T) {
	for _, name := range []string{"rollout", "fork", "early", "earlyfork", "late", "parentless", "old", "local", "server"} {
		content := must.Get(os.ReadFile("testdata/" + name + ".jsonl"))(t)
		lines, w := run(t, name, content)
		var got strings.Builder
		for i, e := range lines {
			if e.Type == foreign.TypeSession {
				fmt.Fprintf(&got, "%s\n", e.Raw)
				continue
			}
			fmt.Fprintln(&got, outline(w, i+1, e))
		}
		_, _, aside := w.Account()
		list := must.Get(json.Marshal(aside))(t)
		fmt.Fprintf(&got, "set aside: %s\n", list)
		for _, r := range w.Remarks {
			fmt.Fprintf(&got, "%d %s %s\n", r.Line, r.Code, r.Text)
		}
		golden.Check(t, "testdata/"+name+".want", []byte(got.String()))
	}
}

// TestOwnSummary: a response is a compaction's summary where it is all of it, and not where the summary ends as it does.
func TestOwnSummary(t *testing.T) {
	content := must.Get(os.ReadFile("testdata/local.jsonl"))(t)
	must.Rows(t, `
# with | want
Use it:\nTwo files           | 2
Use it:\nIn short: Two files | 1
`, func(with string, want int) {
		_, w := run(t, "local", bytes.ReplaceAll(content, []byte("Use it:\\nTwo files"), []byte(with)))
		if _, _, aside := w.Account(); aside[asideSummary] != want {
			t.Errorf("%s: %d lines are of summaries, want %d", with, aside[asideSummary], want)
		}
	})
}

func TestLooks(t *testing.T) {
	must.Rows(t, `
{"timestamp":"2026-05-01T10:00:00Z","type":"session_meta","payload":{"id":"x"}} | true
"rubbish\n{\"type\":\"response_item\",\"payload\":{\"type\":\"message\"}}" | true
{"type":"event_msg","payload":[]} | false
{"type":"user","message":{"role":"user","content":"hello"}} | false
{"type":"session","payload":{}} | false
"" | false
`, func(text string, want bool) {
		must.Equal(t, foreign.Looks(foreign.NewBeginning([]byte(text), true), "", []foreign.Form{Form()}) != nil, want, text)
	})
}

func TestAdded(t *testing.T) {
	must.Rows(t, `
"\u0023 AGENTS.md instructions for /x\n<INSTRUCTIONS>\na\n</INSTRUCTIONS>\n" | true
" <ENVIRONMENT_CONTEXT>x</environment_context>" | true
"<turn_aborted>\nx\n</turn_aborted>" | true
"<codex_internal_context source=\"goal\">\nx\n</codex_internal_context>" | true
<external_page>x</external_page> | true
Warning: The maximum number of unified exec processes you can keep open is 60 | true
<environment_context> is a tag | false
hello | false
""    | false
`, func(said string, want bool) {
		raw := must.Get(json.Marshal([]text{{Type: "input_text", Text: "first"}, {Type: "input_text", Text: said}}))(t)
		must.Equal(t, added(raw), want, said)
	})
}

func TestShortened(t *testing.T) {
	must.Rows(t, `
# text | room | want
0123456789 | 4 | 01…2 tokens truncated…89
0123456789 | 5 | 01…2 tokens truncated…789
ééééé      | 4 | é…2 tokens truncated…é
ééééé      | 6 | é…1 tokens truncated…é
0123456789 | 0 | …3 tokens truncated…
`, func(text string, room int, want string) {
		must.Equal(t, shortened(text, room), want, text, room)
	})
}

// mutants are mutations of rollouts: lines dropped, doubled, moved, cut, glued, mixed, bytes changed.
func mutants(files [][]byte, n int, each func(seed int, content []byte)) {
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 17)) //nolint:gosec // mutations are to be the same each time
		lines := bytes.SplitAfter(files[seed%len(files)], []byte("\n"))
		lines = slices.Clone(lines[:min(len(lines), 400)])
		for range 1 + r.IntN(6) {
			i, j := r.IntN(len(lines)), r.IntN(len(lines))
			switch r.IntN(8) {
			case 0:
				lines[i] = nil
			case 1:
				lines[i] = lines[j]
			case 2:
				lines[i], lines[j] = lines[j], lines[i]
			case 3:
				lines[i] = lines[i][:r.IntN(len(lines[i])+1)]
			case 4:
				lines[i] = append(bytes.TrimSuffix(bytes.Clone(lines[i]), []byte("\n")), lines[j]...)
			case 5:
				if b := bytes.Clone(lines[i]); len(b) > 0 {
					b[r.IntN(len(b))] = "\"{}[]:,0\x00\xff\n"[r.IntN(11)]
					lines[i] = b
				}
			case 6: // another type of value
				old := []string{`"call_id":"`, `"output":"`, `"total_tokens":`, `"content":[`, `"type":"`, `"turn_id":"`, `"input_tokens":`}[r.IntN(7)]
				with := []string{`"x":"`, `"call_id":"`, `"output":{},"y":"`, `"total_tokens":-`, `"content":null,"z":[`, `"input_tokens":9`}[r.IntN(6)]
				lines[i] = bytes.Replace(lines[i], []byte(old), []byte(with), 1+r.IntN(2))
			case 7: // a line of another file
				other := bytes.SplitAfter(files[r.IntN(len(files))], []byte("\n"))
				lines[i] = other[r.IntN(min(len(other), 400))]
			}
		}
		each(seed, bytes.Join(lines, nil))
	}
}

func fixtures(t testing.TB) (files [][]byte) {
	for _, name := range []string{"rollout", "fork", "early", "earlyfork", "late", "old"} {
		b := must.Get(os.ReadFile("testdata/" + name + ".jsonl"))(t)
		files = append(files, b)
	}
	return files
}

// corpus are the beginnings of real rollouts.
func corpus(t testing.TB, most int64) (files [][]byte) {
	list := must.Get(filepath.Glob(filepath.Join(os.Getenv("CTXKIT_CODEX"), "*.jsonl.gz")))(t)
	for _, path := range list {
		f := must.Get(os.Open(path))(t)
		z := must.Get(gzip.NewReader(f))(t)
		b := must.Get(io.ReadAll(io.LimitReader(z, most)))(t)
		files = append(files, b)
		f.Close()
	}
	return files
}

// Nothing panics, and every line of a mutated rollout is used or set aside.
func TestMutants(t *testing.T) {
	mutants(fixtures(t), 300, func(seed int, content []byte) {
		lines, _ := run(t, fmt.Sprint("mutant ", seed), content)
		uuids := map[string]bool{}
		for _, e := range lines {
			if e.UUID != "" && uuids[e.UUID] {
				t.Fatalf("mutant %d: the uuid %s twice", seed, e.UUID)
			}
			uuids[e.UUID] = true
			if e.ParentUUID != "" && !uuids[e.ParentUUID] && !bytes.Contains(content, []byte(`"forked_from_id":"`+e.ParentUUID)) && !bytes.Contains(content, []byte(`"forked_from_id": "`+e.ParentUUID)) {
				t.Fatalf("mutant %d: the parent %s is not written before", seed, e.ParentUUID)
			}
		}
	})
	if os.Getenv("CTXKIT_CODEX") == "" {
		t.Skip("CTXKIT_CODEX is not set: no real session is mutated")
	}
	mutants(corpus(t, 1<<18), 200, func(seed int, content []byte) {
		run(t, fmt.Sprint("real mutant ", seed), content)
	})
}

func FuzzConvert(f *testing.F) {
	for _, b := range fixtures(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		run(t, "fuzzed", content)
	})
}

// A compaction with which a turn begins is by change of model or effort where the turn goes on with others, and little
// of the window is used.
func TestTrigger(t *testing.T) {
	must.Rows(t, `
# name | model | effort | total | early | want
another model  | gpt-5.4-mini | medium | 26900  | false | model_change
another effort | gpt-5.6-sol  | high   | 26900  | false | model_change
no change      | gpt-5.6-sol  | medium | 26900  | false | auto
near the limit | gpt-5.4-mini | medium | 230000 | false | auto
in a turn      | gpt-5.4-mini | medium | 26900  | true  | auto
`, func(name, theModel, theEffort string, theTotal int, early bool, want string) {
		count := func(total int) string {
			return fmt.Sprintf(`{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":%[1]d},"last_token_usage":{"input_tokens":%[1]d,"total_tokens":%[1]d},"model_context_window":258400}}}`, total)
		}
		settings := func(model, effort string) string {
			return fmt.Sprintf(`{"type":"turn_context","payload":{"model":%q,"effort":%q}}`, model, effort)
		}
		say := func(role, text string) string {
			return fmt.Sprintf(`{"type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":"input_text","text":%q}]}}`, role, text)
		}
		lines := []string{
			`{"type":"session_meta","payload":{"id":"s","cli_version":"0.145.0"}}`, `{"type":"event_msg","payload":{"type":"task_started","turn_id":"1"}}`,
			settings("gpt-5.6-sol", "medium"), say("user", "read"), say("assistant", "done"), count(theTotal), `{"type":"event_msg","payload":{"type":"task_complete"}}`,
			`{"type":"event_msg","payload":{"type":"task_started","turn_id":"2"}}`,
		}
		if early {
			lines = append(lines, say("user", "go on"))
		}
		lines = append(lines, `{"type":"compacted","payload":{"message":"","replacement_history":[{"type":"compaction","encrypted_content":"AAAA"}]}}`,
			settings(theModel, theEffort), say("user", "more"), say("assistant", "ok"), count(theTotal+9000))
		out, _ := run(t, name, []byte(strings.Join(lines, "\n")))
		got := ""
		for _, e := range out {
			var meta struct{ Trigger string }
			if e.CompactMetadata != nil && json.Unmarshal(e.CompactMetadata, &meta) == nil {
				got += meta.Trigger
			}
		}
		must.Equal(t, got, want, name)
	})
}
