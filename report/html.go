package report

import (
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/ctxkit/ctxkit/replay/trace"
)

// The page is one file without a network: its style and scripts are embedded and named by their hashes in its content
// security policy, its data is JSON, and texts of the transcript are compressed. Scripts put text into the page as
// text, never as markup (page/core.js).

//go:embed page
var pageFiles embed.FS

// pageScripts are the scripts, in the order in which they are joined to one.
var pageScripts = []string{"core.js", "table.js", "view.js", "timeline.js", "treemap.js", "charts.js", "replay.js", "compare.js", "main.js"}

const (
	mostHTML  = 4_800_000 // bytes of a page of which texts take as much as is left
	leastRoom = 500_000   // bytes for texts in any case
	leastCut  = 200       // bytes of a text: where it would be shorter, a page has no texts
	mostCuts  = 6         // how often texts are cut to fit
	textChunk = 192 << 10 // bytes of text that are unfolded at once
)

// htmlPage is a page: what it says first, and what its scripts draw.
type htmlPage struct {
	Kicker   string // above the title: what kind of page it is
	Title    string
	Answers  []string       // the first sentences
	Sections []any          // see page/main.js: each has a type
	Replays  []any          // that sections of type replay draw, by index
	Zone     *time.Location // of the times on it; nil: UTC
	Texts    namer          // that replays refer to, by index
}

// section is a part of a page. Type says what draws it; the other members are what that needs.
type section struct {
	Type  string `json:"type"`
	Title string `json:"title,omitempty"`
	About string `json:"about,omitempty"` // one sentence below the title
	Data  any    `json:"data,omitempty"`
}

// htmlTable is a table of a page. Cells are text; columns of numbers are aligned to the right.
type htmlTable struct {
	Columns []htmlColumn `json:"columns"`
	Rows    [][]string   `json:"rows"`
}

type htmlColumn struct {
	Title  string `json:"title"`
	Number bool   `json:"number,omitempty"`
	About  string `json:"about,omitempty"` // shown when the pointer rests on the heading
}

// newHTMLTable is a table as text prints it, without columns and rows that only CSV has.
func newHTMLTable(g *grid) *htmlTable {
	data := &htmlTable{Columns: []htmlColumn{}, Rows: notNil(g.rows)}
	for i, c := range g.columns {
		data.Columns = append(data.Columns, htmlColumn{Clean(c.Title), g.right[i], Clean(c.About)})
	}
	return data
}

// numbersBy is a table of numbers by what the first column names, without rows.
func numbersBy(titles ...string) htmlTable {
	t := htmlTable{Rows: [][]string{}}
	for i, title := range titles {
		t.Columns = append(t.Columns, htmlColumn{Title: title, Number: i > 0})
	}
	return t
}

func tableSection(title, about string, t *table) section {
	return section{Type: "table", Title: title, About: about, Data: newHTMLTable(t.grid(htmlColumns))}
}

// htmlBlock is one part of a section of type blocks; one of its members is set.
type htmlBlock struct {
	Text   string        `json:"text,omitempty"`
	Items  []string      `json:"items,omitempty"`
	Fields [][2]string   `json:"fields,omitempty"`
	Lines  []string      `json:"lines,omitempty"` // as they are, in columns
	Table  *htmlTable    `json:"table,omitempty"`
	Shares []pageShareOf `json:"shares,omitempty"` // areas of a treemap
}

// begin begins a section of blocks. The first has the title of the page, unless the session has one.
func (h *htmlPage) begin(title string) {
	h.Title = cmp.Or(h.Title, title)
	h.Sections = append(h.Sections, &section{Type: "blocks", Title: title, Data: []htmlBlock{}})
}

// add adds a block to the last section. Texts before the first section are the answer.
func (h *htmlPage) add(b htmlBlock) {
	if len(h.Sections) == 0 {
		h.Answers = append(append(h.Answers, b.Text), b.Items...)
		return
	}
	s := h.Sections[len(h.Sections)-1].(*section)
	list := s.Data.([]htmlBlock)
	if n := len(list) - 1; n >= 0 && b.Lines != nil && list[n].Lines != nil {
		list[n].Lines = append(list[n].Lines, b.Lines...)
		return
	}
	list = append(list, b)
	s.Data = list
}

