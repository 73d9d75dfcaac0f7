package main

import (
	"bytes"
	"embed"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/replay/interval"
	"github.com/ctxkit/ctxkit/replay/price"
)

//go:embed articles
var articles embed.FS

// article is one text with what it shows.
type article struct {
	name     string
	title    string
	tables   []*table
	pictures map[string]string // SVG by name
}

// answer is an article in one sentence.
type answer struct{ name, title, text string }

func (a *article) addTable(list ...*table) { a.tables = append(a.tables, list...) }

func (a *article) addChart(c *chart) error {
	svg, err := c.svg()
	if a.pictures == nil {
		a.pictures = map[string]string{}
	}
	a.pictures[c.name] = svg
	return err
}

// makers are the articles in their order.
var makers = []maker{{"agents", agents}, {"masking", masking}, {"off-policy", offPolicy}, {"compaction", compaction}, {"context", context}, {"thresholds", thresholds}}

type maker struct {
	name string
	make func(*sources) (*article, error)
}

func names() (list []string) {
	for _, m := range makers {
		list = append(list, m.name)
	}
	return list
}

// generate makes the files of the folder, by name: all of them, or those of the articles that are named.
func generate(src *sources, only ...string) (files map[string]string, err error) {
	for _, c := range src.all() {
		if err := c.load(); err != nil {
			return nil, err
		}
	}
	var answers []answer
	shared := corpora(src)
	files = map[string]string{}
	for _, one := range makers {
		if len(only) > 0 && !slices.Contains(only, one.name) {
			continue
		}
		a, err := one.make(src)
		if err != nil {
			return nil, err
		}
		a.name = one.name
		a.addTable(shared)
		words, err := a.write(files)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		answers = append(answers, answer{a.name, a.title, words})
	}
	if len(only) > 0 {
		return files, nil
	}
	index := &article{name: "README", tables: []*table{shared}}
	parsed, err := index.parse()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = parsed.Execute(&b, map[string]string{"List": strings.TrimSpace(listOf(answers))})
	files["README.md"] = tidy(b.String())
	return files, err
}

// write adds the files of an article, and returns its answer.
func (a *article) write(files map[string]string) (words string, err error) {
	parsed, err := a.parse()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := parsed.ExecuteTemplate(&b, "answer", nil); err != nil {
		return "", err
	}
	words = strings.Join(strings.Fields(b.String()), " ")
	b.Reset()
	if err := parsed.Execute(&b, map[string]string{"Title": a.title, "Answer": words}); err != nil {
		return "", err
	}
	files[a.name+".md"] = tidy(b.String())
	for _, t := range a.tables {
		b.Reset()
		if err := t.csv(&b); err != nil {
			return "", err
		}
		files[t.name+".csv"] = b.String()
	}
	for name, svg := range a.pictures {
		files[name+".svg"] = svg
	}
	return words, nil
}

func (a *article) parse() (*template.Template, error) {
	return template.New(a.name+".md.tmpl").Funcs(a.functions()).ParseFS(articles, path.Join("articles", a.name+".md.tmpl"), path.Join("articles", "common.tmpl"))
}

// tidy takes out the empty lines and spaces that actions leave behind, and wraps paragraphs and items of lists.
func tidy(s string) string {
	var out []string
	var block []string
	flush := func() {
		if len(block) > 0 {
			out = append(out, strings.Join(wrapped(block), "\n"))
		}
		block = nil
	}
	code := false
	for _, line := range strings.Split(strings.TrimSpace(s), "\n") {
		fence := strings.HasPrefix(line, "```")
		if fence {
			code = !code
		}
		if strings.TrimSpace(line) == "" && !code {
			flush()
			continue
		}
		block = append(block, line)
	}
	flush()
	return strings.Join(out, "\n\n") + "\n"
}

// columns is how long a line of a paragraph may be.
const columns = 120

// wrapped wraps a block, where it is a paragraph or a list.
func wrapped(block []string) (out []string) {
	if strings.ContainsAny(block[0][:1], "|#!<") || strings.HasPrefix(block[0], "```") {
		return block
	}
	var line string
	for _, l := range block {
		indent := ""
		if strings.HasPrefix(l, "- ") {
			if line != "" {
				out = append(out, line)
			}
			line = ""
		}
		if strings.HasPrefix(block[0], "- ") {
			indent = "  "
		}
		for _, word := range words(l) {
			switch {
			case line == "":
				line = word
			case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns:
				out = append(out, line)
				line = indent + word
			default:
				line += " " + word
			}
		}
	}
	return append(out, line)
}

// words are those of a line; a unit stays with its number.
func words(line string) (list []string) {
	for _, w := range strings.Fields(line) {
		if len(list) > 0 && strings.HasPrefix(w, "%") {
			list[len(list)-1] += " " + w
		} else {
			list = append(list, w)
		}
	}
	return list
}

