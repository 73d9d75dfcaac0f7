package policy

import (
	"fmt"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// SummaryKind is a source of summaries. A replay does not call a model for them.
type SummaryKind string

const (
	SummaryRecorded SummaryKind = "recorded" // a summary that the session records, if one fits
	SummaryOutline  SummaryKind = "outline"  // an extract of the messages, which is the same in every run
	SummaryTypical  SummaryKind = "typical"  // a placeholder with the median size of the recorded summaries or, if there are none, with DefaultSummaryTokens tokens
	SummaryFixed    SummaryKind = "fixed"    // a placeholder with SummaryChoice.Tokens tokens
)

// DefaultSummaryTokens is the size that is assumed for summaries in a session that records none, in tokens. It is the
// rounded median of 69 recorded summaries of Claude Code (docs/internals/testing.md).
const DefaultSummaryTokens = 3200

// SummaryChoice is one source of summaries, with its parameter.
type SummaryChoice struct {
	Kind   SummaryKind
	Tokens int // size of the summary, for SummaryFixed
}

// SummaryChoices is a list of sources of summaries. The first source that has a summary is used.
type SummaryChoices []SummaryChoice

// DefaultSummary returns the default sources: first SummaryRecorded, then SummaryTypical.
func DefaultSummary() SummaryChoices {
	return SummaryChoices{{Kind: SummaryRecorded}, {Kind: SummaryTypical}}
}

// String returns the choice in the form that it has in a policy file.
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

// EncodeParam returns the YAML value that Marshal writes.
func (c *SummaryChoice) EncodeParam() any {
	if c.Kind == SummaryFixed {
		return map[string]any{string(SummaryFixed): c.Tokens}
	}
	return string(c.Kind)
}

// ParamForm returns how to write a value, in words and as a JSON Schema.
func (c *SummaryChoice) ParamForm() (string, map[string]any) {
	return "recorded, outline, typical or fixed: N", map[string]any{"oneOf": []any{
		map[string]any{"enum": []any{"recorded", "outline", "typical", "fixed"}},
		object(map[string]any{"fixed": countForm(TriggerInputTokens, 1)}, "fixed"),
	}}
}
