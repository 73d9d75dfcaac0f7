package stats

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/price"
)

// recordRequest adds the lines that hold the next request: its messages, and its system prompt with tools.
func (s *transcript) recordRequest(id, shape string, messages ...string) {
	sum, _ := requests.SumOf([]byte(shape))
	s.lines = append(s.lines, fmt.Sprintf(`{"type":"api-request-shape","shapeHash":%q,"shape":%s}`, sum, shape))
	var tail []string
	for _, m := range messages {
		sum, _ := requests.SumOfMessage([]byte(m))
		tail = append(tail, fmt.Sprintf("%q", sum))
		s.lines = append(s.lines, fmt.Sprintf(`{"type":"api-request-blob","hash":"%s","message":%s}`, sum, m))
	}
	s.lines = append(s.lines, fmt.Sprintf(`{"type":"api-request","id":%q,"shapeHash":%q,"keep":0,"tail":[%s],"params":{}}`, id, sum, strings.Join(tail, ",")))
}

// The parts add up to the system prompt and the tools that were sent, in bytes and in tokens; sections have the names of
// their headings, and tools that were never called stand first.
func TestOverhead(t *testing.T) {
	system := "Be terse.\n# Doing tasks\nDo.\n```sh\n# a comment\n```\n# auto memory\nKeep \"x\" and \\n# this.\n# Environment\nLinux"
	texts := must.Get(json.Marshal([]map[string]string{{"type": "text", "text": "An agent."}, {"type": "text", "text": system}}))(t)
	tools := []string{`{"name":"Read","input_schema":{}}`, `{"name":"mcp__shop__stock","description":"` + strings.Repeat("how many ", 20) + `"}`, `{"type":"web_search"}`}
	shape := fmt.Sprintf(`{"system":%s,"tools":[%s]}`, texts, strings.Join(tools, ","))
	fewer := fmt.Sprintf(`{"system":%s,"tools":[%s,{"name":"Gone"}]}`, texts, tools[0])

	var s transcript
	s.prompt("go")
	s.recordRequest("r1", fewer, `{"role":"user","content":"go"}`)
	s.call(5000, "1", "Read", `{"file_path":"a"}`)
	s.result("1", "A", false)
	s.recordRequest("r2", shape, `{"role":"user","content":"go"}`)
	s.answer(5200, "done")
	rec := s.record(t)
	log := must.Get(requests.Read(rec.Conv.Source))(t)
	got, _, err := Replay(rec, replay.RecordedTrack(), replay.Options{}, func(*replay.Timeline) (Extent, error) { return Extent{Request: 2, Until: 2}, nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	must.Do(t, got.AddOverhead(rec, log))
	o := got.Overhead
	if o == nil {
		t.Fatal("no overhead")
	}
	body := must.Get(log.Body(log.Of("a3")))(t)
	bytes, tokens, usd := 0, 0, price.USD{}
	var names []string
	for _, p := range o.Parts {
		bytes, tokens = bytes+p.Bytes, tokens+p.Tokens
		usd.Add(p.USD)
		names = append(names, fmt.Sprintf("%s %s%s %d/%d", p.Part, p.Name, strings.TrimRight(" "+p.Kind+p.Server, " "), p.Calls, p.Requests))
	}
	slices.Sort(names)
	want := []string{
		"system Doing tasks 0/2", "system Environment environment 0/2", "system auto memory memory 0/2", "system identity 0/2", "system instructions 0/2",
		"tool Gone 0/1", "tool Read 1/2", "tool mcp__shop__stock shop 0/1", "tool web_search 0/1",
	}
	must.Equal(t, names, want)
	if p := o.Parts; p[0].Name != "mcp__shop__stock" || p[1].Name != "web_search" || p[2].Name != "Gone" || p[3].Name != "Read" {
		t.Errorf("tools that were never called do not stand first: %+v", o.Parts)
	}
	if gone := o.Parts[2]; gone.Tokens != 0 || gone.Sent == 0 {
		t.Errorf("a tool that is gone has %d tokens, %d sent before", gone.Tokens, gone.Sent)
	}
	sent := len(body.System) + len(body.Tools) - len("[,][,,]") // without what stands between the parts
	if bytes != o.Bytes || bytes != sent || tokens != o.Tokens {
		t.Errorf("parts have %d bytes and %d tokens, all %d and %d, sent %d bytes", bytes, tokens, o.Bytes, o.Tokens, sent)
	}
	i := slices.IndexFunc(got.Categories, func(c CategoryTokens) bool { return c.Category == "system" })
	if all := got.Categories[i].USD; usd.Nano == 0 || usd.Nano > all.Nano || usd.Nano < all.Nano-all.Nano/100 {
		t.Errorf("parts cost %v, all %v", usd, all)
	}
	if sum := 0; i >= 0 {
		for _, p := range got.Categories[i].Of {
			sum += p.Tokens
		}
		if sum != got.Categories[i].Tokens || sum != tokens || sum == 0 {
			t.Errorf("%d tokens by part, %d of all", sum, got.Categories[i].Tokens)
		}
	}
}

// TestNoParts: a request without a system prompt and tools has no parts of them.
func TestNoParts(t *testing.T) {
	var s transcript
	s.prompt("go")
	s.recordRequest("r1", `{"system":[],"tools":[]}`, `{"role":"user","content":"go"}`)
	s.answer(5200, "done")
	rec := s.record(t)
	got, _, err := Replay(rec, replay.RecordedTrack(), replay.Options{}, func(*replay.Timeline) (Extent, error) { return Extent{Request: 1, Until: 1}, nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	must.Do(t, got.AddOverhead(rec, must.Get(requests.Read(rec.Conv.Source))(t)))
	if got.Held != 1 || got.Overhead != nil || got.Categories[0].Of == nil {
		t.Errorf("%d requests held, overhead %+v, %s of %v", got.Held, got.Overhead, got.Categories[0].Category, got.Categories[0].Of)
	}
}

// What the client sent again after a compaction counts with what it attached before.
func TestAdded(t *testing.T) {
	got := added([]CategoryTokens{
		{Category: category.Attachments, Of: []Portion{{Name: "environment", Tokens: 5}, {Name: "file", Tokens: 9}, {Name: "date"}}},
		{Category: category.Reinjected, Of: []Portion{{Name: "skill_listing", Tokens: 7}, {Name: "environment", Tokens: 1}, {Name: "Read", Tokens: 3}}},
		{Category: category.Results, Of: []Portion{{Name: "environment", Tokens: 2}}},
	})
	if want := []AddedPart{{kindSkills, "skill_listing", 7}, {kindEnvironment, "environment", 5}, {kindEnvironment, "environment", 1}}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
