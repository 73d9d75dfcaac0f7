package main

import (
	"cmp"
	_ "embed" // published figures
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/interval"
)

// filling is what `ctxkit stats --format json` prints, as far as it is used.
type filling struct {
	Sessions []struct {
		File string `json:"file"`
		Sent int    `json:"sent_tokens"`
		fill
		Results []struct {
			Tokens int `json:"tokens"`
			Sent   int `json:"sent_tokens"`
		} `json:"results"`
	} `json:"sessions"`
	Total struct {
		Sent int `json:"sent_tokens"`
		fill
	} `json:"total"`
}

type fill struct {
	Categories []struct {
		Category string `json:"category"`
		Sent     int    `json:"sent_tokens"`
	} `json:"categories"`
	Tools []struct {
		Name    string `json:"name"`
		Calls   int    `json:"calls"`
		Results int    `json:"result_tokens"`
		Sent    int    `json:"sent_tokens"`
	} `json:"tools"`
	Reads struct {
		Results   int `json:"results"`
		Tokens    int `json:"tokens"`
		Again     int `json:"again_tokens"`
		Same      int `json:"again_same_tokens"`
		InContext int `json:"again_in_context_tokens"`
		ByRead    int `json:"superseded_by_read"`
		ByEdit    int `json:"superseded_by_edit"`
		ByWrite   int `json:"superseded_by_write"`
	} `json:"reads"`
	Repeated struct {
		Results int `json:"results"`
		Tokens  int `json:"tokens"`
	} `json:"repeated"`
}

func (f *fill) sent(category string) int {
	for _, c := range f.Categories {
		if c.Category == category {
			return c.Sent
		}
	}
	return 0
}

// results are the tokens of all results, as they came.
func (f *fill) results() (n int) {
	for _, t := range f.Tools {
		n += t.Results
	}
	return n
}

func (f *fill) superseded() int { return f.Reads.ByRead + f.Reads.ByEdit + f.Reads.ByWrite }

// categories are the rows of the composition, with their words.
var categories = [][2]string{
	{"system", "system prompt and tools"}, {"earlier", "history before the file"}, {"prompts", "user prompts"}, {"notes", "client's messages"}, {"attachments", "attachments"},
	{"text", "assistant text"}, {"thinking", "thinking"}, {"tool_calls", "tool calls"}, {"tool_results", "tool results"}, {"images", "images and documents"},
	{"summaries", "summaries"}, {"reinjected", "sent again after a compaction"}, {"unrecorded", "not in the file"},
}

//go:embed published.csv
var publishedText string

// context shows what fills the context, beside what others have published.
func context(src *sources) (*article, error) {
	a := &article{title: "Where the context goes"}
	fills := map[*corpus]*filling{}
	for _, c := range src.all() {
		out, err := ctxkit(append([]string{"stats", "--format", "json", "--all"}, c.inputs()...)...)
		if err != nil {
			return nil, err
		}
		fills[c] = &filling{}
		if err := json.Unmarshal(out, fills[c]); err != nil {
			return nil, err
		}
		if fills[c].Total.Sent == 0 {
			return nil, fmt.Errorf("%s: the sessions sent nothing", c.title)
		}
	}
	composition := newTable("context-composition", column{"what", "what"})
	picture := &chart{name: "context", title: "What is sent", axis: "share of all tokens sent"}
	var cols []column
	for _, c := range src.all() {
		cols = append(cols, column{c.key, c.title})
	}
	composition.cols = append(composition.cols, cols...)
	known := map[string]bool{}
	for _, one := range categories {
		known[one[0]] = true
		row := []cell{text(one[1])}
		for i, c := range src.all() {
			x := float64(fills[c].Total.sent(one[0])) / float64(fills[c].Total.Sent)
			row = append(row, share(x))
			picture.rows = append(picture.rows, mark{label: map[bool]string{true: one[1] + ", "}[i == 0] + c.title, value: x, kind: i})
		}
		picture.rows = append(picture.rows, mark{})
		composition.add(row...)
	}
	for _, c := range src.all() {
		for _, one := range fills[c].Total.Categories {
			if !known[one.Category] {
				return nil, fmt.Errorf("the category %q has no words", one.Category)
			}
		}
	}
	a.addTable(composition, toolTable(src, fills, cols), readTable(src, fills, cols))
	published, err := publishedTable(src, fills)
	if err != nil {
		return nil, err
	}
	a.addTable(published)
	return a, a.addChart(picture)
}

// mostTools is how many tools have a row.
const mostTools = 8

