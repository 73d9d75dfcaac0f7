package jsonl

import (
	"cmp"

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
	Searches int    // server_tool_use.web_search_requests: searches that the API ran, which are billed beside the tokens
	Fetches  int    // server_tool_use.web_fetch_requests

	Final bool // it has iterations, if none are listed: the counts are those of the end of the response

	Nano int64 // cost_usd in billionths: what the client says that the response cost; 0: it does not say

	Iterations *Iterations // nil where the API sampled once, the usual case
}

// Iterations sums the samplings of a response other than the last message.
type Iterations struct {
	Rounds      Spent     // iterations of the message before the last: around tools the API runs itself
	Compactions Spent     // iterations that compacted; no other field counts them
	Attempts    []Attempt // by other models, in order: no other field counts them
}

// Attempt is a number of samplings by another model than that of the response: one that began the answer and declined,
// or an advisor. One that declined before it wrote anything is not billed, and is none.
type Attempt struct {
	Type    string // of the iteration, as recorded
	Model   string // "": not recorded
	Spent   Spent
	Write1h int // of Spent.CacheWrite
}

// Spent is the sum of a number of samplings, in tokens.
type Spent struct {
	Calls      int
	Input      int
	CacheWrite int
	CacheRead  int
	Output     int
}

// Context is all input of the samplings, in tokens.
func (s Spent) Context() int { return s.Input + s.CacheWrite + s.CacheRead }

// sampling is the usage of one sampling as a sum.
func (u *Usage) sampling() Spent {
	return Spent{Calls: 1, Input: u.Input, CacheWrite: u.CacheWrite, CacheRead: u.CacheRead, Output: u.Output}
}

// Context is the size of the request's whole input: input + cache_creation + cache_read.
func (u Usage) Context() int { return u.Input + u.CacheWrite + u.CacheRead }

// Total is Context plus the output of the last sampling: the client's "tokens used".
func (u Usage) Total() int { return u.Context() + u.Output - u.Rounds().Output }

// Rounds are the iterations of the message before the last.
func (u Usage) Rounds() Spent {
	if u.Iterations == nil {
		return Spent{}
	}
	return u.Iterations.Rounds
}

// Compactions are the iterations that compacted.
func (u Usage) Compactions() Spent {
	if u.Iterations == nil {
		return Spent{}
	}
	return u.Iterations.Compactions
}

// Iterated reports whether the API sampled several times, or other models did.
func (u Usage) Iterated() bool { return u.Iterations != nil }

// Zero reports whether all token counts are 0.
func (u Usage) Zero() bool { return u.Total() == 0 && !u.Iterated() }

// Attempts are the samplings by other models.
func (u Usage) Attempts() []Attempt {
	if u.Iterations == nil {
		return nil
	}
	return u.Iterations.Attempts
}

// Add adds what another line of the same response says: the largest counts are those of its end.
func (u *Usage) Add(o Usage) {
	was := *u
	if o.Context() > u.Context() && (o.Iterated() || !u.Iterated()) || o.Iterated() && !u.Iterated() {
		*u = o
	}
	u.Output, u.Thinking = max(was.Output, o.Output), max(was.Thinking, o.Thinking)
	u.Searches, u.Fetches, u.Nano = max(was.Searches, o.Searches), max(was.Fetches, o.Fetches), max(was.Nano, o.Nano)
	u.Final = was.Final || o.Final
}

// Billed is the sum of all samplings, which the request is billed for.
func (u Usage) Billed() Spent {
	rounds, compactions := u.Rounds(), u.Compactions()
	rounds.Output = 0 // a part of u.Output
	return u.sampling().plus(rounds, 1).plus(compactions, 1)
}

// plus is the sum with another, times sign.
func (s Spent) plus(o Spent, sign int) Spent {
	return Spent{
		s.Calls + sign*o.Calls, s.Input + sign*o.Input, s.CacheWrite + sign*o.CacheWrite, s.CacheRead + sign*o.CacheRead,
		s.Output + sign*o.Output,
	}
}

