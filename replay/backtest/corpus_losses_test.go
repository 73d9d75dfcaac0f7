package backtest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/internal/account"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/report/golden"
)

// lossGroups are the clients and providers whose losses are measured, and any other.
var lossGroups = []cache.Losses{
	{Client: session.Product, Families: []string{""}}, {Families: []string{"gpt", "codex", "o1", "o3", "o4"}}, {Families: []string{"gemini"}}, {Families: []string{""}},
}

// idleBounds are the classes of idle time, seconds.
var idleBounds = []int{30, 60, 300, 0}

// measured is what a session shows of one group: by idle time.
type measured struct {
	author     string
	product    string
	group      int
	read, lost [4]int64
	whole      [4]int64 // what the read tokens would cost more if none were read, nano USD
	requests   [4]int
	fit        account.CacheFit
}

// TestCorpusLosses measures losses.json and markers.json over all sessions, and scores losses.json with each author left out. A group whose cost is not nearer
// to the recorded one with the loss expected from other authors has no loss in the table.
func TestCorpusLosses(t *testing.T) {
	kinds := must.Get(cache.DefaultKinds())(t)
	var all []measured
	marked := make([]map[string][2]int, len(kinds.Markers)) // by author: requests with the marker, and misses
	for _, env := range []string{"CTXKIT_CORPUS", "CTXKIT_MORE", "CTXKIT_CODEX", "CTXKIT_AGENTS"} {
		dir := os.Getenv(env)
		if dir == "" {
			t.Skip(env + " names no folder of real sessions")
		}
		must.Do(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".gz") || strings.Contains(path, "copilot") {
				return err
			}
			f, err := session.Load(path, session.LoadOptions{})
			if err != nil {
				t.Logf("%v", err)
				return nil
			}
			if conv := f.Main; len(conv.Requests) > 0 {
				tl := recorded(t, conv)
				all = append(all, measure(conv, tl)...)
				for i := range kinds.Markers {
					countMarker(&kinds.Markers[i], &marked[i], conv, tl)
				}
			}
			return nil
		}))
	}
	table := lossesOf(all)
	for group, better := range leaveAuthorsOut(t, all) {
		if !better {
			table[group].Lower, table[group].Upper, table[group].Idle = 0, 0, nil
		}
	}
	text := must.Get(json.MarshalIndent(table, "", " "))(t)
	golden.Check(t, filepath.Join("..", "cache", "losses.json"), append(text, '\n'))
	markers := slices.Clone(kinds.Markers)
	for i := range markers {
		summarizeMarker(&markers[i], marked[i])
	}
	text = must.Get(json.MarshalIndent(markers, "", " "))(t)
	golden.Check(t, filepath.Join("..", "cache", "markers.json"), append(text, '\n'))
}

// countMarker counts the requests of a session that the simulation expects to miss by a marker, and those that missed. A new version
// of the client has other tools without it.
func countMarker(m *cache.Marker, of *map[string][2]int, conv *session.Conversation, tl *replay.Timeline) {
	if m.Client != conv.Product || tl.InsteadOfUsage() {
		return
	}
	for p := range backtest.CachePoints(tl) {
		if p.Cause.Kind != m.Cause || p.Unexplained() || !p.Broke && !p.FalseAlarm() || conv.Response(p.N-1).Version != conv.Response(p.N-2).Version {
			continue
		}
		if *of == nil {
			*of = map[string][2]int{}
		}
		n := (*of)[backtest.AuthorOf(conv)]
		n[0]++
		if p.Broke {
			n[1]++
		}
		(*of)[backtest.AuthorOf(conv)] = n
	}
}

// summarizeMarker adds up the counts of authors, and finds the lowest rate without one of them.
func summarizeMarker(m *cache.Marker, of map[string][2]int) {
	m.Requests, m.Misses, m.Authors, m.LeftOut = 0, 0, len(of), 0
	for _, n := range of {
		m.Requests += n[0]
		m.Misses += n[1]
	}
	lowest := 100
	for _, n := range of {
		if others := m.Requests - n[0]; others > 0 {
			lowest = min(lowest, 100*(m.Misses-n[1])/others)
		}
	}
	if m.Authors > 1 {
		m.LeftOut = lowest
	}
}

func measure(conv *session.Conversation, tl *replay.Timeline) (list []measured) {
	list = make([]measured, len(lossGroups))
	for i := range list {
		list[i].author, list[i].product, list[i].group = backtest.AuthorOf(conv), conv.Product, i
	}
	kinds := cache.KindTable{Losses: slices.Clone(lossGroups)}
	for i := range kinds.Losses {
		kinds.Losses[i].Authors, kinds.Losses[i].Idle = i, []cache.IdleLoss{{Share: 1e6}}
	}
	for i := range tl.Requests {
		r := &tl.Requests[i]
		if r.Kind != "main" || r.Recorded == nil {
			continue
		}
		m := &list[kinds.LossesOf(conv.Product, price.Normalize(conv.Response(r.N-1).Model)).Authors]
		one := account.FitOf(conv, tl.Requests[i:i+1], price.Default(), &kinds)
		m.fit.Add(one)
		if r.Cache.Miss != nil {
			continue
		}
		at := slices.IndexFunc(idleBounds, func(s int) bool { return s == 0 || account.Idle(conv, r.N).Seconds() < float64(s) })
		m.requests[at]++
		m.whole[at] += one.Expected.Nano
		m.read[at] += int64(r.Cache.Read)
		m.lost[at] += int64(r.Cache.Read - r.Recorded.CacheRead)
	}
	return slices.DeleteFunc(list, func(m measured) bool { return m.fit.Requests == 0 })
}

