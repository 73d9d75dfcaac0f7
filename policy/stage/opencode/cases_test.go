package opencode_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/policy/stage/opencode"
)

// oracleCase is one input with the answers of OpenCode's own code.
type oracleCase struct {
	Name     string                    `json:"name"`
	About    string                    `json:"about"`
	Hand     map[string]map[string]any `json:"hand"` // policies -> dotted key -> value
	Input    caseInput                 `json:"input"`
	Expected map[string]map[string]any `json:"expected"` // policy -> key -> value
}

type caseInput struct {
	Ops      []string           `json:"ops"`
	Messages []opencode.Message `json:"messages"`
	Config   opencode.Config    `json:"config"`
	Env      opencode.Env       `json:"env"`
	Model    struct {
		Limit *opencode.Limit `json:"limit"`
	} `json:"model"`
	Tokens   []opencode.Tokens `json:"tokens"`
	Strings  []string          `json:"strings"`
	Step     int               `json:"step"`
	Truncate struct {
		Text    string `json:"text"`
		Options struct {
			Direction string `json:"direction"`
			MaxLines  *int   `json:"maxLines"`
			MaxBytes  *int   `json:"maxBytes"`
		} `json:"options"`
		TaskTool bool `json:"taskTool"`
	} `json:"truncate"`
}

// model is the case's model; without one it is a Claude of 200,000 tokens.
func (in *caseInput) model() opencode.Model {
	m := opencode.Model{
		ProviderID: "anthropic", ID: "claude-sonnet-4-5",
		Limit: opencode.Limit{Context: 200000, Output: 64000},
	}
	if in.Model.Limit != nil {
		m.Limit = *in.Model.Limit
	}
	return m
}

type object = map[string]any

// TestOracleCases compares every answer of every operation, case and version with OpenCode's own. CTXKIT_CASES names
// a further folder of cases: one that holds opencode/, or that folder itself.
func TestOracleCases(t *testing.T) {
	folders := []string{filepath.Join("testdata", "cases")}
	if dir := os.Getenv("CTXKIT_CASES"); dir != "" {
		if info, err := os.Stat(filepath.Join(dir, "opencode")); err == nil && info.IsDir() {
			dir = filepath.Join(dir, "opencode")
		}
		folders = append(folders, dir)
	}
	for i, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.json.gz"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no cases in folder %d (%s): %v", i, folder, err)
		}
		count, byHand := 0, 0
		for _, file := range files {
			c := readCase(t, file)
			t.Run(fmt.Sprintf("%d/%s", i, c.Name), func(t *testing.T) {
				n, hand := c.check(t)
				count, byHand = count+n, byHand+hand
			})
		}
		t.Logf("folder %d: %d cases, %d answers of OpenCode compared, %d worked out by hand", i, len(files), count, byHand)
	}
}

func readCase(t *testing.T, file string) *oracleCase {
	t.Helper()
	f := must.Get(os.Open(file))(t)
	defer f.Close()
	unzipped := must.Get(gzip.NewReader(f))(t)
	data := must.Get(io.ReadAll(unzipped))(t)
	c := new(oracleCase)
	if err := json.Unmarshal(data, c); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	// What is outside the messages must be known in full, or an input that changes the answer could pass unseen.
	var outer struct {
		Input object `json:"input"`
	}
	if err := json.Unmarshal(data, &outer); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	delete(outer.Input, "messages")
	rest := must.Get(json.Marshal(outer.Input))(t)
	strict := json.NewDecoder(bytes.NewReader(rest))
	strict.DisallowUnknownFields()
	if err := strict.Decode(new(caseInput)); err != nil {
		t.Fatalf("%s: input the test does not know: %v", file, err)
	}
	return c
}

// check compares all answers and returns how many there were.
func (c *oracleCase) check(t *testing.T) (count, byHand int) {
	if len(c.Expected) == 0 {
		t.Error("no expected answers")
	}
	got := map[string]object{}
	for _, name := range slices.Sorted(maps.Keys(c.Expected)) {
		version, err := opencode.ByName(name)
		if err != nil {
			t.Error(err)
			continue
		}
		answers, err := c.Input.answers(version)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got[name] = asJSON(t, answers)
		for _, key := range keysOf(c.Expected[name], got[name]) {
			want, expected := c.Expected[name][key]
			answer, answered := got[name][key]
			if key == "loop" || key == "wrap" {
				continue
			}
			if key != "version" {
				count++
			}
			switch {
			case !answered:
				t.Errorf("%s: expected key %q is not known", name, key)
			case !expected:
				t.Errorf("%s: %q is answered but not expected", name, key)
			default:
				must.Equal(t, answer, want, name, key)
			}
		}
	}
	for names, values := range c.Hand {
		policies := strings.Split(names, ",")
		if names == "all" {
			policies = slices.Sorted(maps.Keys(c.Expected))
		}
		for _, name := range policies {
			for path, want := range values {
				if strings.HasPrefix(path, "loop.") || strings.HasPrefix(path, "wrap") {
					continue
				}
				byHand++
				answer, found := at(got[name], path)
				if !found {
					t.Errorf("%s: no answer %q to compare with", name, path)
				} else if diff := cmp.Diff(want, answer); diff != "" {
					t.Errorf("%s: %s (-by hand +here):\n%s", name, path, diff)
				}
			}
		}
	}
	return count, byHand
}

