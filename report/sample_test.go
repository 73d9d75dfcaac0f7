package report

import (
	"fmt"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// sample is a timeline of n requests that grows, is pruned twice and compacted once, with one event at the end.
func sample(n int) *replay.Timeline {
	tl := &replay.Timeline{
		Schema: replay.Schema, Session: "0f6d8a52-1c3e-4b7a-9d21-6e5f4c3b2a10", File: "testdata/sessions/sample.jsonl",
		Title: "Make the ferry timetable read its holidays from a file", Policy: "opencode-1.1.36", Counter: "usage",
		Model: "claude-opus-4-5-20251101", Version: "2.1.19", Window: 200000,
		Stages: []string{"opencode_prune", "autocompact"},
		Limits: []policy.Limit{
			{Name: "warning threshold", Label: "warn", Operator: ">=", Tokens: 135000, Of: policy.OfContext},
			{Name: "blocking limit", Operator: ">=", Tokens: 197000, Of: policy.OfContext},
			{Stage: "autocompact", Name: "auto-compact threshold", Label: "auto", Operator: ">=", Tokens: 155000, Of: policy.OfContext, Acts: true},
		},
		Lines: replay.Lines{Read: 12*n + 31, Used: 12 * n, SetAside: map[string]int{"progress": 25, "abandoned branch": 3, "metadata: mode": 3}},
	}
	at := time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)
	raw, model := 18800, 18800
	event := func(k int, e replay.Event) int {
		e.N = len(tl.Events)
		if k > 0 {
			e.Request = &k
		}
		e.Saved = e.Before - e.After
		if e.Targets == nil {
			e.Targets = []replay.EventTarget{}
		}
		tl.Events = append(tl.Events, e)
		return e.N
	}
	for k := 1; k <= n; k++ {
		step := 400 + (k*7919)%900
		raw += step
		model += step
		r := replay.Request{
			N: k, UUID: fmt.Sprintf("00000000-0000-4000-8000-%012d", k), Time: at, Kind: "main", Model: tl.Model,
			Overhead: 18800, Messages: 2*k - 1, Output: 120 + k%50, Events: []int{},
			Recorded: &replay.Usage{Input: 3, CacheWrite: step, CacheRead: raw - step, Output: 120 + k%50},
		}
		if k == 2 {
			r.Recorded.Billed = &replay.Samplings{Iterations: 2, Input: 5, CacheWrite: step, CacheRead: 2 * raw, Output: r.Output + 9}
		}
		switch k {
		case n / 4, n / 2:
			cut := model / 4
			r.Events = append(r.Events, event(k, replay.Event{
				Stage: "opencode_prune", Kind: policy.KindClear, Reason: "results older than two turns and beyond 40,000 protected tokens",
				Before: cut + 60, After: 60, Results: 17, Targets: []replay.EventTarget{{Message: "m", ToolUse: "toolu_1"}},
			}))
			model -= cut
		case n * 3 / 4:
			call := r
			call.Kind, call.Recorded, call.Tokens, call.Output, call.Payload = "compaction", nil, model+1257, 4100, model+1257
			call.Cache.Write5m = call.Payload
			call.CostUSD = price.USD{Nano: 1_050_000_000, Known: true}
			call.Events = []int{len(tl.Events)} // as the engine does, both name it
			tl.Requests = append(tl.Requests, call)
			r.Events = append(r.Events, event(k, replay.Event{
				Stage: "opencode_compaction", Kind: policy.KindSummarize, Trigger: "auto", Reason: "used 168,201 of 168,000", Before: model - 18800, After: 4100,
				Messages: 2*k - 9, Detail: map[string]int{"pre_tokens": 168201, "post_tokens": 4100}, Targets: []replay.EventTarget{},
				Recorded: &replay.RecordedEvent{File: tl.File, Line: 9 * k, Trigger: "auto", PreTokens: 155782},
			}))
			model = 18800 + 4100
		}
		r.Raw, r.Tokens, r.Payload, r.Used = raw, model, model, model+r.Output
		r.Cache = sampleCache(k, model, step, len(r.Events) > 0)
		r.CostUSD = price.USD{Nano: int64(model) * 2000, Known: k != 3}
		tl.Requests = append(tl.Requests, r)
		at = at.Add(time.Duration(20+k%90) * time.Second)
	}
	if n > 0 {
		event(0, replay.Event{Stage: "opencode_prune", Kind: policy.KindClear, Reason: "at the end of the turn", Before: 23000, After: 90, Results: 4})
		tl.Warnings = []session.Warning{{File: tl.File, Line: 17, Message: "column 3: unexpected end: line set aside"}, {Message: "no price for this model"}}
	}
	total(tl)
	return tl
}

