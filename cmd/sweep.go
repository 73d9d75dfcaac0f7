package cmd

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
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
	cmd := command(&cobra.Command{
		Use:     "sweep INPUT... --vary STAGE.PARAM=A..B[:STEP]|A,B,C",
		Short:   "Try values of a policy's parameters and mark the best",
		Long:    longSweep,
		Example: exampleSweep,
		Args:    arguments(&o.Inputs),
	}, func() error { return runSweep(sys, o) }, o.shared(sys, o.listing(report.SweepFormats))...)
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
	points, err := sweep.Grid(axes)
	if err != nil {
		return nil, fmt.Errorf("flag --vary: %w", hinted(err))
	}
	return sweep.NewPlan(axes, points), nil
}

func (r *replays) sweep(o *SweepOptions) error {
	r.sys.finishInterrupted()
	name := o.unfolded().Policy
	if len(o.Vary) == 0 {
		return o.nothingToVary(r.choose)
	}
	plan, err := o.plan()
	if err != nil {
		return err
	}
	if !o.byVersion() { // else the policy depends on the session
		base, err := r.choose("")
		if err != nil {
			return err
		}
		if err := plan.Check(base); err != nil {
			return fmt.Errorf("flag --vary: %w", err)
		}
		name = base.Name
	}
	in, err := r.readAll()
	defer in.close()
	if err != nil {
		return err
	}
	s := &sweep.Result{Policy: name, Axes: plan.Axes, Points: plan.Points, Sessions: len(in.list), Inputs: in.counts}
	if s.Applied, err = plan.Applied(in.list); err != nil {
		return in.varyError(o, err)
	}
	if err := r.try(plan, in.list, s); err != nil {
		return err
	}
	s.Mark()
	if err := report.Sweep(r.out, s, o.report(r.sys)); err != nil {
		return err
	}
	return in.failed
}

// try tries all points. After an interrupt the result holds those that are
// finished.
func (r *replays) try(plan *sweep.Plan, list []*sweep.Session, s *sweep.Result) error {
	progress := newProgress(r.sys, r.o.Quiet, "tried", len(plan.Points))
	progress.noun, progress.remaining = "points", true
	defer progress.end()
	err := inOrder(len(plan.Points), r.o.Jobs, func(i int) (sweep.Tried, error) {
		if r.sys.interrupted() {
			return sweep.Tried{}, errInterrupted
		}
		return plan.Try(i, list, r.o.options())
	}, func(_ int, t sweep.Tried, err error) error {
		if err == nil {
			progress.step()
			s.Results, s.Unpriced = append(s.Results, t.Row), t.Unpriced
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
	base, err := choose("")
	if err != nil {
		return err
	}
	return fmt.Errorf("nothing to vary: name a parameter with --vary STAGE.PARAM=VALUES; the policy has %s", strings.Join(base.Keys(), ", "))
}

// sweepInputs are the sessions of a sweep, which stay open.
type sweepInputs struct {
	list   []*sweep.Session
	convs  []agentConversation // of the list
	counts compare.Inputs
	failed error // inputs failed

	mu    sync.Mutex
	files []*conversations
}

func (in *sweepInputs) close() {
	for _, f := range in.files {
		f.close()
	}
}

// readAll reads all inputs and keeps them open.
func (r *replays) readAll() (*sweepInputs, error) {
	in := &sweepInputs{}
	loop := r.loop("read")
	loop.keep = func(c *conversations) {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.files = append(in.files, c)
	}
	type read struct {
		conv agentConversation
		*sweep.Session
	}
	var err error
	in.failed, err = eachConversation(loop, func(c agentConversation) (read, error) {
		if len(c.conv.Requests) == 0 {
			return read{conv: c}, nil
		}
		rec, err := replay.NewRecordWith(c.conv, r.o.encoders)
		if err != nil {
			return read{}, err
		}
		base, err := r.choose(c.conv.Version)
		if err != nil {
			return read{}, err
		}
		return read{c, sweep.NewSession(c.source(), rec, base)}, nil
	}, func(one read) error {
		if one.Session == nil {
			loop.leaveOut(one.conv.source())
			return nil
		}
		in.list, in.convs = append(in.list, one.Session), append(in.convs, one.conv)
		return nil
	})
	if err == nil && len(in.list) == 0 {
		err = loop.nothing(in.failed)
	}
	in.counts = loop.inputs(in.failed)
	return in, err
}

// varyError names the session whose policy does not take a value of --vary, and
// the policy where its name leaves the version to the session.
func (in *sweepInputs) varyError(o *SweepOptions, err error) error {
	var se *sweep.SessionError
	if !errors.As(err, &se) {
		return err
	}
	err = fmt.Errorf("flag --vary: %w", se.Err)
	if se.Of > 1 {
		err = fmt.Errorf("none of the %d sessions' policies has it: %w", se.Of, err)
	}
	for i, s := range in.list {
		if s != se.Session {
			continue
		}
		c := in.convs[i]
		if o.byVersion() {
			err = versionError(o.unfolded().Policy, s.Policy.Name, c.conv.Version, err)
		}
		return pathError(c.input, err)
	}
	return err
}
