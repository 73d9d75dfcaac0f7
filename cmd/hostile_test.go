package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// hostile is text that a terminal or a reader would be misled by: escape sequences in 7 and 8 bits, backspaces,
// directions, tags, invisible marks, and bytes that are no UTF-8.
const hostile = "\x1b[31mred\x1b]0;title\x07 \x08\x08 \u009b31m\u0085\x7f \u202egnp.exe\u2066\u200f \ufeff\u00ad\u2028\u2029 \U000e0041 \r\t<RAW>"

// rawBytes go where <RAW> stands, past the JSON encoder.
const rawBytes = "\x9b31m\xff\xc2"

// hostileSession is a session with hostile text in every field a client writes.
func hostileSession(t *testing.T) []byte {
	t.Helper()
	id := func(s string) string { return s + hostile }
	line := func(kind string, n int, rest map[string]any) map[string]any {
		m := map[string]any{
			"type": kind, "uuid": id(fmt.Sprintf("u%d", n)), "sessionId": id("s"), "version": id("2.1.19"), "cwd": id("/home/"),
			"gitBranch": id("main"), "timestamp": "2026-01-15T09:00:00.000Z", "slug": id("slug"), "agentId": id(""),
		}
		if n > 0 {
			m["parentUuid"] = id(fmt.Sprintf("u%d", n-1))
		}
		for k, v := range rest {
			m[k] = v
		}
		return m
	}
	usage := map[string]any{"input_tokens": 100000, "output_tokens": 10, "cache_read_input_tokens": 70000, "service_tier": hostile}
	say := func(role string, content ...any) map[string]any {
		m := map[string]any{"role": role, "content": content}
		if role == "assistant" {
			m["id"], m["model"], m["usage"], m["stop_reason"] = id("m"+fmt.Sprint(len(content))), id("claude-"), usage, id("stop")
		}
		return map[string]any{"message": m}
	}
	text := map[string]any{"type": "text", "text": hostile}
	lines := []any{
		map[string]any{"type": "summary", "summary": hostile, "leafUuid": id("u5")},
		line("user", 0, say("user", text)),
		line("assistant", 1, say("assistant", map[string]any{"type": "thinking", "thinking": hostile, "signature": hostile},
			map[string]any{"type": "tool_use", "id": id("toolu_"), "name": id("Bash"), "input": map[string]any{hostile: hostile, "nested": []any{hostile}}})),
		line("user", 2, say("user", map[string]any{"type": "tool_result", "tool_use_id": id("toolu_"), "content": strings.Repeat(hostile+"\n", 400)})),
		line("attachment", 3, map[string]any{"attachment": map[string]any{"type": id("file"), "content": hostile, "filename": hostile}}),
		line("user", 4, say("user", map[string]any{"type": id("image"), "source": map[string]any{"media_type": hostile}}, text)),
		line("assistant", 5, say("assistant", text, map[string]any{"type": id("new"), "x": hostile})),
		line("system", 6, map[string]any{"subtype": id("compact_boundary"), "content": hostile}),
		line(id("strange"), 7, map[string]any{"content": hostile}),
	}
	var b bytes.Buffer
	for _, l := range lines {
		js, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(bytes.ReplaceAll(js, []byte(`\u003cRAW\u003e`), []byte(rawBytes)))
		b.WriteByte('\n')
	}
	b.WriteString("{\"broken\": \"" + rawBytes + "\x1b[2J\n" + "// a comment \x1b[2J " + rawBytes + "\n")
	return b.Bytes()
}

// ours is the colours that the program sets itself.
var ours = regexp.MustCompile("\x1b\\[(0|1|2|31|32|33|36|1;31)m")

// inert reports what in a text is not, or "".
func inert(text []byte) string {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		bad := r == utf8.RuneError && n == 1 || r != '\n' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029' ||
			unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' || unicode.Is(unicode.Co, r)
		if bad {
			return fmt.Sprintf("%U in %q", r, text[max(i-60, 0):min(i+20, len(text))])
		}
		i += n
	}
	return ""
}

