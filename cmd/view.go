package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/diff"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/replay/wire"
	"github.com/ctxkit/ctxkit/report"
)

// ViewOptions are what `ctxkit view` is asked for.
type ViewOptions struct {
	ReplayOptions
	As   string
	At   string // "": last, or end for the views that are of the whole session
	Full bool
}

// The views.
const (
	asTranscript = "transcript"
	asRaw        = "raw"
	asModel      = "model"
	asPayload    = "payload"
	asScrollback = "scrollback"
)

var views = []string{asModel, asPayload, asRaw, asScrollback, asTranscript}

const longView = `Show one session at one request, as one of five views:

  transcript   the file as it was appended to, metadata lines included
  raw          everything that was ever said, nothing compacted: offloaded
               results read back, recorded summaries left out
  model        what the policy leaves of it for the model
  payload      the same as it is sent: with cache breakpoints, cache edits and
               the server's own edits
  scrollback   what a person still sees: raw, with a mark where something was
               compacted (by --policy; default: as recorded)

--at is a request's number, last, peak (the largest payload), end (after the
last request) or event:K (event K of ` + "`ctxkit replay`" + `). Model and payload
default to last, the others to end.

--format json is a body for the Messages API; system prompt and tools are in no
transcript, so they are not in it.`

const exampleView = `  ctxkit view session.jsonl --as model --policy opencode --at peak
  ctxkit view session.jsonl --as payload -p claude-code --at 120 -f json -o body.json
  ctxkit view session.jsonl --as scrollback --full | less -R`

func newView(sys *system) *cobra.Command {
	o := &ViewOptions{}
	formats := formatNames(report.ViewFormats)
	cmd := &cobra.Command{
		Use:     "view INPUT",
		Short:   "See the history at one request: transcript, raw, model, payload or scrollback",
		Long:    longView,
		Example: exampleView,
		RunE: func(_ *cobra.Command, args []string) error {
			o.Inputs = args
			if err := o.OutputOptions.check(formats...); err != nil {
				return err
			}
			if err := o.InputOptions.check(); err != nil {
				return err
			}
			return runView(sys, o)
		},
	}
	o.PolicyOptions.replayFlags(cmd)
	o.InputOptions.flags(cmd)
	o.CountOptions.flags(cmd)
	o.OutputOptions.flags(cmd, formats...)
	f := cmd.Flags()
	f.StringVar(&o.As, "as", asModel, "which `VIEW`: model, payload, raw, scrollback or transcript")
	f.StringVar(&o.At, "at", "", "which request: `N`, last, peak, end or event:K")
	f.BoolVar(&o.Full, "full", false, "fold nothing")
	f.IntSliceVar(&o.CompactAt, "compact-at", nil, "have the user ask for a compaction before request `N` (repeatable)")
	return cmd
}

func runView(sys *system, o *ViewOptions) error {
	if err := oneOf("--as", o.As, views); err != nil {
		return err
	}
	if o.At == "" {
		o.At = "end"
		if o.As == asModel || o.As == asPayload {
			o.At = "last"
		}
	}
	switch {
	case o.Policy != "":
	case o.As == asModel || o.As == asPayload:
		return fmt.Errorf("no policy: the %s view is what a policy leaves: name one with --policy", o.As)
	case o.As == asScrollback:
		o.Policy = "recorded"
	default:
		o.Policy = "none"
	}
	s, err := o.open(sys)
	if err != nil {
		return err
	}
	defer s.convs.close()
	return s.out.close(s.done(s.view(o)))
}

// opened is one conversation that a command looks into, under one policy.
type opened struct {
	*replaying
	convs *conversations
	conv  agentConversation
	pol   *policy.Policy
	rec   *replay.Record
	opt   replay.Options
}

