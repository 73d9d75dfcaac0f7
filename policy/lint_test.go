package policy

import (
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// TestLint looks at the rules with made-up stages: package stage has those of the built-in ones.
func TestLint(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"sound", "stages: [sweep, trim, recall, compress, refill]", ""},
		{"nothing to find", "stages: [kinds, bare, spare, picky]", ""},

		{"a key that no stage reads", "window: {buffer: 50000, room: 3}\nstages: [bare]", lines(
			"1:18: window.buffer: it has no effect: no stage of the policy reads it: leave it out (unused)",
			"1:31: window.room: it has no effect: no stage of the policy reads it: leave it out (unused)")},
		{"a key that another family's stage reads", "window: {buffer: 50000, room: 3}\nstages: [spare]", "1:18: window.buffer: it has no effect: no stage of the policy reads it: leave it out (unused)"},
		{"the shared parameters, once", "window: {context: 50000}\nstages: [sweep, compress: {enabled: false}]", lines(
			"window.buffer: 50,000 of 50,000 tokens leave nothing to use: make it smaller (window)",
			"2:10: sweep: sweeping at -20,000 is not above the 18,800 tokens of system prompt and tools: make sweep.offset smaller (always)")},

		{"a condition", "stages: [bare: {when: used > 80}]", "1:23: bare.when: it never holds: leave out the stage, or mind the units of the variables: used is a share, 0.8 and not 80 (condition)"},
		{"order", "stages:\n  - compress\n  - sweep\n", "3:5: sweep: it runs after compress, and before it in the product: list it before compress (order)"},
		{"an addition before a compaction", "stages: [refill, compress]", "1:18: compress: it runs after refill, and before it in the product: list it before refill (order)"},
		{"a free stage", "stages: [compress, trim]", ""},

		{"two compactions", "stages: [compress, fold: {at: 170000}]", lines(
			"1:20: fold: it runs after compress, and before it in the product: list it before compress (order)",
			"1:20: fold: it competes with compress for the same tokens: keep one of them (compete)")},
		{"the other one goes off", "stages: [fold, compress]", "1:16: compress: it competes with fold for the same tokens: keep one of them, or set compress.enabled to false (compete)"},
		{"one of them off", "stages: [fold, compress: {enabled: false}]", ""},
		{"one tried before the other", "stages: [recall, compress]", ""},
		{"alone", "stages: [refill, trim]", "1:10: refill: it does nothing without a stage that compacts: add one, or leave this out (alone)"},

		{"off", "window: {active: false}\nstages: [recall, compress]", "2:18: compress.enabled: window.active is off: set it to false (never)"},
		{"a fixed limit beyond the window", "window: {context: 90000, buffer: 1}\nstages: [trim, kinds]", lines(
			"1:34: window.buffer: it has no effect: no stage of the policy reads it: leave it out (unused)",
			"2:10: trim.at: 90,000 is not below 90,000, the window: make it smaller (never)")},
		{"a fixed limit beyond a small window", "stages: [trim: {at: 300000}]", ""},
		{"a fixed limit beyond every window", "stages: [trim: {at: 1000000}]", "1:21: trim.at: 1,000,000 is not below 1,000,000, the window: make it smaller (never)"},
		{"a fixed limit behind a compaction in a small window", "stages: [trim: {at: 160000}, compress]", ""},
		{"a fixed limit behind a compaction in every window", "stages: [trim: {at: 950000}, compress]", "1:21: trim.at: 950,000 is not below 950,000, where compress compacts: make it smaller (never)"},
		{"a fixed limit behind a fixed compaction", "stages: [trim: {at: 120001}, fold]", "1:21: trim.at: 120,001 is not below 120,001, where fold compacts: make it smaller (never)"},
		{"a fixed limit before it", "stages: [trim: {at: 120000}, fold]", ""},
		{"a compaction that is off", "stages: [trim: {at: 950000}, compress: {enabled: false}]", ""},
		{"a growing limit behind a growing compaction", "stages: [sweep: {offset: 0}, compress]", "1:10: sweep: sweeping at 150,000 is not below 150,000, where compress compacts: make sweep.offset larger (never)"},
		{"a growing limit behind a fixed compaction in a large window", "stages: [sweep: {offset: 35000}, fold]", ""},
		{"a growing limit behind a fixed compaction", "stages: [sweep, fold]", "1:10: sweep: sweeping at 130,000 is not below 120,001, where fold compacts: make sweep.offset larger (never)"},
		{"a compaction beyond the window", "stages: [fold: {at: 1000000}]", "1:21: fold.at: 1,000,000 is not below 1,000,000, the window: make it smaller (never)"},

		{"a fixed limit at once", "stages: [fold: {at: 18800}]", lines(
			"1:21: fold.at: preparing at 9,400 is not above the 18,800 tokens of system prompt and tools: make it larger (always)",
			"1:21: fold.at: 18,800 is not above the 18,800 tokens of system prompt and tools: make it larger (always)")},
		{"messages at once", "stages: [trim: {at: 1}]", ""},
		{"a growing limit at once", "window: {overhead: 150000}\nstages: [compress]", "2:10: compress: compression at 150,000 is not above the 150,000 tokens of system prompt and tools: make window.buffer smaller (always)"},
		{"a growing limit just above", "window: {overhead: 149999}\nstages: [compress: {summary: outline}]", ""},
		{"a summary as large as the limit", "stages: [compress: {summary: [outline, fixed: 131200]}]", "1:30: compress.summary: a summary of 131,200 with 18,800 of system prompt and tools reaches 150,000, where compress compacts again: make it smaller (always)"},
		{"a summary below it", "stages: [compress: {summary: [outline, fixed: 131199]}]", ""},

		{"two parameters", "stages: [sweep: {keep: 4}]", "1:24: sweep.keep: 4 leaves nothing to do at sweep.least 4: make it smaller than sweep.least (contradict)"},
		{"the other two", "stages: [sweep: {least: 10}]", "1:25: sweep.least: 10 is more than sweep.most 9: make it sweep.most or less (contradict)"},
		{"a warm prefix without a cache", "cache: {breakpoints: none}\nstages: [compress: {prefix: session}]", "2:29: compress.prefix: with cache.breakpoints: none no prefix is warm: give cache.breakpoints, or the prefix own (contradict)"},
		{"a system prompt over the overhead", "window: {overhead: 10000}\ncache: {system: 12000}\nstages: []", "2:17: cache.system: 12,000 is more than window.overhead 10,000: make it window.overhead or less (contradict)"},
		{"a parameter without effect", "stages: [trim, sweep: {keep: 1}]", "1:30: sweep.keep: it has no effect: trim leaves none: leave it out (unused)"},
		{"its default", "stages: [trim, sweep: {keep: 3}]", ""},

		{"summary never reached", "stages: [compress: {summary: [fixed, outline]}]", "1:30: compress.summary: fixed: 3200 is always there, what follows it is never reached: put fixed: 3200 last (summary)"},
		{"no summary", "stages: [compress: {summary: []}]", "1:30: compress.summary: there may be no summary: not every stretch has a recorded one: end the list with outline or typical (summary)"},
	}
	rules := map[Rule]bool{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range Lint(mustDecode(t, "p.yaml", tt.text+"\n", nil)) {
				got = append(got, strings.TrimPrefix(f.String(), "p.yaml:"))
				rules[Rule(f.Rule)] = true
			}
			must.Equal(t, strings.Join(got, "\n"), tt.want)
		})
	}
	for _, r := range Rules() {
		if !rules[r.Name] {
			t.Errorf("no case for rule %s", r.Name)
		}
	}
}

// A policy that was not read from a file has findings too, without a place.
func TestLintWithoutFile(t *testing.T) {
	refill := testStage("refill", nil)
	refill.AfterCompaction = true
	got := Lint(&Policy{Window: DefaultWindow(), Stages: []StageConfig{{Definition: refill}}})
	if len(got) != 1 || got[0].String() != "refill: it does nothing without a stage that compacts: add one, or leave this out (alone)" {
		t.Errorf("got %v", got)
	}
}
