package cmd

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/diff"
	"github.com/ctxkit/ctxkit/report"
)

// diffOptions are the options of `ctxkit diff`.
type diffOptions struct {
	replayOptions
	Against string // raw, or a policy
	At      string `flag:"at" usage:"which request: <N>, last, peak, end, event:K or all" default:"last" values:"last,peak,end,all"`
	From    string `flag:"from" usage:"compare with the same policy's view at request <N>"`
	Stat    bool   `flag:"stat" usage:"totals only"`
	Full    bool   `flag:"full" usage:"show long texts in full"`
	Line    int    `flag:"line" usage:"only the message of line <N> of the file, with its text where nothing changed, too"` // 0: all messages
}

func newDiff(sys *system) *cobra.Command {
	o := &diffOptions{}
	cmd := command(&cobra.Command{
		Use: "diff INPUT", Short: "Compare a policy's view with raw, another's or an earlier one",
		Args: arguments(&o.Inputs),
		Long: `Compare a policy's view with the raw history at one request, message by message:
what was kept, cleared, persisted, truncated, removed, collapsed, summarised,
tagged or added, by which stage and why, with the tokens on both sides.

--against POLICY compares two policies at the same request. --from N compares
two requests of one policy: what changed in messages that were sent before
causes a cache miss. --at all shows every request at which something
changed, and the last, each diff in full; --stat prints sums only.`,
		Example: `  ctxkit diff session.jsonl --policy opencode --stat
  ctxkit diff session.jsonl --policy opencode --against claude-code --at 200
  ctxkit diff session.jsonl --policy claude-code --from 131 --at 132`,
	}, func() error { return runDiff(sys, o) }, append(o.shared(sys, o.with(report.DiffFormats, report.DiffTables...).worded()), own(o))...)
	o.Against = rawSide
	cmd.Flags().Var(&once{text: &o.Against}, "against", "the left side: raw, or another `POLICY`")
	o.compactAt(cmd)
	return cmd
}

const (
	rawSide = "raw"
	atAll   = "all"
)

func runDiff(sys *system, o *diffOptions) error {
	if o.From != "" && (o.Against != rawSide || o.At == atAll) {
		return fmt.Errorf("flag --from: compares two requests of one policy: leave out --against and --at all")
	}
	s, err := o.open(sys)
	if err != nil {
		return err
	}
	return s.close(s.diff(o))
}

func (s *opened) diff(o *diffOptions) error {
	if err := s.asked(); err != nil {
		return err
	}
	d := &differ{opened: s, o: o, name: rawSide}
	layout := report.DiffLayout{Layout: o.report(s.sys), Stat: o.Stat}
	layout.Several = o.At == atAll
	layout.Full = o.Full
	d.printer = report.NewDiffs(s.out, layout)
	if o.Against != rawSide {
		if err := d.chooseAgainst(); err != nil {
			return fmt.Errorf("flag --against: %w", err)
		}
	}
	show := d.one
	if o.At == atAll {
		show = d.all
	}
	if err := show(); err != nil {
		return err
	}
	return d.printer.Close()
}

// differ prints the diffs of one command.
type differ struct {
	*opened
	o       *diffOptions
	against *policy.Policy // nil: raw
	name    string         // of the left side
	printer report.Printer[*report.NamedDiff]
}

// chooseAgainst reads the policy of the left side. --set and --snip apply to the right side, the environment to both.
func (d *differ) chooseAgainst() error {
	left := replayOptions{policyOptions: policyOptions{Policy: d.o.Against, Env: d.o.Env}, CompactAt: d.o.CompactAt}
	choose, err := choosePolicy(d.sys, &left, d.msgs.warn)
	if err != nil {
		return err
	}
	if d.against, err = choose(preset.ClientOf(d.conv.conv)); err == nil {
		d.name = d.against.Name
	}
	return err
}

// one compares both sides at one request, or with --from two requests of the policy.
func (d *differ) one() error {
	to, err := d.request("--at", d.o.At)
	if err != nil {
		return err
	}
	from := to
	if d.o.From != "" {
		if from, err = d.request("--from", d.o.From); err != nil {
			return err
		}
		if from >= to {
			return fmt.Errorf("flag --from: request %d is not before request %d: name an earlier one, or a later one with --at", from, to)
		}
		d.against = d.pol
		d.name = d.pol.Name
	}
	left, err := d.conv.rec.ViewAt(d.against, d.opt, from)
	if err != nil {
		return err
	}
	right, err := d.conv.rec.ViewAt(d.pol, d.opt, to)
	if err != nil {
		return err
	}
	return d.print(from, to, left, right)
}

// print prints what differs between the views of two requests, or of one.
func (d *differ) print(from, to int, left, right *view.View) error {
	compare := diff.Compare
	before := 0
	if from < to {
		compare = diff.Between
		before = len(left.Edits())
	}
	found, err := compare(left, right)
	if err != nil {
		return err
	}
	if d.o.Line != 0 {
		if err := d.ofLine(found, left, right); err != nil {
			return err
		}
	}
	r := report.NewNamedDiff(d.conv.conv, found, found.Stat())
	if from < to {
		r.From = from
	}
	if !d.o.Stat {
		r.Edits = diff.Edits(right, before)
	}
	return d.add(to, r)
}

// ofLine leaves the messages of one line of the file, each with its text: as the right side sends it, or the left, or as recorded.
func (d *differ) ofLine(found *diff.Diff, left, right *view.View) error {
	found.Messages = slices.DeleteFunc(found.Messages, func(m diff.MessageDiff) bool { return m.Line != d.o.Line })
	if len(found.Messages) == 0 {
		return fmt.Errorf("flag --line: line %d holds no message that was sent by then: ctxkit view --as transcript shows the lines", d.o.Line)
	}
	found.Before = 0
	found.After = 0
	for i := range found.Messages {
		m := &found.Messages[i]
		found.Before += m.Left.Tokens
		found.After += m.Right.Tokens
		if m.Text != "" || len(m.Blocks) > 0 {
			continue
		}
		v := right
		read := diff.Text
		if !right.Has(m.Item) {
			v = left
		}
		if !v.Has(m.Item) {
			read = (*view.View).Recorded
		}
		for b := range v.Blocks(m.Item) {
			text, err := read(v, policy.BlockOf(m.Item, b))
			if err != nil {
				return err
			}
			m.Text += text + "\n"
		}
	}
	return nil
}

// add prints a diff at a request.
func (d *differ) add(at int, r *report.NamedDiff) error {
	r.Policy = d.pol.Name
	r.Against = d.name
	r.Request = at
	r.Truths[0] = d.pol.Truth
	r.Chosen[0] = d.pol.Chosen
	if d.against != nil {
		r.Truths[1] = d.against.Truth
		r.Chosen[1] = d.against.Chosen
	}
	return d.printer.Add(r)
}

// all compares both sides at every request at which one of them was edited, and at the last.
func (d *differ) all() error {
	edits := [2]int{}
	var sums diff.Sums
	last := max(len(d.conv.conv.Requests), 1)
	var failed error
	err := d.conv.rec.EachPair(d.against, d.pol, d.opt, func(n int, left, right *view.View) bool {
		now := [2]int{len(left.Edits()), len(right.Edits())}
		if now == edits && n != last {
			return true
		}
		if edits = now; d.o.Stat {
			found, stat := sums.At(left, right)
			failed = d.add(n, report.NewNamedDiff(d.conv.conv, found, stat))
		} else {
			failed = d.print(n, n, left, right)
		}
		return failed == nil && n < last
	})
	if failed != nil {
		return failed
	}
	return err
}
