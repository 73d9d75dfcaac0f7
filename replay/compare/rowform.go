package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
)

// rowsHead is the first line.
type rowsHead struct {
	Schema   string            `json:"schema"`
	Build    string            `json:"build"`
	Policies []RowsPolicy      `json:"policies"`
	Options  map[string]string `json:"options"`
	Figures  []string          `json:"figures"` // of the values of a row, in their order
	Inputs   int               `json:"inputs"`
	Names    string            `json:"inputs_digest"`
	Shard    int               `json:"shard"`
	Shards   int               `json:"shards"`
	Lines    int               `json:"lines"` // that follow
	Warnings []rowWarning      `json:"warnings"`
	Late     []rowWarning      `json:"late_warnings"`
}

// rowLine is each other line: one of its members is there next to the input.
type rowLine struct {
	Input   int         `json:"input"`
	Warning *rowWarning `json:"warning,omitempty"`
	Failed  text        `json:"failed,omitempty"`
	Empty   *rowOrigin  `json:"empty,omitempty"`
	Row     *row        `json:"row,omitempty"`
}

type rowWarning struct {
	File    text         `json:"file,omitempty"`
	Line    int          `json:"line,omitempty"`
	Code    session.Code `json:"code,omitempty"`
	Message text         `json:"message"`
	More    int          `json:"more,omitempty"`
}

type rowOrigin struct {
	Session   text `json:"session"`
	Agent     text `json:"agent,omitempty"`
	File      text `json:"file"`
	Malformed int  `json:"malformed_lines,omitempty"`
}

// row is a ComparedSession.
type row struct {
	rowOrigin
	Title      text             `json:"title,omitempty"`
	Model      text             `json:"model"`
	Version    text             `json:"client_version,omitempty"`
	Project    text             `json:"project,omitempty"`
	Recorder   text             `json:"recorder,omitempty"`
	Repository text             `json:"repository,omitempty"`
	Unpriced   []text           `json:"unpriced"`
	Ran        []*rowPolicy     `json:"ran"`
	Values     [][]digits       `json:"values"`
	Breaks     [][]rowBreak     `json:"breaks"`
	Cache      replay.CacheMode `json:"prompt_cache"`
	Apart      []int            `json:"apart"`
	Flags      []Flag           `json:"flags"`
	Rereads    replay.Rereads   `json:"rereads"`
	Aftermath  replay.Aftermath `json:"aftermath"`
	Input      text             `json:"path"`
	Selection  rowSelection     `json:"selection"`
	Converted  *rowConversion   `json:"converted,omitempty"`
	Billed     SessionBill      `json:"billed"`
	Series     [][]int          `json:"series"`
}

// rowPolicy is what a report says of a policy that ran.
type rowPolicy struct {
	Name     text          `json:"name"`
	Product  text          `json:"product,omitempty"`
	Version  text          `json:"version,omitempty"`
	Chosen   text          `json:"chosen,omitempty"`
	Older    bool          `json:"older,omitempty"`
	Newer    text          `json:"newer,omitempty"`
	Truth    policy.Truth  `json:"truth,omitempty"`
	Score    *policy.Score `json:"score,omitempty"`
	Recorded bool          `json:"recorded,omitempty"`
}

type rowBreak struct {
	Stage text   `json:"stage"`
	USD   digits `json:"usd"`
}

type rowSelection struct {
	Agent    text     `json:"agent,omitempty"`
	Leaf     text     `json:"leaf,omitempty"`
	Tokens   text     `json:"tokens,omitempty"`
	Model    text     `json:"model,omitempty"`
	Window   text     `json:"window,omitempty"`
	Overhead text     `json:"overhead,omitempty"`
	Cache    text     `json:"cache,omitempty"`
	Tries    []rowTry `json:"tries"`
	Env      bool     `json:"env,omitempty"`
}

type rowTry struct {
	Stage text `json:"stage"`
	Text  text `json:"text"`
}

type rowConversion struct {
	Source text           `json:"source"`
	Models []rowConverted `json:"models"`
}

type rowConverted struct {
	Model    text   `json:"model"`
	Requests int    `json:"requests"`
	Ratio    digits `json:"ratio"`
	To       digits `json:"to"`
	From     digits `json:"from"`
}

// digits is a number that is written as a text with all of its digits, or null.
type digits exact.Decimal

// MarshalJSON implements json.Marshaler.
func (d digits) MarshalJSON() ([]byte, error) {
	if !d.Known {
		return []byte("null"), nil
	}
	return []byte(`"` + exact.Decimal(d).Digits() + `"`), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *digits) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*d = digits{}
		return nil
	}
	if len(data) > 2 && data[0] == '"' {
		if x, ok := exact.FromDigits(string(data[1 : len(data)-1])); ok {
			*d = digits(x)
			return nil
		}
	}
	return fmt.Errorf("%.40s is no number in a text", data)
}

// text is a string that need not be UTF-8, as the name of a file. One that is not, or that begins with a NUL, is written
// as a NUL and a Go string.
type text string

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	s := string(t)
	if !utf8.ValidString(s) || s != "" && s[0] == 0 {
		s = "\x00" + strconv.QuoteToASCII(s)
	}
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if s != "" && s[0] == 0 {
		var err error
		if s, err = strconv.Unquote(s[1:]); err != nil {
			return errors.New("a text is not quoted as it should be")
		}
	}
	*t = text(s)
	return nil
}

