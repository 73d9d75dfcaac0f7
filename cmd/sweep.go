package cmd

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/sweep"
	"github.com/ctxkit/ctxkit/report"
)

// sweepOptions are the options of `ctxkit sweep`.
type sweepOptions struct {
	replayOptions
	Vary    []string `flag:"vary" usage:"a parameter and its values: <STAGE.PARAM=VALUES> (repeatable)"`
	Samples int      `flag:"samples" usage:"try <N> points of the grid, drawn at random, instead of all"`
	Seed    uint64
}

func newSweep(sys *system) *cobra.Command {
	o := &sweepOptions{}
	o.Agent = "all"
	cmd := command(&cobra.Command{
		Use:   "sweep INPUT... --vary STAGE.PARAM=A..B[:STEP]|A,B,C",
		Short: "Try values of a policy's parameters and mark the best",
		Args:  arguments(&o.Inputs),
		Long: `Replay sessions under every choice of some parameters of a policy, and mark the
Pareto front: the choices that no other one beats in cost and content needed
later. A choice under which the API would refuse requests is a lower bound, not
one of them. The cheapest is compared with the policy as it is, and where there
are four projects or more, the choice is tried out: made on half of them,
measured on the other half.

--vary takes a list (A,B,C) or a range (A..B, A..B:STEP) of numbers or
durations, both ends included; a range without a step has five values. Several
--vary make the full grid; --samples draws some of its points. The parameter
threshold is the number of tokens at which the policy compacts, in every window
that has room for them: --vary threshold=97k,127k,167k. A policy of compare
takes it as a setting: --policy claude-code,threshold=127k.

A session counts with its subagents. It is read once for all points. An
interrupt prints all points over the sessions that are finished or, without one,
the points that are finished in the first.`,
		Example: `  ctxkit sweep session.jsonl --policy opencode-1.1.60 \
      --vary opencode_prune.protect=20000..80000:20000
  ctxkit sweep ~/.claude/projects -p claude-code --vary threshold=97k,127k,167k
  ctxkit sweep ~/.claude/projects --policy claude-code-2.1 \
      --vary window.buffer=5k..45k:10k \
      --vary microcompact_size.target=20000,40000 --format svg -o sweep.svg`,
	}, func() error { return runSweep(sys, o) }, append(o.shared(sys, o.listing(report.SweepFormats, report.SweepTables...)), o.by(replay.CacheEqual), own(o), own(&o.replayOptions, "no-regret"))...)
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "random seed of --samples (`N`)")
	return cmd
}

func runSweep(sys *system, o *sweepOptions) error {
	o.Regret = !o.NoRegret
	r, err := o.begin(sys)
	if err != nil {
		return err
	}
	o.unknownModel(sys, r.msgs)
	return r.out.close(r.sweep(o))
}

// plan reads the axes and lists the points.
func (o *sweepOptions) plan() (*sweep.Plan, error) {
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

func (r *replays) sweep(o *sweepOptions) error {
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
			if base.Recorded {
				err = fmt.Errorf("%w; --policy names another policy than %s", err, base.Name)
			}
			return fmt.Errorf("flag --vary: %w", err)
		}
		name = base.Name
	}
	s := &sweep.Grid{Policy: name, Axes: plan.Axes, Points: plan.Points, Cache: replay.CacheMode(o.Cache)}
	failed, err := r.trySessions(plan, s)
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		return o.varyError(err)
	}
	s.Mark(rand.New(rand.NewPCG(1, 0)).Perm) // the same halves in every run
	if err := report.Sweep(r.out, s, o.report(r.sys)); err != nil {
		return err
	}
	return failed
}

