package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage/claude"
	"github.com/ctxkit/ctxkit/policy/stage/opencode"
	"github.com/ctxkit/ctxkit/report"
)

// loadedPolicy is a policy as the command line and the environment change it.
type loadedPolicy struct {
	*policy.Policy
	from     map[string]string // key -> the environment variable that set it
	warnings []session.Warning
}

// loadPolicy reads a policy and warns at once.
func loadPolicy(sys *system, o PolicyOptions) (*policy.Policy, error) {
	p, err := readPolicy(sys, o)
	if err != nil {
		return nil, err
	}
	msgs := &messages{w: sys.err}
	for _, w := range p.warnings {
		msgs.warn(w)
	}
	return p.Policy, nil
}

// readPolicy reads a policy and changes it as the command line says.
func readPolicy(sys *system, o PolicyOptions) (*loadedPolicy, error) {
	o = o.unfolded()
	if o.Policy == "" {
		return nil, fmt.Errorf("no policy: name one with --policy: %s", strings.Join(policyNames(sys.stages), ", "))
	}
	read, err := preset.Load(o.Policy, sys.stages)
	if err != nil {
		return nil, policyHint(err)
	}
	p := &loadedPolicy{Policy: read, from: map[string]string{}}
	if o.Env {
		p.claudeCode(sys.env)
		p.openCode(sys.env)
	}
	for _, s := range o.Set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("flag --set: %q has no value: write STAGE.PARAM=VALUE", s)
		}
		key = strings.TrimSpace(key)
		if err := p.Set(key, value); err != nil {
			return nil, fmt.Errorf("flag --set: %w", err)
		}
		delete(p.from, key)
	}
	if err := p.snips(o.Snip, sys.stages); err != nil {
		return nil, fmt.Errorf("flag --snip: %w", err)
	}
	return p, nil
}

// snips adds snips to try to the policy's own.
func (p *loadedPolicy) snips(list []string, reg policy.Registry) error {
	if len(list) == 0 {
		return nil
	}
	params := paramsOf[claude.Snip](p.Policy)
	if params == nil {
		return noSnipStage("policy "+p.Name+" has no snip stage", reg)
	}
	for _, s := range list {
		trials, err := claude.ParseSnipTrials(s)
		if err != nil {
			return err
		}
		for _, t := range trials {
			if !slices.Contains(params.IDs, t) {
				params.IDs = append(params.IDs, t)
			}
		}
	}
	return nil
}

// noSnipError is the error of a --snip that nothing carries out.
type noSnipError struct{ why *policy.Error }

func (e *noSnipError) Error() string { return e.why.Error() }
func (e *noSnipError) Unwrap() error { return e.why }

// noSnipStage names the policies that would carry a --snip out.
func noSnipStage(msg string, reg policy.Registry) error {
	names, err := presetsWith[claude.Snip](reg)
	if err != nil {
		return err
	}
	hint := `use a policy file with "- snip" among its stages`
	if len(names) > 0 {
		hint = "use " + strings.Join(names, ", ") + ", or a policy file with \"- snip\" among its stages"
	}
	return &noSnipError{&policy.Error{Msg: msg, Hint: hint}}
}

// presetsWith are the built-in policies with a stage whose parameters are a T.
func presetsWith[T any](reg policy.Registry) ([]string, error) {
	var names []string
	for _, name := range preset.Names(reg) {
		p, err := preset.Load(name, reg)
		if err != nil {
			return nil, err
		}
		if paramsOf[T](p) != nil {
			names = append(names, name)
		}
	}
	return names, nil
}

func policyNames(reg policy.Registry) []string {
	names := preset.Names(reg)
	for alias := range preset.Aliases(reg) {
		names = append(names, alias)
	}
	return sorted(names)
}

