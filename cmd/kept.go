package cmd

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/ctxkit/ctxkit/jsonl/memo"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// rowsKind is the kind of the items of keptRows.
const rowsKind = "rows"

// keptRows keeps what a comparison works out of its inputs. Nil keeps nothing.
type keptRows struct {
	shelf   *memo.Shelf
	options string // all that a session's rows depend on, but its files and the policies

	mu      sync.Mutex
	digests map[*policy.Policy]string
}

// keepRows is where the rows of a comparison are kept.
func (r *comparing) keepRows() *keptRows {
	shelf := r.sys.kept().Shelf(rowsKind, r.sys.now())
	if shelf == nil {
		return nil
	}
	options, err := json.Marshal(struct {
		First   string // the policy that the others are compared with
		Options map[string]string
	}{r.Policies[0], r.rowOptions()})
	if err != nil {
		return nil
	}
	return &keptRows{shelf: shelf, options: string(options), digests: map[*policy.Policy]string{}}
}

// close ends the use of what is kept. What cannot be written or removed stays as it is.
func (k *keptRows) close() {
	if k != nil {
		_ = k.shelf.Close()
	}
}

// all are the digests of policies. It is false where one may do something else the next time.
func (k *keptRows) all(policies []*policy.Policy) ([]string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := make([]string, len(policies))
	for i, p := range policies {
		if len(p.Programs()) > 0 {
			return nil, false
		}
		if k.digests[p] == "" {
			k.digests[p] = policyDigest(p) // a name means the same policy for many sessions
		}
		list[i] = k.digests[p]
	}
	return list, true
}

// recalled is what is kept of one input. Nil is one of which nothing is.
type recalled struct {
	rows   *keptRows
	name   string
	state  memo.Stamp         // before it is read
	before *compare.KeptInput // nil: nothing
	now    compare.KeptInput  // what is known of it after it was read
	unkept bool               // not all of it can be kept
}

// recall finds what is kept of an input.
func (k *keptRows) recall(path string, info *session.FileInfo) *recalled {
	if k == nil || path == "-" {
		return nil
	}
	if info == nil {
		info = &session.FileInfo{Path: path}
		info.Subagents, _, _ = session.Subagents(path) // reading it says what is wrong
	}
	state, err := info.State()
	if err != nil {
		return nil // reading it says what is wrong, if anything is
	}
	place, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	in := &recalled{rows: k, name: fmt.Sprintf("%q %q %s", path, place, k.options), state: state}
	if data := k.shelf.Get(in.name, state); data != nil {
		if in.before, err = compare.DecodeKept(data); err != nil {
			in.before = nil
		}
	}
	return in
}

// outcome is what comes of the input, where it is known under all policies.
func (in *recalled) outcome(choose func(preset.Client) ([]*policy.Policy, error)) (o compare.InputRows, ok bool) {
	if in == nil || in.before == nil {
		return o, false
	}
	o.Warnings = in.before.Warnings
	o.Empty = in.before.Empty
	for _, kept := range in.before.Sessions {
		policies, err := choose(kept.Client)
		if err != nil {
			return o, false // reading it ends with the same
		}
		digests, ok := in.rows.all(policies)
		if !ok {
			return o, false
		}
		s, ok := kept.Compared(policies, digests)
		if !ok {
			return o, false
		}
		o.Sessions = append(o.Sessions, s)
	}
	return o, true
}

// compared compares policies over the input's next conversation. What is kept of it need not be worked out.
func (in *recalled) compared(one *compare.Subject, client preset.Client, policies []*policy.Policy, o *compareOptions) (compare.ComparedSession, error) {
	digests, ok := in.rows.all(policies)
	if !ok {
		in.unkept = true
		return compare.Run(one, policies, o.options())
	}
	before := &compare.Kept{}
	if i := len(in.now.Sessions); in.before != nil && i < len(in.before.Sessions) && in.before.Sessions[i].Begins(digests[0]) {
		before = in.before.Sessions[i]
	}
	one.Known = func(policy int) *compare.KeptPart { return before.Part(digests[policy]) }
	kept, err := compare.RunKept(one, policies, o.options())
	if err != nil {
		return compare.ComparedSession{}, err
	}
	kept.Client = client
	for i, part := range kept.Parts {
		part.Policy = digests[i]
	}
	kept.Add(before)
	in.now.Sessions = append(in.now.Sessions, &kept)
	s, _ := kept.Compared(policies, digests)
	return s, nil
}

// keep keeps what came of the input.
func (in *recalled) keep(o *compare.InputRows) {
	if in == nil || in.unkept || o.Failed != "" {
		return
	}
	in.now.Warnings = o.Warnings
	in.now.Empty = o.Empty
	if data, err := in.now.Encode(); err == nil {
		_ = in.rows.shelf.Put(in.name, in.state, data) // what cannot be kept is worked out again
	}
}
