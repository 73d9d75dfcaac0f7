package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// hostile is text that a terminal or a reader would be misled by: escape sequences in 7 and 8 bits, hyperlinks, the
// clipboard, backspaces, NUL, directions, tags, invisible marks, and bytes that are no UTF-8; text that a browser, a
// Markdown renderer or a CI system would act on; and what ends the frame around a text.
const hostile = "\x1b[31mred\x1b]0;title\x07\x1b]8;;http://evil.example\x07\x1b]52;c;AAAA\x07 \x00 \x08\x08 \u009b31m\u0085\x7f \u202egnp.exe\u2066\u200f \ufeff\u00ad\u2028\u2029 \U000e0041 \r\t<RAW>" +
	`</script><script>alert(1)</script><img src=x onerror=alert(2)> " onmouseover="alert(3) ' x='javascript:alert(4)' <!-- --> ]]> <style>*{display:none}</style> &lt;script&gt; ${alert(5)} {{.}} ` +
	"<b>b</b> *i* **b** _i_ ~~s~~ | a | `code` ![i](http://evil.example/i.png) [l](javascript:alert(6)) <http://evil.example> https://evil.example www.evil.example a@evil.example " +
	"@octocat #12345 GH-12 o/r#7 [^1] :smile: $x$ \n::error file=a,line=1::INJECTED\n ##[error]INJECTED ##vso[task.setvariable]x ##teamcity[x]\n```\n\n# INJECTED\n\n- [ ] INJECTED\n\n---\n\n| a | b |\n|---|---|\n| c | d |\n"

// leads are what makes a text act by its beginning.
var leads = []string{
	"", "=cmd|'/c calc'!A1", "+1+2", "-1+2", "@SUM(1,2)", " =1+2", "\t=1+2", "＝1+2", "::error::INJECTED", " ::add-mask::INJECTED", "##[group]INJECTED", "# INJECTED", "> q", "- x", "1. x",
	"```", "    code", "| a | b |", "<script>alert(7)</script>", "<!--", "@octocat", "#1", "https://evil.example ", "---", "--help",
}

// rawBytes go where <RAW> stands, past the JSON encoder.
const rawBytes = "\x9b31m\xff\xc2"

// hostileSession is a session with hostile text in every field a client writes. Each begins with one of leads, another
// one each turn.
func hostileSession(t *testing.T, turn int) []byte {
	t.Helper()
	bad := func(field string) string {
		h := fnv.New32()
		h.Write([]byte(field))
		return leads[(int(h.Sum32()>>1)+turn)%len(leads)] + field + hostile
	}
	text := sessionLines(t, hostileLines, bad, func(kind string, n int, line map[string]any) {
		for key, field := range map[string]string{"sessionId": "s", "version": "2.1.19", "gitBranch": "main", "slug": "slug", "agentId": "agent"} {
			line[key] = bad(field)
		}
		line["uuid"], line["cwd"], line["timestamp"] = bad(fmt.Sprint("u", n)), "/home/"+bad("cwd"), "2026-01-15T09:00:00.000Z"
		if n > 0 {
			line["parentUuid"] = bad(fmt.Sprint("u", n-1))
		}
		if kind == "assistant" {
			message := line["message"].(map[string]any)
			message["id"], message["model"], message["stop_reason"] = bad(fmt.Sprint("m", len(message["content"].([]any)))), bad("claude-"), bad("stop")
			message["usage"] = map[string]any{"input_tokens": 100000, "output_tokens": 10, "cache_read_input_tokens": 70000, "service_tier": bad("tier")}
		}
	})
	title := sessionLines(t, `summary | {"summary":"‹title›","leafUuid":"‹u9›"}`, bad, func(string, int, map[string]any) {})
	text = bytes.ReplaceAll(append(title, text...), []byte(`\u003cRAW\u003e`), []byte(rawBytes))
	return append(text, "{\"broken\": \""+rawBytes+"\x1b[2J\n"+"// a comment \x1b[2J "+rawBytes+"\n"...)
}

