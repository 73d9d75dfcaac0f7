package jsonl

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// Usage is the API's report for one response as recorded, in tokens. The API may sample several times within a
// request: around its own tools, and to compact. The input fields are those of the last sampling, the size of the
// context; the samplings before it are in Rounds and Compactions.
type Usage struct {
	Input      int // input_tokens: neither read from nor written to the cache
	CacheWrite int // cache_creation_input_tokens
	CacheRead  int // cache_read_input_tokens
	Output     int // output_tokens of the response: of all samplings except compactions
	Write5m    int // cache_creation.ephemeral_5m_input_tokens
	Write1h    int // cache_creation.ephemeral_1h_input_tokens
	Thinking   int // output_tokens_details.thinking_tokens

	Speed    string // speed: "standard", "fast"; "": not recorded
	Geo      string // inference_geo: the region it was served in; "": not recorded, or none was asked for
	Tier     string // service_tier: "standard", "priority", "batch"
	Searches int    // server_tool_use.web_search_requests: searches that the API ran, which are billed next to the tokens
	Fetches  int    // server_tool_use.web_fetch_requests

	Final bool // it has iterations, if none are listed: the counts are those of the end of the response

	Nano int64 // cost_usd in billionths: what the client says that the response cost; 0: it does not say

	Iterations *Iterations // nil where the API sampled once, the usual case
}

// Iterations are the samplings of a response other than the last message, in order.
type Iterations struct {
	Rounds      []Spent   // iterations of the message before the last: around tools the API runs itself
	Compactions []Spent   // iterations that compacted; no other field counts them
	Attempts    []Attempt // by other models; no other field counts them
}

// Attempt is a sampling by another model than that of the response: one that began the answer and declined, or an
// advisor. One that declined before it wrote anything is not billed, and is none.
type Attempt struct {
	Type  string // of the iteration, as recorded
	Model string // "": not recorded
	Spent Spent
}

// Spent is the sum of a number of samplings, in tokens.
type Spent struct {
	Calls      int
	Input      int
	CacheWrite int
	Write1h    int // of CacheWrite, for an hour
	CacheRead  int
	Output     int
}

// Context is all input of the samplings, in tokens.
func (s Spent) Context() int { return s.Input + s.CacheWrite + s.CacheRead }

// sampling is the usage of one sampling as a sum.
func (u *Usage) sampling() Spent {
	return Spent{1, u.Input, u.CacheWrite, min(u.Write1h, u.CacheWrite), u.CacheRead, u.Output}
}

// Context is the size of the request's whole input: input + cache_creation + cache_read.
func (u Usage) Context() int { return u.Input + u.CacheWrite + u.CacheRead }

// Total is Context plus the output of the last sampling: the client's "tokens used".
func (u Usage) Total() int { return u.Context() + u.Output - u.Rounds().Output }

// Others are the samplings of the response other than the last message.
func (u Usage) Others() Iterations {
	if u.Iterations == nil {
		return Iterations{}
	}
	return *u.Iterations
}

// Rounds is the sum of the iterations of the message before the last.
func (u Usage) Rounds() Spent { return sumOf(u.Others().Rounds) }

// Compactions is the sum of the iterations that compacted.
func (u Usage) Compactions() Spent { return sumOf(u.Others().Compactions) }

func sumOf(list []Spent) (sum Spent) {
	for _, s := range list {
		sum = sum.plus(s)
	}
	return sum
}

// Iterated reports whether the API sampled several times, or other models did.
func (u Usage) Iterated() bool { return u.Iterations != nil }

// Zero reports whether all token counts are 0.
func (u Usage) Zero() bool { return u.Total() == 0 && !u.Iterated() }

// Add adds what another line of the same response says: the largest counts are those of its end.
func (u *Usage) Add(o Usage) {
	was := *u
	if o.Context() > u.Context() && (o.Iterated() || !u.Iterated()) || o.Iterated() && !u.Iterated() {
		*u = o
	}
	u.Output = max(was.Output, o.Output)
	u.Thinking = max(was.Thinking, o.Thinking)
	u.Searches = max(was.Searches, o.Searches)
	u.Fetches = max(was.Fetches, o.Fetches)
	u.Nano = max(was.Nano, o.Nano)
	u.Final = was.Final || o.Final
}

