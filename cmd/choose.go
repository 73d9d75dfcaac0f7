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
	name := o.unfolded().Policy
	return preset.ForVersion(name, "") != name
}

// choosePolicy reads the policy; where its name leaves the version to the
// session, the policy of every version.
func choosePolicy(sys *system, o *ReplayOptions, warn func(session.Warning)) (policyChoice, error) {
	if o.byVersion() {
		return chooseByVersion(sys, o, warn)
	}
	pol, err := readPolicy(sys, o.PolicyOptions)
	if err != nil {
		return nil, err
	}
	pol.checkCompactAt(o.CompactAt)
	for _, w := range pol.warnings {
		warn(w)
	}
	return func(string) (*policy.Policy, error) { return pol.Policy, nil }, nil
}

// chooseByVersion reads the policies of all versions of a client. Settings have
// to fit the versions that sessions have, and at least one.
func chooseByVersion(sys *system, o *ReplayOptions, warn func(session.Warning)) (policyChoice, error) {
	by := o.unfolded()
	name := by.Policy
	product := strings.TrimSuffix(preset.ForVersion(name, ""), "@")
	bands := preset.Bands(product, sys.stages)
	if len(bands) == 0 {
		_, err := preset.Canonical(name, sys.stages)
		return nil, err
	}
	newest, err := preset.Canonical(product, sys.stages)
	if err != nil {
		return nil, err
	}
	names := []string{newest}
	for _, band := range bands {
		names = append(names, band.Policy)
	}
	read, failed := map[string]*policy.Policy{}, map[string]error{}
	var warnings []session.Warning
	for _, name := range names {
		by.Policy = name
		p, err := readPolicy(sys, by)
		if err != nil {
			failed[name] = err
			continue
		}
		read[name] = p.Policy
		p.checkCompactAt(o.CompactAt)
		for _, w := range p.warnings {
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
				warn(w)
			}
		}
	}
	if len(read) == 0 {
		return nil, failed[newest]
	}
	return func(version string) (*policy.Policy, error) {
		chosen := newest
		if version != "" {
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
