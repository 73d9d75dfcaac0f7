package tokens

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/ctxkit/ctxkit/jsonl"
)

// TokenRates are the tokens per unit of each Measure.
type TokenRates [measures]float64

// Tokens is the weight of an amount of content.
func (r *TokenRates) Tokens(a *Amounts) float64 {
	n := 0.0
	for i, x := range a {
		n += x * r[i]
	}
	return n
}

// Documented returns the rates before a fit: 3.4 characters per token of prose up to the 4.6 generation and 2.5 after
// (documentation: a million tokens are 3.4 or 2.5 million characters), 2.87 and 2.3 of tool input and output
// (recorded tool output), a token per character outside ASCII, and images by the formula.
func Documented(tokenizer string) TokenRates {
	prose := 1 / 3.4
	tool := 1 / 2.87
	if tokenizer == NewTokenizer {
		prose = 1 / 2.5
		tool = 1 / 2.3
	}
	r := TokenRates{Output: 1, ReadWide: 1, Wide: 1, Images: 1, ToolUses: 24 * tool, Results: 8, References: 800}
	for _, m := range []Measure{TextChars, ThinkingChars, PromptChars, NoteChars, AttachedChars} {
		r[m] = prose
	}
	for _, m := range []Measure{EditInput, BashInput, OtherInput, ReadChars, BashChars, SearchChars, EditChars, OtherChars, JSONChars} {
		r[m] = tool
	}
	r[SignatureChars], r[SummedUpChars] = 0.75*prose, 0.75*prose // base64: of four characters three bytes
	if !IsClaude(tokenizer) {
		r[EncodedTokens], r[Results], r[Prompts], r[Notes] = 1, 9, 6, 6 // what is around an item: GPT-5.4
		r[Searches] = 3750                                              // mean of 22 recorded
	}
	return r
}

//go:embed rates.json
var fitted []byte

// rateTable is the form of rates.json.
type rateTable struct {
	Models map[string]string             `json:"models"` // tokenizers by what the names of their models contain
	Rates  map[string]map[string]float64 `json:"rates"`  // by tokenizer and measure
}

// readRates decodes rates.json, once. Nothing changes the table.
var readRates = sync.OnceValues(func() (f rateTable, err error) {
	if err := json.Unmarshal(fitted, &f); err != nil {
		return f, fmt.Errorf("reading the fitted rates: %w", err)
	}
	return f, nil
})

// TokenizerOf is the tokenizer of a model, by the price table or else by its name. A model without a name counts as
// Claude's.
func TokenizerOf(model, listed string) (string, error) {
	model = strings.ToLower(model)
	switch {
	case listed != "":
		return listed, nil
	case model == "" || model == "<synthetic>":
		return OldTokenizer, nil
	}
	f, err := readRates()
	for _, part := range slices.Sorted(maps.Keys(f.Models)) {
		if strings.Contains(model, part) {
			return f.Models[part], err
		}
	}
	return OtherTokenizer, err
}

// DefaultRates returns the prior of a session's rates: those of rates.json, fitted on recorded sessions, and the
// documented ones for the other measures.
func DefaultRates(tokenizer string) (TokenRates, error) {
	f, err := readRates()
	if err != nil {
		return TokenRates{}, err
	}
	if !slices.Contains(Tokenizers(), tokenizer) {
		tokenizer = OldTokenizer
	}
	r := Documented(tokenizer)
	for m := range r {
		if v, ok := f.Rates[tokenizer][Measure(m).String()]; ok {
			r[m] = v
		}
	}
	return r, nil
}

// content is the weight of a text a policy puts in.
func (r *TokenRates) content(k jsonl.Kind, n jsonl.Metrics) int {
	a := Content(k, n)
	return int(math.Round(r.Tokens(&a)))
}
