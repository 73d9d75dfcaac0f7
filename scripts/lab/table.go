package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/scripts/lab/mock"
)

// row is a result in the table of expected ones. It has no words of a client.
type row struct {
	client, version, scenario      string
	requests, talk, whole, counted int
	asked                          int
	where                          string // the first difference, or "" for none
}

func (r row) name() string { return r.client + "-" + r.version + "-" + r.scenario }

// rowOf is the row of a result. Names are CLIENT-VERSION-SCENARIO.
func rowOf(r result) row {
	client, rest, _ := strings.Cut(r.name, "-")
	i := strings.LastIndexByte(rest, '-')
	return row{client, rest[:max(i, 0)], rest[i+1:], r.requests, r.talk, r.whole, r.counted, r.asked, r.where}
}

// columns is the first line of the table.
const columns = "client\tversion\tscenario\trequests\tconversation\twhole\tcounted\tcompactions\tfirst difference"

func readTable(file string) ([]row, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var rows []row
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if i == 0 && line == columns {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 9 {
			return nil, fmt.Errorf("%s:%d: %d cells instead of 9", file, i+1, len(cells))
		}
		r := row{client: cells[0], version: cells[1], scenario: cells[2], where: cells[8]}
		for j, number := range []*int{&r.requests, &r.talk, &r.whole, &r.counted, &r.asked} {
			if *number, err = strconv.Atoi(cells[3+j]); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func tableText(rows []row) string {
	var b strings.Builder
	fmt.Fprintln(&b, columns)
	for _, r := range rows {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", r.client, r.version, r.scenario, r.requests, r.talk, r.whole, r.counted, r.asked, r.where)
	}
	return b.String()
}

// compareVersions orders versions by their numbers.
func compareVersions(a, b string) int {
	as, bs := strings.FieldsFunc(a, notDigit), strings.FieldsFunc(b, notDigit)
	for i := range min(len(as), len(bs)) {
		x, _ := strconv.Atoi(as[i])
		y, _ := strconv.Atoi(bs[i])
		if x != y {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Or(cmp.Compare(len(as), len(bs)), cmp.Compare(a, b))
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

func compareRows(a, b row) int {
	place := func(r row) int { return slices.IndexFunc(clients, func(c client) bool { return c.name == r.client }) }
	scene := func(r row) int {
		name, _, _ := strings.Cut(r.scenario, "+")
		return slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(scene(a), scene(b)), cmp.Compare(a.scenario, b.scenario), compareVersions(a.version, b.version))
}

// complaint says what is worse than expected in a result, or nothing. A release that has no row is held against the
// newest release with one; a scenario without any has to be right.
func complaint(r row, unread bool, table []row) (worse string, better bool) {
	var expected row
	known, own := false, false
	for _, e := range table {
		if e.client != r.client || e.scenario != r.scenario || own {
			continue
		}
		if own = e.version == r.version; own || !known || compareVersions(e.version, expected.version) > 0 {
			expected, known = e, true
		}
	}
	missed := func(r row) int { return max(r.counted-r.asked, r.asked-r.counted) }
	differ, expectedDiffer := r.requests-r.talk, expected.requests-expected.talk
	of := "the table has"
	if known && !own {
		of = "of " + expected.version + " the table has"
	}
	switch {
	case unread && (!known || expected.talk > 0):
		return "the session cannot be read", false
	case own && r.requests < expected.requests:
		return fmt.Sprintf("%d requests, %s %d", r.requests, of, expected.requests), false
	case differ > expectedDiffer:
		return fmt.Sprintf("%d conversations differ, %s %d; first: %s", differ, of, expectedDiffer, r.where), false
	case missed(r) > missed(expected):
		return fmt.Sprintf("%d compactions counted of %d, %s %d of %d", r.counted, r.asked, of, expected.counted, expected.asked), false
	}
	return "", known && (differ < expectedDiffer || missed(r) < missed(expected))
}

// judge holds results against the table, or writes them into it. It returns 1 if one is worse.
func judge(o selection, results []result) (int, error) {
	table, err := readTable(o.expected)
	if err != nil && (!o.update || !os.IsNotExist(err)) {
		return 2, err
	}
	if o.update {
		return 0, update(o, table, results)
	}
	code, better := 0, 0
	for _, r := range results {
		if r.failed {
			continue
		}
		worse, isBetter := complaint(rowOf(r), r.unread, table)
		if isBetter {
			better++
			fmt.Printf("better than the table: %s\n", r.name)
		}
		if worse != "" {
			code = 1
			fmt.Printf("WORSE: %s: %s\n", r.name, worse)
		}
	}
	if better > 0 {
		fmt.Printf("%d recordings are better than the table: CTXKIT_UPDATE=1 .ci/run clients writes it\n", better)
	}
	return code, nil
}

// update replaces the rows of what was played, and the table of the page.
func update(o selection, table []row, results []result) error {
	for _, r := range results {
		if r.failed {
			continue
		}
		n := rowOf(r)
		table = append(slices.DeleteFunc(table, func(e row) bool { return e.name() == n.name() }), n)
	}
	slices.SortFunc(table, compareRows)
	if err := os.WriteFile(o.expected, []byte(tableText(table)), 0o644); err != nil {
		return err
	}
	if o.page == "" {
		return nil
	}
	return replaceTable(o.page, pageBegin, pageTable(table))
}

// replaceTable replaces the table of a page.
func replaceTable(file, begin, table string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := pageWith(string(page), begin, table)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

const (
	pageBegin = "<!-- table: begin (lab run -update writes it) -->\n"
	pageEnd   = "<!-- table: end -->\n"
)

// pageWith puts a table between its lines in the page.
func pageWith(page, begin, table string) (string, error) {
	head, rest, ok := strings.Cut(page, begin)
	_, foot, found := strings.Cut(rest, pageEnd)
	if !ok || !found {
		return "", fmt.Errorf("the page has no lines %q and %q", strings.TrimSpace(begin), strings.TrimSpace(pageEnd))
	}
	return head + begin + "\n" + table + "\n" + pageEnd + foot, nil
}

// pageTable is the table of what was found.
func pageTable(table []row) string {
	var b strings.Builder
	b.WriteString("| client | scenario | release | requests | conversation equal | whole | compactions | first difference |\n|---|---|---|--:|--:|--:|---|---|\n")
	for _, r := range table {
		label := r.client
		if c := clientNamed(r.client); c != nil {
			label = c.label
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %d | %d/%d | %s |\n", label, strings.Replace(r.scenario, "+agents", ", subagents", 1), r.version, r.requests, r.talk, r.whole, r.counted, r.asked, r.where)
	}
	return b.String()
}

func mockCommand(args []string) error {
	flags := flag.NewFlagSet("mock", flag.ExitOnError)
	port := flags.Int("port", 18100, "port on the loopback")
	file := flags.String("log", "", "file for the requests (default: standard output)")
	whole := flags.Bool("whole", false, "log system prompts and tools whole")
	_ = flags.Parse(args)
	var log io.Writer = os.Stdout
	if *file != "" {
		f, err := os.Create(*file)
		if err != nil {
			return err
		}
		defer f.Close()
		log = f
	}
	server := &mock.Server{Log: log, Whole: *whole}
	if _, err := server.Start(*port); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "listens on", server.URL())
	select {}
}
