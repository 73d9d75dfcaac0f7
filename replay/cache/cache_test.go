package cache

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

var start = time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)

func at(minutes float64) time.Time { return start.Add(time.Duration(minutes * float64(time.Minute))) }

// ask makes a request whose only breakpoint is its last block, each block 100 tokens.
func ask(t *testing.T, s *Sim, minutes float64, blocks int) (Split, Cause) {
	t.Helper()
	return send(t, s, CachedRequest{
		Start: at(minutes), Model: "m", Tokens: blocks * 100,
		Breakpoints: []Breakpoint{{Position: blocks - 1, Tokens: blocks * 100}},
	})
}

func send(t *testing.T, s *Sim, r CachedRequest) (Split, Cause) {
	t.Helper()
	got, cause, err := s.Request(r)
	if err != nil {
		t.Fatal(err)
	}
	if got.Input() != r.Tokens {
		t.Fatalf("the split %+v adds up to %d, the request has %d", got, got.Input(), r.Tokens)
	}
	return got, cause
}

func TestDocumentedUsage(t *testing.T) {
	// 100,000 cached tokens and 50 behind the breakpoint: 100,000 / 0 / 50.
	var s Sim
	b := []Breakpoint{{Position: 9, Tokens: 100000}}
	first, cause := send(t, &s, CachedRequest{Start: at(0), Model: "m", Minimum: 1024, Tokens: 100050, Breakpoints: b})
	if diff := cmp.Diff(Split{Write5m: 100000, Uncached: 50}, first); diff != "" || cause.Kind != First {
		t.Errorf("first request: %s, %s", cause, diff)
	}
	second, cause := send(t, &s, CachedRequest{Start: at(1), Model: "m", Minimum: 1024, Tokens: 100050, Breakpoints: b})
	if diff := cmp.Diff(Split{Read: 100000, Uncached: 50}, second); diff != "" || cause.Kind != None {
		t.Errorf("second request: %s, %s", cause, diff)
	}
}

func TestLookBack(t *testing.T) {
	// An entry at block 15: a breakpoint at block 38 looks at 38 to 16 and misses it, one at 37 finds it.
	must.Rows(t, `
# breakpoint | read | cause
38 | 0    | look_back
37 | 1600 | ""
`, func(breakpoint, read int, theCause BreakCause) {
		var s Sim
		ask(t, &s, 0, 16)
		got, cause := ask(t, &s, 1, breakpoint+1)
		if got.Read != read || cause.Kind != theCause {
			t.Errorf("entry at 15, breakpoint at %d: read %d (%s), want %d (%s)", breakpoint, got.Read, cause, read, theCause)
		}
	})
}

func TestSeveralBreakpoints(t *testing.T) {
	// B is the highest 1h breakpoint after A, C the last breakpoint.
	var s Sim
	bs := []Breakpoint{{0, 1000, Long}, {1, 3000, Long}, {5, 7000, Short}, {9, 9000, Short}}
	got, _ := send(t, &s, CachedRequest{Start: at(0), Model: "m", Tokens: 9500, Breakpoints: bs})
	must.Equal(t, got, Split{Write1h: 3000, Write5m: 6000, Uncached: 500})
	// Six minutes later the 5m entries are gone, the 1h ones are read; both are the start of what is written behind
	// them.
	got, cause := send(t, &s, CachedRequest{Start: at(6), Model: "m", Tokens: 9500, Breakpoints: bs})
	if diff := cmp.Diff(Split{Read: 3000, Write5m: 6000, Uncached: 500}, got); diff != "" || cause.Kind != Expired {
		t.Errorf("%s %s", cause, diff)
	}
	// What changed at block 1 leaves block 0.
	s.Change(1, Cause{Kind: ToolsChanged})
	got, cause = send(t, &s, CachedRequest{Start: at(7), Model: "m", Tokens: 9500, Breakpoints: bs})
	if diff := cmp.Diff(Split{Read: 1000, Write1h: 2000, Write5m: 6000, Uncached: 500}, got); diff != "" || cause.Kind != ToolsChanged {
		t.Errorf("%s %s", cause, diff)
	}
}