// claudeCode changes the policy as the environment variables of Claude Code
// would (analyses of Claude Code 2.1.19 and 2.1.x). Variables that the policy
// has no use for change nothing, and a value that the client would ignore is
// ignored here too, with a warning.
func (p *loadedPolicy) claudeCode(env func(string) string) {
	for _, v := range []struct {
		name, key, want string
		read            func(string) (string, bool)
	}{
		{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "window.pct_override", "a percentage over 0 and up to 100", percent},
		{"CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE", "window.blocking_limit", "a whole number over 0", positive},
		{"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "window.max_output", "a whole number over 0", positive},
	} {
		given := env(v.name)
		if given == "" {
			continue
		}
		value, ok := v.read(given)
		if !ok || p.Set(v.key, value) != nil {
			p.warn("environment variable %s: %q is not %s: the client ignores it, and so does the policy", v.name, given, v.want)
			continue
		}
		p.from[v.key] = v.name
	}
	for _, name := range []string{"DISABLE_COMPACT", "DISABLE_AUTO_COMPACT"} {
		if isSet(env(name)) {
			p.Window.AutoCompact = false
			p.from["window.auto_compact"] = name
			p.change("autocompact.enabled", "false", name)
		}
	}
	if isSet(env("DISABLE_COMPACT")) {
		p.change("autocompact.manual", "ignore", "DISABLE_COMPACT")
	}
	if isSet(env("DISABLE_MICROCOMPACT")) {
		p.Stages = slices.DeleteFunc(p.Stages, func(s policy.StageConfig) bool {
			return strings.HasPrefix(s.Definition.Name, "microcompact")
		})
	}
}

// openCode changes the policy as OpenCode's environment variables would.
func (p *loadedPolicy) openCode(get func(string) string) {
	env := opencode.Env{}
	for _, name := range []string{opencode.EnvDisablePrune, opencode.EnvDisableAutocompact, opencode.EnvOutputTokenMax} {
		env[name] = get(name)
	}
	if env.Set(opencode.EnvDisablePrune) {
		p.change("opencode_prune.auto", "false", opencode.EnvDisablePrune)
	}
	if env.Set(opencode.EnvDisableAutocompact) {
		p.change("opencode_compaction.auto", "false", opencode.EnvDisableAutocompact)
	}
	if n := env.OutputTokenMax(); n != opencode.DefaultOutputTokenMax && paramsOf[opencode.OpencodeCompaction](p.Policy) != nil {
		p.warn("environment variable %s: %d is not followed: a policy reserves at most %d", opencode.EnvOutputTokenMax, n, opencode.DefaultOutputTokenMax)
	}
}

// change sets a parameter where the policy has it.
func (p *loadedPolicy) change(key, value, variable string) {
	// The values are constants of this file and of the right type: what goes
	// wrong is that there is no such stage.
	if err := p.Set(key, value); err == nil {
		p.from[key] = variable
	}
}

func (p *loadedPolicy) warn(format string, args ...any) {
	p.warnings = append(p.warnings, session.Warning{Message: fmt.Sprintf(format, args...)})
}

// checkCompactAt warns where nothing answers --compact-at.
func (p *loadedPolicy) checkCompactAt(at []int) {
	if len(at) == 0 {
		return
	}
	for _, s := range p.Stages {
		if s.Definition.Moments&policy.Manual == 0 || s.Definition.Name == "post_compact" { // which only follows one
			continue
		}
		if answer, err := p.Get(s.Definition.Name + ".manual"); err != nil || answer != "ignore" {
			return
		}
	}
	p.warn("flag --compact-at: policy %s has no stage that answers it: nothing is compacted there", p.Name)
}

// paramsOf are the parameters of the stage that has them as a T; nil where
// the policy has no such stage.
func paramsOf[T any](p *policy.Policy) *T {
	for _, s := range p.Stages {
		if params, ok := s.Params.(*T); ok {
			return params
		}
	}
	return nil
}

// percent reads a percentage as the client does, by its beginning.
func percent(s string) (string, bool) {
	p, ok := policy.ParsePercent(s)
	return strconv.Quote(strconv.FormatFloat(p, 'g', -1, 64)), ok
}

// positive reads a whole number as JavaScript's parseInt does, by its
// beginning.
func positive(s string) (string, bool) {
	s = strings.TrimPrefix(strings.TrimLeft(s, " \t\n\r\v\f\u00a0\ufeff"), "+")
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	return strconv.Itoa(n), err == nil && n > 0
}

// errorLines is an error as standard error shows it, one a line.
func errorLines(err error) []string {
	var list policy.Errors
	if !errors.As(err, &list) {
		return []string{report.Clean(err.Error())}
	}
	lines := make([]string, len(list))
	for i, e := range list {
		lines[i] = report.Clean(e.Error())
	}
	return lines
}

// isSet is how the client reads a switch.
func isSet(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}
