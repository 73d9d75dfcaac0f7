package cmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// figurePolicies are compared in TestFigures: each clears, compacts, fails or is refused in some shipped session.
func figurePolicies() []string {
	return []string{
		"recorded", "none", "claude-code-pipeline", "claude-code-collapse", "claude-code-2.1.193", "opencode-1.1.36", "gemini-cli-0.26", "anthropic-context-editing",
		"langchain-clear-tool-uses", "sliding-window-1.36",
	}
}

// TestFigures holds every figure of compare against one that is computed otherwise, from the requests, events, misses
// and findings of replay --format json, and the sums over sessions against those of their values.
func TestFigures(t *testing.T) {
	t.Parallel()
	files := must.Glob(t, 1, "../testdata/sessions/*.jsonl")
	checkFigures(t, figurePolicies(), append(files, "../testdata/sessions/subagent"))
}

func TestCorpusFigures(t *testing.T) {
	corpus := folderOf(t, "CTXKIT_CORPUS")
	checkFigures(t, figurePolicies()[:5], every(10, sessionFiles(t, corpus)))
}

func checkFigures(t *testing.T, policies, files []string) {
	t.Helper()
	var compared struct {
		Groups []struct {
			Feasible int `json:"feasible_sessions"`
			Policies []struct {
				Policy              string
				Infeasible          int `json:"infeasible_sessions"`
				Totals, Median, P90 map[string]json.Number
				Difference          map[string]json.Number
				Against             verdict
				Parts               []struct {
					Part string
					USD  json.Number
				} `json:"cost_difference"`
			}
			Each []struct {
				Session, Agent, File string
				Project              string
				Subagents            int
				Flags                []compare.Flag
				Figures              map[string]map[string]json.Number
			}
			Unseen struct{ Requests, Tokens, Carried [2]float64 }
		}
	}
	args := strings.Fields("compare --cache equal")
	for _, p := range policies {
		args = append(args, "-p", p)
	}
	ctxkitJSON(t, &compared, append(args, files...)...)
	figures, group := figureSums(), compared.Groups[0]
	for _, f := range compare.Figures() {
		if figures[f.Name].of == nil {
			t.Errorf("no independent computation of the figure %s: write one", f.Name)
		}
	}
	conversations, n := 0, 0
	parts := func(i int) int { // without the main conversation where that has no request
		if s := &group.Each[i]; s.Agent == "" || s.Subagents == 0 {
			return 1 + s.Subagents
		}
		return group.Each[i].Subagents
	}
	for i := range group.Each {
		conversations += parts(i)
	}
	replays := replaysOf(t, policies, files, conversations)
	for p, name := range policies {
		values := map[string][]weighed{}
		infeasible, from := 0, 0
		for i := range group.Each {
			r, refused, requests := &replays[p][from], 0, int64(0)
			conversations := replays[p][from : from+parts(i)] // of the session
			from += len(conversations)
			if group.Each[i].File != r.File {
				t.Fatalf("%s is compared in the place of %s", group.Each[i].File, r.File)
			}
			for k := range conversations {
				one := &conversations[k]
				refused += len(one.events("refuse", "block")) + len(one.findings("violation"))
				requests += int64(len(one.main()))
			}
			infeasible += min(refused, 1)
			for _, figure := range slices.Sorted(maps.Keys(figures)) {
				if !slices.Contains(compare.Names(), figure) {
					continue
				}
				want := figures[figure].together(conversations)
				got, known := group.Each[i].Figures[name][figure]
				if known != (want != nil) || known && number(t, got).Cmp(want) != 0 {
					t.Errorf("%s, %s: %s is %v, and %v by its parts", r.File, name, figure, got, ratText(want))
				}
				if n++; want != nil || !strings.HasPrefix(figure, "cost_") { // sums of cost leave out a session without a price
					values[figure] = append(values[figure], weighed{want, big.NewRat(requests, 1)})
				}
			}
		}
		row := group.Policies[p]
		if row.Infeasible != infeasible {
			t.Errorf("%s: infeasible in %d sessions, by requests and findings in %d", name, row.Infeasible, infeasible)
		}
		if p > 0 {
			var list []costed
			at := 0
			for i, s := range group.Each {
				from, to := at, at+parts(i)
				at = to
				one := func(policy, figure string) float64 {
					x, _ := s.Figures[policy][figure].Float64()
					return x
				}
				if slices.Contains(s.Flags, compare.FlagContradicted) || slices.ContainsFunc([]string{policies[0], name}, func(policy string) bool { return one(policy, "refused")+one(policy, "violations") > 0 }) {
					continue
				}
				c := costed{s.Project, one(policies[0], "cost_usd"), one(name, "cost_usd"), 0, [2]float64{}, [2]float64{}}
				if s.Figures[policies[0]]["cost_usd"] == "" || s.Figures[name]["cost_usd"] == "" {
					c.first, c.own, from = 0, 0, to // nothing is corrected there
				}
				if s.Figures[policies[0]][row.Against.Judged] != "" && s.Figures[name][row.Against.Judged] != "" {
					c.judged = [2]float64{one(policies[0], row.Against.Judged), one(name, row.Against.Judged)}
				}
				for ; from < to; from++ { // what compactions cause is by the policy that makes them, in each conversation
					part := func(policy int, figure string) float64 {
						x, _ := figures[figure].together(replays[policy][from : from+1]).Float64()
						return x
					}
					extra, more := part(p, "compactions")-part(0, "compactions"), p
					if extra < 0 {
						more = 0
					}
					c.extra += extra
					for i := range 2 {
						if extra != 0 {
							c.caused[i] += extra * part(more, "cost_usd") * (group.Unseen.Requests[i]/part(more, "requests") + group.Unseen.Tokens[i]*group.Unseen.Carried[i]/part(more, "payload_input"))
						}
					}
				}
				list = append(list, c)
			}
			row.Against.check(t, name, list)
		}
		// Under one cache the policies differ in what they send, break and call, and in nothing else.
		if p > 0 && row.Difference["cost_usd"] != "" {
			parts := new(big.Rat)
			for _, part := range row.Parts {
				if !slices.Contains([]string{"content", "breaks", "own calls"}, part.Part) {
					t.Errorf("%s differs in %s", name, part.Part)
				}
				parts.Add(parts, number(t, part.USD))
			}
			if want := number(t, row.Difference["cost_usd"]); parts.Cmp(want) != 0 {
				t.Errorf("%s: the parts of the difference are %s, it is %s", name, ratText(parts), ratText(want))
			}
		}
		for figure, list := range values {
			for what, x := range map[string]struct {
				got  map[string]json.Number
				want *big.Rat
			}{
				"total": {row.Totals, figures[figure].over(list)}, "median": {row.Median, quantileOf(figures[figure], list, 5)}, "p90": {row.P90, quantileOf(figures[figure], list, 9)},
			} {
				got, known := x.got[figure]
				if known != (x.want != nil) || known && number(t, got).Cmp(x.want) != 0 {
					t.Errorf("%s: the %s of %s is %v, and %v by its sessions", name, what, figure, got, ratText(x.want))
				}
			}
		}
	}
	t.Logf("%d figures", n)
}

