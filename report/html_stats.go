package report

import (
	"cmp"
	"io"
	"slices"
	"strconv"

	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/stats"
)

// pageShareOf is a part of a context on a page, as its treemap draws it.
type pageShareOf struct {
	Group  string `json:"group"`
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Blocks int    `json:"blocks"`
}

// statsHTML writes what fills contexts as a page.
func statsHTML(w io.Writer, list []*stats.SessionStats, opt Layout) error {
	opt.All = true
	if opt.NoText {
		names := &words{hidden: true, tools: map[string]string{}}
		list = slices.Clone(list)
		for i, s := range list {
			list[i] = wordless(s, names, i+1)
		}
	}
	h := &htmlPage{Kicker: "What fills the context"}
	if len(list) == 1 {
		h.oneStats(list[0], opt.NoText)
		return h.write(w)
	}
	sum := stats.Sum(list)
	h.Title, h.Answers = count(len(list), "session"), []string{overviewText(sum), besideText(nameless(sum.Bill, opt.NoText), sum.Simulated, "", sum.CacheFit)}
	h.Sections = append(h.Sections,
		section{Type: "treemap", Title: "What all of them sent", About: "Each token counts once for every request that held it.", Data: sharesOf(sum.Categories, true)},
		tableSection("Categories", "", contentTable(sum.Categories, false)), tableSection("Sessions", "", heaviestTable(list)),
		tableSection("Tools", "", toolTable(sum.Tools)))
	h.statsTable("Subagents", subagentTable(sum.Subagents))
	return h.write(w)
}

// oneStats adds the sections of one conversation.
func (h *htmlPage) oneStats(s *stats.SessionStats, hidden bool) {
	h.Title = either(hidden, "One session", cmp.Or(s.Title, sessionTitle(s.Session, s.Agent)))
	h.Answers = append([]string{statsText(s), besideText(nameless(s.Bill, hidden), s.Simulated, s.Policy, s.CacheFit)}, statsTrouble(s)...)
	if s.Request == 0 {
		return
	}
	h.Sections = append(h.Sections,
		section{Type: "treemap", Title: phrase("The context at request %v", s.Request), About: "Areas are tokens.", Data: sharesOf(s.Categories, false)},
		tableSection("Categories", "", contentTable(s.Categories, true)), tableSection("Tools", "", toolTable(s.Tools)))
	if s.Overhead != nil {
		h.statsTable("System prompt and tools", overheadTable(s.Overhead))
		h.addNotes("", overheadNote(s.Overhead))
		h.statsTable("What the client adds to messages, which a policy can take away", addedTable(s.Overhead))
	}
	h.statsTable("Files that Read returned", fileTable(s))
	if s.Reads.Results > 0 {
		h.addNotes("", readNotes(&s.Reads)...)
	}
	h.statsTable("Results by what was sent of them", resultTable(s.Results))
	h.statsTable("Results with the same text", repeatedTable(s.Repeated.Groups))
	h.statsTable("Turns", turnTable(s.Turns))
	h.statsTable("Listings of tools, skills and agents", definitionTable(s.Definitions))
	h.statsTable("Subagents", subagentTable(s.Subagents))
	h.addNotes("What the figures are", statsNotes(s)...)
}

// statsTable adds a table, unless it is empty.
func (h *htmlPage) statsTable(title string, t *table) {
	if len(t.rows) > 0 {
		h.Sections = append(h.Sections, tableSection(title, "", t))
	}
}

// sharesOf lists the parts of categories: of what the request holds, or of all that was sent.
func sharesOf(list []stats.CategoryTokens, sent bool) []pageShareOf {
	shares := []pageShareOf{}
	for _, c := range list {
		group, left, blocks := contentNames[c.Category], c.Tokens, c.Blocks
		if sent {
			shares = append(shares, pageShareOf{group, group, c.Sent, 0})
			continue
		}
		for _, p := range c.Of {
			if c.Category == category.Results || c.Category == category.Calls {
				shares = append(shares, pageShareOf{group, Clean(p.Name), p.Tokens, p.Blocks})
				left, blocks = left-p.Tokens, blocks-p.Blocks
			}
		}
		if left != 0 {
			shares = append(shares, pageShareOf{group, group, left, blocks})
		}
	}
	return shares
}

// wordless is a copy without a word of the transcript. n is the number of the session.
func wordless(s *stats.SessionStats, w *words, n int) *stats.SessionStats {
	c := *s
	c.Session, c.File, c.Title, c.Model = "session "+strconv.Itoa(n), "", "", w.model(s.Model)
	c.Agent = either(s.Agent == "", "", "subagent")
	c.Categories = slices.Clone(s.Categories)
	for i := range c.Categories {
		of := slices.Clone(c.Categories[i].Of)
		for k := range of {
			tool := c.Categories[i].Category == category.Results || c.Categories[i].Category == category.Calls
			of[k].Name = either(tool, w.tool(of[k].Name), "part "+strconv.Itoa(k+1))
		}
		c.Categories[i].Of = of
	}
	c.Tools, c.Files, c.Results, c.Turns = slices.Clone(s.Tools), slices.Clone(s.Files), slices.Clone(s.Results), slices.Clone(s.Turns)
	for i := range c.Tools {
		c.Tools[i].Name = w.tool(c.Tools[i].Name)
	}
	for i := range c.Files {
		c.Files[i].Path = "file " + strconv.Itoa(i+1)
	}
	for i := range c.Results {
		c.Results[i].Tool, c.Results[i].Target = w.tool(c.Results[i].Tool), ""
	}
	for i := range c.Turns {
		c.Turns[i].Prompt = ""
	}
	c.Repeated.Groups = slices.Clone(s.Repeated.Groups)
	for i := range c.Repeated.Groups {
		g := &c.Repeated.Groups[i]
		g.Tool, g.Target = w.tool(g.Tool), ""
	}
	if o := s.Overhead; o != nil {
		own := *o
		own.Parts = slices.Clone(o.Parts)
		for i := range own.Parts {
			own.Parts[i].Server = ""
			if own.Parts[i].Name = w.tool(own.Parts[i].Name); own.Parts[i].Part != "tool" {
				own.Parts[i].Name = "section " + strconv.Itoa(i+1)
			}
		}
		c.Overhead = &own
	}
	c.Definitions, c.Subagents = slices.Clone(s.Definitions), slices.Clone(s.Subagents)
	for i := range c.Definitions {
		c.Definitions[i].Type = "listing " + strconv.Itoa(i+1)
	}
	for i := range c.Subagents {
		c.Subagents[i].Type = "type " + strconv.Itoa(i+1)
	}
	return &c
}