func (a *article) table(name string) (*table, error) {
	for _, t := range a.tables {
		if t.name == name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("there is no table %q", name)
}

func (a *article) at(name, row, col string) (cell, error) {
	t, err := a.table(name)
	if err != nil {
		return blank, err
	}
	return t.at(row, col)
}

// The verdicts about a change.
const (
	lower   = "lower"   // the interval is below 0
	higher  = "higher"  // it is above 0
	unclear = "unclear" // it covers 0
	same    = "same"    // the value and its bounds are 0, as they are shown
	tooFew  = "few"     // there is none
)

// verdict is what the columns change, low and high of a row tell.
func (t *table) verdict(row string) (string, error) {
	var list [3]cell
	for i, col := range []string{"change", "low", "high"} {
		c, err := t.at(row, col)
		if err != nil {
			return "", err
		}
		list[i] = c
	}
	v, low, high := list[0], list[1], list[2]
	switch {
	case v.known && v.value == 0 && (!low.known || low.value == 0 && high.value == 0):
		return same, nil
	case !low.known || !high.known:
		return tooFew, nil
	case high.value < 0:
		return lower, nil
	case low.value > 0:
		return higher, nil
	}
	return unclear, nil
}

func (a *article) verdict(name, row string) (string, error) {
	t, err := a.table(name)
	if err != nil {
		return "", err
	}
	return t.verdict(row)
}

// bounded is a change with its interval, in words.
func (a *article) bounded(name, row string) (string, error) {
	v, err := a.at(name, row, "change")
	if err != nil {
		return "", err
	}
	low, err := a.at(name, row, "low")
	if err != nil {
		return "", err
	}
	high, err := a.at(name, row, "high")
	if err != nil || !low.known {
		return v.shown, err
	}
	return fmt.Sprintf("%s (%s to %s)", v.shown, strings.TrimSuffix(low.shown, " %"), high.shown), nil
}

// costs is what a change says of a cost, in words.
func (a *article) costs(name, row string) (string, error) {
	verdict, err := a.verdict(name, row)
	if err != nil {
		return "", err
	}
	words, err := a.bounded(name, row)
	switch verdict {
	case lower:
		return "costs less: " + words, err
	case higher:
		return "costs more: " + words, err
	case same:
		return "costs the same", err
	case tooFew:
		return "differs by " + words + ", which too few projects give to conclude from", err
	}
	return "differs by " + words + ", so no difference can be told", err
}

// functions are those of the templates. Values come from tables only.
func (a *article) functions() template.FuncMap {
	return template.FuncMap{
		"v": func(name, row, col string) (string, error) {
			c, err := a.at(name, row, col)
			return c.shown, err
		},
		// plain is a value without its sign.
		"plain": func(name, row, col string) (string, error) {
			c, err := a.at(name, row, col)
			return strings.TrimLeft(c.shown, "+−"), err
		},
		"known": func(name, row, col string) (bool, error) {
			c, err := a.at(name, row, col)
			return c.known, err
		},
		"below": func(name, row, col, than string) (bool, error) {
			x, err := a.at(name, row, col)
			if err != nil {
				return false, err
			}
			y, err := a.at(name, row, than)
			return x.value < y.value, err
		},
		"negative": func(name, row, col string) (bool, error) {
			x, err := a.at(name, row, col)
			return x.value < 0, err
		},
		"table": func(name string) (string, error) {
			t, err := a.table(name)
			if err != nil {
				return "", err
			}
			return t.markdown(), nil
		},
		"picture": func(name, alt string) (string, error) {
			if _, ok := a.pictures[name]; !ok {
				return "", fmt.Errorf("there is no picture %q", name)
			}
			return fmt.Sprintf("![%s](%s.svg)", alt, name), nil
		},
		"verdict": a.verdict,
		"bounded": a.bounded,
		"costs":   a.costs,
		// rows are the names of the rows with a verdict, but for some.
		"rows": func(name, verdict string, but ...string) (list []string, err error) {
			t, err := a.table(name)
			if err != nil {
				return nil, err
			}
			for _, r := range t.rows {
				got, err := t.verdict(r[0].raw)
				if err != nil {
					return nil, err
				}
				if got == verdict && !slices.Contains(but, r[0].raw) {
					list = append(list, r[0].raw)
				}
			}
			return list, nil
		},
		"list": listed,
		// largest is the title of the column of a row whose value is the farthest from 0.
		"largest": func(name, row string, cols ...string) (title string, err error) {
			most := -1.0
			for _, col := range cols {
				c, err := a.at(name, row, col)
				if err != nil {
					return "", err
				}
				if x := math.Abs(c.value); x > most {
					t, _ := a.table(name)
					most, title = x, t.cols[slices.IndexFunc(t.cols, func(c column) bool { return c.key == col })].title
				}
			}
			return title, nil
		},
		// lowest and highest are the values of a column that are the farthest out, of rows that have some other columns, too.
		"lowest": func(name, col string, with ...string) (string, error) {
			t, err := a.table(name)
			if err != nil {
				return "", err
			}
			low, _ := extremes(t, col, with...)
			return low.shown, nil
		},
		"highest": func(name, col string, with ...string) (string, error) {
			t, err := a.table(name)
			if err != nil {
				return "", err
			}
			_, high := extremes(t, col, with...)
			return high.shown, nil
		},
		"count":   func(list []string) string { return count(len(list)).shown },
		"percent": func() string { return fmt.Sprintf("%d %%", interval.Percent) },
		"least":   func() string { return count(interval.Least).shown },
		"prices":  func() string { return price.Default().AsOf },
	}
}

// listed is a list in words.
func listed(list []string) string {
	switch len(list) {
	case 0:
		return "none"
	case 1:
		return list[0]
	}
	comma := ", "
	if slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, ",") }) {
		comma = "; "
	}
	return strings.Join(list[:len(list)-1], comma) + strings.TrimRight(comma, ", ") + " and " + list[len(list)-1]
}
