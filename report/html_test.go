package report

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/trace"
)

// tracedSample is a sample with a trace: a prompt, a call, its result that the second request clears, a summary.
func tracedSample() *replay.Timeline {
	tl := sample(2)
	tl.Trace = sampled[*trace.Trace]("trace")
	return tl
}

var (
	pageData   = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)
	pageChunks = regexp.MustCompile(`<script type="text/plain" class="texts" data-first="(\d+)">(.*?)</script>`)
	pageScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	pageStyle  = regexp.MustCompile(`(?s)<style>(.*?)</style>`)
)

// unfoldTexts reads the texts of a page.
func unfoldTexts(t *testing.T, page []byte) (list []string) {
	t.Helper()
	for _, m := range pageChunks.FindAllSubmatch(page, -1) {
		packed := must.Get(base64.StdEncoding.DecodeString(string(m[2])))(t)
		plain := must.Get(io.ReadAll(flate.NewReader(bytes.NewReader(packed))))(t)
		var some []string
		must.Do(t, json.Unmarshal(plain, &some))
		list = append(list, some...)
	}
	return list
}

// TestHTML holds the structure of a page: its policy, its hashes, its data, its texts.
func TestHTML(t *testing.T) {
	page := render(t, Layout{Format: FormatHTML}, tracedSample())
	script, style := pageScript.FindSubmatch(page), pageStyle.FindSubmatch(page)
	if script == nil || style == nil {
		t.Fatal("the page has no script or no style")
	}
	want := `content="default-src 'none'; script-src ` + sourceHash(string(script[1])) + `; style-src ` + sourceHash(string(style[1])) + `; base-uri 'none'; form-action 'none'"`
	if !bytes.Contains(page, []byte(want)) {
		t.Errorf("the page has not the content security policy %s", want)
	}
	var data struct {
		Sections []section
		Replays  []struct {
			Requests map[string][]int
			Trace    *pageTrace
		}
	}
	must.Do(t, json.Unmarshal(pageData.FindSubmatch(page)[1], &data))
	if len(data.Replays) != 1 || len(data.Sections) != 1 || len(data.Replays[0].Requests["n"]) == 0 || data.Replays[0].Trace == nil {
		t.Errorf("the data of the page: %d replays, %d sections", len(data.Replays), len(data.Sections))
	}
	must.Equal(t, unfoldTexts(t, page), []string{`ask </script> \x1b[31m`, `{"file_path":"a"}`, "one\ntwo 3\\u202e", "[cleared]"})
	if again := render(t, Layout{Format: FormatHTML}, tracedSample()); !bytes.Equal(page, again) {
		t.Error("the same replay gives another page")
	}
	must.Equal(t, bytes.Count(render(t, Layout{Format: FormatHTML}, tracedSample(), sample(30)), []byte(`"policy":`)), 2, "a page of two replays has not both")
}

// TestHTMLWithoutRequests holds that the page of a session without a request has lists, where it has one with requests,
// too: the scripts take each for one.
func TestHTMLWithoutRequests(t *testing.T) {
	for _, tl := range []*replay.Timeline{{}, sample(1)} {
		page := render(t, Layout{Format: FormatHTML}, tl, sample(3))
		var data struct{ Replays []map[string]any }
		if err := json.Unmarshal(pageData.FindSubmatch(page)[1], &data); err != nil || len(data.Replays) != 2 {
			t.Fatalf("%d replays, %v", len(data.Replays), err)
		}
		var look func(at string, v any)
		look = func(at string, v any) {
			switch v := v.(type) {
			case nil:
				t.Errorf("%s is null", at)
			case map[string]any:
				for name, one := range v {
					look(at+"."+name, one)
				}
			}
		}
		look("replay", data.Replays[0])
	}
}

// TestHTMLLimits holds that the timeline has no limit of something else than whole requests without saying so.
func TestHTMLLimits(t *testing.T) {
	tl := sample(2)
	tl.Limits = []policy.Limit{
		{Name: "prune protects", Tokens: 40_000, Of: policy.OfResults, Acts: true}, {Name: "usable", Label: "usable", Tokens: 50_000, Of: policy.OfContext, Acts: true},
		{Name: "clearing", Label: "clear", Tokens: 30_000, Of: policy.OfMessages, Acts: true}, {Name: "micro", Tokens: 20_000, Of: policy.OfContext, Acts: true},
	}
	got := newPageReplay(&htmlPage{}, tl, wordsOf(&Layout{})).Limits
	if want := []pageLimit{{"usable", 50_000, true}, {"clear of messages", 30_000, true}, {"micro", 20_000, true}}; !slices.Equal(got, want) {
		t.Errorf("limits %v, want %v", got, want)
	}
}

