package opencode

// DefaultOutputTokenMax is OUTPUT_TOKEN_MAX. OpenCode 1.1.36 to 1.18.34:
// section 4.
const DefaultOutputTokenMax = 32000

// Limit is a model's limits in tokens; Input is 0 where the model has no limit
// of its own for the input.
type Limit struct {
	Context int `json:"context"`
	Input   int `json:"input"`
	Output  int `json:"output"`
}

// Moment is where an overflow is checked (section 4.1).
type Moment int

const (
	InStream Moment = iota // at each finished step of an assistant message
	LoopTop                // at the top of a loop round, on the last finished message
)

// MaxOutput is the output limit of a request: min(limit.output, OTM), or OTM
// where the model has no limit. OpenCode 1.1.36 to 1.18.34: section 4.
func MaxOutput(limit Limit, outputTokenMax int) int {
	if n := min(limit.Output, outputTokenMax); n != 0 {
		return n
	}
	return outputTokenMax
}

// Usable is the part of the context a session may fill. OpenCode 1.1.36:
// limit.input, else context - output; 1.18.3 and 1.18.34: limit.input less a
// reserve, else context - output, never negative. Section 4.
func (v Version) Usable(limit Limit, cfg Config, outputTokenMax int) int {
	output := MaxOutput(limit, outputTokenMax)
	if v.ReserveBuffer == 0 {
		if limit.Input != 0 {
			return limit.Input
		}
		return limit.Context - output
	}
	if limit.Context == 0 {
		return 0
	}
	if limit.Input == 0 {
		return max(0, limit.Context-output)
	}
	reserved := min(v.ReserveBuffer, output)
	if cfg.Compaction.Reserved != nil {
		reserved = *cfg.Compaction.Reserved
	}
	return max(0, limit.Input-reserved)
}

// Count is what a call's usage comes to in the overflow test. OpenCode 1.1.36:
// input + cache.read + output, without cache.write; 1.18.3 and 1.18.34: the
// total, or else all four. Reasoning is never added. Section 4.
func (v Version) Count(t Tokens) int {
	switch {
	case !v.CountsAll:
		return t.Input + t.Cache.Read + t.Output
	case t.Total != 0:
		return t.Total
	}
	return t.Input + t.Output + t.Cache.Read + t.Cache.Write
}

// IsOverflow compares a count with the usable context. OpenCode 1.1.36: `>`;
// 1.18.3 and 1.18.34: `>=`. Section 4.
func (v Version) IsOverflow(count, usable int) bool {
	if v.OverflowAtLimit {
		return count >= usable
	}
	return count > usable
}

// Overflow decides whether the usage of one call leads to a compaction. It does
// not look at what the call was for: see Checks. OpenCode 1.1.36 to 1.18.34:
// section 4.
func (v Version) Overflow(t Tokens, limit Limit, cfg Config, env Env, at Moment) bool {
	if !AutoEnabled(cfg, env) || limit.Context == 0 {
		return false
	}
	outputTokenMax := env.OutputTokenMax()
	if at == InStream && v.StreamIgnoresEnv {
		outputTokenMax = DefaultOutputTokenMax
	}
	return v.IsOverflow(v.Count(t), v.Usable(limit, cfg, outputTokenMax))
}

// Checks reports whether an overflow is asked about for a message: at the top
// of the loop not for a summary, in the stream not for one where
// SkipsSummaryCalls. OpenCode 1.1.36 to 1.18.34: section 4.1.
func (v Version) Checks(info *Info, at Moment) bool {
	if info.Role != RoleAssistant {
		return false
	}
	return !bool(info.Summary) || at == InStream && !v.SkipsSummaryCalls
}
