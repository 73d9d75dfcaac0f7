package cmd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
)

// loadPolicy reads a policy and changes it as the command line says.
func loadPolicy(sys *system, o PolicyOptions) (*policy.Policy, error) {
	if o.Policy == "" {
		return nil, fmt.Errorf("no policy: name one with --policy: %s", strings.Join(policyNames(), ", "))
	}
	reg, err := policy.NewRegistry(stage.All())
	if err != nil {
		return nil, err
	}
	p, err := preset.Load(o.Policy, reg)
	if err != nil {
		return nil, err
	}
	if o.Env {
		if err := applyEnvironment(p, sys.env); err != nil {
			return nil, err
		}
	}
	for _, s := range o.Set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("flag --set: %q has no value: write STAGE.PARAM=VALUE", s)
		}
		if err := p.Set(strings.TrimSpace(key), value); err != nil {
			return nil, fmt.Errorf("flag --set: %w", err)
		}
	}
	return p, nil
}

func policyNames() []string {
	names := preset.Names()
	for alias := range preset.Aliases() {
		names = append(names, alias)
	}
	return sorted(names)
}

// applyEnvironment changes a policy as the environment variables of Claude
// Code would (analyses of Claude Code 2.1.19 and 2.1.x). Variables that the
// policy has no use for change nothing.
func applyEnvironment(p *policy.Policy, env func(string) string) error {
	for _, v := range []struct{ name, key string }{
		{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "window.pct_override"},
		{"CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE", "window.blocking_limit"},
		{"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "window.output_reserve"},
	} {
		value := env(v.name)
		if value == "" {
			continue
		}
		if err := p.Set(v.key, strconv.Quote(value)); err == nil {
			continue
		}
		if err := p.Set(v.key, value); err != nil {
			return fmt.Errorf("environment variable %s: %w", v.name, err)
		}
	}
	if isSet(env("DISABLE_AUTO_COMPACT")) || isSet(env("DISABLE_COMPACT")) {
		p.Window.AutoCompact = false
		setWhereKnown(p, "autocompact.enabled", "false")
	}
	if isSet(env("DISABLE_COMPACT")) {
		setWhereKnown(p, "autocompact.manual", "ignore")
	}
	if isSet(env("DISABLE_MICROCOMPACT")) {
		var kept []policy.StageConfig
		for _, s := range p.Stages {
			if !strings.HasPrefix(s.Definition.Name, "microcompact") {
				kept = append(kept, s)
			}
		}
		p.Stages = kept
	}
	return nil
}

func setWhereKnown(p *policy.Policy, key, value string) {
	if _, err := p.Get(key); err == nil {
		// The values are constants of this file and of the right type.
		_ = p.Set(key, value)
	}
}

// isSet is how the client reads a switch.
func isSet(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}
