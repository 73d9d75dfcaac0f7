package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/cmd/internal/explore"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/diff"
	"github.com/ctxkit/ctxkit/replay/payloads"
	"github.com/ctxkit/ctxkit/replay/stats"
	"github.com/ctxkit/ctxkit/replay/wire"
	"github.com/ctxkit/ctxkit/report"
)

// viewOptions are the options of `ctxkit view`.
type viewOptions struct {
	replayOptions
	As      string `flag:"as" usage:"which <VIEW>: transcript, raw, model, payload, scrollback, session or summary-request" default:"model"`
	At      string `flag:"at" usage:"which request: <N>, last, peak, end or event:K" values:"last,peak,end"` // "": last, or end for the views of the whole session
	Full    bool   `flag:"full" usage:"show long texts in full"`
	Find    string `flag:"find" usage:"list the blocks of the session that contain <TEXT>, in any case, those that the policy made too"`
	Classes bool   `flag:"classes" usage:"say of each tool result of the model and payload views whether it is fresh, frozen or must_reapply (JSON: results)"`
}

// The views.
const (
	asTranscript = "transcript"
	asRaw        = "raw"
	asModel      = "model"
	asPayload    = "payload"
	asScrollback = "scrollback"
	asSummary    = "summary-request"
	asSession    = "session"
)

var views = []string{asModel, asPayload, asRaw, asScrollback, asSession, asTranscript, asSummary}

const longView = `Show one session at one request, as one of seven views:

  transcript   the file as it was appended to, metadata lines included
  raw          the whole history, nothing compacted: offloaded results read
               back, recorded summaries left out
  model        what the policy leaves of it for the model
  payload      the same as it is sent: with cache breakpoints, cache edits and
               the server's own edits
  scrollback   what a person sees in the terminal: raw, with a mark at each
               compaction and restart
  summary-request  what a call of the policy's own is sent, such as that for
               the summary of a compaction: the messages and the prompt, also
               where it is refused. Only stages that know the messages have it.
               Sessions do not, so recorded stands for the client's own policy.
               --at event:K is the event with the call; a request's number the
               first call before it; default: the last call
  session      the payload as a session file: the agent goes on from it, with
               what the policy leaves of its history. -o is a file or a folder

--at is a request's number, last, peak (the largest payload), end (after the
last request) or event:K (event K of ` + "`ctxkit replay`" + `). Model and payload
default to last, the others to end.

--format json is a request body for the Messages API. Most transcripts hold
neither system prompt nor tools, so the body has none. Where the file holds the
requests that were sent (Claude Code 2.1.282 and later), payload with --policy
recorded is the request itself, with its parameters, system prompt and tools,
and with another policy it is that request with the policy's edits. Messages
that the request no longer had are rebuilt, as are those that the policy
changed; the client's words next to a message that the policy took away go
with it.`

func newView(sys *system) *cobra.Command {
	o := &viewOptions{}
	cmd := command(&cobra.Command{
		Use: "view INPUT", Short: "Show the history at one request: raw, as sent, as a person sees it",
		Long: longView, Args: arguments(&o.Inputs),
		Example: `  ctxkit view session.jsonl --as model --policy opencode --at peak
  ctxkit view session.jsonl --as payload -p claude-code --at 120 -f json
  ctxkit view session.jsonl --as summary-request -p opencode --at event:0
  ctxkit view session.jsonl --as scrollback --full | less -R
  ctxkit view session.jsonl --as session -p opencode -o next.jsonl`,
	}, func() error { return runView(sys, o) }, append(o.shared(sys, o.with(report.ViewFormats)), own(o))...)
	complete(cmd, "as", views)
	o.compactAt(cmd)
	return cmd
}

func runView(sys *system, o *viewOptions) error {
	if err := oneOf("--as", o.As, views); err != nil {
		return err
	}
	if o.At == "" && o.As != asSummary {
		o.At = "end"
		if o.As == asModel || o.As == asPayload {
			o.At = "last"
		}
	}
	if o.Classes && o.As != asModel && o.As != asPayload {
		return fmt.Errorf("flag --classes: the %s view has no classes: leave it out, or take --as model or payload", o.As)
	}
	if o.Find != "" && o.Format != string(report.FormatText) {
		return errors.New("flag --find: the list of blocks is text: leave out --format")
	}
	if o.As == asSession {
		return runSession(sys, o)
	}
	if o.As == asSummary && o.Policy == preset.Recorded {
		o.Policy = ownPolicy(sys, o.Inputs) // a session has no summary request
	}
	s, err := o.open(sys)
	if err != nil {
		return err
	}
	return s.close(s.view(o))
}

