package synth_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestSessions holds lively sessions of every version against what is known of real ones. It makes one session of
// each version, with CTXKIT_LONG=1 three.
func TestSessions(t *testing.T) {
	t.Parallel()
	seeds := uint64(1)
	if os.Getenv("CTXKIT_LONG") == "1" {
		seeds = 3
	}
	checks := []struct {
		name string
		run  func(t *testing.T, version string, rs []record)
	}{
		{"chain", checkChain},
		{"answers", checkAnswers},
		{"usage", checkUsage},
		{"time", checkTime},
		{"tools", checkTools},
	}
	for i, v := range versions {
		if i%4 != 0 && !must.CI() {
			continue
		}
		for seed := uint64(1); seed <= seeds; seed++ {
			data, _ := generate(t, lively(v, seed))
			rs := parse(t, data)
			for _, c := range checks {
				t.Run(fmt.Sprintf("%s/%d/%s", v, seed, c.name), func(t *testing.T) { c.run(t, v, rs) })
			}
		}
	}
}

var uuidShape = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func checkChain(t *testing.T, v string, rs []record) {
	lines := map[string]int{}
	roots := 0
	for i, r := range rs {
		if r.UUID == "" {
			if slices.Contains([]string{"user", "assistant", "system", "attachment", "progress"}, r.Type) {
				t.Errorf("line %d: %s without uuid", i+1, r.Type)
			}
			continue
		}
		if !uuidShape.MatchString(r.UUID) {
			t.Errorf("line %d: uuid %q", i+1, r.UUID)
		}
		if _, twice := lines[r.UUID]; twice {
			t.Errorf("line %d: uuid %s a second time", i+1, r.UUID)
		}
		lines[r.UUID] = i
	}
	for i, r := range rs {
		switch {
		case r.UUID == "":
		case r.ParentUUID == nil:
			if !r.IsSidechain && r.Subtype != "compact_boundary" && !r.IsCompactSummary {
				roots++
			}
			if r.IsCompactSummary && v >= "2" {
				t.Errorf("line %d: a summary without parent", i+1)
			}
		default:
			parent, ok := lines[*r.ParentUUID]
			if !ok {
				t.Errorf("line %d: its parent is on no line", i+1)
			} else if parent >= i && parent > i+1 {
				t.Errorf("line %d: its parent is line %d", i+1, parent+1)
			}
		}
		if r.Subtype == "compact_boundary" {
			if i+1 >= len(rs) || !rs[i+1].IsCompactSummary || *rs[i+1].ParentUUID != r.UUID {
				t.Errorf("line %d: the summary does not follow its boundary", i+1)
			}
			if _, ok := lines[r.LogicalParentUUID]; !ok {
				t.Errorf("line %d: logical parent on no line", i+1)
			}
		}
		if r.IsSidechain && v >= "2" {
			t.Errorf("line %d: a sidechain line in the session", i+1)
		}
	}
	must.Equal(t, roots, 1)
}

// TestLiveBranch walks from the last line to the root: what Stats count stands on that branch.
func TestLiveBranch(t *testing.T) {
	for _, v := range versions {
		o := lively(v, 6)
		o.Rewinds, o.ResultChars = 0.4, 900
		data, stats := generate(t, o)
		rs := parse(t, data)
		at := map[string]int{}
		leaf := -1
		for i, r := range rs {
			if r.UUID != "" && !r.IsSidechain && r.Type != "progress" {
				at[r.UUID], leaf = i, i
			} else if r.UUID != "" {
				at[r.UUID] = i
			}
		}
		requests, abandoned, prompts := map[string]bool{}, map[string]bool{}, 0
		live := map[int]bool{}
		for i := leaf; i >= 0; {
			r := rs[i]
			live[i] = true
			switch {
			case r.ParentUUID != nil:
				i = at[*r.ParentUUID]
			case r.LogicalParentUUID != "":
				i = at[r.LogicalParentUUID]
			case r.IsCompactSummary: // the form without a boundary: the line before
				for i--; i >= 0 && (rs[i].UUID == "" || rs[i].IsSidechain); i-- {
				}
			default:
				i = -1
			}
		}
		for i, r := range rs {
			switch {
			case r.Message == nil || r.IsSidechain || r.IsMeta || r.IsCompactSummary || r.Message.Model == "<synthetic>":
			case r.Type == "assistant" && live[i]:
				requests[r.Message.ID] = true
			case r.Type == "assistant":
				abandoned[r.Message.ID] = true
			case r.Message.Content.plain && live[i] && !strings.HasPrefix(r.Message.Content.text, "<"):
				prompts++
			}
		}
		for id := range requests { // a parallel call beside the branch
			delete(abandoned, id)
		}
		if prompts != stats.Prompts || len(requests) != stats.Requests-stats.Abandoned || len(abandoned) != stats.Abandoned {
			t.Errorf("%s: %d prompts, %d requests, %d abandoned; Stats %d, %d, %d", v, prompts, len(requests), len(abandoned),
				stats.Prompts, stats.Requests-stats.Abandoned, stats.Abandoned)
		}
		if stats.Rewinds == 0 {
			t.Errorf("%s: no rewinds", v)
		}
	}
}

