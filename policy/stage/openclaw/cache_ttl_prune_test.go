package openclaw

import (
	"fmt"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// pause goes through a conversation with a pause before its last request, in a window of so many characters.
func pause(t *testing.T, c *stagetest.Convo, set string, gap time.Duration, window int) *stagetest.Bench {
	t.Helper()
	last := len(c.Requests) - 1
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineCacheTTLPrune(), set))
	r.Window = window / 4
	r.At = map[int]time.Time{last: c.Messages[c.Requests[last-1].Message].Time.Add(gap)}
	return r.All()
}

// longResults is a prompt, calls with results of so many characters, and answers until there are three assistant
// messages behind the last result.
func longResults(chars ...int) *stagetest.Convo {
	c := stagetest.Talk(`prompt go`)
	for i, n := range chars {
		c.Play(`call %v Read %d`, i, n)
	}
	for range 3 {
		c.Play(`assistant say done; prompt next`)
	}
	c.Play(`assistant say done`)
	return c
}

// sizeOfAll is the characters of a conversation before its last request: 14 a call's input has.
func sizeOfAll(chars ...int) int {
	n := len("go") + 3*len("done") + 3*len("next")
	for _, c := range chars {
		n += len(`{"path":"a"}`) + c
	}
	return n
}

func TestCacheTTLPruneGap(t *testing.T) {
	for _, tt := range []struct {
		gap  time.Duration
		ttl  string
		want string
	}{
		{5*time.Minute - time.Millisecond, "5m", ""},
		{5 * time.Minute, "5m", "truncate@5 m2"},
		{5*time.Minute + time.Millisecond, "5m", "truncate@5 m2"},
		{time.Hour - 1, "1h", ""},
		{time.Hour, "1h", "truncate@5 m2"},
		{time.Hour, "0s", ""},
	} {
		r := pause(t, longResults(10000), "ttl: "+tt.ttl, tt.gap, 30000)
		must.Equal(t, r.Edits(), tt.want, tt.gap, tt.ttl)
	}
}

// Each request sets the clock, also one at which nothing is pruned; the first has none before it.
func TestCacheTTLPruneClock(t *testing.T) {
	c := longResults(10000)
	r := stagetest.NewRun(t, c, stagetest.Start(t, defineCacheTTLPrune(), nil))
	r.Window = 5000
	r.At = map[int]time.Time{}
	for k := range c.Requests {
		r.At[k] = stagetest.Midday.Add(time.Duration(k) * 4 * time.Minute)
	}
	if r.All(); len(r.View.Edits()) > 0 {
		t.Errorf("edits %v: no pause was of 5 minutes", r.Edits())
	}
}

func TestCacheTTLPruneRatios(t *testing.T) {
	trims := "truncate@6 m2, truncate@6 m4"
	left := 1500 + len("\n...\n") + 1500 + len("\n\n[Tool result trimmed: kept first 1500 chars and last 1500 chars of 40000 chars.]")
	for _, tt := range []struct {
		name   string
		chars  []int
		window int
		change string
		want   string
	}{
		{"below 30 %", []int{40000, 39972}, sizeOfAll(40000, 39972)*10/3 + 4, "", ""},
		{"at 30 %", []int{40000, 39972}, sizeOfAll(40000, 39972) * 10 / 3, "", "truncate@6 m2, truncate@6 m4"},
		{"trimmed below half", []int{40000, 40000}, 4 * (sizeOfAll(left, left)/2 + 5), "min_prunable_chars: 0", trims},
		{"trimmed to half, the oldest goes", []int{40000, 40000}, 2 * sizeOfAll(left, left) / 4 * 4, "min_prunable_chars: 0", "truncate@6 m4, clear@6 m2"},
		{"there is too little to clear", []int{40000, 40000}, 4000, "", trims},
		{"just too little", []int{40000, 40000}, 4000, fmt.Sprint("min_prunable_chars: ", 2*left+1), trims},
		{"just enough", []int{40000, 40000}, 4000, fmt.Sprint("min_prunable_chars: ", 2*left), "clear@6 m2, clear@6 m4"},
		{"never cleared", []int{40000, 40000}, 4000, "min_prunable_chars: 0, hard_clear: false", trims},
		{"cleared, not trimmed", []int{4000, 40000}, 4000, "min_prunable_chars: 0", "clear@6 m2, clear@6 m4"},
		{"short ones stay", []int{4000, 4001}, 20000, "", "truncate@6 m4"},
		{"nothing would be saved", []int{4001, 4001}, 20000, "soft_head_chars: 2000, soft_tail_chars: 2001", ""},
		{"something would be", []int{4001, 4001}, 20000, "soft_head_chars: 2000, soft_tail_chars: 2000", trims},
		{"another tool", []int{40000, 40000}, 100000, "tools: [exec, '*ash']", ""},
		{"this tool", []int{40000, 40000}, 100000, "tools: [exec, 'R*D']", trims},
		{"excluded", []int{40000, 40000}, 100000, "tools: ['*'], exclude_tools: [read]", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := pause(t, longResults(tt.chars...), tt.change, time.Hour, tt.window)
			must.Equal(t, r.Edits(), tt.want)
		})
	}
	// The documentation's own figure.
	must.Rows(t, `
# chars | want
49999 | 0
50000 | 1
`, func(chars, want int) {
		r := pause(t, longResults(chars), "soft_max_chars: 100000", time.Hour, 4000)
		must.Equal(t, len(r.View.Edits()), want, chars, r.Edits())
	})
}