// TestHTMLOfPages holds that reports of headings, fields, tables and notes have a page with the same content.
func TestHTMLOfPages(t *testing.T) {
	var b bytes.Buffer
	d := listing("", nil, nil)
	d.kind = "A kind"
	d.page = func(p *page) {
		p.note(bold, "The answer <b>.")
		p.heading("session 1")
		p.fields([2]string{"title", "A title"}, [2]string{"file", ""}, [2]string{"model", "m"})
		p.line("")
		p.line("+ added")
		p.items(none, []string{"one", "", "two"})
		tb := newTable([]column{{Title: "name"}, {Title: "n"}, {Key: "csv"}})
		tb.add(none, "a", 1, "only csv")
		tb.add(none, "b", 2, "x").noTab = true
		p.table(tb)
		p.heading("session 1")
		p.note(none, "A note.")
		p.hidden(0, "row", "json")
	}
	must.Do(t, d.print(&b, Layout{Format: FormatHTML}))
	for _, want := range []string{`<h1>A title</h1>`, `<p class="kicker">A kind</p>`, `<p class="answer">The answer &lt;b&gt;.</p>`} {
		if !bytes.Contains(b.Bytes(), []byte(want)) {
			t.Errorf("the page has no %s", want)
		}
	}
	want := `{"replays":[],"sections":[{"type":"blocks","title":"session 1","data":[{"fields":[["title","A title"],["model","m"]]},{"lines":["","+ added"]},{"items":["one","two"]},` +
		`{"table":{"columns":[{"title":"name"},{"title":"n","number":true}],"rows":[["a","1"]]}}]},{"type":"blocks","title":"session 1","data":[{"text":"A note."}]}]}`
	must.Equal(t, string(pageData.FindSubmatch(b.Bytes())[1]), want)
	if err := listing("", newTable(nil), nil).print(io.Discard, Layout{Format: FormatHTML}); err == nil {
		t.Error("a report without a kind has a page")
	}
}

// TestHTMLConclusions holds that the policy that differs most is named first.
func TestHTMLConclusions(t *testing.T) {
	c := &comparedSample(12)[0]
	sizes := map[string]float64{}
	for i := 1; i < len(c.Policies); i++ {
		sizes[ended(conclusion(c, i))] = c.Pairs[i].Figures[c.Judged].Interval.Value.Abs().Float()
	}
	texts := conclusions(c)
	for i := 1; i < len(c.Policies)-1; i++ {
		if sizes[texts[i-1]] < sizes[texts[i]] {
			t.Errorf("%q is before %q", texts[i-1], texts[i])
		}
	}
}

// TestPageSources holds that scripts make no markup and no code of texts, and set no style attributes, which the
// content security policy would block.
func TestPageSources(t *testing.T) {
	bad := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|style:|"style"|https?://|fetch\(|XMLHttpRequest|import\(|localStorage`)
	for _, name := range pageScripts {
		text := strings.ReplaceAll(pageFile(name), `"http://www.w3.org/2000/svg"`, "")
		for _, found := range bad.FindAllString(text, -1) {
			t.Errorf("%s has %s", name, found)
		}
		if strings.Contains(text, "\t") || !strings.HasPrefix(text, "// ") || !strings.HasSuffix(text, "\n") {
			t.Errorf("%s: indent with spaces, begin with a comment, end with a line end", name)
		}
	}
	entries := must.Get(pageFiles.ReadDir("page"))(t)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".js") && !slices.Contains(pageScripts, e.Name()) {
			t.Errorf("%s is in no page", e.Name())
		}
	}
	if s := pageFile("page.css"); regexp.MustCompile(`url\(|@import|@font-face`).MatchString(s) {
		t.Error("page.css loads something")
	}
}