func checkAnswers(t *testing.T, v string, rs []record) {
	call, answered := map[string]int{}, map[string]bool{}
	for i, r := range rs {
		if r.Message == nil {
			continue
		}
		for _, b := range r.Message.Content.blocks {
			if b.Type == "tool_use" {
				call[b.ID] = i
			}
		}
	}
	for i, r := range rs {
		if r.Message == nil {
			continue
		}
		for _, b := range r.Message.Content.blocks {
			if b.Type != "tool_result" {
				continue
			}
			at, ok := call[b.ToolUseID]
			must.Say(t, "true false", ok, answered[b.ToolUseID])
			answered[b.ToolUseID] = true
			if at > i+1 {
				t.Errorf("line %d: its call is on line %d", i+1, at+1)
			}
			if v >= "2.1" {
				if own := rs[at].UUID; *r.ParentUUID != own || r.SourceToolAssistantUUID != own {
					t.Errorf("line %d: parent %s, source %s, want its own call %s", i+1, *r.ParentUUID, r.SourceToolAssistantUUID, own)
				}
			}
		}
	}
	must.Equal(t, len(answered), len(call))
}

func checkUsage(t *testing.T, v string, rs []record) {
	first := map[string]usage{}
	outputs := map[string][]int{}
	for i, r := range rs {
		if r.Type != "assistant" || r.Message.Model == "<synthetic>" {
			continue
		}
		must.Equal(t, len(r.Message.Content.blocks), 1)
		u := r.Message.Usage
		if u == nil {
			t.Fatalf("line %d: no usage", i+1)
		}
		if f, ok := first[r.Message.ID]; ok && (f.Input != u.Input || f.Write != u.Write || f.Read != u.Read) {
			t.Errorf("line %d: input %+v, on the message's first line %+v", i+1, u, f)
		}
		if d := u.CacheDetail; d != nil && d.Short+d.Long != u.Write {
			t.Errorf("line %d: cache_creation %+v, together not %d", i+1, d, u.Write)
		}
		first[r.Message.ID] = *u
		outputs[r.Message.ID] = append(outputs[r.Message.ID], u.Output)
		if among("2.1.12", "2.1.19", "2.1.22", "2.1.29", "2.1.42", "2.1.50")(v) && (u.Output > 8 || r.Message.StopReason != nil) {
			t.Errorf("line %d: output %d, stop_reason %v", i+1, u.Output, r.Message.StopReason)
		}
	}
	for id, outs := range outputs {
		for i, o := range outs {
			if o > outs[len(outs)-1] {
				t.Errorf("message %s: output_tokens %v: the last is not the largest (line %d of it)", id, outs, i+1)
			}
		}
	}
}

func checkTime(t *testing.T, v string, rs []record) {
	back := 0
	for i := 1; i < len(rs); i++ {
		if rs[i].UUID != "" && rs[i-1].UUID != "" && rs[i].Timestamp.Before(rs[i-1].Timestamp) {
			back++ // a result written before its call, or the lines of a /compact
		}
	}
	if back*10 > len(rs) {
		t.Errorf("time goes back on %d of %d lines", back, len(rs))
	}
	span := rs[len(rs)-1].Timestamp.Sub(rs[3].Timestamp)
	if rs[len(rs)-1].UUID != "" && span <= 0 {
		t.Errorf("the session took %v", span)
	}
}

