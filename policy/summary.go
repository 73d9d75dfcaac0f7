package policy

import (
	"fmt"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// SummaryKind says where a compaction's summary comes from: no model can be
// asked in a replay.
type SummaryKind string

// The kinds of summary.
const (
	SummaryRecorded SummaryKind = "recorded" // the transcript's own, where one fits
	SummaryOutline  SummaryKind = "outline"  // a deterministic extract
	SummaryFixed    SummaryKind = "fixed"    // a stand-in of Tokens tokens
)

// DefaultSummaryTokens is what a fixed summary weighs where no figure is
// given.
const DefaultSummaryTokens = 5000

// SummaryChoice is one place a summary may come from.
type SummaryChoice struct {
	Kind   SummaryKind
	Tokens int // fixed only
}

// SummaryChoices are tried in order until one has a summary.
type SummaryChoices []SummaryChoice

// String is the choice as it stands in a policy file.
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
		return &Error{Msg: "no summary comes from " + strict.Quote(x), Hint: hint}
	case map[string]any:
		n, ok := x[string(SummaryFixed)].(int)
		if !ok || len(x) != 1 {
			return &Error{Msg: "a summary with a size is fixed: N", Hint: hint}
		}
		if n < 1 {
			return &Error{Msg: fmt.Sprintf("a summary of %d tokens", n), Hint: "give 1 or more"}
		}
		*c = SummaryChoice{SummaryFixed, n}
		return nil
	}
	return &Error{Msg: "no choice of summary", Hint: hint}
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
		map[string]any{
			"type": "object", "required": []any{"fixed"}, "additionalProperties": false,
			"properties": map[string]any{"fixed": map[string]any{"type": "integer", "minimum": 1, "maximum": strict.MaxNumber}},
		},
	}}
}
