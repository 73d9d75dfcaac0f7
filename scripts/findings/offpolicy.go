package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/interval"
)

// The strategies of The Complexity Trap, as its files call them.
const (
	rawAgent = "Raw Agent"
	masked   = "Observation Masking"
	summary  = "LLM-Summary"
)

// What the experiments set, and what a prediction has to assume. Turns, and tokens.
const (
	maskKeeps    = 10 // newest observations that stay
	summaryKeeps = 10 // newest turns that stay
	summaryTakes = 21 // turns that become a summary at once
	placeholder  = 10 // of a masked observation; an assumption
	summarySize  = policy.DefaultSummaryTokens
)

// trial is one run of an agent on one task.
type trial struct {
	instance           string
	turns              float64
	prompt, completion float64 // mean of its turns, tokens
	cost               float64
	solved             bool
}

func (t *trial) total() float64 { return t.turns * t.prompt }

// trials are runs by model, strategy and instance.
type trials map[string]map[string]map[string]trial

// readTrials reads a CSV file of per-instance figures. name says whose runs an experiment's are; "" leaves it out.
func readTrials(path string, name func(line map[string]string) (model, strategy string)) (all trials, rows, silent int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, 0, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || len(lines) < 2 {
		return nil, 0, 0, fmt.Errorf("%s: %d lines: %w", filepath.Base(path), len(lines), err)
	}
	all = trials{}
	for n, values := range lines[1:] {
		line := map[string]string{}
		for i, key := range lines[0] {
			line[key] = values[i]
		}
		model, strategy := name(line)
		if model == "" {
			continue
		}
		t := trial{instance: line["instance_id"], solved: line["outcome"] == "1"}
		for key, to := range map[string]*float64{"turn_count": &t.turns, "mean_prompt_tokens": &t.prompt, "mean_completion_tokens": &t.completion, "cost": &t.cost} {
			if *to, err = strconv.ParseFloat(line[key], 64); err != nil {
				return nil, 0, 0, fmt.Errorf("%s: line %d: %s: %w", filepath.Base(path), n+2, key, err)
			}
		}
		if t.turns < 1 || t.prompt <= 0 {
			silent++ // nothing was sent
			continue
		}
		if all[model] == nil {
			all[model] = map[string]map[string]trial{}
		}
		if all[model][strategy] == nil {
			all[model][strategy] = map[string]trial{}
		}
		all[model][strategy][t.instance] = t
	}
	return all, len(lines) - 1, silent, nil
}

// models are the models of the experiments with SWE-agent: a part of an experiment's name, and a title.
var models = [][2]string{
	{"gemini_2.5_flash_thinking", "Gemini 2.5 Flash, thinking"},
	{"gemini_2.5_flash", "Gemini 2.5 Flash"},
	{"Qwen3-32B_thinking", "Qwen3 32B, thinking"},
	{"qwen3-32b", "Qwen3 32B"},
	{"Qwen3-Coder_480B", "Qwen3-Coder 480B"},
}

func sweAgent(line map[string]string) (model, strategy string) {
	if strings.Contains(line["experiment"], "combined") { // hybrids, on a tenth of the tasks
		return "", ""
	}
	for _, m := range models {
		if strings.Contains(line["experiment"], m[0]) {
			return m[1], line["strategy"]
		}
	}
	return "", ""
}

// pair are two runs on one task.
type pair struct{ a, b trial }

// paired are the tasks that both have, in the order of their names.
func paired(a, b map[string]trial) (list []pair) {
	for name, t := range a {
		if o, ok := b[name]; ok {
			list = append(list, pair{t, o})
		}
	}
	slices.SortFunc(list, func(x, y pair) int { return strings.Compare(x.a.instance, y.a.instance) })
	return list
}

// ratio is the interval, over tasks, of a ratio of sums, less 1.
func ratio(list []pair, of func(p *pair) (num, den float64)) interval.Interval {
	rs := make([]interval.Ratio, len(list))
	for i := range list {
		num, den := of(&list[i])
		rs[i] = interval.Ratio{Num: int64(math.Round(num)), Den: int64(math.Round(den))}
	}
	return lessOne(interval.Of(rs))
}

// lessOne turns a ratio into a change.
func lessOne(i interval.Interval) interval.Interval {
	for _, d := range []*exact.Decimal{&i.Value, &i.Lower, &i.Upper} {
		*d = d.Sub(exact.Whole(1))
	}
	return i
}

// growth is a run as a straight line: what its first request sends, and what each turn adds, of which the agent wrote a
// part. More cannot be told from two means and a number of turns.
type growth struct{ start, wrote, observed float64 }

