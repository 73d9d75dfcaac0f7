package cmd

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/sweep"
	"github.com/ctxkit/ctxkit/report"
)

// SweepOptions are the options of `ctxkit sweep`.
type SweepOptions struct {
	ReplayOptions
	Vary     []string
	Samples  int
	Seed     uint64
	NoRegret bool
}

func newSweep(sys *system) *cobra.Command {
	o := &SweepOptions{}
	cmd := command(&cobra.Command{
		Use:   "sweep INPUT... --vary STAGE.PARAM=A..B[:STEP]|A,B,C",
		Short: "Try values of a policy's parameters and mark the best",
		Args:  arguments(&o.Inputs),
		Long: `Replay sessions under every choice of some parameters of a policy, and mark the
choices that no other one beats in cost, mean size of a request and regret at
once. A choice under which the API would refuse requests is a bound, not one of
them.

--vary takes a list (A,B,C) or a range (A..B, A..B:STEP) of numbers or
durations, both ends included; a range without a step has five values. Several
--vary make the full grid; --samples draws some of its points.

Sessions are read and their tokens counted once for all points. An interrupt
prints the points that are finished.`,
		Example: `  ctxkit sweep session.jsonl --policy opencode \
      --vary opencode_prune.protect=20000..80000:20000
  ctxkit sweep ~/.claude/projects --policy claude-code-2.1 \
      --vary window.buffer=5k..45k:10k \
      --vary microcompact_size.target=20000,40000 --format svg -o sweep.svg`,
	}, func() error { return runSweep(sys, o) }, append(o.shared(sys, o.listing(report.SweepFormats, report.SweepTables...)), o.by(replay.CacheEqual))...)
	f := cmd.Flags()
	f.StringArrayVar(&o.Vary, "vary", nil, "a parameter and its values: `STAGE.PARAM=VALUES` (repeatable)")
	f.IntVar(&o.Samples, "samples", 0, "try `N` points of the grid, drawn at random, instead of all")
	f.Uint64Var(&o.Seed, "seed", 1, "random seed of --samples (`N`)")
	o.noRegret(f, &o.NoRegret)
	return cmd
}

func runSweep(sys *system, o *SweepOptions) error {
	o.Regret = !o.NoRegret
	r, err := o.begin(sys)
	if err == nil {
		err = o.unknownModel(r.msgs)
	}
	if err != nil {
		return err
	}
	return r.out.close(r.sweep(o))
}

// plan reads the axes and lists the points.
func (o *SweepOptions) plan() (*sweep.Plan, error) {
	var axes []sweep.Axis
	for _, v := range o.Vary {
		a, err := sweep.ParseAxis(v)
		if err != nil {
			return nil, fmt.Errorf("flag --vary: %w", err)
		}
		for _, other := range axes {
			if other.Key == a.Key {
				return nil, fmt.Errorf("flag --vary: %s varies twice: give all its values at once", a.Key)
			}
		}
		axes = append(axes, a)
	}
	if o.Samples < 0 || o.Samples > sweep.MaxPoints {
		return nil, fmt.Errorf("flag --samples: %d: want 1 to %d, or 0 for the full grid", o.Samples, sweep.MaxPoints)
	}
	if o.Samples > 0 {
		return sweep.NewPlan(axes, sweep.Sample(axes, o.Samples, rand.New(rand.NewPCG(o.Seed, 0)).IntN)), nil
	}
	points, err := sweep.Cross(axes)
	if err != nil {
		return nil, fmt.Errorf("flag --vary: %w", gridHint(err))
	}
	return sweep.NewPlan(axes, points), nil
}

