package synth

import (
	"fmt"
	"strings"
)

func (s *developer) read() *toolCall {
	f := pick(s.r, s.p.files)
	if s.chance(s.opt.Failures) {
		return failedCall("Read", func(o *object) { o.put(`"file_path":?`, f.abs()+".orig") },
			"<tool_use_error>File does not exist.</tool_use_error>", "File does not exist.")
	}
	from := 0
	limit := 2000
	if len(f.lines) > 60 && s.r.IntN(3) == 0 {
		from = s.r.IntN(len(f.lines) / 2)
		limit = 40 + s.r.IntN(len(f.lines)/2)
	}
	s.show(f, from, min(from+limit, len(f.lines)))
	return readCall(s.c.release, f, from, limit)
}

func (s *developer) edit() *toolCall {
	for i := range s.open {
		o := &s.open[len(s.open)-1-i]
		e, ok := s.p.change(o.file, o.from, o.to)
		if !ok {
			continue
		}
		if s.chance(s.opt.Failures) {
			return s.editFailed(e)
		}
		c := editCall(s.c.release, e)
		s.p.apply(e)
		o.to += len(e.after) - len(e.before)
		return c
	}
	return s.read()
}

func (s *developer) editFailed(e edit) *toolCall {
	wrong := joinLines(e.before) + " // as it was"
	message := "String to replace not found in file.\nString: " + wrong
	return failedCall("Edit", func(o *object) { editInput(o, e.file, wrong, joinLines(e.after)) },
		"<tool_use_error>"+message+"</tool_use_error>", message)
}

func (s *developer) grep() *toolCall {
	_, name := s.p.named()
	if s.r.IntN(3) == 0 {
		name = pick(s.r, nouns())
	}
	filesOnly := s.r.IntN(3) == 0
	context := s.r.IntN(4) * 2
	if filesOnly {
		return grepFiles(name, s.p.grep(name, 400))
	}
	return grepLines(name, s.p.grep(name, max(4, s.opt.ResultChars/60)), context)
}

func (s *developer) glob() *toolCall {
	suffix := pick(s.r, []string{".md", ".go"})
	var paths []string
	for _, f := range s.p.files {
		if strings.HasSuffix(f.path, suffix) {
			paths = append(paths, f.abs())
		}
	}
	return globCall("**/*"+suffix, paths)
}

// look runs a command that changes nothing.
func (s *developer) look() *toolCall {
	var out []string
	lines := max(5, s.opt.ResultChars/110)
	switch s.r.IntN(3) {
	case 0:
		for range 4 + s.r.IntN(lines) {
			out = append(out, fmt.Sprintf("%07x %s %s in %s", s.r.IntN(1<<28), pick(s.r, acts()), pick(s.r, things()), pick(s.r, packages())))
		}
		return bashCall(s.c.release, "git log --oneline -"+fmt.Sprint(lines), "Show recent commits", joinLines(out), 400)
	case 1:
		out = append(out, "On branch "+s.c.branch, "Changes not staged for commit:")
		for _, o := range s.open {
			out = append(out, "\tmodified:   "+o.file.path)
		}
		return bashCall(s.c.release, "git status", "Show the working tree", joinLines(out), 300)
	}
	for _, f := range s.p.files[:min(len(s.p.files), lines)] {
		out = append(out, fmt.Sprintf("%6d %s", len(f.lines), f.path))
	}
	return bashCall(s.c.release, "wc -l $(git ls-files)", "Count lines", joinLines(out), 300)
}

// test runs the tests or the compiler.
func (s *developer) test() *toolCall {
	pkg := pick(s.r, packages())
	if s.chance(s.opt.Failures * 2) {
		out := s.failure(pkg)
		c := bashCall(s.c.release, "go test ./internal/"+pkg+"/...", "Run the package's tests", out, 30000)
		return c.fail("Exit code 1\n"+out, "Exit code 1\n"+out)
	}
	if s.r.IntN(4) == 0 {
		return bashCall(s.c.release, "go vet ./...", "Vet everything", "", 20000)
	}
	return bashCall(s.c.release, "go test -v ./internal/"+pkg+"/...", "Run the package's tests", s.testLog(pkg, s.opt.ResultChars*(1+s.r.IntN(4))/4), 40000)
}

func (s *developer) failure(pkg string) string {
	f, name := s.p.named()
	return fmt.Sprintf(texts()["testFailure"],
		name, s.r.IntN(9), f.path, 20+s.r.IntN(200), s.r.IntN(90), s.r.IntN(90), pkg, s.r.IntN(999))
}

// testLog is the output of a verbose test run of about n characters.
func (s *developer) testLog(pkg string, n int) string {
	var b strings.Builder
	b.Grow(n + 200)
	for b.Len() < n {
		name := "Test" + function(s.r)
		fmt.Fprintf(&b, "=== RUN   %s\n", name)
		for range s.r.IntN(4) {
			sub := strings.ReplaceAll(pick(s.r, remarks()), " ", "_")
			fmt.Fprintf(&b, "=== RUN   %s/%s\n    --- PASS: %s/%s (0.%02ds)\n", name, sub, name, sub, s.r.IntN(99))
		}
		fmt.Fprintf(&b, "--- PASS: %s (0.%02ds)\n", name, s.r.IntN(99))
	}
	fmt.Fprintf(&b, "PASS\nok  \texample.com/harbor/internal/%s\t%d.%03ds", pkg, 1+s.r.IntN(9), s.r.IntN(999))
	return b.String()
}

// large is a command whose output does not fit into the context.
func (s *developer) large() *toolCall {
	return bashCall(s.c.release, "go test -v -count=1 ./...", "Run all tests", s.testLog(pick(s.r, packages()), 32000+s.r.IntN(60000)), 90000)
}