func TestRefusedBreakpoints(t *testing.T) {
	for name, bs := range map[string][]Breakpoint{
		"five":         {{0, 1, Short}, {1, 2, Short}, {2, 3, Short}, {3, 4, Short}, {4, 5, Short}},
		"1h behind 5m": {{0, 1, Short}, {1, 2, Long}},
		"out of order": {{1, 2, Short}, {0, 1, Short}},
		"one twice":    {{1, 2, Short}, {1, 2, Short}},
	} {
		var s Sim
		if _, _, err := s.Request(CachedRequest{Tokens: 5, Breakpoints: bs}); !errors.Is(err, errBreakpoints) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Branch(0, CachedRequest{Tokens: 5, Breakpoints: bs}); !errors.Is(err, errBreakpoints) {
			t.Errorf("%s: a branch gives %v", name, err)
		}
	}
}

func TestMinimum(t *testing.T) {
	must.Rows(t, `
1023 | 0
1024 | 1024
1025 | 1025
`, func(tokens, written int) {
		var s Sim
		r := CachedRequest{Start: at(0), Model: "m", Minimum: 1024, Tokens: tokens, Breakpoints: []Breakpoint{{Position: 3, Tokens: tokens}}}
		got, _ := send(t, &s, r)
		if got.Write5m != written || got.Uncached != tokens-written {
			t.Errorf("%d tokens: %+v", tokens, got)
		}
		r.Start = at(1)
		got, cause := send(t, &s, r)
		want := None
		if written == 0 {
			want = BelowMinimum
		}
		if got.Read != written || cause.Kind != want {
			t.Errorf("%d tokens, again: read %d (%s)", tokens, got.Read, cause)
		}
	})
}

func TestLifetime(t *testing.T) {
	for _, tt := range []struct {
		ttl   TTL
		after time.Duration
		hit   bool
	}{
		{Short, 5 * time.Minute, true},
		{Short, 5*time.Minute + time.Second, false},
		{Long, time.Hour, true},
		{Long, time.Hour + time.Second, false},
	} {
		var s Sim
		r := CachedRequest{Start: start, Model: "m", Tokens: 100, Breakpoints: []Breakpoint{{0, 100, tt.ttl}}}
		send(t, &s, r)
		r.Start = start.Add(tt.after)
		got, cause := send(t, &s, r)
		if (got.Read > 0) != tt.hit || (cause.Kind == Expired) == tt.hit {
			t.Errorf("%v entry after %s: read %d (%s)", tt.ttl, tt.after, got.Read, cause)
		}
	}
	// Each hit begins the life anew, also that of an entry that only serves as the start of a longer one: a request
	// every four minutes never misses.
	var s Sim
	for i := range 10 {
		_, cause := ask(t, &s, float64(4*i), 4+i)
		if i > 0 && cause.Kind != None {
			t.Errorf("request %d, four minutes after the last: %s", i, cause)
		}
	}
}

func TestModels(t *testing.T) {
	var s Sim
	for i, tt := range []struct {
		model string
		read  int
		cause BreakCause
	}{
		{"a", 0, First}, {"b", 0, ModelSwitch}, {"a", 500, None}, {"a", 500, None},
	} {
		got, cause := send(t, &s, CachedRequest{Start: at(float64(i)), Model: tt.model, Tokens: 500, Breakpoints: []Breakpoint{{Position: 4, Tokens: 500}}})
		if got.Read != tt.read || cause.Kind != tt.cause {
			t.Errorf("request %d, model %s: read %d (%s), want %d (%s)", i, tt.model, got.Read, cause, tt.read, tt.cause)
		}
	}
}

