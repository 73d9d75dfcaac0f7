package cmd

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/report"
)

// SweepOptions are what `ctxkit sweep` is asked for.
type SweepOptions struct {
	ReplayOptions
	Vary     []string
	Samples  int
	Seed     uint64
	NoRegret bool
}

const longSweep = `Replay sessions under every choice of some parameters of a policy, and mark the
choices that no other one beats in cost, peak and regret at once.

--vary takes a list (A,B,C) or a range (A..B, A..B:STEP) of numbers or durations,
both ends included; a range without a step has five values. Several --vary make
the full grid; --samples draws some of its points.

Sessions are read and their tokens counted once for all points. An interrupt
prints the points that are finished.`

const exampleSweep = `  ctxkit sweep session.jsonl --policy opencode --vary opencode_prune.protect=20000..80000:20000
  ctxkit sweep ~/.claude/projects --policy claude-code-2.1 --vary window.buffer=5k..45k:10k \
      --vary microcompact_size.target=20000,40000 --format svg -o sweep.svg`

func newSweep(sys *system) *cobra.Command {
	o := &SweepOptions{}
	formats := formatNames(report.SweepFormats)
	cmd := &cobra.Command{
		Use:     "sweep INPUT... --vary STAGE.PARAM=A..B[:STEP]|A,B,C",
		Short:   "Try the values of a policy's parameters: which are best?",
		Long:    longSweep,
		Example: exampleSweep,
		RunE: func(_ *cobra.Command, args []string) error {
			o.Inputs = args
			if err := o.OutputOptions.check(formats...); err != nil {
				return err
			}
			if err := o.InputOptions.check(); err != nil {
				return err
			}
			return runSweep(sys, o)
		},
	}
	o.PolicyOptions.replayFlags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&o.Vary, "vary", nil, "a parameter and its values: `STAGE.PARAM=VALUES` (repeatable)")
	f.IntVar(&o.Samples, "samples", 0, "draw `N` points of the grid instead of trying all")
	f.Uint64Var(&o.Seed, "seed", 1, "chooses the points drawn (`N`)")
	f.BoolVar(&o.NoRegret, "no-regret", false, "leave out what policies threw away too early (its search reads every text)")
	o.InputOptions.flags(cmd)
	o.CountOptions.flags(cmd)
	o.OutputOptions.flags(cmd, formats...)
	f.BoolVar(&o.All, "all", false, "leave nothing out of tables")
	return cmd
}

// recorded is one conversation, read and counted, and the policy it starts
// with.
type recorded struct {
	conv agentConversation
	rec  *replay.Record
	base *policy.Policy
}

func runSweep(sys *system, o *SweepOptions) error {
	o.Regret = !o.NoRegret
	r, err := o.begin(sys)
	if err != nil {
		return err
	}
	return r.out.close(r.sweep(o))
}

func (r *replaying) sweep(o *SweepOptions) error {
	r.sys.finishInterrupted()
	name := o.unfolded().Policy
	if len(o.Vary) == 0 {
		return o.nothingToVary(r.choose)
	}
	axes, points, err := o.points()
	if err != nil {
		return err
	}
	v := &variants{axes: axes, points: points, made: map[*policy.Policy]*variant{}}
	if !o.byVersion() { // else which policy it is depends on the session
		base, err := r.choose("")
		if err == nil {
			err = v.try(base)
		}
		if err != nil {
			return err
		}
		name = base.Name
	}
	list, in, done, failed, err := r.readAll()
	defer done()
	if err != nil {
		return err
	}
	s := &compare.Sweep{Policy: name, Axes: axes, Points: points, Sessions: len(list), Inputs: in}
	if s.Applied, err = r.applies(v, list); err != nil {
		return err
	}
	progress := newProgress(r.sys, o.Quiet, "tried", len(points))
	progress.noun, progress.remaining = "points", true
	defer progress.end()
	err = inOrder(len(points), o.Jobs, func(i int) (tried, error) {
		if r.sys.interrupted() {
			return tried{}, errInterrupted
		}
		return r.tryPoint(v, i, list)
	}, func(i int, t tried, err error) error {
		if err == nil {
			progress.step()
			s.Results, s.Unpriced = append(s.Results, t.row), t.unpriced
		}
		return err
	})
	if errors.Is(err, errInterrupted) {
		err = nil // what is finished is printed; Main says how it ended
	}
	if err != nil {
		return err
	}
	s.Mark()
	if err := report.Sweep(r.out, s, report.Layout{Format: report.Format(o.Format), All: o.All, Color: o.useColor(r.sys), Hints: reportHints()}); err != nil {
		return err
	}
	return failed
}

// nothingToVary names what could be varied.
func (o *SweepOptions) nothingToVary(choose policyChoice) error {
	base, err := choose("")
	if err != nil {
		return err
	}
	return fmt.Errorf("nothing to vary: name a parameter with --vary STAGE.PARAM=VALUES; the policy has %s", strings.Join(base.Keys(), ", "))
}

// readAll reads all inputs and keeps them.
func (r *replaying) readAll() (list []*sweptSession, in compare.Inputs, done func(), failed, err error) {
	var files []*conversations
	var mu sync.Mutex
	loop := r.loop("read")
	loop.keep = func(c *conversations) {
		mu.Lock()
		defer mu.Unlock()
		files = append(files, c)
	}
	failed, err = eachConversation(loop, func(c agentConversation) (recorded, error) {
		if len(c.conv.Requests) == 0 {
			return recorded{conv: c}, nil
		}
		rec, err := replay.NewRecordWith(c.conv, r.o.encoders)
		if err != nil {
			return recorded{}, err
		}
		rec.Share()
		base, err := r.choose(c.conv.Version)
		return recorded{c, rec, base}, err
	}, func(one recorded) error {
		if one.rec == nil {
			loop.leaveOut(one.conv.source())
			return nil
		}
		list = append(list, &sweptSession{recorded: one, known: map[int]*point{}, ahead: 1})
		return nil
	})
	if err == nil && len(list) == 0 {
		err = loop.nothing(failed)
	}
	return list, loop.inputs(failed), func() {
		for _, f := range files {
			f.close()
		}
	}, failed, err
}

// tried is what a point came to.
type tried struct {
	row      compare.Policy
	unpriced []compare.Unpriced
}

// tryPoint replays every conversation under one point's policy.
func (r *replaying) tryPoint(v *variants, point int, list []*sweptSession) (tried, error) {
	sessions := make([]compare.Session, len(list))
	for i, one := range list {
		p, err := one.try(v, point, r.o.options())
		if err != nil {
			return tried{}, err
		}
		src := one.conv.source()
		sessions[i] = compare.Session{
			Session: src.Session, Agent: src.Agent, File: src.File,
			Unpriced: p.unpriced, Values: []compare.Values{p.values},
		}
	}
	name := strings.Join(v.points[point], ",")
	return tried{compare.Compare([]string{name}, sessions, compare.ByNothing)[0].Policies[0], compare.UnpricedModels(sessions)}, nil
}
