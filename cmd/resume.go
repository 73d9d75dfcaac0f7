package cmd

import (
	"cmp"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/report"
)

func newResume(sys *system) *cobra.Command {
	o := &sessionsOptions{inputOptions: inputOptions{Agent: "all"}}
	return command(&cobra.Command{
		Use: "resume [INPUT...]", Short: "Show what continuing each session now would cost",
		Args: arguments(&o.Inputs),
		Long: `Show what the next request of each session would send and cost now, the last
used session first: whether the prompt cache still holds the context, what the
request costs if it does and if it does not, what it would cost after a
compaction, its summarization request included, and after how many requests the
compaction has paid for itself.

A cache is warm while it lives, counted from the last response, and if the
client still runs: one that is started again mostly sends another system prompt,
and nothing behind that is read. What would be typed and answered is not in the
costs.

Inputs are as elsewhere; default: all sessions of the default folders. Filters
and --sort are those of ctxkit sessions.`,
		Example: `  ctxkit resume --since 2d
  ctxkit resume last
  ctxkit resume --project harbor --sort last -f json`,
	}, func() error { return runResume(sys, o) }, o.listing(report.ListFormats, report.ResumeTables...), own(&o.inputOptions, "jobs"), newPriceOptions(sys), &o.sessionFilter)
}

func runResume(sys *system, o *sessionsOptions) error {
	l, err := o.list(sys, report.MostResumed, func(msgs *messages, failed func(error)) ([]session.FileInfo, error) {
		return o.sessions(sys, msgs, failed)
	})
	if err != nil {
		return err
	}
	next := make([]report.ResumeItem, len(l.items))
	fail := l.fail
	shown := min(l.shown, len(next))
	for i := range l.items {
		next[i].SessionItem = l.items[i]
	}
	encoders := &tokens.Encoders{Jobs: 1}
	progress := newProgress(sys, o.Quiet, "continued", shown)
	defer progress.clear()
	type continued struct {
		*replay.Continuation
		assumed []session.Warning
	}
	err = inOrder(shown, o.Jobs, func(i int) (one continued, err error) {
		path := next[i].Path
		if path == "" || next[i].Glance == nil {
			return one, nil // it was said why
		}
		convs, err := load(sys, path, inputOptions{Agent: "main"}, 1, func(...session.Warning) {})
		if err != nil {
			return one, err
		}
		defer convs.close()
		if conv := convs.list[0].conv; len(conv.Requests) == 0 && foreignConversation(conv) {
			return one, errNoRequest
		}
		rec, err := newRecord(sys, convs.list[0].conv, encoders)
		if err != nil {
			return one, pathError(path, err)
		}
		var pol *policy.Policy
		if product := rec.Conv.Product; len(sys.presets.Releases(product)) > 0 {
			if pol, err = sys.presets.LoadFor(product, preset.ClientOf(rec.Conv)); err != nil {
				return one, err
			}
		}
		one.assumed = assumed(rec, replay.Options{})
		one.Continuation, err = rec.Continue(pol, replay.Options{}, o.now)
		return one, err
	}, func(i int, c continued, err error) error {
		progress.step()
		next[i].Next = c.Continuation
		l.warn(c.assumed...)
		switch {
		case errors.Is(err, errNoRequest) && len(o.Inputs) == 0: // the list says that there is nothing to go on from
		case errors.Is(err, errNoRequest):
			next[i].Glance = nil
			fail(pathError(next[i].Path, err))
		case err != nil:
			fail(err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var partly error
	if l.refused > 0 {
		unread := func(i report.ResumeItem) bool { return i.Path != "" && i.Glance == nil }
		if next = slices.Concat(slices.DeleteFunc(slices.Clone(next[:shown]), unread), next[shown:]); len(next) == 0 {
			return &partError{failed: l.refused}
		}
		partly = &partError{failed: l.refused, usable: true}
	}
	return cmp.Or(show(sys, &o.outputOptions, report.Resume, next), partly)
}

// sessions finds the sessions that the arguments name: all of the default folders where there are none.
func (o *sessionsOptions) sessions(sys *system, msgs *messages, failed func(error)) ([]session.FileInfo, error) {
	if len(o.Inputs) == 0 {
		return findSessions(sys, nil, o.Quiet, msgs, failed)
	}
	in, err := resolve(sys, o.Inputs, msgs.warn)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(in.list, func(path string) bool {
		err := in.broken[path]
		if err != nil {
			failed(err)
		}
		return err != nil
	})
	return describe(sys, list), nil
}
