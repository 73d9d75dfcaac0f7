package main

import "github.com/ctxkit/ctxkit/replay"

// The policies of the article: observation masking in steps of so many results, and of one where the cache is cold.
var (
	maskSteps = []string{"1", "2", "5", "10", "20", "50", "100"}
	whenCold  = "1, only when cold"
)

const (
	// maskResults is how many results stay.
	maskResults = "10"
	// asWindow is wide enough for every request of every session, tokens.
	asWindow = "1000000"
	// asModel is a model whose provider caches every prefix unasked.
	asModel = "gpt-5.5"
)

// cacheKind is a prompt cache under which masking is tried.
type cacheKind struct {
	key, title string
	of         *corpus
	args       []string
}

// masking compares observation masking with none, by its step and by the kind of prompt cache.
func masking(src *sources) (*article, error) {
	a := &article{title: "Observation masking under three kinds of prompt cache"}
	none := []string{"--cache", string(replay.CacheNone)}
	kinds := []cacheKind{
		{"none", "no cache", src.claude, none},
		{"breakpoints", "breakpoints", src.claude, nil},
		{"prefix", "automatic prefix", src.claude, []string{"--model", asModel}},
		{"more-none", "no cache, second", src.more, none},
		{"more-breakpoints", "breakpoints, second", src.more, nil},
		{"codex-none", "no cache, Codex CLI", src.codex, none},
		{"codex-prefix", "automatic prefix, Codex CLI", src.codex, nil},
	}
	picture := &chart{name: "masking", title: "Cost of observation masking, by how many results are masked at once", axis: "cost as a multiple of that without masking", ratio: true}
	turns := newTable("masking-turns", column{"cache", "cache"}, column{"step", "smallest step that costs less"}, column{"change", "cost"}, column{"low", "from"}, column{"high", "to"})
	for i, k := range kinds {
		t, err := maskTable("masking-"+k.key, k)
		if err != nil {
			return nil, err
		}
		a.addTable(t)
		if err := t.turn(turns, k.title); err != nil {
			return nil, err
		}
		if i < pictured {
			for _, r := range t.rows {
				picture.rows = append(picture.rows, markOf(k.title+", "+r[0].raw, r[1:4], i))
			}
			picture.rows = append(picture.rows, mark{})
		}
	}
	setting := newTable("masking-setting", column{"what", "what"}, column{"value", "value"})
	for _, s := range [][2]string{{"results that stay", maskResults}, {"window", grouped(asWindow)}, {"model with an automatic prefix cache", asModel}} {
		setting.add(text(s[0]), text(s[1]))
	}
	a.addTable(turns, setting)
	return a, a.addChart(picture)
}

// pictured is how many of the caches are drawn.
const pictured = 3

// turn adds to a table the smallest step with which masking costs less, by its interval.
func (t *table) turn(to *table, title string) error {
	for _, r := range t.rows {
		if r[0].raw == whenCold {
			continue
		}
		verdict, err := t.verdict(r[0].raw)
		if err != nil {
			return err
		}
		if verdict == lower {
			to.add(append([]cell{text(title), r[0]}, r[1:4]...)...)
			return nil
		}
	}
	to.add(text(title), blank, blank, blank, blank)
	return nil
}

// maskTable has the differences of masking to none: in cost with its parts, and in what is sent.
func maskTable(name string, k cacheKind) (*table, error) {
	policies := []string{"none"}
	for _, step := range maskSteps {
		policies = append(policies, "mask,mask.keep="+maskResults+",mask.step="+step)
	}
	policies = append(policies, "mask,mask.keep="+maskResults+",mask.step=1,mask.when=cold")
	all, err := compareIn(k.of, policies, append([]string{"--window", asWindow}, k.args...)...)
	if err != nil {
		return nil, err
	}
	costs, err := costTable(name, all)
	if err != nil {
		return nil, err
	}
	t := newTable(name, column{"step", "step, results"}, column{"change", "cost"}, column{"low", "from"}, column{"high", "to"},
		column{"times", "cost, multiple"}, column{"content", "content"}, column{"breaks", "breaks"}, column{"sent", "sent"},
		column{"lower", "lower"}, column{"even", "even"}, column{"higher", "higher"}, column{"masked", "results masked"}, column{"misses", "misses"}, column{"excluded", "left out"})
	for i := range costs.rows {
		step := whenCold
		if i < len(maskSteps) {
			step = maskSteps[i]
		}
		p := all.Policies[i+1].Policy
		list := all.common("none", p)
		get := func(col string) cell {
			c, _ := costs.at(p, col) // it has a row for each policy
			return c
		}
		times := blank
		if c := get("change"); c.known {
			times = number(1+c.value, 2)
		}
		t.add(text(step), get("change"), get("low"), get("high"), times, get("content"), get("breaks"), get("sent"), get("lower"), get("even"), get("higher"),
			whole(sum(list, p, "cleared_results")), whole(sum(list, p, "misses")), count(len(all.Each)-len(list)))
	}
	return t, nil
}
