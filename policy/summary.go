package policy

import (
	"fmt"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// SummaryKind is the source of a compaction's summary. A replay calls no model.
type SummaryKind string

// The kinds of summary.
const (
	SummaryRecorded SummaryKind = "recorded" // the transcript's own, where one fits
	SummaryOutline  SummaryKind = "outline"  // a deterministic extract
	SummaryTypical  SummaryKind = "typical"  // a placeholder as large as the session's summaries are, else of DefaultSummaryTokens
	SummaryFixed    SummaryKind = "fixed"    // a placeholder of Tokens tokens
)

// DefaultSummaryTokens is the size of a summary in a session that records none: the median of recorded ones, as of
// docs/internals/testing.md.
const DefaultSummaryTokens = 3200

// SummaryChoice is one source of summaries.
type SummaryChoice struct {
	Kind   SummaryKind
	Tokens int // fixed only
}

// SummaryChoices are tried in order until one has a summary.
type SummaryChoices []SummaryChoice

// DefaultSummary is the recorded summary, or a typical one.
func DefaultSummary() SummaryChoices {
	return SummaryChoices{{Kind: SummaryRecorded}, {Kind: SummaryTypical}}
}

// String is the choice as a policy file writes it.
func (c SummaryChoice) String() string {
	if c.Kind == SummaryFixed {
		return fmt.Sprintf("fixed: %d", c.Tokens)
	}
	return string(c.Kind)
}

// DecodeParam reads recorded, outline, typical, fixed, or fixed: N.
func (c *SummaryChoice) DecodeParam(plain any) error {
	const hint = "write recorded, outline, typical or fixed: 5000"
	switch x := plain.(type) {
	case string:
		switch k := SummaryKind(x); k {
		case SummaryRecorded, SummaryOutline, SummaryTypical:
			*c = SummaryChoice{Kind: k}
			return nil
		case SummaryFixed:
			*c = SummaryChoice{k, DefaultSummaryTokens}
			return nil
		}
		return &Error{Msg: strict.Quote(x) + " is not a source of summaries", Hint: hint}
	case map[string]any:
		n, ok := strict.PlainCount(x[string(SummaryFixed)])
		if !ok || len(x) != 1 {
			return &Error{Msg: "a summary with a size is fixed: N", Hint: hint}
		}
		if n < 1 {
			return &Error{Msg: fmt.Sprintf("a summary of %d tokens", n), Hint: "give 1 or more"}
		}
		*c = SummaryChoice{SummaryFixed, n}
		return nil
	}
	return &Error{Msg: "not a source of summaries", Hint: hint}
}

// EncodeParam is the plain form.
func (c *SummaryChoice) EncodeParam() any {
	if c.Kind == SummaryFixed {
		return map[string]any{string(SummaryFixed): c.Tokens}
	}
	return string(c.Kind)
}

// ParamForm describes the notation.
func (c *SummaryChoice) ParamForm() (string, map[string]any) {
	return "recorded, outline, typical or fixed: N", map[string]any{"oneOf": []any{
		map[string]any{"enum": []any{"recorded", "outline", "typical", "fixed"}},
		object(map[string]any{"fixed": countForm(TriggerInputTokens, 1)}, "fixed"),
	}}
}