func TestEdits(t *testing.T) {
	var s Sim
	ask(t, &s, 0, 10)
	ask(t, &s, 1, 12)
	// An edit at block 10 leaves the entry that ends at block 9.
	edit := Cause{Kind: Edited, Stage: "microcompact_size", Message: "u1"}
	s.Change(11, Cause{Kind: Edited, Stage: "later"})
	s.Change(10, edit)
	s.Change(10, Cause{Kind: Edited, Stage: "second"})
	got, cause := ask(t, &s, 2, 13)
	if got.Read != 1000 || cause != edit {
		t.Errorf("read %d (%s)", got.Read, cause)
	}
	// What was never sent can change without a loss.
	s.Change(13, edit)
	if got, cause = ask(t, &s, 3, 15); got.Read != 1300 || cause.Kind != None {
		t.Errorf("read %d (%s)", got.Read, cause)
	}
	// cache_edits: the prefix stays, and is shorter.
	s.Shrink(4, 200)
	got, cause = send(t, &s, CachedRequest{Start: at(4), Model: "m", Tokens: 1400, Breakpoints: []Breakpoint{{Position: 15, Tokens: 1400}}})
	if diff := cmp.Diff(Split{Read: 1300, Write5m: 100}, got); diff != "" || cause.Kind != None {
		t.Errorf("%s %s", cause, diff)
	}
}

func TestBranch(t *testing.T) {
	var s Sim
	ask(t, &s, 0, 10)
	// A compaction's own request reads the warm cache …
	call := CachedRequest{Start: at(4), Model: "m", Tokens: 1180, Breakpoints: []Breakpoint{{Position: 10, Tokens: 1180}}}
	got := must.Get(s.Branch(10, call))(t)
	must.Equal(t, got, Split{Read: 1000, Write5m: 180})
	// … keeps it warm, and leaves nothing the conversation could read.
	if got, cause := ask(t, &s, 8, 11); got.Read != 1000 || cause.Kind != None {
		t.Errorf("read %d (%s) after the branch", got.Read, cause)
	}
	// One that left something out reads up to there.
	if got, _ := s.Branch(8, call); got.Read != 0 {
		t.Errorf("a request that goes on differently from block 8 reads %d", got.Read)
	}
}

func TestWarm(t *testing.T) {
	var s Sim
	s.Warm(Breakpoint{Position: 0, Tokens: 500, TTL: Long}, "m")
	bs := []Breakpoint{{0, 500, Long}, {3, 900, Long}}
	for i, want := range []int{500, 900, 500} {
		minutes := []float64{0, 1, 500}[i]
		got, _ := send(t, &s, CachedRequest{Start: at(minutes), Model: "m", Tokens: 900, Breakpoints: bs})
		must.Equal(t, got.Read, want, i)
	}
}

// TestCool: without other sessions a prefix lives as long as requests use it, and of one that has no length nothing is
// read.
func TestCool(t *testing.T) {
	var s Sim
	s.Warm(Breakpoint{Position: 0, Tokens: 500, TTL: Long}, "m")
	bs := []Breakpoint{{0, 500, Long}, {3, 900, Long}}
	for i, tt := range []struct {
		minutes float64
		before  func()
		want    int
	}{
		{0, func() {}, 500},
		{1, func() { s.Change(1, Cause{Kind: Compacted}) }, 500},
		{30, func() { s.Cool(); s.Change(1, Cause{Kind: Compacted}) }, 500},
		{31, func() { s.Resize(0, 400); s.Change(1, Cause{Kind: Compacted}) }, 400},
		{32, func() { s.Resize(0, 0); s.Change(1, Cause{Kind: Compacted}) }, 0},
		{500, func() {}, 0},
	} {
		tt.before()
		got, _ := send(t, &s, CachedRequest{Start: at(tt.minutes), Model: "m", Tokens: 900, Breakpoints: bs})
		must.Equal(t, got.Read, tt.want, i)
	}
}

func TestNoTimes(t *testing.T) {
	var s Sim
	for i := range 3 {
		_, cause := send(t, &s, CachedRequest{Model: "m", Tokens: 10, Breakpoints: []Breakpoint{{Position: 0, Tokens: 10}}})
		if i > 0 && cause.Kind != None {
			t.Errorf("requests without a time take none: %s", cause)
		}
	}
}

// TestNear holds that a read is near up to exactly 5 % of the recorded one, on either side.
func TestNear(t *testing.T) {
	must.Rows(t, `
# recorded | simulated | near
0   | 0   | true
0   | 1   | false
100 | 105 | true
100 | 106 | false
100 | 95  | true
100 | 94  | false
10  | 10  | true
10  | 11  | false
`, func(recorded, simulated int, near bool) {
		must.Equal(t, Near(recorded, simulated), near, recorded, simulated)
	})
}