// TestPackTexts holds that texts are cut until they fit, and otherwise kept.
func TestPackTexts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('!' + random.IntN(90))
		}
		return string(b)
	}
	var list []string
	for i := range 40 {
		list = append(list, noise(500*i))
	}
	for _, most := range []int{30_000, 100_000, 1_000_000} {
		chunks := must.Get(packTexts(list, most))(t)
		var page []byte
		first, size := 0, 0
		for _, c := range chunks {
			page = append(page, `<script type="text/plain" class="texts" data-first="0">`+c.Text+"</script>"...)
			must.Equal(t, c.First, first)
			size += len(c.Text)
			first = len(unfoldTexts(t, page))
		}
		texts := unfoldTexts(t, page)
		if len(texts) != len(list) || size > most {
			t.Errorf("room for %d bytes: %d texts in %d bytes", most, len(texts), size)
		}
		if most == 1_000_000 && !slices.Equal(texts, list) {
			t.Error("texts that fit are not kept as they are")
		}
	}
	if chunks, err := packTexts(list, 100); err != nil || len(chunks) != 0 {
		t.Errorf("no room: %d chunks, %v", len(chunks), err)
	}
	var many []string
	for range 3000 {
		many = append(many, noise(150))
	}
	if chunks, err := packTexts(many, 100_000); err != nil || len(chunks) != 0 { // what says that a text is cut takes room, too
		t.Errorf("many short texts: %d chunks, %v", len(chunks), err)
	}
	if chunks, err := packTexts(nil, 10); err != nil || len(chunks) != 0 {
		t.Errorf("no texts: %v, %v", chunks, err)
	}
}

// TestTimelineSVG holds that pictures are well-formed and take one session.
func TestTimelineSVG(t *testing.T) {
	for _, tl := range []*replay.Timeline{{}, sample(1), sample(240), sample(3000), hostile()} {
		text := string(render(t, Layout{Format: FormatSVG}, tl))
		if err := wellFormed(text); err != nil {
			t.Errorf("%d requests: %v", len(tl.Requests), err)
		}
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || len(text) > 300_000 {
			t.Errorf("%d requests: a picture of %d bytes, or what is no number in it", len(tl.Requests), len(text))
		}
	}
	p := must.Get(NewReplays(io.Discard, Layout{Format: FormatSVG}))(t)
	must.Do(t, p.Add(sample(1)))
	if err := p.Add(sample(1)); err == nil {
		t.Error("a picture takes two sessions")
	}
}

// TestLabels holds that no label of a sweep's picture covers another or a mark, and that marks in one place are one.
func TestLabels(t *testing.T) {
	for _, n := range []int{1, 6, 80, 400} {
		d := newScatter(sweptSample(n, n))
		var boxes []rectangle
		points := 0
		for i := range d.Marks {
			m := &d.Marks[i]
			points += len(m.Texts)
			for _, o := range d.Marks[:i] {
				if places(o.X, 1) == places(m.X, 1) && places(o.Y, 1) == places(m.Y, 1) && places(o.R, 1) == places(m.R, 1) {
					t.Errorf("%d points: two marks at %.1f, %.1f", n, m.X, m.Y)
				}
			}
			if m.Anchor == "" {
				continue
			}
			w := labelColumn * float64(width(m.Label))
			left := m.LabelX - map[string]float64{"start": 0, "middle": w / 2, "end": w}[m.Anchor]
			boxes = append(boxes, rectangle{left, m.LabelY - 10, left + w, m.LabelY + 2})
		}
		if points != n || len(boxes)+d.Hidden != len(d.Marks) || len(boxes) == 0 {
			t.Errorf("%d points: %d in marks, %d labels and %d without of %d marks", n, points, len(boxes), d.Hidden, len(d.Marks))
		}
		for i, r := range boxes {
			if slices.ContainsFunc(boxes[:i], r.meets) {
				t.Errorf("%d points: two labels meet", n)
			}
		}
	}
	same := sweptSample(1, 1)
	same.Points = append(same.Points, same.Points[0], same.Points[0], same.Points[0])
	for i := range same.Sessions {
		one := &same.Sessions[i]
		one.Values = append(one.Values, one.Values[1], one.Values[1], one.Values[1])
	}
	same.Mark(nil)
	if d := newScatter(same); len(d.Marks) != 1 || len(d.Marks[0].Texts) != 4 || !strings.Contains(d.Marks[0].Label, "2 more") {
		t.Errorf("four points in one place: %+v", d.Marks)
	}
}

// TestScriptsDeclareOnce holds that no two scripts of a page declare the same name: none would run.
func TestScriptsDeclareOnce(t *testing.T) {
	seen := map[string]string{}
	for _, name := range pageScripts {
		for _, m := range regexp.MustCompile(`(?m)^(?:async )?(?:const|let|var|function\*?|class) (\w+)`).FindAllStringSubmatch(pageFile(name), -1) {
			must.Equal(t, seen[m[1]], "", name)
			seen[m[1]] = name
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d names are found", len(seen))
	}
}