// Results from the newest three assistant messages on stay, and where there are not three, all do.
func TestCacheTTLPruneAssistants(t *testing.T) {
	must.Rows(t, `
0 | truncate@5 m2, truncate@5 m4, truncate@5 m6, truncate@5 m8
1 | truncate@5 m2, truncate@5 m4, truncate@5 m6
2 | truncate@5 m2, truncate@5 m4
3 | truncate@5 m2
4 | ""
5 | ""
`, func(keep int, want string) {
		r := pause(t, stagetest.RoundsOf(4, 10000), fmt.Sprint("keep_last_assistants: ", keep), time.Hour, 40000)
		must.Equal(t, r.Edits(), want, keep)
	})
}

func TestCacheTTLPruneTrim(t *testing.T) {
	const note = "\n\n[Tool result trimmed: kept first 4 chars and last 3 chars of %d chars.]"
	for _, tt := range []struct {
		name string
		p    stagetest.BlockText
		want string
	}{
		{"a text", stagetest.Result("a", "0123456789"), "0123\n...\n789" + fmt.Sprintf(note, 10)},
		{"a text of 8", stagetest.Result("a", "01234567"), ""},
		{"texts, joined by line breaks", stagetest.Results("a", "01", "23456", "789"), "01\n2\n...\n789" + fmt.Sprintf(note, 12)},
		{"texts with line breaks of their own", stagetest.Results("a", "\n\n", "\n\n\n\n", "7\n9"), "\n\n\n\n\n...\n7\n9" + fmt.Sprintf(note, 11)},
		{"an image", stagetest.Results("a", stagetest.Image), "[image removed during context pruning]"[:4] + "\n...\nng]" + fmt.Sprintf(note, 38)},
		{"a text and an image", stagetest.Results("a", "ab", stagetest.Image), "ab\n[\n...\nng]" + fmt.Sprintf(note, 41)},
		{"characters of two units", stagetest.Result("a", "😀😀😀😀😀😀"), "😀😀\n...\n😀" + fmt.Sprintf(note, 12)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := stagetest.Talk(`prompt x*4000; assistant use a Read`)
			at := c.Answers(tt.p)
			for range 3 {
				c.Play(`assistant say done; prompt next`)
			}
			c.Play(`assistant say done`)
			r := pause(t, c, "soft_max_chars: 8, soft_head_chars: 4, soft_tail_chars: 3", time.Hour, 8000)
			must.Equal(t, r.Shown(at), tt.want)
		})
	}
	// An image of a short result becomes words too.
	c := stagetest.Talk(`prompt go; assistant use a Read`)
	at := c.Answers(stagetest.Results("a", "above", stagetest.Image, "below"))
	for range 4 {
		c.Play(`assistant say done`)
	}
	r := pause(t, c, "", time.Hour, 20000)
	must.Equal(t, r.Shown(at), "above\n[image removed during context pruning]\nbelow")
}

func TestCacheTTLPruneChars(t *testing.T) {
	signed := stagetest.Think("1234")
	signed.Signature = 300
	c := stagetest.NewConvo()
	for m, want := range map[int]int{
		c.Prompt("12345"): 5,
		c.Assistant(stagetest.Think("1234567"), stagetest.Say("12"), stagetest.Use("a", "Read")): 7 + 2 + len(`{"path":"a"}`),
		c.Assistant(signed): 4 + 300,
		c.Answers(stagetest.Results("a", "123", stagetest.Image, "4567", stagetest.Image)):             7 + 2*8000,
		c.User(session.ClassPrompt, stagetest.Say("😀"), stagetest.Block(jsonl.KindImage, "image", "")): 2 + 8000,
	} {
		must.Equal(t, openclawChars(stagetest.NewRun(t, c).View, policy.ItemID(m)), want, m)
	}
}

func TestGlob(t *testing.T) {
	must.Rows(t, `
read    | read         | true
read    | reader       | false
read    | rea          | false
*       | ""           | true
*       | x            | true
re*     | read         | true
re*     | are          | false
*ad     | read         | true
*ad     | reads        | false
*image* | get_image_of | true
*image* | imag         | false
a*b*c   | axxbyyc      | true
a*b*c   | ac           | false
a*a     | a            | false
a*a     | aa           | true
*ab*ab  | abab         | true
*ab*ab  | ab           | false
""      | ""           | true
""      | x            | false
a**b    | ab           | true
`, func(pattern, name string, want bool) {
		must.Equal(t, glob(pattern, name), want, name, pattern)
	})
}

// TestLimits: nothing is cleared below the share at which trimming begins, whatever the share for clearing.
func TestLimits(t *testing.T) {
	must.Rows(t, `
0.3 | 0.5 | [60000,100000]
0.9 | 0.5 | [180000,180000]
`, func(soft, hard float64, want []int) {
		d := defineCacheTTLPrune()
		p := d.Params.(*CacheTTLPrune)
		p.SoftTrimRatio, p.HardClearRatio = soft, hard
		var got []int
		for _, l := range (&policy.StageConfig{Definition: d, Params: p}).Limits(policy.Circumstances{Window: 200000}).List {
			got = append(got, l.Tokens)
		}
		must.Equal(t, got, want, soft, hard)
	})
}
