package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/condition"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/report"
)

//go:embed intro.md
var intro string

// page is docs/policies.md.
func page(reg policy.Registry) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(intro)

	b.WriteString("\n### window\n\nThe context window and what is counted in it.\n\n")
	parameters(&b, policy.WindowParameters())
	for _, f := range reg.Families() {
		if shared := f.Shared(); shared != nil {
			fmt.Fprintf(&b, "\nIn policies with a stage of %s that reads them:\n\n", f.Title)
			parameters(&b, shared.Parameters())
		}
	}

	b.WriteString("\n### cache\n\nHow the client uses the provider's prompt cache, for the cache simulation and the cost.\n\n")
	parameters(&b, policy.CachingParameters())

	b.WriteString("\n### Conditions\n\n`when:` at a stage says when it may act: `when: cold || used > 0.8`. [Writing a policy](writing-a-policy.md#conditions)\n" +
		"has the rules. The variables:\n\n| variable | meaning | unit |\n|---|---|---|\n")
	for _, v := range condition.Variables() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", v.Name, cell(v.Doc), cmp.Or(v.Unit, "true or false"))
	}

	b.WriteString("\n### What `ctxkit policy lint` finds\n\nA policy can be valid and still not do what was meant.\n\n| rule | finds |\n|---|---|\n")
	for _, r := range policy.Rules() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Name, cell(r.Doc))
	}

	b.WriteString("\n## Built-in policies\n\n| policy | what it does | source | date | truth | score |\n|---|---|---|---|---|---|\n")
	var list []*policy.Policy
	presets := preset.New(reg)
	for _, name := range presets.Names() {
		p, err := presets.Load(name)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s | %s | %s |\n",
			p.Name, anchor(p.Name), cell(p.About), cell(p.Source), p.Date, report.ShortTruth(p.Truth), report.ShortScore(p.Score))
	}
	b.WriteString("\nThe score is decided/free/recorded: of the automatic compactions that sessions of the product record, how many\n" +
		"the policy decides at the exact request, on the recorded view, and how many in a free replay; with *, in windows\n" +
		"fitted to the record. A release is scored on the sessions that it recorded, another policy of the family on all\n" +
		"sessions of the product, subagents included. `ctxkit backtest` scores sessions of your own.\n\n" +
		"| sessions of | conversations | requests | all releases together |\n|---|---|---|---|\n")
	scores := preset.ReadScores().Products
	for _, product := range slices.Sorted(maps.Keys(scores)) {
		s := scores[product]
		n, requests := s.Conversations, s.Requests
		if f := s.Fitted; f != nil {
			n, requests = n+f.Conversations, requests+f.Requests
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", product, policy.Thousands(n), policy.Thousands(requests), report.ScoreText(s))
	}
	fmt.Fprintf(&b, "\nThe bare name of a product means the release that was current when a session was recorded; for a\n"+
		"session of the product itself, the one that recorded it, or what the product does with models of the session's\n"+
		"provider. `NAME@%s` is the newest, `NAME@VERSION` that\n"+
		"version's. A bare name means the same in `extends`. Where there is no session, as in `ctxkit policy show`, it is the newest.\n\n"+
		"| name | versions from | current from | to | policy | dates from |\n|---|---|---|---|---|---|\n", preset.Latest)
	aliases := presets.Aliases()
	for _, product := range presets.Products() {
		for _, r := range presets.Releases(product) {
			name, source := r.Policy, aliases[r.Policy].Valid.Source
			if i := slices.IndexFunc(list, func(p *policy.Policy) bool { return p.Name == r.Policy }); i >= 0 {
				source = list[i].Valid.Source
			} else {
				name = aliases[r.Policy].Policy
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | [`%s`](#%s) | %s |\n", product, r.Version, r.Valid.From,
				cmp.Or(r.Valid.Until, "today"), r.Policy, anchor(name), cell(source))
		}
	}
	b.WriteString("\nWhere a product has the rules of another policy, its name is an alias:\n\n| alias | policy |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(aliases)) {
		same := aliases[name].Policy
		fmt.Fprintf(&b, "| `%s` | [`%s`](#%s) |\n", name, same, anchor(same))
	}
	for _, p := range list {
		builtin(&b, p)
	}

	b.WriteString("\n## Stages\n\nA policy's stages run in the order of the policy, each at its moments.\n\n| stage | runs at | truth |\n|---|---|---|\n")
	for _, d := range reg.Definitions() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", d.Name, anchor(d.Name), d.Moments, d.Truth)
	}
	for _, d := range reg.Definitions() {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n- Reproduces: %s\n- Runs at: %s\n- Truth: %s\n", d.Name, d.Summary, d.Source, d.Moments, d.Truth)
		if d.Differs != "" {
			fmt.Fprintf(&b, "- Differs from the client: %s\n", d.Differs)
		}
		if ps := d.Parameters(); len(ps) > 0 {
			b.WriteString("\n")
			parameters(&b, ps)
		}
		if d.Example != "" {
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", strings.TrimRight(d.Example, "\n"))
		}
	}
	return b.Bytes(), nil
}