// lineOf fits the run of one task to the start that all runs of the model have in common.
func lineOf(t trial, start float64) growth {
	g := growth{start: min(start, t.prompt)}
	if t.turns > 1 {
		each := 2 * (t.prompt - g.start) / (t.turns - 1)
		g.wrote = min(t.completion, each)
		g.observed = each - g.wrote
	}
	return g
}

// masks is what so many turns send in all where old observations are masked.
func (g *growth) masks(turns float64) (total float64) {
	for t := 0.0; t < turns; t++ {
		total += g.start + g.wrote*t + g.observed*min(t, maskKeeps) + placeholder*max(0, t-maskKeeps)
	}
	return total
}

// summarizes is what so many turns send in all where old turns become a summary, without the calls that write it.
func (g *growth) summarizes(turns float64) (total float64) {
	for t := 0; t < int(turns); t++ {
		in, size := float64(t), 0.0
		if t >= summaryKeeps+summaryTakes {
			in, size = float64(summaryKeeps+(t-summaryKeeps)%summaryTakes), summarySize
		}
		total += g.start + (g.wrote+g.observed)*in + size
	}
	return total
}

// commonStart is where the mean prompt of runs begins: the intercept of its least-squares line over their turns, and no
// less than 0. It is rounded, so that it is the same on every machine.
func commonStart(list []trial) float64 {
	var n, x, y, xx, xy float64
	for _, t := range list {
		at := (t.turns - 1) / 2
		n, x, y, xx, xy = n+1, x+at, y+t.prompt, xx+at*at, xy+at*t.prompt
	}
	if n*xx == x*x {
		return 0
	}
	slope := (n*xy - x*y) / (n*xx - x*x)
	return math.Round(max(0, (y-slope*x)/n))
}

// inOrder are runs in the order of their tasks.
func inOrder(runs map[string]trial) (list []trial) {
	for _, p := range paired(runs, runs) {
		list = append(list, p.a)
	}
	return list
}

