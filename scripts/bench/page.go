package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// beside are the groups in which ctxkit runs beside other tools, with what each does.
var beside = []struct{ group, own, what string }{
	{"one", "ctxkit replay", "A session of 200 MB, once through"},
	{"many", "ctxkit replay", "200 sessions, 370 MB"},
	{"exact", "ctxkit replay", "Tokens of a session of 50 MB, counted exactly (o200k_base)"},
}

// writePage writes docs/performance.md.
func writePage(out io.Writer, rec *record, notes string) error {
	parts, err := sections(notes)
	if err != nil {
		return err
	}
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	w("# Performance")
	w("")
	w("Ratios of commands that ran in turns on one machine: processor time, user and system, where a line says nothing else.")
	w("Seconds hold for one machine and stand here only where the bar is one of seconds. This page is written by")
	w("`go run ./scripts/bench` from its measurements and `scripts/bench/notes.md`.")
	w("")
	w("%s; %s; commit %s, %s; load %s. %d runs over synthetic sessions, each figure the median of %s in turns, of three to nine times as many for one session, exact counting, comparisons and growth; slow commands run once a run, `anonymize` three times.",
		rec.Machine, rec.Go, rec.Commit, rec.Date, orUnknown(rec.Load), len(rec.Runs), repetitions(rec.Times))
	if rec.Scale != 1 {
		w("")
		w("**A trial with %.3g of the data: the sizes below are those of the whole, and the ratios say little.**", rec.Scale)
	}
	if len(rec.Missing) > 0 {
		w("")
		w("Not on this machine, so not measured: %s.", strings.Join(rec.Missing, "; "))
	}
	w("")
	w("## Bars")
	w("")
	trial := rec.Scale != 1
	if trial {
		w("A limit is the most, or with \"at least\" the least.")
	} else {
		w("Held: in all runs. A limit is the most, or with \"at least\" the least.")
	}
	w("")
	var head, line strings.Builder
	for i := range rec.Runs {
		fmt.Fprintf(&head, " run %d |", i+1)
		line.WriteString("--:|")
	}
	if !trial {
		head.WriteString(" must held | aim held |")
		line.WriteString("---|---|")
	}
	w("| figure | must | aim |%s", head.String())
	w("|---|--:|--:|%s", line.String())
	var short, titles []string // keys, and the first figure of each that is short
	for _, bar := range bars() {
		cells, must, aim := bar.judge(rec.Runs)
		if !trial {
			cells = append(cells, must, aim)
		}
		w("| %s | %s | %s | %s |", bar.figure, bar.limit(bar.must), bar.limit(bar.aim), strings.Join(cells, " | "))
		if !trial && (must == no || aim == no) && !slices.Contains(short, bar.key) {
			short, titles = append(short, bar.key), append(titles, bar.figure)
		}
	}
	if len(short) > 0 {
		w("")
		w("## What limits what is short of its aim")
		for i, key := range short {
			w("")
			w("*%s*: %s", capital(titles[i]), orElse(parts["limit: "+key], "no reason is known yet."))
		}
	}
	w("")
	w("## Beside other tools")
	w("")
	w("Each as a multiple of ctxkit in the same run, the median of the runs. Tools do different things with a session: ccusage adds")
	w("up recorded usage and skips lines without it, `jq`, `wc` and `cat` read. No peak of memory is shown as less than the")
	w("measuring program's own.")
	for _, g := range beside {
		rows := tableRows(rec.Runs, g.group, g.own)
		if len(rows) < 2 {
			continue
		}
		w("")
		w("%s:", g.what)
		w("")
		w("| | processor time | wall time | peak memory, MiB |")
		w("|---|--:|--:|--:|")
		for _, r := range rows {
			w("%s", r)
		}
	}
	w("")
	w("Versions: %s.", versions(rec))
	for _, name := range []string{"what did not help", "where the time goes"} {
		if text := parts[name]; text != "" {
			w("")
			w("## %s", capital(name))
			w("")
			w("%s", text)
		}
	}
	w("")
	w("## To measure again")
	w("")
	w("```sh")
	w("go run ./scripts/bench --tools FOLDER --save FILE -o docs/performance.md  # 2 GB of data, 30 minutes")
	w("go run ./scripts/bench --from FILE -o docs/performance.md                 # the page again, with other notes")
	w("go test -run '^$' -bench . -benchmem ./...                                # parts, for benchstat")
	w("```")
	_, err = io.WriteString(out, b.String())
	return err
}

const yes, no, unmeasured = "yes", "**no**", "not measured"

// judge has the value of each run, and whether the bars hold in all of them.
func (b *bar) judge(runs []run) (cells []string, must, aim string) {
	must, aim = yes, yes
	if b.must == 0 {
		must = ""
	}
	if b.aim == 0 {
		aim = ""
	}
	for _, r := range runs {
		v := b.value(r)
		if v == 0 {
			cells = append(cells, "")
			must, aim = unmeasured, ""
			continue
		}
		cells = append(cells, number(v)+b.unit)
		if must == yes && !b.holds(v, b.must) {
			must = no
		}
		if aim == yes && !b.holds(v, b.aim) {
			aim = no
		}
	}
	return cells, must, aim
}

// limit is a bar as the page shows it.
func (b *bar) limit(v float64) string {
	switch {
	case v == 0:
		return ""
	case b.least:
		return "at least " + number(v) + b.unit
	}
	return number(v) + b.unit
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

// tableRows are the commands of a group as multiples of ctxkit, this first.
func tableRows(runs []run, group, own string) (rows []string) {
	names := map[string]bool{}
	for _, r := range runs {
		for key := range r {
			if name, ok := strings.CutPrefix(key, group+"/"); ok {
				names[name] = true
			}
		}
	}
	if !names[own] {
		return nil
	}
	of := func(name string, value func(f figures) float64) float64 {
		return median(runs, func(r run) float64 { return value(r[group+"/"+name]) })
	}
	times := func(name string, value func(f figures) float64) float64 {
		return median(runs, func(r run) float64 { return value(r[group+"/"+name]) / max(value(r[group+"/"+own]), 1e-9) })
	}
	list := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		switch {
		case a == own:
			return -1
		case b == own:
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, name := range list {
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |", name,
			number(times(name, func(f figures) float64 { return f.CPU })), number(times(name, func(f figures) float64 { return f.Wall })),
			number(of(name, func(f figures) float64 { return f.MiB }))))
	}
	return rows
}

// sections are the parts of notes.md by their headings, in small letters.
func sections(notes string) (map[string]string, error) {
	known := []string{"what did not help", "where the time goes"}
	for _, b := range bars() {
		known = append(known, "limit: "+b.key)
	}
	parts := map[string]string{}
	for i, part := range strings.Split("\n"+notes, "\n## ") {
		name, text, _ := strings.Cut(part, "\n")
		if i == 0 {
			continue
		}
		if name = strings.ToLower(strings.TrimSpace(name)); !slices.Contains(known, name) {
			return nil, fmt.Errorf("notes.md: no bar and no part of the page is called %q: it is one of %s", name, strings.Join(slices.Compact(known), ", "))
		}
		parts[name] = strings.TrimSpace(text)
	}
	return parts, nil
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

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func orUnknown(s string) string { return orElse(s, "unknown") }

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
