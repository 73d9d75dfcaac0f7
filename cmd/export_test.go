//go:build ci

package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/report"
)

// exportRow is a row as text by column, without nulls.
type exportRow map[string]string

// exportedTables are the tables of a folder, by name.
func exportedTables(t *testing.T, folder string) map[string][]exportRow {
	t.Helper()
	tables := map[string][]exportRow{}
	for _, table := range report.ExportTables() {
		data := must.Get(os.ReadFile(filepath.Join(folder, table.Name+".parquet")))(t)
		f := must.Get(parquet.OpenFile(bytes.NewReader(data), int64(len(data))))(t)
		rows := []exportRow{}
		for _, g := range f.RowGroups() {
			r, buf := g.Rows(), make([]parquet.Row, 64)
			for {
				n, err := r.ReadRows(buf)
				for _, values := range buf[:n] {
					row := exportRow{}
					for i, v := range values {
						if !v.IsNull() {
							row[table.Columns[i].Name] = v.String()
						}
					}
					rows = append(rows, row)
				}
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			r.Close()
		}
		tables[table.Name] = rows
	}
	return tables
}

// rat is a cell with so many digits after the point as a number; nil: it is null.
func (r exportRow) rat(t *testing.T, column string, places int) *big.Rat {
	t.Helper()
	text, ok := r[column]
	if !ok {
		return nil
	}
	n, ok := new(big.Rat).SetString(fmt.Sprintf("%se-%d", text, places))
	if !ok {
		t.Fatalf("%s: %q", column, text)
	}
	return n
}

// same compares a cell with what JSON has.
func (r exportRow) same(t *testing.T, column string, places int, want json.Number) {
	t.Helper()
	got := r.rat(t, column, places)
	if want == "" {
		if got != nil {
			t.Errorf("%s %s: %s is %s, in JSON it is missing", r["file"], r["policy"], column, got)
		}
		return
	}
	if n, ok := new(big.Rat).SetString(string(want)); !ok || got == nil || got.Cmp(n) != 0 {
		t.Errorf("%s %s: %s is %v, in JSON %s", r["file"], r["policy"], column, got, want)
	}
}

// flat is a JSON object with the members of objects in it under names with points.
func flat(name string, v any, into map[string]json.Number) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			flat(strings.TrimPrefix(name+"."+k, "."), e, into)
		}
	case json.Number:
		into[name] = v
	case string:
		into[name] = json.Number(v)
	}
}

func flatJSON(t *testing.T, data json.RawMessage) map[string]json.Number {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	must.Do(t, d.Decode(&v))
	m := map[string]json.Number{}
	flat("", v, m)
	return m
}

// columns of requests and events by the name in JSON, and those that are no number; one name: it is that of both.
var (
	requestNames = columnsOf("n raw_tokens model_tokens payload_tokens overhead_tokens used_tokens messages output_tokens cache.read=cache_read cache.write_5m=cache_write_5m cache.write_1h=cache_write_1h cache.uncached=cache_uncached cost_usd cost_parts.ideal=cost_ideal cost_parts.of_ideal.restarts=cost_ideal_restarts cost_parts.of_ideal.changes=cost_ideal_changes cost_parts.breaks=cost_breaks cost_parts.lifetime=cost_lifetime cost_parts.placement=cost_placement cost_parts.own_calls=cost_own_calls cost_parts.output=cost_output recorded.input=recorded_input recorded.cache_write=recorded_cache_write recorded.cache_read=recorded_cache_read recorded.output=recorded_output recorded.billed.iterations=billed_iterations recorded.billed.input=billed_input recorded.billed.cache_write=billed_cache_write recorded.billed.cache_read=billed_cache_read recorded.billed.output=billed_output")
	requestTexts = columnsOf("uuid kind model cache.miss.cause=cache_miss cache.miss.stage=cache_miss_stage")
	eventNames   = columnsOf("n request tokens_before tokens_after tokens_saved recorded.line=recorded_line recorded.pre_tokens=recorded_pre_tokens recorded.tokens_saved=recorded_tokens_saved")
	eventTexts   = columnsOf("stage kind trigger reason recorded.file=recorded_file recorded.trigger=recorded_trigger")
)

func columnsOf(text string) map[string]string {
	columns := map[string]string{}
	for word := range strings.FieldsSeq(text) {
		name, column, _ := strings.Cut(word, "=")
		columns[name] = cmp.Or(column, name)
	}
	return columns
}

