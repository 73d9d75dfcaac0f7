package pi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// caseFile is testdata/cases.json, made by scripts/oracle/pi.
type caseFile struct {
	Releases []struct {
		Rules, Package string
		Sizes          [3]int // characters of the prompts for a summary, for its update, and for a turn's beginning
	}
	Defaults struct{ ReserveTokens, KeepRecentTokens int }
	Trigger  [][3]any
	Summary  int // characters
	Cases    []upstreamCase
}

type upstreamCase struct {
	Seed, Keep int
	List       []entry
	At         []int // compacted before these responses
	Out        []struct {
		Rules  []string
		Points []*compacted
	}
}

// compacted is what upstream made of a conversation at a point.
type compacted struct {
	Cut    int      // the first entry that stays
	Head   int      // messages summarized
	Prefix int      // messages of the turn that is cut in two
	Before int      // tokens
	Calls  [][2]int // characters of system prompt and prompt
	Lists  string
	Sent   int // messages sent after it
	// Message is the length of the summary's message in characters.
	Message int
}

// entry is an entry of a conversation.
type entry struct {
	kind   string
	n      int // characters, or the tokens of a response
	images int
	parts  []part
}

type part struct {
	kind, tool, path string
	n                int
}

func (e *entry) UnmarshalJSON(data []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	into := []any{&e.kind, &e.n, &e.images}
	var parts [][]any
	if err := json.Unmarshal(raw[0], &e.kind); err != nil {
		return err
	}
	if e.kind == "a" {
		into[2] = &parts
	}
	for i := range raw {
		if err := json.Unmarshal(raw[i], into[i]); err != nil {
			return err
		}
	}
	for _, p := range parts {
		n := int(p[len(p)-1].(float64))
		if p[0] == "c" {
			e.parts = append(e.parts, part{"c", p[1].(string), p[2].(string), n})
		} else {
			e.parts = append(e.parts, part{kind: p[0].(string), n: n})
		}
	}
	return nil
}

// conversation is a case's conversation. Results that follow each other are one message. message gives the message
// of each entry, request the request of each response.
func conversation(list []entry) (c *stagetest.Convo, message []int, request map[int]int) {
	c = stagetest.NewConvo()
	request = map[int]int{}
	var open []string
	for i := 0; i < len(list); i++ {
		e := &list[i]
		switch e.kind {
		case "u":
			parts := []stagetest.BlockText{stagetest.Say(strings.Repeat("x", e.n))}
			for range e.images {
				parts = append(parts, stagetest.Block(jsonl.KindImage, "image", ""))
			}
			message = append(message, c.User(session.ClassPrompt, parts...))
		case "a":
			var parts []stagetest.BlockText
			for j, p := range e.parts {
				text := strings.Repeat("x", p.n)
				switch p.kind {
				case "t":
					parts = append(parts, stagetest.Say(text))
				case "k":
					parts = append(parts, stagetest.Think(text))
				default:
					id := fmt.Sprintf("c%d.%d", i, j)
					open = append(open, id)
					parts = append(parts, stagetest.Calling(id, p.tool, fmt.Sprintf(`{"path":%q,"text":%q}`, p.path, text)))
				}
			}
			request[i] = len(c.Requests)
			message = append(message, c.Assistant(parts...))
		default:
			var parts []stagetest.BlockText
			first := i
			for ; i < len(list) && list[i].kind == "r"; i++ {
				texts := []string{strings.Repeat("x", list[i].n)}
				for range list[i].images {
					texts = append(texts, stagetest.Image)
				}
				parts = append(parts, stagetest.Results(open[0], texts...))
				open = open[1:]
			}
			m := c.Answers(parts...)
			for range i - first {
				message = append(message, m)
			}
			i--
		}
	}
	return c, message, request
}

// TestUpstream compares the stage with Pi's own compactions.
func TestUpstream(t *testing.T) {
	f := stagetest.LoadCases[caseFile](t, "testdata/cases.json")
	compactions, none := map[string]int{}, 0
	for _, tt := range f.Cases {
		for _, out := range tt.Out {
			for _, rules := range out.Rules {
				t.Run(fmt.Sprintf("%d/%s", tt.Seed, rules), func(t *testing.T) {
					made := against(t, f, &tt, rules, out.Points)
					compactions[rules] += made
					none += len(out.Points) - made
				})
			}
		}
	}
	for _, r := range f.Releases {
		if compactions[r.Rules] < 100 {
			t.Errorf("%s: %d compactions: the test tests too little", r.Package, compactions[r.Rules])
		}
	}
	t.Logf("compactions %v, refused %d", compactions, none)
}

// TestUpstreamDefaults compares the figures of each preset with those of the release that it stands for.
func TestUpstreamDefaults(t *testing.T) {
	f := stagetest.LoadCases[caseFile](t, "testdata/cases.json")
	for _, release := range f.Releases {
		p := presetOf(t, f, release.Rules)
		got := []any{p.Rules, p.Reserve, p.KeepRecent, p.Prompt, p.UpdatePrompt, p.PrefixPrompt}
		want := []any{
			release.Rules, f.Defaults.ReserveTokens, f.Defaults.KeepRecentTokens,
			quarter(release.Sizes[0]), quarter(release.Sizes[1]), quarter(release.Sizes[2]),
		}
		must.Equal(t, got, want, release.Package)
	}
}