// verdict is what compare concludes from a pair.
type verdict struct {
	Projects   int
	Judged     string
	Clustered  string  `json:"clustered_by"`
	Effective  float64 `json:"effective_clusters"`
	Range      struct{ Low, High float64 }
	Correction *struct {
		Stability string
		Extra     float64 `json:"extra_compactions"`
		Low       float64 `json:"low_usd"`
		High      float64 `json:"high_usd"`
		BreakEven float64 `json:"break_even_usd"`
	}
}

// costed is what a session costs under the first policy and under another one, with what its extra compactions cause.
type costed struct {
	project           string
	first, own, extra float64
	caused            [2]float64
	judged            [2]float64 // the figure that the verdict is about, of the first and the other; 0 where one is not known
}

// check holds a verdict against the sessions it is of.
func (v *verdict) check(t *testing.T, name string, list []costed) {
	t.Helper()
	close := func(what string, got, want, off float64) {
		if math.Abs(got-want) > off {
			t.Errorf("%s: %s is %v, and %v by its sessions", name, what, got, want)
		}
	}
	by := map[string]*costed{}
	all, low, high := costed{}, 0.0, 0.0
	for i, s := range list {
		key := s.project
		if v.Clustered == "session" {
			key = fmt.Sprint(i)
		}
		if by[key] == nil {
			by[key] = &costed{}
		}
		for _, sum := range []*costed{&all, by[key]} {
			sum.first, sum.own, sum.extra = sum.first+s.first, sum.own+s.own, sum.extra+s.extra
			for i := range 2 {
				sum.caused[i], sum.judged[i] = sum.caused[i]+s.caused[i], sum.judged[i]+s.judged[i]
			}
		}
	}
	clusters := slices.SortedFunc(maps.Values(by), func(a, b *costed) int { return cmp.Compare(b.judged[0], a.judged[0]) })
	squares, sum := 0.0, 0.0
	for _, c := range clusters {
		squares += c.judged[0] * c.judged[0] / all.judged[0] / all.judged[0]
	}
	for i, c := range clusters {
		if sum >= 0.9*all.judged[0] {
			break
		}
		sum += c.judged[0]
		share := c.judged[1]/c.judged[0] - 1
		if i == 0 {
			low, high = share, share
		}
		low, high = min(low, share), max(high, share)
	}
	close("effective clusters", v.Effective, 1/squares, 0.051)
	close("least of the range", v.Range.Low, low, 1e-5)
	close("most of the range", v.Range.High, high, 1e-5)
	k := v.Correction
	if k == nil {
		close("extra compactions", 0, all.extra, 0)
		return
	}
	plain := all.own - all.first
	corrected := []float64{plain + all.caused[0], plain + all.caused[1]}
	close("extra compactions", k.Extra, all.extra, 0)
	close("low", k.Low, corrected[0], 1e-4)
	close("high", k.High, corrected[1], 1e-4)
	if want := -plain / all.extra; all.extra != 0 && want > 0 {
		close("break-even", k.BreakEven, want, 1e-3)
	}
	want := "cannot_tell"
	switch {
	case corrected[0]*plain < 0:
		want = "flips"
	case corrected[1]*plain > 0 && (v.Clustered == "session" || !slices.ContainsFunc(clusters, func(c *costed) bool {
		return 5*c.first >= all.first && ((c.own-c.first+c.caused[0])*plain <= 0 || (c.own-c.first+c.caused[1])*plain <= 0)
	})):
		want = "holds"
	}
	if k.Stability != want {
		t.Errorf("%s: %s, and %s by its sessions", name, k.Stability, want)
	}
}

