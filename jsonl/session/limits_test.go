package session_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

const limitPrompt = `{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"go"}}` + "\n"

// TestFindingsLimit: the first warnings of each kind are kept, all are counted.
func TestFindingsLimit(t *testing.T) {
	var text strings.Builder
	text.WriteString(limitPrompt)
	for range 7 {
		text.WriteString("{bad\n" + limitPrompt)
	}
	must.Rows(t, `
# most | want
3 | duplicate-uuid:3+4 malformed-line:3+4
6 | duplicate-uuid:6+1 malformed-line:6+1
7 | duplicate-uuid:7+0 malformed-line:7+0
`, func(most int64, want string) {
		seen := 0
		f := must.Get(session.LoadReader("s", strings.NewReader(text.String()), session.LoadOptions{
			Limits: jsonl.InputLimits{Findings: most}, Warned: func(session.Warning) { seen++ },
		}))(t)
		kept, more := map[session.Code]int{}, map[session.Code]int{}
		for _, w := range f.Main.Warnings {
			if more[w.Code] += w.More; w.More == 0 {
				kept[w.Code]++
			}
		}
		got := fmt.Sprintf("duplicate-uuid:%d+%d malformed-line:%d+%d", kept["duplicate-uuid"], more["duplicate-uuid"], kept["malformed-line"], more["malformed-line"])
		if got != want || seen != 14 {
			t.Errorf("limit %d: %s, want %s; %d seen", most, got, want, seen)
		}
		f.Close()
	})
}

// TestEntriesLimit: reading stops at the first object over the limit, content blocks counted.
func TestEntriesLimit(t *testing.T) {
	block := strings.Replace(limitPrompt, `"go"`, `[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"y"}]}]`, 1)
	text := limitPrompt + strings.Replace(block, `"uuid":"a"`, `"uuid":"b"`, 1)
	must.Rows(t, `
# most | want
6 | 2
5 | 1
`, func(most int64, want int) { // 2 + 4
		f := must.Get(session.LoadReader("s", strings.NewReader(text), session.LoadOptions{Limits: jsonl.InputLimits{Entries: most}}))(t)
		var over *jsonl.LimitError
		if stopped := errors.As(f.Stopped, &over); f.Main.Lines.Used > want || stopped != (want == 1) {
			t.Errorf("limit %d: %d lines used, stopped by %v", most, f.Main.Lines.Used, f.Stopped)
		}
		if !f.Main.Lines.Balanced() {
			t.Errorf("limit %d: %+v", most, f.Main.Lines)
		}
		f.Close()
	})
}

// TestOffloadLimits: a file over the limit, here a sparse one, is not read.
func TestOffloadLimits(t *testing.T) {
	dir := t.TempDir()
	lines := limitPrompt
	for i, id := range []string{"x", "y"} {
		lines += fmt.Sprintf(`{"type":"user","uuid":"r%d","parentUuid":"a","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"<persisted-output>\nOutput too large. Full output saved to: /x/%s.txt\n</persisted-output>"}]}}`+"\n", i, id, id)
		path := filepath.Join(dir, "s", "tool-results", id+".txt")
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, nil, 0o600))
		must.Do(t, os.Truncate(path, 1000))
	}
	lines = strings.Replace(lines, `"r1","parentUuid":"a"`, `"r1","parentUuid":"r0"`, 1)
	path := filepath.Join(dir, "s.jsonl")
	must.Do(t, os.WriteFile(path, []byte(lines), 0o600))
	must.Rows(t, `
# limits | refused | over
{}                               | 0 | ""
{"Offload":999}                  | 2 | offload=999
{"Offload":1000,"Offloads":2000} | 0 | ""
{"Offloads":1999}                | 1 | offloads=1999
`, func(limits jsonl.InputLimits, refused int, over string) {
		f := must.Get(session.Load(path, session.LoadOptions{Limits: limits}))(t)
		text := ""
		for _, w := range f.Main.Warnings {
			text += w.Message
		}
		if got := f.Main.Offloads; got.Refused != refused || got.Read != 2-refused || !strings.Contains(text, over) {
			t.Errorf("%+v: %+v, %s", limits, got, text)
		}
		f.Close()
	})
}
