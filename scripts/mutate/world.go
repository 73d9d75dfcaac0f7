package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/check"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// shipped is the check that mutants are held against.
const shipped = "testdata/check/ctxkit.yaml"

// world is the shipped check, read: its cases and its sessions.
type world struct {
	config   *check.Config
	policies []*policy.Policy // by case; nil where the session decides
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
	reg, err := policy.NewRegistry(stage.All())
	if err != nil {
		return nil, err
	}
	for _, c := range w.config.Cases {
		if preset.ForVersion(c.Policy, "") != c.Policy {
			w.policies = append(w.policies, nil) // its policies have cases of their own
			continue
		}
		p, err := preset.Load(c.Policy, reg)
		if err != nil {
			return nil, err
		}
		w.policies = append(w.policies, p)
	}
	encoders := &tokens.Encoders{Jobs: 1}
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
			rec, err := replay.NewRecordWith(f.Main, encoders)
			if err != nil {
				return nil, err
			}
			w.sessions = append(w.sessions, loaded{name, rec, f})
		}
	}
	return w, nil
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

// all replays every case as it stands.
func (w *world) all() ([][]outcome, error) {
	list := make([][]outcome, len(w.policies))
	for i, p := range w.policies {
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
	events    int  // replays with an event that is not as it was
	figures   int  // replays with figures that are not as they were
	byFigures bool // the check tells, by its figures alone
	failing   bool // and fails, by its figures alone
	byEvents  bool // the check tells of every replay whose events changed, by its events
	first     string
}

func (v *verdict) add(o verdict) {
	if v.events+v.figures == 0 {
		v.first = o.first
	}
	v.byEvents = v.byEvents && o.byEvents
	v.events += o.events
	v.figures += o.figures
	v.byFigures = v.byFigures || o.byFigures
	v.failing = v.failing || o.failing
}

// judge holds the results of a case against those without the mutation,
// through the check itself: once with figures alone, once with events alone.
func (w *world) judge(before, after []outcome) verdict {
	v := verdict{byEvents: true}
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
		return check.Judge(w.config, take(after, figures, events), old, "after")
	}
	figures, events := report(true, false), report(false, true)
	at := before[0].Case
	for i := range before {
		f, e := &figures.Cases[at].Sessions[i], &events.Cases[at].Sessions[i]
		v.byFigures = v.byFigures || f.Status != check.OK
		v.failing = v.failing || f.Failed
		if f.Status != check.OK {
			v.figures++
		}
		if before[i].whole != after[i].whole {
			v.events++
			v.byEvents = v.byEvents && e.Status != check.OK
			if v.first == "" {
				v.first = w.config.Cases[at].Name + ", " + before[i].Session + ": " + e.Message()
			}
		}
	}
	return v
}

// probed is an outcome as it goes from a mutated program to this one.
type probed struct {
	Case    int
	Session string
	Figures map[string]float64
	Events  []string
	Whole   string
}

// probe prints what every case comes to.
func probe(root string) error {
	w, err := load(root)
	if err != nil {
		return err
	}
	all, err := w.all()
	if err != nil {
		return err
	}
	list := []probed{}
	for _, outcomes := range all {
		for _, o := range outcomes {
			list = append(list, probed{o.Case, o.Session, o.Values.Map(), o.Events, o.whole})
		}
	}
	return json.NewEncoder(os.Stdout).Encode(list)
}

// read takes what probe printed.
func (w *world) read(text []byte) ([][]outcome, error) {
	var list []probed
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	out := make([][]outcome, len(w.policies))
	for _, p := range list {
		if p.Case < 0 || p.Case >= len(out) || w.policies[p.Case] == nil {
			return nil, fmt.Errorf("a case %d that is not there", p.Case)
		}
		o := outcome{whole: p.Whole}
		o.Case, o.Session, o.Input, o.Policy, o.Events = p.Case, p.Session, "sha256:same", w.policies[p.Case], p.Events
		for _, name := range compare.Names() {
			x, ok := p.Figures[name]
			if !ok {
				x = math.NaN()
			}
			o.Values = append(o.Values, x)
		}
		out[p.Case] = append(out[p.Case], o)
	}
	for i := range out {
		if w.policies[i] != nil && len(out[i]) != len(w.sessions) {
			return nil, fmt.Errorf("case %s has %d sessions of %d", w.config.Cases[i].Name, len(out[i]), len(w.sessions))
		}
	}
	return out, nil
}

// oneLine is a text of several lines on one.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