// replaysOf replays the sessions under each policy. The bound of each is that of the smallest budget, as one for all
// compared policies.
func replaysOf(t *testing.T, policies, files []string, sessions int) (list [][]rawTimeline) {
	t.Helper()
	for _, name := range policies {
		var replays struct{ Sessions []rawTimeline }
		ctxkitJSON(t, &replays, append([]string{"replay", "-p", name, "--regret", "--cache", "equal", "--agent", "all"}, files...)...)
		replays.Sessions = slices.DeleteFunc(replays.Sessions, func(r rawTimeline) bool { return len(r.Requests) == 0 })
		if len(replays.Sessions) != sessions {
			t.Fatalf("%s: %d sessions are replayed, %d compared", name, len(replays.Sessions), sessions)
		}
		list = append(list, replays.Sessions)
	}
	checkPrices(t, list)
	return list
}

// checkPrices holds the cost of each request against its tokens and the listed prices.
func checkPrices(t *testing.T, list [][]rawTimeline) {
	t.Helper()
	type rates struct {
		Input, Output json.Number
		Written       json.Number `json:"cache_write_5m"`
		WrittenLong   json.Number `json:"cache_write_1h"`
		CacheRead     json.Number `json:"cache_read"`
	}
	type period struct {
		rates
		Until string // the last day; "": today's
		Tier  *struct {
			Above int64 `json:"above_prompt_tokens"`
			rates
		}
	}
	var prices struct {
		Models []struct {
			ID string
			period
			Earlier []period
		}
	}
	ctxkitJSON(t, &prices, "prices")
	for _, timelines := range list {
		for i := range timelines {
			for n := range timelines[i].Requests {
				q := &timelines[i].Requests[n]
				day := "" // of a call of the policy's own that of the request after it
				for later := n; later < len(timelines[i].Requests) && day == ""; later++ {
					day = timelines[i].Requests[later].Time
				}
				at, length := rates{}, 0
				for _, m := range prices.Models {
					if strings.HasPrefix(strings.ReplaceAll(q.Model, ".", "-"), m.ID) && len(m.ID) > length {
						then := m.period
						for _, p := range slices.Backward(m.Earlier) {
							if day != "" && day[:len(time.DateOnly)] <= p.Until {
								then = p
							}
						}
						if at, length = then.rates, len(m.ID); then.Tier != nil && q.Payload > then.Tier.Above {
							at = then.Tier.rates
						}
					}
				}
				if q.Cost == "" {
					continue
				}
				if length == 0 {
					t.Fatalf("%s, request %d: a cost of the model %q, which has no price", timelines[i].File, n, q.Model)
				}
				sum, c := new(big.Rat), &q.Cache
				for tokens, price := range map[*int64]json.Number{
					&c.Read: at.CacheRead, &c.Written: at.Written, &c.WrittenLong: at.WrittenLong, &c.Uncached: at.Input, &q.Output: at.Output,
				} {
					x := number(t, price)
					sum.Add(sum, x.Mul(x, big.NewRat(*tokens, 1_000_000)))
				}
				if sum.Cmp(number(t, q.Cost)) != 0 {
					t.Errorf("%s, request %d: %s, by its tokens %s", timelines[i].File, n, q.Cost, ratText(sum))
				}
			}
		}
	}
}

