package compare

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
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
	File    text `json:"file,omitempty"`
	Line    int  `json:"line,omitempty"`
	Code    text `json:"code,omitempty"`
	Message text `json:"message"`
	More    int  `json:"more,omitempty"`
}

type rowOrigin struct {
	Session   text `json:"session"`
	Agent     text `json:"agent,omitempty"`
	File      text `json:"file"`
	Malformed int  `json:"malformed_lines,omitempty"`
}

// row is a ComparedSession. Its fields, and those of the types below it, have the names of those that they stand for.
type row struct {
	rowOrigin
	Title      text             `json:"title,omitempty"`
	Model      text             `json:"model"`
	Version    text             `json:"client_version,omitempty"`
	Project    text             `json:"project,omitempty"`
	Window     int              `json:"window"`
	Recorder   text             `json:"recorder,omitempty"`
	Repository text             `json:"repository,omitempty"`
	Unpriced   []text           `json:"unpriced"`
	Policies   []*rowPolicy     `json:"ran"`
	Values     [][]digits       `json:"values"`
	Breaks     [][]rowBreak     `json:"breaks"`
	Cache      text             `json:"prompt_cache"`
	Apart      []int            `json:"apart"`
	Flags      []text           `json:"flags"`
	Rereads    replay.Rereads   `json:"rereads"`
	Aftermath  replay.Aftermath `json:"aftermath"`
	Input      text             `json:"path"`
	Selection  rowSelection     `json:"selection"`
	Converted  *rowConversion   `json:"converted,omitempty"`
	Billed     rowBill          `json:"billed"`
	Series     [][]int          `json:"series"`
}

// rowPolicy is what a report says of a policy that ran. A policy of it cannot run.
type rowPolicy struct {
	Name     text          `json:"name"`
	Product  text          `json:"product,omitempty"`
	Version  text          `json:"version,omitempty"`
	Chosen   text          `json:"chosen,omitempty"`
	Older    bool          `json:"older,omitempty"`
	Newer    text          `json:"newer,omitempty"`
	Truth    text          `json:"truth,omitempty"`
	Score    *policy.Score `json:"score,omitempty"`
	Recorded bool          `json:"recorded,omitempty"`
}

type rowBreak struct {
	Stage  text   `json:"stage"`
	Breaks amount `json:"usd"`
}

type rowBill struct {
	Calls []rowEntry       `json:"calls"`
	Fit   *replay.CacheFit `json:"cache_fit,omitempty"`
}

type rowEntry struct {
	bill.Entry
	NotPriced []rowUnpriced `json:"not_priced,omitempty"`
}

type rowUnpriced struct {
	What   text `json:"what"`
	Calls  int  `json:"calls"`
	Tokens int  `json:"tokens"`
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

// amount is an amount in dollars, written as digits.
type amount price.USD

// MarshalJSON implements json.Marshaler.
func (a amount) MarshalJSON() ([]byte, error) { return digits(price.USD(a).Decimal()).MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler.
func (a *amount) UnmarshalJSON(data []byte) error {
	var d digits
	if err := d.UnmarshalJSON(data); err != nil {
		return err
	}
	n, ok := exact.Decimal(d).At(price.USD{}.Decimal().Places)
	if d.Known && !ok {
		return fmt.Errorf("%.40s is no amount in USD", data)
	}
	*a = amount{Nano: n, Known: d.Known}
	return nil
}

// text is a string that need not be UTF-8, as the name of a file. One that is not, or that begins with a NUL, is written
// as a NUL and a Go string.
type text string

// MarshalText implements encoding.TextMarshaler.
func (t text) MarshalText() ([]byte, error) {
	s := string(t)
	if !utf8.ValidString(s) || s != "" && s[0] == 0 {
		s = "\x00" + strconv.QuoteToASCII(s)
	}
	return []byte(s), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *text) UnmarshalText(data []byte) error {
	s := string(data)
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

// as is a value as a type whose fields have the same names.
func as[T, F any](from F) (to T) {
	convert(reflect.ValueOf(&to).Elem(), reflect.ValueOf(&from).Elem())
	return to
}

// convert sets a value to what another one holds. Nil remains nil, and fields that only one of two structs has are left.
func convert(to, from reflect.Value) {
	switch kind := to.Kind(); {
	case from.CanConvert(to.Type()):
		to.Set(from.Convert(to.Type()))
	case kind == reflect.Struct:
		for i := range to.NumField() {
			f := to.Type().Field(i)
			if same := from.FieldByName(f.Name); same.IsValid() {
				convert(to.Field(i), same)
			} else if f.Anonymous {
				convert(to.Field(i), from)
			}
		}
	case from.IsNil():
	case kind == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		convert(to.Elem(), from.Elem())
	case kind == reflect.Slice:
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			convert(to.Index(i), from.Index(i))
		}
	}
}

// check is what is wrong in a row of a number of policies.
func (r *row) check(policies int) error {
	for name, n := range map[string]int{"ran": len(r.Policies), "values": len(r.Values), "breaks": len(r.Breaks), "apart": len(r.Apart)} {
		if n != policies {
			return fmt.Errorf("%s: %d of %d policies", name, n, policies)
		}
	}
	figures := len(Names())
	for i, v := range r.Values {
		if len(v) != figures {
			return fmt.Errorf("values: %d of %d figures", len(v), figures)
		}
		if r.Policies[i] == nil {
			return errors.New("ran: a policy is null")
		}
	}
	if n := len(r.Series); n != 0 && n != policies {
		return fmt.Errorf("series: %d of %d policies", n, policies)
	}
	return nil
}