// Billed is the sum of all samplings, which the request is billed for.
func (u Usage) Billed() Spent {
	rounds := u.Rounds()
	rounds.Output = 0 // a part of u.Output
	return u.sampling().plus(rounds).plus(u.Compactions())
}

// plus is the sum with another.
func (s Spent) plus(o Spent) Spent {
	return Spent{s.Calls + o.Calls, s.Input + o.Input, s.CacheWrite + o.CacheWrite, s.Write1h + o.Write1h, s.CacheRead + o.CacheRead, s.Output + o.Output}
}

// usage decodes the value of message.usage.
func (d *decoder) usage(msg *APIMessage, b []byte, i int) (int, scan.Fault) {
	msg.Usage = Usage{}
	msg.HasUsage = false
	msg.OddUsage = ""
	d.oddUsage = ""
	if b[i] != '{' {
		if b[i] != 'n' {
			msg.OddUsage = "it is no object"
		}
		return scan.Value(b, i, depthMessage)
	}
	msg.HasUsage = true
	u := &msg.Usage
	d.samplings = d.samplings[:0]
	m := scan.Object(b, i, depthMessage)
	for m.Next() {
		switch key := d.key(&m); {
		case string(key) == "iterations":
			u.Final = d.iterations(&m)
		case string(key) == "output_tokens_details":
			u.Thinking, _ = d.counts(&m, "thinking_tokens", "")
		case string(key) == "server_tool_use":
			u.Searches, u.Fetches = d.counts(&m, "web_search_requests", "web_fetch_requests")
		case string(key) == "speed":
			u.Speed = d.low(&m)
		case string(key) == "inference_geo":
			u.Geo = d.low(&m)
		case string(key) == "service_tier":
			u.Tier = d.low(&m)
		case string(key) == "cost_usd":
			u.Nano = d.nano(&m)
		case !d.sampled(u, &m, key):
			d.skip(&m)
		}
	}
	if d.oddUsage != "" {
		msg.Usage = Usage{}
		msg.HasUsage = false
		msg.OddUsage = d.oddUsage
		return m.At, m.Code
	}
	u.merge(d.samplings)
	return m.At, m.Code
}