// rawTimeline is what the figures are computed from; of the totals it has what no event or request says alone.
type rawTimeline struct {
	File   string
	Totals struct {
		NotReadBack   int64 `json:"not_read_back"`
		ClearedTokens int64 `json:"cleared_tokens"`
	}
	Requests []rawRequest
	Events   []struct {
		Request     *int
		Stage, Kind string
		Trigger     string
		Before      int64 `json:"tokens_before"`
		Saved       int64 `json:"tokens_saved"`
		Results     int
		Detail      map[string]int64
		Targets     []struct {
			Message string
			ToolUse string `json:"tool_use_id"`
		}
	}
	Regret struct {
		Misses []struct {
			Tokens   int64
			Removed  int64 `json:"removed_request"`
			Needed   int64 `json:"needed_request"`
			Evidence string
			USD      json.Number
		}
		Removed int64 `json:"removed_blocks"`
	}
	Findings []struct{ Kind string }
}

type rawRequest struct {
	Kind, Model, Time string
	Raw               int64 `json:"raw_tokens"`
	View              int64 `json:"model_tokens"`
	Payload           int64 `json:"payload_tokens"`
	Output            int64 `json:"output_tokens"`
	Cache             struct {
		Read        int64
		Written     int64 `json:"write_5m"`
		WrittenLong int64 `json:"write_1h"`
		Uncached    int64
	}
	Cost  json.Number `json:"cost_usd"`
	Parts struct {
		Ideal, Breaks, Lifetime, Placement, Output json.Number
		Own                                        json.Number `json:"own_calls"`
	} `json:"cost_parts"`
}

func (r *rawTimeline) main() (list []rawRequest) {
	for _, q := range r.Requests {
		if q.Kind == "main" {
			list = append(list, q)
		}
	}
	return list
}

// events are the indexes of the events of some kinds.
func (r *rawTimeline) events(kinds ...string) (list []int) {
	for i := range r.Events {
		if slices.Contains(kinds, r.Events[i].Kind) {
			list = append(list, i)
		}
	}
	return list
}

func (r *rawTimeline) findings(kind string) (list []int) {
	for i := range r.Findings {
		if r.Findings[i].Kind == kind {
			list = append(list, i)
		}
	}
	return list
}

// thrashing is, of the compactions in their order, which freed less than a tenth of what they read.
func (r *rawTimeline) thrashing() (list []bool) {
	for _, i := range r.events("summarize") {
		list = append(list, 10*r.Events[i].Saved < r.Events[i].Before)
	}
	return list
}

// cleared counts the results that stay cleared: what only the server clears, its stage may give back. Of an event that
// changes fewer results than it names, the others stay as they were.
func (r *rawTimeline) cleared() int64 {
	by, unchanged := map[[2]string]bool{}, 0
	for _, i := range r.events("clear", "persist", "server_clear", "cache_edit", "server_keep") {
		e, stage := &r.Events[i], ""
		if e.Kind == "server_clear" || e.Kind == "cache_edit" || e.Kind == "server_keep" {
			stage = e.Stage
		}
		if e.Results == 0 {
			continue // inputs of tools
		}
		named := map[string]bool{}
		for _, t := range e.Targets {
			named[t.ToolUse] = true
			if e.Kind == "server_keep" {
				delete(by, [2]string{stage, t.ToolUse})
			} else {
				by[[2]string{stage, t.ToolUse}] = true
			}
		}
		unchanged += max(len(named)-e.Results, 0)
	}
	results := map[string]bool{}
	for k := range by {
		results[k[1]] = true
	}
	return int64(len(results) - unchanged)
}

