package openclaw

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// CacheTTLPrune are the parameters of cache_ttl_prune.
type CacheTTLPrune struct {
	TTL                time.Duration `yaml:"ttl" doc:"prune only if the last request was at least this long ago: its cache has expired; 0s: never" min:"0s"`
	KeepLastAssistants int           `yaml:"keep_last_assistants" doc:"the newest assistant messages; results from the first of them on are never pruned, and none if there are fewer" unit:"messages" min:"0"`
	SoftTrimRatio      float64       `yaml:"soft_trim_ratio" doc:"trim once the messages fill this share of the window, at four characters a token" min:"0" max:"1"`
	HardClearRatio     float64       `yaml:"hard_clear_ratio" doc:"clear, oldest first, while they fill this share after the trim" min:"0" max:"1"`
	MinPrunableChars   int           `yaml:"min_prunable_chars" doc:"clear nothing where less than this could go" unit:"characters" min:"0"`
	SoftMaxChars       int           `yaml:"soft_max_chars" doc:"a result longer than this is trimmed" unit:"characters" min:"0"`
	SoftHeadChars      int           `yaml:"soft_head_chars" doc:"what is left of its beginning" unit:"characters" min:"0"`
	SoftTailChars      int           `yaml:"soft_tail_chars" doc:"what is left of its end" unit:"characters" min:"0"`
	HardClear          bool          `yaml:"hard_clear" doc:"whether results are cleared at all"`
	Placeholder        string        `yaml:"placeholder" doc:"the text that replaces a cleared result"`
	Tools              []string      `yaml:"tools" doc:"tools whose results may go, all where empty; * matches anything, letters of either case"`
	ExcludeTools       []string      `yaml:"exclude_tools" doc:"tools whose results never go, whatever tools says"`
}

func defineCacheTTLPrune() policy.Definition {
	return policy.Definition{
		Name:    "cache_ttl_prune",
		Summary: "Before a request that comes 5 minutes or more after the last one, old tool results are trimmed if the messages fill 30 % of the window, and cleared, oldest first, if they still fill half of it.",
		Source:  "OpenClaw, contextPruning mode cache-ttl: pruneExpiredCacheTtlToolResults of src/agents/embedded-agent-runner/tool-result-truncation.ts (npm openclaw 2026.9.6, in dist/tool-result-truncation-*.mjs), docs/concepts/session-pruning.md; what was trimmed stays so until it is cleared, and each request sets the clock",
		Differs: "Chinese, Japanese and Korean characters count as any other; with an API key of Anthropic's it asks the server to clear instead",
		Truth:   policy.TruthOracle,
		Moments: policy.Prepare,
		Memory:  policy.Stateless, // once the cache is gone again, what was trimmed may be cleared
		Params: &CacheTTLPrune{
			TTL: 5 * time.Minute, KeepLastAssistants: 3, SoftTrimRatio: 0.3, HardClearRatio: 0.5, MinPrunableChars: 50000,
			SoftMaxChars: 4000, SoftHeadChars: 1500, SoftTailChars: 1500, HardClear: true, Placeholder: "[Old tool result content cleared]",
			Tools: []string{}, ExcludeTools: []string{},
		},
		Example: `before: 5 minutes after the last request, 420,000 characters in a window of 200,000 tokens; the oldest results have 90,000, 2,000 and 30,000
after:  the first and the third have 1,500 from their beginning and 1,500 from their end; what is left is under half of the window`,
		Window: true,
		New: policy.Maker(func(p CacheTTLPrune) policy.Stage {
			s := &cacheTTLPrune{CacheTTLPrune: p}
			s.sums.Of = openclawChars
			s.placeholder = policy.NewContent(jsonl.KindToolResult, s.Placeholder)
			return s
		}),
	}
}

// tokensOf is a share of a window in tokens, of four characters each.
func tokensOf(share float64, window int) int { return int(math.Ceil(share * float64(window))) }

// clearsAt is the share of the window at which results are cleared: nothing is below the share for trimming.
func (p *CacheTTLPrune) clearsAt() float64 { return max(p.HardClearRatio, p.SoftTrimRatio) }

