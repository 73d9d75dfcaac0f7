package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
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

	b.WriteString("\n### What `ctxkit policy lint` finds\n\nA policy can be valid and still not do what was meant.\n\n| rule | finds |\n|---|---|\n")
	for _, r := range policy.Rules() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Name, cell(r.Doc))
	}

	b.WriteString("\n## Built-in policies\n\n| policy | alias | what it does | source | date | truth |\n|---|---|---|---|---|---|\n")
	var list []*policy.Policy
	for _, name := range preset.Names(reg) {
		p, err := preset.Load(name, reg)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s | %s | %s |\n",
			p.Name, anchor(p.Name), aliases(p.Name, reg), cell(p.About), cell(p.Source), p.Date, p.Truth)
	}
	var versioned []string
	for _, name := range preset.Versioned(reg) {
		versioned = append(versioned, "`"+name+"`")
	}
	fmt.Fprintf(&b, "\n%s take a version, as in `%s@%s`: the policy of that version.\n"+
		"`@%s` is the version of the client that recorded the session. The name alone is the newest\n"+
		"description (OpenCode: the described commit). The policy of a version has only the stages that its\n"+
		"recorded sessions show.\n\n| version | policy |\n|---|---|\n", strings.Join(versioned, " and "), preset.Versioned(reg)[0], preset.Bands(preset.Versioned(reg)[0], reg)[0].Before, preset.RecordedVersion)
	for _, name := range preset.Versioned(reg) {
		for _, band := range preset.Bands(name, reg) {
			until := "later"
			if band.Before != "" {
				until = "before " + band.Before
			}
			fmt.Fprintf(&b, "| %s, %s | [`%s`](#%s) |\n", name, until, band.Policy, anchor(band.Policy))
		}
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
		fmt.Fprintf(b, "- Truth: %s\n", p.Truth)
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

func aliases(name string, reg policy.Registry) string {
	all := preset.Aliases(reg)
	var list []string
	for _, a := range slices.Sorted(maps.Keys(all)) {
		if all[a] == name {
			list = append(list, "`"+a+"`")
		}
	}
	return strings.Join(list, ", ")
}
