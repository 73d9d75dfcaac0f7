package anonymize

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
)

// anonymized rewrites one file by itself.
func anonymized(t testing.TB, seed, text string, counters ...func([]byte) int) string {
	t.Helper()
	src := must.Get(jsonl.OpenReader("test.jsonl", strings.NewReader(text)))(t)
	defer src.Close()
	a := New(nil, seed, counters...)
	must.Do(t, a.Note(src, 1))
	var out bytes.Buffer
	must.Do(t, a.Write(src, "", 1, &out))
	for _, left := range a.Disclosure().Survived {
		t.Errorf("%q is left on %v: %q became %q", left.Word, left.Location, text, out.String())
	}
	return out.String()
}

func TestTextKeepsShape(t *testing.T) {
	a := New(nil, "seed")
	for _, s := range []string{
		"", "a", "the quick brown fox", "getHTTPServerName", "snake_case_name2", "/home/someone/src/main.go:42", "  12→func main() {",
		"toolu_01AbCdEf23", "4fbba14b-f505-5a47-0847-c5338888a7db", "Grüße, 日本語テキスト, Привет, שלום, 한국어 🙂 e\u0301", "\x1b[31mred\x1b[0m", "bad \xff bytes",
		strings.Repeat("QUJDREVG+/", 40),
	} {
		got := a.Text(s)
		if jsonl.Measure(got) != jsonl.Measure(s) || len(got) != len(s) {
			t.Errorf("%q became %q: %+v and %+v", s, got, jsonl.Measure(s), jsonl.Measure(got))
		}
		same(t, got, a.Text(s), s)
		letterRuns(s, func(run string) {
			if len(run) > 3 && strings.Contains(got, run) {
				t.Errorf("%q became %q: %q is left", s, got, run)
			}
		})
	}
	for _, s := range []string{
		"<command-name>/compact</command-name>", "[Old tool result content cleared]", "[Request interrupted by user for tool use]", "<persisted-output>",
		"<task_id></task_id>", "<status>completed</status>",
		"No response requested.", "Set effort level to ", "Effort level set to ",
	} {
		same(t, s, a.Text(s), "the client's own")
	}
}

func TestSeed(t *testing.T) {
	const line = `{"type":"user","uuid":"u-1","message":{"role":"user","content":"some private words"}}` + "\n"
	if anonymized(t, "a", line) == anonymized(t, "b", line) {
		t.Error("two seeds give one output")
	}
	for _, seed := range []string{"a", ""} {
		if once, again := anonymized(t, seed, line), anonymized(t, seed, line); once != again {
			t.Errorf("seed %q gives two outputs", seed)
		}
	}
	if anonymized(t, "", line) == anonymized(t, "", line+strings.Replace(line, "u-1", "u-2", 1)) {
		t.Error("without a seed the content does not decide")
	}
}