const hostileLines = `
user       | [{"type":"text","text":"‹prompt›"}]
assistant  | [{"type":"thinking","thinking":"‹thought›","signature":"‹signature›"},{"type":"tool_use","id":"‹toolu_1›","name":"‹Tool›","input":{"‹key›":"‹value›","nested":["‹nested›"]}}]
user       | [{"type":"tool_result","tool_use_id":"‹toolu_1›","content":"‹result*150›","is_error":true}]
attachment | {"attachment":{"type":"‹file›","content":"‹attached›","filename":"‹name›"}}
user       | [{"type":"‹image›","source":{"media_type":"‹media›"}},{"type":"text","text":"‹prompt›"}]
assistant  | [{"type":"tool_use","id":"‹toolu_2›","name":"Read","input":{"file_path":"/home/‹cwd›/‹file.go›"}},{"type":"tool_use","id":"‹toolu_3›","name":"Bash","input":{"command":"‹command›","description":"‹description›"}},{"type":"tool_use","id":"‹toolu_4›","name":"Task","input":{"subagent_type":"‹type›","prompt":"‹task›"}}]
user       | [{"type":"tool_result","tool_use_id":"‹toolu_2›","content":"‹content*60›","is_error":false},{"type":"tool_result","tool_use_id":"‹toolu_3›","content":"‹output*60›","is_error":false},{"type":"tool_result","tool_use_id":"‹toolu_4›","content":"‹done›","is_error":false}]
assistant  | [{"type":"tool_use","id":"‹toolu_5›","name":"Read","input":{"file_path":"/home/‹cwd›/‹file.go›"}},{"type":"text","text":"‹prompt›"}]
user       | [{"type":"tool_result","tool_use_id":"‹toolu_5›","content":"‹content*60›","is_error":false}]
assistant  | [{"type":"text","text":"‹prompt›"},{"type":"‹new›","x":"‹x›"}]
system     | {"subtype":"‹compact_boundary›","content":"‹system›"}
system     | {"subtype":"compact_boundary","content":"‹system›","compactMetadata":{"trigger":"‹trigger›","preTokens":90000}}
user       | {"isCompactSummary":true,"message":{"role":"user","content":"‹summary›"}}
assistant  | [{"type":"text","text":"‹prompt›"}]
‹strange›  | {"content":"‹content›"}
`

var namedField = regexp.MustCompile(`‹([^›*]*)(?:\*(\d+))?›`)

// sessionLines are the lines of a session: a kind, and behind it the content of a message or the members of the line, as JSON. In
// the place of ‹NAME› comes what said gives, with *N as N lines. common adds to each line what all have.
func sessionLines(t *testing.T, text string, said func(name string) string, common func(kind string, n int, line map[string]any)) []byte {
	t.Helper()
	var b bytes.Buffer
	n := 0
	for row := range strings.Lines(strings.TrimSpace(text)) {
		row = namedField.ReplaceAllStringFunc(row, func(field string) string {
			m := namedField.FindStringSubmatch(field)
			s := said(m[1])
			if times, err := strconv.Atoi(m[2]); err == nil {
				s = strings.Repeat(s+"\n", times)
			}
			quoted := must.Get(json.Marshal(s))(t)
			return string(quoted[1 : len(quoted)-1])
		})
		at := strings.Index(row, " | {")
		if at < 0 {
			at = strings.Index(row, " | [{")
		}
		var kind string
		must.Do(t, json.Unmarshal([]byte(`"`+strings.TrimRight(row[:at], " ")+`"`), &kind))
		line := map[string]any{}
		content := row[at+len(" | "):]
		if content[0] == '[' {
			content = `{"message":{"role":"` + kind + `","content":` + content + `}}`
		}
		must.Do(t, json.Unmarshal([]byte(content), &line))
		line["type"] = kind
		common(kind, n, line)
		b.Write(append(must.Get(json.Marshal(line))(t), '\n'))
		n++
	}
	return b.Bytes()
}

