package synth

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// sourceFile is one file of the simulated project.
type sourceFile struct {
	path  string // relative to the project
	lines []string
	names []string // what it declares
}

func (f *sourceFile) text() string { return joinLines(f.lines) }
func (f *sourceFile) abs() string  { return root + "/" + f.path }

// newSource writes a file of about n lines.
func newSource(r *rand.Rand, path, pkg string, n int, cjk bool) *sourceFile {
	f := &sourceFile{path: path}
	switch {
	case strings.HasSuffix(path, ".md"):
		f.document(r, n, cjk)
	case strings.HasSuffix(path, ".sql"):
		f.schema(r, n)
	default:
		f.goFile(r, pkg, n, cjk)
	}
	return f
}

// write adds the lines of a format of texts.txt.
func (f *sourceFile) write(section string, args ...any) {
	f.lines = append(f.lines, strings.Split(fmt.Sprintf(texts()[section], args...), "\n")...)
}

func (f *sourceFile) goFile(r *rand.Rand, pkg string, n int, cjk bool) {
	f.write("goFile", pkg, pick(r, packages()))
	if strings.HasSuffix(f.path, "_test.go") {
		for len(f.lines) < n {
			f.testFunc(r)
		}
		return
	}
	typ := pick(r, nouns()) + pick(r, []string{"Store", "Service", "Queue", "Planner", "Book"})
	f.names = append(f.names, typ)
	f.write("type", typ, pick(r, things()))
	for range 3 + r.IntN(4) {
		f.write("field", pick(r, things()), pick(r, []string{"Count", "Limit", "ByID", "Queue", "Clock"}),
			pick(r, []string{"int", "map[string]int64", "time.Duration", "chan struct{}", "*config.Limits"}), pick(r, remarks()))
	}
	f.lines = append(f.lines, "}", "")
	for len(f.lines) < n {
		f.function(r, typ, cjk)
	}
}

func (f *sourceFile) function(r *rand.Rand, typ string, cjk bool) {
	verb := pick(r, verbs())
	noun := pick(r, nouns())
	name := verb + noun + pick(r, twists)
	act := strings.ToLower(verb)
	v := strings.ToLower(noun)
	f.names = append(f.names, name)
	f.write("doc", name, act, v)
	if cjk && r.IntN(2) == 0 {
		f.lines = append(f.lines, "// "+pickLine(r, "cjkNotes"))
	}
	f.write("function", typ, name, 10*(1+r.IntN(900)), act+" "+v)
	for range 1 + r.IntN(5) {
		f.statement(r, v)
	}
	f.write("functionEnd", v)
}

func (f *sourceFile) statement(r *rand.Rand, v string) {
	other := pick(r, things())
	switch r.IntN(6) {
	case 0:
		f.write("load", v, pick(r, nouns()))
	case 1:
		f.write("loop", other)
	case 2:
		f.write("lock", other, pick(r, remarks()), 1+r.IntN(48))
	case 3:
		f.write("publish", 2+r.IntN(90), pick(r, []string{"Second", "Minute", "Millisecond"}), pick(r, packages()), v, pick(r, acts()),
			pick(r, nouns()), pick(r, []string{"Gone", "Busy", "Stale", "Unknown"}))
	case 4:
		f.write("switch", other, v, r.IntN(64), r.IntN(64), r.IntN(64))
	default:
		f.write("observe", pick(r, []string{"NOTE", "TODO", "Why"}), pick(r, remarks()), v, pick(r, acts()))
	}
}

func (f *sourceFile) testFunc(r *rand.Rand) {
	name := function(r)
	f.names = append(f.names, "Test"+name)
	f.write("test", "Test"+name)
	for range 2 + r.IntN(5) {
		f.write("testCase", pick(r, acts())+" "+pick(r, things())+" "+pick(r, remarks()), r.IntN(500), r.IntN(500))
	}
	f.write("testEnd", name, r.IntN(65536))
}

func (f *sourceFile) document(r *rand.Rand, n int, cjk bool) {
	f.lines = append(f.lines, "# "+pick(r, []string{"Reservations", "Shipping", "The outbox", "Pricing rules", "Running the workers"}))
	for len(f.lines) < n {
		f.lines = append(f.lines, "", fmt.Sprintf("## %s a %s", pick(r, verbs()), pick(r, things())), "")
		for range 2 + r.IntN(3) {
			f.write("rule", pick(r, things()), pick(r, acts()), pick(r, things()), pick(r, things()), pick(r, remarks()))
		}
		if cjk {
			f.lines = append(f.lines, "", pickLine(r, "cjkNotes")+pickLine(r, "cjkNotes"))
		}
		f.names = append(f.names, pick(r, things()))
	}
}

func (f *sourceFile) schema(r *rand.Rand, n int) {
	for len(f.lines) < n {
		t := pick(r, things()) + "s"
		f.names = append(f.names, t)
		f.write("table", t)
		for range 2 + r.IntN(5) {
			f.write("column", pick(r, things()), pick(r, []string{"id", "count", "limit", "at"}), pick(r, []string{"bigint", "integer"}), r.IntN(9))
		}
		f.write("tableEnd")
	}
}

func joinLines(lines []string) string { return strings.Join(lines, "\n") }