// What is rewritten and what stays, field by field.
func TestFields(t *testing.T) {
	in := `{"type":"assistant", "uuid":"aaaaaaaa-1111-2222-3333-bbbbbbbbbbbb","timestamp":"2026-01-02T03:04:05.678Z","version":"2.1.19","cwd":"/home/somebody/project",` +
		`"message":{"role":"assistant","model":"claude-opus-4-5-20251101","id":"msg_01ABC","content":[` +
		`{"type":"tool_use","id":"toolu_01XYZ","name":"Read","input":{"file_path":"/home/somebody/secret.txt","type":"personal","status":"completed","offset":17}},` +
		`{"type":"tool_use","id":"toolu_02XYZ","name":"mcp__private__lookup","input":{}}],"usage":{"input_tokens":5,"iterations":[{"model":"192.168.17.33"},{"model":"claude-5512345"},{"model":"claude-86512345"},{"model":"claude-29512345"},{"model":"claude-555-123-4567"},{"model":"claude-555-7654"},{"model":"2026-03-04"},{"version":"192.168.17.34"},{"version":"7.1"}]},"diagnostics":{"cache_miss_reason":{"type":"previous_message_not_found"}},` +
		`"context_management":{"applied_edits":[{"type":"clear_tool_uses_20250919"},{"type":"clear_thinking_20251015"}]}},"userType":"5513",` +
		`"toolUseResult":{"type":"text","file":{"content":"line\nwith \"quotes\" and \u00fcml\u00e4ut"}},"trackedFileBackups":{"private/path.go":{"version":1}}}` + "\n"
	out := anonymized(t, "seed", in)
	if len(out) != len(in) || !json.Valid([]byte(out)) {
		t.Fatalf("%d bytes became %d: %s", len(in), len(out), out)
	}
	for _, want := range []string{
		`"type":"assistant", "uuid":"`, `"timestamp":"2026-01-02T03:04:05.678Z"`, `"version":"2.1.19"`, `"model":"claude-opus-4-5-20251101"`,
		`"name":"Read"`, `"file_path":"/`, `"status":"completed"`, `"offset":17`, `"input_tokens":5`, `"version":"7.1"`, `"name":"mcp__`, `\n`, `\"`, `\u0`, `"role":"assistant"`,
		`"type":"previous_message_not_found"`, `"type":"clear_tool_uses_`, `"type":"clear_thinking_`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is gone:\n%s", want, out)
		}
	}
	for _, gone := range []string{"somebody", "secret", "personal", "private", "lookup", "quotes", "01XYZ", "aaaaaaaa", "path.go", "\\u00fcml", "192.168.17", "5512345", "86512345", "29512345", "555-123", "555-7654", "2026-03-04", "5513"} {
		if strings.Contains(out, gone) {
			t.Errorf("%s is left:\n%s", gone, out)
		}
	}
}

// TestBilling: what a bill is made of stays, and no text.
func TestBilling(t *testing.T) {
	const cost = `{"type":"cost-state","sessionId":"somebody","totalCostUSD":0.3513,"startTime":1795770000000,"modelUsage":{"claude-opus-5":{"inputTokens":6,"outputTokens":4150,"thinkingTokens":0,` +
		`"cacheReadInputTokens":20000,"cacheCreationInputTokens":20300,"webSearchRequests":7,"costUSD":0.3168},"claude-haiku-4-5":{"costUSD":0.0345}},"hasUnknownModelCost":false,"modelCallCostUSD":0.1,"note":"somebody"}`
	const usage = `"usage":{"input_tokens":412,"output_tokens":264,"server_tool_use":{"web_search_requests":3,"web_fetch_requests":1},"service_tier":"priority","inference_geo":"us","iterations":[` +
		`{"type":"message","model":"claude-fable-5","output_tokens":180},{"type":"advisor_message","model":"claude-opus-5","output_tokens":9},{"type":"fallback_message","model":"claude-opus-5","output_tokens":264}],"speed":"fast"}`
	const call = `{"type":"recorded-call","requestId":"somebody@2026","kind":"warming","model":"claude-opus-5","timestamp":"2026-11-20T09:00:00Z","requests":2,"usage":{"input_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":3},"cost_usd":0.25},"covers":["somebody"]}`
	out := anonymized(t, "seed", cost+"\n"+`{"type":"assistant","message":{"role":"assistant","id":"somebody",`+usage+`}}`+"\n"+call+"\n")
	lines := strings.Split(out, "\n")
	for i, in := range []string{cost, usage, call} {
		for _, part := range strings.Split(strings.NewReplacer(`{`, `,`, `}`, `,`, `[`, `,`, `]`, `,`).Replace(in), ",") {
			if stays := !strings.Contains(part, "somebody"); stays && !strings.Contains(lines[i], part) {
				t.Errorf("%s is gone: %s", part, lines[i])
			}
		}
	}
	if strings.Contains(out, "somebody") {
		t.Errorf("somebody is left: %s", out)
	}
}

// Lines that are no objects keep their place, and their ends.
func TestOtherLines(t *testing.T) {
	in := "\xEF\xBB\xBF{\"type\":\"user\",\"uuid\":\"u1\"}\r\n// a comment of somebody\n\n{\"type\":\"user\"}{\"type\":\"system\"}\nbroken {\"content\": somebody\n{\"type\":\"user\"}"
	out := anonymized(t, "seed", in)
	if len(out) != len(in) || strings.Contains(out, "somebody") || strings.Count(out, "\n") != strings.Count(in, "\n") || !strings.HasPrefix(out, "\xEF\xBB\xBF{") {
		t.Errorf("%q became %q", in, out)
	}
}

