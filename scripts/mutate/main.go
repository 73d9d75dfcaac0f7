// Mutate shows that ctxkit check finds what it should: it changes one operator,
// constant, negation or order of the stages' code, or one parameter of a
// built-in policy, replays the shipped check (testdata/check), and counts the
// mutants that change any event and are told by figures alone and by events.
// docs/mutants.md is its report. Run it in the root of the repository:
//
//	go run ./scripts/mutate -sample 150 -o docs/mutants.md
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	n := flag.Int("sample", 150, "how many mutants of the code to try; 0: all")
	limit := flag.Duration("for", 0, "begin no mutant of the code after this time; 0: no limit")
	out := flag.String("o", "", "write the report to this file")
	only := flag.Bool("probe", false, "print what every case comes to (the mutated program is run so)")
	flag.Parse()
	err := error(nil)
	if *only {
		err = probe(".")
	} else {
		err = run(".", *n, *limit, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// tally sums up one kind of mutants.
type tally struct {
	tried, noMutant, stopped, none, figuresOnly int
	events, byFigures, failing, byEvents        int
	survivors                                   []string
}

func (t *tally) add(name string, v verdict) {
	t.tried++
	switch {
	case v.events == 0 && v.figures == 0:
		t.none++
		return
	case v.events == 0:
		t.figuresOnly++
		return
	}
	t.events++
	if v.failing {
		t.failing++
	}
	if v.byEvents {
		t.byEvents++
	}
	if v.byFigures {
		t.byFigures++
	} else {
		t.survivors = append(t.survivors, name+"\n  "+v.first)
	}
}

func run(root string, n int, limit time.Duration, out string) error {
	w, err := load(root)
	if err != nil {
		return err
	}
	before, err := w.all()
	if err != nil {
		return err
	}
	params, err := w.tryParams(before)
	if err != nil {
		return err
	}
	code, sites, err := w.trySources(root, n, limit, before)
	if err != nil {
		return err
	}
	text := page(params, code, sites)
	if out == "" {
		fmt.Print(text)
		return nil
	}
	return os.WriteFile(out, []byte(text), 0o644)
}

func (w *world) tryParams(before [][]outcome) (*tally, error) {
	t := &tally{}
	for _, m := range w.paramMutants() {
		v, err := w.tryParam(m, before[m.at])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name(w), err)
		}
		t.add(m.name(w), v)
	}
	return t, nil
}

// trySources tries a sample of the mutants of the code, and says how many
// there are.
func (w *world) trySources(root string, n int, limit time.Duration, before [][]outcome) (*tally, int, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(dir)
	b := &builder{root: root, dir: dir}
	all, err := sourceMutants(root)
	if err != nil {
		return nil, 0, err
	}
	t := &tally{}
	begin := time.Now()
	for i, m := range sample(all, n) {
		if limit > 0 && time.Since(begin) > limit {
			break
		}
		text, err := b.probe(m)
		state := ""
		switch {
		case errors.Is(err, errNoMutant):
			t.noMutant++
			state = "does not compile"
		case errors.Is(err, errStopped):
			t.stopped++
			state = err.Error()
		case err != nil:
			return nil, 0, err
		default:
			after, err := w.read(text)
			if err != nil {
				return nil, 0, err
			}
			v := verdict{byEvents: true}
			for i := range before {
				if before[i] != nil {
					v.add(w.judge(before[i], after[i]))
				}
			}
			t.add(m.name(), v)
			state = fmt.Sprintf("%d replays with other events, %d with other figures", v.events, v.figures)
		}
		fmt.Fprintf(os.Stderr, "%d: %s: %s\n", i+1, m.name(), state)
	}
	return t, len(all), nil
}

// share is a part in percent.
func share(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

func page(params, code *tally, sites int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Mutants

What `+"`ctxkit check`"+` finds, measured: one operator, constant, negation or order of the code in policy/stage is
changed, or one parameter of a built-in policy, and the shipped check (`+"`testdata/check`"+`, the built-in policies over
the sample sessions) is held against it. A mutant counts when it changes any event of a replay: anything an event
holds but its reason, which is words. It is caught when the check says that something is not as it was.

Written by `+"`go run ./scripts/mutate -o docs/mutants.md`"+`; the mutants of the code are a sample, the same each time, of
the %d places where one can be made. A test tries a sample of the parameters with every change.

| | code | parameters |
|---|--:|--:|
`, sites)
	row := func(name string, get func(t *tally) string) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, get(code), get(params))
	}
	number := func(get func(t *tally) int) func(t *tally) string {
		return func(t *tally) string { return fmt.Sprint(get(t)) }
	}
	row("do not compile: no mutants", number(func(t *tally) int { return t.noMutant }))
	row("stop the replay (a panic, a result that contradicts itself): the check ends with 2", number(func(t *tally) int { return t.stopped }))
	row("change nothing on these sessions", number(func(t *tally) int { return t.none }))
	row("change figures and no event", number(func(t *tally) int { return t.figuresOnly }))
	row("**change an event**", number(func(t *tally) int { return t.events }))
	row("of these caught by the figures alone", func(t *tally) string { return fmt.Sprintf("%d, %s", t.byFigures, share(t.byFigures, t.events)) })
	row("of these failing by the figures alone (the others are better: told, and exit 0)", func(t *tally) string { return fmt.Sprintf("%d, %s", t.failing, share(t.failing, t.events)) })
	row("caught by the events", func(t *tally) string { return fmt.Sprintf("%d, %s", t.byEvents, share(t.byEvents, t.events)) })
	b.WriteString("\n## Survivors of the figures\n\n")
	survivors := append(append([]string{}, code.survivors...), params.survivors...)
	if len(survivors) == 0 {
		b.WriteString("None: each mutant that changes an event changes a figure of that session as well.\n")
	}
	for _, s := range survivors {
		name, first, _ := strings.Cut(s, "\n")
		fmt.Fprintf(&b, "- %s: %s\n  - %s\n", name, reason(s), strings.TrimSpace(first))
	}
	return b.String()
}

// reason says why figures cannot tell a mutant.
func reason(survivor string) string {
	for _, r := range reasons {
		if strings.Contains(survivor, r.part) {
			return r.why
		}
	}
	return unexplained
}

const unexplained = "not explained yet"

// reasons are by what a survivor's text holds.
var reasons = []struct{ part, why string }{
	{"window.tail", "what changes is pre_tokens alone, the client's own arithmetic as the event records it: the compaction comes at the same request and leaves the same view, so no figure of the replay differs"},
}