func (s *opened) view(o *viewOptions) error {
	if err := s.asked(); err != nil {
		return err
	}
	if o.As == asSummary {
		return s.viewRequest(o)
	}
	n, tl, err := s.at("--at", o.At)
	if err != nil {
		return err
	}
	opt := o.report(s.sys)
	opt.Full = o.Full
	if o.Find != "" {
		list, err := explore.Search(s.conv.conv, o.Find, func(int, int) error { return nil }, func() (*view.View, error) {
			return s.conv.rec.ViewAt(s.pol, s.opt, len(s.conv.conv.Requests)+1)
		})
		if err != nil {
			return err
		}
		return report.Found(s.out, list, opt)
	}
	if o.As == asTranscript {
		return report.PrintTranscript(s.out, &report.Transcript{Conv: s.conv.conv, To: s.conv.rec.LineAt(n)}, opt)
	}
	v := &report.NamedView{Conv: s.conv.conv, As: o.As, Request: n, Overhead: tl.OverheadAt(n), System: stats.SystemAt(s.conv.conv, tl, n)}
	if o.As != asRaw {
		v.Policy = s.pol.Name
		v.Chosen = s.pol.Chosen
		v.Truth = s.pol.Truth
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
	if o.As == asModel || o.As == asPayload {
		s.warnOf(tl, n, v.View)
	}
	if o.As == asPayload {
		v.Body, err = wire.RequestBody(v.View, s.pol)
	} else {
		v.Body, err = wire.Model(v.View)
	}
	if err != nil {
		return err
	}
	v.Body.Model, v.Body.MaxTokens = s.conv.rec.ModelAt(s.opt, n)
	if o.As == asPayload {
		if v.Record, err = s.onRecord(n, tl); err == nil && v.Record != nil && v.Record.Body != nil && (!s.pol.Recorded || o.Classes) {
			v.Record.Edited = true
			err = s.frame(v, n)
		}
		if err != nil {
			return err
		}
	}
	if o.Classes {
		v.Classes = append([]diff.Classed{}, diff.Classes(v.View, s.pol, n)...)
	}
	return report.PrintView(s.out, v, opt)
}

// frame puts what the policy changes into the request on record.
func (s *opened) frame(v *report.NamedView, n int) error {
	track := replay.RecordedTrack()
	of, err := s.conv.rec.ViewAt(track, replay.Options{}, n)
	if err != nil {
		return err
	}
	rebuilt, err := wire.RequestBody(of, track)
	if err != nil {
		return err
	}
	rebuilt.Model, rebuilt.MaxTokens = s.conv.rec.ModelAt(replay.Options{}, n)
	payloads.Framed(v.Record.Body, rebuilt, v.Body)
	return nil
}

// warnOf warns of the findings about the view that is sent at a request.
func (s *opened) warnOf(tl *replay.Timeline, n int, v *view.View) {
	if n > len(s.conv.conv.Requests) {
		return
	}
	for _, f := range tl.FindingsAt(n, v) {
		s.msgs.warn(session.Warning{File: s.conv.conv.Path, Line: f.Line, Message: f.String()})
	}
}

// viewRequest shows the request of a call that the policy makes itself.
func (s *opened) viewRequest(o *viewOptions) error {
	tl, err := s.conv.rec.Replay(s.pol, s.opt)
	if err != nil {
		return err
	}
	k, err := callEvent(tl, o.At)
	if err != nil {
		return fmt.Errorf("flag --at: %w", err)
	}
	q, err := s.conv.rec.RequestOf(s.pol, s.opt, k)
	var unseen *replay.UnseenError
	switch {
	case errors.As(err, &unseen):
		return fmt.Errorf("%w: policies whose requests can be seen: %s", err, strings.Join(requesters(s.sys.presets), ", "))
	case err != nil:
		return fmt.Errorf("flag --at: %w: %s", err, callEvents(tl))
	}
	asked := q.View.Edits()[len(q.View.Edits())-1]
	v := &report.NamedView{Conv: s.conv.conv, As: o.As, Policy: s.pol.Name, Chosen: s.pol.Chosen, Truth: s.pol.Truth, Request: asked.Request, Overhead: q.Overhead, View: q.View, Own: q}
	if v.Body, err = wire.Model(q.View); err != nil {
		return err
	}
	v.Body.Drop(q.Without)
	marked := len(v.Body.Messages)
	if q.Call.Prefix == "session" { // which is cached up to the message with the prompt (requests of Claude Code 2.1.86 to 2.1.332)
		marked = v.Body.IndexOf(asked.Insert[0].ID)
	}
	v.Body.Mark(q.View, s.pol, marked)
	v.Body.System = q.System
	v.Body.Model, v.Body.MaxTokens = s.conv.rec.ModelAt(s.opt, asked.Request)
	if q.Output > 0 {
		v.Body.MaxTokens = q.Output
	}
	opt := o.report(s.sys)
	opt.Full = o.Full
	return report.PrintView(s.out, v, opt)
}

// callEvent is the event with a call that --at names.
func callEvent(tl *replay.Timeline, at string) (int, error) {
	n := 0
	if k, isEvent := strings.CutPrefix(at, "event:"); isEvent {
		if _, err := tl.RequestAt(at); err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimPrefix(k, "#"))
	}
	if at != "" {
		var err error
		if n, err = tl.RequestAt(at); err != nil {
			return 0, err
		}
	}
	k, ok := tl.CallEvent(n)
	if !ok && n > 0 {
		return 0, fmt.Errorf("the policy makes no call of its own before request %d: %s", n, callEvents(tl))
	}
	if !ok {
		return 0, errors.New(callEvents(tl))
	}
	return k, nil
}

// callEvents says which events have a call.
func callEvents(tl *replay.Timeline) string {
	var list []string
	for _, k := range tl.CallEvents() {
		if len(list) < 8 {
			list = append(list, fmt.Sprintf("event:%d", k))
		}
	}
	if len(list) == 0 {
		return "policy " + tl.Policy + " makes no call of its own in this session"
	}
	return "calls are made by " + strings.Join(list, ", ")
}

// requesters lists the policies with a stage that knows what its calls are sent, releases by their product's name.
func requesters(presets *preset.Library) []string {
	var list []string
	for _, name := range presets.Names() {
		p, err := presets.Load(name)
		if err != nil {
			continue // a built-in policy is read without an error: a test reads all
		}
		for _, s := range p.Stages {
			if stage, err := s.Definition.New(s.Params); err == nil {
				if _, ok := stage.(policy.Requester); ok {
					list = append(list, cmp.Or(p.Product, p.Name))
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