// What is read as a letter is one, whatever its category.
func TestLettersOfAllKinds(t *testing.T) {
	a := New(nil, "seed")
	for _, s := range []string{"ⓦⓔⓛⓛⓢ", "ⓌⒺⓁⓁ", "⒥⒪⒣⒩", "ｊｏｈｎ", "Ｊ１２", "𝓳𝓸𝓱𝓷", "𝕁𝕠𝕙𝕟", "🄹🄾🄷🄽", "🅙🅞🅗🅝", "🅹🅾🅷🅽", "🇯🇴🇭🇳", "ⅠⅤⅩ", "㈱㍿㊥", "㋿㌔㏂", "⼈⼝⼿",
		"\U000E006A\U000E006F\U000E0068\U000E006E", "Юля", "יוסף", "יו", "예슬", "Ωμέγα"} {
		got := a.Text(s)
		same(t, jsonl.Measure(s), jsonl.Measure(got), s, got)
		if strings.Contains(got, s) {
			t.Errorf("%q became %q", s, got)
		}
		left := 0
		for i, r := range []rune(s) {
			if []rune(got)[i] == r {
				left++
			}
		}
		if n := utf8.RuneCountInString(s); n > 2 && left == n {
			t.Errorf("%q became %q: %d of %d letters are left", s, got, left, n)
		}
	}
	for _, s := range []string{"🙂👍🏽", "→ ✓ … €", "№ ™ ℃"} {
		same(t, s, a.Text(s))
	}
}

func TestAlphabets(t *testing.T) {
	for _, a := range alphabets {
		for _, r := range a {
			if utf8.RuneLen(r) != utf8.RuneLen(a[0]) || utf16.RuneLen(r) != utf16.RuneLen(a[0]) {
				t.Errorf("%U to %U are of several lengths", a[0], a[1])
			}
		}
	}
}

// Folders and files beside a session have stand-ins but where the format names them; what belongs together still
// does.
func TestPath(t *testing.T) {
	a := New(nil, "seed")
	for name, want := range map[string]string{
		"session-memory/summary.md":         "session-memory/summary.md",
		"tool-results/toolu_01AbCd.txt":     "tool-results/" + a.Name("toolu_01AbCd") + ".txt",
		"subagents/agent-a12345f.jsonl":     "subagents/agent-" + a.Name("a12345f") + ".jsonl",
		"subagents/agent-a12345f.meta.json": "subagents/agent-" + a.Name("a12345f") + ".meta.json",
		"subagents/workflows/private/a.txt": "subagents/workflows/" + a.Name("private") + "/" + a.Name("a.txt"),
		"tool-results":                      a.Name("tool-results"),
		"summary.md/notes.txt":              a.Name("summary.md") + "/" + a.Name("notes") + ".txt",
	} {
		same(t, want, a.Path(name), name)
	}
	got := a.Path("john-private-notes/john.meta.json")
	must.Say(t, "false false true", strings.Contains(got, "john"), strings.Contains(got, "private"), strings.HasSuffix(got, ".meta.json"))
}