// trySessions tries all points on one session after the other, as many at once as --jobs says. After an interrupt the
// grid holds the sessions that are finished or, without one, the first points of the first.
func (r *replays) trySessions(plan *sweep.Plan, s *sweep.Grid) (failed, err error) {
	loop := r.loop("swept")
	opt := r.o.options()
	loop.skipEmpty, loop.billed, loop.assumed = true, true, &opt
	var converted []*replay.Conversion
	type result struct {
		*sweep.Swept
		agents int      // of the session, with the main conversation
		idle   []string // parameters that change nothing, and why
		err    error    // of --vary: it ends the sweep
	}
	left := 0 // inputs that were not finished
	failed, err = eachConversation(loop, func(c agentConversation) (one result, err error) {
		base, err := r.choose(preset.ClientOf(c.conv))
		if err != nil {
			return one, err
		}
		one = result{Swept: &sweep.Swept{}}
		if c.main && loop.joins() {
			one.agents = c.subagents()
		}
		swept := sweep.NewSession(*c.source(), c.rec, base)
		if one.Has, one.err = plan.Has(swept); one.err != nil {
			return one, nil
		}
		one.Session, err = compare.Run(&compare.Subject{Record: c.rec, Agent: c.name(), Input: c.input}, []*policy.Policy{base}, r.o.options())
		if err != nil {
			return one, err
		}
		one.idle = plan.Idle(swept)
		tried, err := r.tryPoints(plan, swept)
		one.Session.Values = append(one.Session.Values, tried...)
		return one, err
	}, func(one result) error {
		if one.err != nil {
			return one.err
		}
		for _, text := range one.idle {
			loop.warn(session.Warning{Message: text})
		}
		if part := len(one.Session.Values) <= len(plan.Points); part {
			s.Interrupted = true
			left = len(r.in.list) - slices.Index(r.in.list, one.Session.Input)
			i := slices.IndexFunc(s.Sessions, func(c compare.ComparedSession) bool { return c.Input == one.Session.Input })
			if i > 0 {
				s.Sessions = s.Sessions[:i]
			}
			s.Apart = i == 0 || len(s.Sessions) == 0 && one.agents > 0
			if len(s.Sessions) > 0 {
				return errInterrupted
			}
			left--
		}
		s.Add(one.Swept)
		converted = append(converted, one.Session.Converted)
		if s.Interrupted {
			return errInterrupted
		}
		return nil
	})
	if errors.Is(err, errInterrupted) {
		err = nil // Main exits as interrupted
	}
	s.Sessions = compare.JoinAgents(s.Sessions)
	s.Inputs = loop.inputs(failed)
	s.Inputs.Failed += left
	r.msgs.converted(converted)
	return failed, err
}

// tryPoints tries all points on one session, or after an interrupt the first.
func (r *replays) tryPoints(plan *sweep.Plan, one *sweep.SweptSession) (list []compare.Values, err error) {
	progress := newProgress(r.sys, r.o.Quiet || len(r.in.list) > 1, "tried", len(plan.Points))
	progress.noun, progress.remaining = "points", true
	defer progress.clear()
	err = inOrder(len(plan.Points), r.perInput(), func(i int) (compare.Values, error) {
		if r.sys.interrupted() {
			return nil, errInterrupted
		}
		return plan.Try(i, one, r.o.options())
	}, func(_ int, v compare.Values, err error) error {
		if err == nil {
			progress.step()
			list = append(list, v)
		}
		return err
	})
	if errors.Is(err, errInterrupted) {
		err = nil
	}
	return list, err
}

// nothingToVary is the error of a sweep without --vary.
func (o *sweepOptions) nothingToVary(choose policyChoice) error {
	base, err := choose(preset.Client{})
	if err != nil {
		return err
	}
	return fmt.Errorf("nothing to vary: name a parameter with --vary STAGE.PARAM=VALUES; the policy has %s", strings.Join(base.Keys(), ", "))
}

// varyError names the session whose policy does not take a value of --vary, and the policy where its name leaves the
// version to the session.
func (o *sweepOptions) varyError(err error) error {
	var se *sweep.SessionError
	if !errors.As(err, &se) {
		return err
	}
	err = fmt.Errorf("flag --vary: %w", se.Err)
	if se.Of > 1 {
		err = fmt.Errorf("none of the %d sessions' policies has it: %w", se.Of, err)
	}
	if p := se.Policy; p.Chosen != "" {
		err = fmt.Errorf("%s: %w", chosenText(o.unfolded().Policy, p.Name, p.Chosen), err)
	}
	return pathError(se.Session.File, err)
}
