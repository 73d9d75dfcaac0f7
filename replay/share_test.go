package replay_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/trace"
)

// A shared record's replays are those of one that is not, and is light, whatever was replayed on it before, and by however
// many at once.
func TestSharedRecord(t *testing.T) {
	files := slices.DeleteFunc(shippedFiles(t), func(path string) bool { return strings.Contains(path, "big") })
	if os.Getenv("CTXKIT_CORPUS") != "" && !testing.Short() {
		files = append(files, corpusFiles(t)[:12]...)
	}
	for _, path := range files {
		for _, conv := range load(t, path).Conversations() {
			compareShared(t, conv)
		}
	}
}

func compareShared(t *testing.T, conv *session.Conversation) {
	plain, err := replay.NewRecordWith(conv, replay.RecordOptions{Light: true})
	if err != nil {
		t.Fatal(err)
	}
	shared, err := replay.NewRecord(conv)
	if err != nil {
		t.Fatal(err)
	}
	shared.Share()
	type run struct {
		policy *policy.Policy
		opt    replay.Options
	}
	var runs []run
	for _, name := range presetNames(t) {
		for _, window := range []int{0, 20_000} {
			opt := replay.Options{Window: window, Regret: len(runs)%3 == 0}
			if len(runs)%5 == 4 {
				opt.Model = "gpt-5"
			}
			if len(runs)%4 == 3 {
				opt.Trace = &trace.Room{}
			}
			runs = append(runs, run{named(t, name), opt})
		}
	}
	want := make([]string, len(runs))
	for i, r := range runs {
		if want[i], err = told(plain, r.policy, r.opt, false); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for i, r := range runs {
				got, err := told(shared, r.policy, r.opt, true)
				if err != nil {
					t.Error(err)
					return
				}
				if i%7 == 6 {
					shared.Release()
				}
				if got != want[i] {
					t.Errorf("%s, policy %s, window %d: shared differs:\n%s", conv.Path, r.policy.Name, r.opt.Window, cmp.Diff(strings.Split(want[i], ","), strings.Split(got, ",")))
				}
			}
		})
	}
	all.Wait()
	a, err := plain.Edits()
	if err != nil {
		t.Fatal(err)
	}
	b, err := shared.Edits()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s: the edits of a light record are others", conv.Path)
	}
}

// told is a replay's timeline and every text its policy put in. With again its memory is used again.
func told(rec *replay.Record, pol *policy.Policy, opt replay.Options, again bool) (string, error) {
	var b strings.Builder
	edits := 0
	opt.Observe = func(n int, v *view.View) {
		for _, e := range v.Edits()[edits:] {
			for _, s := range slices.Concat(e.Insert, e.Tail) {
				for _, c := range s.Contents {
					fmt.Fprintf(&b, "%d %s %q\n", n, s.Label, c.Text)
				}
			}
		}
		edits = len(v.Edits())
	}
	var sent strings.Builder
	opt.Send = sends(&sent)
	tl, err := rec.Replay(pol, opt)
	if err != nil {
		return "", err
	}
	out, err := json.Marshal(tl)
	if err != nil {
		return "", err
	}
	brief, err := sameInBrief(rec, pol, opt, tl, sent.String())
	if err != nil {
		return "", err
	}
	if !again {
		if err := sameUnseen(rec, pol, opt, brief, sent.String()); err != nil {
			return "", err
		}
	}
	if again {
		if rec.Reuse(tl); tl.Requests.Len()+tl.Events.Len() > 0 {
			return "", fmt.Errorf("%d requests and %d events may still be read", tl.Requests.Len(), tl.Events.Len())
		}
	}
	return b.String() + sent.String() + string(out), nil
}

// sends writes each request that is sent.
func sends(b *strings.Builder) func(*replay.SentRequest) {
	return func(q *replay.SentRequest) {
		fmt.Fprintln(b, q.N, q.UUID, q.Kind, q.Model, q.Tokens, q.Payload, q.Cache, q.CostUSD, q.Events, q.Start, q.End)
	}
}

// sameInBrief holds that a brief replay is the same but for its requests, of which it gives the sizes, and for the messages
// that its events name. It returns the replay as JSON.
func sameInBrief(rec *replay.Record, pol *policy.Policy, opt replay.Options, tl *replay.Timeline, wantSent string) (all []byte, err error) {
	var sent strings.Builder
	var sizes []replay.MainSize
	opt.Observe, opt.Send = nil, sends(&sent)
	brief, err := rec.ReplayBrief(pol, opt, &sizes)
	if err != nil {
		return nil, err
	}
	if all, err = json.Marshal(brief); err != nil {
		return nil, err
	}
	if err := brief.CheckValid(); err != nil {
		return nil, err
	}
	if n := brief.Requests.Len(); (n > 0) != (opt.Regret || opt.Trace != nil) && tl.Requests.Len() > 0 || brief.Estimated() != tl.Estimated() || brief.Budget() != tl.Budget() {
		return nil, fmt.Errorf("a brief replay has %d requests, %v, %d", n, brief.Estimated(), brief.Budget())
	}
	same := *tl
	if !opt.Regret && opt.Trace == nil {
		brief.Requests, same.Events = tl.Requests, replay.EventList{}
		for _, ev := range tl.Events.All() {
			ev.Targets, ev.Kept = nil, nil
			same.Events.Add(ev)
		}
	}
	want, err := json.Marshal(&same)
	got, err2 := json.Marshal(brief)
	switch err := errors.Join(err, err2); {
	case err != nil:
		return nil, err
	case !bytes.Equal(got, want):
		return nil, fmt.Errorf("a brief replay differs:\n%s", cmp.Diff(strings.Split(string(want), ","), strings.Split(string(got), ",")))
	}
	if sent.String() != wantSent {
		return nil, fmt.Errorf("a brief replay sends other requests:\n%s", cmp.Diff(strings.Split(wantSent, "\n"), strings.Split(sent.String(), "\n")))
	}
	for payload, model := range tl.Requests.MainSizes() {
		if len(sizes) == 0 || sizes[0] != (replay.MainSize{Payload: payload, Model: model}) {
			return nil, fmt.Errorf("the sizes of main requests from %d, %d on are %v", payload, model, sizes)
		}
		sizes = sizes[1:]
	}
	if len(sizes) > 0 {
		return nil, fmt.Errorf("there are %d sizes of main requests too many", len(sizes))
	}
	return all, nil
}

// sameUnseen holds that a brief replay is the same whose requests nobody sees, and that one for its views sends the same.
func sameUnseen(rec *replay.Record, pol *policy.Policy, opt replay.Options, brief []byte, wantSent string) error {
	opt.Observe, opt.Send = nil, nil
	alone, err := rec.ReplayBrief(pol, opt, new([]replay.MainSize))
	if err != nil {
		return err
	}
	got, err := json.Marshal(alone)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, brief) {
		return fmt.Errorf("a brief replay whose requests nobody sees differs:\n%s", cmp.Diff(string(brief), string(got)))
	}
	var viewed strings.Builder
	opt.Send = sends(&viewed)
	views := 0
	if err := rec.EachView(pol, opt, func(n int, v *view.View) bool { views++; return n == views }); err != nil {
		return err
	}
	if viewed.String() != wantSent || views != len(rec.Conv.Requests)+1 {
		return fmt.Errorf("views of %d of %d requests, with others sent:\n%s", views, len(rec.Conv.Requests), cmp.Diff(strings.Split(wantSent, "\n"), strings.Split(viewed.String(), "\n")))
	}
	return nil
}
