package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// writePage writes docs/performance.md: what was measured on, the table of bars, and the sentences of notes.md.
func writePage(out io.Writer, rec *record, notes string) error {
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	w("# Performance")
	w("")
	w("%s; %s; %s. Commit %s, %s; load %s. %d runs over synthetic sessions; a figure is the median of %s in turns.",
		rec.Machine, rec.Go, versions(rec), rec.Commit, rec.Date, orUnknown(rec.Load), len(rec.Runs), repetitions(rec.Times))
	w("Ratios are of processor time, user and system, where a line says nothing else; times hold for this machine only.")
	w("Written by `CTXKIT_CORPUS=FOLDER go run ./scripts/bench --tools FOLDER -o docs/performance.md`.")
	if rec.Scale != 1 {
		w("")
		w("**A trial with %.3g of the data: the sizes below are those of the whole, and the ratios say little.**", rec.Scale)
	}
	if len(rec.Missing) > 0 {
		w("")
		w("Not on this machine, so not measured: %s.", strings.Join(rec.Missing, "; "))
	}
	w("")
	var head, line strings.Builder
	for i := range rec.Runs {
		fmt.Fprintf(&head, " run %d |", i+1)
		line.WriteString("--:|")
	}
	w("| figure | must |%s held |", head.String())
	w("|---|--:|%s---|", line.String())
	for _, bar := range bars() {
		cells, held := bar.judge(rec.Runs)
		if rec.Scale != 1 {
			held = ""
		}
		w("| %s | %s | %s | %s |", bar.figure, bar.limit(), strings.Join(cells, " | "), held)
	}
	w("")
	w("%s", strings.TrimSpace(notes))
	_, err := io.WriteString(out, b.String())
	return err
}

const yes, no, unmeasured = "yes", "**no**", "not measured"

// judge has the value of each run, and whether the bar holds in all of them.
func (b *bar) judge(runs []run) (cells []string, held string) {
	held = yes
	for _, r := range runs {
		v := b.value(r)
		if !(v > 0) || math.IsInf(v, 1) {
			cells = append(cells, "")
			if held == yes {
				held = unmeasured
			}
			continue
		}
		cells = append(cells, number(v)+b.unit)
		if held == yes && !b.holds(v) {
			held = no
		}
	}
	return cells, held
}

// limit is the bar as the page shows it.
func (b *bar) limit() string {
	if b.least {
		return "at least " + number(b.must) + b.unit
	}
	return "at most " + number(b.must) + b.unit
}

// number has three digits, or all before the point.
func number(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	if v < 0.1 {
		return fmt.Sprintf("%.2g", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func versions(rec *record) string {
	list := []string{}
	for _, name := range slices.Sorted(maps.Keys(rec.Tools)) {
		list = append(list, strings.TrimSpace(name+" "+strings.TrimPrefix(strings.TrimPrefix(rec.Tools[name], name+"-"), "v")))
	}
	return strings.Join(list, ", ")
}

func repetitions(n int) string {
	if n == 1 {
		return "1 repetition"
	}
	return fmt.Sprintf("%d repetitions", n)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