// Words that survived are found in every script, however they are written.
func TestCheck(t *testing.T) {
	must.Rows(t, `
# noted | line | want
the Johnsons | of johnsons                  | johnsons
short        | short                        | ""
"Übergröße"  | "{\"a\":\"Übergröße\"}"      | "Übergröße"
"Übergröße"  | {"a":"\u00dcbergr\u00f6\u00dfe"} | "Übergröße"
"Übergröße"  | bergren                      | ""
"Константин" | "КОНСТАНТИН"                 | "КОНСТАНТИН"
"ⓟⓡⓘⓥⓐⓣⓔ"    | "ⓟⓡⓘⓥⓐⓣⓔ"                    | "ⓟⓡⓘⓥⓐⓣⓔ"
"𝓹𝓻𝓲𝓿𝓪𝓽𝓮"    | {"a":"\ud835\udcf9\ud835\udcfb\ud835\udcf2\ud835\udcff\ud835\udcea\ud835\udcfd\ud835\udcee"} | "𝓹𝓻𝓲𝓿𝓪𝓽𝓮"
東京都港区芝公園     | 東京都港区芝公園                     | 東京都港区芝公園
Johnson      | {"a":"C:\\Johnson\nJohnson"} | Johnson Johnson
Johnson      | C:\Johnson                   | Johnson
content      | "\"content\""                | ""
`, func(noted, line, want string) {
		a := New(nil, "seed")
		a.NoteText(noted)
		a.Check(line, Location{Line: 3})
		var got []string
		for _, s := range a.Disclosure().Survived {
			got = append(got, s.Word)
			must.Equal(t, s.Line, 3, line, s.Location)
		}
		must.Equal(t, strings.Join(got, " "), want, line)
	})
}

// listed counts the words of the list as one token, with or without a space before them, and any other in threes of
// letters.
func listed() func([]byte) int {
	one := map[string]bool{}
	for _, w := range strings.Fields(wordList) {
		one[w] = true
	}
	return func(text []byte) int {
		n := 0
		for w := range strings.FieldsSeq(string(text)) {
			if one[strings.ToLower(w)] {
				n++
			} else {
				n += (utf8.RuneCountInString(w) + 2) / 3
			}
		}
		return n
	}
}

// With a counter stand-ins are as many tokens as their words, and none is a word of the session.
func TestTokensStay(t *testing.T) {
	list := strings.Fields(wordList)
	words := []string{"Antidisestablishment", "zzyzxqua", "quuxblork", "naïveté", "don't", "python3", "getHTTPServerName", "файлы", "読み込み"}
	for i := 0; i < len(list); i += 11 {
		words = append(words, list[i])
	}
	text := strings.Join(words, " ") + " " + strings.Join(words[:40], " ")
	had := map[string]bool{}
	letterRuns(text, func(run string) { had[strings.ToLower(run)] = true })
	count := listed()
	for _, seed := range []string{"a", "b"} {
		a := New(nil, seed, count)
		a.NoteText(text)
		got := a.Text(text)
		same(t, got, a.Text(text), seed)
		same(t, jsonl.Measure(text), jsonl.Measure(got), seed)
		if before, after := count([]byte(text)), count([]byte(got)); after < before-before/200 || after > before+before/200 {
			t.Errorf("seed %s: %d tokens became %d", seed, before, after)
		}
		letterRuns(got, func(run string) {
			if isLong(run) && had[strings.ToLower(run)] {
				t.Errorf("seed %s: %s is a word of the session", seed, run)
			}
		})
		b := New(nil, seed, count)
		b.NoteText(text)
		same(t, got, b.Text(text), seed)
	}
}

func FuzzAnonymize(f *testing.F) {
	for _, s := range []string{
		`{"type":"user","uuid":"u1","message":{"content":"hi \ud83d\ude00 \ud83d there"}}`, "{\"a\":\"\xff\"}", `{"a":"b"} {"c":[1,{"d":"ef gh"}]}`, "not json", `{"\u0061bc":"x"}`,
		`{"message":{"content":[{"type":"text","text":"Grüße 日本語"}]}}`, "\"\\", `{"type":"tool_use","name":"Bash"`,
	} {
		f.Add(s)
	}
	count := listed()
	f.Fuzz(func(t *testing.T, text string) {
		if strings.HasPrefix(text, "\x1f\x8b") || strings.HasPrefix(text, "\x28\xb5") || len(text) > 3 && text[0]&0xF0 == 0x50 && text[1:4] == "\x2A\x4D\x18" {
			t.Skip() // compressed
		}
		for _, out := range []string{anonymized(t, "seed", text), anonymized(t, "seed", text, count)} {
			checkShape(t, text, out)
		}
	})
}