// usage decodes the value of message.usage.
func (d *decoder) usage(msg *APIMessage, b []byte, i int) (int, scan.Fault) {
	msg.Usage, msg.HasUsage, msg.OddUsage, d.oddUsage = Usage{}, false, "", ""
	if b[i] != '{' {
		if b[i] != 'n' {
			msg.OddUsage = "it is no object"
		}
		return scan.Value(b, i, depthMessage)
	}
	msg.HasUsage = true
	u := &msg.Usage
	var its iterations
	m := scan.Object(b, i, depthMessage)
	for m.Next() {
		switch key := d.key(&m); {
		case string(key) == "iterations":
			its = d.iterations(&m)
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
		msg.Usage, msg.HasUsage, msg.OddUsage = Usage{}, false, d.oddUsage
		return m.At, m.Code
	}
	its.into(u)
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

// iterations is usage.iterations: the last and the sum of each kind.
type iterations struct {
	listed                bool
	message, compaction   Usage
	messages, compactions Spent
	long                  int    // Write1h of messages
	kind, model           string // of the last iteration of the message
	attempts              []Attempt
}

// The types of iterations that answer, and of those that compact. Others, such as those of an advisor, are another
// model's.
const (
	typeMessage    = "message"
	typeFallback   = "fallback_message" // another model goes on with the answer
	typeCompacting = "compaction"
)

// iterations decodes the value of usage.iterations.
func (d *decoder) iterations(m *scan.Members) (its iterations) {
	b := m.Text()
	if b[m.At] != '[' {
		d.skip(m)
		return its
	}
	its.listed = true
	a := scan.Array(b, m.At, m.Depth())
	for a.Next() {
		if b[a.At] != '{' {
			a.At, a.Code = scan.Value(b, a.At, m.Depth()+1)
			continue
		}
		var u Usage
		var kind, model string
		in := scan.Object(b, a.At, m.Depth()+1)
		for in.Next() {
			switch key := d.key(&in); {
			case string(key) == "type":
				kind = d.low(&in)
			case string(key) == "model":
				model = d.low(&in)
			case !d.sampled(&u, &in, key):
				d.skip(&in)
			}
		}
		a.At, a.Code = in.At, in.Code
		its.add(kind, model, u)
	}
	m.At, m.Code = a.At, a.Code
	return its
}

// add adds an iteration.
func (its *iterations) add(kind, model string, u Usage) {
	switch kind {
	case typeMessage, typeFallback:
		if other := model != its.model && model != "" && its.model != ""; other || kind == typeFallback && its.kind != typeFallback {
			its.declined()
		}
		its.kind, its.model, its.message = kind, cmp.Or(model, its.model), u
		its.messages = its.messages.plus(u.sampling(), 1)
		its.long += u.Write1h
	case typeCompacting:
		its.compaction = u
		its.compactions = its.compactions.plus(u.sampling(), 1)
	case "":
	default:
		its.attempt(Attempt{kind, model, u.sampling(), u.Write1h})
	}
}

// declined takes what the message has so far for another model's: one that another one takes over from.
func (its *iterations) declined() {
	if its.messages.Output > 0 {
		its.attempt(Attempt{its.kind, its.model, its.messages, its.long})
	}
	its.messages, its.long, its.model = Spent{}, 0, ""
}

// attempt adds an attempt to the last one, or as a further one.
func (its *iterations) attempt(a Attempt) {
	if k := len(its.attempts) - 1; k >= 0 && its.attempts[k].Type == a.Type && its.attempts[k].Model == a.Model {
		last := &its.attempts[k]
		last.Spent, last.Write1h = last.Spent.plus(a.Spent, 1), last.Write1h+a.Write1h
		return
	}
	its.attempts = append(its.attempts, a)
}

// into merges the iterations into a usage. A single message iteration repeats the usage, which then stays as it is.
func (its *iterations) into(u *Usage) {
	reported := u.Context() > 0
	u.Final = its.listed
	other := Iterations{Attempts: its.attempts}
	switch {
	case its.messages.Calls > 1 || its.messages.Calls == 1 && !reported:
		u.replaceInput(&its.message, its.messages.Output)
		other.Rounds = its.messages.plus(its.message.sampling(), -1)
	case its.messages.Calls == 0 && its.compactions.Calls > 0 && !reported:
		// The response is only the summary.
		u.replaceInput(&its.compaction, its.compaction.Output)
		its.compactions = its.compactions.plus(its.compaction.sampling(), -1)
	}
	other.Compactions = its.compactions
	if other.Rounds.Calls+other.Compactions.Calls+len(other.Attempts) > 0 {
		u.Iterations = &other
	}
}

// replaceInput sets the input fields to the last sampling's, the output to at least output.
func (u *Usage) replaceInput(last *Usage, output int) {
	u.Input, u.CacheWrite, u.CacheRead, u.Write5m, u.Write1h = last.Input, last.CacheWrite, last.CacheRead, last.Write5m, last.Write1h
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
	m.At, m.Code = in.At, in.Code
	return x, y
}
