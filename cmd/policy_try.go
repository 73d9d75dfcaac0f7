package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/jsonl/synth"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/diff"
	"github.com/ctxkit/ctxkit/replay/tokens"
	"github.com/ctxkit/ctxkit/report"
)

// policyTestOptions are the options of `ctxkit policy test`.
type policyTestOptions struct {
	Inputs []string
	policyOptions
	inputOptions
	outputOptions
}

func newPolicyTest(sys *system) *cobra.Command {
	o := &policyTestOptions{}
	return command(&cobra.Command{
		Use: "test NAME|FILE [INPUT...]", Short: "Check that a policy keeps the rules and is deterministic",
		Long: `Replay sessions under a policy twice and check what a policy has to keep: the
rules of the API, among them that calls and results stay together, and the same
result in both runs. It says how long a request took. A program that the policy
names is asked as in a replay.

Without inputs the sessions are synthetic ones that are built in.`,
		Example: "  ctxkit policy test my-policy.yaml --allow-programs",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%s takes a policy and sessions: name a file, or one of %s", cmd.CommandPath(), strings.Join(sys.presets.Known(), ", "))
			}
			o.Policy = args[0]
			o.Inputs = args[1:]
			return nil
		},
	}, func() error { return runPolicyTest(sys, o) }, own(&o.policyOptions), &o.inputOptions, newPriceOptions(sys), own(&o.outputOptions, "output", "quiet", "verbose"))
}

// trial is what two replays of a session under a policy showed.
type trial struct {
	session  string
	policy   *policy.Policy
	requests int
	events   int
	broken   []string // rules, with the first request
	pairs    int      // of broken
	differs  string   // the first difference of the second run; empty: none
	took     time.Duration
}

// tryPolicy replays a record twice.
func tryPolicy(sys *system, rec *replay.Record, choose policyChoice) (trial, error) {
	t := trial{session: rec.Conv.Path}
	pol, err := choose(preset.ClientOf(rec.Conv))
	if err != nil {
		return t, err
	}
	t.policy = pol
	var runs [2][]byte
	var texts [2]bytes.Buffer // what the edits put, which a timeline has only the size of
	for i := range runs {
		begin := sys.now()
		edits := 0
		lines := json.NewEncoder(&texts[i])
		var unwritten error
		tl, err := rec.Replay(pol, replay.Options{Observe: func(_ int, v *view.View) {
			list := diff.Edits(v, edits)
			edits += len(list)
			unwritten = cmp.Or(unwritten, lines.Encode(list))
		}})
		err = cmp.Or(err, unwritten)
		if err == nil {
			err = tl.CheckValid()
		}
		if err != nil {
			return t, err
		}
		t.took = max(t.took, sys.now().Sub(begin))
		if runs[i], err = json.Marshal(tl); err != nil {
			return t, err
		}
		if i > 0 {
			continue
		}
		t.requests = tl.Totals.Requests
		t.events = len(tl.Events)
		for _, f := range tl.Findings {
			if f.Kind != replay.FindingViolation {
				continue
			}
			t.broken = append(t.broken, fmt.Sprintf("%s: request %d: %s: %s", t.session, f.Request, f.Rule, f.Text))
			if f.Rule == view.ResultFollowsUse || f.Rule == view.UseHasResult {
				t.pairs++
			}
		}
	}
	switch {
	case !bytes.Equal(runs[0], runs[1]):
		t.differs = t.session + ": " + firstDifference(runs[0], runs[1])
	case !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()):
		t.differs = t.session + ": an edit has another text in the second run"
	}
	return t, nil
}

// firstDifference says where two replays of a session differ first.
func firstDifference(a, b []byte) string {
	var first, second replay.Timeline
	if json.Unmarshal(a, &first) == nil && json.Unmarshal(b, &second) == nil {
		for i := range min(len(first.Requests), len(second.Requests)) {
			if q, r := first.Requests[i], second.Requests[i]; q.Tokens != r.Tokens {
				return fmt.Sprintf("request %d sends %d tokens, and %d in the second run", q.N, q.Tokens, r.Tokens)
			}
		}
		if n, m := len(first.Events), len(second.Events); n != m {
			return fmt.Sprintf("%d events, and %d in the second run", n, m)
		}
	}
	return "the two runs differ"
}

// testSessions are the sessions that policies are tried on where none is named.
func testSessions() (list []synth.SessionOptions) {
	list = append(list, demoSession())
	for i, version := range []string{"1.0.17", "2.0.22", "2.1.19", "2.1.77", "2.1.139", "2.1.239"} {
		o := synth.Default()
		o.Seed = uint64(i + 1)
		o.Requests = 40
		o.Version = version
		o.Subagents, o.Offloads = 0, 0 // they would be in files of their own
		list = append(list, o)
	}
	return list
}

