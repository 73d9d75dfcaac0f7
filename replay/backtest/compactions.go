package backtest

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
)

// compactions scores the recorded ones, each on the recorded view: a decision that differs does not change the next.
func (s *SessionScore) compactions(conv *session.Conversation, kindOf func(boundary int) replay.CompactionKind, decisions []replay.Decision) {
	for i := range conv.Boundaries {
		b := &conv.Boundaries[i]
		kind := kindOf(i)
		switch {
		case kind == replay.CompactionIdle || kind == replay.CompactionModelChange || kind == replay.CompactionReactive: // no file shows what the API refuses
			s.Other++
			if s.OtherKinds == nil {
				s.OtherKinds = map[replay.CompactionKind]int{}
			}
			s.OtherKinds[kind]++
			continue
		case b.Trigger != "auto":
			s.Manual++
			continue
		case !replay.Precedes(conv, b):
			s.Last++
			continue
		}
		d := &decisions[b.Request-1]
		s.Compactions = append(s.Compactions, CompactionScore{
			Line: b.Line, Request: b.Request, Version: b.Version, Kind: kind, PreTokens: b.PreTokens, Used: d.Used, Threshold: d.Limit, Count: d.Count,
			Hit: d.Compact, Lost: b.Before > 0 && conv.Messages[b.Before-1].Lost,
		})
	}
}

func (s *SessionScore) alarms(r *replay.Record, decisions []replay.Decision) {
	known := replay.NearCompactions(r.Conv)
	for i := range decisions {
		if d := &decisions[i]; d.Compact && !known[d.Request] {
			s.Alarms = append(s.Alarms, Alarm{
				Request: d.Request, Line: r.LineAt(d.Request), Used: d.Used, Threshold: d.Limit, Count: d.Count, Early: early(r.Conv, d.Request),
			})
		}
	}
}

// early is how many requests after n the next automatic compaction is recorded, 0 where none is.
func early(conv *session.Conversation, n int) int {
	for i := range conv.Boundaries {
		if b := &conv.Boundaries[i]; b.Trigger == "auto" && b.Request > n && replay.Precedes(conv, b) {
			return b.Request - n
		}
	}
	return 0
}

// free scores the policy's own replay, where one decision changes the next: it pairs recorded compactions with the
// policy's own, the nearest first, each at most once.
func (s *SessionScore) free(conv *session.Conversation, own *replay.Timeline) {
	known := replay.NearCompactions(conv)
	var fired []int
	for _, e := range own.Events {
		if e.Kind == policy.KindSummarize && e.Trigger == "auto" && e.Request != nil {
			fired = append(fired, *e.Request)
			if !known[*e.Request] {
				s.FreeAlarms++
			}
		}
	}
	type pair struct{ compaction, fired, distance int }
	var pairs []pair
	for c := range s.Compactions {
		n := s.Compactions[c].Request
		from, _ := slices.BinarySearch(fired, n-Near)
		for f := from; f < len(fired) && fired[f] <= n+Near; f++ {
			pairs = append(pairs, pair{c, f, fired[f] - n})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(abs(a.distance)-abs(b.distance), a.compaction-b.compaction, a.fired-b.fired)
	})
	taken := map[int]bool{}
	for _, p := range pairs {
		if c := &s.Compactions[p.compaction]; c.Distance == nil && !taken[p.fired] {
			taken[p.fired] = true
			c.Distance = &p.distance
		}
	}
}

func abs(n int) int { return max(n, -n) }