// open reads the one conversation that the options name, and its policy.
func (o *ReplayOptions) open(sys *system) (*opened, error) {
	if err := o.checkCounter(); err != nil {
		return nil, err
	}
	choose, warnings, err := choosePolicy(sys, o)
	if err != nil {
		return nil, err
	}
	s := &opened{replaying: &replaying{sys: sys, o: o, choose: choose, msgs: &messages{w: sys.err, quiet: o.Quiet}}}
	for _, w := range warnings {
		s.msgs.warn(w)
	}
	if s.in, err = resolve(sys, o.Inputs, s.msgs.warn); err != nil {
		return nil, err
	}
	if n := len(s.in.list); n != 1 {
		return nil, fmt.Errorf("%d sessions: this command shows one: name it", n)
	}
	path := s.in.list[0].path
	if s.convs, err = s.in.list[0].load(sys.in, o.InputOptions, o.Jobs, s.msgs.warn); err != nil {
		return nil, err
	}
	if err = s.prepare(o); err != nil {
		s.convs.close()
		return nil, pathError(path, err)
	}
	return s, nil
}

func (s *opened) prepare(o *ReplayOptions) (err error) {
	if n := len(s.convs.list); n != 1 {
		return fmt.Errorf("%d conversations: this command shows one: name a subagent with --agent", n)
	}
	s.conv = s.convs.list[0]
	for _, w := range s.conv.conv.Warnings {
		s.msgs.warn(w)
	}
	if s.pol, err = s.choose(s.conv.conv.Version); err != nil {
		return err
	}
	o.encoders = &tokens.Encoders{Jobs: o.Jobs}
	s.opt = o.options()
	if s.rec, err = replay.NewRecordWith(s.conv.conv, o.encoders); err != nil {
		return err
	}
	s.out, err = o.create(s.sys, s.in.list)
	return err
}

// done adds to what became of the work that a file broke off.
func (s *opened) done(err error) error {
	for _, f := range s.convs.files {
		if err == nil && f.Stopped != nil {
			s.msgs.fail(pathError(f.Path, f.Stopped))
			return &partError{failed: 1, of: 2}
		}
	}
	return err
}

// at finds the request that a person names, under the policy at hand.
func (s *opened) at(flag, name string) (int, *replay.Timeline, error) {
	tl, err := s.rec.Replay(s.pol, s.opt)
	if err != nil {
		return 0, nil, err
	}
	n, err := tl.RequestAt(name)
	if err != nil {
		return 0, nil, fmt.Errorf("flag %s: %w", flag, err)
	}
	return n, tl, nil
}

func (s *opened) view(o *ViewOptions) error {
	n, tl, err := s.at("--at", o.At)
	if err != nil {
		return err
	}
	opt := report.Layout{Format: report.Format(o.Format), Color: o.useColor(s.sys), Hints: reportHints()}
	if o.As == asTranscript {
		return report.PrintTranscript(s.out, &report.Transcript{Conv: s.conv.conv, To: s.rec.LineAt(n)}, opt, o.Full)
	}
	v := &report.View{Conv: s.conv.conv, As: o.As, Request: n, Overhead: tl.OverheadAt(n)}
	switch o.As {
	case asModel, asPayload:
		v.Policy = s.pol.Name
		if v.View, err = s.rec.ViewAt(s.pol, s.opt, n); err != nil {
			return err
		}
	case asScrollback:
		v.Policy = s.pol.Name
		seen, err := s.rec.ViewAt(s.pol, s.opt, n)
		if err != nil {
			return err
		}
		v.Marks = diff.Marks(seen)
		fallthrough
	default:
		if v.View, err = s.rec.RawAt(s.opt, n); err != nil {
			return err
		}
	}
	if o.As == asPayload {
		v.Body, err = wire.Payload(v.View, s.pol)
	} else {
		v.Body, err = wire.Model(v.View)
	}
	if err != nil {
		return err
	}
	v.Body.Model, v.Body.MaxTokens = s.rec.ModelAt(s.opt, n)
	return report.PrintView(s.out, v, opt, o.Full)
}

// options are the replay's.
func (o *ReplayOptions) options() replay.Options {
	return replay.Options{
		Prices:  o.table,
		Counter: o.Counter, Model: o.Model, Window: int(o.Window), Overhead: int(o.Overhead), CompactAt: o.CompactAt, Regret: o.Regret,
		Encoders: o.encoders,
	}
}

func (o *ReplayOptions) checkCounter() error {
	return oneOf("--tokens", o.Counter, tokens.Names())
}