// sampleCache is a hit but for the first request and those that follow an edit.
func sampleCache(k, all, step int, edited bool) replay.CacheUse {
	use := replay.CacheUse{Split: cache.Split{Read: max(all-step, 0), Write1h: min(step, all)}}
	switch {
	case k == 1:
		use = replay.CacheUse{Split: cache.Split{Write5m: all - 3, Uncached: 3}, Miss: &cache.Cause{Kind: cache.First}}
	case edited:
		use.Read, use.Write1h = 16600, all-16600
		use.Miss = &cache.Cause{Kind: cache.Edited, Stage: "opencode_prune", Message: "00000000-0000-4000-8000-000000000001"}
	}
	return use
}

func total(tl *replay.Timeline) {
	t := &tl.Totals
	t.Events = len(tl.Events)
	for _, r := range tl.Requests {
		t.Calls++
		t.ModelInput += r.Tokens
		t.Payload += r.Payload
		t.Output += r.Output
		t.Cache.Add(r.Cache.Split)
		t.CostUSD.Add(r.CostUSD)
		if !r.CostUSD.Known {
			t.Unpriced++
		}
		if r.Kind == "main" {
			t.Requests++
			t.RawInput += r.Raw
			t.RawPeak, t.ModelPeak = max(t.RawPeak, r.Raw), max(t.ModelPeak, r.Tokens)
			t.PayloadPeak = max(t.PayloadPeak, r.Payload)
		}
	}
	t.Saved = t.RawInput - t.Payload
	t.ModelMean = t.ModelInput / max(1, t.Calls)
	for _, e := range tl.Events {
		if e.Kind == policy.KindSummarize {
			t.Compactions++
		}
		t.Cleared += e.Results
	}
}

// hostile is a timeline whose every text wants something.
func hostile() *replay.Timeline {
	tl := sample(3)
	evil := "\x1b[31mred\x1b]0;title\x07\u009b2J\u202edlrow\u2066|`code`<b>![x](http://example.invalid/)\r\nINJECTED \x00\xff\ufeff"
	tl.Session, tl.Agent, tl.File, tl.Title = "=cmd()"+evil, "@agent"+evil, "-file"+evil, evil
	tl.Policy, tl.Model, tl.Version = evil, evil, evil
	rows := tl.Requests
	rows[0].Cache.Miss = &cache.Cause{Kind: cache.Edited, Stage: evil, Message: evil}
	for i := range rows {
		rows[i].UUID, rows[i].Model = "+"+evil, evil
	}
	one := 1
	tl.Events = append(tl.Events, replay.Event{
		N: len(tl.Events), Request: &one, Stage: evil, Kind: policy.KindTruncate, Reason: evil, Trigger: evil,
		Detail: map[string]int{evil: 1}, Targets: []replay.EventTarget{{Message: evil, ToolUse: evil}},
		Recorded: &replay.RecordedEvent{File: evil, Line: 1, Trigger: evil},
	})
	rows[0].Events = append(rows[0].Events, len(tl.Events)-1)
	tl.Warnings = append(tl.Warnings, session.Warning{File: evil, Line: 3, Message: evil})
	tl.Lines.SetAside[evil] = 1
	tl.Lines.Read++
	total(tl)
	return tl
}
