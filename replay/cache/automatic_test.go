package cache

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func kindOf(t *testing.T, model string) *CacheKind {
	t.Helper()
	kinds := must.Get(DefaultKinds())(t)
	k := kinds.Find(model)
	return &k
}

// TestKinds: a model has the kind of its longest family, and no neighbour's.
func TestKinds(t *testing.T) {
	must.Rows(t, `
# model | mode | quantum
claude-opus-4-5-20251101 | breakpoints | 0
gpt-5-4                  | automatic   | 128
gpt-5-4-2026-03-05       | automatic   | 128
gpt-5-5                  | automatic   | 512
gpt-5-6-sol              | automatic   | 1024
gpt-5-6-luna             | automatic   | 0
gpt-5-3-codex            | automatic   | 128
o3-mini                  | automatic   | 128
deepseek-v4-flash        | automatic   | 128
gemini-3-1-pro-preview   | automatic   | 8192
gemini-2-5-pro           | automatic   | 0
kimi-k2-6                | automatic   | 256
qwen3-8-max              | automatic   | 0
o300                     | ""          | 0
ling-2-6-flash-free      | ""          | 0
""                       | ""          | 0
`, func(model string, mode Mode, quantum int) {
		if k := kindOf(t, model); k.Mode != mode || k.Quantum != quantum {
			t.Errorf("%q: %s with blocks of %d, want %s, %d", model, k.Mode, k.Quantum, mode, quantum)
		}
	})
	if kindOf(t, "gpt-5-4-mini").OutputCached {
		t.Error("gpt-5.4-mini has what is measured on gpt-5.4")
	}
	kinds := must.Get(DefaultKinds())(t)
	seen := map[string]bool{}
	for _, k := range kinds.List {
		for _, family := range k.Families {
			if seen[family] {
				t.Errorf("%s is listed twice", family)
			}
			seen[family] = true
		}
		if k.Source == "" || len(k.AsOf) != len(time.DateOnly) || k.Confidence == "" || k.Mode != Auto && k.Mode != Breakpoints {
			t.Errorf("%v: %+v", k.Families, k)
		}
		if k.Offset >= max(k.Quantum, 1) || min(k.Quantum, k.Offset, k.Slack, k.TTLSeconds, k.Minimum) < 0 {
			t.Errorf("%v: %+v", k.Families, k)
		}
		for _, field := range k.NotKnown {
			set, ok := map[string]bool{
				"quantum": k.Quantum > 0, "offset": k.Offset > 0, "output_cached": k.OutputCached, "slack": k.Slack > 0, "ttl_seconds": k.TTLSeconds > 0, "minimum": k.Minimum > 0,
			}[field]
			if set || !ok {
				t.Errorf("%v: %s is not known and set", k.Families, field)
			}
		}
	}
}

