package policy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// A policy with every default spelled out reads back as the same policy.
func checkRoundTrip(t *testing.T, reg Registry, p *Policy) {
	t.Helper()
	text := Marshal(p)
	name := p.File
	if name == "" {
		name = p.Name
	}
	q, err := Decode(name, text, reg, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if changes := Diff(p, q); len(changes) > 0 {
		t.Fatalf("reads back with changes %v\n%s", changes, text)
	}
	if p.File != q.File || p.Window != q.Window || p.Cache != q.Cache || p.Recorded != q.Recorded {
		t.Fatalf("reads back as %+v, was %+v", q, p)
	}
	if again := Marshal(q); string(again) != string(text) {
		t.Fatalf("written again: %s", cmp.Diff(string(text), string(again)))
	}
}

func TestRoundTripRandom(t *testing.T) {
	reg := testRegistry(t)
	r := rand.New(rand.NewPCG(1, 2))
	n := 300
	if os.Getenv("CTXKIT_LONG") == "1" {
		n = 1000
	}
	for range n {
		checkRoundTrip(t, reg, randomPolicy(r, reg))
	}
}

func randomPolicy(r *rand.Rand, reg Registry) *Policy {
	p := defaults(reg)
	p.Name, p.File, p.About, p.Source = "p", "p.yaml", graphic(randomText(r)), graphic(randomText(r))
	if r.IntN(2) == 0 {
		p.Date = "2026-11-21"
	}
	p.Window.Context, p.Window.Overhead = r.IntN(1e6), []Overhead{{}, {0, true}, {1000, true}}[r.IntN(3)]
	for _, s := range p.shared {
		if w, ok := s.Params.(*sharedParams); ok {
			*w = sharedParams{r.IntN(1e6), []string{"", "80"}[r.IntN(2)], r.IntN(2) == 0}
		}
	}
	p.Cache.System, p.Cache.TTL = r.IntN(3)*1000, []string{"auto", "5m", "1h"}[r.IntN(3)]
	if r.IntN(8) == 0 {
		p.Recorded = true
		return p
	}
	for _, i := range r.Perm(len(reg.Definitions()))[:r.IntN(4)] {
		d := reg.Definitions()[i]
		s := StageConfig{Definition: d, Params: strict.Clone(d.Params)}
		if k, ok := s.Params.(*kinds); ok {
			randomKinds(r, k)
		}
		p.Stages = append(p.Stages, s)
	}
	p.share()
	return p
}

// graphic is what of a text may be printed.
func graphic(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) || r == '\n' || r == '\t' {
			return r
		}
		return -1
	}, s)
}

func randomKinds(r *rand.Rand, k *kinds) {
	maybe := func(n int) *int {
		if r.IntN(2) == 0 {
			return nil
		}
		return &n
	}
	k.Switch, k.Count, k.Free, k.Auto = r.IntN(2) == 0, 1+r.IntN(9), r.IntN(2e9)-1e9, r.IntN(3)
	k.Share, k.Note = []float64{0, 1, r.Float64(), 1e-9}[r.IntN(4)], randomText(r)
	k.Gap = []time.Duration{time.Second, time.Hour, 24 * time.Hour, 90 * time.Minute, time.Duration(1e9 + r.Int64N(1e13))}[r.IntN(5)]
	k.Tools, k.PerTool, k.Modes = nil, map[string]int{}, nil
	for i := range r.IntN(4) {
		k.Tools = append(k.Tools, fmt.Sprint(i, randomText(r)))
		k.PerTool[randomText(r)] = r.IntN(5) - 1
		k.Modes = append(k.Modes, []string{"a", "b", "c"}[i%3])
	}
	k.Limit, k.Turns = maybe(r.IntN(9)), maybe(1+r.IntN(9))
	k.When = Trigger{[]TriggerType{TriggerInputTokens, TriggerToolUses}[r.IntN(2)], 1 + r.IntN(1e6)}
	if r.IntN(2) == 0 {
		k.Least = &Trigger{TriggerInputTokens, 1 + r.IntN(9)}
	}
	k.Summary = SummaryChoices{{SummaryFixed, 1 + r.IntN(1e5)}, {Kind: SummaryRecorded}, {Kind: SummaryOutline}}[:r.IntN(4)]
}

// randomText is a text that is hard on a YAML writer.
func randomText(r *rand.Rand) string {
	pieces := []string{
		"", "a", "true", "no", "~", "null", "12", "1e3", "2026-01-25", "0x1f", "- ", ": ", " #", "\n", "\t", "'", `"`, `\`,
		"{", "}", "[", "]", ",", "&", "*", "!", "|", ">", "%", "@", "`", "?", "é", "漢字", "🙂", " ", "  ", "---", "...", "<<", "=", "\u00a0", "\u0085", "\u2028", "\ufeff",
	}
	var b strings.Builder
	for range r.IntN(5) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}