// sampled decodes a member that both usage and its iterations have.
func (d *decoder) sampled(u *Usage, m *scan.Members, key []byte) bool {
	switch string(key) {
	case "input_tokens":
		u.Input = d.count(m)
	case "cache_creation_input_tokens":
		u.CacheWrite = d.count(m)
	case "cache_read_input_tokens":
		u.CacheRead = d.count(m)
	case "output_tokens":
		u.Output = d.count(m)
	case "cache_creation":
		u.Write5m, u.Write1h = d.counts(m, "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
	default:
		return false
	}
	return true
}

// sampling is one of usage.iterations.
type sampling struct {
	kind, model string
	Usage
}

// The types of iterations that answer, and of those that compact. Others, such as those of an advisor, are another
// model's.
const (
	typeMessage    = "message"
	typeFallback   = "fallback_message" // another model goes on with the answer
	typeCompacting = "compaction"
)

// iterations decodes the value of usage.iterations; false: it is no list.
func (d *decoder) iterations(m *scan.Members) bool {
	b := m.Text()
	d.samplings = d.samplings[:0]
	if b[m.At] != '[' {
		d.skip(m)
		return false
	}
	a := scan.Array(b, m.At, m.Depth())
	for a.Next() {
		if b[a.At] != '{' {
			a.At, a.Code = scan.Value(b, a.At, m.Depth()+1)
			continue
		}
		var s sampling
		in := scan.Object(b, a.At, m.Depth()+1)
		for in.Next() {
			switch key := d.key(&in); {
			case string(key) == "type":
				s.kind = d.low(&in)
			case string(key) == "model":
				s.model = d.low(&in)
			case !d.sampled(&s.Usage, &in, key):
				d.skip(&in)
			}
		}
		a.At = in.At
		a.Code = in.Code
		d.samplings = append(d.samplings, s)
	}
	m.At = a.At
	m.Code = a.Code
	return true
}

// merge merges the iterations into a usage. A single message iteration repeats the usage, which then stays as it is.
func (u *Usage) merge(list []sampling) {
	reported := u.Context() > 0
	u.lifetimes(list)
	var its Iterations
	answers, compaction := list[:0], sampling{} // of the message, and the last one
	for _, s := range list {
		switch s.kind {
		case typeMessage, typeFallback:
			if n := len(answers) - 1; n >= 0 {
				was := &answers[n]
				if was.model != s.model && was.model != "" && s.model != "" || s.kind == typeFallback && was.kind != typeFallback {
					its.declined(answers)
					answers = answers[:0]
				} else {
					s.model = cmp.Or(s.model, was.model)
				}
			}
			answers = append(answers, s)
		case typeCompacting:
			compaction = s
			its.Compactions = append(its.Compactions, s.sampling())
		case "":
		default:
			its.Attempts = append(its.Attempts, Attempt{s.kind, s.model, s.sampling()})
		}
	}
	switch n, k := len(answers)-1, len(its.Compactions)-1; {
	case n > 0 || n == 0 && !reported:
		output := 0
		for i := range answers {
			if output += answers[i].Output; i < n {
				its.Rounds = append(its.Rounds, answers[i].sampling())
			}
		}
		u.replaceInput(&answers[n].Usage, output)
	case n < 0 && k >= 0 && !reported:
		// The response is only the summary.
		u.replaceInput(&compaction.Usage, compaction.Output)
		its.Compactions = its.Compactions[:k]
	}
	if len(its.Rounds)+len(its.Compactions)+len(its.Attempts) > 0 {
		u.Iterations = &its
	}
}

// declined takes what a message has so far for another model's: one that another one takes over from.
func (its *Iterations) declined(answers []sampling) {
	if !slices.ContainsFunc(answers, func(s sampling) bool { return s.Output > 0 }) {
		return
	}
	last := &answers[len(answers)-1]
	for i := range answers {
		its.Attempts = append(its.Attempts, Attempt{last.kind, last.model, answers[i].sampling()})
	}
}

// TTLs are those of the writes of iterations that do not tell them: the usage does. Of two the first ones take the hour.
func (u *Usage) lifetimes(list []sampling) {
	if u.Write5m+u.Write1h == 0 {
		return
	}
	hour := u.Write1h
	for i := range list {
		s := &list[i]
		if s.Write5m+s.Write1h == 0 {
			if s.Write1h = s.CacheWrite; u.Write5m > 0 {
				s.Write1h = min(s.CacheWrite, max(hour, 0))
			}
			s.Write5m = s.CacheWrite - s.Write1h
		}
		hour -= s.Write1h
	}
}

// replaceInput sets the input fields to the last sampling's, the output to at least output.
func (u *Usage) replaceInput(last *Usage, output int) {
	u.Input = last.Input
	u.CacheWrite = last.CacheWrite
	u.CacheRead = last.CacheRead
	u.Write5m = last.Write5m
	u.Write1h = last.Write1h
	u.Output = max(u.Output, output)
}

// counts decodes two members of the object that is the member's value.
func (d *decoder) counts(m *scan.Members, first, second string) (x, y int) {
	b := m.Text()
	if b[m.At] != '{' {
		d.skip(m)
		return 0, 0
	}
	in := scan.Object(b, m.At, m.Depth())
	for in.Next() {
		switch key := d.key(&in); {
		case string(key) == first:
			x = d.count(&in)
		case string(key) == second:
			y = d.count(&in)
		default:
			d.skip(&in)
		}
	}
	m.At = in.At
	m.Code = in.Code
	return x, y
}