// builtin describes one policy: its thresholds for a window of 200,000 and what it changes of its stages' defaults.
func builtin(b *bytes.Buffer, p *policy.Policy) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n- Source: %s (%s)\n", p.Name, p.About, p.Source, p.Date)
	if p.Truth != "" {
		fmt.Fprintf(b, "- Truth: %s\n", report.TruthText(p.Truth, p.Score))
	}
	if p.Differs != "" {
		fmt.Fprintf(b, "- Differs from the client: %s\n", p.Differs)
	}
	if text := report.ScoreText(p.Score); text != "" {
		fmt.Fprintf(b, "- Score: %s\n", text)
	}
	if p.Recorded {
		b.WriteString("- Stages: none; it repeats the record\n")
		return
	}
	if len(p.Stages) == 0 {
		b.WriteString("- Stages: none\n")
		return
	}
	const window = 200000
	var limits []string
	for _, l := range p.Limits(policy.Circumstances{Window: window}).List {
		limits = append(limits, l.Name+" "+policy.Thousands(l.Tokens))
	}
	if len(limits) > 0 {
		fmt.Fprintf(b, "- Limits in a window of %s tokens: %s\n", policy.Thousands(window), strings.Join(limits, ", "))
	}
	b.WriteString("- Stages, in order:\n")
	for _, s := range p.Stages {
		var changed []string
		for _, param := range s.Definition.Parameters() {
			if now, err := p.Get(s.Definition.Name + "." + param.Name); err == nil && now != param.Default {
				changed = append(changed, fmt.Sprintf("`%s: %s`", param.Name, now))
			}
		}
		with := "with its defaults"
		if len(changed) > 0 {
			with = "with " + strings.Join(changed, ", ")
		}
		fmt.Fprintf(b, "  1. [`%s`](#%s) %s\n", s.Definition.Name, anchor(s.Definition.Name), with)
	}
}

func parameters(b *bytes.Buffer, list []policy.Param) {
	b.WriteString("| parameter | default | unit | meaning |\n|---|---|---|---|\n")
	for _, p := range list {
		what := p.Type
		if len(p.Enum) > 0 {
			what = "one of `" + strings.Join(p.Enum, "`, `") + "`"
		}
		switch {
		case p.Min != "" && p.Max != "":
			what += ", " + p.Min + " to " + p.Max
		case p.Min != "":
			what += ", at least " + p.Min
		case p.Max != "":
			what += ", at most " + p.Max
		}
		for _, word := range []string{p.Zero, p.None} {
			if word != "" {
				what += ", or `" + word + "`"
			}
		}
		fmt.Fprintf(b, "| `%s` | `%s` | %s | %s |\n", p.Name, cell(p.Default), p.Unit, cell(p.Doc+" ("+what+")"))
	}
}

// cell makes a text fit for a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s)
}

// anchor is the fragment a Markdown heading gets: the dots go.
func anchor(name string) string { return strings.ReplaceAll(name, ".", "") }
