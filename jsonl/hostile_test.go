package jsonl

import (
	"runtime"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// Lines made to cost more than their length must not: not in memory, and not in time, or this would not end.
func TestHostileLines(t *testing.T) {
	n := 300_000
	for name, line := range map[string]string{
		"braces":             strings.Repeat("{", n),
		"objects in rubbish": "x" + strings.Repeat(`{"a":[`, n),
		"rubbish in objects": strings.Repeat(`x{"a":`, n),
		"strings in phase":   `x` + strings.Repeat(`{",",`, n),
		"keys in keys":       strings.Repeat(`{"{":"`, n),
		"white space":        "x" + strings.Repeat(" ", n) + strings.Repeat("{ ", n),
		"backslashes":        `{"a":"` + strings.Repeat(`\`, n),
		"blocks":             `{"type":"user","message":{"content":[` + strings.Repeat("0,", 10*n) + `0]}}`,
		"parts":              `{"type":"user","message":{"content":[{"type":"tool_result","content":[` + strings.Repeat("0,", 10*n) + `0]}]}}`,
		"names":              strings.Repeat(`{"type":"`+strings.Repeat("n", 600)+`"}`, n/600),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := NewReader(strings.NewReader(line), "f", ReadOptions{})
		records := 0
		for r.Scan() {
			records++
		}
		runtime.ReadMemStats(&after)
		if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > int64(len(line))*3+32<<20 {
			t.Errorf("%s: %d bytes of memory for a line of %d", name, grown, len(line))
		}
		if records == 0 {
			t.Errorf("%s: no records", name)
		}
	}
}

func TestManyBlocks(t *testing.T) {
	line := `{"type":"user","message":{"content":[` + strings.Repeat(`{"type":"text","text":"a"},`, maxBlocks+5) + `0]}}`
	e := read(line, ReadOptions{})[0].E
	must.Say(t, "16384 6", len(e.Message.Content), e.Message.Omitted)
	line = `{"type":"user","message":{"content":[{"type":"tool_result","content":[` + strings.Repeat(`{"type":"text","text":"a"},`, maxBlocks+5) + `0]}]}}`
	b := read(line, ReadOptions{})[0].E.Message.Content[0]
	must.Say(t, "16384 16389", len(b.Parts), b.Text.Bytes)
}