// tryBuiltIn tries a policy on sessions that are built in.
func tryBuiltIn(sys *system, choose policyChoice) (list []trial, err error) {
	for _, opt := range testSessions() {
		var text bytes.Buffer
		if _, err := synth.Generate(&text, opt); err != nil {
			return nil, err
		}
		name := fmt.Sprintf("synthetic session %d of %s", opt.Seed, opt.Version)
		file, err := session.LoadReader(name, &text, session.LoadOptions{})
		if err != nil {
			return nil, err
		}
		rec, err := newRecord(sys, file.Main, &tokens.Encoders{})
		if err == nil {
			var t trial
			if t, err = tryPolicy(sys, rec, choose); err == nil {
				list = append(list, t)
			}
		}
		file.Close()
		if err != nil {
			return nil, pathError(name, err)
		}
	}
	return list, nil
}

func runPolicyTest(sys *system, o *policyTestOptions) error {
	choose, err := choosePolicy(sys, &replayOptions{policyOptions: o.policyOptions}, o.messages(sys).warn)
	if err != nil {
		return err
	}
	if len(o.Inputs) == 0 {
		list, err := tryBuiltIn(sys, choose)
		if err != nil {
			return err
		}
		if err := o.print(sys, func(w io.Writer, _ report.Layout) error { return printTrials(w, o.Policy, list, nil) }); err != nil {
			return err
		}
		return trialsError(list)
	}
	j, err := start(sys, o.Inputs, o.inputOptions, &o.outputOptions)
	if err != nil {
		return err
	}
	l := j.loop("tried")
	l.unread = true
	l.assumed = &replay.Options{}
	list, failed, err := collect(l, func(c agentConversation) (trial, error) { return tryPolicy(sys, c.rec, choose) })
	if err := j.finish(failed, err, len(list), func() error { return printTrials(j.out, o.Policy, list, failed) }); err != nil {
		return err
	}
	return trialsError(list)
}

// outcome counts what trials showed.
func outcome(list []trial) (broken, pairs, differ int) {
	for _, t := range list {
		broken += len(t.broken)
		pairs += t.pairs
		if t.differs != "" {
			differ++
		}
	}
	return broken, pairs, differ
}

func trialsError(list []trial) error {
	if broken, _, differ := outcome(list); broken+differ > 0 {
		return fmt.Errorf("%w: broken rules: %d, another result in the second run: %d", errCheckFailed, broken, differ)
	}
	return nil
}

func sessionsText(n int) string {
	if n == 1 {
		return "1 session"
	}
	return strconv.Itoa(n) + " sessions"
}

// shownTrials is how many broken rules, and how many differences, are listed.
const shownTrials = 5

// printTrials prints what trials showed, the verdict first.
func printTrials(w io.Writer, name string, list []trial, failed error) error {
	broken, pairs, differ := outcome(list)
	var requests, events int
	var took time.Duration
	var ran []*policy.Policy
	for _, t := range list {
		ran = append(ran, t.policy)
		requests += t.requests
		events += t.events
		took += t.took
	}
	verdict := "holds"
	switch {
	case broken+differ > 0:
		verdict = "does not hold"
	case failed != nil:
		verdict = "is not shown to hold"
	}
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s %s: %s, %d requests, %d events\n", report.Clean(name), verdict, sessionsText(len(list)), requests, events)
	use := policy.NewUse(name, ran)
	if text := report.RanText(&use, true); text != "" {
		fmt.Fprintln(out, report.Clean(text))
	}
	line := func(what string, n int, good, bad string) {
		if n > 0 {
			good = fmt.Sprintf(bad, n)
		}
		fmt.Fprintf(out, "%-12s %s\n", what, good)
	}
	if failed != nil {
		fmt.Fprintf(out, "%-12s %s: standard error says why\n", "failed", failed)
	}
	line("rules", broken, "kept", "%d broken")
	line("pairs", pairs, "whole", "%d halves")
	line("determinism", differ, "the same in two runs", "another result in the second run of %d of "+sessionsText(len(list)))
	fmt.Fprintf(out, "%-12s %.2f ms a request, programs included\n", "speed", float64(took.Microseconds())/1000/float64(max(requests, 1)))
	if events == 0 {
		these := "these sessions"
		if len(list) == 1 {
			these = "this session"
		}
		fmt.Fprintf(out, "It changed nothing in %s: try it on some of your own, too.\n", these)
	}
	rows := 0
	for _, t := range list {
		for _, text := range t.broken {
			if rows++; rows <= shownTrials {
				fmt.Fprintln(out, "- "+report.Clean(text))
			}
		}
	}
	if rows > shownTrials {
		fmt.Fprintf(out, "- and %d more\n", rows-shownTrials)
	}
	for _, t := range list {
		if t.differs != "" {
			fmt.Fprintln(out, "- "+report.Clean(t.differs))
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}
