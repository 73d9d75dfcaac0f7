package cmd

import (
	"io"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/report"
)

// eachUnder does work on each conversation under the policy that is chosen for it, and hands the results to use: see
// eachConversation.
func eachUnder[T any](r *replays, loop *conversationLoop, work func(agentConversation, *policy.Policy) (T, error), use func(T) error) (failed, err error) {
	type result struct {
		v   T
		pol *policy.Policy
	}
	return eachConversation(loop, func(c agentConversation) (one result, err error) {
		if one.pol, err = r.choose(preset.ClientOf(c.conv)); err == nil {
			one.v, err = work(c, one.pol)
		}
		return one, err
	}, func(one result) error {
		r.ran = append(r.ran, one.pol)
		return use(one.v)
	})
}

// analyzer works out what a report says of one conversation under a policy.
type analyzer[T any] func(r *replays, c agentConversation, pol *policy.Policy, warn func(...session.Warning)) (T, error)

// analyze prints a report of all conversations.
func analyze[T any](sys *system, o *replayOptions, verb string, work analyzer[T], print func(io.Writer, []T, policy.Use, report.Layout) error) error {
	r, err := o.begin(sys)
	if err != nil {
		return err
	}
	type result struct {
		v        T
		warnings []session.Warning
	}
	loop := r.loop(verb)
	loop.billed = true
	var list []T
	failed, err := eachUnder(r, loop, func(c agentConversation, pol *policy.Policy) (one result, err error) {
		one.v, err = work(r, c, pol, func(list ...session.Warning) { one.warnings = append(one.warnings, list...) })
		return one, err
	}, func(one result) error {
		loop.warn(one.warnings...)
		list = append(list, one.v)
		return nil
	})
	return r.finish(failed, err, len(list), func() error { return print(r.out, list, r.use(), o.report(sys)) })
}