// offPolicy compares what a prediction from the raw runs says of masking and summaries with what was measured.
func offPolicy(src *sources) (*article, error) {
	a := &article{title: "How far off-policy replay can be trusted"}
	all, lines, silent, err := readTrials(filepath.Join(src.trap, "experiment_instance_costs_sweagent.csv"), sweAgent)
	if err != nil {
		return nil, err
	}
	runs := newTable("off-policy-runs", column{"run", "runs"}, column{"model", "model"}, column{"strategy", "strategy"}, column{"tasks", "tasks"}, column{"turns", "turns"}, column{"prompt", "tokens of a request"},
		column{"total", "tokens of a task"}, column{"cost", "USD of a task"}, column{"solved", "solved"})
	turns := newTable("off-policy-turns", column{"run", "run"}, column{"tasks", "tasks"}, column{"change", "turns, against raw"}, column{"low", "from"}, column{"high", "to"})
	changes := newTable("off-policy-change", column{"run", "run"}, column{"predicted", "predicted"}, column{"change", "measured"}, column{"low", "from"}, column{"high", "to"})
	errs := newTable("off-policy-error", column{"run", "run"}, column{"tasks", "tasks"}, column{"measured", "measured, tokens of a task"}, column{"predicted", "predicted"},
		column{"change", "error"}, column{"low", "from"}, column{"high", "to"}, column{"turns", "part by turns"}, column{"turns_low", "from"}, column{"turns_high", "to"},
		column{"size", "part by size"}, column{"size_low", "from"}, column{"size_high", "to"}, column{"start", "start, tokens"})
	ranks := newTable("off-policy-rank", column{"model", "model"}, column{"predicted", "masking against summaries: predicted"}, column{"change", "measured"}, column{"low", "from"}, column{"high", "to"})
	picture := &chart{name: "off-policy", title: "Predicted against measured tokens of a task", axis: "error of the prediction: too few to the left, too many to the right"}
	var total, told, signs, rankedTold, rankedRight, byTurns, coverError, coverTurns, coverSize int
	for _, m := range models {
		strategies := all[m[1]]
		for _, s := range []string{rawAgent, masked, summary} {
			list := inOrder(strategies[s])
			if len(list) == 0 {
				return nil, fmt.Errorf("%s: no runs of %s", m[1], s)
			}
			var sums trial
			solved := 0
			sent := 0.0
			for _, t := range list {
				sums.turns, sums.cost, sent = sums.turns+t.turns, sums.cost+t.cost, sent+t.total()
				if t.solved {
					solved++
				}
			}
			n := float64(len(list))
			runs.add(text(m[1]+", "+s), text(m[1]), text(s), count(len(list)), number(sums.turns/n, 1), whole(sent/sums.turns), whole(sent/n), number(sums.cost/n, 3), share(float64(solved)/n))
		}
		start := commonStart(inOrder(strategies[rawAgent]))
		var shares [2]float64 // predicted of the two policies, of raw
		for k, s := range []string{masked, summary} {
			name := m[1] + ", " + s
			predict := func(t trial, turns float64) float64 {
				g := lineOf(t, start)
				if s == masked {
					return g.masks(turns)
				}
				return g.summarizes(turns)
			}
			list := paired(strategies[rawAgent], strategies[s])
			inTurns := ratio(list, func(p *pair) (float64, float64) { return p.b.turns, p.a.turns })
			turns.add(append([]cell{text(name), count(len(list))}, bounds(inTurns)...)...)
			var measured, predicted, raw float64
			for i := range list {
				raw += list[i].a.total()
				measured += list[i].b.total()
				predicted += predict(list[i].a, list[i].a.turns)
			}
			off := ratio(list, func(p *pair) (float64, float64) { return predict(p.a, p.a.turns), p.b.total() })
			ofTurns := ratio(list, func(p *pair) (float64, float64) { return predict(p.a, p.a.turns), predict(p.a, p.b.turns) })
			ofSize := ratio(list, func(p *pair) (float64, float64) { return predict(p.a, p.b.turns), p.b.total() })
			n := float64(len(list))
			row := append([]cell{text(name), count(len(list)), whole(measured / n), whole(predicted / n)}, bounds(off)...)
			row = append(append(row, bounds(ofTurns)...), bounds(ofSize)...)
			errs.add(append(row, whole(start))...)
			picture.rows = append(picture.rows, markOf(name, row[4:7], 0), markOf("part by turns", row[7:10], 1), markOf("part by size", row[10:13], 2), mark{})
			saved := ratio(list, func(p *pair) (float64, float64) { return p.b.total(), p.a.total() })
			shares[k] = predicted / raw
			changes.add(append([]cell{text(name), change(predicted/raw - 1)}, bounds(saved)...)...)
			total++
			if saved.Lower.Known && !covers(saved) {
				told++
				if (predicted < raw) == (measured < raw) {
					signs++
				}
			}
			if covers(off) {
				coverError++
			}
			if math.Abs(math.Log(1+ofTurns.Value.Float())) > math.Abs(math.Log(1+ofSize.Value.Float())) {
				byTurns++
			}
			if covers(ofTurns) {
				coverTurns++
			}
			if covers(ofSize) {
				coverSize++
			}
		}
		against := ratio(paired(strategies[masked], strategies[summary]), func(p *pair) (float64, float64) { return p.a.total(), p.b.total() })
		right := (shares[0] < shares[1]) == (against.Value.N < 0)
		ranks.add(append([]cell{text(m[1]), change(shares[0]/shares[1] - 1)}, bounds(against)...)...)
		if against.Lower.Known && !covers(against) {
			rankedTold++
			if right {
				rankedRight++
			}
		}
	}
	counts := newTable("off-policy-counts", column{"what", "what"}, column{"n", "number"})
	low, high := extremes(errs, "change")
	turnsLow, turnsHigh := extremes(turns, "change")
	for _, r := range []struct {
		key string
		c   cell
	}{
		{"rows of the file", count(lines)}, {"runs that sent nothing", count(silent)}, {"predictions", count(total)}, {"direction told", count(told)}, {"direction right", count(signs)}, {"rank told", count(rankedTold)}, {"rank right", count(rankedRight)}, {"models", count(len(models))},
		{"turns the larger part", count(byTurns)}, {"error covers none", count(coverError)}, {"turns part told", count(total - coverTurns)}, {"size part told", count(total - coverSize)},
		{"lowest error", low}, {"highest error", high}, {"fewest turns", turnsLow}, {"most turns", turnsHigh},
		{"observations kept", count(maskKeeps)}, {"turns kept", count(summaryKeeps)}, {"turns summarised", count(summaryTakes)}, {"placeholder, tokens", count(placeholder)}, {"summary, tokens", count(summarySize)},
	} {
		counts.add(text(r.key), r.c)
	}
	noise, err := repeats(src)
	if err != nil {
		return nil, err
	}
	standIn, err := straightLines(src)
	if err != nil {
		return nil, err
	}
	a.addTable(runs, turns, changes, ranks, errs, counts, noise, standIn)
	return a, a.addChart(picture)
}

