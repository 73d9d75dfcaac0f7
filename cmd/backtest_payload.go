package cmd

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/payloads"
	"github.com/ctxkit/ctxkit/report"
)

var errNoneSent = errors.New("no input holds recorded requests that can be rebuilt, and none of --requests belongs to an input: name a file of request bodies with --requests")

// notOfPayload are the flags of a backtest that comparing requests has no use for.
var notOfPayload = []string{"policy", "set", envFlag, "model", "window", "tokens", "overhead", "least", "by", "explain", "no-fit", "counters", "fit"}

// checkPayload checks the flags that --payload needs or is needed by.
func (o *backtestOptions) checkPayload(given func(name string) bool) error {
	if !o.Payload {
		if given("requests") {
			return errors.New("flag --requests: has an effect with --payload only: add --payload")
		}
		return nil
	}
	for _, name := range notOfPayload {
		if given(name) {
			return fmt.Errorf("flag --%s: has no effect on --payload, which compares requests: leave one out", name)
		}
	}
	if len(o.Bars) > 0 && !o.Strict {
		return errors.New("flag --bar: has an effect with --strict only: add --strict")
	}
	return nil
}

// sent reads the requests of --requests, nil without it.
func (o *backtestOptions) sent(sys *system) ([]payloads.TrueRequest, payloads.SkippedLines, error) {
	var none payloads.SkippedLines
	if o.Sent == "" {
		return nil, none, nil
	}
	sys.files.reads(roleSent, o.Sent)
	file, err := os.Open(o.Sent)
	if err != nil {
		return nil, none, pathError(o.Sent, err)
	}
	defer file.Close()
	content, _, free, err := jsonl.Unpack(file)
	if err != nil {
		return nil, none, pathError(o.Sent, err)
	}
	defer free()
	list, skipped, err := payloads.ReadTrue(o.Sent, content)
	if err == nil && len(list) == 0 {
		err = pathError(o.Sent, errors.New("no request body in it"))
	}
	return list, skipped, err
}

// scorePayloads compares requests with those that were sent.
func (o *backtestOptions) scorePayloads(sys *system) error {
	bars, err := o.bars(payloads.MeasureNames())
	if err != nil {
		return err
	}
	list, skipped, err := o.sent(sys)
	if err != nil {
		return err
	}
	j, err := start(sys, o.Inputs, o.inputOptions, &o.outputOptions)
	if err != nil {
		return err
	}
	if skipped.Lines > 0 {
		j.msgs.warn(session.Warning{File: o.Sent, Line: skipped.First, Message: fmt.Sprintf("%v: the line is skipped (%d such in the file, of %d)", skipped.Why, skipped.Lines, skipped.Lines+len(list))})
	}
	var sessions []*payloads.ConversationScore
	return scoreEach(j, "compared", errNoneSent, func(c agentConversation) (*payloads.ConversationScore, error) {
		log, err := requestsOf(c.conv)
		if err != nil {
			return nil, err
		}
		s, err := payloads.Score(c.rec, log, list)
		if err == nil {
			s.Agent = c.name()
		}
		return s, err
	}, func(s *payloads.ConversationScore) int {
		if len(s.Results) > 0 || s.Record.Requests > 0 {
			sessions = append(sessions, s)
		}
		return len(s.Results)
	}, func(failed error) error {
		result := payloads.Sum(sessions, list)
		var judged []backtest.Bar
		var low failedBars
		for _, m := range result.Measures() {
			if bar, ok := bars[m.Name]; ok {
				m.Bar = bar
			}
			holds := m.Percent() >= m.Bar
			if o.Strict {
				judged = append(judged, backtest.Bar{Name: m.Name, About: m.About, Value: m.Percent(), Of: m.Of, Bar: m.Bar, Holds: holds})
			}
			if !holds {
				low = append(low, fmt.Sprintf("%v: %s is %.2f %% (%d of %d), want at least %v %%: --format json lists every block that differs, --bar sets another bar", errCheckFailed, m.Name, m.Percent(), m.Had, m.Of, m.Bar))
			}
		}
		if err := report.Payloads(j.out, result, judged, o.report(sys)); err != nil || failed != nil || !o.Strict {
			return err
		}
		if low == nil {
			return nil
		}
		return low
	})
}

// failedBars are the measures below their bars, one a line.
type failedBars []string

func (f failedBars) Error() string { return strings.Join(f, "; ") }

func (f failedBars) Is(target error) bool { return target == errCheckFailed }