func (r *replays) sweep(o *SweepOptions) error {
	r.sys.finishes.Store(true)
	for _, v := range o.Vary {
		if strings.HasPrefix(v, "cache.") && o.Cache != string(replay.CacheOwn) {
			return fmt.Errorf("flag --vary: %s changes nothing with --cache %s: add --cache own", strings.SplitN(v, "=", 2)[0], o.Cache)
		}
	}
	name := o.unfolded().Policy
	if len(o.Vary) == 0 {
		return o.nothingToVary(r.choose)
	}
	plan, err := o.plan()
	if err != nil {
		return err
	}
	if !o.bySession(r.sys) { // else the policy depends on the session
		base, err := r.choose(preset.Client{})
		if err != nil {
			return err
		}
		if err := plan.Check(base); err != nil {
			return fmt.Errorf("flag --vary: %w", err)
		}
		name = base.Name
	}
	loop := r.loop("read")
	loop.skipEmpty, loop.keepOpen = true, true
	defer loop.close()
	list, failed, err := collect(loop, func(c agentConversation) (*sweep.SweptSession, error) {
		base, err := r.choose(preset.ClientOf(c.conv))
		if err != nil {
			return nil, err
		}
		return sweep.NewSession(*c.source(), c.rec, base), nil
	})
	if err != nil {
		return err
	}
	s := &sweep.Grid{Policy: name, Axes: plan.Axes, Points: plan.Points, Sessions: len(list), Inputs: loop.inputs(failed), Cache: replay.CacheMode(o.Cache)}
	ran := make([]*policy.Policy, len(list))
	for i := range list {
		ran[i] = list[i].Policy
	}
	s.Use = policy.NewUse(name, ran)
	if err := o.sayConverted(loop, list); err != nil {
		return err
	}
	if s.Applied, err = plan.Applied(list); err != nil {
		return o.varyError(err)
	}
	if err := r.try(plan, list, s); err != nil {
		return err
	}
	s.Mark()
	if err := report.Sweep(r.out, s, o.report(r.sys)); err != nil {
		return err
	}
	return failed
}

// sayConverted says how the tokens of sessions are converted.
func (o *SweepOptions) sayConverted(l *conversationLoop, list []*sweep.SweptSession) error {
	var converted []*replay.Conversion
	for _, s := range list {
		c, err := s.Record.Conversion(o.options())
		if err != nil {
			return err
		}
		converted = append(converted, c)
	}
	l.msgs.converted(converted)
	return nil
}

// try tries all points. After an interrupt the result holds those that are finished.
func (r *replays) try(plan *sweep.Plan, list []*sweep.SweptSession, s *sweep.Grid) error {
	progress := newProgress(r.sys, r.o.Quiet, "tried", len(plan.Points))
	progress.noun, progress.remaining = "points", true
	defer progress.clear()
	err := inOrder(len(plan.Points), r.o.Jobs, func(i int) (sweep.Tried, error) {
		if r.sys.interrupted() {
			return sweep.Tried{}, errInterrupted
		}
		return plan.Try(i, list, r.o.options())
	}, func(_ int, t sweep.Tried, err error) error {
		if err == nil {
			progress.step()
			s.Tried, s.Unpriced = append(s.Tried, t.Values), t.Unpriced
		}
		return err
	})
	if errors.Is(err, errInterrupted) {
		return nil // Main exits as interrupted
	}
	return err
}

// nothingToVary is the error of a sweep without --vary.
func (o *SweepOptions) nothingToVary(choose policyChoice) error {
	base, err := choose(preset.Client{})
	if err != nil {
		return err
	}
	return fmt.Errorf("nothing to vary: name a parameter with --vary STAGE.PARAM=VALUES; the policy has %s", strings.Join(base.Keys(), ", "))
}

// varyError names the session whose policy does not take a value of --vary, and the policy where its name leaves the
// version to the session.
func (o *SweepOptions) varyError(err error) error {
	var se *sweep.SessionError
	if !errors.As(err, &se) {
		return err
	}
	err = fmt.Errorf("flag --vary: %w", se.Err)
	if se.Of > 1 {
		err = fmt.Errorf("none of the %d sessions' policies has it: %w", se.Of, err)
	}
	if p := se.Session.Policy; p.Chosen != "" {
		err = fmt.Errorf("%s: %w", chosenText(o.unfolded().Policy, p.Name, p.Chosen), err)
	}
	return pathError(se.Session.File, err)
}
