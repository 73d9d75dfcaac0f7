package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/replay/diff"
	"github.com/ctxkit/ctxkit/replay/wire"
	"github.com/ctxkit/ctxkit/report"
)

// ViewOptions are the options of `ctxkit view`.
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
  raw          the whole history, nothing compacted: offloaded results read
               back, recorded summaries left out
  model        what the policy leaves of it for the model
  payload      the same as it is sent: with cache breakpoints, cache edits and
               the server's own edits
  scrollback   what a person sees in the terminal: raw, with a mark at each
               compaction (by --policy; default: as recorded)

--at is a request's number, last, peak (the largest payload), end (after the
last request) or event:K (event K of ` + "`ctxkit replay`" + `). Model and payload
default to last, the others to end.

--format json is a request body for the Messages API. Transcripts hold neither
system prompt nor tools, so the body has none.`

func newView(sys *system) *cobra.Command {
	o := &ViewOptions{}
	cmd := command(&cobra.Command{
		Use: "view INPUT", Short: "Show the history at one request: transcript, raw, model, payload or scrollback",
		Long: longView, Args: arguments(&o.Inputs),
		Example: `  ctxkit view session.jsonl --as model --policy opencode --at peak
  ctxkit view session.jsonl --as payload -p claude-code --at 120 -f json -o body.json
  ctxkit view session.jsonl --as scrollback --full | less -R`,
	}, func() error { return runView(sys, o) }, o.shared(sys, o.with(report.ViewFormats))...)
	f := cmd.Flags()
	f.StringVar(&o.As, "as", asModel, "which `VIEW`: transcript, raw, model, payload or scrollback")
	f.StringVar(&o.At, "at", "", "which request: `N`, last, peak, end or event:K")
	f.BoolVar(&o.Full, "full", false, "show long texts in full")
	o.compactAt(cmd)
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
		return fmt.Errorf("no policy: the %s view depends on one: name it with --policy", o.As)
	case o.As == asScrollback:
		o.Policy = "recorded"
	default:
		o.Policy = "none"
	}
	s, err := o.open(sys)
	if err != nil {
		return err
	}
	return s.close(s.view(o))
}

func (s *opened) view(o *ViewOptions) error {
	n, tl, err := s.at("--at", o.At)
	if err != nil {
		return err
	}
	opt := o.report(s.sys)
	opt.Full = o.Full
	if o.As == asTranscript {
		return report.PrintTranscript(s.out, &report.Transcript{Conv: s.conv.conv, To: s.conv.rec.LineAt(n)}, opt)
	}
	v := &report.NamedView{Conv: s.conv.conv, As: o.As, Request: n, Overhead: tl.OverheadAt(n)}
	if o.As != asRaw {
		v.Policy = s.pol.Name
		if v.View, err = s.conv.rec.ViewAt(s.pol, s.opt, n); err != nil {
			return err
		}
	}
	if o.As == asScrollback {
		v.Marks = diff.Marks(v.View)
	}
	if o.As == asRaw || o.As == asScrollback {
		if v.View, err = s.conv.rec.ViewAt(nil, s.opt, n); err != nil {
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
	v.Body.Model, v.Body.MaxTokens = s.conv.rec.ModelAt(s.opt, n)
	return report.PrintView(s.out, v, opt)
}