// checkShape holds that lines and JSON are what they were.
func checkShape(t *testing.T, text, out string) {
	t.Helper()
	if len(out) != len(text) {
		t.Fatalf("%d bytes became %d: %q, %q", len(text), len(out), text, out)
	}
	before, after := strings.Split(text, "\n"), strings.Split(out, "\n")
	if len(before) != len(after) {
		t.Fatalf("%d lines became %d: %q, %q", len(before), len(after), text, out)
	}
	for i := range before {
		if json.Valid([]byte(before[i])) && strings.HasPrefix(strings.TrimSpace(before[i]), "{") && !json.Valid([]byte(after[i])) {
			t.Fatalf("line %d was valid: %q, %q", i+1, before[i], after[i])
		}
	}
}

// The size of an image stays, what it shows does not.
func TestPictures(t *testing.T) {
	jpeg := "\xff\xd8" + "\xff\xe0\x00\x10JFIF secret thumbs" + "\xff\xc0\x00\x11\x08\x01\x23\x02\x34\x03" + strings.Repeat("pixels", 40)
	for name, c := range map[string]struct{ data, size string }{
		"png":  {"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x01\x23\x00\x00\x02\x34" + strings.Repeat("pixels", 40), "\x00\x00\x01\x23\x00\x00\x02\x34"},
		"gif":  {"GIF89a\x23\x01\x34\x02" + strings.Repeat("pixels", 40), "GIF89a\x23\x01\x34\x02"},
		"jpeg": {strings.Replace(jpeg, "\x00\x10JFIF secret thumbs", "\x00\x14JFIF secret thumbs", 1), "\xff\xc0\x00\x11\x08\x01\x23\x02\x34"},
		"webp": {"RIFF\x00\x00\x00\x00WEBPVP8X\x00\x00\x00\x00\x00\x00\x00\x00\x22\x01\x00\x33\x02\x00" + strings.Repeat("pixels", 40), "WEBPVP8X"},
	} {
		data := base64.StdEncoding.EncodeToString([]byte(c.data))
		line := `{"type":"user","message":{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}]}}`
		out := anonymized(t, "seed", line)
		_, rest, _ := strings.Cut(out, `"data":"`)
		rest, _, _ = strings.Cut(rest, `"`)
		got, err := base64.StdEncoding.DecodeString(rest)
		if err != nil || len(got) != len(c.data) {
			t.Errorf("%s: %d bytes became %d, %v", name, len(c.data), len(got), err)
		}
		if !strings.Contains(string(got), c.size) || strings.Contains(string(got), "pixels") || strings.Contains(string(got), "secret") {
			t.Errorf("%s became %q", name, got)
		}
	}
}

// What a terminal acts on, and what cannot be seen, has stand-ins of its length.
func TestInert(t *testing.T) {
	for in, want := range map[string]string{
		"{\"text\":\"\u009b-\u0085\u00ad\x7f\"}":              "{\"text\":\"\u00b7-\u00a0\u00b7~\"}",
		"{\"text\":\"\u202e\u2066 \ufeff\u2028\u2029\"}":      "{\"text\":\"\u2022\u2022 \u2003\u2003\u2003\"}",
		"{\"text\":\"\U000e0001\U00100000\"}":                 "{\"text\":\"\U0001f7e6\U0001f7e6\"}",
		"{\"text\":\"\U0001f469\u200d\U0001f4bb \u200c …–\"}": "{\"text\":\"\U0001f469\u200d\U0001f4bb \u200c …–\"}",
		`{"text":"\u202e\u009B\udb40\udc01\u001b\u0007\\"}`:   `{"text":"\u2022\u00b7\ud83d\udfe6\u001b\u0007\\"}`,
		"{\"text\":\"\x9b-\xff\xc2\xe2\x9b\"}":                "{\"text\":\"\xff-\xff\xc2\xe2\xff\"}",
		"{\"text\":\"\\n\x9b\"}":                              "{\"text\":\"\\n\xff\"}",
		"{\"text\":\"\x1b[\x07\"":                             "{\"text\":\"\x01[\x01\"",
		"// \x1b];\x07\t \x08\r\n{\"type\":\"user\"}\r\n":     "// \x01];\x01\t \x01\r\n{\"type\":\"user\"}\r\n",
	} {
		out := anonymized(t, "seed", in)
		must.Equal(t, len(out), len(in), in, out)
		same(t, want, out, in)
	}
}