// of reports whether a session counts for a group: for any other, all do but Claude Code's.
func (m *measured) of(group int) bool {
	return m.group == group || group == len(lossGroups)-1 && m.group > 0
}

// lossesOf is the table of some sessions.
func lossesOf(all []measured) (table []cache.Losses) {
	for group, l := range lossGroups {
		authors := map[string]bool{}
		var read, lost [4]int64
		var requests [4]int
		for i := range all {
			m := &all[i]
			if !m.of(group) {
				continue
			}
			l.Sessions++
			authors[m.author] = true
			for k := range idleBounds {
				read[k], lost[k], requests[k] = read[k]+m.read[k], lost[k]+m.lost[k], requests[k]+m.requests[k]
			}
		}
		l.Authors = len(authors)
		for k, s := range idleBounds {
			share := 0
			if read[k] > 0 {
				share = max(int(lost[k]*1e6/read[k]), 0)
			}
			l.Idle = append(l.Idle, cache.IdleLoss{Seconds: s, Requests: requests[k], Share: share})
		}
		l.Lower, l.Upper = boundsOf(all, group, &l)
		table = append(table, l)
	}
	return table
}

// boundsOf are the bounds within which the authors of 90 % of what is read lost, % of what they were expected to.
func boundsOf(all []measured, group int, l *cache.Losses) (lower, upper int) {
	type author struct{ read, lost, expected int64 }
	of := map[string]author{}
	var whole int64
	for i := range all {
		if m := &all[i]; m.of(group) {
			a := of[m.author]
			for k := range idleBounds {
				a.read += m.read[k]
				a.lost += m.lost[k]
				a.expected += m.read[k] * int64(l.Idle[k].Share) / 1e6
				whole += m.read[k]
			}
			of[m.author] = a
		}
	}
	share := func(a author) int64 { return max(100*a.lost/max(a.expected, 1), 0) }
	list := slices.SortedFunc(maps.Values(of), func(a, b author) int { return cmp.Or(cmp.Compare(share(a), share(b)), cmp.Compare(a.read, b.read)) })
	before := int64(0)
	for _, a := range list {
		if before*20 <= whole {
			lower = int(share(a))
		}
		if before*20 < 19*whole {
			upper = int(share(a))
		}
		before += a.read
	}
	return min(lower, 100), max(upper, 100)
}

// leaveAuthorsOut says how far the cost of each author's input is off, by the simulation and with the loss that the sessions of
// others make expected. By group: whether the cost in sum is nearer to the recorded one with the expected loss.
func leaveAuthorsOut(t *testing.T, all []measured) (better []bool) {
	type fold struct{ author, product string }
	folds := map[fold][]measured{}
	for _, m := range all {
		if m.fit.Billed.Known {
			folds[fold{m.author, m.product}] = append(folds[fold{m.author, m.product}], m)
		}
	}
	products, groups := map[string][5]float64{}, make([][5]float64, len(lossGroups))
	for of, list := range folds {
		table := lossesOf(slices.DeleteFunc(slices.Clone(all), func(m measured) bool { return m.author == of.author }))
		var sum [5]float64 // recorded, simulated, expected, and its bounds
		for _, m := range list {
			l := &table[m.group]
			if l.Sessions == 0 {
				l = &table[len(table)-1]
			}
			expected := 0.0
			for k := range m.whole {
				expected += float64(m.whole[k]) * float64(l.Idle[k].Share) / 1e6
			}
			simulated := float64(m.fit.Simulated.Nano)
			one := [5]float64{float64(m.fit.Billed.Nano), simulated, simulated + expected, simulated + expected*float64(l.Lower)/100, simulated + expected*float64(l.Upper)/100}
			sum = added(sum, one)
			for group := range groups {
				if m.of(group) {
					groups[group] = added(groups[group], one)
				}
			}
		}
		log(t, of.product+" "+of.author, len(list), &sum)
		products[of.product] = added(products[of.product], sum)
	}
	for product, sum := range products {
		log(t, product, 0, &sum)
	}
	for group, sum := range groups {
		log(t, fmt.Sprint("group ", group), 0, &sum)
		better = append(better, math.Abs(sum[2]-sum[0]) < math.Abs(sum[1]-sum[0]))
	}
	return better
}

func added(a, b [5]float64) [5]float64 {
	for i := range a {
		a[i] += b[i]
	}
	return a
}

func log(t *testing.T, of string, n int, sum *[5]float64) {
	off := func(i int) float64 { return 100 * (sum[i]/sum[0] - 1) }
	t.Logf("%s: %d sessions, recorded %.2f USD: simulated %+.1f %%, with the expected loss %+.1f %% (%+.1f to %+.1f)", of, n, sum[0]/1e9, off(1), off(2), off(3), off(4))
}
