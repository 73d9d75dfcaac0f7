package tokens_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/replay/tokens/bpe"
)

func encoder(t testing.TB, name string) *tokens.Encoder {
	t.Helper()
	e := must.Get(tokens.NewEncoder(name))(t)
	return e
}

func load(t testing.TB, path string) *session.Conversation {
	t.Helper()
	file := must.Get(session.Load(path, session.LoadOptions{}))(t)
	t.Cleanup(func() { file.Close() })
	return file.Main
}

func TestEncodedBlocks(t *testing.T) {
	picture := base64.StdEncoding.EncodeToString(imageFiles(t)["png"])
	count, e := plain(t), encoder(t, tokens.NameO200K)
	must.Rows(t, `
# name | role | content | the texts that are counted | what is beside them
text | user | "\"Hello, world! It's 2026.\"" | ["Hello, world! It's 2026."] | 0
no text | user | "\"\"" | [] | 0
a special token is text | user | "\"<|endoftext|>\"" | ["<|endoftext|>"] | 0
escapes | user | "\"caf\\u00e9 \\ud83d\\ude00 \\ud83d \\n\"" | ["café 😀 \ufffd \n"] | 0
thinking | assistant | [{"type":"thinking","thinking":"Let me see.","signature":"abcd"}] | ["Let me see."] | 0
hidden thinking | assistant | [{"type":"thinking","thinking":"","signature":"abcdefghijkl"}] | [] | 0
tool_use | assistant | [{"type":"tool_use","id":"t1","name":"Read","input":{ "file_path" : "/a/b.go", "n": 3 }}] | ["{\"name\":\"Read\",\"input\":{\"file_path\":\"/a/b.go\",\"n\":3}}"] | 0
tool_use, a name to escape | assistant | [{"type":"tool_use","id":"t1","name":"a\"<b>","input":{}}] | ["{\"name\":\"a\\\"<b>\",\"input\":{}}"] | 0
result, a string | user | [{"type":"tool_result","tool_use_id":"t1","content":"package bpe\n"}] | ["package bpe\n"] | 0
result, an array | user | [{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"one two"},{"type":"text","text":"three"}]}] | ["one two", "three"] | 0
result with an image | user | [{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"PICTURE"}}]}] | ["see"] | 2
result, something new | user | [{"type":"tool_result","tool_use_id":"t1","content":[{"type":"tool_reference", "tool_name":"Grep"}]}] | ["{\"type\":\"tool_reference\",\"tool_name\":\"Grep\"}"] | 0
result without content | user | [{"type":"tool_result","tool_use_id":"t1"}] | [] | 0
image | user | [{"type":"image","source":{"type":"base64","media_type":"image/png","data":"PICTURE"}}] | [] | 2
image of unknown size | user | [{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}] | [] | 2000
image by its address | user | [{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}] | [] | 2000
document | user | [{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"PICTURE"}}] | [] | 2000
unknown | user | [{"type":"hologram", "depth": 3}] | ["{\"type\":\"hologram\",\"depth\":3}"] | 0
`, func(name, role, content string, texts []string, want int) {
		for _, text := range texts {
			want += count(text)
		}
		path := filepath.Join(t.TempDir(), "s.jsonl")
		line := fmt.Sprintf(`{"type":%q,"uuid":"u1","sessionId":"s","version":"2.1.19","timestamp":"2026-01-15T09:00:00Z","message":{"role":%[1]q,"id":"m1","model":"claude-opus-4-5","content":%s}}`, role, strings.ReplaceAll(content, "PICTURE", picture))
		if !json.Valid([]byte(line)) {
			t.Fatalf("%s: the line is not JSON", name)
		}
		must.Do(t, os.WriteFile(path, []byte(line+"\n"), 0o600))
		conv := load(t, path)
		table := must.Get(tokens.Encoded(conv, e, tokens.EncodeOptions{}))(t)
		if len(conv.Messages) != 1 {
			t.Fatalf("%s: %d messages", name, len(conv.Messages))
		}
		must.Equal(t, table.Message(0), want, name)
	})
}

// plain counts with an encoding itself, without what is kept of texts.
func plain(t testing.TB) func(text string) int {
	t.Helper()
	e := must.Get(bpe.Load(tokens.NameO200K))(t)
	return func(text string) int { return e.NewCounter().Count(text) }
}