// Names have one stand-in each, whatever is around them, and no two share one.
func TestNames(t *testing.T) {
	a := New(nil, "seed", listed())
	if x, y := a.Name("/home/somebody/project"), a.Name("/home/somebody/project/a.go"); !strings.HasPrefix(y, x+"/") {
		t.Errorf("%s is not below %s", y, x)
	}
	seen := map[string]string{}
	for i := range 3000 {
		for _, w := range []string{strconv.Itoa(i), fmt.Sprintf("task_%d", i), fmt.Sprintf("0190%04d-0000-7000-8000-00000000f00a", i)} {
			got := a.Name(w)
			if other, taken := seen[got]; taken && other != w || len(got) != len(w) || a.Name(w) != got {
				t.Fatalf("%q is %q, as %q is", w, got, other)
			}
			seen[got] = w
		}
	}
	for c := 'a'; c <= 'z'; c++ {
		got := a.Name(string(c))
		if other, taken := seen[got]; taken {
			t.Errorf("%q and %q are both %q", other, c, got)
		}
		seen[got] = string(c)
	}
}

// Ids that begin with their time keep their order.
func TestOrderedNames(t *testing.T) {
	ids := []string{"01900000-0000-7000-8000-00000000000a", "01900000-0000-7000-8000-00000000f00a", "01900000-0001-7000-8000-000000000001"}
	a := New(nil, "seed")
	for _, id := range ids {
		a.noted(id, place{})
	}
	var got []string
	for _, id := range ids {
		got = append(got, a.Name(id))
	}
	if !slices.IsSorted(got) || got[0] == ids[0] || got[0][:15] != ids[0][:15] {
		t.Errorf("%q became %q", ids, got)
	}
}

// A word of a text has a placeholder of its own at each occurrence; a line that is repeated has the same.
func TestOccurrences(t *testing.T) {
	a := New(nil, "seed", listed())
	found := map[string]bool{}
	for i := range 60 {
		found[a.Text(fmt.Sprintf("session %s", strings.Repeat("x", 1+i)))[:7]] = true
	}
	if len(found) < 20 {
		t.Errorf("60 occurrences of a word have %d stand-ins", len(found))
	}
	one, two := a.Text("first line\n  the second, which is read twice\n"), a.Text("another one\n  the second, which is read twice\n")
	if _, x, _ := strings.Cut(one, "\n"); !strings.HasSuffix(two, x) {
		t.Errorf("a line became %q and %q", one, two)
	}
}

// Nothing of what a tool was given or gave stays: numbers, dates, short words and names of short parts.
func TestNothingStays(t *testing.T) {
	in := `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"mcp__x__y","input":{"card":4111111111111111,"salary":98250,"lat":48.2082,"born":"1980-05-17","when":"2026-01-02T03:04:05Z",` +
		`"mail":"jo@xy.io","who":"Bo Li","path":"/u/jo/go/my/co","limit":50}}]},"toolUseResult":{"ssn":123456789,"text":"card 4111 1111 1111 1111 of Bo Li, li@qq.cn"}}` + "\n"
	out := anonymized(t, "seed", in)
	for _, gone := range []string{"4111", "98250", "48.2082", "1980", "2026-01-02", "jo@", "xy.io", "Bo Li", "/jo/", "123456789", "li@", "qq.cn", "card", "born"} {
		if strings.Contains(out, gone) {
			t.Errorf("%s is left: %s", gone, out)
		}
	}
	if len(out) != len(in) || !json.Valid([]byte(out)) || !strings.Contains(out, `"limit":50`) {
		t.Errorf("it became %s", out)
	}
}

