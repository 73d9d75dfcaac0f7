package opencode

import "github.com/ctxkit/ctxkit/jsonl"

// DefaultOutputTokenMax is OUTPUT_TOKEN_MAX.
const DefaultOutputTokenMax = defaultOutputTokenMax

// Limit is a model's limits in tokens, as in OpenCode's table of models.
type Limit = modelLimit

// Moment is where an overflow is checked (section 4.1).
type Moment int

const (
	InStream Moment = iota // at each finished step of an assistant message
	LoopTop                // at the top of a loop round, on the last finished message
)

// Usable is the part of the context a session may fill, under a configuration.
func (v Version) Usable(limit Limit, cfg Config, outputTokenMax int) int {
	return v.usable(limit, orUnset(cfg.Compaction.Reserved), outputTokenMax)
}

// TailBudget is how many estimated tokens a tail may have, under a configuration.
func (v Version) TailBudget(limit Limit, cfg Config) int {
	return v.tailBudget(limit, orUnset(cfg.Compaction.PreserveRecentTokens), orUnset(cfg.Compaction.Reserved))
}

// Count is the size of a call in the overflow test: as the stages count it, but newer versions prefer a recorded
// total. Section 4.
func (v Version) Count(t Tokens) int {
	if v.CountsAll && t.Total != 0 {
		return t.Total
	}
	return v.count(jsonl.Usage{Input: t.Input, Output: t.Output, CacheRead: t.Cache.Read, CacheWrite: t.Cache.Write})
}

// Overflow decides whether the usage of one call leads to a compaction. It does not look at what the call was for:
// see Checks. OpenCode 1.1.36 to 1.18.34: section 4.
func (v Version) Overflow(t Tokens, limit Limit, cfg Config, env Env, at Moment) bool {
	if !AutoEnabled(cfg, env) || limit.Context == 0 {
		return false
	}
	outputTokenMax := env.OutputTokenMax()
	if at == InStream && v.StreamIgnoresEnv {
		outputTokenMax = DefaultOutputTokenMax
	}
	return v.overflows(v.Count(t), v.Usable(limit, cfg, outputTokenMax))
}