// notesSection is a section of paragraphs; ok is false where there are none.
func notesSection(title string, texts []string) (s section, ok bool) {
	list := cleaned(texts)
	return section{Type: "notes", Title: title, Data: list}, len(list) > 0
}

// cleaned are the texts that are not empty, cleaned.
func cleaned(texts []string) []string {
	list := []string{}
	for _, text := range texts {
		if text != "" {
			list = append(list, Clean(text))
		}
	}
	return list
}

// addNotes adds a section of paragraphs, unless there are none.
func (h *htmlPage) addNotes(title string, texts ...string) {
	if s, ok := notesSection(title, texts); ok {
		h.Sections = append(h.Sections, s)
	}
}

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page.html.tmpl").
		Funcs(template.FuncMap{"text": func(s string) string { return html.EscapeString(strings.ReplaceAll(Clean(s), "`", "")) }}).ParseFS(pageFiles, "page/page.html.tmpl"))
})

// write writes the page.
func (h *htmlPage) write(w io.Writer) error {
	var scripts strings.Builder
	scripts.WriteString("\"use strict\";\n")
	for _, name := range pageScripts {
		scripts.WriteString(pageFile(name))
	}
	content := map[string]any{"sections": notNil(h.Sections), "replays": notNil(h.Replays)}
	if h.Zone != nil {
		content["zone"] = h.Zone.String()
	}
	data, err := json.Marshal(content)
	if err != nil {
		return err
	}
	style := pageFile("page.css")
	filled := struct {
		*htmlPage
		Style, Script         string
		StyleHash, ScriptHash string
		Data                  string
		Chunks                []chunk
	}{
		htmlPage: h, Style: style, Script: scripts.String(), StyleHash: sourceHash(style), ScriptHash: sourceHash(scripts.String()),
		Data: string(escapeJSON(data)),
	}
	if filled.Chunks, err = packTexts(h.Texts.list, max(mostHTML-len(style)-scripts.Len()-len(data), leastRoom)); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, filled); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// pageFile reads an embedded file.
func pageFile(name string) string {
	text, err := pageFiles.ReadFile("page/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// sourceHash is the hash of an inline style or script, as a content security policy names it.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// chunk is a group of texts: the index of the first of them, and their compressed form.
type chunk struct {
	First int
	Text  string
}

// packTexts compresses texts in chunks: each is a JSON list of texts, deflated, in base64. Texts are cut until all
// chunks together have at most n bytes.
func packTexts(texts []string, most int) ([]chunk, error) {
	cleaned := make([]string, len(texts))
	for i, text := range texts {
		cleaned[i] = cleanText(text)
	}
	for range mostCuts {
		chunks, size, err := packed(cleaned)
		if err != nil || size <= most {
			return chunks, err
		}
		sizes := make([]int, len(cleaned))
		all := 0
		for i, text := range cleaned {
			sizes[i] = len(text)
			all += len(text)
		}
		longest := trace.Longest(sizes, int(float64(all)*0.9*float64(most)/float64(size)))
		if longest <= leastCut {
			break
		}
		for i := range cleaned {
			cleaned[i] = trace.Shorten(cleaned[i], longest)
		}
	}
	return nil, nil // there are too many
}

// packed compresses texts as they are. size is that of all chunks, in bytes.
func packed(texts []string) (chunks []chunk, size int, err error) {
	var group []string
	first, room := 0, 0 // of group
	end := func() {
		if err != nil || group == nil {
			return
		}
		var b bytes.Buffer
		var text []byte
		if text, err = json.Marshal(group); err != nil {
			return
		}
		z, _ := flate.NewWriter(&b, flate.BestCompression) // the level is known
		_, _ = z.Write(text)                               // a Buffer does not fail
		_ = z.Close()
		c := chunk{first, base64.StdEncoding.EncodeToString(b.Bytes())}
		chunks = append(chunks, c)
		size += len(c.Text)
		first += len(group)
		group = nil
		room = 0
	}
	for _, text := range texts {
		if group != nil && room+len(text) > textChunk {
			end()
		}
		group = append(group, text)
		room += len(text)
	}
	end()
	return chunks, size, err
}

// cleanText cleans a text of several lines: see Clean. Line ends stay.
func cleanText(text string) string {
	if plain(text) {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = cleanLine(lines[i])
	}
	return strings.Join(lines, "\n")
}