// toolTable has the tools with the most in any corpus: their share of all results as they came, and of all that is sent.
func toolTable(src *sources, fills map[*corpus]*filling, cols []column) *table {
	t := newTable("context-tools", column{"tool", "tool"})
	for _, c := range cols {
		t.cols = append(t.cols, column{c.key + "_results", c.title + ": of results"}, column{c.key + "_sent", "of sent"})
	}
	most := map[string]float64{}
	for _, c := range src.all() {
		f := fills[c]
		for _, tool := range f.Total.Tools {
			if tool.Calls > 0 {
				most[tool.Name] = max(most[tool.Name], float64(tool.Results)/float64(max(1, f.Total.results())))
			}
		}
	}
	var names []string
	for name := range most {
		if !strings.HasPrefix(name, "mcp__") { // a server's name may be somebody's own
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(most[b], most[a]), strings.Compare(a, b)) })
	for _, name := range names[:min(mostTools, len(names))] {
		row := []cell{text(name)}
		for _, c := range src.all() {
			f := fills[c]
			results, sent := 0, 0
			for _, tool := range f.Total.Tools {
				if tool.Name == name {
					results, sent = tool.Results, tool.Sent
				}
			}
			if sent == 0 {
				row = append(row, blank, blank)
				continue
			}
			row = append(row, share(float64(results)/float64(f.Total.results())), share(float64(sent)/float64(f.Total.Sent)))
		}
		t.add(row...)
	}
	return t
}

// readTable has what of the results of Read was read again or superseded, and repeated results of all tools.
func readTable(src *sources, fills map[*corpus]*filling, cols []column) *table {
	t := newTable("context-reads", append([]column{{"what", "what"}}, cols...)...)
	for _, r := range []struct {
		what string
		of   func(f *fill) (num, den int)
	}{
		{"superseded, of what Read returned", func(f *fill) (int, int) { return f.superseded(), f.Reads.Tokens }},
		{"by a later Read", func(f *fill) (int, int) { return f.Reads.ByRead, f.Reads.Tokens }},
		{"by an edit", func(f *fill) (int, int) { return f.Reads.ByEdit, f.Reads.Tokens }},
		{"by a write", func(f *fill) (int, int) { return f.Reads.ByWrite, f.Reads.Tokens }},
		{"read again without a change between", func(f *fill) (int, int) { return f.Reads.Again, f.Reads.Tokens }},
		{"with the same text", func(f *fill) (int, int) { return f.Reads.Same, f.Reads.Tokens }},
		{"while still in the context", func(f *fill) (int, int) { return f.Reads.InContext, f.Reads.Tokens }},
		{"results repeated word by word, of all results", func(f *fill) (int, int) { return f.Repeated.Tokens, f.results() }},
	} {
		row := []cell{text(r.what)}
		for _, c := range src.all() {
			num, den := r.of(&fills[c].Total.fill)
			row = append(row, share(float64(num)/float64(den)))
		}
		t.add(row...)
	}
	for _, bound := range []string{"superseded, from", "to"} {
		row := []cell{text(bound)}
		for _, c := range src.all() {
			i := overSessions(c, fills[c], func(f *fill, _ int) (num, den int) { return f.superseded(), f.Reads.Tokens })
			x := i.Lower
			if bound == "to" {
				x = i.Upper
			}
			if x.Known {
				row = append(row, share(x.Float()))
			} else {
				row = append(row, blank)
			}
		}
		t.add(row...)
	}
	return t
}

// overSessions is a ratio of sums over the sessions of a corpus with its interval over projects.
func overSessions(c *corpus, f *filling, of func(f *fill, sent int) (num, den int)) interval.Interval {
	at := map[string]int{}
	for i, s := range f.Sessions {
		at[s.File] = i
	}
	return overProjects(c.facts.sessions, func(s *compared) (float64, float64) {
		i, ok := at[s.File]
		if !ok {
			return 0, 0
		}
		num, den := of(&f.Sessions[i].fill, f.Sessions[i].Sent)
		return float64(num), float64(den)
	})
}

// measure is a figure by another's definition, with the bounds of its interval where it has some.
type measure struct{ value, low, high cell }

// publishedTable has the figures of others beside the same of the corpora.
func publishedTable(src *sources, fills map[*corpus]*filling) (*table, error) {
	t := newTable("context-published", column{"what", "what"})
	for _, c := range src.all() {
		t.cols = append(t.cols, column{c.key, c.title}, column{c.key + "_low", "from"}, column{c.key + "_high", "to"})
	}
	t.cols = append(t.cols, column{"published", "published"}, column{"of", "of"}, column{"source", "source"})
	lines, err := csv.NewReader(strings.NewReader(publishedText)).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, line := range lines[1:] {
		what, key, product, value, of, source := line[0], line[1], line[2], line[3], line[4], line[5]
		row := []cell{text(what)}
		for _, c := range src.all() {
			if product != "" && (c == src.codex) != (product == src.codex.key) {
				row = append(row, blank, blank, blank)
				continue
			}
			m, err := measured(c, fills[c], key)
			if err != nil {
				return nil, err
			}
			row = append(row, m.value, m.low, m.high)
		}
		published := blank
		if value != "" {
			x, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return nil, err
			}
			if published = share(x); x > 1 {
				published = number(x, 1)
			}
		}
		t.add(append(row, published, text(of), text(source))...)
	}
	return t, nil
}

