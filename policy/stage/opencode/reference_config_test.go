package opencode

// Config is the part of OpenCode's configuration that the rules read. A nil field is one that is not set (section
// 10).
type Config struct {
	Compaction CompactionConfig `json:"compaction"`
	ToolOutput ToolOutputConfig `json:"tool_output"`
}

// CompactionConfig is the `compaction` block. At 1.1.36 only auto and prune exist.
type CompactionConfig struct {
	Auto                 *bool `json:"auto,omitempty"`
	Prune                *bool `json:"prune,omitempty"`
	Reserved             *int  `json:"reserved,omitempty"`
	TailTurns            *int  `json:"tail_turns,omitempty"`
	PreserveRecentTokens *int  `json:"preserve_recent_tokens,omitempty"`
}

// ToolOutputConfig is the `tool_output` block of newer versions.
type ToolOutputConfig struct {
	MaxLines *int `json:"max_lines,omitempty"`
	MaxBytes *int `json:"max_bytes,omitempty"`
}

// Names of the environment variables the rules read.
const (
	EnvDisablePrune       = envDisablePrune
	EnvDisableAutocompact = envDisableAutocompact
	EnvOutputTokenMax     = envOutputTokenMax
)

// Env is the environment OpenCode runs in, as far as the rules read it.
type Env map[string]string

// Set reports whether a switch is on.
func (e Env) Set(name string) bool { return isOn(e[name]) }

// OutputTokenMax is OTM.
func (e Env) OutputTokenMax() int { return outputTokenMax(e[EnvOutputTokenMax]) }

// Apply is the configuration with what the environment forces.
func (e Env) Apply(cfg Config) Config {
	off := false
	if e.Set(EnvDisablePrune) {
		cfg.Compaction.Prune = &off
	}
	if e.Set(EnvDisableAutocompact) {
		cfg.Compaction.Auto = &off
	}
	return cfg
}

// PruneEnabled reports whether prune runs at the end of a prompt. OpenCode 1.1.36: unless compaction.prune is false;
// 1.18.3 and 1.18.34: only if it is true. Section 3.2.
func (v Version) PruneEnabled(cfg Config, env Env) bool {
	prune := env.Apply(cfg).Compaction.Prune
	if prune == nil {
		return v.PruneByDefault
	}
	return *prune
}

// AutoEnabled reports whether an overflow leads to a compaction: unless compaction.auto is false. OpenCode 1.1.36 to
// 1.18.34: section 4.
func AutoEnabled(cfg Config, env Env) bool {
	auto := env.Apply(cfg).Compaction.Auto
	return auto == nil || *auto
}

// orUnset is a setting as a parameter of a stage.
func orUnset(n *int) int {
	if n == nil {
		return unset
	}
	return *n
}

// config is the parameters as OpenCode's own configuration.
func (p *OpencodeCompaction) config() Config {
	c := Config{Compaction: CompactionConfig{Auto: &p.Auto}}
	for _, f := range []struct {
		n  int
		to **int
	}{{p.Reserved, &c.Compaction.Reserved}, {p.TailTurns, &c.Compaction.TailTurns}, {p.PreserveRecent, &c.Compaction.PreserveRecentTokens}} {
		if f.n != unset {
			*f.to = &f.n
		}
	}
	return c
}
