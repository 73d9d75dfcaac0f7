package policy

import (
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// Rebuild makes a policy from the settings that Policy.Resolved returned. The new policy acts like the old one, but its
// source is not known. The settings may come from another version of ctxkit: a parameter that they lack has its
// default, and unknown lists the keys that no stage of the policy has in this version. Rebuild returns an error if this
// version cannot make the policy.
func Rebuild(name string, settings []Setting, reg Registry) (p *Policy, unknown []string, err error) {
	p = defaults(reg)
	p.Name = name
	p.Truth = TruthOwn
	for _, s := range settings {
		switch s.Key {
		case "version":
			p.Version = s.Value
		case "recorded":
			if p.Recorded, err = strconv.ParseBool(s.Value); err != nil {
				return nil, nil, &Error{Msg: "recorded: " + strict.Quote(s.Value) + " is not true or false"}
			}
		case "stages":
			for stage := range strings.SplitSeq(strings.Trim(s.Value, "[]"), ", ") {
				if stage == "" {
					continue
				}
				def, ok := reg.Lookup(stage)
				if !ok || p.stage(stage) != nil {
					return nil, nil, &Error{Msg: "there is no stage " + strict.Quote(stage)}
				}
				if def.Program != "" {
					return nil, nil, &Error{Msg: "the stage " + stage + " starts a program, which only a policy may name"}
				}
				p.Stages = append(p.Stages, StageConfig{Definition: def, Params: strict.Clone(def.Params)})
			}
		}
	}
	p.share()
	for _, s := range settings {
		if name, ok := strings.CutPrefix(s.Key, numbersKey+"."); ok {
			p.number(name)
		}
	}
	for _, s := range settings {
		if !strings.Contains(s.Key, ".") {
			continue
		}
		f, missing := p.field(s.Key)
		if missing != nil {
			unknown = append(unknown, s.Key)
			continue
		}
		if err := f.SetText(s.Key, s.Value); err != nil {
			return nil, nil, err
		}
	}
	if errs := p.check(); len(errs) > 0 {
		return nil, nil, errs[0]
	}
	return p, unknown, nil
}
