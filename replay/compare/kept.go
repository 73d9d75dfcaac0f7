package compare

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
)

// KeptInput is what may be kept of an input that did not fail, for comparisons with the same options.
type KeptInput struct {
	Warnings []session.Warning // of reading it
	Empty    []Origin          // conversations without a request
	Sessions []*Kept
}

// Kept is what comparisons of a conversation have in common: what does not depend on the policies but the first, and what
// is known under each. Only comparisons with the same first policy have it in common.
type Kept struct {
	Client  preset.Client   // which decides what the names of policies mean
	Session ComparedSession // without what is by policy
	Parts   []*KeptPart     // the first policy's first
}

// KeptPart is what is known under one policy.
type KeptPart struct {
	Policy string // a digest of it
	Values Values
	Breaks []replay.StageCost
	Apart  int // against the first policy
	Series []int
	Fit    *replay.CacheFit // of the recorded track
}

// mostParts is how many parts a Kept has at most.
const mostParts = 16

// Part is the part under the policy with a digest; nil where there is none.
func (k *Kept) Part(digest string) *KeptPart {
	for _, p := range k.Parts {
		if p.Policy == digest {
			return p
		}
	}
	return nil
}

// Begins reports whether the first policy is the one with a digest.
func (k *Kept) Begins(digest string) bool { return len(k.Parts) > 0 && k.Parts[0].Policy == digest }

// Compared is the session under policies with these digests. It is false where not all of it is known.
func (k *Kept) Compared(policies []*policy.Policy, digests []string) (ComparedSession, bool) {
	if len(digests) == 0 || !k.Begins(digests[0]) {
		return ComparedSession{}, false
	}
	parts := make([]*KeptPart, len(digests))
	for i, digest := range digests {
		if parts[i] = k.Part(digest); parts[i] == nil {
			return ComparedSession{}, false
		}
	}
	return k.session(policies, parts), true
}

// session puts parts together.
func (k *Kept) session(policies []*policy.Policy, parts []*KeptPart) ComparedSession {
	s := k.Session
	s.Policies = policies
	for _, p := range parts {
		if p.Fit != nil {
			s.Billed.Fit = p.Fit
		}
		s.Values, s.Breaks, s.Apart, s.Series = append(s.Values, p.Values), append(s.Breaks, p.Breaks), append(s.Apart, p.Apart), append(s.Series, p.Series)
	}
	return s
}

// Add adds what was known before of the same conversation, with the same first policy, as far as there is room for it.
func (k *Kept) Add(before *Kept) {
	for _, p := range before.Parts {
		if len(k.Parts) < mostParts && k.Part(p.Policy) == nil {
			k.Parts = append(k.Parts, p)
		}
	}
}

// keptForm is the JSON form of a KeptInput: see row.
type keptForm struct {
	Warnings []rowWarning
	Empty    []rowOrigin
	Sessions []*keptSession
}

type keptSession struct {
	Client  keptClient
	Session row
	Parts   []*keptPart
}

type keptClient struct {
	Product, Version, Provider text
	Time                       time.Time
	Cleared                    bool
}

type keptPart struct {
	Policy text
	Values []digits
	Breaks []rowBreak
	Apart  int
	Series []int
	Fit    *replay.CacheFit
}

// Encode is the input as DecodeKept reads it.
func (k *KeptInput) Encode() ([]byte, error) { return json.Marshal(as[keptForm](*k)) }

// DecodeKept reads what Encode wrote.
func DecodeKept(data []byte) (*KeptInput, error) {
	var form keptForm
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, err
	}
	for _, s := range form.Sessions {
		if s == nil || slices.Contains(s.Parts, nil) {
			return nil, errDamaged
		}
		for _, p := range s.Parts {
			if len(p.Values) != len(Names()) {
				return nil, errDamaged
			}
		}
	}
	k := as[KeptInput](form)
	return &k, nil
}

var errDamaged = errors.New("damaged")
