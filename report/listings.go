package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/anonymize"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// Versions of the JSON forms of lists of policies, of what is questionable in them and of how two differ.
const (
	PoliciesSchema       = "ctxkit.policies/v1"
	PolicyFindingsSchema = "ctxkit.policy-lint/v1"
	PolicyChangesSchema  = "ctxkit.policy-diff/v1"
)

// PolicyInfo is one policy of the catalogue.
type PolicyInfo struct {
	Name    string        `json:"name"`
	Product string        `json:"product,omitempty"` // its bare name means the release that a session's time or client had
	Version string        `json:"version,omitempty"` // the first release it stands for
	About   string        `json:"about"`
	Source  string        `json:"source"`
	Date    string        `json:"date"`                  // of the source
	From    string        `json:"valid_from,omitempty"`  // first day on which it was the current release
	Until   string        `json:"valid_until,omitempty"` // last day
	Truth   policy.Truth  `json:"truth"`
	Score   *policy.Score `json:"score,omitempty"` // against recorded sessions of the product; nil: there are none
	Stages  []string      `json:"stages"`
}

// SameAs begins the description of an alias.
const SameAs = "the same as "

// Policies prints the catalogue of policies. Text has a line per name that people choose, a product's bare name standing
// for its releases; Layout.All adds these in their order, further policies of products, and unconfirmed ones.
func Policies(w io.Writer, list []PolicyInfo, opt Layout) error {
	t := tableOf[catalogueCells]()
	if opt.Format == FormatMarkdown {
		t = tableOf[sourcedCells]()
	}
	fill := filler[sourcedCells, PolicyInfo]()
	add := func(name pair, about string, p *PolicyInfo) *row {
		var r sourcedCells
		fill(&r, p)
		r.Policy, r.Truth, r.Stages, r.Score, r.WhatItDoes = name, ShortTruth(p.Truth), strings.Join(p.Stages, " "), ShortScore(p.Score), about
		return t.put(either(p.Truth.Hypothesis(), yellow, none), r)
	}
	var products []object
	short := !opt.All && (opt.Format == "" || opt.Format == FormatTable)
	for i, p := range list {
		if p.Product == "" {
			further := slices.ContainsFunc(list, func(of PolicyInfo) bool { return of.Product != "" && strings.HasPrefix(p.Name, of.Product+"-") })
			if !short || !further && !p.Truth.Hypothesis() && !strings.HasPrefix(p.About, SameAs) {
				add(pair{p.Name, p.Name}, p.About, &p)
			}
			continue
		}
		if i == 0 || list[i-1].Product != p.Product {
			releases := releasesOf(list[i:])
			newest := list[i+len(releases)-1]
			products = append(products, object{{"name", p.Product}, {"policies", releases}})
			text := either(len(releases) == 1, "", "by session's time: "+releases[0]+" to "+newest.Name+"; today: ") + newest.About
			add(pair{p.Product, p.Product}, text, &newest).noCSV = true
		}
		if !short {
			add(pair{"  " + p.Name, p.Name}, p.About, &p)
		}
	}
	legend := "from: first day as the current release, where there is one."
	if !short {
		legend += " unconfirmed: described in one analysis alone. " +
			"score: decided/free/recorded: of the compactions that sessions of the product record, how many the policy decides at the exact request, " +
			"and how many in a free replay; * in windows fitted to the recorded sessions."
	}
	return listing("", t, object{{"schema", PoliciesSchema}, {"policies", list}, {"products", products}},
		"A product's bare name means the release of each session's time; for a session of the product itself, the one that recorded it. "+opt.Hints.Releases,
		legend).print(w, opt)
}

// releasesOf names the releases of the product that the list begins with.
func releasesOf(list []PolicyInfo) (releases []string) {
	for _, p := range list {
		if p.Product != list[0].Product {
			break
		}
		releases = append(releases, p.Name)
	}
	return releases
}

// PolicyFinding is a setting of a policy that is valid and probably a mistake.
type PolicyFinding struct {
	Policy string `json:"policy"`
	policy.Finding
}