// presetOf are the parameters of the preset for the release whose rules are given.
func presetOf(t *testing.T, f *caseFile, rules string) *PiCompaction {
	t.Helper()
	for _, release := range f.Releases {
		if release.Rules == rules {
			version := release.Package[strings.LastIndex(release.Package, "@"):]
			return stagetest.Preset(t, Family(), preset.Load, "pi"+version).Stages[0].Params.(*PiCompaction)
		}
	}
	t.Fatalf("no release has the rules %s", rules)
	return nil
}

func against(t *testing.T, f *caseFile, tt *upstreamCase, rules string, points []*compacted) (made int) {
	c, message, request := conversation(tt.List)
	p := *presetOf(t, f, rules)
	p.Auto, p.KeepRecent = false, tt.Keep
	r := stagetest.NewRun(t, c, stagetest.Start(t, definePiCompaction(), &p))
	r.Window = 10_000_000
	r.Manual = map[int]bool{}
	total := map[int]int{}
	for i, k := range request {
		total[k] = tt.List[i].n
	}
	r.Each = func(k int) { r.Last.Usage = jsonl.Usage{Input: total[k] - 100, Output: 100} }
	c.Boundaries = []session.Boundary{{Request: len(c.Requests)}}
	summaries := map[int]policy.Content{} // those of upstream, by request
	for i, point := range tt.At {
		r.Manual[request[point]] = true
		if w := points[i]; w != nil {
			summaries[request[point]+1] = policy.NewContent(jsonl.KindText, strings.Repeat("x", w.Message-len(summaryBegin+w.Lists+summaryEnd)))
		}
	}
	r.Record.Find = func(n int) (policy.Content, int, bool) { return summaries[n], 0, true }
	r.All()
	edits := r.View.Edits()
	for i, point := range tt.At {
		w, n := points[i], request[point]+1
		at := slices.IndexFunc(edits, func(e policy.Edit) bool { return e.Request == n })
		if (w == nil) != (at < 0) {
			t.Fatalf("request %d: upstream compacts %v, the stage %v", n, w != nil, at >= 0)
		}
		if w != nil {
			made++
			compareOne(t, &edits[at], w, policy.ItemID(message[w.Cut]), f.Summary)
		}
	}
	return made
}

// compareOne compares one compaction. first is the message that stays, summary the length of one answer.
func compareOne(t *testing.T, e *policy.Edit, w *compacted, first policy.ItemID, summary int) {
	t.Helper()
	must.Equal(t, e.Keep[0], first, e.Request)
	must.Equal(t, e.Detail["pre_tokens"], w.Before, e.Request)
	var calls []int
	for call := e.Call; call != nil; call = call.Then {
		calls = append(calls, call.Input)
	}
	if len(calls) != len(w.Calls) {
		t.Fatalf("request %d: %d calls, upstream %d", e.Request, len(calls), len(w.Calls))
	}
	for i, n := range calls {
		want := (w.Calls[i][0] + w.Calls[i][1]) / 4
		off := want/50 + 40 // labels and separators
		if d := n - want; d < -off || d > off {
			t.Errorf("request %d: call %d of %d tokens, upstream %d", e.Request, i+1, n, want)
		}
	}
	list := e.Insert[0].Contents
	if len(list) != 1 || !strings.HasPrefix(list[0].Text, summaryBegin) || !strings.HasSuffix(list[0].Text, w.Lists+summaryEnd) || list[0].Length.UTF16 != w.Message {
		t.Errorf("request %d: %d texts, upstream has one of %d characters with the lists %q", e.Request, len(list), w.Message, w.Lists)
	}
	body := summary
	if w.Prefix > 0 {
		body += len("\n\n---\n\n**Turn Context (split turn):**\n\n") + summary
	}
	if w.Head > 0 && w.Message != len(summaryBegin+w.Lists+summaryEnd)+body {
		t.Errorf("request %d: upstream's message has %d characters", e.Request, w.Message)
	}
}

func TestUpstreamTrigger(t *testing.T) {
	f := stagetest.LoadCases[caseFile](t, "testdata/cases.json")
	p := definePiCompaction().Params.(*PiCompaction)
	if p.Reserve != f.Defaults.ReserveTokens || p.KeepRecent != f.Defaults.KeepRecentTokens {
		t.Errorf("reserve %d, keep_recent %d, upstream %+v", p.Reserve, p.KeepRecent, f.Defaults)
	}
	var got [][3]any
	for _, row := range f.Trigger {
		tokens, window := row[0].(float64), row[1].(float64)
		got = append(got, [3]any{tokens, window, p.exceeds(int(tokens), int(window))})
	}
	must.Equal(t, got, f.Trigger, "-upstream +stage")
}
