package price

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/policy/strict"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// Modifier changes the price of calls that have a recorded property, such as a speed, a region or a service tier.
type Modifier struct {
	// name of the property
	Of string `json:"of" enum:"speed,inference_geo,service_tier,bedrock_profile,off_peak,web_search" required:"write one of speed, inference_geo, service_tier, bedrock_profile, off_peak, web_search"`
	// recorded values of the property for which the price changes; for off_peak, hours of the day and weekdays in UTC, such as 04 and Sat
	Values []string `json:"values,omitempty"`
	// ids of models, or the beginnings of ids with a * after them; empty: all models
	Models []string `json:"models,omitempty"`
	// factor by which all token prices are multiplied, stored as a Price: the factor 1.1 is the Price 1.1
	Times Price `json:"times,omitempty"`
	// Times is known only for calls below Tier.Above; larger calls with the property have no price
	Short bool `json:"short_prompts,omitempty"`
	// for web_search: price of 1,000 searches
	Each Price `json:"usd_per_1000,omitempty"`
	// for off_peak: first day on which the factor applies
	From   string `json:"from,omitempty" form:"date"`
	Source string `json:"source"`
	// day on which the source was read
	AsOf string `json:"as_of" form:"date"`
}

// CheckFields completes a modifier after decoding: it normalizes the ids of models. It returns an error if Of is
// web_search and Each is missing, or if Of is another property and Values or Times is missing.
func (m *Modifier) CheckFields() error {
	for i, id := range m.Models {
		m.Models[i] = Normalize(id)
	}
	switch {
	case m.Of == ofSearch && m.Each == 0:
		return &strict.Error{Msg: "no price of a search", Hint: "give usd_per_1000"}
	case m.Of != ofSearch && (m.Times == 0 || m.Values == nil):
		return &strict.Error{Msg: "no factor of " + m.Of, Hint: "give values, as a record has them, and times"}
	}
	return nil
}

// What modifiers apply to.
const (
	ofSpeed   = "speed"
	ofGeo     = "inference_geo"
	ofTier    = "service_tier"
	ofProfile = "bedrock_profile"
	ofOffPeak = "off_peak"
	ofSearch  = "web_search"
)

// fast is the speed whose prices are in the rows of models.
const fast = "fast"

// Call holds what a session records of a billed call.
type Call struct {
	Model    string      // recorded id of the model, possibly with prefixes of the provider
	Provider string      // recorded name of the provider; "": not recorded
	Time     time.Time   // time of the call, whose day decides the prices; zero: not recorded
	Calls    int         // number of calls whose sums are in Input and Output; each is priced as if it had an equal share of both; 0 means 1
	Input    cache.Split // input tokens
	Output   int         // output tokens
	Speed    string      // recorded speed, such as "fast"; "": standard
	Geo      string      // recorded region (inference_geo in the API); "": standard
	Tier     string      // recorded service tier (service_tier in the API); "": standard
	Searches int         // number of web searches that the provider made
}

// Bill returns the cost of a call and the prices of its tokens. unpriced names what the table has no price for, or is
// "". If only the web searches or the premium of a region have no price, usd is the cost without them. If anything else
// has no price, usd is unknown.
func (t *Table) Bill(c Call) (usd USD, rates Rates, unpriced string) {
	m, ok := t.Find(c.Model)
	if !ok {
		return USD{}, rates, "model " + cmp.Or(c.Model, "that is not recorded")
	}
	switch {
	case m.Unreleased(c.Time):
		return USD{}, rates, "model " + c.Model + " before its release"
	case c.Time.IsZero() && m.Earlier != nil:
		return USD{}, rates, "model " + c.Model + " on a day that is not recorded"
	}
	m = *m.On(c.Time)
	input := c.Input.Input() / max(c.Calls, 1)
	profile := c.profile()
	if profile != "" {
		c.Geo = "" // a parameter of another API
	}
	rates = m.RatesFor(input)
	speed := c.Speed
	if speed == fast && m.Fast != nil {
		rates = *m.Fast
		speed = ""
	}
	for _, x := range [...][2]string{{ofSpeed, speed}, {ofGeo, c.Geo}, {ofTier, c.Tier}, {ofProfile, profile}} {
		if x[1] == "" {
			continue
		}
		mod := t.modifier(x[0], x[1], m.ID)
		if mod == nil || mod.Short && m.Tier != nil && input > m.Tier.Above {
			return USD{}, rates, x[0] + " " + x[1] + " of " + c.Model
		}
		rates = rates.times(mod.Times)
	}
	if mod := t.offPeak(&c, m.ID); mod != nil {
		rates = rates.times(mod.Times)
	}
	usd = rates.Cost(c.Input, c.Output)
	if c.Searches > 0 {
		mod := t.modifier(ofSearch, "", m.ID)
		if mod == nil {
			return usd, rates, "web searches of " + c.Model
		}
		usd.Add(USD{product(int64(c.Searches), int64(mod.Each), 1000), true})
	}
	cloud := strings.Contains(c.Provider, "bedrock") || strings.Contains(c.Provider, "vertex") // which bill some regions at a premium
	if mod := t.modifier(ofProfile, inRegion, m.ID); cloud && profile == "" && (c.Geo == "" || c.Geo == "not_available") && mod != nil && mod.Times > unit {
		unpriced = "premium of the region of " + c.Model
	}
	return usd, rates, unpriced
}

// modifier is the first modifier of a model by a recorded value; nil: there is none.
func (t *Table) modifier(of, value, id string) *Modifier {
	for i := range t.Modifiers {
		m := &t.Modifiers[i]
		if m.Of == of && (value == "" || slices.Contains(m.Values, value)) && (m.Models == nil || slices.ContainsFunc(m.Models, func(x string) bool {
			begin, all := strings.CutSuffix(x, "*")
			return x == id || all && strings.HasPrefix(id, begin)
		})) {
			return m
		}
	}
	return nil
}

// offPeak is the modifier of a model by the hour or the weekday of a call; nil: there is none. It is its maker's alone,
// whose name the id begins with: those who sell it have other hours.
func (t *Table) offPeak(c *Call, id string) *Modifier {
	if c.Time.IsZero() || !strings.HasPrefix(id, c.Provider) {
		return nil
	}
	at := c.Time.UTC()
	for _, value := range [...]string{at.Format("15"), at.Format("Mon")} {
		if mod := t.modifier(ofOffPeak, value, id); mod != nil && mod.From <= at.Format(time.DateOnly) {
			return mod
		}
	}
	return nil
}

// inRegion is the profile of models of Bedrock that are asked for without one.
const inRegion = "in-region"

// profile is the inference profile of Amazon Bedrock that the model's id begins with, "us" of us.anthropic.claude-…; ""
// of a model that is not Bedrock's.
func (c *Call) profile() string {
	model := strings.ToLower(c.Model[strings.LastIndexByte(c.Model, '/')+1:])
	if name, _, found := strings.Cut(model, "anthropic.claude"); found {
		return cmp.Or(strings.TrimSuffix(name, "."), inRegion)
	}
	return ""
}
