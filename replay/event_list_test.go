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

	"github.com/ctxkit/ctxkit/policy"
)

// anyEvent is an event as a list may hold it: event n.
func anyEvent(d *rand.Rand, n int) Event {
	rare := func() bool { return d.IntN(8) == 0 }
	figure := func() int {
		if d.IntN(200) == 0 {
			return []int{math.MaxInt, math.MinInt, -1, -1234}[d.IntN(4)]
		}
		return d.IntN(2_000_000) >> d.IntN(20)
	}
	e := Event{N: n, Stage: "s" + string(rune('a'+d.IntN(3))), Kind: policy.KindFail, Trigger: "auto", Targets: []EventTarget{}}
	if e.Before, e.After = figure(), figure(); rare() {
		e.Kind, e.Trigger = policy.KindRefuse, ""
	}
	if e.Saved = e.Before - e.After; rare() {
		e.Saved++
	}
	if !rare() {
		k := d.IntN(n + 1)
		e.Request = &k
	}
	switch d.IntN(16) {
	case 0:
		e.Reason = "a text with a mark " + string(rune(d.IntN(3)))
	case 1:
		e.Reason = fmt.Sprintf("a text of its own: %x", d.Uint64())
	case 2:
		for range d.IntN(30) {
			e.Reason += string("0123456789,. -a"[d.IntN(15)])
		}
	default:
		e.Reason = fmt.Sprintf("used %s >= auto_%d %s, after %d retries", policy.Thousands(figure()), d.IntN(3), policy.Thousands(figure()), figure())
	}
	for rare() {
		e.N += d.IntN(2)
		e.Results, e.Messages = d.IntN(3), d.IntN(3)
		e.Targets = append(e.Targets, EventTarget{Message: "m", ToolUse: "t"})
	}
	if !rare() {
		e.Detail = map[string]int{"pre_tokens": figure()}
		for d.IntN(4) == 0 {
			e.Detail[strings.Repeat("n", d.IntN(12))] = figure()
		}
	}
	if rare() {
		e.Kept = &Segment{Head: "h"}
	}
	if rare() {
		e.Recorded = &RecordedEvent{Line: n}
	}
	return e
}

// freedBy is both results of EventList.freed.
func freedBy(l *EventList, i int) [2]int {
	before, saved := l.freed(i)
	return [2]int{before, saved}
}

// TestEventList holds that a list gives back what was added to it, whatever that is.
func TestEventList(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 2))
	var want []Event
	for i := range 6000 {
		want = append(want, anyEvent(d, i))
	}
	list := NewEventList(want...)
	for i, got := range list.All() {
		e := &want[i]
		if at := list.At(i); !reflect.DeepEqual(*got, *e) || !reflect.DeepEqual(at, *e) {
			t.Fatalf("event %d:\n%+v\nadded was\n%+v", i, got, e)
		}
		n := 0
		if e.Request != nil {
			n = *e.Request
		}
		if list.Kind(i) != e.Kind || list.Stage(i) != e.Stage || list.Request(i) != n || list.Figure(i, "pre_tokens") != e.Detail["pre_tokens"] ||
			freedBy(&list, i) != [2]int{e.Before, e.Saved} || !reflect.DeepEqual(list.Recorded(i), e.Recorded) {
			t.Fatalf("event %d by its parts: %s %s %d %d %d %v\nadded was\n%+v",
				i, list.Kind(i), list.Stage(i), list.Request(i), list.Figure(i, "pre_tokens"), freedBy(&list, i), list.Recorded(i), e)
		}
	}
	some := 0
	for i, e := range list.Of(policy.KindRefuse, policy.KindBlock) {
		if some++; !reflect.DeepEqual(*e, want[i]) {
			t.Fatalf("event %d:\n%+v\nadded was\n%+v", i, e, want[i])
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(want), func(e Event) bool { return e.Kind != policy.KindRefuse })); n != some {
		t.Errorf("%d events of a kind of %d", some, n)
	}
	whole := 0
	for _, o := range list.others {
		if o.whole != nil {
			whole++
		}
	}
	if list.Len() != len(want) || whole == 0 || whole > len(want)/3 || len(list.forms) > mostForms {
		t.Errorf("%d events of %d, %d of them whole, in %d forms", list.Len(), len(want), whole, len(list.forms))
	}
	eventsAsJSON(t, list, want)
}

// eventsAsJSON holds that a list is in JSON what a slice is.
func eventsAsJSON(t *testing.T, list EventList, want []Event) {
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
	var back EventList
	if err := json.Unmarshal(a, &back); err != nil || !reflect.DeepEqual(back.Slice(), want) {
		t.Fatalf("another list is read back: %v", err)
	}
	if text, err := json.Marshal(EventList{}); string(text) != "[]" || err != nil {
		t.Errorf("an empty list is %s, %v", text, err)
	}
}

// TestEventListOwns holds that a list does not follow what becomes of an event that was added.
func TestEventListOwns(t *testing.T) {
	for _, reason := range []string{"", "\x00"} { // as a row, and whole
		n := 1
		e := Event{Request: &n, Reason: reason, Detail: map[string]int{"a": 1}}
		list := NewEventList(e)
		n, e.Detail["a"] = 2, 2
		if got := list.At(0); *got.Request != 1 || got.Detail["a"] != 1 || got.Targets == nil {
			t.Errorf("%+v, request %d", got, *got.Request)
		}
		first := list.At(0)
		*first.Request = 3
		if *list.At(0).Request != 1 {
			t.Error("what was read is what is kept")
		}
	}
}

// TestNumbers holds which numbers of a text are taken out of it.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]struct {
		rest    string
		numbers []int64
	}{
		"":                            {"", nil},
		"none":                        {"none", nil},
		"7 of 1,234 and 999":          {"\x00 of \x00 and \x00", []int64{7, 1234, 999}},
		"1000, 2,000, 3":              {"\x01, \x00, \x00", []int64{1000, 2000, 3}},
		"1,23 12,3456 1,234,5":        {"\x00,\x00 \x00,\x01 \x00,\x00", []int64{1, 23, 12, 3456, 1234, 5}},
		"007 0 0,123 0.50":            {"007 \x00 \x00,\x00 \x00.\x00", []int64{0, 0, 123, 0, 50}},
		"-1,000":                      {"-\x00", []int64{1000}},
		"999999999999999999":          {"\x01", []int64{999999999999999999}},
		"9999999999999999999":         {"9999999999999999999", nil},
		"999,999,999,999,999,99":      {"\x00,\x00", []int64{999999999999999, 99}},
		"999,999,999,999,999,999,999": {"\x00,\x00", []int64{999999999999999999, 999}},
	} {
		rest, numbers, ok := splitNumbers(nil, nil, text)
		if !ok || string(rest) != want.rest || !slices.Equal(numbers, want.numbers) {
			t.Errorf("%q is %q and %d, %t", text, rest, numbers, ok)
		}
		if back := joinNumbers(nil, numbers, string(rest)); string(back) != text {
			t.Errorf("%q becomes %q", text, back)
		}
	}
}

// FuzzNumbers holds that a text without its numbers, and these, are the text.
func FuzzNumbers(f *testing.F) {
	for _, text := range []string{"a payload of 1,234 tokens", "0,0,012345,678.9", "1,000,00 12,345,678,9012"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rest, numbers, ok := splitNumbers(nil, nil, text)
		if back := string(joinNumbers(nil, numbers, string(rest))); ok && back != text || ok == strings.ContainsAny(text, "\x00\x01") {
			t.Errorf("%q becomes %q and %d, %t: %q", text, rest, numbers, ok, back)
		}
	})
}
