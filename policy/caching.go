package policy

import "github.com/ctxkit/ctxkit/policy/strict"

// Caching is how a policy's client uses the provider's prompt cache: the
// `cache` block of its YAML. It changes no decision of a stage but those that
// read what was cached; it is what the cache simulation and the cost go by.
type Caching struct {
	Breakpoints string `yaml:"breakpoints" doc:"where requests are marked: claude-code (the system prompt and the last two messages), opencode (the first two system messages and the last two others), automatic (the last block), or none" enum:"claude-code,opencode,automatic,none"`
	TTL         string `yaml:"ttl" doc:"how long an entry lives; auto: as the recorded requests asked for it, else 5m" enum:"auto,5m,1h"`
	System      int    `yaml:"system" doc:"tools and system prompt up to their breakpoint, no more than the overhead; auto: as measured for the client's version" unit:"tokens" min:"0" zero:"auto"`
	Warm        string `yaml:"warm" doc:"whether other sessions keep that prefix in the cache, so that the first request and one after a long pause read it; auto: where entries live for an hour" enum:"auto,always,never"`
}

// DefaultCaching is Claude Code's.
func DefaultCaching() Caching {
	return Caching{Breakpoints: BreakpointsClaudeCode, TTL: auto, Warm: auto}
}

// The values of Caching.Breakpoints.
const (
	BreakpointsClaudeCode = "claude-code"
	BreakpointsOpenCode   = "opencode"
	BreakpointsAutomatic  = "automatic"
	BreakpointsNone       = "none"
)

const auto = "auto"

// section is a block of parameters that every policy has.
type section struct {
	key    string
	about  string
	params any // pointer to its struct
}

// sections are the blocks of a policy's YAML before its stages, in order.
func (p *Policy) sections() []section {
	return []section{
		{windowKey, "the policy's limits, in tokens", &p.Window},
		{cacheKey, "how the client uses the provider's prompt cache", &p.Cache},
	}
}

// isSection reports whether key names such a block.
func isSection(key string) bool { return key == windowKey || key == cacheKey }

// defaults is a policy that says nothing.
func defaults() *Policy {
	return &Policy{Window: DefaultWindow(), Cache: DefaultCaching(), at: map[string]Position{}}
}

// CachingParameters describes the parameters of the `cache` block.
func CachingParameters() []Param { return strict.Params(&defaults().Cache) }
