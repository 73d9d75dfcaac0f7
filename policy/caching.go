package policy

import (
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// Caching is the section "cache" of a policy file: how the policy's client uses the provider's prompt cache. Caching
// affects the simulated prompt cache and the cost. It affects a stage only if that stage looks at what is cached.
type Caching struct {
	Breakpoints string `yaml:"breakpoints" doc:"where requests are marked: last (the system prompt and the last message: Claude Code from 2.1.69 on), last_two (the system prompt and the last two messages: Claude Code before), last_two_if_anthropic (the same, in requests to Anthropic's models only: OpenCode), automatic (the last block), or none; auto: last for sessions of Claude Code 2.1.69 and later, else last_two" enum:"auto,last,last_two,last_two_if_anthropic,automatic,none"`
	TTL         string `yaml:"ttl" doc:"how long an entry lives; auto: as the recorded requests asked for it, else 5m" enum:"auto,5m,1h"`
	System      int    `yaml:"system" doc:"tools and system prompt up to their breakpoint, no more than the overhead; auto: measured from the session, else the median for the client's version" unit:"tokens" min:"0" zero:"auto"`
	Warm        string `yaml:"warm" doc:"whether other sessions keep that prefix in the cache, so that the first request and one after a long pause read it; auto: as the session shows, where its entries live for an hour" enum:"auto,always,never"`
}

// DefaultCaching returns the settings with which the prompt cache is used as the client of the session does.
func DefaultCaching() Caching {
	return Caching{Breakpoints: BreakpointsAuto, TTL: auto, Warm: auto}
}

// Marks returns where requests have cache breakpoints in a session that this version of product recorded. The result is
// one of the Breakpoints constants, but not BreakpointsAuto.
func (c *Caching) Marks(product, version string) string {
	switch {
	case c.Breakpoints != BreakpointsAuto:
		return c.Breakpoints
	case product == session.Product && session.FrameOf(version).OneMark:
		return BreakpointsLast
	}
	return BreakpointsLastTwo
}

// The values of Caching.Breakpoints: where requests have cache breakpoints.
const (
	BreakpointsAuto               = auto                    // BreakpointsLast for sessions of Claude Code 2.1.69 and later, else BreakpointsLastTwo
	BreakpointsLast               = "last"                  // the system prompt and the last message
	BreakpointsLastTwo            = "last_two"              // the system prompt and the last two messages
	BreakpointsLastTwoIfAnthropic = "last_two_if_anthropic" // BreakpointsLastTwo for Anthropic's models, none for others
	BreakpointsAutomatic          = "automatic"             // the last block
	BreakpointsNone               = "none"                  // none
)

const auto = "auto"

// section is a block of parameters that every policy has.
type section struct {
	key    string
	about  string
	params any // pointer to its struct, or a list of such
}

// sections are the blocks of a policy's YAML before its stages, in order, with the shared parameters that its stages
// read.
func (p *Policy) sections() []section {
	return p.sectionsWith(func(s *Shared) bool {
		return slices.ContainsFunc(p.Stages, func(c StageConfig) bool { return reads(&c.Definition, s) })
	})
}

// allSections are sections with the shared parameters of every family.
func (p *Policy) allSections() []section { return p.sectionsWith(func(*Shared) bool { return true }) }

func (p *Policy) sectionsWith(with func(*Shared) bool) []section {
	window := []any{&p.Window}
	for _, s := range p.shared {
		if with(s) {
			window = append(window, s.Params)
		}
	}
	return []section{
		{windowKey, "the context window, and the limits that stages share, in tokens", window},
		{cacheKey, "how the client uses the provider's prompt cache", &p.Cache},
	}
}

// isSection reports whether key names such a block.
func isSection(key string) bool { return key == windowKey || key == cacheKey || key == numbersKey }

// defaults is a policy that says nothing.
func defaults(reg Registry) *Policy {
	p := &Policy{Window: DefaultWindow(), Cache: DefaultCaching(), at: map[string]Position{}}
	for _, d := range reg.definitions {
		if d.Shared != nil && !slices.ContainsFunc(p.shared, func(s *Shared) bool { return reads(&d, s) }) {
			p.shared = append(p.shared, d.Shared.clone())
		}
	}
	return p
}

// reads reports whether a stage reads shared parameters.
func reads(d *Definition, s *Shared) bool { return d.Shared != nil && d.Shared.Name == s.Name }

func (s *Shared) clone() *Shared {
	c := *s
	c.Params = strict.Clone(s.Params)
	return &c
}

// Parameters returns the shared parameters; none if s is nil.
func (s *Shared) Parameters() []Param {
	if s == nil {
		return nil
	}
	return strict.Params(s.Params)
}

// share gives each stage the policy's shared parameters that it reads.
func (p *Policy) share() {
	for i := range p.Stages {
		for _, s := range p.shared {
			if reads(&p.Stages[i].Definition, s) {
				p.Stages[i].Shared = s.Params
			}
		}
	}
}

// CachingParameters returns the parameters of the section "cache" of a policy file.
func CachingParameters() []Param {
	c := DefaultCaching()
	return strict.Params(&c)
}

// WindowParameters returns the parameters of the section "window" of a policy file, without those that stages add to it
// (Shared).
func WindowParameters() []Param {
	w := DefaultWindow()
	return strict.Params(&w)
}

// Window is the section "window" of a policy file: the context window in tokens, and how its use is counted. Stages add
// parameters to this section (Shared).
type Window struct {
	Context  int      `yaml:"context" doc:"context window; auto: the model's, see models" unit:"tokens" min:"1" zero:"auto"`
	Models   string   `yaml:"models" doc:"what the client knows of models' windows: the table (as of the request's day), or only whether the model is marked [1m], else 200,000" enum:"table,marked"`
	Overhead Overhead `yaml:"overhead" doc:"system prompt and tools; auto: from the first request's usage, else 18,800" unit:"tokens"`
	Tail     string   `yaml:"tail" doc:"where the client's estimate of what came after the last response begins: after the last line of that response, or after its first" enum:"after_last,after_first"`
	Answer   string   `yaml:"answer" doc:"output tokens that the client counts for the last response where the session records only the count at its start: the recorded count, or the whole response" enum:"recorded,whole"`
}

// ModelsMarked is the value of Window.Models for old clients, which give a large window only to models whose names are
// marked [1m].
const ModelsMarked = "marked"

// DefaultWindow returns the settings with which the window and the overhead are those of the session.
func DefaultWindow() Window { return Window{Models: "table", Tail: "after_last", Answer: "recorded"} }

// Overhead is the setting of a policy for the number of tokens of the system prompt and the tools. The zero value means
// that this number is measured from the session.
type Overhead struct {
	Tokens int
	Given  bool
}

// DecodeParam reads N or auto; auto is the zero value.
func (o *Overhead) DecodeParam(plain any) error {
	const hint = "write digits, such as 18800, or auto"
	if plain == auto {
		*o = Overhead{}
		return nil
	}
	n, ok := strict.PlainCount(plain)
	switch {
	case !ok:
		return &Error{Msg: strict.Quote(fmt.Sprint(plain)) + " is not a whole number", Hint: hint}
	case n < 0:
		return &Error{Msg: fmt.Sprintf("%d is out of range", n), Hint: "give 0 or more"}
	}
	*o = Overhead{n, true}
	return nil
}

// EncodeParam returns the YAML value that Marshal writes.
func (o *Overhead) EncodeParam() any {
	if !o.Given {
		return auto
	}
	return o.Tokens
}

// ParamForm returns how to write a value, in words and as a JSON Schema.
func (o *Overhead) ParamForm() (string, map[string]any) {
	return "a whole number, or auto", strict.AnyOf(countForm(TriggerInputTokens, 0), map[string]any{"const": auto})
}