// clearedTokens is what edits of single blocks took off the payload: what their events saved. A block that is cleared
// in what is sent, and later in the model view too, comes off once: there the payload itself says what came off. Of what
// a restarted client did not read back then, the timeline states how much had been cleared: no event does.
func (r *rawTimeline) clearedTokens() (n int64) {
	blocks := r.events("clear", "persist", "truncate", "server_clear", "cache_edit", "server_keep")
	saved, other, unread := map[int]int64{}, map[int]int64{}, map[int]int64{} // by request
	sent, again := map[string]bool{}, map[int]bool{}
	for i := range r.Events {
		e, at := &r.Events[i], len(r.main())+1
		if e.Request != nil {
			at = *e.Request
		}
		// What the server leaves out, or a client does not read back, is not the policy's.
		if !slices.Contains(blocks, i) || e.Stage == "server" || e.Trigger == "restart" {
			if other[at] += e.Saved; e.Trigger == "restart" {
				unread[at] += e.Saved
			}
			continue
		}
		saved[at] += e.Saved
		for _, t := range e.Targets {
			if e.Kind == "cache_edit" || e.Kind == "server_clear" {
				sent[t.ToolUse] = true
			} else if e.Kind != "server_keep" && sent[t.ToolUse] {
				again[at] = true
			}
		}
	}
	off, most := int64(0), int64(0)
	for k, q := range r.main() {
		now := q.Raw - q.Payload
		if again[k+1] {
			n += now - off - other[k+1]
			most += unread[k+1]
		} else {
			n += saved[k+1]
		}
		off = now
	}
	n += saved[len(r.main())+1]
	return max(n, min(r.Totals.ClearedTokens, n+most))
}

// saved is what the payloads of main requests are smaller than raw, but for what a restarted client did not read back.
// The timeline states that sum: it is at most what the events of restarts took off the view, in each request until the
// next compaction.
func (r *rawTimeline) saved() (n int64) {
	missing, most, i := int64(0), int64(0), 0
	for k, q := range r.main() {
		for ; i < len(r.Events) && r.Events[i].Request != nil && *r.Events[i].Request <= k+1; i++ {
			switch e := &r.Events[i]; {
			case e.Kind == "summarize":
				missing = 0
			case e.Trigger == "restart":
				missing += e.Saved
			}
		}
		most += missing
		n += q.Raw - q.Payload
	}
	return n - min(max(r.Totals.NotReadBack, 0), most)
}

// weighed is a session's value, nil where it is not known, and its requests.
type weighed struct{ x, requests *big.Rat }

// figureSum computes a figure of one session, and of several.
type figureSum struct {
	of   func(r *rawTimeline) *big.Rat
	over func(list []weighed) *big.Rat
}

// together is the figure of a session's conversations.
func (f figureSum) together(list []rawTimeline) *big.Rat {
	var all []weighed
	places := 0
	for i := range list {
		x := f.of(&list[i])
		for x != nil && roundRat(x, places).Cmp(x) != 0 {
			places++
		}
		all = append(all, weighed{x, big.NewRat(int64(len(list[i].main())), 1)})
	}
	x := f.over(all)
	if x == nil || len(list) == 1 {
		return all[0].x
	}
	return roundRat(x, places)
}

func sumOver(list []weighed) *big.Rat {
	sum := new(big.Rat)
	for _, w := range list {
		if w.x == nil {
			return nil
		}
		sum.Add(sum, w.x)
	}
	return sum
}

func highestOver(list []weighed) (most *big.Rat) {
	for _, w := range list {
		if w.x != nil && (most == nil || w.x.Cmp(most) > 0) {
			most = w.x
		}
	}
	return most
}

// meanOver is weighted by requests, with three decimals.
func meanOver(list []weighed) *big.Rat {
	sum, weight := new(big.Rat), new(big.Rat)
	for _, w := range list {
		if w.x != nil {
			sum.Add(sum, new(big.Rat).Mul(w.x, w.requests))
			weight.Add(weight, w.requests)
		}
	}
	if weight.Sign() == 0 {
		return nil
	}
	return roundRat(sum.Quo(sum, weight), 3)
}

