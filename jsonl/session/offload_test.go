package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// stub is the text the client leaves for an offloaded result.
func stub(path string) string {
	return "<persisted-output>\nOutput too large (43.9KB). Full output saved to: " + path + "\n\nPreview (first 2KB):\nsome lines\n...\n</persisted-output>"
}

// offloaded is a round whose result is a stub.
func offloaded(id, path string) string {
	return file(
		transcript(`user u1 - hello`), called("a1", "u1", "m1", id),
		user("r1", "a1", []any{line{"type": "tool_result", "tool_use_id": id, "content": stub(path)}}), transcript(`said a2 r1 m2`),
	)
}

// inFolder writes files into a new folder and gives its path.
func inFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func loadFile(t *testing.T, path string, opt session.LoadOptions) *session.Conversation {
	t.Helper()
	f := must.Get(session.Load(path, opt))(t)
	t.Cleanup(func() { f.Close() })
	balanced(t, f)
	checkConversation(t, f.Main)
	return f.Main
}

// TestOffload: offloaded results are found beside the session and read back.
func TestOffload(t *testing.T) {
	text := strings.Repeat("zeile mit \"Anführung\" und 漢字 🙂\n", 5000)
	must.Rows(t, `
# name | session | result | path | opt
by the call's id        | s.jsonl                   | s/tool-results/toolu_1.txt   | /home/u/.claude/s/tool-results/toolu_1.txt | ""
an array                | s.jsonl                   | s/tool-results/toolu_1.json  | /home/u/.claude/s/tool-results/toolu_1.json | ""
by the name in the stub | s.jsonl                   | s/tool-results/b12345678.txt | /home/u/.claude/s/tool-results/b12345678.txt | ""
by the name in a stub of another system | s.jsonl                   | s/tool-results/b12345678.txt | C:\Users\u\s\tool-results\b12345678.txt | ""
a subagent's            | s/subagents/agent-1.jsonl | s/tool-results/toolu_1.txt   | x | ""
a folder given          | s.jsonl                   | elsewhere/toolu_1.txt        | x | elsewhere
`, func(name, theSession, result, path, theOpt string) {
		t.Run(name, func(t *testing.T) {
			dir := inFolder(t, map[string]string{theSession: offloaded("toolu_1", path), result: text})
			var opt session.LoadOptions
			if theOpt != "" {
				opt.Offload = filepath.Join(dir, theOpt)
			}
			conv := loadFile(t, filepath.Join(dir, theSession), opt)
			wantNoWarning(t, conv)
			bl := conv.Messages[2].Blocks[0]
			if conv.Offloads != (session.OffloadCount{Read: 1}) || bl.Offload == nil {
				t.Fatalf("%+v, offload %v", conv.Offloads, bl.Offload)
			}
			if want := jsonl.Measure(text); bl.Offload.Text != want {
				t.Errorf("lengths %+v, want %+v", bl.Offload.Text, want)
			}
			if want := filepath.Join(dir, filepath.FromSlash(result)); bl.Offload.Path != want {
				t.Errorf("path %s, want %s", bl.Offload.Path, want)
			}
			must.Both(conv.OffloadText(2, 0))(t, text, nil)
			must.Both(conv.OffloadText(0, 0))(t, "", nil)
		})
	})
}

// TestOffloadBytes: what is no UTF-8 reads as U+FFFD, in the lengths too.
func TestOffloadBytes(t *testing.T) {
	for _, text := range []string{"", "a\xffb\xe6", "\xf0\x9f\x98", strings.Repeat("x", 65535) + "漢", strings.Repeat("\xe6", 70000), strings.Repeat("🙂\x00\n", 40000)} {
		dir := inFolder(t, map[string]string{"s.jsonl": offloaded("t1", "x"), "s/tool-results/t1.txt": text})
		conv := loadFile(t, filepath.Join(dir, "s.jsonl"), session.LoadOptions{})
		got := must.Get(conv.OffloadText(2, 0))(t)
		if want := jsonl.Measure(got); conv.Messages[2].Blocks[0].Offload.Text != want {
			t.Errorf("%.10q: lengths %+v, want %+v", text, conv.Messages[2].Blocks[0].Offload.Text, want)
		}
	}
}

// TestOffloadMissing: a file that is not there is a warning.
func TestOffloadMissing(t *testing.T) {
	for _, files := range []map[string]string{
		{},
		{"s/tool-results/other.txt": "x"},
		{"toolu_1.txt": "x", "s/toolu_1.txt": "x", "tool-results/toolu_1.txt": "x"},
	} {
		files["s.jsonl"] = offloaded("toolu_1", "/x/toolu_1.txt")
		conv := loadFile(t, filepath.Join(inFolder(t, files), "s.jsonl"), session.LoadOptions{})
		same(t, (session.OffloadCount{Missing: 1}), conv.Offloads)
		wantWarning(t, conv, 3, "missing", "toolu_1")
	}
	// A stream has no folder beside it.
	conv := loadText(t, offloaded("toolu_1", "/x/toolu_1.txt"), session.LoadOptions{}).Main
	must.Equal(t, conv.Offloads.Missing, 1, conv.Offloads)
}

