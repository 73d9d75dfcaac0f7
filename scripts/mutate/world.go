package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/check"
)

// shipped is the check that mutants are held against.
const shipped = "testdata/check/ctxkit.yaml"

// world is the shipped check, read: its cases and its sessions.
type world struct {
	config   *check.Config
	policies []*policy.Policy // by case, as they are without a mutation; nil where the session decides
	sessions []loaded
}

type loaded struct {
	name string
	rec  *replay.Record
	file *session.File
}

// outcome is one replay: what the check judges, and a digest of its whole
// events, words left out, by which it is decided whether any event changed.
type outcome struct {
	check.Result
	whole string
}

func load(root string) (*world, error) {
	file := filepath.Join(root, filepath.FromSlash(shipped))
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	w := &world{}
	if w.config, err = check.Decode(shipped, text); err != nil {
		return nil, err
	}
	if w.policies, err = w.read(); err != nil {
		return nil, err
	}
	for _, pattern := range w.config.Sessions {
		names, err := check.Files(filepath.Dir(file), pattern.Text)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			f, err := session.Load(filepath.Join(filepath.Dir(file), filepath.FromSlash(name)), session.LoadOptions{Jobs: 1})
			if err != nil {
				return nil, err
			}
			w.sessions = append(w.sessions, loaded{name: name, file: f})
		}
	}
	return w, w.record()
}

// record makes the sessions' records, which stages have a part in, anew.
func (w *world) record() error {
	for i := range w.sessions {
		rec, err := replay.NewRecord(w.sessions[i].file.Main)
		if err != nil {
			return err
		}
		w.sessions[i].rec = rec
	}
	return nil
}

// read reads the policies of all cases.
func (w *world) read() ([]*policy.Policy, error) {
	reg, err := policy.NewRegistry(stage.All())
	if err != nil {
		return nil, err
	}
	list := make([]*policy.Policy, len(w.config.Cases))
	for i, c := range w.config.Cases {
		if preset.ForVersion(c.Policy, "") != c.Policy {
			continue // its policies have cases of their own
		}
		if list[i], err = preset.Load(c.Policy, reg); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// replay replays every session for one case under a policy.
func (w *world) replay(i int, p *policy.Policy) ([]outcome, error) {
	var list []outcome
	for _, s := range w.sessions {
		tl, err := s.rec.Replay(p, replay.Options{Counter: w.config.Counting.Tokens})
		if err == nil {
			err = tl.CheckValid()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		o := outcome{Result: check.NewResult(tl), whole: digest(tl.Events)}
		o.Case, o.Session, o.Input, o.Policy = i, s.name, "sha256:same", p
		list = append(list, o)
	}
	return list, nil
}

// digest is of all that events hold but their reasons, which are words.
func digest(events []replay.Event) string {
	h := sha256.New()
	for _, e := range events {
		e.Reason = ""
		text, err := json.Marshal(e)
		if err != nil {
			panic(err) // an event can always be written
		}
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// all replays every case under its policy of the list.
func (w *world) all(policies []*policy.Policy) ([][]outcome, error) {
	list := make([][]outcome, len(policies))
	for i, p := range policies {
		if p == nil {
			continue
		}
		var err error
		if list[i], err = w.replay(i, p); err != nil {
			return nil, fmt.Errorf("%s: %w", w.config.Cases[i].Name, err)
		}
	}
	return list, nil
}

// verdict is what became of a mutant.
type verdict struct {
	Events    int    // replays with an event that is not as it was
	Figures   int    // replays with figures that are not as they were
	ByFigures bool   // the check tells, by its figures alone
	Failing   bool   // and fails, by its figures alone
	ByEvents  bool   // the check tells of every replay whose events changed, by its events
	First     string // what the check says of the first of these
}

func (v *verdict) add(o verdict) {
	if v.Events+v.Figures == 0 {
		v.First = o.First
	}
	v.ByEvents = v.ByEvents && o.ByEvents
	v.Events += o.Events
	v.Figures += o.Figures
	v.ByFigures = v.ByFigures || o.ByFigures
	v.Failing = v.Failing || o.Failing
}

// judge holds the results of a case against those without the mutation,
// through the check itself: once with figures alone, once with events alone.
func (w *world) judge(before, after []outcome) verdict {
	v := verdict{ByEvents: true}
	take := func(list []outcome, figures, events bool) []check.Result {
		out := make([]check.Result, len(list))
		for i := range list {
			out[i] = list[i].Result
			if !figures {
				out[i].Values = before[i].Values
			}
			if !events {
				out[i].Events = nil
			}
		}
		return out
	}
	report := func(figures, events bool) *check.Report {
		old := check.NewBaseline(w.config, take(before, figures, events), "before")
		return check.Judge(w.config, take(after, figures, events), old, check.Run{Tool: "after"})
	}
	figures, events := report(true, false), report(false, true)
	at := before[0].Case
	for i := range before {
		f, e := &figures.Cases[at].Sessions[i], &events.Cases[at].Sessions[i]
		v.ByFigures = v.ByFigures || f.Status != check.OK
		v.Failing = v.Failing || f.Failed
		if f.Status != check.OK {
			v.Figures++
		}
		if before[i].whole != after[i].whole {
			v.Events++
			v.ByEvents = v.ByEvents && e.Status != check.OK
			if v.First == "" {
				v.First = w.config.Cases[at].Name + ", " + before[i].Session + ": " + e.Message()
			}
		}
	}
	return v
}
