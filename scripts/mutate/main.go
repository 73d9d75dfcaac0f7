// Mutate shows that ctxkit check finds what it should: it changes one operator,
// constant, negation or order of the stages' code, or one parameter of a
// built-in policy, replays the shipped check (testdata/check), and counts the
// mutants that change any event and are told by figures alone and by events.
// docs/mutants.md is its report. Run it in the root of the repository:
//
//	go run ./scripts/mutate -sample 150 -o docs/mutants.md
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	n := flag.Int("sample", 600, "how many mutants of the code to try; 0: all")
	limit := flag.Duration("for", 0, "begin no mutant of the code after this time; 0: no limit")
	out := flag.String("o", "", "write the report to this file")
	worker := flag.Bool("work", false, "try the mutants whose numbers come in (the mutated program is run so)")
	flag.Parse()
	err := error(nil)
	if *worker {
		err = work(".", os.Stdin, os.Stdout)
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
	all, tried                           int
	missed, stopped, none, figuresOnly   int
	events, byFigures, failing, byEvents int
	survivors                            []string
}

func (t *tally) add(name string, v verdict) {
	t.tried++
	switch {
	case v.Events == 0 && v.Figures == 0:
		t.none++
		return
	case v.Events == 0:
		t.figuresOnly++
		return
	}
	t.events++
	if v.Failing {
		t.failing++
	}
	if v.ByEvents {
		t.byEvents++
	}
	if v.ByFigures {
		t.byFigures++
	} else {
		t.survivors = append(t.survivors, name+"\n  "+v.First)
	}
}

func run(root string, n int, limit time.Duration, out string) error {
	w, err := load(root)
	if err != nil {
		return err
	}
	params, err := w.tryParams()
	if err != nil {
		return err
	}
	code, err := tryCode(root, n, limit)
	if err != nil {
		return err
	}
	text := page(params, code)
	if out == "" {
		fmt.Print(text)
		return nil
	}
	return os.WriteFile(out, []byte(text), 0o644)
}

func (w *world) tryParams() (*tally, error) {
	before, err := w.all(w.policies)
	if err != nil {
		return nil, err
	}
	list := w.paramMutants()
	t := &tally{all: len(list)}
	for _, m := range list {
		v, err := w.tryParam(m, before[m.at])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name(w), err)
		}
		t.add(m.name(w), v)
	}
	return t, nil
}

// tryCode tries a sample of the mutants of the code.
func tryCode(root string, n int, limit time.Duration) (*tally, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	exe, list, err := build(root, dir)
	if err != nil {
		return nil, err
	}
	t := &tally{all: len(list)}
	r := &runner{exe: exe, root: root}
	if _, err := r.worker(); err != nil { // tells which places are reached
		return nil, err
	}
	order := sample(list, n)
	for _, k := range order {
		if r.reached[list[k-1].site] {
			r.numbers = append(r.numbers, k)
		}
	}
	if limit > 0 {
		r.until = time.Now().Add(limit)
	}
	r.use = func(l line) {
		m := list[l.Mutant-1]
		state := l.Stopped
		if state != "" {
			t.tried++
			t.stopped++
		} else {
			t.add(m.name(), l.Verdict)
			state = fmt.Sprintf("%d replays with other events, %d with other figures", l.Verdict.Events, l.Verdict.Figures)
		}
		fmt.Fprintf(os.Stderr, "%d: %s: %s\n", t.tried, m.name(), state)
	}
	err = r.run()
	// What no session comes to is tried as far as the rest of the order was.
	run := t.tried
	for _, k := range order {
		if !r.reached[list[k-1].site] {
			t.missed++
		} else if run--; run < 0 {
			break
		}
	}
	t.tried += t.missed
	return t, err
}

// share is a part in percent.
func share(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

func page(params, code *tally) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Mutants

What `+"`ctxkit check`"+` finds, measured: one operator, constant, negation or order of the code in policy/stage is
changed, or one parameter of a built-in policy, and the shipped check (`+"`testdata/check`"+`, the built-in policies over
the sample sessions) is held against it. A mutant counts when it changes any event of a replay: anything an event
holds but its reason, which is words. It is caught when the check says that something is not as it was.

Written by `+"`go run ./scripts/mutate -o docs/mutants.md`"+`, which builds all %d mutants of the code into one program, each
behind a switch, and tries a sample of them, the same each time, in an order that is a sample wherever it ends:
-sample 0 tries all, -for ends it after a time. The code is that of its day. A test tries a sample of the parameters'
mutants with every change.

| | code | parameters |
|---|--:|--:|
`, code.all)
	row := func(name string, get func(t *tally) string) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, get(code), get(params))
	}
	number := func(get func(t *tally) int) func(t *tally) string {
		return func(t *tally) string { return fmt.Sprint(get(t)) }
	}
	row("tried", func(t *tally) string { return fmt.Sprintf("%d of %d", t.tried, t.all) })
	row("in code that no shipped session comes to", number(func(t *tally) int { return t.missed }))
	row("stop the replay (a panic, no end, a policy that is refused): the check ends with 2", number(func(t *tally) int { return t.stopped }))
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

// reasons are by what a survivor's text holds, the first that fits.
var reasons = []struct{ part, why string }{
	{": order: ", "an event's targets come in another order: the same blocks at the same request, so nothing that is sent differs"},
	{"microcompact_size.go:233", "an event's targets come in another order: the same blocks at the same request, so nothing that is sent differs"},
	{"microcompact_time.go", "what changes is compacted_ids, how many results the event says it cleared: the same ones are"},
	{"opencode_prune.go:81", "what changes is total and pruned, what OpenCode would log: it looks on beyond a summary, where nothing is left to clear"},
	{"session_memory.go", "what changes is post_tokens, the client's own estimate of what it leaves: it stays below the threshold, and no figure sums it"},
	{"message_json.go", "what changes is json_chars, a length that the event records: it stays on the same side of every limit, and no figure sums it"},
	{"post_compact.go", "what changes is which counts of nothing the event writes down: the same messages are put back"},
	{"reattach.go", "what changes is how many the event says were put back: the same messages are"},
}