// TestExport compares every figure of the tables with the JSON of compare, replay and sessions, over the shipped sessions
// with their subagents, and the bytes at two numbers of jobs.
func TestExport(t *testing.T) {
	t.Chdir("..")
	const input = "testdata/sessions"
	policies := strings.Fields("recorded claude-code-pipeline opencode,opencode_prune.protect=2000")
	named := strings.Fields("--agent all --cache equal")
	for _, p := range policies {
		named = append(named, "-p", p)
	}
	folder := t.TempDir()
	export := func(name string, more ...string) string {
		path := filepath.Join(folder, name)
		if code, _, said := ctxkit(append(append([]string{"export", input, "-o", path, "-q"}, named...), more...)...); code != 0 {
			t.Fatalf("exit code %d: %s", code, said)
		}
		return path
	}
	one, four := export("one", "--jobs", "1"), export("four", "--jobs", "4")
	for _, table := range report.ExportTables() {
		a, _ := os.ReadFile(filepath.Join(one, table.Name+".parquet"))
		b, _ := os.ReadFile(filepath.Join(four, table.Name+".parquet"))
		if len(a) == 0 || !bytes.Equal(a, b) {
			t.Errorf("%s: the bytes differ with --jobs", table.Name)
		}
	}
	tables := exportedTables(t, one)

	var compared struct {
		Groups []struct {
			Each []struct {
				File, Agent, Project string
				Flags                []string
				Figures              map[string]map[string]json.Number
			}
		}
	}
	ctxkitJSON(t, &compared, append([]string{"compare", input, "--agent", "main"}, named[2:]...)...) // with its subagents a session would be one row
	each := compared.Groups[0].Each
	main := func(table string) []exportRow {
		return slices.DeleteFunc(slices.Clone(tables[table]), func(row exportRow) bool { return row["agent"] != "main" })
	}
	if len(each) < 20 || len(main("sessions")) != len(each) || len(tables["comparison"]) != len(tables["sessions"])*len(policies) {
		t.Fatalf("%d sessions of %d, %d rows of figures", len(main("sessions")), len(each), len(tables["comparison"]))
	}
	for i, row := range main("comparison") {
		s := each[i/len(policies)]
		if agent := cmp.Or(s.Agent, "main"); row["file"] != s.File || row["agent"] != agent || row["policy"] != policies[i%len(policies)] {
			t.Fatalf("row %d is of %s", i, row["file"])
		}
		for _, f := range compare.Figures() {
			row.same(t, f.Name, f.Places(), s.Figures[row["policy"]][f.Name])
		}
	}
	for i, row := range main("sessions") {
		if row["project"] != each[i].Project {
			t.Errorf("%s: project %q, compare has %q", row["file"], row["project"], each[i].Project)
		}
		for _, f := range compare.Flags() {
			if f != compare.FlagSubagents && row[string(f)] != fmt.Sprint(slices.Contains(each[i].Flags, string(f))) {
				t.Errorf("%s: %s is %s", row["file"], f, row[string(f)])
			}
		}
	}
	for p, name := range policies {
		exportedReplays(t, tables, name, append([]string{"replay", input}, append(named[:4:4], named[4+2*p:6+2*p]...)...))
	}
	exportedGlances(t, tables["sessions"], input)
}

// exportedReplays compares the rows of a policy with the JSON of replay.
func exportedReplays(t *testing.T, tables map[string][]exportRow, name string, args []string) {
	t.Helper()
	var replayed struct {
		Sessions []struct {
			File, Agent      string
			Requests, Events []json.RawMessage
		}
	}
	ctxkitJSON(t, &replayed, args...)
	rows := func(table string) (list []exportRow) {
		for _, row := range tables[table] {
			if row["policy"] == name {
				list = append(list, row)
			}
		}
		return list
	}
	compareRows := func(table string, of func(i int) []json.RawMessage, numbers, texts map[string]string) {
		left := rows(table)
		if len(left) == 0 {
			t.Fatalf("%s: no %s", name, table)
		}
		for i, s := range replayed.Sessions {
			for _, data := range of(i) {
				if len(left) == 0 {
					t.Fatalf("%s: too few rows in %s", name, table)
				}
				row, want := left[0], flatJSON(t, data)
				left = left[1:]
				if row["file"] != s.File || row["agent"] != cmp.Or(s.Agent, "main") {
					t.Fatalf("%s: a row is of %s, not of %s", table, row["file"], s.File)
				}
				for key, column := range numbers {
					places := 0
					if strings.HasPrefix(column, "cost_") {
						places = 9
					}
					row.same(t, column, places, want[key])
				}
				for key, column := range texts {
					if row[column] != string(want[key]) {
						t.Errorf("%s: %s is %q, in JSON %q", s.File, column, row[column], want[key])
					}
				}
				if at, err := time.Parse(time.RFC3339Nano, string(want["time"])); err == nil && row["time"] != fmt.Sprint(at.UnixMicro()) {
					t.Errorf("%s: time %s, in JSON %s", s.File, row["time"], want["time"])
				}
			}
		}
		if len(left) > 0 {
			t.Errorf("%s: %d rows too many in %s", name, len(left), table)
		}
	}
	compareRows("requests", func(i int) []json.RawMessage { return replayed.Sessions[i].Requests }, requestNames, requestTexts)
	compareRows("events", func(i int) []json.RawMessage { return replayed.Sessions[i].Events }, eventNames, eventTexts)
}

