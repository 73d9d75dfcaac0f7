package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy/strict"
)

// Registry is the set of stages that a policy may use. The zero value is empty.
type Registry struct {
	definitions []Definition // by name
	families    []Family
}

// NewRegistry returns a registry of the families' stages. It returns an error for a family or a stage that is defined
// twice, and for a stage without a valid name, a summary, a moment or New. It does not check the parameters, which
// takes longer: call Registry.Check in a test of the family.
func NewRegistry(families ...Family) (Registry, error) {
	r := Registry{families: slices.Clone(families)}
	names := map[string]bool{}
	for _, f := range families {
		if names[f.Name] {
			return Registry{}, fmt.Errorf("family %s: defined twice: rename one", f.Name)
		}
		names[f.Name] = true
		for _, d := range f.Stages {
			d.orders = f.Orders
			r.definitions = append(r.definitions, d)
		}
	}
	slices.SortFunc(r.definitions, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	for i, d := range r.definitions {
		switch {
		case !strict.IsName(d.Name) || isSection(d.Name) || d.Name == whenKey:
			return Registry{}, fmt.Errorf("stage %q: no name for a stage: use snake_case", d.Name)
		case i > 0 && r.definitions[i-1].Name == d.Name:
			return Registry{}, fmt.Errorf("stage %s: defined twice: rename one", d.Name)
		case d.Summary == "" || d.Moments == 0:
			return Registry{}, fmt.Errorf("stage %s: without a summary or a moment: say what it does and when", d.Name)
		case d.New == nil:
			return Registry{}, fmt.Errorf("stage %s: cannot be made: set New", d.Name)
		}
	}
	return r, nil
}

// Check returns an error for the first stage whose parameter struct, tags or default values are wrong.
func (r Registry) Check() error {
	for _, d := range r.definitions {
		if d.Shared != nil {
			if err := strict.CheckDefaults(d.Shared.Params); err != nil {
				return fmt.Errorf("stage %s: shared parameters: %w", d.Name, err)
			}
		}
		if _, taken := strict.Find(paramFields(d.Params), whenKey); taken {
			return fmt.Errorf("stage %s: a parameter %s: that is the key of its condition; rename it", d.Name, whenKey)
		}
		if err := strict.CheckDefaults(d.Params); err != nil {
			return fmt.Errorf("stage %s: %w", d.Name, err)
		}
		if _, err := d.New(strict.Clone(d.Params)); err != nil {
			return fmt.Errorf("stage %s: its own defaults: %w", d.Name, err)
		}
	}
	return nil
}

func paramFields(params any) []strict.Field {
	fields, _ := strict.Fields(params)
	return fields
}

// Parameters lists the parameters of the stage with their defaults.
func (d Definition) Parameters() []Param { return strict.Params(d.Params) }

// Definitions returns the stages, sorted by name.
func (r Registry) Definitions() []Definition { return slices.Clone(r.definitions) }

// Families returns the families in the order in which they were given.
func (r Registry) Families() []Family { return slices.Clone(r.families) }

// Lookup returns the stage with the given name.
func (r Registry) Lookup(name string) (Definition, bool) {
	i := slices.IndexFunc(r.definitions, func(d Definition) bool { return d.Name == name })
	if i < 0 {
		return Definition{}, false
	}
	return r.definitions[i], true
}

// Names returns the sorted names of the stages.
func (r Registry) Names() []string {
	list := make([]string, len(r.definitions))
	for i, d := range r.definitions {
		list[i] = d.Name
	}
	return list
}

// former reports whether a built-in policy had the name once.
func (r Registry) former(name string) bool {
	return slices.ContainsFunc(r.families, func(f Family) bool {
		return slices.ContainsFunc(f.Aliases, func(a Alias) bool { return a.Former && a.Name == name })
	})
}
