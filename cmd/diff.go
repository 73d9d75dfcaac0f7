package cmd

import (
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/diff"
	"github.com/ctxkit/ctxkit/report"
)

// DiffOptions are what `ctxkit diff` is asked for.
type DiffOptions struct {
	ReplayOptions
	Against string // raw, or a policy
	At      string
	From    string
	Stat    bool
	Full    bool
}

const longDiff = `Show what a policy makes of the raw history at one request, message by message:
what was kept, cleared, persisted, truncated, removed, collapsed, summarised,
tagged or added, by which stage and why, with the tokens on both sides.

--against POLICY compares two policies at the same request. --from N compares
two requests of one policy: what the client changed of what it had sent is what
costs the prompt cache. --at all shows every request at which something changed,
and the last.`

const exampleDiff = `  ctxkit diff session.jsonl --policy opencode --stat
  ctxkit diff session.jsonl --policy opencode --against claude-code --at 200
  ctxkit diff session.jsonl --policy claude-code --from 131 --at 132`

func newDiff(sys *system) *cobra.Command {
	o := &DiffOptions{}
	formats := formatNames(report.ViewFormats)
	cmd := &cobra.Command{
		Use:     "diff INPUT",
		Short:   "What exactly differs: a policy's view against raw, another policy or an earlier request",
		Long:    longDiff,
		Example: exampleDiff,
		RunE: func(_ *cobra.Command, args []string) error {
			o.Inputs = args
			if err := o.OutputOptions.check(formats...); err != nil {
				return err
			}
			if err := o.InputOptions.check(); err != nil {
				return err
			}
			return runDiff(sys, o)
		},
	}
	o.PolicyOptions.replayFlags(cmd)
	o.InputOptions.flags(cmd)
	o.CountOptions.flags(cmd)
	o.OutputOptions.flags(cmd, formats...)
	f := cmd.Flags()
	f.StringVar(&o.Against, "against", rawSide, "the left side: raw, or another `POLICY`")
	f.StringVar(&o.At, "at", "last", "which request: `N`, last, peak, end, event:K or all")
	f.StringVar(&o.From, "from", "", "compare with the same policy's view at request `N`")
	f.BoolVar(&o.Stat, "stat", false, "sums alone")
	f.BoolVar(&o.Full, "full", false, "fold nothing")
	f.IntSliceVar(&o.CompactAt, "compact-at", nil, "have the user ask for a compaction before request `N` (repeatable)")
	return cmd
}

const (
	rawSide = "raw"
	atAll   = "all"
)

func runDiff(sys *system, o *DiffOptions) error {
	if o.From != "" && (o.Against != rawSide || o.At == atAll) {
		return fmt.Errorf("flag --from: compares two requests of one policy: leave out --against and --at all")
	}
	s, err := o.open(sys)
	if err != nil {
		return err
	}
	defer s.convs.close()
	return s.out.close(s.done(s.diff(sys, o)))
}

func (s *opened) diff(sys *system, o *DiffOptions) error {
	d := &differ{opened: s, o: o, name: rawSide}
	d.out = report.NewDiffs(s.out, report.DiffLayout{
		Layout: report.Layout{Format: report.Format(o.Format), Color: o.useColor(sys), Several: o.At == atAll, Hints: reportHints()}, Stat: o.Stat, Full: o.Full,
	})
	if o.Against != rawSide {
		// --set and --snip are for the right side; the environment is for both.
		left := ReplayOptions{PolicyOptions: PolicyOptions{Policy: o.Against, Env: o.Env}, CompactAt: o.CompactAt}
		choose, warnings, err := choosePolicy(sys, &left)
		if err != nil {
			return fmt.Errorf("flag --against: %w", err)
		}
		for _, w := range warnings {
			s.msgs.warn(w)
		}
		if d.against, err = choose(s.conv.conv.Version); err != nil {
			return fmt.Errorf("flag --against: %w", err)
		}
		d.name = d.against.Name
	}
	var err error
	switch {
	case o.At == atAll:
		err = d.all()
	case o.From != "":
		err = d.between()
	default:
		err = d.one()
	}
	if err != nil {
		return err
	}
	return d.out.Close()
}

// differ makes the diffs that were asked for.
type differ struct {
	*opened
	o       *DiffOptions
	against *policy.Policy // nil: raw
	name    string         // of the left side
	out     report.Printer[*report.Diff]
}

// one compares both sides at one request.
func (d *differ) one() error {
	n, _, err := d.at("--at", d.o.At)
	if err != nil {
		return err
	}
	right, err := d.rec.ViewAt(d.pol, d.opt, n)
	if err != nil {
		return err
	}
	var left *view.View
	if d.against == nil {
		left, err = d.rec.RawAt(d.opt, n)
	} else {
		left, err = d.rec.ViewAt(d.against, d.opt, n)
	}
	if err != nil {
		return err
	}
	return d.compare(n, left, right)
}

func (d *differ) compare(n int, left, right *view.View) error {
	found, err := diff.Compare(left, right)
	if err != nil {
		return err
	}
	r := report.NewDiff(d.conv.conv, found)
	r.Policy, r.Against, r.Request, r.Edits = d.pol.Name, d.name, n, diff.Edits(right, 0)
	return d.out.Add(r)
}

// between compares two requests of the policy.
func (d *differ) between() error {
	to, tl, err := d.at("--at", d.o.At)
	if err != nil {
		return err
	}
	from, err := tl.RequestAt(d.o.From)
	if err != nil {
		return fmt.Errorf("flag --from: %w", err)
	}
	if from >= to {
		return fmt.Errorf("flag --from: request %d does not come before request %d: name an earlier one, or a later one with --at", from, to)
	}
	earlier, err := d.rec.ViewAt(d.pol, d.opt, from)
	if err != nil {
		return err
	}
	later, err := d.rec.ViewAt(d.pol, d.opt, to)
	if err != nil {
		return err
	}
	found, err := diff.Between(earlier, later)
	if err != nil {
		return err
	}
	r := report.NewDiff(d.conv.conv, found)
	r.Policy, r.Against, r.From, r.Request, r.Edits = d.pol.Name, d.pol.Name, from, to, diff.Edits(later, len(earlier.Edits()))
	return d.out.Add(r)
}

// all compares both sides at every request at which one of them was edited,
// and at the last. It goes through both replays once, side by side.
func (d *differ) all() error {
	lefts, stop := iter.Pull(d.lefts())
	defer stop()
	edits := [2]int{}
	last := max(len(d.conv.conv.Requests), 1)
	var failed error
	err := d.rec.EachView(d.pol, d.opt, func(n int, right *view.View) bool {
		left, ok := lefts()
		if !ok || left.err != nil {
			failed = left.err
			return false
		}
		now := [2]int{len(left.view.Edits()), len(right.Edits())}
		if now != edits || n == last {
			edits = now
			failed = d.compare(n, left.view, right)
		}
		return failed == nil && n < last
	})
	if err == nil {
		err = failed
	}
	return err
}

// leftView is the left side at one request.
type leftView struct {
	view *view.View
	err  error
}

// lefts are the left sides of all requests, in order.
func (d *differ) lefts() iter.Seq[leftView] {
	return func(yield func(leftView) bool) {
		each := d.rec.EachView
		if d.against == nil {
			each = func(_ *policy.Policy, opt replay.Options, yield func(int, *view.View) bool) error {
				return d.rec.EachRaw(opt, yield)
			}
		}
		if err := each(d.against, d.opt, func(_ int, v *view.View) bool { return yield(leftView{view: v}) }); err != nil {
			yield(leftView{err: err})
		}
	}
}