// TestAutomatic: what a request reads, by the figures of each model. The expectations are computed by hand.
func TestAutomatic(t *testing.T) {
	must.Rows(t, `
# name | model | floor, and a step a request: what it reads and why not more; minutes after the first, tokens, output, and what came before
the first request reads what all sessions have in common | gpt-5-4 | 9600
	9600 first_request: {"tokens": 19000}
the response is cached: 19000 + 700 - 52 = 19648 = 153.5 blocks | gpt-5-4 | 9600
	9600 first_request: {"tokens": 19000, "output": 700}
	19584: {"at": 1, "tokens": 21000}
the response is not cached: (19000 - 4 - 384) / 512 = 36.4 blocks | gpt-5-5 | 10624
	10624 first_request: {"tokens": 19000, "output": 700}
	18816: {"at": 1, "tokens": 21000}
an offset: (19273 - 118 - 768) / 1024 = 17.96 blocks | gpt-5-6-sol | 9984
	9984 first_request: {"tokens": 19273, "output": 143}
	18176: {"at": 1, "tokens": 20389}
reasoning is dropped at the start of a turn | gpt-5-5 | 10624
	10624 first_request: {"tokens": 30000, "output": 100}
	29568: {"at": 1, "tokens": 31000, "output": 900, "reasons": true}
	30592: {"at": 2, "tokens": 33000, "output": 100}
	30592 thinking: {"at": 3, "tokens": 32500, "turn": true} # 31000, before the reasoning
	32128: {"at": 4, "tokens": 34000, "turn": true} # the turn had none
and is kept by another model | gpt-5-6-sol | 9984
	9984 first_request: {"tokens": 30000, "output": 100, "reasons": true}
	29440: {"at": 1, "tokens": 60000, "output": 100}
	59136: {"at": 2, "tokens": 61000, "turn": true}
an edit | gpt-5-4 | 9600
	9600 first_request: {"tokens": 50000, "output": 100}
	19968 edit: {"at": 1, "tokens": 40000, "limit": 20000}
	39936: {"at": 2, "tokens": 41000}
an edit behind the last whole block loses nothing | gpt-5-6-sol | 9984
	9984 first_request: {"tokens": 50000}
	48896: {"at": 1, "tokens": 51000, "limit": 49999} # 49882 - 768 = 47.96 blocks
a compaction leaves the floor | gpt-5-4 | 9600
	9600 first_request: {"tokens": 240000}
	9600 edit: {"at": 1, "tokens": 20000, "limit": 9000}
a pause | gpt-5-4 | 9600
	9600 first_request: {"tokens": 50000}
	49920: {"at": 10, "tokens": 51000}
	9600 ttl: {"at": 20.02, "tokens": 52000}
a pause that nothing ends | glm-5 | 0
	0 first_request: {"tokens": 50000}
	50000: {"at": 60000, "tokens": 51000}
too short to be cached | gpt-5-3-codex | 0
	0 first_request: {"tokens": 1000}
	0 below_minimum: {"at": 1, "tokens": 1100}
	1024: {"at": 2, "tokens": 2000}
what the server removed | deepseek-v4-flash | 0
	0 first_request: {"tokens": 50000}
	44928: {"at": 1, "tokens": 46000, "shrink": 5000}
each model has its own cache | gpt-5-4 | 0
	0 first_request: {"tokens": 50000}
	0 model_switch: {"at": 1, "tokens": 51000, "model": "gpt-5-5"}
	49920: {"at": 2, "tokens": 52000}
`, func(name, model string, floor int, steps []string) {
		var a Automatic
		for _, step := range steps {
			want, text, _ := strings.Cut(step, ": ")
			s := struct {
				At                     float64
				Tokens, Output, Shrink int
				Reasons, Turn          bool
				Limit                  *int
				Model                  string
			}{Model: model}
			must.JSON(t, text, &s)
			k := kindOf(t, s.Model)
			if s.Turn {
				a.NewTurn(s.Model, k)
			}
			if s.Limit != nil {
				a.Limit(*s.Limit, Cause{Kind: Edited})
			}
			a.Shrink(s.Shrink)
			split, cause := a.Request(UnmarkedRequest{
				Start: start.Add(time.Duration(s.At * float64(time.Minute))), Model: s.Model, Kind: k, Tokens: s.Tokens, Output: s.Output, Floor: floor, Reasons: s.Reasons,
			})
			must.Equal(t, strings.TrimSpace(fmt.Sprint(split.Read, " ", cause.Kind)), want, name, step)
			must.Equal(t, split, Split{Read: split.Read, Uncached: s.Tokens - split.Read}, name, step)
		}
	})
}

// TestBranchAutomatic: the request of a compaction itself reads what it has in common with the conversation, which then lives on
// and is otherwise as it was.
func TestBranchAutomatic(t *testing.T) {
	var a Automatic
	k := kindOf(t, "gpt-5-4")
	r := UnmarkedRequest{Start: start, Model: "m", Kind: k, Tokens: 50000}
	a.Request(r)
	r.Start, r.Tokens = start.Add(9*time.Minute), 30000
	must.Equal(t, a.Branch(20000, r), Split{Read: 19968, Uncached: 10032})
	r.Start, r.Tokens = start.Add(18*time.Minute), 51000
	if got, cause := a.Request(r); got.Read != 49920 || cause.Kind != None {
		t.Errorf("the request after it: %+v, %v", got, cause)
	}
}

func TestSeedAutomatic(t *testing.T) {
	var a Automatic
	k := kindOf(t, "gpt-5-6-sol")
	a.Seed("m", 40000+k.Slack, start)
	if got, cause := a.Request(UnmarkedRequest{Start: start, Model: "m", Kind: k, Tokens: 60000}); got.Read != 39680 || cause.Kind != None {
		t.Errorf("%+v, %v", got, cause)
	}
}

// TestLateAutomatic compares a cache whose models are looked up when they are asked, with one in which each model is
// looked up after each call.
func TestLateAutomatic(t *testing.T) {
	var models []string
	for i := range 6 {
		models = append(models, fmt.Sprint("m", i))
	}
	kinds := []*CacheKind{kindOf(t, "gpt-5-4"), kindOf(t, "gpt-5-6-sol"), kindOf(t, "kimi-k3")}
	for seed := range int64(300) {
		rnd := rand.New(rand.NewSource(seed))
		used := models[:1+rnd.Intn(len(models))]
		late, soon := &Automatic{}, &Automatic{}
		now := start
		for step := range 200 {
			i := rnd.Intn(len(used))
			n := 300 * rnd.Intn(40)
			cause := Cause{Kind: Edited, Stage: fmt.Sprint(step)}
			switch rnd.Intn(8) {
			case 0, 1, 2:
				late.Limit(n, cause)
				soon.Limit(n, cause)
			case 3, 4:
				late.Shrink(n/7 - 100)
				soon.Shrink(n/7 - 100)
			case 5:
				n, ok := late.NewTurn(used[i], kinds[i%len(kinds)])
				if want, dropped := soon.NewTurn(used[i], kinds[i%len(kinds)]); n != want || ok != dropped {
					t.Fatalf("seed %d, step %d: a turn after %d tokens, %t; want %d, %t", seed, step, n, ok, want, dropped)
				}
			case 6:
				*late = late.Clone()
			}
			for _, m := range used {
				soon.of(m)
			}
			if rnd.Intn(3) > 0 {
				continue
			}
			now = now.Add(time.Duration(rnd.Intn(200)) * time.Second)
			r := UnmarkedRequest{Start: now, Model: used[i], Kind: kinds[i%len(kinds)], Tokens: 9000 + n, Output: rnd.Intn(500), Floor: rnd.Intn(2000), Reasons: rnd.Intn(2) == 0}
			if rnd.Intn(4) == 0 {
				if got, want := late.Branch(n, r), soon.Branch(n, r); got != want {
					t.Fatalf("seed %d, step %d: a branch of %+v, want %+v", seed, step, got, want)
				}
				continue
			}
			got, why := late.Request(r)
			if want, cause := soon.Request(r); got != want || why != cause {
				t.Fatalf("seed %d, step %d: %+v, %s; want %+v, %s", seed, step, got, why, want, cause)
			}
		}
	}
}