// extremes are the lowest and the highest value of a column, of rows that have the columns with, too.
func extremes(t *table, col string, with ...string) (low, high cell) {
	k := slices.IndexFunc(t.cols, func(c column) bool { return c.key == col })
	low, high = blank, blank
	for _, r := range t.rows {
		if !r[k].known || slices.ContainsFunc(with, func(key string) bool {
			c, err := t.at(r[0].raw, key)
			return err != nil || !c.known
		}) {
			continue
		}
		if !low.known {
			low, high = r[k], r[k]
		}
		if r[k].value < low.value {
			low = r[k]
		}
		if r[k].value > high.value {
			high = r[k]
		}
	}
	return low, high
}

func covers(i interval.Interval) bool { return i.Covers(exact.Whole(0)) }

// repeats compares runs of one agent with other runs of it on the same tasks: what differs there is no policy's doing.
func repeats(src *sources) (*table, error) {
	again := [][2]string{{"raw_agent-run_1", "raw_agent-verified_50-run_1"}, {"llm_summary_N_21_M_10-summarizer_for_eval-run_1", "llm_summary_N_21_M_10-verified_50-summarizer_for_eval-run_1"}}
	all, _, _, err := readTrials(filepath.Join(src.trap, "experiment_instance_costs_openhands.csv"), func(line map[string]string) (string, string) {
		_, name, _ := strings.Cut(line["experiment"], "no-hint-")
		return "OpenHands", name
	})
	if err != nil {
		return nil, err
	}
	t := newTable("off-policy-repeats", column{"what", "OpenHands, runs repeated"}, column{"tasks", "tasks"}, column{"identical", "same turns and tokens"},
		column{"apart", "median ratio of a task"}, column{"change", "tokens of all, second against first"}, column{"low", "from"}, column{"high", "to"})
	for i, names := range again {
		list := paired(all["OpenHands"][names[0]], all["OpenHands"][names[1]])
		identical := 0
		var apart []float64
		for _, p := range list {
			if p.a.turns == p.b.turns && p.a.prompt == p.b.prompt {
				identical++
			}
			apart = append(apart, math.Abs(math.Log(p.a.total()/p.b.total())))
		}
		if len(apart) == 0 {
			return nil, fmt.Errorf("no runs of %s are repeated", names[0])
		}
		slices.Sort(apart)
		median := (apart[(len(apart)-1)/2] + apart[len(apart)/2]) / 2
		row := []cell{text([]string{rawAgent, summary}[i]), count(len(list)), count(identical), number(math.Exp(median), 2)}
		t.add(append(row, bounds(ratio(list, func(p *pair) (float64, float64) { return p.b.total(), p.a.total() }))...)...)
	}
	return t, nil
}

// straightLines compares the predictions from straight lines with replays of the same sessions: how much of the error is
// that of the lines.
func straightLines(src *sources) (*table, error) {
	t := newTable("off-policy-lines", column{"corpus", "corpus"}, column{"sessions", "sessions"}, column{"replayed", "replayed, tokens of a session"}, column{"line", "by straight lines"},
		column{"change", "error"}, column{"low", "from"}, column{"high", "to"}, column{"start", "start, tokens"})
	for _, c := range src.all() {
		policies := []string{"none", "mask,mask.keep=" + maskResults + ",mask.step=1"}
		all, err := compareIn(c, policies, "--window", asWindow, "--no-regret")
		if err != nil {
			return nil, err
		}
		list := all.common(policies...)
		var runs []trial
		of := map[string]trial{}
		for _, s := range list {
			f := s.Figures["none"]
			one := trial{instance: s.File, turns: f["requests"], prompt: f["payload_input"] / f["requests"], completion: f["output_tokens"] / f["requests"]}
			runs = append(runs, one)
			of[s.File] = one
		}
		start := commonStart(runs)
		line := func(s *compared) float64 {
			g := lineOf(of[s.File], start)
			return g.masks(of[s.File].turns)
		}
		replayed, lined := sum(list, policies[1], "payload_input"), 0.0
		for i := range list {
			lined += line(&list[i])
		}
		i := overProjects(list, func(s *compared) (float64, float64) { return line(s), s.Figures[policies[1]]["payload_input"] })
		n := float64(len(list))
		t.add(append(append([]cell{text(c.title), count(len(list)), whole(replayed / n), whole(lined / n)}, bounds(lessOne(i))...), whole(start))...)
	}
	return t, nil
}
