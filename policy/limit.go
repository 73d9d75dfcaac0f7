package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Limit is a number of tokens that a stage compares a quantity with, or one that such a number is worked out from.
type Limit struct {
	Stage    string   `json:"stage,omitempty"`    // empty: of parameters that stages share
	Name     string   `json:"name"`               // "auto-compact threshold"
	Label    string   `json:"label,omitempty"`    // one word, for a line in a chart; empty: no line
	Operator string   `json:"operator,omitempty"` // how Of is compared: ">=", ">", "<"; empty: it is not
	Tokens   int      `json:"tokens"`
	Of       Quantity `json:"of,omitempty"`     // what is compared
	Acts     bool     `json:"acts"`             // the stage acts when the comparison holds, and its events name Tokens
	Blocks   bool     `json:"blocks,omitempty"` // the client does not send a request that reaches it and was not compacted
	From     string   `json:"from"`             // how it is worked out, for people

	Key   string `json:"-"` // the parameter to change, "clear_tool_uses.trigger", or the stage
	Lower string `json:"-"` // how the limit gets lower; empty: Key, if a parameter, is made smaller
	Raise string `json:"-"` // how the limit gets higher; empty: Key, if a parameter, is made larger
}

// Quantity is what a limit is compared with.
type Quantity string

// The quantities.
const (
	OfContext  Quantity = "context"  // the whole prompt: overhead and messages
	OfRequest  Quantity = "request"  // the prompt of the request to come, with what no response has counted yet
	OfMessages Quantity = "messages" // the messages, without overhead
	OfResults  Quantity = "results"  // tool results
	OfGrowth   Quantity = "growth"   // what was added since the stage last acted
)

// Circumstances are what limits depend on next to a policy's parameters.
type Circumstances struct {
	Window    int    // context window, tokens
	MaxInput  int    // the most that the model takes, tokens, where that has a limit next to Window; 0: it has none
	MaxOutput int    // the model's largest output, tokens; 0: unknown
	Agent     string // as Context.Agent
	Model     string // "": unknown
	Set       bool   // as Context.WindowSet

	// For people: where MaxOutput is from, and what set a parameter next to the policy (the key alone where nothing
	// did). Nil: nothing is known of that.
	OutputFrom string
	By         func(key string) string
}

// Name is a parameter's key with what set it.
func (c *Circumstances) Name(key string) string {
	if c.By == nil {
		return key
	}
	return c.By(key)
}

// Limits are the limits of a stage or a policy, and what is no number of tokens but decides when a stage acts.
type Limits struct {
	List  []Limit
	Notes []string
}

// Add adds a limit.
func (l *Limits) Add(limit Limit) { l.List = append(l.List, limit) }

// Acts adds a limit of context at which the stage acts, where it is reached unless the operator says otherwise.
func (l *Limits) Acts(limit Limit) {
	limit.Of = OfContext
	limit.Acts = true
	limit.Operator = cmp.Or(limit.Operator, ">=")
	l.Add(limit)
}

// Note adds a sentence.
func (l *Limits) Note(format string, args ...any) {
	l.Notes = append(l.Notes, fmt.Sprintf(format, args...))
}

// StageLimits are the limits of a stage in given circumstances, as they are listed.
type StageLimits struct {
	Circumstances
	Limits
	Stage *StageConfig
}

// Limits are the limits at which the policy's stages act, in their order.
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

// CompactsAt is the smallest limit of context at which a stage compacts the whole conversation, tokens; 0 where none
// does.
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

// FitsFrom is the first client version from which on a session's window may be fitted to what it records, empty where
// the policy does not compact as such a client does.
func (p *Policy) FitsFrom() string {
	for i := range p.Stages {
		if s := &p.Stages[i]; s.Definition.Compaction != nil && s.Definition.Compaction.FitsFrom != "" {
			return s.Definition.Compaction.FitsFrom
		}
	}
	return ""
}

// Limits are those of the stage, each with its name.
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

// Thousands is a number with commas: 180,000.
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
