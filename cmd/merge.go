package cmd

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay/check"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/report"
)

func newMerge(sys *system) *cobra.Command {
	o := &compareOptions{}
	cmd := command(&cobra.Command{
		Use: "merge FILE...", Short: "Show the comparison of sessions that were worked on in parts", Args: arguments(&o.Inputs),
		Long: `Show what ctxkit compare would show of all sessions whose rows are in the files:
the shards of one run, or runs over different sessions, in the order in which
their arguments would be named. The output is the same byte for byte, except for
html, which has the largest requests of each session only.

Rows are what ctxkit compare --format rows writes, plain, gzip or zstd; - is
standard input. Rows of other policies, options or builds, missing shards and
sessions that are there twice are refused. --format rows writes one file of all.`,
		Example: `  ctxkit compare projects -p recorded -p opencode --shard 1/2 -f rows -o 1.rows
  ctxkit compare projects -p recorded -p opencode --shard 2/2 -f rows -o 2.rows
  ctxkit merge 1.rows 2.rows --by project`,
	}, func() error { return runMerge(sys, o) }, o.listing(append(slices.Clone(report.PageFormats), report.FormatRows), report.CompareTables...), own(o))
	o.strict(cmd)
	return cmd
}

func runMerge(sys *system, o *compareOptions) error {
	if len(o.Inputs) == 0 {
		return errors.New("no rows: name files that ctxkit compare --format rows wrote")
	}
	if err := o.checkReport(); err != nil {
		return err
	}
	var list []compare.NamedRows
	for _, path := range o.Inputs {
		rows, err := readRows(sys, path)
		if err != nil {
			return err
		}
		list = append(list, compare.NamedRows{Name: path, Rows: rows})
	}
	all, err := compare.MergeRows(list)
	if err != nil {
		return err
	}
	j := &job{sys: sys, msgs: o.messages(sys), given: all.Inputs}
	if j.out, err = o.create(sys); err != nil {
		return err
	}
	if o.rows() {
		return j.out.close(report.Rows(j.out, all))
	}
	for _, p := range all.Policies {
		o.Policies = append(o.Policies, p.Name)
	}
	run := comparing{compareOptions: o, sys: sys, loop: j.loop("merged"), late: all.Late}
	run.loop.progress = newProgress(sys, true, run.loop.verb, 1)
	j.msgs.warn(all.Warnings...)
	broken := 0
	for _, one := range all.Outcomes {
		if one.Failed != "" {
			broken++
			run.loop.fail(errors.New(one.Failed))
		}
		if err := run.take(one); err != nil {
			return err
		}
	}
	var failed error
	if broken > 0 {
		failed = &partError{failed: broken, usable: broken < all.Inputs}
	}
	return run.conclude(failed, nil)
}

// readRows reads a file of rows, or standard input.
func readRows(sys *system, path string) (*compare.Rows, error) {
	in := sys.in
	if path == "-" {
		sys.files.readsStream(in)
	} else {
		sys.files.reads(roleRows, path)
		f, err := os.Open(path)
		if err != nil {
			return nil, pathError(path, err)
		}
		defer f.Close()
		in = f
	}
	content, _, free, err := jsonl.Unpack(in)
	if err != nil {
		return nil, pathError(path, err)
	}
	defer free()
	rows, err := compare.ReadRows(content)
	var at *compare.RowsError
	if !errors.As(err, &at) {
		return rows, err
	}
	err = bare(at.Err)
	switch {
	case errors.Is(err, compare.ErrNoRows):
		err = fmt.Errorf("%w: name a file that ctxkit compare --format rows wrote", err)
	case errors.Is(err, compare.ErrCut):
		err = fmt.Errorf("%w: write them again", err)
	}
	return nil, &jsonl.FileError{Path: path, Line: at.Line, Err: err}
}

// writeRows writes what came of the inputs.
func (r *comparing) writeRows(choices []policyChoice, failed, err error) error {
	if err == nil {
		var policies []compare.RowsPolicy
		if policies, err = r.rowPolicies(choices); err == nil {
			in := &r.loop.in
			rows := compare.Rows{
				Build: exactBuild(), Policies: policies, Options: r.rowOptions(), Inputs: in.all, Names: in.names, Shard: 1, Shards: 1,
				Warnings: r.warnings, Late: compare.SortedOnce(r.late), Outcomes: r.outcomes,
			}
			if s := r.Shard; s.Of > 0 {
				rows.Shard = s.I
				rows.Shards = s.Of
			}
			err = report.Rows(r.loop.out, &rows)
		}
	}
	var part *partError
	if err == nil && errors.As(failed, &part) {
		err = &partError{failed: part.failed, usable: true} // what failed is in the rows
	}
	return r.loop.out.close(err)
}

// rowPolicies are the policies with digests of what they say.
func (r *comparing) rowPolicies(choices []policyChoice) ([]compare.RowsPolicy, error) {
	list := make([]compare.RowsPolicy, len(choices))
	for i, choose := range choices {
		list[i].Name = r.Policies[i]
		if (policyOptions{Policy: r.Policies[i]}).bySession(r.sys) {
			continue
		}
		p, err := choose(preset.Client{})
		if err != nil {
			return nil, err
		}
		list[i].Digest = policyDigest(p)
	}
	return list, nil
}

// policyDigest is a digest of all that a policy says.
func policyDigest(p *policy.Policy) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(policy.Marshal(p), "%q", p.Resolved())))
}

// rowOptions are the options that change what is worked out of a session, by the names of their flags. One that has its
// default is left out.
func (r *comparing) rowOptions() map[string]string {
	o := map[string]string{"agent": r.Agent, "leaf": r.Leaf, "model": r.Model, "tokens": r.Counter, "cache": r.Cache, limitName: r.sys.limits.String()}
	if r.Window > 0 {
		o["window"] = r.Window.String()
	}
	if r.Overhead.Given {
		o["overhead"] = r.Overhead.String()
	}
	if r.sys.tableText != nil {
		o["prices"] = check.ContentHash(r.sys.tableText)
	}
	if r.NoRegret {
		o["no-regret"] = strconv.FormatBool(true)
	}
	if r.Env {
		h := sha256.New()
		for _, f := range r.sys.families {
			for _, name := range f.Variables {
				fmt.Fprintf(h, "%q=%q\n", name, r.sys.env(name))
			}
		}
		o["env"] = fmt.Sprintf("%x", h.Sum(nil))
	}
	for _, t := range r.Tries {
		name := trialFlag(t.Stage)
		o[name] = strings.TrimSpace(o[name] + " " + strconv.Quote(t.Text))
	}
	for name, value := range o {
		if value == "" {
			delete(o, name)
		}
	}
	return o
}