// each converts the elements of a list. Nil remains nil.
func each[A, B any](list []A, convert func(a A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i, a := range list {
		out[i] = convert(a)
	}
	return out
}

func warningOut(w session.Warning) rowWarning {
	return rowWarning{text(w.File), w.Line, w.Code, text(w.Message), w.More}
}

func warningIn(w rowWarning) session.Warning {
	return session.Warning{File: string(w.File), Line: w.Line, Code: w.Code, Message: string(w.Message), More: w.More}
}

func originOut(o Origin) rowOrigin {
	return rowOrigin{text(o.Session), text(o.Agent), text(o.File), o.Malformed}
}

func originIn(o rowOrigin) Origin {
	return Origin{string(o.Session), string(o.Agent), string(o.File), o.Malformed}
}

func rowOf(s *ComparedSession) *row {
	r := &row{
		rowOrigin: originOut(s.Origin), Title: text(s.Title), Model: text(s.Model), Version: text(s.Version), Project: text(s.Project), Recorder: text(s.Recorder), Repository: text(s.Repository),
		Unpriced: each(s.Unpriced, func(m string) text { return text(m) }),
		Ran: each(s.Policies, func(p *policy.Policy) *rowPolicy {
			return &rowPolicy{text(p.Name), text(p.Product), text(p.Version), text(p.Chosen), p.Older, text(p.Newer), p.Truth, p.Score, p.Recorded}
		}),
		Values: each(s.Values, func(v Values) []digits { return each(v, func(d exact.Decimal) digits { return digits(d) }) }),
		Breaks: each(s.Breaks, func(list []replay.StageCost) []rowBreak {
			return each(list, func(c replay.StageCost) rowBreak { return rowBreak{text(c.Stage), digits(c.Breaks.Decimal())} })
		}),
		Cache: s.Cache, Apart: s.Apart, Flags: s.Flags, Rereads: s.Rereads, Aftermath: s.Aftermath, Input: text(s.Input), Billed: s.Billed, Series: s.Series,
	}
	f := &s.Selection
	r.Selection = rowSelection{
		text(f.Agent), text(f.Leaf), text(f.Tokens), text(f.Model), text(f.Window), text(f.Overhead), text(f.Cache),
		each(f.Tries, func(t policy.Try) rowTry { return rowTry{text(t.Stage), text(t.Text)} }), f.Env,
	}
	if c := s.Converted; c != nil {
		r.Converted = &rowConversion{text(c.Source), each(c.Models, func(m replay.ConvertedModel) rowConverted {
			return rowConverted{text(m.Model), m.Requests, digits(m.Ratio), digits(m.To), digits(m.From)}
		})}
	}
	return r
}

// check is what is wrong in a row of a number of policies.
func (r *row) check(policies int) error {
	for name, n := range map[string]int{"ran": len(r.Ran), "values": len(r.Values), "breaks": len(r.Breaks), "apart": len(r.Apart)} {
		if n != policies {
			return fmt.Errorf("%s: %d of %d policies", name, n, policies)
		}
	}
	figures := len(Names())
	for i, v := range r.Values {
		if len(v) != figures {
			return fmt.Errorf("values: %d of %d figures", len(v), figures)
		}
		if r.Ran[i] == nil {
			return errors.New("ran: a policy is null")
		}
	}
	if n := len(r.Series); n != 0 && n != policies {
		return fmt.Errorf("series: %d of %d policies", n, policies)
	}
	return nil
}

// session is the ComparedSession of a row. Its policies say what a report says of them, and cannot run.
func (r *row) session() (s ComparedSession, err error) {
	s = ComparedSession{
		Origin: originIn(r.rowOrigin), Title: string(r.Title), Model: string(r.Model), Version: string(r.Version), Project: string(r.Project), Recorder: string(r.Recorder), Repository: string(r.Repository),
		Unpriced: each(r.Unpriced, func(m text) string { return string(m) }),
		Policies: each(r.Ran, func(p *rowPolicy) *policy.Policy {
			return &policy.Policy{
				Name: string(p.Name), Product: string(p.Product), Version: string(p.Version), Chosen: string(p.Chosen), Older: p.Older, Newer: string(p.Newer), Truth: p.Truth, Score: p.Score, Recorded: p.Recorded,
			}
		}),
		Values: each(r.Values, func(v []digits) Values {
			return each(v, func(d digits) exact.Decimal { return exact.Decimal(d) })
		}),
		Cache: r.Cache, Apart: r.Apart, Flags: r.Flags, Rereads: r.Rereads, Aftermath: r.Aftermath, Input: string(r.Input), Billed: r.Billed, Series: r.Series,
	}
	s.Breaks = each(r.Breaks, func(list []rowBreak) []replay.StageCost {
		return each(list, func(b rowBreak) replay.StageCost {
			c := replay.StageCost{Stage: string(b.Stage)}
			if d := exact.Decimal(b.USD); d.Known {
				n, ok := d.At(c.Breaks.Decimal().Places)
				if c.Breaks = (price.USD{Nano: n, Known: true}); !ok {
					err = fmt.Errorf("`breaks`: %s is no amount in USD", d)
				}
			}
			return c
		})
	})
	f := &r.Selection
	s.Selection = Selection{
		Agent: string(f.Agent), Leaf: string(f.Leaf), Tokens: string(f.Tokens), Model: string(f.Model), Window: string(f.Window), Overhead: string(f.Overhead),
		Cache: string(f.Cache), Tries: each(f.Tries, func(t rowTry) policy.Try { return policy.Try{Stage: string(t.Stage), Text: string(t.Text)} }), Env: f.Env,
	}
	if c := r.Converted; c != nil {
		s.Converted = &replay.Conversion{Source: string(c.Source), Models: each(c.Models, func(m rowConverted) replay.ConvertedModel {
			return replay.ConvertedModel{
				Model: string(m.Model), Requests: m.Requests, Ratio: exact.Decimal(m.Ratio), To: exact.Decimal(m.To), From: exact.Decimal(m.From),
			}
		})}
	}
	return s, err
}