// roundRat rounds a number that is not below zero, half up.
func roundRat(x *big.Rat, places int) *big.Rat {
	out, _ := new(big.Rat).SetString(x.FloatString(places)) // rounds half away from zero
	return out
}

// quantileOf is what so many tenths of the sessions are below, by linear interpolation.
func quantileOf(f figureSum, list []weighed, tenths int64) *big.Rat {
	var known []*big.Rat
	for _, w := range list {
		if w.x != nil {
			known = append(known, w.x)
		}
	}
	if len(known) == 0 || f.over(list) == nil {
		return nil
	}
	slices.SortFunc(known, (*big.Rat).Cmp)
	at := tenths * int64(len(known)-1)
	low := known[at/10]
	if at%10 == 0 {
		return low
	}
	step := new(big.Rat).Sub(known[at/10+1], low)
	return step.Mul(step, big.NewRat(at%10, 10)).Add(step, low)
}

func whole(n int64) *big.Rat { return big.NewRat(n, 1) }

func number(t *testing.T, n json.Number) *big.Rat {
	t.Helper()
	x, ok := new(big.Rat).SetString(n.String())
	if !ok {
		t.Fatalf("%q is no number", n)
	}
	return x
}

func ratText(x *big.Rat) string {
	if x == nil {
		return "not known"
	}
	return x.FloatString(9)
}

// figureSums computes each figure.
func figureSums() map[string]figureSum {
	list := map[string]figureSum{}
	sum := func(name string, of func(r *rawTimeline) int64) {
		list[name] = figureSum{func(r *rawTimeline) *big.Rat { return whole(of(r)) }, sumOver}
	}
	overAll := func(name string, of func(q *rawRequest) int64) {
		sum(name, func(r *rawTimeline) (n int64) {
			for i := range r.Requests {
				n += of(&r.Requests[i])
			}
			return n
		})
	}
	peak := func(name string, of func(q *rawRequest) int64) {
		list[name] = figureSum{func(r *rawTimeline) *big.Rat {
			most := int64(0)
			for _, q := range r.main() {
				most = max(most, of(&q))
			}
			return whole(most)
		}, highestOver}
	}
	mean := func(name string, of func(q *rawRequest) int64) {
		list[name] = figureSum{func(r *rawTimeline) *big.Rat {
			n := int64(0)
			for _, q := range r.main() {
				n += of(&q)
			}
			return roundRat(big.NewRat(n, max(int64(len(r.main())), 1)), 0)
		}, meanOver}
	}
	usd := func(name string, of func(q *rawRequest) json.Number) {
		list[name] = figureSum{func(r *rawTimeline) *big.Rat {
			n := new(big.Rat)
			for i := range r.Requests {
				q := &r.Requests[i]
				if q.Cost == "" {
					return nil
				}
				x, _ := new(big.Rat).SetString(of(q).String())
				n.Add(n, x)
			}
			return n
		}, sumOver}
	}
	events := func(name string, kinds ...string) {
		sum(name, func(r *rawTimeline) int64 { return int64(len(r.events(kinds...))) })
	}
	findings := func(name, kind string) {
		sum(name, func(r *rawTimeline) int64 { return int64(len(r.findings(kind))) })
	}
	detail := func(name string, keys ...string) {
		sum(name, func(r *rawTimeline) (n int64) {
			for i := range r.Events {
				for _, k := range keys {
					n += r.Events[i].Detail[k]
				}
			}
			return n
		})
	}
	raw := func(q *rawRequest) int64 { return q.Raw }
	view := func(q *rawRequest) int64 { return q.View }
	payload := func(q *rawRequest) int64 { return q.Payload }
	mainOnly := func(of func(q *rawRequest) int64) func(q *rawRequest) int64 {
		return func(q *rawRequest) int64 {
			if q.Kind != "main" {
				return 0
			}
			return of(q)
		}
	}
	overAll("requests", mainOnly(func(*rawRequest) int64 { return 1 }))
	overAll("calls", func(*rawRequest) int64 { return 1 })
	peak("raw_peak", raw)
	peak("model_peak", view)
	mean("model_mean", view)
	peak("payload_peak", payload)
	mean("payload_mean", payload)
	overAll("payload_input", payload)
	overAll("own_input", func(q *rawRequest) int64 { return payload(q) - mainOnly(payload)(q) })
	sum("tokens_saved", (*rawTimeline).saved)
	overAll("output_tokens", func(q *rawRequest) int64 { return q.Output })
	overAll("cache_read", func(q *rawRequest) int64 { return q.Cache.Read })
	overAll("cache_write_5m", func(q *rawRequest) int64 { return q.Cache.Written })
	overAll("cache_write_1h", func(q *rawRequest) int64 { return q.Cache.WrittenLong })
	overAll("uncached", func(q *rawRequest) int64 { return q.Cache.Uncached })
	usd("cost_usd", func(q *rawRequest) json.Number { return q.Cost })
	usd("cost_ideal", func(q *rawRequest) json.Number { return q.Parts.Ideal })
	usd("cost_breaks", func(q *rawRequest) json.Number { return q.Parts.Breaks })
	usd("cost_lifetime", func(q *rawRequest) json.Number { return q.Parts.Lifetime })
	usd("cost_placement", func(q *rawRequest) json.Number { return q.Parts.Placement })
	usd("cost_own_calls", func(q *rawRequest) json.Number { return q.Parts.Own })
	usd("cost_output", func(q *rawRequest) json.Number { return q.Parts.Output })
	events("refused", "refuse", "block")
	events("blocked", "block")
	events("compactions", "summarize")
	events("failed_compactions", "fail")
	sum("thrash", func(r *rawTimeline) (n int64) {
		for _, thrashes := range r.thrashing() {
			if thrashes {
				n++
			}
		}
		return n
	})
	list["thrash_run"] = figureSum{func(r *rawTimeline) *big.Rat {
		most, run := int64(0), int64(0)
		for _, thrashes := range r.thrashing() {
			if run++; !thrashes {
				run = 0
			}
			most = max(most, run)
		}
		return whole(most)
	}, highestOver}
	sum("cleared_results", (*rawTimeline).cleared)
	sum("cleared_tokens", (*rawTimeline).clearedTokens)
	detail("client_pre_tokens", "pre_tokens")
	logged := list["client_pre_tokens"].of
	list["client_pre_tokens"] = figureSum{func(r *rawTimeline) *big.Rat {
		for i := range r.Events {
			if e := &r.Events[i]; e.Stage == "recorded" && e.Kind == "summarize" && e.Detail["pre_tokens"] == 0 {
				return nil
			}
		}
		return logged(r)
	}, sumOver}
	detail("client_tokens_saved", "tokens_saved", "cleared_input_tokens")
	sum("events", func(r *rawTimeline) int64 { return int64(len(r.Events)) })
	findings("violations", "violation")
	findings("preserved_thinking", "preserved_thinking")
	regretSums(list, sum)
	return list
}

