package report

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/report/golden"
)

func render(t testing.TB, opt Layout, tls ...*replay.Timeline) []byte {
	t.Helper()
	var b bytes.Buffer
	r := must.Get(NewReplays(&b, opt))(t)
	for _, tl := range tls {
		must.Do(t, r.Add(tl))
	}
	must.Do(t, r.Close())
	return b.Bytes()
}

// goldens are files of testdata, with what of the layout is no default, and the numbers of requests of
// the samples in them; -1: the hostile one.
const goldens = `
table.txt           | table              | [240]
table-all.txt       | table all ascii    | [12]
table-color.txt     | table color        | [40]
table-verbose.txt   | table several verbose | [1, 0]
table-several.txt   | table several      | [1, 0]
table-hostile.txt   | table all          | [-1]
markdown.md         | markdown           | [40]
markdown-hostile.md | markdown           | [-1]
one.json            | json               | [8]
several.json        | json several       | [4, 0]
requests.ndjson     | ndjson             | [8, 4]
requests.csv        | csv                | [8, -1]
`

// layoutOf is a format and what is set of the layout.
func layoutOf(text string) Layout {
	format, _, _ := strings.Cut(text, " ")
	is := func(word string) bool { return strings.Contains(text, word) }
	return Layout{Format: Format(format), All: is("all"), ASCII: is("ascii"), Color: is("color"), Several: is("several"), Verbose: is("verbose")}
}

func TestGolden(t *testing.T) {
	must.Rows(t, goldens, func(name, layout string, samples []int) {
		var tls []*replay.Timeline
		for _, n := range samples {
			if n < 0 {
				tls = append(tls, hostile())
			} else {
				tls = append(tls, sample(n))
			}
		}
		golden.Check(t, filepath.Join("testdata", name), render(t, layoutOf(layout), tls...))
	})
}

// sampled is a value of testdata/samples.
func sampled[T any](name string) (v T) {
	data, err := os.ReadFile(filepath.Join("testdata", "samples", name+".json"))
	d := json.NewDecoder(bytes.NewReader(data))
	if d.DisallowUnknownFields(); err == nil {
		err = d.Decode(&v)
	}
	if err != nil {
		panic(err)
	}
	return v
}

// inFormats prints a report in each format: nothing of it acts on a terminal, tables fit, JSON is as the schema says, and the
// others are as in testdata/NAME.FORMAT. Without a name that is not compared.
func inFormats(t *testing.T, schema, name string, formats []Format, print func(w io.Writer, f Format) error) map[Format]string {
	t.Helper()
	out := map[Format]string{}
	for _, f := range formats {
		var b bytes.Buffer
		must.Do(t, print(&b, f))
		if out[f] = b.String(); strings.ContainsAny(out[f], "\x1b\u202e") {
			t.Errorf("%s as %s lets control characters through", name, f)
		}
		switch {
		case f == FormatJSON:
			if err := validate(compileSchema(t, schema), b.Bytes()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		case f == FormatTable:
			fits(t, out[f], defaultWidth)
		}
		if name != "" {
			golden.Check(t, filepath.Join("testdata", name+"."+string(f)), b.Bytes())
		}
	}
	return out
}

// fits holds that no line takes more than so many columns.
func fits(t *testing.T, text string, most int) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := width(strings.TrimRight(line, "\n")); n > most {
			t.Errorf("%d of %d columns: %s", n, most, line)
		}
	}
}

// TestGoldenEnvironment runs TestGolden as other people's machines would.
func TestGoldenEnvironment(t *testing.T) {
	if golden.Update() || os.Getenv("CTXKIT_TEST_CHILD") != "" {
		t.Skip("the goldens themselves")
	}
	exe := must.Get(os.Executable())(t)
	n := 0
	for _, lang := range strings.Fields("C en_US.UTF-8 zh_CN.UTF-8 ja_JP.eucJP") {
		for _, term := range []string{"dumb", "xterm-256color", ""} {
			for _, more := range strings.Fields("TZ=UTC TZ=Asia/Kathmandu RUNEWIDTH_EASTASIAN=1") {
				if n++; n%5 != 1 && !must.CI() {
					continue
				}
				c := exec.Command(exe, "-test.run=^TestGolden$")
				c.Env = append(os.Environ(), "CTXKIT_TEST_CHILD=1", "LANG="+lang, "LC_ALL="+lang, "LC_CTYPE="+lang, "TERM="+term, more)
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("LANG=%s TERM=%s %s: %v\n%s", lang, term, more, err, out)
				}
			}
		}
	}
}

// TestClippedChart holds that a raw history far above the model view does not press it flat.
func TestClippedChart(t *testing.T) {
	c := &chart{rows: chartRows, cursor: -1, marks: make([]byte, 100), lines: []chartLine{{"auto", 155_000}}}
	for i := range 100 {
		c.raw = append(c.raw, 100_000*(i+1))
		c.model = append(c.model, 100_000+i%10*5000)
	}
	full := 0
	for _, line := range c.draw(unicodeGlyphs, defaultWidth, false) {
		if strings.Count(line, "█") > 70 {
			full++
		}
	}
	if !c.clipped || full < chartRows/4 {
		t.Errorf("clipped %v, %d rows of the model view", c.clipped, full)
	}
	c.raw = c.model
	if c.draw(unicodeGlyphs, defaultWidth, false); c.clipped {
		t.Error("clipped although raw fits")
	}
}

