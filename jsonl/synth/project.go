package synth

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// project is the simulated code base that tools read, search and change.
type project struct {
	r     *rand.Rand
	files []*sourceFile
	made  int // files written during the session
}

func newProject(o *SessionOptions) *project {
	p := &project{r: rand.New(rand.NewPCG(o.Seed, 0xf11e5))}
	for i := range o.Files {
		pkg := packages()[i%len(packages())]
		stem := pick(p.r, acts()) + "_" + pick(p.r, things())
		path := fmt.Sprintf("internal/%s/%s%d.go", pkg, stem, i)
		switch i % 8 {
		case 3:
			path = fmt.Sprintf("internal/%s/%s%d_test.go", pkg, stem, i)
		case 5:
			path = fmt.Sprintf("docs/%s-%d.md", strings.ReplaceAll(stem, "_", "-"), i)
		case 7:
			path = fmt.Sprintf("migrations/%04d_%s.sql", i, stem)
		}
		p.files = append(p.files, newSource(p.r, path, pkg, p.size(o), p.r.Float64() < o.CJK*3))
	}
	return p
}

// size draws the number of lines of a file.
func (p *project) size(o *SessionOptions) int {
	return max(12, (o.ResultChars/60)+p.r.IntN(1+o.ResultChars/14))
}

// named draws a file and a name that it declares.
func (p *project) named() (*sourceFile, string) {
	f := pick(p.r, p.files)
	if len(f.names) == 0 {
		return f, f.path
	}
	return f, pick(p.r, f.names)
}

// match is a line that a grep found.
type match struct {
	file *sourceFile
	line int // from 0
}

// grep finds at most limit lines.
func (p *project) grep(pattern string, limit int) []match {
	var out []match
	for _, f := range p.files {
		for i, l := range f.lines {
			if strings.Contains(l, pattern) {
				if out = append(out, match{f, i}); len(out) == limit {
					return out
				}
			}
		}
	}
	return out
}

// edit is a change of one file, which holds before exactly once.
type edit struct {
	file          *sourceFile
	line          int // of the first changed line, from 0
	before, after []string
}

// change draws an edit of f within lines [from, to), or reports false.
func (p *project) change(f *sourceFile, from, to int) (edit, bool) {
	to = min(to, len(f.lines))
	for range 12 {
		if to-from < 3 {
			return edit{}, false
		}
		i := from + p.r.IntN(to-from-2)
		n := 1 + p.r.IntN(3)
		old := f.lines[i : i+n : i+n]
		if strings.TrimSpace(joinLines(old)) == "" || strings.Count(f.text(), joinLines(old)) != 1 {
			continue
		}
		return edit{f, i, old, p.rewrite(old)}, true
	}
	return edit{}, false
}

// rewrite draws the replacement of old.
func (p *project) rewrite(old []string) []string {
	var out []string
	indent := old[0][:len(old[0])-len(strings.TrimLeft(old[0], "\t "))]
	if p.r.IntN(3) > 0 {
		out = append(out, indent+"// "+pick(p.r, verbs())+" "+pick(p.r, things())+" first: "+pick(p.r, remarks())+".")
	}
	for _, l := range old {
		switch {
		case strings.Contains(l, "qty"):
			l = strings.Replace(l, "qty", "units", 1)
		case strings.Contains(l, " = "):
			l = strings.Replace(l, " = ", " = "+pick(p.r, things())+".", 1)
		default:
			l += " // " + pick(p.r, remarks())
		}
		out = append(out, l)
	}
	return out
}

// apply makes the change.
func (p *project) apply(e edit) {
	f := e.file
	f.lines = slices.Concat(f.lines[:e.line], e.after, f.lines[e.line+len(e.before):])
}

// create adds a file.
func (p *project) create(o *SessionOptions) *sourceFile {
	p.made++
	pkg := pick(p.r, packages())
	path := fmt.Sprintf("internal/%s/%s_%s_%d.go", pkg, pick(p.r, acts()), pick(p.r, things()), p.made)
	f := newSource(p.r, path, pkg, max(20, p.size(o)/2), false)
	if len(p.files) < o.Files+40 {
		p.files = append(p.files, f)
	} else {
		p.files[o.Files+p.r.IntN(40)] = f
	}
	return f
}
