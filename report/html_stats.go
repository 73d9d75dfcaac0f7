package report

import (
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

// wordlessStats are copies without a word of the transcript.
func wordlessStats(list []*stats.SessionStats) []*stats.SessionStats {
	names := &words{hidden: true, tools: map[string]string{}}
	list = slices.Clone(list)
	for i, s := range list {
		list[i] = wordless(s, names, i+1)
	}
	return list
}

// sharesOf lists the parts of categories: of what the request holds, or of all that was sent.
func sharesOf(list []stats.CategoryTokens, sent bool) []pageShareOf {
	shares := []pageShareOf{}
	for _, c := range list {
		group := contentNames[c.Category]
		left := c.Tokens
		blocks := c.Blocks
		if sent {
			shares = append(shares, pageShareOf{group, group, c.Sent, 0})
			continue
		}
		for _, p := range c.Of {
			if c.Category == category.Results || c.Category == category.Calls {
				shares = append(shares, pageShareOf{group, Clean(p.Name), p.Tokens, p.Blocks})
				left -= p.Tokens
				blocks -= p.Blocks
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
		c.Results[i].Tool = w.tool(c.Results[i].Tool)
		c.Results[i].Target = ""
	}
	for i := range c.Turns {
		c.Turns[i].Prompt = ""
	}
	c.Repeated.Groups = slices.Clone(s.Repeated.Groups)
	for i := range c.Repeated.Groups {
		g := &c.Repeated.Groups[i]
		g.Tool = w.tool(g.Tool)
		g.Target = ""
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
