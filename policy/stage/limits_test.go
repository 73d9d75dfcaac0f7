package stage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
)

func TestMicrocompactTimeKeepRecent(t *testing.T) {
	for _, tt := range []struct {
		results int
		change  func(*MicrocompactTime)
		want    []string
	}{
		{4, nil, nil},
		{5, nil, nil},
		{6, nil, []string{"clear@8 m2"}},
		{7, nil, []string{"clear@9 m2", "clear@9 m4"}},
		{1, func(p *MicrocompactTime) { p.KeepRecent = 1 }, nil},
		{1, func(p *MicrocompactTime) { p.KeepRecent = 0 }, []string{"clear@3 m2"}},
		{0, func(p *MicrocompactTime) { p.KeepRecent = 0 }, nil},
	} {
		p := *defineMicrocompactTime().Params.(*MicrocompactTime)
		if tt.change != nil {
			tt.change(&p)
		}
		t.Run(fmt.Sprintf("%d, keep %d", tt.results, p.KeepRecent), func(t *testing.T) {
			c := newConvo()
			c.prompt("go")
			for i := range tt.results {
				c.call(fmt.Sprint(i), "Read", 400)
			}
			answered := c.Messages[c.assistant(say("done"))].Time
			c.prompt("and now")
			c.assistant(say("done"))
			r := newRun(t, c, start(t, defineMicrocompactTime(), &p))
			r.at = map[int]time.Time{tt.results + 1: answered.Add(2 * time.Hour)}
			if diff := cmp.Diff(tt.want, r.all().edits()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// small is a view of n rounds of 9 tokens, the first of 10: a call of 4 and a
// result of 5; the prompt, of 1, belongs to the first.
func small(n int) *convo {
	c := newConvo()
	c.prompt("go")
	for i := range n {
		c.call(fmt.Sprintf("t%d", i), "Read", 20)
	}
	return c
}

// compactionCall is the compaction's own request where excess tokens of it do
// not fit (negative: are free), and the edit's reason.
func compactionCall(t *testing.T, c *convo, p *Autocompact, overhead, excess int) (call *policy.Call, limit int, reason string) {
	t.Helper()
	r := newRun(t, c, start(t, defineAutocompact(), p))
	r.overhead = overhead
	for m := range c.Messages {
		r.view.Join(m)
	}
	whole := r.view.Tokens() + p.PromptTokens
	if p.Prefix == "session" {
		whole += overhead
	}
	r.limits.Effective = whole - excess
	limit = r.limits.Effective
	r.used = func(int) (int, int) { return 155000, 0 }
	r.fire(policy.Prepare, len(c.Requests), policy.Context{})
	e := r.view.Edits()[0]
	return e.Call, limit, e.Reason
}

// The marker that replaces what was dropped is of 13 tokens, more than a round
// is: with the first drop it makes a second necessary unless that left room.
func TestAutocompactRetries(t *testing.T) {
	const marker = 13
	tests := []struct {
		name    string
		rounds  int
		excess  int
		retries int
		want    int // retries
		sent    int // over (negative: under) the limit
		reason  string
	}{
		{"one is free", 20, -1, 3, 0, -1, ""},
		{"it fits exactly", 20, 0, 3, 0, 0, ""},
		{"one over, 9 dropped and 13 put in, then 9", 20, 1, 3, 2, 1 - 10 + marker - 9, "; too long, 2 retries"},
		{"a round over", 20, 10, 3, 2, marker - 18, "; too long, 2 retries"},
		{"a round and one over: two go", 20, 11, 3, 2, 11 - 19 + marker - 9, "; too long, 2 retries"},
		{"many rounds over", 20, 100, 3, 2, marker - 18, "; too long, 2 retries"},
		{"as often as it is wanted", 20, 10, 2, 2, marker - 18, "; too long, 2 retries"},
		{"once less", 20, 10, 1, 1, marker, "; still too long after 1 retry"},
		{"no retries, it fits", 20, 0, 0, 0, 0, ""},
		{"no retries", 20, 10, 0, 0, 10, "; still too long after 0 retries"},
		{"the last round is not dropped", 2, 15, 3, 1, 15 - 10 + marker, "; still too long after 1 retry"},
		{"three rounds, two dropped one by one", 3, 10, 3, 2, marker - 9, "; still too long after 2 retries"},
		{"there is one round", 1, 1, 3, 0, 1, "; still too long after 0 retries"},
	}
	for _, tt := range tests {
		for _, prefix := range []string{"own", "session"} {
			t.Run(tt.name+", "+prefix, func(t *testing.T) {
				p := auto(func(p *Autocompact) { p.Retries, p.Prefix = tt.retries, prefix })
				call, limit, reason := compactionCall(t, small(tt.rounds), p, 700, tt.excess)
				if call.Retries != tt.want || call.Input-limit != tt.sent {
					t.Errorf("%d retries, %d over the limit; want %d and %d", call.Retries, call.Input-limit, tt.want, tt.sent)
				}
				if _, after, _ := strings.Cut(reason, "a stand-in of 5000 tokens"); after != tt.reason {
					t.Errorf("reason %q, want %q at its end", reason, tt.reason)
				}
			})
		}
	}
}

// Where the gap is not reported a fifth of the rounds that are left goes, one
// at the least: 2 of 10, then 1 of 8; 1 of 9; 1 of 4; 3 of 15, then 2 of 12.
func TestAutocompactUnknownGap(t *testing.T) {
	const marker = 13
	for _, tt := range []struct{ rounds, excess, retries, want, dropped int }{
		{10, 0, 3, 0, 0},
		{10, 1, 3, 1, 2},
		{10, 60, 1, 1, 2},
		{10, 60, 2, 2, 3},
		{10, 60, 3, 3, 4},
		{10, 60, 9, 7, 8},
		{9, 60, 1, 1, 1},
		{4, 60, 1, 1, 1},
		{15, 60, 2, 2, 5},
		{2, 60, 3, 1, 1},
		{1, 60, 3, 0, 0},
	} {
		p := auto(func(p *Autocompact) { p.Retries, p.Gap = tt.retries, "unknown" })
		call, limit, _ := compactionCall(t, small(tt.rounds), p, 0, tt.excess)
		left := tt.excess - 9*tt.dropped
		if tt.dropped > 0 {
			left += marker - 1
		}
		if call.Retries != tt.want || call.Input-limit != left {
			t.Errorf("%+v: %d retries, %d over the limit, want %d", tt, call.Retries, call.Input-limit, left)
		}
	}
}

// A round that covers the gap and the marker with it is one retry.
func TestAutocompactMarkerCovered(t *testing.T) {
	for excess, want := range map[int]struct{ retries, sent int }{
		88: {1, 88 - 101 + 13}, // the first round, of 101, leaves room for exactly the marker
		89: {2, 89 - 101 + 13 - 104},
		87: {1, 87 - 101 + 13},
	} {
		c := newConvo()
		c.prompt("go")
		c.call("a", "Read", 4*96) // 1 + 4 + 96
		for i := range 6 {
			c.call(fmt.Sprint(i), "Read", 400)
		}
		call, limit, _ := compactionCall(t, c, auto(nil), 0, excess)
		if call.Retries != want.retries || call.Input-limit != want.sent {
			t.Errorf("%d over: %d retries, %d over the limit; want %+v", excess, call.Retries, call.Input-limit, want)
		}
	}
}

// What the session's prefix adds counts against the limit, once.
func TestAutocompactPrefixLimit(t *testing.T) {
	for _, tt := range []struct {
		prefix string
		excess int // of view and prompt alone, over the limit
		input  int // over view and prompt, where nothing is dropped
		tooBig bool
	}{
		{"own", 0, 0, false}, {"own", 1, 0, true},
		{"session", -700, 700, false}, {"session", -701, 700, false}, {"session", -699, 700, true},
	} {
		c := small(20)
		p := auto(func(p *Autocompact) { p.Prefix, p.Retries = tt.prefix, 0 })
		r := newRun(t, c, start(t, defineAutocompact(), p))
		r.overhead = 700
		for m := range c.Messages {
			r.view.Join(m)
		}
		alone := r.view.Tokens() + 1257
		r.limits.Effective = alone - tt.excess
		r.used = func(int) (int, int) { return 155000, 0 }
		r.fire(policy.Prepare, 20, policy.Context{})
		e := r.view.Edits()[0]
		if e.Call.Input != alone+tt.input || e.Call.Prompt != 1257 || e.Call.Prefix != tt.prefix {
			t.Errorf("%s: %+v, want input %d", tt.prefix, e.Call, alone+tt.input)
		}
		if got := strings.Contains(e.Reason, "still too long"); got != tt.tooBig {
			t.Errorf("%s, %d over: reason %q", tt.prefix, tt.excess, e.Reason)
		}
	}
}

// params are a built-in policy's of one stage.
func params[P any](t *testing.T, name string) *P {
	t.Helper()
	p, err := preset.Load(name, registry(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range p.Stages {
		if p, ok := st.Params.(*P); ok {
			return p
		}
	}
	t.Fatalf("%s has no such stage", name)
	return nil
}

func TestPresetPrompts(t *testing.T) {
	for name, want := range map[string]int{"claude-code-2.1.19": 1257, "claude-code-2.1": 800} {
		p := params[Autocompact](t, name)
		if p.PromptTokens != want || p.Retries != 3 || p.Prefix != "own" || !p.Enabled {
			t.Errorf("%s: %+v, want a prompt of %d", name, p, want)
		}
		c := small(20)
		call, _, _ := compactionCall(t, c, p, 700, 0)
		if whole := 1 + 20*9; call.Prompt != want || call.Input != whole+want {
			t.Errorf("%s: %+v, want prompt %d and input %d", name, call, want, whole+want)
		}
	}
	for name, want := range map[string]struct {
		prompt, input int
		count         string
	}{
		"opencode-1.1.36": {225, 0, "1.1.36"}, // the engine counts the view and the prompt
		"opencode-1.18":   {537, 1 + 20*9 + 537, "1.18"},
	} {
		p := params[OpencodeCompaction](t, name)
		if p.Count != want.count || p.Prompt != want.prompt || p.TailTurns != -1 || p.PreserveRecent != -1 || p.Reserved != -1 || !p.Auto {
			t.Errorf("%s: %+v", name, p)
		}
		call := compacted(t, small(20), p).view.Edits()[0].Call
		if call.Prompt != want.prompt || call.Input != want.input {
			t.Errorf("%s: %+v, want %+v", name, call, want)
		}
	}
	if p := params[ThreeLayerAuto](t, "three-layer"); p.Threshold != 50000 || p.SourceChars != 80000 || p.MaxOutput != 2000 {
		t.Errorf("three-layer: %+v", p)
	}
}

// The 1.18 summariser is shown 2,000 characters of an output, its share of
// the tokens rounded down, and all of any other text.
func TestOpencodeSummarisedOutput(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1999: 500, 2000: 500, 2001: 499, 2004: 500, 8000: 500, 80000: 500} {
		for count, prompt := range map[string]int{"1.18": 537, "1.18.3": 225} {
			c := newConvo()
			c.prompt(strings.Repeat("x", 8004))
			c.call("a", "Read", n)
			c.assistant(say(strings.Repeat("x", 8000)))
			p := keeping(count, 0, -1)
			p.Prompt = prompt
			want := 2001 + 4 + want + 2000 + prompt
			if got := compacted(t, c, p).view.Edits()[0].Call.Input; got != want {
				t.Errorf("%s, an output of %d: input %d, want %d", count, n, got, want)
			}
		}
	}
}

// [{"role":"user","content":"…"}] is 30 characters longer than its text. The
// prompt is of 11 tokens.
func TestThreeLayerAutoSource(t *testing.T) {
	for _, tt := range []struct{ n, source, want int }{
		{79997, 80000, 19999}, {79998, 80000, 20000}, {79999, 80000, 20000}, {80000, 80000, 20000},
		{80001, 80000, 20000}, {80002, 80000, 20000}, {80006, 80000, 20000}, {200000, 80000, 20000},
		{101, 102, 25}, {102, 102, 26}, {103, 102, 26}, {106, 102, 26}, {102, 101, 25},
		{200000, 0, 0},
	} {
		c := newConvo()
		c.prompt(strings.Repeat("x", tt.n-30))
		p := *defineThreeLayerAuto().Params.(*ThreeLayerAuto)
		if p.SourceChars != 80000 {
			t.Fatalf("%d characters of source by default", p.SourceChars)
		}
		p.SourceChars = tt.source
		r := newRun(t, c, start(t, defineThreeLayerAuto(), &p))
		r.view.Join(0)
		r.fire(policy.Manual, 0, policy.Context{})
		e := r.view.Edits()[0]
		if e.Call.Input != 11+tt.want || e.Call.Prompt != 11 || e.Detail["json_chars"] != tt.n {
			t.Errorf("%d characters, %d of source: %+v, %v; want input %d", tt.n, tt.source, e.Call, e.Detail, 11+tt.want)
		}
	}
}

func TestThreeLayerAutoLimits(t *testing.T) {
	for _, tt := range []struct {
		n, threshold int
		want         bool
	}{
		{199999, -1, false}, {200000, -1, false}, {200001, -1, true}, {200004, -1, true},
		{39, 10, false}, {40, 10, false}, {41, 10, true},
	} {
		c := newConvo()
		c.prompt(strings.Repeat("x", tt.n-30))
		p := params[ThreeLayerAuto](t, "three-layer")
		if tt.threshold >= 0 {
			p.Threshold = tt.threshold
		}
		r := newRun(t, c, start(t, defineThreeLayerAuto(), p))
		r.view.Join(0)
		r.fire(policy.Prepare, 0, policy.Context{})
		if got := r.view.Epoch() > 0; got != tt.want {
			t.Errorf("%d characters, threshold %d: compacted %t, want %t", tt.n, p.Threshold, got, tt.want)
		}
	}
}

// An image in array content counts 2,000, a document and what nobody knows
// nothing, and each text is rounded on its own.
func TestResultEstimateParts(t *testing.T) {
	with := func(p part, kinds ...jsonl.Kind) part {
		for _, k := range kinds {
			p.Parts = append(p.Parts, jsonl.Part{Kind: k, Type: "some"})
		}
		return p
	}
	for _, tt := range []struct {
		name string
		p    part
		want int
	}{
		{"one text", results("a", "12345"), 1},
		{"two texts, each 1.5", results("a", "123456", "123456"), 4},
		{"a string as long", result("a", "123456123456"), 3},
		{"an image", results("a", image), 2000},
		{"two images", results("a", image, image), 4000},
		{"a document", with(results("a"), jsonl.KindDocument), 0},
		{"a text and a document", with(results("a", "12345678"), jsonl.KindDocument), 2},
		{"an image and two documents", with(results("a", image), jsonl.KindDocument, jsonl.KindDocument), 2000},
		{"a text, an image and a document", with(results("a", "1234", image), jsonl.KindDocument), 2001},
		{"a tool's name", with(results("a", "1234"), jsonl.KindToolUse), 1},
		{"nothing", results("a"), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newConvo()
			c.prompt("go")
			c.assistant(use("a", "Read"))
			at := c.answers(tt.p)
			c.call("b", "Read", 4*10)
			c.assistant(say("done"))
			p := bySize(func(p *MicrocompactSize) { p.KeepRecent, p.Target, p.Manual = 0, 0, true })
			r := newRun(t, c, start(t, defineMicrocompactSize(), p))
			for m := range c.Messages {
				r.view.Join(m)
			}
			if got := resultEstimate(r.view, policy.Target{Item: policy.ItemID(at)}); got != tt.want {
				t.Errorf("estimate %d, want %d", got, tt.want)
			}
			r.fire(policy.Prepare, 3, policy.Context{})
			if got := r.view.Edits()[0].Detail["pre_tokens"]; got != tt.want+10 {
				t.Errorf("%d before, want %d", got, tt.want+10)
			}
		})
	}
}

func TestSummaryMessageVersions(t *testing.T) {
	const (
		old    = "This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:\nwhat was done."
		now    = "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\nwhat was done"
		leftIt = "\nPlease continue the conversation from where we left it off without asking the user any further questions. Continue with the last task that you were asked to work on."
		left   = "\nPlease continue the conversation from where we left off without asking the user any further questions. Continue with the last task that you were asked to work on."
		resume = "\nContinue the conversation from where it left off without asking the user any further questions. Resume directly — do not acknowledge the summary, do not recap what was happening, do not preface with \"I'll continue\" or similar. Pick up the last task as if the break never happened."
	)
	for _, tt := range []struct{ version, body, last string }{
		{"1.0.128", old, leftIt}, {"2.0.76", old, leftIt},
		{"2.1.0", old, leftIt}, {"2.1.6", old, leftIt}, {"2.1.7", now, leftIt}, {"2.1.8", now, leftIt}, {"2.1.10", now, leftIt},
		{"2.1.37", now, leftIt}, {"2.1.38", now, left}, {"2.1.39", now, left},
		{"2.1.50", now, left}, {"2.1.51", now, resume}, {"2.1.52", now, resume},
		{"2.1.100", now, resume}, {"2.2.0", now, resume},
		{"", now, leftIt}, // unknown: 2.1.19's
	} {
		for auto, last := range map[bool]string{true: tt.last, false: ""} {
			got := SummaryText{Version: tt.version, Auto: auto}.Message("what was done")
			if diff := cmp.Diff(tt.body+last, got); diff != "" {
				t.Errorf("version %q, automatic %t: -want +got\n%s", tt.version, auto, diff)
			}
		}
	}
}