// TestEncodedJobs: the table is the same at any number of jobs, and offloaded results weigh what their files hold,
// and their stubs what those say.
func TestEncodedJobs(t *testing.T) {
	conv := load(t, "../../testdata/sessions/offload/646fd4d4-80f3-4332-8cf7-54ef688b3f8f.jsonl")
	shared := encoder(t, tokens.NameCL100K)
	weights := func(e *tokens.Encoder, jobs int) (list []int, table *tokens.WeightTable) {
		table = must.Get(tokens.Encoded(conv, e, tokens.EncodeOptions{Jobs: jobs}))(t)
		for m := range conv.Messages {
			list = append(list, table.Message(m))
		}
		return list, table
	}
	want, table := weights(encoder(t, tokens.NameCL100K), 1)
	for _, jobs := range []int{1, 2, 8} {
		got, _ := weights(shared, jobs)
		must.Equal(t, got, want, jobs)
	}
	offloaded := 0
	for m := range conv.Messages {
		for b := range conv.Messages[m].Blocks {
			bl := &conv.Messages[m].Blocks[b]
			if bl.Offload == nil {
				continue
			}
			offloaded++
			stub := must.Get(conv.Text(m, b))(t)
			whole := must.Get(conv.WholeText(m, b))(t)
			target := policy.Target{Item: policy.ItemID(m), Block: b}
			if got, want := table.Block(m, b), shared.Count(whole); got != want {
				t.Errorf("message %d: the file counts %d, want %d", m, got, want)
			}
			if got, want := table.Content(&policy.Content{Kind: bl.Kind, Ref: &target, Stub: true}), shared.Count(stub); got != want {
				t.Errorf("message %d: the stub counts %d, want %d", m, got, want)
			}
			if got, want := table.Content(&policy.Content{Kind: bl.Kind, Ref: &target}), shared.Count(whole); got != want {
				t.Errorf("message %d: a reference counts %d, want %d", m, got, want)
			}
		}
	}
	if offloaded == 0 {
		t.Error("no result is offloaded")
	}
}

// TestEncodedContent: what a policy puts in is counted by its text.
func TestEncodedContent(t *testing.T) {
	conv := load(t, "../../testdata/sessions/cjk.jsonl")
	e := encoder(t, tokens.NameO200K)
	text := "[Old tool result content cleared]"
	for _, ratio := range []float64{1, 1.24} {
		table := must.Get(tokens.Encoded(conv, e, tokens.EncodeOptions{Ratio: ratio}))(t)
		c := policy.NewContent(jsonl.KindToolResult, text)
		if got, want := table.Content(&c), int(float64(e.Count(text))*ratio+0.5); got != want {
			t.Errorf("ratio %g: %d tokens, want %d", ratio, got, want)
		}
		must.Equal(t, table.Content(&policy.Content{Kind: jsonl.KindText, Tokens: 5000}), 5000, ratio)
	}
}

// TestEncodedFails: a text that cannot be read again is an error, the same at any number of jobs.
func TestEncodedFails(t *testing.T) {
	data := must.Get(os.ReadFile("../../testdata/sessions/big.jsonl"))(t)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	must.Do(t, os.WriteFile(path, data, 0o600))
	conv := load(t, path)
	must.Do(t, os.Truncate(path, int64(len(data)/3)))
	e, said := encoder(t, tokens.NameO200K), ""
	for _, jobs := range []int{1, 2, 8, 8} {
		_, err := tokens.Encoded(conv, e, tokens.EncodeOptions{Jobs: jobs})
		if err == nil || said != "" && err.Error() != said {
			t.Fatalf("%d jobs: %v, want an error, the same each time: %q", jobs, err, said)
		}
		said = err.Error()
	}
	if !strings.Contains(said, path+":") {
		t.Errorf("%q does not say where", said)
	}
}

// TestEncoderConcurrent: counts are right whoever else is counting.
func TestEncoderConcurrent(t *testing.T) {
	e, count := encoder(t, tokens.NameO200K), plain(t)
	var texts []string
	var want []int
	for i := range 60 {
		texts = append(texts, strings.Repeat(fmt.Sprintf("text %d of some; ", i%40), 1+i%13))
		want = append(want, count(texts[i]))
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 20 {
				for i, text := range texts {
					if got := e.Count(text); got != want[i] {
						t.Errorf("%q: %d tokens, want %d", text, got, want[i])
						return
					}
				}
			}
		})
	}
	wait.Wait()
}

func TestNames(t *testing.T) {
	for _, name := range tokens.Names() {
		if err := tokens.CheckName(name); err != nil {
			t.Error(err)
		}
	}
	must.Refuse(t, tokens.CheckName("p50k_base"), "use usage, heuristic, o200k_base or cl100k_base")
	var set tokens.Encoders
	one := must.Get(set.Get(tokens.NameO200K))(t)
	if two, _ := set.Get(tokens.NameO200K); two != one {
		t.Error("an encoder is made twice")
	}
	if _, err := set.Get("p50k_base"); err == nil {
		t.Error("an unknown encoding is made")
	}
}
