package compare

import (
	"errors"
	"sync"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
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

var errDamaged = errors.New("damaged")

// Encode is the input as DecodeKept reads it.
func (k *KeptInput) Encode() ([]byte, error) {
	c := &coder{}
	c.input(k)
	return c.out, c.err
}

// DecodeKept reads what Encode wrote.
func DecodeKept(data []byte) (*KeptInput, error) {
	c, k := &coder{in: string(data), reading: true, decimals: decimals()}, &KeptInput{}
	c.input(k)
	if c.err == nil && c.in != "" {
		c.err = errDamaged
	}
	return k, c.err
}

// decimals is how many digits after the point each figure has.
var decimals = sync.OnceValue(func() (list []int) {
	for _, f := range Figures() {
		list = append(list, f.Places())
	}
	return list
})

func (c *coder) input(k *KeptInput) {
	list(c, &k.Warnings, func(w *session.Warning) {
		word(c, &w.File)
		integer(c, &w.Line)
		word(c, &w.Code)
		word(c, &w.Message)
		integer(c, &w.More)
	})
	list(c, &k.Empty, c.origin)
	list(c, &k.Sessions, func(s **Kept) {
		if c.reading {
			*s = &Kept{}
		}
		c.kept(*s)
	})
}

func (c *coder) origin(o *Origin) {
	word(c, &o.Session)
	word(c, &o.Agent)
	word(c, &o.File)
	integer(c, &o.Malformed)
}

func (c *coder) kept(k *Kept) {
	word(c, &k.Client.Product)
	word(c, &k.Client.Version)
	word(c, &k.Client.Provider)
	c.time(&k.Client.Time)
	c.flag(&k.Client.Cleared)
	c.session(&k.Session)
	list(c, &k.Parts, func(p **KeptPart) {
		if c.reading {
			*p = &KeptPart{}
		}
		c.part(*p)
	})
}

func (c *coder) session(s *ComparedSession) {
	c.origin(&s.Origin)
	word(c, &s.Title)
	word(c, &s.Model)
	word(c, &s.Version)
	word(c, &s.Project)
	word(c, &s.Repository)
	word(c, &s.Recorder)
	list(c, &s.Unpriced, func(m *string) { word(c, m) })
	word(c, &s.Cache)
	list(c, &s.Flags, func(f *Flag) { word(c, f) })
	integer(c, &s.Rereads.Files)
	integer(c, &s.Rereads.Tokens)
	integer(c, &s.Rereads.Carried)
	for _, a := range []*replay.Around{&s.Aftermath.Compactions, &s.Aftermath.Placebos} {
		integer(c, &a.Times)
		for i := range 2 {
			integer(c, &a.Grown[i])
			integer(c, &a.Explored[i])
			integer(c, &a.Edited[i])
		}
	}
	word(c, &s.Input)
	f := &s.Selection
	for _, w := range []*string{&f.Agent, &f.Leaf, &f.Tokens, &f.Model, &f.Window, &f.Overhead, &f.Cache} {
		word(c, w)
	}
	list(c, &f.Tries, func(t *policy.Try) {
		word(c, &t.Stage)
		word(c, &t.Text)
	})
	c.flag(&f.Env)
	list(c, &s.Billed.Calls, func(e *bill.Entry) {
		integer(c, &e.Key)
		c.flag(&e.Agent)
		for _, n := range []*int{&e.Calls, &e.Without, &e.Compactions, &e.Partial.Calls, &e.Partial.Tokens} {
			integer(c, n)
		}
		c.usd(&e.USD)
		c.usd(&e.Partial.CostUSD)
		list(c, &e.NotPriced, func(u *bill.Unpriced) {
			word(c, &u.What)
			integer(c, &u.Calls)
			integer(c, &u.Tokens)
		})
	})
	c.fit(&s.Billed.Fit)
	given := s.Converted != nil
	if c.flag(&given); !given {
		return
	}
	if c.reading {
		s.Converted = &replay.Conversion{}
	}
	word(c, &s.Converted.Source)
	list(c, &s.Converted.Models, func(m *replay.ConvertedModel) {
		word(c, &m.Model)
		integer(c, &m.Requests)
		c.decimal(&m.Ratio)
		c.decimal(&m.To)
		c.decimal(&m.From)
	})
}

func (c *coder) part(p *KeptPart) {
	word(c, &p.Policy)
	list(c, &p.Values, c.decimal)
	list(c, &p.Breaks, func(b *replay.StageCost) {
		word(c, &b.Stage)
		c.usd(&b.Breaks)
	})
	integer(c, &p.Apart)
	list(c, &p.Series, func(n *int) { integer(c, n) })
	c.fit(&p.Fit)
	if !c.reading || c.err != nil {
		return
	}
	if len(p.Values) != len(c.decimals) {
		c.err = errDamaged
		return
	}
	for i, v := range p.Values {
		if v.Known && v.Places != c.decimals[i] || !v.Known && v != (exact.Decimal{}) {
			c.err = errDamaged
		}
	}
}

func (c *coder) fit(f **replay.CacheFit) {
	given := *f != nil
	if c.flag(&given); !given {
		return
	}
	if c.reading {
		*f = &replay.CacheFit{}
	}
	integer(c, &(*f).Requests)
	integer(c, &(*f).Read)
	integer(c, &(*f).Reproduced)
	c.usd(&(*f).Recorded)
	c.usd(&(*f).Simulated)
	c.usd(&(*f).Expected)
	c.usd(&(*f).Lower)
	c.usd(&(*f).Upper)
}

func (c *coder) usd(u *price.USD) {
	integer(c, &u.Nano)
	c.flag(&u.Known)
}

func (c *coder) decimal(d *exact.Decimal) {
	integer(c, &d.N)
	integer(c, &d.Places)
	c.flag(&d.Known)
	if d.Places < 0 || d.Places > exact.MaxPlaces {
		c.err = errDamaged
	}
}