// checkTools: what Read shows is numbered and what it read; what Edit replaces stands exactly once in the file and
// was shown before.
func checkTools(t *testing.T, v string, rs []record) {
	inputs := map[string]json.RawMessage{}
	names := map[string]string{}
	seen := map[string]string{} // everything shown or written of a file
	edits := 0
	for _, r := range rs {
		if r.Message == nil {
			continue
		}
		for _, b := range r.Message.Content.blocks {
			if b.Type == "tool_use" {
				inputs[b.ID], names[b.ID] = b.Input, b.Name
			}
		}
	}
	for i, r := range rs {
		if r.Message == nil {
			continue
		}
		for _, b := range r.Message.Content.blocks {
			if b.Type != "tool_result" || b.IsError {
				continue
			}
			var in struct {
				FilePath  string `json:"file_path"`
				OldString string `json:"old_string"`
				NewString string `json:"new_string"`
				Content   string
			}
			must.Do(t, json.Unmarshal(inputs[b.ToolUseID], &in))
			var out struct {
				File struct {
					Content   string
					StartLine int
					NumLines  int
				}
				OriginalFile string
			}
			if n := names[b.ToolUseID]; n == "Read" || n == "Edit" {
				must.Do(t, json.Unmarshal(r.ToolUseResult, &out))
			}
			switch names[b.ToolUseID] {
			case "Read":
				seen[in.FilePath] += out.File.Content + "\n"
				must.Equal(t, unnumbered(b.Content.text), out.File.Content)
				must.Equal(t, strings.Count(out.File.Content, "\n")+1, out.File.NumLines)
			case "Write":
				seen[in.FilePath] += in.Content + "\n"
			case "Edit":
				edits++
				must.Equal(t, strings.Count(out.OriginalFile, in.OldString), 1)
				for _, l := range strings.Split(in.OldString, "\n") {
					if !strings.Contains(seen[in.FilePath], l) {
						t.Errorf("line %d: edits %q, which was never shown", i+1, l)
					}
				}
				seen[in.FilePath] += in.NewString + "\n"
			}
		}
	}
	if edits < 5 {
		t.Errorf("%d edits: too few to mean anything", edits)
	}
}

var lineNumber = regexp.MustCompile(`(?m)^ *\d+(\t|→)`)

func unnumbered(s string) string { return lineNumber.ReplaceAllString(s, "") }

// TestShapesOfVersions checks which parts each version writes and which it does not. It stops at the first session
// with all of them; CTXKIT_LONG=1 checks four.
func TestShapesOfVersions(t *testing.T) {
	t.Parallel()
	wants := map[string]func(v string) bool{
		`"type":"progress"`:                 among("2.1.12", "2.1.19", "2.1.22", "2.1.29", "2.1.42", "2.1.50", "2.1.70", "2.1.80"),
		`"type":"attachment"`:               among("2.1.97", "2.1.119", "2.1.139", "2.1.210", "2.1.239", "2.1.332"),
		`"subtype":"microcompact_boundary"`: among("2.1.12", "2.1.19", "2.1.22"),
		`"thinking":""`:                     among("2.1.70", "2.1.80", "2.1.97", "2.1.119", "2.1.139", "2.1.210", "2.1.239", "2.1.332"),
		`"type":"queue-operation"`:          func(string) bool { return true },
		`"type":"last-prompt"`:              among("2.1.70", "2.1.80", "2.1.97", "2.1.119", "2.1.139", "2.1.210", "2.1.239", "2.1.332"),
		`"iterations":[{`:                   among("2.1.42", "2.1.50", "2.1.70", "2.1.80", "2.1.97", "2.1.119", "2.1.139", "2.1.210", "2.1.239", "2.1.332"),
		`"gitBranch"`:                       func(v string) bool { return v >= "2" },
		`"isSidechain":true`:                func(v string) bool { return v < "2" },
		`"preservedSegment"`:                among("2.1.210", "2.1.239", "2.1.332"),
		`<persisted-output>`:                func(string) bool { return true },
		`[Request interrupted by user`:      func(string) bool { return true },
		`"isCompactSummary":true`:           func(string) bool { return true },
		`"type":"agent_progress"`:           among("2.1.12", "2.1.19", "2.1.22", "2.1.29", "2.1.42", "2.1.50", "2.1.70", "2.1.80"),
		`<command-name>/`:                   func(string) bool { return true },
		`"<synthetic>"`:                     func(v string) bool { return v >= "2.1" },
		`"tool_use_error>`:                  func(string) bool { return false },
	}
	for _, v := range versions {
		missing := map[string]bool{}
		for part, in := range wants {
			missing[part] = in(v)
		}
		maps.DeleteFunc(missing, func(_ string, want bool) bool { return !want })
		for seed := uint64(1); seed <= 4 && (len(missing) > 0 || os.Getenv("CTXKIT_LONG") == "1"); seed++ {
			o := lively(v, seed)
			o.Requests, o.ResultChars = 260, 900
			data, _ := generate(t, o)
			for part, in := range wants {
				if !bytes.Contains(data, []byte(part)) {
					continue
				}
				delete(missing, part)
				if !in(v) {
					t.Errorf("%s, seed %d: writes %s", v, seed, part)
				}
			}
		}
		for part := range missing {
			t.Errorf("%s: never writes %s", v, part)
		}
	}
}

func among(vs ...string) func(string) bool {
	return func(v string) bool {
		for _, w := range vs {
			if v == w {
				return true
			}
		}
		return false
	}
}
