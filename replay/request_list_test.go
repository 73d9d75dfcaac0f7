package replay

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestRequestList holds that a list gives back what was added to it, whatever that is.
func TestRequestList(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 2))
	rare := func() bool { return d.IntN(8) == 0 }
	figure := func() int {
		if d.IntN(200) == 0 {
			return []int{math.MaxInt, math.MinInt, math.MaxInt32 + 1, -1}[d.IntN(4)]
		}
		return d.IntN(200_000)
	}
	usd := func() price.USD {
		if rare() {
			return price.USD{Known: true}
		}
		return price.USD{Nano: d.Int64N(5_000_000_000), Known: true}
	}
	var want []Request
	for i := range 3000 {
		uuid := strings.Repeat("u", d.IntN(40))
		if !rare() {
			uuid = fmt.Sprintf("%08x-0123-4567-89ab-%012x", d.Uint32(), i)
		}
		r := Request{
			N: i + 1, UUID: session.NewUUID(uuid), Kind: "main", Model: "model-" + string(rune('a'+d.IntN(1+i/5))),
			Raw: figure(), Tokens: figure(), Overhead: figure(), Used: figure(), Messages: figure(), Output: figure(), Estimated: rare(),
			Repeated: figure(), Events: []int{},
			Cache: CacheUse{Split: cache.Split{Read: figure(), Write5m: figure(), Write1h: figure(), Uncached: figure()}},
		}
		if r.Payload = r.Cache.Input(); rare() {
			r.Payload++
		}
		switch d.IntN(8) {
		case 0:
		case 1:
			r.Time = time.Date(1+d.IntN(3000), 1, 2, 3, 4, 5, 6, time.UTC)
		case 2:
			r.Time = time.Unix(int64(i), 5).In(time.FixedZone("", 3600))
		default:
			r.Time = time.Unix(1_700_000_000+int64(i), 6_000_000).UTC()
		}
		if rare() {
			r.Cache.Miss = &cache.Cause{Kind: cache.Edited, Stage: "s"}
		}
		for n := i; rare(); n += 1 + d.IntN(7)/6 {
			r.Events = append(r.Events, n)
		}
		if !rare() {
			r.Recorded = &Recorded{Input: figure(), CacheWrite: figure(), CacheRead: figure(), Output: figure()}
			if rare() {
				r.Recorded.Billed = &Billed{Iterations: 2}
			}
		}
		none := price.USD{Known: true}
		p := &CostParts{Ideal: usd(), Breaks: none, Lifetime: none, Placement: usd(), OwnCalls: none, Output: usd()}
		switch d.IntN(16) {
		case 0:
			p.Breaks, p.ByStage = usd(), []StageCost{{"s", usd()}}
		case 1:
			p.Restarts = usd()
		case 2:
			p.Lifetime, p.OwnCalls = usd(), usd()
		case 3:
			r.Kind, p = "compaction", callParts(usd())
		case 4:
			p = nil
		}
		if p != nil {
			r.CostParts, r.CostUSD = p, p.Sum()
		}
		if d.IntN(64) == 0 {
			r.CostUSD = price.USD{Nano: 1, Known: true}
		}
		want = append(want, r)
	}
	list := NewRequestList(want...)
	for i, got := range list.All() {
		if at := list.At(i); !reflect.DeepEqual(*got, want[i]) || !reflect.DeepEqual(at, want[i]) {
			t.Fatalf("request %d:\n%+v\nadded was\n%+v", i, got, want[i])
		}
	}
	if n := len(list.others); list.Len() != len(want) || n > len(want)*3/4 {
		t.Errorf("%d requests of %d, %d of them of an unusual form", list.Len(), len(want), n)
	}
	main := 0
	for i, r := range list.Main() {
		if i != main || r.Kind != "main" {
			t.Fatalf("main request %d is %d, %q", main, i, r.Kind)
		}
		main++
	}
	if n := len(slices.DeleteFunc(slices.Clone(want), func(r Request) bool { return r.Kind != "main" })); n != main {
		t.Errorf("%d main requests of %d", main, n)
	}
	main = 0
	for payload, model := range list.MainSizes() {
		for want[main].Kind != "main" {
			main++
		}
		if r := &want[main]; payload != r.Payload || model != r.Tokens {
			t.Fatalf("request %d sends %d tokens of %d, want %d of %d", r.N, payload, model, r.Payload, r.Tokens)
		}
		main++
	}
	if rest := want[main:]; slices.ContainsFunc(rest, func(r Request) bool { return r.Kind == "main" }) {
		t.Errorf("the sizes of %d requests are missing", len(rest))
	}
	asJSON(t, list, want)
}

// asJSON holds that a list is in JSON what a slice is.
func asJSON(t *testing.T, list RequestList, want []Request) {
	t.Helper()
	a, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("the list is in JSON not what a slice is")
	}
	var back RequestList
	if err := json.Unmarshal(a, &back); err != nil || back.Len() != list.Len() {
		t.Fatalf("%d requests read back of %d: %v", back.Len(), list.Len(), err)
	}
	if c, err := json.Marshal(back); err != nil || string(c) != string(a) {
		t.Errorf("it is another one once it is read back: %v", err)
	}
	if text, err := json.Marshal(RequestList{}); string(text) != "[]" || err != nil {
		t.Errorf("an empty list is %s, %v", text, err)
	}
}