func TestTableFits(t *testing.T) {
	for _, tl := range []*replay.Timeline{sample(0), sample(1), sample(2), sample(79), sample(81), sample(5000), hostile()} {
		for _, layout := range []string{"", " all", " ascii"} {
			text := string(render(t, layoutOf(layout), tl))
			fits(t, text, defaultWidth)
			if strings.Contains(text, " \n") {
				t.Errorf("%d requests: a line ends with a space", len(tl.Requests))
			}
		}
	}
}

// TestColorOnlyAdds holds that colour changes nothing but escape sequences.
func TestColorOnlyAdds(t *testing.T) {
	for _, tl := range []*replay.Timeline{sample(240), hostile()} {
		with, without := render(t, Layout{Color: true}, tl), render(t, Layout{}, tl)
		must.Equal(t, stripStyles(string(with)), string(without), without)
		if bytes.Equal(with, without) {
			t.Error("no colour at all")
		}
	}
}

func stripStyles(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		s = s[i+strings.IndexByte(s[i:], 'm')+1:]
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// TestHostileInert holds that no text of a transcript reaches the output with anything a terminal, an editor or a
// spreadsheet acts on.
func TestHostileInert(t *testing.T) {
	for _, f := range ReplayFormats {
		out := string(render(t, Layout{Format: f, All: true, Width: 240}, hostile()))
		for i, r := range out {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028') {
				t.Errorf("%s: %U at byte %d: …%q…", f, r, i, out[max(0, i-20):min(len(out), i+20)])
				break
			}
		}
		if f != FormatJSON && strings.Contains(out, "\nINJECTED") {
			t.Errorf("%s: a text began a line of its own", f)
		}
	}
	md := string(render(t, Layout{Format: FormatMarkdown}, hostile()))
	for _, bad := range []string{"<b>", "![x](", " | `code`"} {
		if strings.Contains(md, bad) {
			t.Errorf("markdown holds %q", bad)
		}
	}
}

// TestJSONKeepsTexts holds that escaping changes no value.
func TestJSONKeepsTexts(t *testing.T) {
	want := hostile()
	want.Title = "\x1b[31m \u202e \u009b \U000e0041 中文 😀 \u2028"
	var got replay.Timeline
	must.Do(t, json.Unmarshal(render(t, Layout{Format: FormatJSON}, want), &got))
	must.Equal(t, got.Title, want.Title)
}

func TestNDJSONHoldsEveryEvent(t *testing.T) {
	tl := sample(240)
	events := 0
	for line := range strings.Lines(string(render(t, Layout{Format: FormatNDJSON}, tl))) {
		var l struct {
			Session string
			Events  []replay.Event
		}
		must.Do(t, json.Unmarshal([]byte(line), &l))
		if l.Session != tl.Session {
			t.Fatalf("session %q", l.Session)
		}
		events += len(l.Events)
	}
	must.Equal(t, events, len(tl.Events))
}

func TestHiddenRequestsAreCounted(t *testing.T) {
	hiddenRequests(t, sample(240), 240)
}

func TestLongTimelinesAreShortened(t *testing.T) {
	tl := sample(900)
	rows := tl.Requests
	for i := 5; i < 850; i += 5 {
		r := &rows[i]
		n := r.N
		r.Events = append(r.Events, len(tl.Events))
		tl.Events = append(tl.Events, replay.Event{N: len(tl.Events), Request: &n, Stage: "opencode_prune", Kind: "clear"})
	}
	out := hiddenRequests(t, tl, 900)
	if lines := strings.Count(out, "\n"); lines > 250 {
		t.Errorf("%d lines", lines)
	}
	for _, want := range []string{"more changed requests hidden: ", "peak of the model view", "more events hidden: json"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q", want)
		}
	}
}

// hiddenRequests holds that every one of n requests is shown or counted.
func hiddenRequests(t *testing.T, tl *replay.Timeline, n int) string {
	t.Helper()
	out := string(render(t, Layout{}, tl))
	shown, hidden := 0, 0
	for line := range strings.Lines(out) {
		if (strings.Contains(line, " 01-15 ") || strings.Contains(line, " 01-16 ")) && !strings.Contains(line, "compaction call") {
			shown++
		}
	}
	one := strings.Join(strings.Fields(out), " ") // a note may take several lines
	for _, m := range regexp.MustCompile(`\(([\d,]+) requests? (?:with and ([\d,]+) )?without an event\)`).FindAllStringSubmatch(one, -1) {
		for _, digits := range m[1:] {
			n, _ := strconv.Atoi(strings.ReplaceAll(digits, ",", ""))
			hidden += n
		}
	}
	if shown+hidden != n || hidden == 0 {
		t.Errorf("%d shown and %d hidden of %d", shown, hidden, n)
	}
	return out
}
