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
	SummaryFixed    SummaryKind = "fixed"    // a placeholder of Tokens tokens
)

// DefaultSummaryTokens is the size of a fixed summary without a number.
const DefaultSummaryTokens = 5000

// SummaryChoice is one source of summaries.
type SummaryChoice struct {
	Kind   SummaryKind
	Tokens int // fixed only
}

// SummaryChoices are tried in order until one has a summary.
type SummaryChoices []SummaryChoice

// DefaultSummary is the recorded summary, or a fixed one of DefaultSummaryTokens.
func DefaultSummary() SummaryChoices {
	return SummaryChoices{{Kind: SummaryRecorded}, {Kind: SummaryFixed, Tokens: DefaultSummaryTokens}}
}

// String is the choice as a policy file writes it.
func (c SummaryChoice) String() string {
	if c.Kind == SummaryFixed {
		return fmt.Sprintf("fixed: %d", c.Tokens)
	}
	return string(c.Kind)
}

// DecodeParam reads recorded, outline, fixed, or fixed: N.
func (c *SummaryChoice) DecodeParam(plain any) error {
	const hint = "write recorded, outline or fixed: 5000"
	switch x := plain.(type) {
	case string:
		switch k := SummaryKind(x); k {
		case SummaryRecorded, SummaryOutline:
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
	return "recorded, outline or fixed: N", map[string]any{"oneOf": []any{
		map[string]any{"enum": []any{"recorded", "outline", "fixed"}},
		object(map[string]any{"fixed": countForm(TriggerInputTokens, 1)}, "fixed"),
	}}
}
