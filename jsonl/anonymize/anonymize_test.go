package anonymize

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
)

// anonymized rewrites one file by itself.
func anonymized(t testing.TB, seed, text string, counters ...func(string) int) string {
	t.Helper()
	src, err := jsonl.OpenReader("test.jsonl", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	a := New(seed, counters...)
	if err := a.Note(src, 1); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := a.Write(src, "", 1, &out); err != nil {
		t.Fatal(err)
	}
	for _, left := range a.Disclosure().Survived {
		t.Errorf("%q is left on %v: %q became %q", left.Word, left.Location, text, out.String())
	}
	return out.String()
}

func TestTextKeepsShape(t *testing.T) {
	a := New("seed")
	for _, s := range []string{
		"", "a", "the quick brown fox", "getHTTPServerName", "snake_case_name2", "/home/someone/src/main.go:42", "  12→func main() {",
		"toolu_01AbCdEf23", "4fbba14b-f505-5a47-0847-c5338888a7db", "Grüße, 日本語テキスト, Привет, שלום, 한국어 🙂 e\u0301", "\x1b[31mred\x1b[0m", "bad \xff bytes",
		strings.Repeat("QUJDREVG+/", 40),
	} {
		got := a.Text(s)
		if jsonl.Measure(got) != jsonl.Measure(s) || len(got) != len(s) {
			t.Errorf("%q became %q: %+v and %+v", s, got, jsonl.Measure(s), jsonl.Measure(got))
		}
		if again := a.Text(s); again != got {
			t.Errorf("%q became %q, then %q", s, got, again)
		}
		letterRuns(s, func(run string) {
			if len(run) > 2 && !kept[run] && strings.Contains(got, run) {
				t.Errorf("%q became %q: %q is left", s, got, run)
			}
		})
	}
	for _, s := range []string{
		"<command-name>/compact</command-name>", "[Old tool result content cleared]", "[Request interrupted by user for tool use]", "<persisted-output>",
		"<task_id></task_id>", "<status>completed</status>",
		"No response requested.", "Set effort level to ", "Effort level set to ",
	} {
		if got := a.Text(s); got != s {
			t.Errorf("the client's own %q became %q", s, got)
		}
	}
}

// A tag of the client's stays where a word ends at it.
func TestMarkersBehindWords(t *testing.T) {
	got := New("seed").Text("<task_id>something</task_id>")
	if !strings.HasPrefix(got, "<task_id>") || !strings.HasSuffix(got, "</task_id>") || strings.Contains(got, "something") {
		t.Errorf("it became %q", got)
	}
}

// One word has one stand-in, in any case and in any company, and no two words share one.
func TestOneWordOneStandIn(t *testing.T) {
	a := New("seed")
	if x, y := a.Text("session"), a.Text("SESSION"); strings.ToUpper(x) != y {
		t.Errorf("session is %q, SESSION %q", x, y)
	}
	if x, y := a.Text("getSession"), a.Text("session"); !strings.EqualFold(x[3:], y) {
		t.Errorf("getSession is %q, session %q", x, y)
	}
	seen := map[string]string{}
	for i := range 5000 {
		w := strings.Map(func(r rune) rune { return 'a' + (r-'0')*2 }, "word"+string(rune('0'+i%10))+string(rune('0'+i/10%10))+string(rune('0'+i/100%10))+string(rune('0'+i/1000)))
		got := a.Text(w)
		if other, taken := seen[got]; taken && other != w {
			t.Fatalf("%q and %q are both %q", w, other, got)
		}
		seen[got] = w
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
		`{"type":"tool_use","id":"toolu_02XYZ","name":"mcp__private__lookup","input":{}}],"usage":{"input_tokens":5}},` +
		`"toolUseResult":{"type":"text","file":{"content":"line\nwith \"quotes\" and \u00fcml\u00e4ut"}},"trackedFileBackups":{"private/path.go":{"version":1}}}` + "\n"
	out := anonymized(t, "seed", in)
	if len(out) != len(in) || !json.Valid([]byte(out)) {
		t.Fatalf("%d bytes became %d: %s", len(in), len(out), out)
	}
	for _, want := range []string{
		`"type":"assistant", "uuid":"`, `"timestamp":"2026-01-02T03:04:05.678Z"`, `"version":"2.1.19"`, `"model":"claude-opus-4-5-20251101"`,
		`"name":"Read"`, `"file_path":"/`, `"status":"completed"`, `"offset":17`, `"input_tokens":5`, `"name":"mcp__`, `\n`, `\"`, `\u0`, `"role":"assistant"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is gone:\n%s", want, out)
		}
	}
	for _, gone := range []string{"somebody", "secret", "personal", "private", "lookup", "quotes", "01XYZ", "aaaaaaaa", "path.go", "\\u00fcml"} {
		if strings.Contains(out, gone) {
			t.Errorf("%s is left:\n%s", gone, out)
		}
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

// Snip names prompts by ids derived from their uuids.
func TestSnipIDs(t *testing.T) {
	in := `{"type":"user","uuid":"4fbba14b-f505-5a47-0847-c5338888a7db","message":{"role":"user","content":"go"}}` + "\n"
	a := New("seed")
	src, err := jsonl.OpenReader("x", strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if err := a.Note(src, 1); err != nil {
		t.Fatal(err)
	}
	a.begin()
	if len(a.snipped) != 1 {
		t.Fatalf("%d ids", len(a.snipped))
	}
	for old, id := range a.snipped {
		call := `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Snip","input":{"ids":["` + old + `"]}}]}}`
		a.entry([]byte(call))
		if !strings.Contains(string(a.dst), `["`+id+`"]`) || !strings.Contains(string(a.dst), `"name":"Snip"`) {
			t.Errorf("%s became %s, want %s", call, a.dst, id)
		}
	}
}

// What is read as a letter is one, whatever its category.
func TestLettersOfAllKinds(t *testing.T) {
	a := New("seed")
	for _, s := range []string{"ⓦⓔⓛⓛⓢ", "ⓌⒺⓁⓁ", "⒥⒪⒣⒩", "ｊｏｈｎ", "Ｊ１２", "𝓳𝓸𝓱𝓷", "𝕁𝕠𝕙𝕟", "🄹🄾🄷🄽", "🅙🅞🅗🅝", "🅹🅾🅷🅽", "🇯🇴🇭🇳", "ⅠⅤⅩ", "㈱㍿㊥", "㋿㌔㏂", "⼈⼝⼿",
		"\U000E006A\U000E006F\U000E0068\U000E006E", "Юля", "יוסף", "יו", "예슬", "Ωμέγα"} {
		got := a.Text(s)
		if jsonl.Measure(got) != jsonl.Measure(s) {
			t.Errorf("%q became %q: %+v and %+v", s, got, jsonl.Measure(s), jsonl.Measure(got))
		}
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
	for _, s := range []string{"🙂👍🏽", "→ ✓ … €", "№ ™ ℃", "e\u0301"} {
		if got := a.Text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
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
	a := New("seed")
	for name, want := range map[string]string{
		"session-memory/summary.md":         "session-memory/summary.md",
		"tool-results/toolu_01AbCd.txt":     "tool-results/" + a.Text("toolu_01AbCd") + ".txt",
		"subagents/agent-a12345f.jsonl":     "subagents/agent-" + a.Text("a12345f") + ".jsonl",
		"subagents/agent-a12345f.meta.json": "subagents/agent-" + a.Text("a12345f") + ".meta.json",
		"subagents/workflows/private/a.txt": "subagents/workflows/" + a.Text("private") + "/a.txt",
		"tool-results":                      a.Text("tool-results"),
		"summary.md/notes.txt":              a.Text("summary") + ".md/" + a.Text("notes") + ".txt",
	} {
		if got := a.Path(name); got != want {
			t.Errorf("%s became %s, want %s", name, got, want)
		}
	}
	if got := a.Path("john-private-notes/john.meta.json"); strings.Contains(got, "john") || strings.Contains(got, "private") || !strings.HasSuffix(got, ".meta.json") {
		t.Errorf("it became %s", got)
	}
}

// Words that survived are found in every script, however they are written.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		noted, line string
		want        string
	}{
		{"the Johnsons", "of johnsons", "johnsons"},
		{"short", "short", ""},
		{"Übergröße", `{"a":"Übergröße"}`, "Übergröße"},
		{"Übergröße", `{"a":"\u00dcbergr\u00f6\u00dfe"}`, "Übergröße"},
		{"Übergröße", "bergren", ""},
		{"Константин", "КОНСТАНТИН", "КОНСТАНТИН"},
		{"ⓟⓡⓘⓥⓐⓣⓔ", "ⓟⓡⓘⓥⓐⓣⓔ", "ⓟⓡⓘⓥⓐⓣⓔ"},
		{"𝓹𝓻𝓲𝓿𝓪𝓽𝓮", `{"a":"\ud835\udcf9\ud835\udcfb\ud835\udcf2\ud835\udcff\ud835\udcea\ud835\udcfd\ud835\udcee"}`, "𝓹𝓻𝓲𝓿𝓪𝓽𝓮"},
		{"東京都港区芝公園", "東京都港区芝公園", "東京都港区芝公園"},
		{"Johnson", `{"a":"C:\\Johnson\nJohnson"}`, "Johnson Johnson"},
		{"Johnson", `C:\Johnson`, "Johnson"},
		{"content", `"content"`, ""},
	} {
		a := New("seed")
		a.NoteText(c.noted)
		a.Check(c.line, Location{Line: 3})
		var got []string
		for _, s := range a.Disclosure().Survived {
			got = append(got, s.Word)
			if s.Line != 3 {
				t.Errorf("%s: at %v", c.line, s.Location)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: found %q, want %q", c.line, got, c.want)
		}
	}
}

// Whatever is written is checked, a last line without a line end too.
func TestWritingChecks(t *testing.T) {
	for text, want := range map[string]int{"secrets": 1, "secrets\n": 1, "other\nsecrets": 2, "other\n\nsecrets\n\n": 3} {
		for _, kind := range []string{"text", "transcript"} {
			a := New("seed")
			a.NoteText(text)
			a.begin()
			a.book.assigned["secrets"], a.book.assigned["other"] = "secrets", "other"
			var out strings.Builder
			var err error
			if kind == "text" {
				err = a.WriteText(text, "x", &out)
			} else {
				var src *jsonl.Source
				if src, err = jsonl.OpenReader("x", strings.NewReader(text)); err == nil {
					err = a.Write(src, "x", 1, &out)
					src.Close()
				}
			}
			survived := a.Disclosure().Survived
			if err != nil || out.String() != text || len(survived) != 1 || survived[0].Location != (Location{File: "x", Line: want}) {
				t.Errorf("%s %q: %v, %q is written, survived %+v, want one on line %d", kind, text, err, out.String(), survived, want)
			}
		}
	}
}

// listed counts the words of the list as one token, with or without a space before them, and any other in threes of
// letters.
func listed() func(string) int {
	one := map[string]bool{}
	for _, w := range strings.Fields(wordList) {
		one[w] = true
	}
	return func(text string) int {
		n := 0
		for w := range strings.FieldsSeq(text) {
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
		a := New(seed, count)
		a.NoteText(text)
		got := a.Text(text)
		if again := a.Text(text); again != got {
			t.Errorf("seed %s: it becomes one text, then another", seed)
		}
		if jsonl.Measure(got) != jsonl.Measure(text) {
			t.Errorf("seed %s: %+v became %+v", seed, jsonl.Measure(text), jsonl.Measure(got))
		}
		if before, after := count(text), count(got); after < before-before/200 || after > before+before/200 {
			t.Errorf("seed %s: %d tokens became %d", seed, before, after)
		}
		letterRuns(got, func(run string) {
			if len(run) > keptLetters && had[strings.ToLower(run)] && !kept[strings.ToLower(run)] {
				t.Errorf("seed %s: %s is a word of the session", seed, run)
			}
		})
		b := New(seed, count)
		b.NoteText(text)
		if other := b.Text(text); other != got {
			t.Errorf("seed %s: two runs, two texts", seed)
		}
	}
}

// Sessions of one seed share the stand-ins of nearly all words.
func TestSeedIsShared(t *testing.T) {
	list := strings.Fields(wordList)
	var texts [2][]string
	for i := 0; i < len(list); i += 7 {
		texts[i%2] = append(texts[i%2], list[i], list[i])
		texts[1-i%2] = append(texts[1-i%2], list[i])
	}
	var books [2]map[string]string
	for i, words := range texts {
		a := New("seed", listed())
		a.NoteText(strings.Join(append(words, "another", "session"[:3+i]), "."))
		a.begin()
		books[i] = a.book.assigned
	}
	same, other := 0, 0
	for w, stand := range books[0] {
		switch books[1][w] {
		case stand:
			same++
		default:
			other++
		}
	}
	if same < 20*other {
		t.Errorf("%d words have the same stand-in, %d another", same, other)
	}
}

// What stands before a word and behind it counts with it as tokenizers cut.
func TestUses(t *testing.T) {
	for _, c := range []struct {
		text    string
		escaped bool
		want    use
	}{
		{"word", false, use{"", "word", ""}},
		{"a word", false, use{" ", "word", ""}},
		{"a.word", false, use{".", "word", ""}},
		{"a(.word", false, use{"", "word", ""}},
		{"a .word", false, use{"", "word", ""}},
		{"a\t.word", false, use{".", "word", ""}},
		{"a\nword", false, use{"", "word", ""}},
		{"a\nword", true, use{`\n`, "word", ""}},
		{"a\nWord", true, use{"", "Word", ""}},
		{"a\tword", false, use{"\t", "word", ""}},
		{"a\tword", true, use{`\t`, "word", ""}},
		{`a"word`, false, use{`"`, "word", ""}},
		{`a"word`, true, use{"", "word", ""}},
		{"/word", false, use{"/", "word", ""}},
		{"/word", true, use{"", "word", ""}},
		{"a word's", false, use{" ", "word", "'s"}},
	} {
		book := newCodebook([]func(string) int{func(string) int { return 1 }})
		book.escaped = c.escaped
		book.note(c.text)
		if got := book.uses["word"]; len(got) != 1 || got[c.want] != 1 {
			t.Errorf("%q, escaped %v: %+v, want %+v", c.text, c.escaped, got, c.want)
		}
	}
}

// However many ways a word is used in, few are weighed: the most frequent.
func TestUsesAreBounded(t *testing.T) {
	book := newCodebook([]func(string) int{listed()})
	for r := rune(0x2190); r < 0x2400; r++ {
		book.note("a" + string(r) + "word")
	}
	book.note("a word")
	book.note("a word")
	if list := book.measure("word"); len(list) != maxUses || list[0].before != " " || list[0].times != 2 {
		t.Errorf("%d uses, the first %+v", len(list), list[0])
	}
}

// A letter of \n that stands in a text is none of the word behind it.
func TestEscapesInTexts(t *testing.T) {
	a := New("seed", listed())
	if got := a.Text(`one\nThree`); !strings.Contains(got, `\n`) {
		t.Errorf("it became %q", got)
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
		"{\"a\":\"\u009bm\u0085\u00ad\x7f\"}":              "{\"a\":\"\u00b7m\u00a0\u00b7~\"}",
		"{\"a\":\"\u202e\u2066 \ufeff\u2028\u2029\"}":      "{\"a\":\"\u2022\u2022 \u2003\u2003\u2003\"}",
		"{\"a\":\"\U000e0001\U00100000\"}":                 "{\"a\":\"\U0001f7e6\U0001f7e6\"}",
		"{\"a\":\"\U0001f469\u200d\U0001f4bb \u200c …–\"}": "{\"a\":\"\U0001f469\u200d\U0001f4bb \u200c …–\"}",
		`{"a":"\u202e\u009B\udb40\udc01\u001b\u0007\\"}`:   `{"a":"\u2022\u00b7\ud83d\udfe6\u001b\u0007\\"}`,
		"{\"a\":\"\x9bm\xff\xc2\xe2\x9b\"}":                "{\"a\":\"\xffm\xff\xc2\xe2\xff\"}",
		"{\"a\":\"\\n\x9b\"}":                              "{\"a\":\"\\n\xff\"}",
		"{\"a\":\"\x1b[J\x07\"":                            "{\"a\":\"\x01[J\x01\"",
		"// \x1b];\x07\t \x08\r\n{\"type\":\"user\"}\r\n":  "// \x01];\x01\t \x01\r\n{\"type\":\"user\"}\r\n",
	} {
		out := anonymized(t, "seed", in)
		if len(out) != len(in) {
			t.Errorf("%q became %q", in, out)
		}
		if out != want {
			t.Errorf("%q became %q, want %q", in, out, want)
		}
	}
}

// Short numbers, by which sessions name tasks and lines, keep apart: each has a stand-in of its own.
func TestShortNumbers(t *testing.T) {
	for seed := range byte(20) {
		book := newCodebook(nil)
		book.seed[0] = seed
		of := map[string]string{}
		for n := range 10 {
			w := strconv.Itoa(n)
			s := book.mixed(w, 0, 1)
			if was, ok := of[s]; ok {
				t.Errorf("seed %d: %s and %s are both %s", seed, was, w, s)
			}
			of[s] = w
		}
	}
}
