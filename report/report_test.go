package report

import (
	"bytes"
	"encoding/json"
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

var goldens = []struct {
	name string
	opt  Layout
	tls  func() []*replay.Timeline
}{
	{"table.txt", Layout{}, func() []*replay.Timeline { return []*replay.Timeline{sample(240)} }},
	{"table-all.txt", Layout{All: true, ASCII: true}, func() []*replay.Timeline { return []*replay.Timeline{sample(12)} }},
	{"table-color.txt", Layout{Color: true}, func() []*replay.Timeline { return []*replay.Timeline{sample(40)} }},
	{"table-verbose.txt", Layout{Several: true, Verbose: true}, func() []*replay.Timeline { return []*replay.Timeline{sample(1), sample(0)} }},
	{"table-several.txt", Layout{Several: true}, func() []*replay.Timeline { return []*replay.Timeline{sample(1), sample(0)} }},
	{"table-hostile.txt", Layout{All: true}, func() []*replay.Timeline { return []*replay.Timeline{hostile()} }},
	{"markdown.md", Layout{Format: FormatMarkdown}, func() []*replay.Timeline { return []*replay.Timeline{sample(40)} }},
	{"markdown-hostile.md", Layout{Format: FormatMarkdown}, func() []*replay.Timeline { return []*replay.Timeline{hostile()} }},
	{"one.json", Layout{Format: FormatJSON}, func() []*replay.Timeline { return []*replay.Timeline{sample(8)} }},
	{"several.json", Layout{Format: FormatJSON, Several: true}, func() []*replay.Timeline { return []*replay.Timeline{sample(4), sample(0)} }},
	{"requests.ndjson", Layout{Format: FormatNDJSON}, func() []*replay.Timeline { return []*replay.Timeline{sample(8), sample(4)} }},
	{"requests.csv", Layout{Format: FormatCSV}, func() []*replay.Timeline { return []*replay.Timeline{sample(8), hostile()} }},
}

func TestGolden(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			golden.Check(t, filepath.Join("testdata", g.name), render(t, g.opt, g.tls()...))
		})
	}
}

// TestGoldenEnvironment runs TestGolden as other people's machines would.
func TestGoldenEnvironment(t *testing.T) {
	if golden.Update() || os.Getenv("CTXKIT_TEST_CHILD") != "" {
		t.Skip("the goldens themselves")
	}
	exe := must.Get(os.Executable())(t)
	n := 0
	for _, lang := range []string{"C", "en_US.UTF-8", "zh_CN.UTF-8", "ja_JP.eucJP"} {
		for _, term := range []string{"dumb", "xterm-256color", ""} {
			for _, more := range []string{"TZ=UTC", "TZ=Asia/Kathmandu", "RUNEWIDTH_EASTASIAN=1"} {
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
		for _, opt := range []Layout{{}, {All: true}, {ASCII: true}} {
			for n, line := range strings.Split(string(render(t, opt, tl)), "\n") {
				if w := width(line); w > defaultWidth {
					t.Errorf("%d requests, line %d: %d columns: %s", len(tl.Requests), n+1, w, line)
				}
				must.Equal(t, strings.TrimRight(line, " "), line)
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