// ours is the colours that the program sets itself.
var ours = regexp.MustCompile("\x1b\\[(0|1|2|31|32|33|36|1;31)m")

// TestHostile feeds hostile sessions to every command that reads some, in every format, coloured or not: whatever the
// exit code, nothing of them acts in what is printed or said. Each command line takes one of the inputs in turn;
// CTXKIT_LONG=1 tries all.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Skipf("no such file name here: %v", err)
		}
		return path
	}
	type input struct{ path, color string }
	var inputs []input
	for turn := range leads {
		if !must.CI() && turn%3 != 0 {
			continue
		}
		name := []string{"s1", "a\x1b[31m\u202eb\u009b", "=1+1 @octocat #1", "::error::x ##[error]x", "<b>x<!--![i](http:) `|` www.evil.example"}[turn%5]
		path := write(fmt.Sprintf("%d/%s.jsonl", turn, name), hostileSession(t, turn))
		inputs = append(inputs, input{path, strings.Fields("never always never never")[turn%4]})
		if turn%6 == 0 {
			write(fmt.Sprintf("%d/other.jsonl", turn), hostileSession(t, turn+7))
			inputs = append(inputs, input{filepath.Dir(path), "never"})
		}
	}
	large := bytes.Replace(hostileSession(t, 0), []byte("result\\u001b"), []byte(strings.Repeat("A", 5<<20)+"\\u001b"), 1)
	if must.CI() {
		inputs = append(inputs, input{write("large.jsonl", large), "never"})
	}
	if len(large) < 5<<20 {
		t.Fatal("nothing was enlarged")
	}
	const sets = ",window.context=60000,autocompact.summary=outline"
	replays := strings.Fields("--policy claude-code-2.1.19" + strings.ReplaceAll(sets, ",", " --set "))
	needs := map[string][]string{
		"sweep": append(slices.Clone(replays), "--vary", "window.buffer=1000,2000"), "compare": {"--policy", "claude-code-2.1.19" + sets, "--policy", "recorded"}, "anonymize": {"--check"},
	}
	more := map[string][][]string{}
	for line := range strings.Lines(`compare --by project
compare --by version --all
cost --verbose
view --as model --classes
view --as payload
view --as raw
view --as scrollback
view --as transcript
view --as raw --full
view --as transcript --full
replay --all --verbose
stats --all
why --all
diff --full
diff --stat
diff --against three-layer
diff --from 1
diff --at all
lint --all --verbose
sessions --sort cost`) {
		words := strings.Fields(line)
		more[words[0]] = append(more[words[0]], words[1:])
	}
	tried, shown := map[string]int{}, 0
	run := func(format string, prints bool, args ...string) {
		var out, said bytes.Buffer
		Main(args, strings.NewReader(""), &out, &said)
		tried[format]++
		if prints && out.Len() == 0 {
			t.Errorf("%q prints nothing: %s", args, said.Bytes())
		}
		text := out.Bytes()
		shown += bytes.Count(text, []byte(`alert(1)`))
		if slices.Contains(args, "always") {
			text = ours.ReplaceAll(text, nil)
		}
		if err := judge(format, text); err != nil && len(text) > 0 {
			t.Errorf("%q prints %v", args, err)
		}
		if format == "html" {
			if bad := inert(unfolded(t, text)); bad != "" || len(text) > 5_000_000 {
				t.Errorf("%q: the page has %d bytes, and texts with %s", args, len(text), bad)
			}
		}
		if err := judge("table", said.Bytes()); err != nil {
			t.Errorf("%q says %v", args, err)
		}
	}
	next := 0
	for _, c := range newRoot(newSystem(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})).Commands() {
		if !strings.Contains(c.Use, "INPUT") && c.Name() != "sessions" {
			continue
		}
		for _, format := range formatsOf(c) {
			extras := append(slices.Clone(more[c.Name()]), nil)
			if c.Flags().Lookup("no-text") != nil && (format == "html" || format == "svg") {
				extras = append(extras, []string{"--no-text"})
			}
			for _, extra := range extras {
				taken := inputs[next%len(inputs):][:1]
				if long() {
					taken = inputs
				}
				next++
				for _, in := range taken {
					folder := filepath.Ext(in.path) != ".jsonl"
					switch one := slices.Contains(strings.Fields("anonymize diff view"), c.Name()) || format == "svg"; {
					case one && folder:
						in.path = filepath.Join(in.path, "other.jsonl")
					case c.Name() == "sessions" && !folder:
						in.path = filepath.Dir(in.path)
					}
					args := append([]string{c.Name(), in.path, "--format", format, "--color", in.color}, extra...)
					if need, ok := needs[c.Name()]; ok {
						args = append(args, need...)
					} else if c.Flags().Lookup("policy") != nil {
						args = append(args, replays...)
					}
					// Rows are of single sessions: --by belongs to their merge.
					run(format, format != "rows" || !slices.Contains(extra, "--by"), args...)
				}
			}
		}
	}
	for _, format := range formatsOf(newCheck(newSystem(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}))) {
		hostileChecks(t, next, func(prints bool, args ...string) { run(format, prints, append(args, "--format", format)...) })
		next++
	}
	for format := range judges {
		if tried[format] < 2 {
			t.Errorf("format %s was tried %d times", format, tried[format])
		}
	}
	if shown < 1000 {
		t.Errorf("the text was met %d times", shown)
	}
}

