package compare

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
)

// RowsSchema is the version of the lines that WriteRows writes.
const RowsSchema = "ctxkit.rows/v1"

// InputRows is what came of one input of a comparison.
type InputRows struct {
	Input    int               // its place among the inputs of all shards, from 0
	Warnings []session.Warning // of reading it
	Failed   string            // why it failed, or could be read in part only; "": neither
	Empty    []Origin          // conversations without a request
	Sessions []ComparedSession
}

// Rows are the outcomes of some inputs of a comparison, with what they depend on.
type Rows struct {
	Build    string            // of the program
	Policies []RowsPolicy      // in their order
	Options  map[string]string // that change what is worked out of a session
	Inputs   int               // of all shards
	Names    string            // a digest of the names of these, in their order
	Shard    int               // which part of the inputs, from 1
	Shards   int
	Warnings []session.Warning // of no input
	Late     []session.Warning // of no input, known once all are read: sorted, each once
	Outcomes []InputRows       // by Input
}

// RowsPolicy is a policy by the name that was asked for.
type RowsPolicy struct {
	Name   string `json:"name"`
	Digest string `json:"digest,omitempty"` // of all that it says; "": the session decides which release the name means
}

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

// rowLine is each other line: one of its members is there beside the input.
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
	Model      text             `json:"model"`
	Version    text             `json:"client_version,omitempty"`
	Project    text             `json:"project,omitempty"`
	Repository text             `json:"repository,omitempty"`
	Unpriced   []text           `json:"unpriced"`
	Ran        []*rowPolicy     `json:"ran"`
	Values     [][]digits       `json:"values"`
	Breaks     [][]rowBreak     `json:"breaks"`
	Cache      replay.CacheMode `json:"prompt_cache"`
	Apart      []int            `json:"apart"`
	Flags      []Flag           `json:"flags"`
	Rereads    replay.Rereads   `json:"rereads"`
	Input      text             `json:"path"`
	Selection  rowSelection     `json:"selection"`
	Converted  *rowConversion   `json:"converted,omitempty"`
	Series     [][]int          `json:"series"`
}