// answers runs the case's operations, in the oracle's form.
func (in *caseInput) answers(v opencode.Version) (object, error) {
	out := object{"version": v.Name}
	messages := opencode.CloneMessages(in.Messages)
	model := in.model()
	for _, op := range in.Ops {
		switch op {
		case "estimate":
			in.estimate(out)
		case "prune":
			out["prune"] = in.prune(v, messages)
			out["compacted_after"] = compacted(messages)
		case "overflow":
			out["overflow"] = in.overflow(v, model.Limit)
			if v.CountsAll { // 1.1.36 has no function of its own for it
				out["usable"] = v.Usable(model.Limit, in.Config, in.Env.OutputTokenMax())
			}
		case "filter":
			ids := []string{}
			for _, m := range v.FilterCompacted(in.Messages) {
				ids = append(ids, m.Info.ID)
			}
			out["filter"] = ids
		case "loop", "wrap": // the loop of a prompt is not reproduced
		case "model":
			out["model_messages"] = v.ToModelMessages(v.FilterCompacted(in.Messages), model)
		case "model_after_prune": // after "prune", on the marks it set
			out["model_messages_after_prune"] = v.ToModelMessages(v.FilterCompacted(messages), model)
		case "truncate":
			out["truncate"] = in.truncate(v)
		case "replay":
			out["replay"] = in.replay(v)
		default:
			return nil, fmt.Errorf("unknown operation %q", op)
		}
	}
	return out, nil
}

func (in *caseInput) estimate(out object) {
	if in.Strings != nil {
		sizes := []int{}
		for _, s := range in.Strings {
			sizes = append(sizes, opencode.EstimateText(s))
		}
		out["estimate_strings"] = sizes
	}
	sizes := map[string]int{}
	for _, m := range in.Messages {
		for _, p := range m.Parts {
			if p.Type == opencode.PartTool && p.State.Status == opencode.StatusCompleted {
				sizes[p.ID] = opencode.Estimate(opencode.UTF16Len(p.State.Output))
			}
		}
	}
	out["estimate"] = sizes
}

func (in *caseInput) prune(v opencode.Version, messages []opencode.Message) object {
	if !v.PruneEnabled(in.Config, in.Env) {
		return object{"ran": false, "total": nil, "pruned": nil, "compacted": []any{}}
	}
	pruning := opencode.Prune(messages, v.Prune)
	pruning.Apply(messages, 1)
	marks := append([]opencode.Mark{}, pruning.Marks...)
	return object{"ran": true, "total": pruning.Total, "pruned": pruning.Pruned, "compacted": marks}
}

func compacted(messages []opencode.Message) []string {
	ids := []string{}
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.State.Time.Compacted != 0 {
				ids = append(ids, p.ID)
			}
		}
	}
	return ids
}

func (in *caseInput) overflow(v opencode.Version, limit opencode.Limit) []object {
	out := []object{}
	add := func(id string, tokens opencode.Tokens) {
		out = append(out, object{
			"id":        id,
			"loop_top":  v.Overflow(tokens, limit, in.Config, in.Env, opencode.LoopTop),
			"in_stream": v.Overflow(tokens, limit, in.Config, in.Env, opencode.InStream),
		})
	}
	for i, tokens := range in.Tokens {
		add(fmt.Sprintf("tokens[%d]", i), tokens)
	}
	for _, m := range in.Messages {
		if m.Info.Role == opencode.RoleAssistant {
			add(m.Info.ID, m.Info.Tokens)
		}
	}
	return out
}

func (in *caseInput) truncate(v opencode.Version) object {
	limits := v.TruncateLimits(in.Config)
	options := in.Truncate.Options
	if options.MaxLines != nil {
		limits.MaxLines = *options.MaxLines
	}
	if options.MaxBytes != nil {
		limits.MaxBytes = *options.MaxBytes
	}
	const path = "<FILE>"
	result := opencode.Truncate(in.Truncate.Text, limits, opencode.TruncateOptions{
		Tail: options.Direction == "tail", Task: in.Truncate.TaskTool, Path: path,
	})
	out := object{"content": result.Content, "truncated": result.Cut}
	if result.Cut {
		out["outputPath"] = path
	}
	return out
}

func (in *caseInput) replay(v opencode.Version) []object {
	out := []object{}
	if !v.PruneEnabled(in.Config, in.Env) {
		return out
	}
	for _, b := range opencode.Replay(opencode.CloneMessages(in.Messages), v.Prune) {
		ids := []string{}
		for _, mark := range b.Pruning.Marks {
			ids = append(ids, mark.PartID)
		}
		out = append(out, object{"after": b.After, "total": b.Pruning.Total, "pruned": b.Pruning.Pruned, "compacted": ids})
	}
	return out
}

// asJSON is a value as it reads back from JSON.
func asJSON(t *testing.T, value any) (out object) {
	t.Helper()
	data := must.Get(json.Marshal(value))(t)
	must.Do(t, json.Unmarshal(data, &out))
	return out
}

func keysOf(a, b object) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// at finds a value by its dotted path.
func at(value any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		members, ok := value.(object)
		if !ok {
			return nil, false
		}
		if value, ok = members[name]; !ok {
			return nil, false
		}
	}
	return value, true
}
