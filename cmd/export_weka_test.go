package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/report"
)

// wekaTrace is a trace as aiperf declares it, which refuses fields that it does not know.
type wekaTrace struct {
	ID          string        `json:"id"`
	Models      []string      `json:"models"`
	BlockSize   int           `json:"block_size"`
	HashIDScope string        `json:"hash_id_scope"`
	Requests    []wekaRequest `json:"requests"`
}

// wekaRequest is a request, or a subagent with its requests.
type wekaRequest struct {
	T         float64  `json:"t"`
	Type      string   `json:"type"`
	Model     string   `json:"model"`
	In        *int     `json:"in"`
	Out       *int     `json:"out"`
	HashIDs   []int    `json:"hash_ids"`
	Stop      string   `json:"stop"`
	APITime   *float64 `json:"api_time"`
	ThinkTime *float64 `json:"think_time"`

	AgentID      string        `json:"agent_id"`
	SubagentType *string       `json:"subagent_type"`
	DurationMS   int           `json:"duration_ms"`
	TotalTokens  int           `json:"total_tokens"`
	Status       string        `json:"status"`
	Requests     []wekaRequest `json:"requests"`
	Models       []string      `json:"models"`
}

// wekaTraces reads the traces of a folder, each one line.
func wekaTraces(t *testing.T, folder string) (list []wekaTrace, data []byte) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		if e.Name() != fmt.Sprintf("trace_%04d.json", i+1) {
			t.Errorf("file %d is %s", i+1, e.Name())
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.IndexByte(text, '\n'); n != len(text)-1 {
			t.Errorf("%s: %d bytes, a line ends at %d", e.Name(), len(text), n)
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		var one wekaTrace
		if err := d.Decode(&one); err != nil {
			t.Fatalf("%s: %v", e.Name(), err)
		}
		if _, err := d.Token(); err != io.EOF {
			t.Errorf("%s: more than one value", e.Name())
		}
		if one.ID+".json" != e.Name() || one.BlockSize != report.WekaBlock || one.HashIDScope != "local" {
			t.Errorf("%s: %s, %d, %s", e.Name(), one.ID, one.BlockSize, one.HashIDScope)
		}
		list, data = append(list, one), append(data, text...)
	}
	return list, data
}

// wekaRow is a row of a replay in JSON.
type wekaRow struct {
	Kind          string
	Model         string
	PayloadTokens int `json:"payload_tokens"`
	OutputTokens  int `json:"output_tokens"`
}

// TestExportWeka holds traces against the JSON of replay: lengths, models and order, of sessions and their subagents;
// and against themselves: times, chains of blocks, the same bytes at any number of jobs.
func TestExportWeka(t *testing.T) {
	t.Chdir("..")
	const input = "testdata/sessions"
	for _, policy := range []string{"recorded", "claude-code-2.1.19,window.context=60000,autocompact.summary=outline"} {
		folder := t.TempDir()
		export := func(name string, more ...string) string {
			path := filepath.Join(folder, name)
			if code, said := ctxkit(append([]string{"export", input, "--agent", "all", "-p", policy, "--as", "weka", "-o", path, "-q"}, more...)...); code != 0 {
				t.Fatalf("exit code %d: %s", code, said)
			}
			return path
		}
		traces, one := wekaTraces(t, export("one", "--jobs", "1"))
		if _, four := wekaTraces(t, export("four", "--jobs", "4")); len(one) == 0 || !bytes.Equal(one, four) {
			t.Error("the bytes differ with --jobs")
		}
		name, sets, _ := strings.Cut(policy, ",")
		args := []string{"replay", input, "--agent", "all", "-p", name, "--cache", "equal"}
		for _, set := range strings.Split(sets, ",") {
			if set != "" {
				args = append(args, "--set", set)
			}
		}
		var replayed struct {
			Sessions []struct {
				File, Agent string
				Requests    []wekaRow
			}
		}
		ctxkitJSON(t, &replayed, args...)
		calls, agents := 0, 0
		at, agent := -1, 0
		for _, s := range replayed.Sessions {
			if len(s.Requests) == 0 {
				continue
			}
			var requests []wekaRequest
			if s.Agent == "" || s.Agent == "main" {
				at, agent = at+1, 0
				for _, q := range traces[at].Requests {
					if q.Type != "subagent" {
						requests = append(requests, q)
					}
				}
			} else {
				agent++
				agents++
				id := fmt.Sprintf("agent_%03d", agent)
				k := slices.IndexFunc(traces[at].Requests, func(q wekaRequest) bool { return q.AgentID == id })
				if k < 0 {
					t.Fatalf("%s: no %s in %s", s.File, id, traces[at].ID)
				}
				requests = traces[at].Requests[k].Requests
			}
			if len(requests) != len(s.Requests) {
				t.Fatalf("%s %s: %d requests in %s, %d in the replay", s.File, s.Agent, len(requests), traces[at].ID, len(s.Requests))
			}
			for i, row := range s.Requests {
				q := &requests[i]
				if q.In == nil || *q.In != row.PayloadTokens || q.Out == nil || *q.Out != row.OutputTokens || q.Model != row.Model || len(q.HashIDs) != *q.In/report.WekaBlock {
					t.Errorf("%s: request %d: %+v, the row is %+v", s.File, i+1, q, row)
				}
				if row.Kind != "main" {
					if calls++; q.APITime != nil || q.Stop != "" {
						t.Errorf("%s: a call of the policy's own took %v: %q", s.File, q.APITime, q.Stop)
					}
				}
			}
		}
		if at+1 != len(traces) || calls < 5 || agents < 2 {
			t.Errorf("%s: %d traces of %d sessions, %d calls, %d subagents", policy, len(traces), at+1, calls, agents)
		}
		for i := range traces {
			checkWeka(t, &traces[i])
		}
	}
}

