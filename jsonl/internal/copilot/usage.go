package copilot

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// callUsed are the tokens of one call. Its input includes what the cache read and wrote.
type callUsed struct {
	Input      int `json:"inputTokens"`
	Output     int `json:"outputTokens"`
	CacheRead  int `json:"cacheReadTokens"`
	CacheWrite int `json:"cacheWriteTokens"`
	Reasoning  int `json:"reasoningTokens"`
	Billed     struct {
		Details []struct {
			Tokens int    `json:"tokenCount"`
			Type   string `json:"tokenType"`
		} `json:"tokenDetails"`
	} `json:"copilotUsage"`
}

// modelMetrics are the totals of a model.
type modelMetrics struct {
	Requests struct {
		Count int `json:"count"`
	} `json:"requests"`
	Usage callUsed `json:"usage"`
}

// recorded is the usage with the input by class; nil where nothing was counted. What was billed tells what was written
// to the cache where the usage leaves it out.
func (c *callUsed) recorded() *foreign.Usage {
	if c == nil || c.Input <= 0 && c.Output <= 0 {
		return nil
	}
	u := &foreign.Usage{Input: max(c.Input-c.CacheRead-c.CacheWrite, 0), CacheRead: max(c.CacheRead, 0), CacheWrite: max(c.CacheWrite, 0), Output: max(c.Output, 0)}
	u.Thinks(c.Reasoning)
	billed := map[string]int{}
	for _, d := range c.Billed.Details {
		billed[d.Type] += d.Tokens
	}
	if in, read, write := billed["input"], billed["cache_read"], billed["cache_write"]; in >= 0 && read >= 0 && write > 0 && in+read+write == c.Input {
		u.Input = in
		u.CacheRead = read
		u.CacheWrite = write
	}
	return u
}

// run is what the client did until it was shut down.
type run struct {
	responses []*event // the first event of each
	calls     []*event // these and the compactions, in order
	outputs   int      // of the responses and compactions, tokens
	models    map[string]modelMetrics
}

// runsOf finds the runs that were shut down, by that event. Totals of a later run include those of the runs before it
// where that fits better to the outputs of its own responses.
func runsOf(events []*event) map[*event]*run {
	runs := map[*event]*run{}
	now := &run{}
	largest := map[string]int{}
	said := map[string]modelMetrics{}
	for _, e := range events {
		switch e.Type {
		case "assistant.message":
			was, again := largest[e.call()]
			if !again {
				now.responses = append(now.responses, e)
				now.calls = append(now.calls, e)
			}
			if n := min(max(e.Data.Output, 0), 1<<40); n > was || !again { // the parts of a response repeat its output
				now.outputs += n - was
				largest[e.call()] = n
			}
		case "session.compaction_complete":
			if u := e.Data.Used.recorded(); u != nil {
				now.outputs += min(u.Output, 1<<40)
				now.calls = append(now.calls, e)
			}
		case "session.shutdown":
			if len(e.Data.Models) == 0 {
				continue
			}
			all := 0
			added := 0
			more := map[string]modelMetrics{}
			for name, m := range e.Data.Models {
				d := m.less(said[name])
				all += m.Usage.Output
				added += d.Usage.Output
				more[name] = d
			}
			now.models = e.Data.Models
			if abs(added-now.outputs) < abs(all-now.outputs) {
				now.models = more
			}
			said = e.Data.Models
			runs[e] = now
			now = &run{}
		}
	}
	return runs
}

func abs(n int) int { return max(n, -n) }

// less is what a total has more than an earlier one.
func (m modelMetrics) less(o modelMetrics) modelMetrics {
	m.Requests.Count -= o.Requests.Count
	m.Usage.Input -= o.Usage.Input
	m.Usage.Output -= o.Usage.Output
	m.Usage.CacheRead -= o.Usage.CacheRead
	m.Usage.CacheWrite -= o.Usage.CacheWrite
	m.Usage.Reasoning -= o.Usage.Reasoning
	return m
}

// single is the usage of the responses that were the only request of a run: the run's totals are theirs.
func single(runs map[*event]*run) map[*event]*foreign.Usage {
	out := map[*event]*foreign.Usage{}
	for _, run := range runs {
		if len(run.responses) != 1 || len(run.models) != 1 {
			continue
		}
		for _, m := range run.models {
			if u := m.Usage.recorded(); u != nil && m.Requests.Count == 1 && u.Output == run.responses[0].Data.Output {
				out[run.responses[0]] = u
			}
		}
	}
	return out
}

// totals puts what the client says that a run used, and checks it against the responses.
func (r *reader) totals(e *event, run *run) {
	names := make([]string, 0, len(run.models))
	for name := range run.models {
		names = append(names, name)
	}
	slices.Sort(names)
	outputs := 0
	put := false
	for _, name := range names {
		m := run.models[name]
		u := m.Usage.recorded()
		if u == nil {
			continue
		}
		outputs += u.Output
		put = true
		r.PutTotals(e.unit, foreign.RunTotals{Model: name, Time: e.Timestamp, Requests: max(m.Requests.Count, 0), Usage: *u})
		r.rest(e, run, name)
	}
	switch {
	case !put:
		r.Aside(e.unit, "metadata: "+e.Type)
	case outputs != run.outputs:
		r.Warn(e.line, "totals-differ", "the client says that its requests wrote %d tokens, those in the file wrote %d", outputs, run.outputs)
	}
}

// rest puts what a model used in a run next to the calls of which all is known.
func (r *reader) rest(e *event, run *run, model string) {
	m := run.models[model]
	u := *m.Usage.recorded()
	calls := max(m.Requests.Count, 0)
	known := func(k *foreign.Usage) {
		u.Input = max(u.Input-k.Input, 0)
		u.CacheRead = max(u.CacheRead-k.CacheRead, 0)
		u.CacheWrite = max(u.CacheWrite-k.CacheWrite, 0)
		u.Output = max(u.Output-k.Output, 0)
		calls = max(calls-1, 0)
	}
	var covers []string
	last := model
	for _, of := range run.calls {
		last = cmp.Or(of.Data.Model, last)
		k := of.Data.Used.recorded() // of a compaction
		if k == nil {
			k = cmp.Or(r.usage[of], r.reported[of.call()])
		}
		switch {
		case last != model && len(run.models) > 1:
		case k != nil:
			known(k)
		default:
			covers = append(covers, of.call())
		}
	}
	if u.Input+u.CacheRead+u.CacheWrite > 0 {
		r.PutCall(e.unit, foreign.BilledCall{ID: e.ID + "/" + model, Kind: "run", Model: model, Time: e.Timestamp, Requests: calls, Usage: &u, Covers: covers})
	}
}
