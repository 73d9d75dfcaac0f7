package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
)

// policyChoice gives the policy for a session by the version of the client
// that recorded it.
type policyChoice func(version string) (*policy.Policy, error)

// byVersion reports whether the policy's name leaves the version to the session
// (claude-code@recorded-version).
func (o PolicyOptions) byVersion() bool {
	name := o.unfolded().Policy
	return preset.ForVersion(name, "") != name
}

// choosePolicy reads the policy once; or, where its name leaves the version to
// the session, each that a version can mean.
func choosePolicy(sys *system, o *ReplayOptions) (policyChoice, []session.Warning, error) {
	if o.byVersion() {
		return chooseByVersion(sys, o)
	}
	pol, err := readPolicy(sys, o.PolicyOptions)
	if err != nil {
		return nil, nil, err
	}
	pol.checkCompactAt(o.CompactAt)
	return func(string) (*policy.Policy, error) { return pol.Policy, nil }, pol.warnings, nil
}

// chooseByVersion reads the policies of all versions. Settings need not fit
// every one: only those that sessions go by. Where they fit none, nothing can be
// chosen.
func chooseByVersion(sys *system, o *ReplayOptions) (policyChoice, []session.Warning, error) {
	by := o.PolicyOptions.unfolded()
	asked := by.Policy
	product := strings.TrimSuffix(preset.ForVersion(asked, ""), "@")
	bands := preset.Bands(product, sys.stages)
	if len(bands) == 0 {
		_, err := preset.Canonical(asked, sys.stages)
		return nil, nil, err
	}
	newest, err := preset.Canonical(product, sys.stages)
	if err != nil {
		return nil, nil, err
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
			}
		}
	}
	if len(read) == 0 {
		return nil, nil, failed[newest]
	}
	return func(version string) (*policy.Policy, error) {
		name := newest
		if version != "" {
			var err error
			if name, err = preset.Canonical(product+"@"+version, sys.stages); err != nil {
				return nil, err
			}
		}
		if err := failed[name]; err != nil {
			return nil, fmt.Errorf("%s is %s for %s: %w", asked, name, clientText(version), err)
		}
		return read[name], nil
	}, warnings, nil
}

// clientText names the client that recorded a session.
func clientText(version string) string {
	if version == "" {
		return "a client of unknown version"
	}
	return "client " + version
}