// Limits are what decides when cache_ttl_prune acts.
func (p *CacheTTLPrune) Limits(l *policy.StageLimits) {
	if p.TTL <= 0 {
		return
	}
	after := ": messages, characters / 4, after " + strict.DurationText(p.TTL) + " without a request"
	l.Add(policy.Limit{Name: "trimming", Label: "trim", Operator: ">=", Tokens: tokensOf(p.SoftTrimRatio, l.Window), Of: policy.OfMessages, Acts: true,
		From: strict.FloatText(p.SoftTrimRatio) + " x the window (" + l.Name("cache_ttl_prune.soft_trim_ratio") + ")" + after, Key: "cache_ttl_prune.soft_trim_ratio"})
	if p.HardClear {
		l.Add(policy.Limit{Name: "clearing", Label: "clear", Operator: ">=", Tokens: tokensOf(p.clearsAt(), l.Window), Of: policy.OfMessages, Acts: true,
			From: strict.FloatText(p.clearsAt()) + " x the window (" + l.Name("cache_ttl_prune.hard_clear_ratio") + ")" + after, Key: "cache_ttl_prune.hard_clear_ratio"})
	}
}

// Check is what is questionable in a policy with cache_ttl_prune.
func (p *CacheTTLPrune) Check(c *policy.Check) {
	if p.TTL == 0 {
		c.Add(policy.RuleNever, "cache_ttl_prune.ttl", "give a pause such as 5m", "0s means that nothing is ever pruned")
	} else {
		c.Warm("cache_ttl_prune.ttl", p.TTL)
	}
	if p.SoftHeadChars+p.SoftTailChars >= p.SoftMaxChars {
		c.Add(policy.RuleContradict, "cache_ttl_prune.soft_head_chars", "make head or tail smaller", "%d and %d characters are left of a result of more than %d: it is not shorter", p.SoftHeadChars, p.SoftTailChars, p.SoftMaxChars)
	}
	if p.HardClear && p.HardClearRatio < p.SoftTrimRatio {
		c.Add(policy.RuleContradict, "cache_ttl_prune.hard_clear_ratio", "make it cache_ttl_prune.soft_trim_ratio or more", "%s is less than cache_ttl_prune.soft_trim_ratio %s, where pruning begins",
			strict.FloatText(p.HardClearRatio), strict.FloatText(p.SoftTrimRatio))
	}
	c.Unused("cache_ttl_prune.hard_clear_ratio", !p.HardClear, "cache_ttl_prune.hard_clear is off")
	c.Unused("cache_ttl_prune.min_prunable_chars", !p.HardClear, "cache_ttl_prune.hard_clear is off")
}

// cacheTTLPrune follows the characters of the messages and the time of the last request.
type cacheTTLPrune struct {
	CacheTTLPrune
	placeholder policy.Content
	sums        measure.ItemSums
	touched     time.Time // when the last request was made; zero: there was none
}

func (s *cacheTTLPrune) Run(c *policy.Context) ([]policy.Edit, error) {
	last := s.touched
	s.touched = c.Now
	s.sums.Follow(c.View)
	if last.IsZero() || s.TTL <= 0 || c.Now.Sub(last) < s.TTL {
		return nil, nil
	}
	window := float64(4 * c.Window)
	if window <= 0 || float64(s.sums.Sum)/window < s.SoftTrimRatio {
		return nil, nil
	}
	return s.prune(c, window, fmt.Sprintf("%s since the last request", c.Now.Sub(last).Round(time.Second)))
}

// pruned is a result that may be trimmed or cleared.
type pruned struct {
	target policy.Target
	chars  int
	trim   *policy.Content
	clear  bool
}