// rowPolicy is what a report says of a policy that ran.
type rowPolicy struct {
	Name     text          `json:"name"`
	Version  text          `json:"version,omitempty"`
	Chosen   text          `json:"chosen,omitempty"`
	Older    bool          `json:"older,omitempty"`
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
		rowOrigin: originOut(s.Origin), Model: text(s.Model), Version: text(s.Version), Project: text(s.Project), Repository: text(s.Repository),
		Unpriced: each(s.Unpriced, func(m string) text { return text(m) }),
		Ran: each(s.Policies, func(p *policy.Policy) *rowPolicy {
			return &rowPolicy{text(p.Name), text(p.Version), text(p.Chosen), p.Older, p.Truth, p.Score, p.Recorded}
		}),
		Values: each(s.Values, func(v Values) []digits { return each(v, func(d exact.Decimal) digits { return digits(d) }) }),
		Breaks: each(s.Breaks, func(list []replay.StageCost) []rowBreak {
			return each(list, func(c replay.StageCost) rowBreak { return rowBreak{text(c.Stage), digits(c.Breaks.Decimal())} })
		}),
		Cache: s.Cache, Apart: s.Apart, Flags: s.Flags, Rereads: s.Rereads, Input: text(s.Input), Series: s.Series,
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

// check is what is wrong in a row of so many policies.
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
		Origin: originIn(r.rowOrigin), Model: string(r.Model), Version: string(r.Version), Project: string(r.Project), Repository: string(r.Repository),
		Unpriced: each(r.Unpriced, func(m text) string { return string(m) }),
		Policies: each(r.Ran, func(p *rowPolicy) *policy.Policy {
			return &policy.Policy{
				Name: string(p.Name), Version: string(p.Version), Chosen: string(p.Chosen), Older: p.Older, Truth: p.Truth, Score: p.Score, Recorded: p.Recorded,
			}
		}),
		Values: each(r.Values, func(v []digits) Values {
			return each(v, func(d digits) exact.Decimal { return exact.Decimal(d) })
		}),
		Cache: r.Cache, Apart: r.Apart, Flags: r.Flags, Rereads: r.Rereads, Input: string(r.Input), Series: r.Series,
	}
	s.Breaks = each(r.Breaks, func(list []rowBreak) []replay.StageCost {
		return each(list, func(b rowBreak) replay.StageCost {
			c := replay.StageCost{Stage: string(b.Stage)}
			if d := exact.Decimal(b.USD); d.Known {
				n, ok := d.At(c.Breaks.Decimal().Places)
				if c.Breaks = (price.USD{Nano: n, Known: true}); !ok {
					err = fmt.Errorf("breaks: %s is no amount in USD", d)
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

// lines are those of an outcome.
func (o *InputRows) lines() (list []rowLine) {
	for _, w := range o.Warnings {
		out := warningOut(w)
		list = append(list, rowLine{Input: o.Input, Warning: &out})
	}
	if o.Failed != "" {
		list = append(list, rowLine{Input: o.Input, Failed: text(o.Failed)})
	}
	for _, e := range o.Empty {
		out := originOut(e)
		list = append(list, rowLine{Input: o.Input, Empty: &out})
	}
	for i := range o.Sessions {
		list = append(list, rowLine{Input: o.Input, Row: rowOf(&o.Sessions[i])})
	}
	return list
}

// add adds a line of the outcome's input, of a comparison of so many policies.
func (o *InputRows) add(line *rowLine, policies int) error {
	members := 0
	for _, there := range []bool{line.Warning != nil, line.Failed != "", line.Empty != nil, line.Row != nil} {
		if there {
			members++
		}
	}
	switch {
	case members != 1:
		return errors.New("want one of warning, failed, empty and row")
	case line.Warning != nil:
		o.Warnings = append(o.Warnings, warningIn(*line.Warning))
	case line.Empty != nil:
		o.Empty = append(o.Empty, originIn(*line.Empty))
	case line.Row != nil:
		if err := line.Row.check(policies); err != nil {
			return err
		}
		s, err := line.Row.session()
		if err != nil {
			return err
		}
		o.Sessions = append(o.Sessions, s)
	default:
		o.Failed = string(line.Failed)
	}
	return nil
}

// EncodeInput is an outcome as DecodeInput reads it: a line for each thing that there is to say of it.
func EncodeInput(o *InputRows) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, line := range o.lines() {
		if err := enc.Encode(line); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// DecodeInput reads the outcome of one input of a comparison of so many policies.
func DecodeInput(data []byte, policies int) (o InputRows, err error) {
	for i, text := range bytes.SplitAfter(data, []byte("\n")) {
		var line rowLine
		if len(text) == 0 {
			break
		}
		if err := strictly(text, &line); err != nil {
			return o, err
		}
		if i > 0 && line.Input != o.Input {
			return o, errors.New("lines of several inputs")
		}
		o.Input = line.Input
		if err := o.add(&line, policies); err != nil {
			return o, err
		}
	}
	return o, nil
}

// strictly decodes one JSON value, and refuses members that are not known and what follows it.
func strictly(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more on the line than one value")
	}
	return nil
}

// WriteRows writes rows as lines of JSON, a line at a time: one about all of them, then those of each outcome.
func WriteRows(w io.Writer, r *Rows) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	head := rowsHead{
		RowsSchema, r.Build, r.Policies, r.Options, Names(), r.Inputs, r.Names, r.Shard, r.Shards, 0,
		append([]rowWarning{}, each(r.Warnings, warningOut)...), append([]rowWarning{}, each(r.Late, warningOut)...),
	}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		head.Lines += len(o.Warnings) + len(o.Empty) + len(o.Sessions) + min(len(o.Failed), 1)
	}
	if err := enc.Encode(head); err != nil {
		return err
	}
	for i := range r.Outcomes {
		for _, line := range r.Outcomes[i].lines() {
			if err := enc.Encode(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// RowsError is what is wrong in a line of rows, from 1.
type RowsError struct {
	Line int
	Err  error
}

func (e *RowsError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap is the cause.
func (e *RowsError) Unwrap() error { return e.Err }

// ErrNoRows is wrapped by the error of ReadRows for what does not begin as rows do.
var ErrNoRows = errors.New("no rows of a comparison")

// ErrCut is wrapped by the error of ReadRows for rows that end too early.
var ErrCut = errors.New("the rows end too early")

// ReadRows reads what WriteRows writes. Its error is of type *RowsError where a line is wrong.
func ReadRows(r io.Reader) (*Rows, error) {
	in := bufio.NewReader(r)
	var head rowsHead
	rows, ran := &Rows{}, map[string]*policy.Policy{}
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0 && n > 1:
			if n-2 != head.Lines {
				return nil, &RowsError{n - 1, fmt.Errorf("%w: %d lines of %d", ErrCut, n-2, head.Lines)}
			}
			return rows, nil
		case err != nil && !errors.Is(err, io.EOF):
			return nil, &RowsError{n, err}
		case n == 1:
			err = readHead(line, &head, rows)
		case n-1 > head.Lines:
			err = fmt.Errorf("there are more than %d lines after the first", head.Lines)
		default:
			err = rows.read(line, ran)
		}
		if err != nil {
			return nil, &RowsError{n, err}
		}
	}
}

func readHead(line []byte, h *rowsHead, r *Rows) error {
	var known struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(line, &known); err != nil || known.Schema != RowsSchema {
		return fmt.Errorf("%w: the first line is none of %s", ErrNoRows, RowsSchema)
	}
	if err := strictly(line, h); err != nil {
		return err
	}
	switch {
	case !slices.Equal(h.Figures, Names()):
		return errors.New("the rows have other figures: they are of another build")
	case len(h.Policies) == 0:
		return errors.New("the rows have no policy")
	case h.Shard < 1 || h.Shard > h.Shards:
		return fmt.Errorf("shard %d of %d", h.Shard, h.Shards)
	case h.Inputs < 0 || h.Lines < 0:
		return errors.New("a count is below 0")
	}
	*r = Rows{
		Build: h.Build, Policies: h.Policies, Options: h.Options, Inputs: h.Inputs, Names: h.Names, Shard: h.Shard, Shards: h.Shards,
		Warnings: each(h.Warnings, warningIn), Late: each(h.Late, warningIn),
	}
	return nil
}

// read reads a line after the first. Policies that are the same are one, of ran.
func (r *Rows) read(data []byte, ran map[string]*policy.Policy) error {
	var line rowLine
	if err := strictly(data, &line); err != nil {
		return err
	}
	last := len(r.Outcomes) - 1
	switch {
	case line.Input < 0 || line.Input >= r.Inputs:
		return fmt.Errorf("input %d of %d", line.Input, r.Inputs)
	case last < 0 || r.Outcomes[last].Input < line.Input:
		r.Outcomes = append(r.Outcomes, InputRows{Input: line.Input})
		last++
	case r.Outcomes[last].Input > line.Input:
		return fmt.Errorf("input %d is behind input %d", line.Input, r.Outcomes[last].Input)
	}
	o := &r.Outcomes[last]
	if err := o.add(&line, len(r.Policies)); err != nil {
		return err
	}
	if line.Row != nil {
		s := &o.Sessions[len(o.Sessions)-1]
		for i, p := range s.Policies {
			key, err := json.Marshal(line.Row.Ran[i])
			if err != nil {
				return err
			}
			if ran[string(key)] == nil {
				ran[string(key)] = p
			}
			s.Policies[i] = ran[string(key)]
		}
	}
	return nil
}