// TestOffloadQuoted: a result that quotes a stub is none.
func TestOffloadQuoted(t *testing.T) {
	for _, s := range []string{"the source says " + stub("/x/toolu_1.txt"), stub("/x/toolu_1.txt") + strings.Repeat("x", 100000)} {
		dir := inFolder(t, map[string]string{
			"s.jsonl":                    file(transcript(`user u1 - hello; called a1 u1 m1 toolu_1`), user("r1", "a1", []any{line{"type": "tool_result", "tool_use_id": "toolu_1", "content": s}})),
			"s/tool-results/toolu_1.txt": "x",
		})
		must.Equal(t, loadFile(t, filepath.Join(dir, "s.jsonl"), session.LoadOptions{}).Offloads, session.OffloadCount{})
	}
}

// TestOffloadHostile: nothing outside the folder is ever read, whatever a session says.
func TestOffloadHostile(t *testing.T) {
	const secret = "a secret"
	ids := []string{"..", ".", "../secret", "../../secret", "/etc/passwd", "sub/inside", `..\secret`, `C:\secret`, "secret\x00", ".hidden", strings.Repeat("x", 300), "a:b", "ünï"}
	for _, id := range ids {
		dir := inFolder(t, map[string]string{
			"s.jsonl": offloaded(id, "/x/../../secret.txt"), "secret.txt": secret, "s/secret.txt": secret,
			"s/tool-results/sub/inside.txt": secret, "s/tool-results/.hidden.txt": secret,
		})
		conv := loadFile(t, filepath.Join(dir, "s.jsonl"), session.LoadOptions{})
		same(t, (session.OffloadCount{Refused: 1}), conv.Offloads, id)
		wantWarning(t, conv, 3, "not read")
	}
	// The path in the stub is never followed, only its last element.
	outside := inFolder(t, map[string]string{"secret.txt": secret})
	for _, path := range []string{filepath.Join(outside, "secret.txt"), "../secret.txt", "/etc/passwd", "..", "", ".hidden"} {
		dir := inFolder(t, map[string]string{"s.jsonl": offloaded("t1", path), "s/secret.txt": secret, "s/tool-results/.hidden": secret})
		conv := loadFile(t, filepath.Join(dir, "s.jsonl"), session.LoadOptions{})
		same(t, (session.OffloadCount{Missing: 1}), conv.Offloads, path)
	}
}

// TestCorpusOffloads reads the offloaded results of real sessions back.
func TestCorpusOffloads(t *testing.T) {
	dir, files := corpusFiles(t)
	var sum session.OffloadCount
	for _, path := range files {
		f := must.Get(session.Load(path, session.LoadOptions{}))(t)
		for _, conv := range f.Conversations() {
			sum.Read += conv.Offloads.Read
			sum.Missing += conv.Offloads.Missing
			sum.Refused += conv.Offloads.Refused
			checkOffloads(t, conv)
		}
		f.Close()
	}
	t.Logf("%d read back, %d missing, %d refused", sum.Read, sum.Missing, sum.Refused)
	found := must.Get(filepath.Glob(filepath.Join(dir, "*", "*", "tool-results", "*")))(t)
	if sum.Read == 0 && len(found) > 0 {
		t.Errorf("%d files of offloaded results, none read back", len(found))
	}
	if sum.Refused > 0 {
		t.Errorf("%d files refused", sum.Refused)
	}
}

func checkOffloads(t *testing.T, conv *session.Conversation) {
	t.Helper()
	for m := range conv.Messages {
		for b := range conv.Messages[m].Blocks {
			bl := &conv.Messages[m].Blocks[b]
			if bl.Offload == nil {
				continue
			}
			text, err := conv.OffloadText(m, b)
			if err != nil {
				t.Error(err)
				continue
			}
			same(t, bl.Offload.Text, jsonl.Measure(text), bl.Offload.Path)
			// The stub's preview is the beginning of what was offloaded.
			left, err := conv.Text(m, b)
			if err != nil {
				t.Error(err)
				continue
			}
			if _, preview, ok := strings.Cut(left, "Preview (first 2KB):\n"); ok {
				if head := preview[:min(len(preview), 500)]; !strings.HasPrefix(text, head) {
					t.Logf("%s does not begin with its stub's preview", filepath.Base(bl.Offload.Path))
				}
			}
		}
	}
}