// regretSums computes the figures of regret. How many blocks were removed is in no row: it is taken as the replay says it.
func regretSums(list map[string]figureSum, sum func(name string, of func(r *rawTimeline) int64)) {
	misses := func(name, evidence string) {
		sum(name, func(r *rawTimeline) (n int64) {
			for _, m := range r.Regret.Misses {
				if evidence == "" || m.Evidence == evidence {
					n++
				}
			}
			return n
		})
	}
	misses("misses", "")
	misses("misses_reread", "re-read")
	misses("misses_edit", "edit")
	misses("misses_quote", "quote")
	sum("removed_blocks", func(r *rawTimeline) int64 { return r.Regret.Removed })
	sum("refetch_tokens", func(r *rawTimeline) (n int64) {
		for _, m := range r.Regret.Misses {
			n += m.Tokens
		}
		return n
	})
	list["refetch_usd"] = figureSum{func(r *rawTimeline) *big.Rat {
		n := new(big.Rat)
		for _, m := range r.Regret.Misses {
			x, ok := new(big.Rat).SetString(m.USD.String())
			if !ok {
				return nil
			}
			n.Add(n, x)
		}
		return n
	}, sumOver}
	list["median_distance"] = figureSum{func(r *rawTimeline) *big.Rat {
		var distances []int64
		for _, m := range r.Regret.Misses {
			distances = append(distances, m.Needed-m.Removed)
		}
		if len(distances) == 0 {
			return nil
		}
		slices.Sort(distances)
		return big.NewRat(distances[(len(distances)-1)/2]+distances[len(distances)/2], 2)
	}, meanOver}
}
