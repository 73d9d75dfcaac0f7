package opencode

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Config is the part of OpenCode's configuration that the rules read. A nil
// field is one that is not set (section 10).
type Config struct {
	Compaction CompactionConfig `json:"compaction"`
	ToolOutput ToolOutputConfig `json:"tool_output"`
}

// CompactionConfig is the `compaction` block. At 1.1.36 only auto and prune
// exist.
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
	EnvDisablePrune       = "OPENCODE_DISABLE_PRUNE"
	EnvDisableAutocompact = "OPENCODE_DISABLE_AUTOCOMPACT"
	EnvOutputTokenMax     = "OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX"
)

// Env is the environment OpenCode runs in, as far as the rules read it.
type Env map[string]string

// Set reports whether a switch is "true" or "1", in any case. OpenCode 1.1.36
// to 1.18.34: sections 3.2 and 4.
func (e Env) Set(name string) bool {
	value := e[name]
	return value == "1" || strings.EqualFold(value, "true")
}

// OutputTokenMax is OTM: the variable's value if that is a positive integer,
// else DefaultOutputTokenMax. OpenCode 1.1.36 to 1.18.34: section 4.
func (e Env) OutputTokenMax() int {
	n := jsNumber(e[EnvOutputTokenMax])
	if math.IsNaN(n) || math.IsInf(n, 0) || n <= 0 || n != math.Trunc(n) {
		return DefaultOutputTokenMax
	}
	const largest = 1 << 53 // above any limit, and exact
	return int(min(n, largest))
}

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

// PruneEnabled reports whether prune runs at the end of a prompt. OpenCode
// 1.1.36: unless compaction.prune is false; 1.18.3 and 1.18.34: only if it is
// true. Section 3.2.
func (v Version) PruneEnabled(cfg Config, env Env) bool {
	prune := env.Apply(cfg).Compaction.Prune
	if prune == nil {
		return v.PruneByDefault
	}
	return *prune
}

// AutoEnabled reports whether an overflow leads to a compaction: unless
// compaction.auto is false. OpenCode 1.1.36 to 1.18.34: section 4.
func AutoEnabled(cfg Config, env Env) bool {
	auto := env.Apply(cfg).Compaction.Auto
	return auto == nil || *auto
}

var (
	decimalLiteral = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)
	radixLiteral   = regexp.MustCompile(`^0([xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)$`)
)

// jsNumber is JavaScript's Number(s): NaN for what is not a number, 0 for an
// empty text.
func jsNumber(s string) float64 {
	s = jsTrim(s)
	switch {
	case s == "":
		return 0
	case s == "Infinity" || s == "+Infinity":
		return math.Inf(1)
	case s == "-Infinity":
		return math.Inf(-1)
	case decimalLiteral.MatchString(s):
		n, _ := strconv.ParseFloat(s, 64) // out of range is an infinity, as in JavaScript
		return n
	case radixLiteral.MatchString(s):
		base := map[byte]float64{'x': 16, 'o': 8, 'b': 2}[s[1]|0x20]
		n := 0.0
		for _, c := range s[2:] {
			digit, _ := strconv.ParseInt(string(c), 16, 64)
			n = n*base + float64(digit)
		}
		return n
	}
	return math.NaN()
}

// jsTrim is JavaScript's trim: white space, line ends and the byte order mark.
func jsTrim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return r == '\uFEFF' || r != '\u0085' && unicode.IsSpace(r)
	})
}
