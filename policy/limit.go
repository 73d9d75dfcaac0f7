package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Limit is a number of tokens with which a stage compares a quantity, or from which the stage derives such a number.
type Limit struct {
	Stage    string   `json:"stage,omitempty"`    // name of the stage; "" for limits of shared parameters
	Name     string   `json:"name"`               // "auto-compact threshold"
	Label    string   `json:"label,omitempty"`    // one word for the line of the limit in a chart; "": no line
	Operator string   `json:"operator,omitempty"` // how Of is compared with Tokens: ">=", ">" or "<"; "": not compared
	Tokens   int      `json:"tokens"`
	Of       Quantity `json:"of,omitempty"`     // the quantity that is compared
	Acts     bool     `json:"acts"`             // the stage acts if the comparison is true; the reasons of its events name Tokens
	Blocks   bool     `json:"blocks,omitempty"` // if a request reaches the limit and is not compacted, the client does not send it
	From     string   `json:"from"`             // how the limit is derived, in words

	Key   string `json:"-"` // the parameter to change, such as "clear_tool_uses.trigger", or the stage
	Lower string `json:"-"` // how to lower the limit; "": decrease Key, if it is a parameter
	Raise string `json:"-"` // how to raise the limit; "": increase Key, if it is a parameter
}

// Quantity is what a stage compares with a limit.
type Quantity string

const (
	OfContext  Quantity = "context"  // all tokens of the prompt: overhead and messages
	OfRequest  Quantity = "request"  // all tokens of the next prompt, with content that no response has counted yet
	OfMessages Quantity = "messages" // the tokens of the messages, without the overhead
	OfResults  Quantity = "results"  // the tokens of tool results
	OfGrowth   Quantity = "growth"   // the tokens that were added since the stage last acted
)

// Circumstances are what limits depend on, apart from a policy's parameters.
type Circumstances struct {
	Window    int    // context window in tokens
	MaxInput  int    // largest input that the model accepts, in tokens, if it has a limit apart from the context window; 0: it has none
	MaxOutput int    // largest output of the model, in tokens; 0: unknown
	Agent     string // see Context.Agent
	Model     string // "": unknown
	Set       bool   // see Context.WindowSet

	// These fields are for reports. OutputFrom is the source of MaxOutput. By returns the key of a parameter together
	// with what overrode the policy's value, such as an environment variable, or the key alone if nothing did. A nil By
	// means that no overrides are known.
	OutputFrom string
	By         func(key string) string
}

// Name returns the key of a parameter together with what overrode its value (see By).
func (c *Circumstances) Name(key string) string {
	if c.By == nil {
		return key
	}
	return c.By(key)
}

// Limits are the limits of a stage or a policy. Notes are conditions that are not numbers of tokens.
type Limits struct {
	List  []Limit
	Notes []string
}

// Add adds a limit.
func (l *Limits) Add(limit Limit) { l.List = append(l.List, limit) }

// Acts adds a limit at which the stage acts. It sets the field Acts to true and the field Of to OfContext, and an empty
// Operator to ">=".
func (l *Limits) Acts(limit Limit) {
	limit.Of = OfContext
	limit.Acts = true
	limit.Operator = cmp.Or(limit.Operator, ">=")
	l.Add(limit)
}

// Note adds a sentence to Notes.
func (l *Limits) Note(format string, args ...any) {
	l.Notes = append(l.Notes, fmt.Sprintf(format, args...))
}

// StageLimits collects the limits of a stage in given circumstances. The parameters of the stage add them in their
// method Limits.
type StageLimits struct {
	Circumstances
	Limits
	Stage *StageConfig
}

// Limits returns the limits at which the policy's stages act, in the order of the stages.
func (p *Policy) Limits(c Circumstances) Limits {
	all := Limits{List: []Limit{}}
	for _, s := range p.shared {
		read := slices.ContainsFunc(p.Stages, func(c StageConfig) bool { return reads(&c.Definition, s) })
		if read && s.Limits != nil {
			s.Limits(s.Params, c, &all)
		}
	}
	for i := range p.Stages {
		of := p.Stages[i].Limits(c)
		all.List = append(all.List, of.List...)
		all.Notes = append(all.Notes, of.Notes...)
	}
	return all
}

// CompactsAt returns the lowest number of tokens at which a stage compacts the whole conversation; 0: no stage does.
func (p *Policy) CompactsAt(c Circumstances) int {
	at := 0
	for i := range p.Stages {
		if l := p.Stages[i].compactsAt(c); l != nil && (at == 0 || l.Tokens < at) {
			at = l.Tokens
		}
	}
	return at
}

// compactsAt is the limit of context from which on the stage compacts the whole conversation, nil where there is
// none. Of several it is the largest: below it the stage prepares.
func (s *StageConfig) compactsAt(c Circumstances) *Limit {
	if !s.compacts() {
		return nil
	}
	var at *Limit
	for _, l := range s.Limits(c).List {
		if l.Acts && l.Of == OfContext && (at == nil || l.Tokens > at.Tokens) {
			at = &l
		}
	}
	return at
}

// FitsFrom returns the value of Compaction.FitsFrom in the first stage that has one, or "".
func (p *Policy) FitsFrom() string {
	for i := range p.Stages {
		if s := &p.Stages[i]; s.Definition.Compaction != nil && s.Definition.Compaction.FitsFrom != "" {
			return s.Definition.Compaction.FitsFrom
		}
	}
	return ""
}

// Limits returns the limits of the stage.
func (s *StageConfig) Limits(c Circumstances) Limits {
	of := StageLimits{Circumstances: c, Stage: s}
	if p, ok := s.Params.(interface{ Limits(l *StageLimits) }); ok {
		p.Limits(&of)
	}
	l := of.Limits
	for i := range l.List {
		l.List[i].Stage = s.Definition.Name
	}
	if s.When.Condition != nil {
		l.Note("%s acts only where %s (%s.%s)", s.Definition.Name, s.When.Expression, s.Definition.Name, whenKey)
	}
	return l
}

// Thousands writes a number with commas: 180,000.
func Thousands(n int) string {
	out := ""
	d := strconv.Itoa(n)
	if n < 0 {
		out = "-"
		d = d[1:]
	}
	for i := range d {
		if i > 0 && (len(d)-i)%3 == 0 {
			out += ","
		}
		out += d[i : i+1]
	}
	return out
}