// PolicyFindings prints the findings of a lint of policies. Only FormatGitHub prints wrong, the errors of policies
// that cannot be read.
func PolicyFindings(w io.Writer, list []PolicyFinding, wrong policy.Errors, opt Layout) error {
	t := rowsOf(list, func(f *PolicyFinding, r *findingCells) style {
		text := f.Msg
		if r.Where = f.Key; f.Line > 0 { // the key may be another than the one at this place
			r.Where = fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
			text = f.Key + ": " + f.Msg
		}
		r.WhatIsOddAndWhatToDo = text + before(": ", f.Hint)
		return none
	})
	d := listing(count(len(list), "finding"), t, object{{"schema", PolicyFindingsSchema}, {"findings", list}})
	d.other = map[Format]func(io.Writer) error{FormatGitHub: func(w io.Writer) error { return policyAnnotations(w, list, wrong) }}
	return d.print(w, opt)
}

// policyAnnotations prints workflow commands. A finding in a built-in policy has no file that GitHub could show.
func policyAnnotations(w io.Writer, list []PolicyFinding, wrong policy.Errors) error {
	var b strings.Builder
	annotate := func(severity string, at policy.Position, title string, text policy.Error) {
		if !policy.IsFile(at.File) {
			at.File = ""
		}
		githubCommand(&b, severity, at.File, at.Line, at.Column, title, githubText(text.Error()))
	}
	for _, e := range wrong {
		annotate("error", e.Position, "policy", policy.Error{Msg: e.Msg, Hint: e.Hint})
	}
	for _, f := range list {
		annotate("warning", f.Position, f.Policy+" "+f.Rule,
			policy.Error{Msg: f.Key + ": " + f.Msg, Hint: f.Hint})
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// PolicyChanges prints how policy b differs from policy a.
func PolicyChanges(w io.Writer, a, b string, list []policy.Change, opt Layout) error {
	t := newTable(changeColumns(a, b))
	for _, c := range list {
		t.add(none, c.Key, orDash(c.From), orDash(c.To))
	}
	json := object{{"schema", PolicyChangesSchema}, {"from", a}, {"to", b}, {"changes", list}}
	return listing(count(len(list), "difference"), t, json).print(w, opt)
}

// ThresholdsSchema is the version of the JSON form of Thresholds.
const ThresholdsSchema = "ctxkit.thresholds/v1"

// LimitList are the limits of a policy in a context window, each with how it is worked out. Figures are tokens.
type LimitList struct {
	Schema     string        `json:"schema"`
	Policy     string        `json:"policy"`
	Source     string        `json:"source"`
	Chosen     string        `json:"-"` // why a product's bare name means it
	Truth      string        `json:"-"` // what stands behind it, in words; "": that is not known
	Model      string        `json:"model,omitempty"`
	Window     int           `json:"window"`
	WindowFrom string        `json:"window_from"`
	Used       int           `json:"used,omitempty"` // of the context; 0: not given
	Limits     []ListedLimit `json:"limits"`
	Notes      []string      `json:"notes,omitempty"`
}

// ListedLimit is a limit with how far it is.
type ListedLimit struct {
	policy.Limit
	Left *int `json:"percent_left,omitempty"` // of the context up to the limit; nil: nothing is known of what is used
}

// NewLimits are limits, each with how far it is where used is over 0: used is the tokens of the context.
func NewLimits(list []policy.Limit, used int) []ListedLimit {
	limits := make([]ListedLimit, len(list))
	for i, l := range list {
		limits[i].Limit = l
		if used > 0 && l.Of == policy.OfContext {
			limits[i].Left = percentLeft(l.Tokens, used)
		}
	}
	return limits
}

// percentLeft is what is left of a context up to a limit, rounded as Claude Code's status line does.
func percentLeft(limit, used int) *int {
	left := 0
	if used < limit {
		left = int(math.Floor(float64(limit-used)/float64(limit)*100 + 0.5))
	}
	return &left
}

// PrintThresholds prints the limits as a listing. In CSV notes are rows without a number of tokens.
func PrintThresholds(w io.Writer, list LimitList, opt Layout) error {
	t := tableOf[limitCells]()
	add := func(name, stage, compared string, acts bool, tokens int, left *int, from string) {
		share := 0.0
		if list.Window > 0 {
			share = math.Floor(float64(tokens)/float64(list.Window)*1000+0.5) / 10
		}
		var shown, at any = nil, tokens
		if left != nil {
			shown = pair{number(strconv.Itoa(*left) + "%"), *left}
		}
		if acts && tokens < 0 {
			at = pair{"every request", tokens}
		}
		t.put(none, limitCells{name, stage, compared, at, places(share, 1), shown, either(acts, "yes", ""), from})
	}
	var left *int
	if list.Used > 0 {
		left = percentLeft(list.Window, list.Used)
	}
	add("context window", "", "", false, list.Window, left, list.WindowFrom)
	for _, l := range list.Limits {
		add(l.Name, l.Stage, strings.TrimSpace(string(l.Of)+" "+l.Operator), l.Acts, l.Tokens, l.Left, l.From)
	}
	if opt.Format == FormatCSV {
		for _, note := range list.Notes {
			t.put(none, limitCells{"note", nil, nil, nil, nil, nil, nil, note})
		}
	}
	return listing(limitText(&list), t, list, append([]string{"policy " + list.Policy + before(": ", list.Chosen) + phraseIf(list.Source+list.Truth != "", " (%v)", joined("; ", before("source: ", list.Source), before("evidence: ", list.Truth)))}, list.Notes...)...).print(w, opt)
}

// limitText says where the policy acts first by the size of the context.
func limitText(list *LimitList) string {
	first := firstLimit(list.Limits)
	switch {
	case first.Tokens == 0:
		return phrase("In a window of %v tokens no limit of %v covers the whole context.", list.Window, list.Policy)
	case first.Tokens < 0:
		return phrase("In a window of %v tokens, %v changes the context before every request: %v.", list.Window, list.Policy, joined(", ", first.Name, first.Stage))
	}
	return phrase("In a window of %v tokens, %v first changes the context at %v tokens: %v%v.", list.Window, list.Policy, first.Tokens, first.Name, phraseIf(first.Stage != "", " (stage %v)", first.Stage))
}

// firstLimit is the lowest size of the context at which a policy acts; zero: there is none.
func firstLimit(limits []ListedLimit) (first policy.Limit) {
	for _, l := range limits {
		if l.Acts && l.Of == policy.OfContext && (first.Tokens == 0 || l.Tokens < first.Tokens) {
			first = l.Limit
		}
	}
	return first
}

// PricesSchema is the version of the JSON form of prices.
const PricesSchema = "ctxkit.prices/v1"

// Prices prints a table of models and prices.
func Prices(w io.Writer, list *price.Table, opt Layout) error {
	t := tableOf[priceCells]()
	fill := filler[priceCells, price.Model]()
	models := list.Sorted()
	kinds, err := cache.DefaultKinds()
	if err != nil {
		return err
	}
	var sources []string
	for i := range models {
		m := &models[i]
		source := slices.Index(sources, m.Source)
		if source < 0 {
			source = len(sources)
			sources = append(sources, m.Source)
		}
		kind := kinds.Find(m.ID)
		if m.Cache != "" {
			kind = cache.CacheKind{Mode: cache.Mode(m.Cache)}
		}
		least := cmp.Or(m.MinCacheable, kind.Minimum)
		add := func(rates *price.Rates, r priceCells) {
			fill(&r, m)
			r.Input, r.Write5m, r.Write1h, r.Read, r.Output = dollars(rates.Input), dollars(rates.CacheWrite5m), dollars(rates.CacheWrite1h), dollars(rates.CacheRead), dollars(rates.Output)
			r.Model = pair{r.Model, m.ID}
			r.Window = pair{r.Window, m.Context}
			r.Caches = pair{r.Caches, least}
			r.Source = pair{r.Source, m.Source}
			t.put(none, r)
		}
		add(&m.Rates, priceCells{Model: m.ID, Remarks: priceRemarks(m), Window: countOrDash(m.Context), Caches: countOrDash(least), How: cacheHow(&kind), Source: number(fmt.Sprintf("[%d]", source+1))})
		others := func(name, remarks string, above any, rates *price.Rates) {
			add(rates, priceCells{Model: "  " + name, Remarks: remarks, AbovePromptTokens: above})
		}
		tier := func(name string, t *price.Tier) {
			if t != nil {
				others(name+"over "+thousands(t.Above), "whole request", t.Above, &t.Rates)
			}
		}
		tier("", m.Tier)
		if m.Fast != nil {
			others("fast", "mode", nil, m.Fast)
		}
		for j := range m.Earlier {
			e := &m.Earlier[j]
			others("until "+e.Until, "", nil, &e.Rates)
			tier("until "+e.Until+", ", e.Tier)
		}
	}
	notes := []string{
		price.Unit + ", as of " + list.AsOf + ". caches: the shortest prefix that the prompt cache stores, in tokens; how: marked by the client, or automatic.",
		"A model has the prices of the longest id that its name starts with, apart from a date or a version at its end.",
	}
	for i, s := range sources {
		notes = append(notes, fmt.Sprintf("[%d] %s", i+1, s))
	}
	for i := range list.Modifiers {
		notes = append(notes, modifierText(&list.Modifiers[i]))
	}
	json := object{{"schema", PricesSchema}, {"as_of", list.AsOf}, {"unit", price.Unit}, {"models", models}, {"modifiers", list.Modifiers}}
	return listing("", t, json, notes...).print(w, opt)
}

// modifierText says what a modifier does, for whom, and by whom.
func modifierText(m *price.Modifier) string {
	text := strings.TrimSpace(strings.ReplaceAll(m.Of, "_", " ") + " " + strings.Join(m.Values, ", "))
	if m.Each > 0 {
		text += ": " + m.Each.Dollars().String() + " USD per 1,000"
	} else {
		text += ": times " + m.Times.Dollars().String() + either(m.Short, ", short prompts alone", "") + before(", from ", m.From)
	}
	return text + before(", of ", strings.Join(m.Models, ", ")) + " (" + joined("; ", m.Source, m.AsOf) + ")"
}

// cacheHow says in a word or two how a model is cached.
func cacheHow(k *cache.CacheKind) string {
	switch {
	case k.Mode == cache.Breakpoints:
		return "marked"
	case k.Mode == cache.Auto && k.Quantum > 1:
		return "blocks of " + thousands(k.Quantum)
	case k.Mode == cache.Auto:
		return "automatic"
	case k.Mode == cache.Off:
		return "none"
	}
	return "-"
}

// dollars is a price without rounding.
func dollars(x price.Price) number { return number(x.Dollars().String()) }

// priceRemarks describes a model next to its prices; its note is in JSON and CSV.
func priceRemarks(m *price.Model) string {
	return joined("; ", m.Confidence, before("released ", m.Released), either(m.Retired, "retired", ""))
}

func countOrDash(n int) number {
	return number(either(n == 0, "-", thousands(n)))
}

// AnonymizeSchema is the version of the JSON form of what an anonymised session reveals.
const AnonymizeSchema = "ctxkit.anonymize/v1"

// Anonymized lists what an anonymised session reveals of its original.
func Anonymized(w io.Writer, r *anonymize.Disclosure, opt Layout) error {
	t := tableOf[keptCells]()
	text := func(st style, name, value string) { t.put(st, keptCells{WhatStays: name, AsItWas: value}).noCSV = true }
	add := func(what, value string, n int) { t.put(none, keptCells{nil, nil, what, value, n}).noTab = true }
	for _, m := range r.Models {
		add("model", m, 1)
	}
	for _, v := range r.Versions {
		add("client version", v, 1)
	}
	times := ""
	if !r.First.IsZero() {
		times = timeText(r.First, time.RFC3339, nil) + " to " + timeText(r.Last, time.RFC3339, nil)
		add("times", times, 1)
	}
	words := byCount(r.Kept)
	for _, word := range words {
		add("word", word, r.Kept[word])
	}
	for _, s := range r.Survived {
		add("survived", s.Word, s.Line)
	}
	text(none, "models", strings.Join(r.Models, ", "))
	text(none, "client versions", strings.Join(r.Versions, ", "))
	text(none, "times", times)
	text(none, "the format's words", wordList(words))
	if r.Tried > 0 {
		found := phrase("%v of %v in half of the lines, from the other half in the clear, repetitions apart", r.Recovered, count(r.Tried, "word"))
		text(none, "recoverable", found)
		add("recoverable words", found, r.Recovered)
	}
	text(none, "and always", "structure, recorded usage, the lengths of texts and of their lines, about their tokens, punctuation, emoji, and that two lines, ids, paths or names are the same (docs/anonymize.md)")
	for _, s := range r.Survived {
		text(red, "survived", s.String()+": "+s.Word)
	}
	return listing(phrase("%s, %s replaced", count(r.Lines, "record"), count(r.Words, "word")), t, struct {
		Schema string `json:"schema"`
		*anonymize.Disclosure
	}{AnonymizeSchema, r}).print(w, opt)
}

// wordList joins the first words of a list.
func wordList(words []string) string {
	shown := words[:min(len(words), 40)]
	hidden := len(words) - len(shown)
	return strings.Join(shown, " ") + phraseIf(hidden > 0, " and %v more: json and csv contain them", hidden)
}