func (s *cacheTTLPrune) prune(c *policy.Context, window float64, why string) ([]policy.Edit, error) {
	list, total, err := s.trimmed(c)
	if err != nil {
		return nil, err
	}
	prunable := 0
	for i := range list {
		prunable += list[i].chars
	}
	ratio := float64(total) / window
	if s.HardClear && ratio >= s.HardClearRatio && prunable >= s.MinPrunableChars {
		for i := range list {
			if ratio < s.HardClearRatio {
				break
			}
			list[i].clear = true
			total += s.placeholder.Length.UTF16 - list[i].chars
			ratio = float64(total) / window
		}
	}
	var trims, clears []policy.Edit
	for i := range list {
		e := policy.Edit{Trigger: "auto", Target: list[i].target}
		switch {
		case list[i].clear:
			e.Kind = policy.KindClear
			e.New = &s.placeholder
			e.Reason = why + fmt.Sprintf("; oldest first, while the messages fill %s of the window, %d tokens, or more", percent(s.clearsAt()), tokensOf(s.clearsAt(), c.Window))
			clears = append(clears, e)
		case list[i].trim != nil:
			e.Kind = policy.KindTruncate
			e.New = list[i].trim
			e.Reason = why + fmt.Sprintf("; long results, because the messages fill %s of the window, %d tokens, or more", percent(s.SoftTrimRatio), tokensOf(s.SoftTrimRatio, c.Window))
			trims = append(trims, e)
		}
	}
	return append(trims, clears...), nil
}

func percent(share float64) string { return fmt.Sprintf("%.4g %%", 100*share) }

// trimmed lists the results that may be trimmed or cleared, oldest first, each with what a trim leaves of it. total
// is the characters of the messages after the trim.
func (s *cacheTTLPrune) trimmed(c *policy.Context) (list []pruned, total int, err error) {
	v := c.View
	total = s.sums.Sum
	cutoff, ok := s.cutoff(v)
	if !ok {
		return nil, total, nil
	}
	started := false
	for id := range v.Items {
		if id == cutoff && s.KeepLastAssistants > 0 {
			break
		}
		for t := range policy.Targets(v, id) {
			if raw := v.Raw(t); raw == nil || raw.Kind != jsonl.KindToolResult {
				started = started || v.Role(id) == session.User // nothing before the first user message is pruned
				continue
			} else if was := v.Replacement(t); !started || was != nil && !was.Partial || !s.prunable(c.Conv, raw) {
				continue // what was cleared once stays as it is
			}
			p := pruned{target: t, chars: resultChars(v, t)}
			if v.Replacement(t) == nil { // what was trimmed once is not trimmed again
				if p.trim, err = s.trim(c, t); err != nil {
					return nil, 0, err
				}
			}
			if p.trim != nil {
				total += p.trim.Length.UTF16 - p.chars
				p.chars = p.trim.Length.UTF16
			}
			list = append(list, p)
		}
	}
	return list, total, nil
}

// cutoff is the oldest of the keep_last_assistants newest assistant messages, and false where there are fewer.
func (s *cacheTTLPrune) cutoff(v policy.View) (policy.ItemID, bool) {
	left := s.KeepLastAssistants
	if left <= 0 {
		return 0, true
	}
	for id := range v.Backward {
		if v.Role(id) == session.Assistant {
			if left--; left == 0 {
				return id, true
			}
		}
	}
	return 0, false
}

func (s *cacheTTLPrune) prunable(conv *session.Conversation, result *session.Block) bool {
	tool := conv.ToolName(result.ID)
	alike := strings.ToLower(strings.TrimSpace(conv.Alike(tool)))
	tool = strings.ToLower(strings.TrimSpace(tool))
	return !anyGlob(s.ExcludeTools, tool) && !anyGlob(s.ExcludeTools, alike) &&
		(len(s.Tools) == 0 || anyGlob(s.Tools, tool) || anyGlob(s.Tools, alike))
}

// anyGlob reports whether a lower-case name is on a list of patterns.
func anyGlob(patterns []string, name string) bool {
	for _, p := range patterns {
		if glob(strings.ToLower(strings.TrimSpace(p)), name) {
			return true
		}
	}
	return false
}

// glob reports whether a name fits a pattern in which * is anything.
func glob(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	for _, p := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, p)
		if at < 0 {
			return false
		}
		rest = rest[at+len(p):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
