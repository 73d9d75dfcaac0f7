// Package predict holds sessions that were recorded under one regime, a window or a client's release, against what
// replays under that regime make of sessions that were recorded under others.
package predict

import (
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/interval"
)

// Fewest is how many sessions of either kind a row has at least.
const Fewest = 5

// depths are the tokens of the whole history from which the requests of a row are.
func depths() []int {
	return []int{0, 50_000, 100_000, 150_000, 200_000, 250_000, 300_000, 400_000, 500_000}
}

// measure is what is predicted: a ratio whose numerators are in units of 10^-places.
type measure struct {
	name   string
	places int
	whole  bool // of sessions, not of the requests at each depth
}

// measures are what is predicted, in the order of Tally.
func measures() []measure {
	return []measure{{"context", 0, false}, {"usd", 6, false}, {"compactions", 0, true}, {"compacted from", 0, true}}
}

// Tally are what the requests of a replay add up to, by measure and depth.
type Tally [][]interval.Ratio

// TallyOf sums a replay up: the tokens that each request sends and what it costs; and of a session with compactions that
// no user asked for, how many there are for 100,000 tokens of history, and the tokens that each begins with.
func TallyOf(tl *replay.Timeline) Tally {
	s := make(Tally, len(measures()))
	for i := range s {
		s[i] = make([]interval.Ratio, len(depths()))
	}
	depth := 0
	for i := range tl.Requests {
		r := &tl.Requests[i]
		if r.Kind == "main" {
			for depth = len(depths()) - 1; depths()[depth] > r.Raw; depth-- {
			}
			s[0][depth].Num += int64(r.Payload)
			s[0][depth].Den++
			if r.CostUSD.Known {
				s[1][depth].Den++
			}
		}
		s[1][depth].Num += r.CostUSD.Nano / 1000
	}
	for i := range tl.Events {
		if ev := &tl.Events[i]; ev.Kind == policy.KindSummarize && ev.Trigger != "manual" {
			s[2][0] = interval.Ratio{Num: s[2][0].Num + 100_000, Den: int64(tl.Totals.RawPeak)}
			s[3][0].Num += int64(ev.Before)
			s[3][0].Den++
		}
	}
	return s
}

// SessionTally is a session that was recorded under the regime, or one that predicts such sessions.
type SessionTally struct {
	Project  string
	Window   int   // it was recorded in
	Recorded Tally // nil: it was recorded under another regime
	Replayed Tally // under the regime
}

// Row is a measure of requests with as long a history.
type Row struct {
	Measure   string        `json:"measure"`
	From      int           `json:"from"` // tokens of the history; 0 with To: of any length
	To        int           `json:"to,omitempty"`
	Sessions  [2]int        `json:"sessions"` // recorded under the regime, and those that predict them
	Recorded  exact.Decimal `json:"recorded"`
	Replayed  exact.Decimal `json:"replayed"`  // the recorded sessions' own replays
	Predicted exact.Decimal `json:"predicted"` // the other sessions' replays
	Off       exact.Decimal `json:"off"`       // the prediction less what was recorded, as a part of that
	Low       exact.Decimal `json:"low,omitzero"`
	High      exact.Decimal `json:"high,omitzero"`
}

// Comparable leaves out the sessions that were recorded in a window in which none was recorded under the regime.
func Comparable(sessions []SessionTally) []SessionTally {
	windows := map[int]bool{}
	for _, s := range sessions {
		windows[s.Window] = windows[s.Window] || s.Recorded != nil
	}
	return slices.DeleteFunc(slices.Clone(sessions), func(s SessionTally) bool { return !windows[s.Window] })
}

// Rows predict each measure.
func Rows(sessions []SessionTally) (rows []Row) {
	for m, measure := range measures() {
		for d, from := range depths() {
			row := Row{Measure: measure.name, From: from}
			if next := depths()[d+1:]; len(next) > 0 && !measure.whole {
				row.To = next[0]
			}
			var sums [3][]interval.Ratio // recorded, replayed and predicted, by project
			var all [3]interval.Ratio
			at := map[string]int{}
			for _, s := range sessions {
				add := func(kind int, one interval.Ratio) {
					p, ok := at[s.Project]
					if !ok {
						p = len(at)
						at[s.Project] = p
						for k := range sums {
							sums[k] = append(sums[k], interval.Ratio{})
						}
					}
					for _, sum := range []*interval.Ratio{&sums[kind][p], &all[kind]} {
						sum.Num += one.Num
						sum.Den += one.Den
					}
				}
				switch replayed := s.Replayed[m][d]; {
				case s.Recorded == nil && replayed.Den > 0:
					row.Sessions[1]++
					add(2, replayed)
				case s.Recorded != nil && s.Recorded[m][d].Den > 0:
					row.Sessions[0]++
					add(0, s.Recorded[m][d])
					add(1, replayed)
				}
			}
			if min(row.Sessions[0], row.Sessions[1]) < Fewest {
				continue
			}
			ratio := func(r interval.Ratio) exact.Decimal {
				return exact.Ratio(exact.Of(r.Num, measure.places), exact.Whole(r.Den), 6)
			}
			row.Recorded, row.Replayed, row.Predicted = ratio(all[0]), ratio(all[1]), ratio(all[2])
			off := interval.Difference(sums[2], sums[0])
			part := func(d exact.Decimal) exact.Decimal {
				return exact.Ratio(d, exact.Ratio(exact.Whole(all[0].Num), exact.Whole(all[0].Den), interval.Places), 4)
			}
			row.Off, row.Low, row.High = part(off.Value), part(off.Lower), part(off.Upper)
			rows = append(rows, row)
		}
	}
	return rows
}