func measureOf(i interval.Interval) measure {
	m := measure{blank, blank, blank}
	if i.Value.Known {
		m.value = share(i.Value.Float())
	}
	if i.Lower.Known {
		m.low, m.high = share(i.Lower.Float()), share(i.Upper.Float())
	}
	return m
}

// measured computes a figure by the definition of its source.
func measured(c *corpus, f *filling, key string) (measure, error) {
	bytes := func(of func(t *texts) (num, den int)) measure {
		i := overProjects(c.facts.sessions, func(s *compared) (float64, float64) {
			num, den := of(c.facts.texts[s.File])
			return float64(num), float64(den)
		})
		return measureOf(i)
	}
	fresh := func(num, den func(r, before *request) int) measure {
		return measureOf(c.steps(num, den))
	}
	switch key {
	case "results of text":
		return bytes(func(t *texts) (int, int) { return t.results, t.results + t.text + t.user }), nil
	case "results of all":
		return bytes(func(t *texts) (int, int) { return t.results, t.results + t.text + t.user + t.other }), nil
	case "Read of results":
		return bytes(func(t *texts) (int, int) { return t.read, t.results }), nil
	case "to the end":
		return measure{number(median(c, func(file string) (float64, bool) {
			t := c.facts.texts[file]
			return float64(t.carried) / float64(t.results), t.results > 0
		}), 1), blank, blank}, nil
	case "while held":
		held := map[string][2]int{}
		for _, s := range f.Sessions {
			for _, r := range s.Results {
				x := held[s.File]
				held[s.File] = [2]int{x[0] + r.Sent - r.Tokens, x[1] + r.Tokens}
			}
		}
		return measure{number(median(c, func(file string) (float64, bool) {
			x := held[file]
			return float64(x[0]) / float64(x[1]), x[1] > 0
		}), 1), blank, blank}, nil
	case "cached":
		return fresh(func(r, _ *request) int { return r.read }, func(r, _ *request) int { return r.context() }), nil
	case "fresh":
		return fresh(func(r, before *request) int {
			if before == nil {
				return 0
			}
			return max(0, r.context()-before.context()) - before.output
		}, func(r, before *request) int {
			if before == nil {
				return 0
			}
			return r.input + r.wrote
		}), nil
	}
	return measure{}, fmt.Errorf("published.csv: nothing computes %q", key)
}

// steps is a ratio of sums over the recorded requests, each with the one before it in its session.
func (c *corpus) steps(num, den func(r, before *request) int) interval.Interval {
	sums := map[string][2]int{}
	var before *request
	for i := range c.facts.requests {
		r := &c.facts.requests[i]
		if r.context() == 0 {
			continue // no usage is recorded
		}
		if before != nil && before.session != r.session {
			before = nil
		}
		s := sums[r.session]
		sums[r.session] = [2]int{s[0] + num(r, before), s[1] + den(r, before)}
		before = r
	}
	return overProjects(c.facts.sessions, func(s *compared) (float64, float64) {
		return float64(sums[s.File][0]), float64(sums[s.File][1])
	})
}

// median is the middle of the values of the sessions that have one.
func median(c *corpus, of func(file string) (float64, bool)) float64 {
	var list []float64
	for _, s := range c.facts.sessions {
		if x, ok := of(s.File); ok {
			list = append(list, x)
		}
	}
	if len(list) == 0 {
		return math.NaN()
	}
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// texts are the bytes of a conversation's texts, as they came.
type texts struct {
	results, read int // of tools, and of Read alone
	text          int // of the assistant
	user          int // all other text that is sent
	other         int // calls and thinking
	carried       int // results times the requests after the first that sent them, up to the end of the session
}

// textsOf measures a conversation.
func textsOf(conv *session.Conversation) *texts {
	t := &texts{}
	request, reads := 0, map[string]bool{}
	for m := range conv.Messages {
		msg := &conv.Messages[m]
		if request < len(conv.Requests) && conv.Requests[request].Message == m {
			request++
		}
		if msg.RecordOnly {
			continue
		}
		for i := range msg.Blocks {
			bl := &msg.Blocks[i]
			n := bl.Text.Bytes
			switch bl.Kind {
			case jsonl.KindToolResult:
				t.results += n
				t.carried += n * max(0, len(conv.Requests)-request-1)
				if reads[bl.ID] {
					t.read += n
				}
			case jsonl.KindToolUse:
				t.other += bl.Text.Bytes
				reads[bl.ID] = conv.Alike(bl.Name) == "Read"
			case jsonl.KindThinking:
				t.other += n
			case jsonl.KindText, jsonl.KindAttachment:
				if msg.Role == session.Assistant {
					t.text += n
				} else {
					t.user += n
				}
			}
		}
	}
	return t
}
