package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
)

// policyChoice gives the policy for a session, by the version of the client that
// recorded it.
type policyChoice func(version string) (*policy.Policy, error)

// byVersion reports whether the policy depends on the version of the client that
// recorded the session (claude-code@recorded-version).
func (o PolicyOptions) byVersion() bool {
	return strings.HasSuffix(o.unfolded().Policy, "@"+preset.RecordedVersion)
}

// choosePolicy reads the policy; where its name leaves the version to the
// session, the policies of all versions. Settings have to fit the versions that
// sessions have, and at least one.
func choosePolicy(sys *system, o *ReplayOptions, warn func(...session.Warning)) (policyChoice, error) {
	by := o.unfolded()
	name := by.Policy
	names := []string{name} // the newest version first
	product, versioned := strings.CutSuffix(name, "@"+preset.RecordedVersion)
	if versioned {
		var err error
		if names[0], err = preset.Canonical(product, sys.stages); err != nil {
			return nil, err
		}
		for _, band := range preset.Bands(product, sys.stages) {
			names = append(names, band.Policy)
		}
		if len(names) == 1 {
			_, err := preset.Canonical(name, sys.stages)
			return nil, err
		}
	}
	read, failed := map[string]*policy.Policy{}, map[string]error{}
	var warnings []session.Warning
	for _, by.Policy = range names {
		p, err := readPolicy(sys, by)
		if err != nil {
			failed[by.Policy] = err
			continue
		}
		read[by.Policy] = p.Policy
		p.checkCompactAt(o.CompactAt)
		for _, w := range p.warnings {
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
				warn(w)
			}
		}
	}
	if len(read) == 0 {
		return nil, failed[names[0]]
	}
	return func(version string) (*policy.Policy, error) {
		chosen := names[0]
		if versioned && version != "" {
			var err error
			if chosen, err = preset.Canonical(product+"@"+version, sys.stages); err != nil {
				return nil, err
			}
		}
		if err := failed[chosen]; err != nil {
			return nil, versionError(name, chosen, version, err)
		}
		return read[chosen], nil
	}, nil
}

// versionError says which policy a name is for a client's version.
func versionError(name, chosen, version string, err error) error {
	return fmt.Errorf("%s is %s for %s: %w", name, chosen, clientText(version), err)
}

// clientText names the client that recorded a session.
func clientText(version string) string {
	if version == "" {
		return "a client of unknown version"
	}
	return "client " + version
}
