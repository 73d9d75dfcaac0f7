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

	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// anyRequest is a request as a list may hold it: request i, from 0.
func anyRequest(d *rand.Rand, i int) Request {
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
	uuid := strings.Repeat("u", d.IntN(40))
	if !rare() {
		uuid = fmt.Sprintf("%08x-0123-4567-89ab-%012x", d.Uint32(), i)
	}
	r := Request{
		N: i + 1, UUID: uuid, Kind: "main", Model: "model-" + string(rune('a'+d.IntN(1+i/5))),
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
		own := callParts(usd())
		r.Kind, p = "compaction", &own
	case 4:
		p = nil
	}
	if p != nil {
		r.CostParts, r.CostUSD = p, p.Sum()
	}
	if d.IntN(64) == 0 {
		r.CostUSD = price.USD{Nano: 1, Known: true}
	}
	return r
}

// TestRequestList holds that a list gives back what was added to it, whatever that is.
func TestRequestList(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 2))
	var want []Request
	for i := range 3000 {
		want = append(want, anyRequest(d, i))
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

// TestListsAgain holds that lists in the memory of others are like new ones, and keep nothing of the others.
func TestListsAgain(t *testing.T) {
	d := rand.New(rand.NewPCG(3, 4))
	var requests RequestList
	var events EventList
	for _, n := range []int{900, 31, 0, 700, 1200, 64} {
		var wantRequests []Request
		var wantEvents []Event
		var targets [40]EventTarget // of each event in turn
		requests.clear()
		events.clear()
		if requests.slabs.at+events.slabs.at > 0 {
			t.Error("rows or targets are kept")
		}
		if n := cap(requests.others); slices.ContainsFunc(requests.others[:n], func(o otherRequest) bool { return o != otherRequest{} }) {
			t.Errorf("%d unusual requests are kept", n)
		}
		if slices.ContainsFunc(events.others[:cap(events.others)], func(o otherEvent) bool { return !reflect.DeepEqual(o, otherEvent{}) }) {
			t.Error("unusual events are kept")
		}
		for i := range n {
			r, e := anyRequest(d, i), anyEvent(d, i)
			for k := range e.Targets {
				e.Targets[k].ToolUse = fmt.Sprint(i, k)
			}
			requests.Add(&r)
			wantRequests, wantEvents = append(wantRequests, r), append(wantEvents, e)
			e.Targets = append(targets[:0], e.Targets...)
			events.Add(&e)
		}
		for i := range requests.Len() {
			if got := requests.At(i); !reflect.DeepEqual(got, wantRequests[i]) {
				t.Fatalf("request %d:\n%+v\nadded was\n%+v", i, got, wantRequests[i])
			}
		}
		if got := events.Slice(); len(got) != n || n > 0 && !reflect.DeepEqual(got, wantEvents) {
			t.Errorf("%d events differ", n)
		}
		if requests.PayloadsDiffer() != NewRequestList(wantRequests...).PayloadsDiffer() || requests.Len() != n {
			t.Errorf("%d requests differ in all", n)
		}
	}
}

// TestSlabs holds that copies are apart from each other and from what they were made of, and are made in few pieces of memory.
func TestSlabs(t *testing.T) {
	var s slabs[int]
	for round := range 3 {
		var kept [][]int
		list := make([]int, 0, 200)
		for i := range 500 {
			list = list[:0]
			for k := range i % 7 * (1 + i/100) {
				list = append(list, i*1000+k)
			}
			kept = append(kept, s.keep(list, 64))
			if n := len(kept[i]); n != cap(kept[i]) || n != len(list) {
				t.Fatalf("copy %d has %d of %d, room for %d", i, n, len(list), cap(kept[i]))
			}
		}
		for i, copied := range kept {
			for k, n := range copied {
				if n != i*1000+k {
					t.Fatalf("round %d: element %d of copy %d is %d", round, k, i, n)
				}
			}
		}
		pieces := len(s.list)
		s.clear()
		for _, slab := range s.list {
			if slices.Max(slab[:cap(slab)]) != 0 {
				t.Fatal("a cleared slab holds something")
			}
		}
		if len(s.list) != pieces || pieces > 100 {
			t.Errorf("%d pieces of memory, %d before", len(s.list), pieces)
		}
	}
	if s.keep(nil, 64) != nil {
		t.Error("a copy of nothing is something")
	}
}