// checkWeka holds the times of a trace, and that a block's number stands behind the same numbers everywhere.
func checkWeka(t *testing.T, trace *wekaTrace) {
	t.Helper()
	behind, most := map[int]int{}, 0
	var models []string
	check := func(list []wekaRequest, from float64) {
		end := from
		for i, q := range list {
			if q.Type == "subagent" {
				continue
			}
			models = append(models, q.Model)
			if q.Type != "s" || q.T < from || q.APITime != nil && *q.APITime < 0 || i > 0 && q.ThinkTime == nil || i == 0 && q.ThinkTime != nil {
				t.Errorf("%s: request %d: %+v", trace.ID, i, q)
			}
			if q.ThinkTime != nil {
				if off := q.T - end - *q.ThinkTime; *q.ThinkTime < 0 || q.T >= end && (off > 0.0005 || off < -0.0005) {
					t.Errorf("%s: request %d at %.3f, %.3f after the end of the one before at %.3f", trace.ID, i, q.T, *q.ThinkTime, end)
				}
			}
			from, end = q.T, max(end, q.T)
			if q.APITime != nil {
				end = max(end, q.T+*q.APITime)
			}
			last := 0
			for _, n := range q.HashIDs {
				if before, ok := behind[n]; ok && before != last || n < 1 {
					t.Fatalf("%s: block %d is behind %d and behind %d", trace.ID, n, before, last)
				}
				behind[n], last, most = last, n, max(most, n)
			}
		}
	}
	check(slices.DeleteFunc(slices.Clone(trace.Requests), func(q wekaRequest) bool { return q.Type == "subagent" }), 0)
	if trace.Requests[0].T != 0 {
		t.Errorf("%s begins at %f", trace.ID, trace.Requests[0].T)
	}
	last := 0.0
	for _, q := range trace.Requests {
		if q.T < last {
			t.Errorf("%s: %f is behind %f", trace.ID, q.T, last)
		}
		if last = q.T; q.Type == "subagent" {
			if check(q.Requests, q.T); q.Status != "completed" || q.SubagentType == nil || len(q.Models) == 0 || q.Requests[0].T != q.T {
				t.Errorf("%s: %+v", trace.ID, q)
			}
		}
	}
	slices.Sort(models)
	if !slices.Equal(slices.Compact(models), trace.Models) {
		t.Errorf("%s: models %q, requests have %q", trace.ID, trace.Models, models)
	}
	if len(behind) < most*9/10 { // the rest is in pieces whose end was cut
		t.Errorf("%s: %d of the numbers up to %d are used", trace.ID, len(behind), most)
	}
}

// TestExportWekaText: a trace has no text of the session, and of its models only names.
func TestExportWekaText(t *testing.T) {
	dir := t.TempDir()
	for turn := range leads {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("s%02d.jsonl", turn)), hostileSession(t, turn), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(t.TempDir(), "out")
	if code, said := ctxkit("export", dir, "-p", "claude-code-2.1.19,window.context=60000,autocompact.summary=outline", "--as", "weka", "-o", folder); code != exitDone {
		t.Fatalf("exit code %d: %s", code, said)
	}
	traces, data := wekaTraces(t, folder)
	if len(traces) != len(leads) {
		t.Errorf("%d traces of %d sessions", len(traces), len(leads))
	}
	known := []string{
		"id", "models", "block_size", "hash_id_scope", "local", "requests", "t", "type", "s", "model", "in", "out", "hash_ids", "stop", "tool_use", "end_turn",
		"api_time", "think_time", "unknown",
	}
	for i := range traces {
		checkWeka(t, &traces[i])
		known = append(known, traces[i].ID)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := token.(string); ok && !slices.Contains(known, text) && text != "claude-sonnet-4-5" {
			t.Errorf("a trace has %q", text)
		}
	}
}