// TestLimitsDoNotPileUp: a model that is asked no more does not keep the limits of all requests to another.
func TestLimitsDoNotPileUp(t *testing.T) {
	var a Automatic
	k := kindOf(t, "gpt-5-4")
	for i := range 1000 {
		for m := range 1 + 2/(i+1) { // three models, of which one goes on
			a.Request(UnmarkedRequest{Start: start, Model: fmt.Sprint("m", m), Kind: k, Tokens: 20_000 + 10*i})
		}
		a.Limit(10_000+10*i, Cause{Kind: Edited})
	}
	if len(a.limits) > 6 {
		t.Errorf("%d limits of 1000 requests to three models", len(a.limits))
	}
	must.Equal(t, a.of("m2").same, 10_000)
}

// TestManyModels: of more models than are remembered, the one that was asked least recently counts as new.
func TestManyModels(t *testing.T) {
	var a Automatic
	k := kindOf(t, "gpt-5-4")
	ask := func(model int) BreakCause {
		_, cause := a.Request(UnmarkedRequest{Start: start, Model: fmt.Sprint("m", model), Kind: k, Tokens: 20_000})
		return cause.Kind
	}
	for m := range maxModels {
		ask(m)
	}
	must.Equal(t, ask(0), None, maxModels)
	ask(maxModels)
	must.Equal(t, ask(0), None)
	must.Equal(t, ask(1), ModelSwitch)
	must.Equal(t, len(a.models), maxModels)
}

// FuzzAutomatic: whatever is asked, a request reads whole blocks of what it has in common with the last one, or of the
// floor; nothing is written, and the parts add up to the input.
func FuzzAutomatic(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 200, 100, 50, 25, 12, 6, 3, 1, 0, 255, 9, 9, 9, 9, 9})
	kinds := must.Get(DefaultKinds())(f)
	models := []string{"gpt-5-4", "gpt-5-5", "gpt-5-6-sol", "gemini-3-1-pro", "kimi-k3"}
	f.Fuzz(func(t *testing.T, data []byte) {
		var a Automatic
		next := func() int {
			if len(data) == 0 {
				return 0
			}
			n := int(data[0])
			data = data[1:]
			return n
		}
		now := start
		left := map[string]int{} // the most that the next request to a model has in common with its last one
		for len(data) > 0 {
			now = now.Add(time.Duration(next()-20) * 10 * time.Second)
			model := models[next()%len(models)]
			kind := kinds.Find(model)
			r := UnmarkedRequest{
				Start: now, Lives: now.Add(time.Duration(next()) * time.Second), Model: model, Kind: &kind,
				Tokens: 401 * next(), Output: 31 * next(), Floor: 97 * next(), Reasons: next()%2 == 0,
			}
			switch next() % 4 {
			case 0:
				n := 307 * next()
				a.Limit(n, Cause{Kind: Edited})
				for m := range left {
					left[m] = min(left[m], n)
				}
			case 1:
				a.Shrink(101 * next())
			case 2:
				if n, ok := a.NewTurn(model, &kind); ok && n > left[model] {
					t.Fatalf("reasoning begins after %d tokens of %d", n, left[model])
				}
			}
			var split Split
			if next()%5 == 0 {
				common := 211 * next()
				split = a.Branch(common, r)
				if split.Read > common {
					t.Fatalf("%d tokens in common, and %+v", common, split)
				}
			} else {
				split, _ = a.Request(r)
				if split.Read > max(left[model], r.Floor) {
					t.Fatalf("%d tokens in common, a floor of %d, and %+v", left[model], r.Floor, split)
				}
				left[model] = r.Tokens
				if kind.OutputCached {
					left[model] += r.Output
				}
			}
			if split.Read < 0 || split.Uncached < 0 || split.Write5m+split.Write1h != 0 || split.Input() != r.Tokens {
				t.Fatalf("%+v is split into %+v", r, split)
			}
			if n := split.Read - kind.Offset; split.Read > 0 && (n%max(kind.Quantum, 1) != 0 || split.Read < kind.Minimum) {
				t.Fatalf("%s reads %d tokens: no whole blocks", model, split.Read)
			}
		}
	})
}