// TestHostile feeds hostile text to every command that reads sessions, in every format, coloured or not: whatever the
// exit code, nothing of it reaches the terminal as it was. Each command line takes one of the inputs in turn;
// CTXKIT_LONG=1 tries all.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s1.jsonl")
	if err := os.WriteFile(file, hostileSession(t), 0o644); err != nil {
		t.Fatal(err)
	}
	misnamed := filepath.Join(dir, "a\x1b[31m\u202eb\u009b.jsonl")
	if err := os.WriteFile(misnamed, hostileSession(t), 0o644); err != nil {
		t.Logf("no such file name here: %v", err)
		misnamed = file
	}
	replays := []string{"--policy", "claude-code-2.1.19", "--set", "window.context=60000", "--set", "autocompact.summary=outline"}
	needs := map[string][]string{
		"sweep":   append(slices.Clone(replays), "--vary", "window.buffer=1000,2000"),
		"compare": {"--policy", "claude-code-2.1.19,window.context=60000,autocompact.summary=outline", "--policy", "none"},
	}
	more := map[string][][]string{
		"compare": {{"--by", "project"}, {"--by", "version", "--all"}},
		"view":    {{"--as", "model"}, {"--as", "payload"}, {"--as", "raw"}, {"--as", "scrollback"}, {"--as", "transcript"}, {"--as", "raw", "--full"}, {"--as", "transcript", "--full"}},
		"stats":   {{"--all"}},
		"diff":    {{"--full"}, {"--stat"}, {"--against", "three-layer"}, {"--from", "1"}, {"--at", "all"}},
	}
	// What anonymize writes is a session again: see TestHostileAnonymized.
	only := map[string][][]string{"anonymize": {{"--check"}}}
	inputs := []struct{ path, color string }{{file, "never"}, {misnamed, "never"}, {file, "always"}, {dir, "never"}}
	tried, shown := 0, 0
	for _, c := range newRoot(newSystem(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})).Commands() {
		if !strings.Contains(c.Use, "INPUT") && c.Name() != "sessions" {
			continue
		}
		for _, format := range formatsOf(c) {
			extras := append(slices.Clone(more[c.Name()]), nil)
			if list, ok := only[c.Name()]; ok {
				extras = list
			}
			for _, extra := range extras {
				taken := inputs[tried%len(inputs):][:1]
				if long() {
					taken = inputs
				}
				for _, in := range taken {
					args := append([]string{c.Name(), in.path, "--format", format, "--color", in.color}, extra...)
					if need, ok := needs[c.Name()]; ok {
						args = append(args, need...)
					} else if c.Flags().Lookup("policy") != nil {
						args = append(args, replays...)
					}
					var out, said bytes.Buffer
					Main(args, strings.NewReader(""), &out, &said)
					tried++
					if needs[c.Name()] != nil && out.Len() == 0 {
						t.Errorf("%q was not run: %s", args, said.Bytes())
					}
					text := out.Bytes()
					shown += bytes.Count(text, []byte(`\x1b[31mred`))
					if in.color == "always" {
						text = ours.ReplaceAll(text, nil)
					}
					if bad := inert(text); bad != "" {
						t.Errorf("%q prints %s", args, bad)
					}
					if bad := inert(said.Bytes()); bad != "" {
						t.Errorf("%q says %s", args, bad)
					}
				}
			}
		}
	}
	if tried < 70 || shown < 100 {
		t.Errorf("%d command lines were tried, the text was met %d times", tried, shown)
	}
}

// TestHostileAnonymized holds that a session with substitutes can be printed: what a terminal acts on, and what
// cannot be seen, has some as well. Line ends stay, and where a line is no JSON because of a control character, one
// that does nothing keeps it so.
func TestHostileAnonymized(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s1.jsonl")
	if err := os.WriteFile(file, hostileSession(t), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	if code := Main([]string{"anonymize", file}, strings.NewReader(""), &out, &said); code != exitDone {
		t.Fatalf("exit code %d: %s", code, said.Bytes())
	}
	for text := out.Bytes(); len(text) > 0; {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1 && text[0] > 0x9f, r == 1: // bytes that are no UTF-8 stay such, and no control characters of 8 bits
		case r >= 0xe0020 && r < 0xe007f: // a flag's letters: they are others now
		case r == utf8.RuneError && n == 1:
			t.Fatalf("it prints the byte %#x in %.80q", text[0], text)
		default:
			if bad := inert(text[:n]); bad != "" {
				t.Fatalf("it prints %s before %.80q", bad, text)
			}
		}
		text = text[n:]
	}
	if bad := inert(said.Bytes()); bad != "" {
		t.Errorf("it says %s", bad)
	}
	if bytes.Count(out.Bytes(), []byte("\n")) != bytes.Count(hostileSession(t), []byte("\n")) {
		t.Error("lines are lost")
	}
}

// TestHostileCheck has check name hostile cases, files and sessions in every format: passed, failed, and where
// nothing can be read.
func TestHostileCheck(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CI", "")
	t.Setenv("GITHUB_ACTIONS", "")
	misnamed := "a\x1b[31m\u202eb\u009b.jsonl"
	if err := os.WriteFile(filepath.Join(dir, misnamed), hostileSession(t), 0o644); err != nil {
		t.Skipf("no such file name here: %v", err)
	}
	config := func(name string, buffer int) {
		text := fmt.Sprintf(`version: 1
sessions: ["*.jsonl"]
baseline: base.json
cases:
  - name: %s
    policy: claude-code-2.1.19
    set: {window.context: 60000, autocompact.summary: outline, window.buffer: %d}
    expect:
      model_peak: {max: 1}
      misses: {max: 10}
`, name, buffer)
		if err := os.WriteFile(filepath.Join(dir, "c\x1b[31m.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(wantOut bool, args ...string) {
		var out, said bytes.Buffer
		Main(append([]string{"check", filepath.Join(dir, "c\x1b[31m.yaml")}, args...), strings.NewReader(""), &out, &said)
		if wantOut && out.Len() == 0 {
			t.Errorf("%q prints nothing: %s", args, said.Bytes())
		}
		if bad := inert(out.Bytes()); bad != "" {
			t.Errorf("%q prints %s", args, bad)
		}
		if bad := inert(said.Bytes()); bad != "" {
			t.Errorf("%q says %s", args, bad)
		}
	}
	formats := formatsOf(newCheck(newSystem(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})))
	if len(formats) < 5 {
		t.Fatalf("formats %q", formats)
	}
	for _, format := range formats {
		config(`"case \e]0;title\a \b\x7f \u202e\u009b31m\r"`, 13000)
		run(false, "--format", format)
		config("plain", 13000)
		run(false, "--format", format)
		run(true, "--format", format, "--update")
		run(true, "--format", format)
		config("plain", 1000)
		run(true, "--format", format)
		if err := os.WriteFile(filepath.Join(dir, "base.json"), []byte("{\"x\x1b\": \x9b"), 0o644); err != nil {
			t.Fatal(err)
		}
		run(false, "--format", format)
		if err := os.Remove(filepath.Join(dir, "base.json")); err != nil {
			t.Fatal(err)
		}
	}
}

// formatsOf are the values of a command's --format, as its help lists them.
func formatsOf(c *cobra.Command) (list []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "format" {
			_, names, _ := strings.Cut(f.Usage, ": ")
			list = strings.Split(names, ", ")
		}
	})
	return list
}