// The text that an edit replaces is found in the stand-in of the file that was read, after earlier edits, too.
func TestEdits(t *testing.T) {
	text := "package main\n\nfunc main() {\n\tstart(one)\n\tstart(two)\n}\n"
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	use := func(id, name, input string) string {
		return `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":` + input + `}]}}` + "\n"
	}
	result := func(id, text string) string {
		return `{"type":"user","message":{"content":[{"tool_use_id":"` + id + `","type":"tool_result","content":` + quote(text) + `}]}}` + "\n"
	}
	edit := func(id, old, new string) string {
		return use(id, "Edit", `{"file_path":"/m.go","old_string":`+quote(old)+`,"new_string":`+quote(new)+`}`) + result(id, "updated")
	}
	in := use("t1", "Read", `{"file_path":"/m.go"}`) + result("t1", text) + edit("t2", "main() {\n\tstart(o", "main() {\n\tbegin(o") + edit("t3", "begin(one)\n\tst", "begin(one)\n\tend(0)\n\tst")
	src := must.Get(jsonl.OpenReader("x", strings.NewReader(anonymized(t, "seed", in, listed()))))(t)
	defer src.Close()
	file, found := "", 0
	if err := src.Each(1, jsonl.ReadOptions{}, func(item *jsonl.Item) error {
		var e struct {
			Message struct {
				Content []struct {
					Content string
					Input   struct {
						Old string `json:"old_string"`
						New string `json:"new_string"`
					}
				}
			}
		}
		if err := json.Unmarshal(item.Entry.Raw, &e); err != nil {
			return err
		}
		c := e.Message.Content[0]
		if file == "" {
			file = c.Content
		}
		if c.Input.Old != "" && strings.Contains(file, c.Input.Old) {
			found++
			file = strings.Replace(file, c.Input.Old, c.Input.New, 1)
		}
		return nil
	}); err != nil || found != 2 || strings.Contains(file, "begin") {
		t.Errorf("%d of 2 edits fit, %v: %q", found, err, file)
	}
}

// What can be recovered is measured: of a cipher of words most, of a session with stand-ins for each occurrence nothing.
func TestRecovery(t *testing.T) {
	r := &recovery{told: map[string]map[string]int{}, seen: map[uint64]bool{}}
	for i := range 100 {
		r.line(fmt.Sprintf("private words %d", i), fmt.Sprintf("abcdefg hijkl %d", i))
	}
	must.Both(r.result())(t, 100, 100)
	a := New(nil, "seed", listed())
	a.Try()
	for i := range 100 {
		a.Text(fmt.Sprintf("private words, number %d, of a text that goes on", i))
	}
	if d := a.Disclosure(); d.Tried < 200 || 50*d.Recovered > d.Tried {
		t.Errorf("%d of %d words are found", d.Recovered, d.Tried)
	}
}

// TestDamagedDocument: of a document that begins with something else, its JSON stays JSON.
func TestDamagedDocument(t *testing.T) {
	for _, begin := range []string{"", "\x00\x00\x00", "secret words\n"} {
		a := New(nil, "seed")
		a.voc.document = true
		a.begin()
		a.value([]byte(begin + `{"type":"user","message":{"role":"user","content":"secret"}}`))
		if got := string(a.dst); !strings.Contains(got, `{"type":"user","message":{"role":"user","content":"`) || strings.Contains(got, "secret") {
			t.Errorf("%q: %s", begin, got)
		}
	}
}

// What a hook said is the same text in the attachment and among the words that the client sent around it.
func TestAttachedText(t *testing.T) {
	for _, content := range []string{`"the shop opens at nine\nand closes"`, `["the shop opens at nine"]`} {
		out := anonymized(t, "s", `{"type":"attachment","attachment":{"type":"hook_success","content":`+content+`},"rendered":[{"content":"<system-reminder>\nStart hook success: the shop opens at nine\n</system-reminder>"}]}`+"\n")
		first, rest, _ := strings.Cut(out, `,"rendered"`)
		first, _, _ = strings.Cut(strings.TrimLeft(first[strings.Index(first, `"content":`)+len(`"content":`):], `["`), `"`)
		first, _, _ = strings.Cut(first, `\n`)
		if first == "" || !strings.Contains(rest, first) || strings.Contains(out, "opens") {
			t.Errorf("%s: %q is not in %q", content, first, rest)
		}
	}
}

// same fails a test whose result is not the one that is wanted; of says what it belongs to.
func same[T any](t testing.TB, want, got T, of ...any) {
	t.Helper()
	must.Equal(t, got, want, of)
}
