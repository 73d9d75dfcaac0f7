package record

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// Conversion says how the tokens of a record became those of another model's tokenizer.
type Conversion struct {
	Source string           `json:"source"` // of the ratios
	Models []ConvertedModel `json:"models"` // in the order of their first requests
}

// ConvertedModel is a model of the recorded session.
type ConvertedModel struct {
	Model    string        `json:"model"`
	Requests int           `json:"requests"`
	Ratio    exact.Decimal `json:"ratio"` // what its tokens are multiplied by; 1: it has the same tokenizer, or none that is known
	To       exact.Decimal `json:"to,omitzero"`
	From     exact.Decimal `json:"from,omitzero"` // Ratio is To / From, each as Source says
}

// Under is the recorded session in the tokens of the model that a replay puts in the place of the recorded ones. Each
// request converts by its own model, and each message by the model of the first request that has it.
func (r *Record) Under(model string, table *price.Table) (*Record, error) {
	if model == "" {
		return r, nil
	}
	target, _ := table.Find(model)
	factors := map[string]tokens.Factor{}
	any := false
	for _, q := range r.Conv.Requests {
		name := r.Conv.Messages[q.Message].Model
		if _, done := factors[name]; !done {
			m, _ := table.Find(name)
			factors[name] = tokens.NewFactor(m.Tokenizer, target.Tokenizer)
			any = any || !factors[name].IsOne()
		}
	}
	if !any {
		return r, nil
	}
	r.converting.Lock()
	defer r.converting.Unlock()
	if to := r.converted[target.Tokenizer]; to != nil {
		return to, nil
	}
	to := r.bare()
	to.Model = target
	to.factors = factors
	to.Cal = r.Cal.Converted(to.factorOf(), factors[r.Conv.Model])
	if err := to.follow(); err != nil {
		return nil, err
	}
	if r.converted == nil {
		r.converted = map[string]*Record{}
	}
	r.converted[target.Tokenizer] = to
	return to, nil
}

// bare is a record of the same conversation without its weights, and what follows from these.
func (r *Record) bare() *Record {
	return &Record{
		Conv: r.Conv, Counted: r.Counted, Models: r.Models, Kinds: r.Kinds, Encoders: r.Encoders, Programs: r.Programs, Client: r.Client,
		encoded: map[string]*tokens.WeightTable{}, Largest: map[string]int{}, Settings: r.Settings,
		AsksAgain: r.AsksAgain, Release: r.Release,
		Reinject: make([]int, len(r.Reinject)), Summary: make([]int, len(r.Summary)), MostEdits: r.MostEdits,
	}
}

// factorOf gives the factor of each message.
func (r *Record) factorOf() func(message int) tokens.Factor {
	by := make([]tokens.Factor, len(r.Conv.Messages))
	m := 0
	for _, q := range r.Conv.Requests {
		f := r.factors[r.Conv.Messages[q.Message].Model]
		for ; m <= q.Message; m++ {
			by[m] = f
		}
	}
	for ; m > 0 && m < len(by); m++ {
		by[m] = by[m-1]
	}
	return func(message int) tokens.Factor { return by[message] }
}

// Usage is what the API reported for a response, in the recorded session's tokens.
func (r *Record) Usage(m *session.Message) jsonl.Usage {
	if r.factors == nil {
		return m.Usage
	}
	return r.factors[m.Model].Usage(m.Usage)
}

// Conversion says how the recorded session was converted; nil where it was not.
func (r *Record) Conversion() *Conversion {
	if r.factors == nil {
		return nil
	}
	c := &Conversion{Source: tokens.FactorSource}
	known := map[string]int{} // index into c.Models, by model
	for _, q := range r.Conv.Requests {
		name := r.Conv.Messages[q.Message].Model
		i, ok := known[name]
		if !ok {
			i = len(c.Models)
			known[name] = i
			one := ConvertedModel{Model: name, Ratio: r.factors[name].Ratio()}
			if f := r.factors[name]; !f.IsOne() {
				one.To, one.From = f.Terms()
			}
			c.Models = append(c.Models, one)
		}
		c.Models[i].Requests++
	}
	return c
}