// exportedGlances compares what was recorded with the JSON of sessions, whose cost is with subagents.
func exportedGlances(t *testing.T, rows []exportRow, input string) {
	t.Helper()
	var listed struct {
		Sessions []map[string]any
	}
	var raw struct{ Sessions []json.RawMessage }
	ctxkitJSON(t, &raw, "sessions", input)
	ctxkitJSON(t, &listed, "sessions", input)
	met := 0
	for i, s := range listed.Sessions {
		want := flatJSON(t, raw.Sessions[i])
		at := slices.IndexFunc(rows, func(r exportRow) bool { return r["file"] == s["file"] && r["agent"] == "main" })
		if at < 0 {
			continue // without a request
		}
		met++
		for _, column := range strings.Fields("requests peak_context last_context compactions idle_seconds") {
			rows[at].same(t, column, 0, want[column])
		}
		cost := new(big.Rat)
		for j, row := range rows {
			if usd := row.rat(t, "cost_usd", 9); usd != nil && (j == at || row["agent"] != "main" && row["session"] == rows[at]["session"]) {
				cost.Add(cost, usd)
			}
		}
		if n, ok := new(big.Rat).SetString(string(want["cost_usd"])); ok && n.Cmp(cost) != 0 {
			t.Errorf("%s: the rows cost %s, sessions says %s", s["file"], cost.FloatString(9), want["cost_usd"])
		}
	}
	if met < 15 {
		t.Errorf("only %d sessions compared", met)
	}
}

// TestExportHostile holds that hostile sessions give files that can be read, whose texts are UTF-8, and that --no-text
// leaves no word of a prompt or title.
func TestExportHostile(t *testing.T) {
	dir := t.TempDir()
	for turn := range leads {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("s%02d.jsonl", turn)), string(hostileSession(t, turn)))
	}
	secret := `{"type":"user","uuid":"u1","sessionId":"x","timestamp":"2026-01-15T09:00:00Z","cwd":"/w","message":{"role":"user","content":"quixotic plan"}}
{"type":"custom-title","customTitle":"quixotic title","sessionId":"x"}
{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"x","timestamp":"2026-01-15T09:00:01Z","message":{"id":"m","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"quixotic answer"}],"usage":{"input_tokens":5,"output_tokens":5}}}
`
	writeFile(t, filepath.Join(dir, "t.jsonl"), secret)
	count := func(more ...string) (rows, secrets int) {
		folder := filepath.Join(t.TempDir(), "out")
		code, _, said := ctxkit(append([]string{"export", dir, "-o", folder, "-p", "recorded", "-p", "claude-code-2.1.19,window.context=60000,autocompact.summary=outline"}, more...)...)
		if code != exitDone {
			t.Fatalf("exit code %d: %s", code, said)
		}
		for name, list := range exportedTables(t, folder) {
			for _, row := range list {
				rows++
				for column, text := range row {
					if !utf8.ValidString(text) {
						t.Errorf("%s.%s: %q", name, column, text)
					}
					if strings.Contains(text, "quixotic") {
						secrets++
					}
				}
			}
		}
		return rows, secrets
	}
	if rows, secrets := count(); rows < 200 || secrets != 1 {
		t.Errorf("%d rows, of which %d have a text of the transcript: want the title alone", rows, secrets)
	}
	if rows, secrets := count("--no-text"); rows < 200 || secrets != 0 {
		t.Errorf("%d rows, of which %d have a text of the transcript in spite of --no-text", rows, secrets)
	}
}