// hostileChecks runs checks of a hostile session with hostile cases: passed, failed, and where nothing can be read.
func hostileChecks(t *testing.T, turn int, run func(prints bool, args ...string)) {
	t.Helper()
	t.Setenv("CI", "")
	t.Setenv("GITHUB_ACTIONS", "")
	dir := t.TempDir()
	config := filepath.Join(dir, "c\x1b[31m.yaml")
	write := func(path, text string) {
		writeFile(t, path, text)
	}
	write(filepath.Join(dir, "a\x1b[31m\u202eb\u009b @octocat #1 ##[error]x.jsonl"), string(hostileSession(t, turn)))
	put := func(name string, buffer int) {
		write(config, fmt.Sprintf(`version: 1
sessions: ["*.jsonl"]
baseline: base.json
cases:
  - name: %s
    policy: claude-code-2.1.19
    set: {window.context: 60000, autocompact.summary: outline, window.buffer: %d}
    expect:
      model_peak: {max: 1}
      misses: {max: 10}
`, name, buffer))
	}
	put(`"case \e]0;title\a \b\x7f \u202e\u009b31m\r"`, 13000)
	run(false, "check", config)
	put(`"::error::x ##[error]x %0A =1 @octocat #1 | ]]> <b> ![i](http://evil.example)"`, 13000)
	run(false, "check", config)
	run(true, "check", config, "--update")
	run(true, "check", config)
	put("plain", 1000)
	run(true, "check", config)
	write(filepath.Join(dir, "base.json"), "{\"x\x1b\": \x9b")
	run(false, "check", config)
}

// TestHostileAnonymized holds that a session with substitutes can be printed: what a terminal acts on, and what
// cannot be seen, has some as well. Line ends stay, and where a line is no JSON because of a control character, one
// that does nothing keeps it so.
func TestHostileAnonymized(t *testing.T) {
	text := hostileSession(t, 0)
	file := filepath.Join(t.TempDir(), "s1.jsonl")
	writeFile(t, file, string(text))
	code, out, said := ctxkit("anonymize", file)
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, said)
	}
	for text := []byte(out); len(text) > 0; {
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
	if bad := inert([]byte(said)); bad != "" {
		t.Errorf("it says %s", bad)
	}
	if strings.Count(out, "\n") != bytes.Count(text, []byte("\n")) {
		t.Error("lines are lost")
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
