package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
)

const (
	schemas = "ctxkit.baseline/" // what the schema of every version begins with

	// BaselineSchema is the version of the file format.
	BaselineSchema = schemas + "v3"

	formerSchema = schemas + "v2"
)

// Baseline is the accepted result of replays.
type Baseline struct {
	Schema  string            `json:"schema"`
	Tool    string            `json:"tool"`
	Counted string            `json:"counted"` // Counting.String
	Figures []string          `json:"figures"` // all that the tool knew
	Inputs  map[string]string `json:"inputs"`  // content hash, by session (and agent)
	Cases   []BaselineCase    `json:"cases"`
}

// BaselinePlan is a resolved policy.
type BaselinePlan struct {
	Name     string            `json:"name"`
	Settings map[string]string `json:"settings"` // every key and its value, as YAML
}

// BaselineCase is a case of the configuration as it was.
type BaselineCase struct {
	Name     string                  `json:"name"`
	Policy   string                  `json:"policy"`          // as it was named, with its settings
	Files    map[string]string       `json:"files,omitempty"` // content hashes of the files it was read from
	Policies map[string]BaselinePlan `json:"policies"`        // that it was in its sessions
	Sessions []BaselineSession       `json:"sessions"`
}

// BaselineSession is one replay.
type BaselineSession struct {
	Session string                   `json:"session"`
	Agent   string                   `json:"agent,omitempty"`
	Policy  string                   `json:"policy"`           // a key of Policies
	Figures map[string]exact.Decimal `json:"figures"`          // null where there was no value; 0 is left out
	Events  []string                 `json:"events,omitempty"` // the first of them
	More    string                   `json:"more,omitempty"`   // how many other events there were, and their digest
}

// keptEvents is how many events of a replay a baseline holds one by one.
const keptEvents = 8

// eventDigest is what a baseline holds of the events of a replay: the first ones, and of the others their number and a
// digest.
func eventDigest(events []string, kept int) (first []string, more string) {
	if len(events) <= kept {
		return events, ""
	}
	h := sha256.New()
	for _, e := range events[kept:] {
		fmt.Fprintln(h, e)
	}
	return events[:kept], fmt.Sprintf("%d %x", len(events)-kept, h.Sum(nil)[:8])
}

// count is how many events there were.
func (s *BaselineSession) count() int {
	n, _, _ := strings.Cut(s.More, " ")
	more, _ := strconv.Atoi(n)
	return len(s.Events) + more
}

func inputKey(session, agent string) string {
	if agent == "" {
		return session
	}
	return session + "#" + agent
}

// NewBaseline is the baseline of a run's results.
func NewBaseline(c *Config, results []CaseResult, tool string) *Baseline {
	b := &Baseline{
		Schema: BaselineSchema, Tool: tool, Counted: c.Counting.String(), Inputs: map[string]string{}, Figures: compare.Names(), Cases: make([]BaselineCase, len(c.Cases)),
	}
	for i := range c.Cases {
		one := &c.Cases[i]
		b.Cases[i] = BaselineCase{Name: one.Name, Policy: one.command(one.Policy.Text), Files: map[string]string{}, Policies: map[string]BaselinePlan{}, Sessions: []BaselineSession{}}
	}
	for _, r := range results {
		b.Inputs[inputKey(r.Session, r.Agent)] = r.Input
		one := &b.Cases[r.Case]
		s := BaselineSession{Session: r.Session, Agent: r.Agent, Policy: one.plan(r.Policy), Figures: r.figures()}
		s.Events, s.More = eventDigest(r.Events, keptEvents)
		one.Sessions = append(one.Sessions, s)
		maps.Copy(one.Files, r.Files)
	}
	return b
}

// plan is the key of a policy among the case's, which is added where it is missing.
func (c *BaselineCase) plan(p *policy.Policy) string {
	plan := BaselinePlan{Name: p.Name, Settings: map[string]string{}}
	for _, s := range p.Resolved() {
		plan.Settings[s.Key] = s.Value
	}
	for n, key := 2, p.Name; ; n, key = n+1, fmt.Sprintf("%s (%d)", p.Name, n) {
		held, ok := c.Policies[key]
		if !ok || maps.Equal(held.Settings, plan.Settings) {
			c.Policies[key] = plan
			return key
		}
	}
}

// Write writes the baseline as JSON: a figure of a session and a key of a policy a line, in an order that does not depend
// on their values.
func (b *Baseline) Write(w io.Writer) error {
	out := *b
	out.Cases = slices.Clone(b.Cases)
	for i := range out.Cases {
		c := &out.Cases[i]
		c.Sessions = slices.Clone(c.Sessions)
		for k := range c.Sessions {
			c.Sessions[k].Figures = maps.Clone(c.Sessions[k].Figures)
			maps.DeleteFunc(c.Sessions[k].Figures, func(_ string, v exact.Decimal) bool { return v.Known && v.N == 0 })
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(&out)
}

// IsBaseline reports whether data is a baseline of any version, or was one and has been cut off, edited or left with
// a merge's marks in it.
func IsBaseline(data []byte) bool {
	var doc struct {
		Schema string `json:"schema"`
	}
	if json.Unmarshal(data, &doc) == nil && strings.HasPrefix(doc.Schema, schemas) {
		return true
	}
	d := json.NewDecoder(bytes.NewReader(data)) // the schema is what is written first
	var text string
	for _, want := range []json.Token{json.Delim('{'), "schema"} {
		if token, err := d.Token(); err != nil || token != want {
			return false
		}
	}
	return d.Decode(&text) == nil && strings.HasPrefix(text, schemas)
}

// ReadBaseline reads a baseline. Another schema, or what is no baseline at all, is an error that names the command
// which makes it anew.
func ReadBaseline(file string, data []byte, update string) (*Baseline, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	hint := "make it anew with " + update
	bad := func(err error) error {
		line, what := jsonProblem(data, err)
		return fmt.Errorf("%s:%d: not a baseline: %s: %s", file, line, what, hint)
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, bad(err)
	}
	if head.Schema != BaselineSchema && head.Schema != formerSchema {
		return nil, fmt.Errorf("%s: schema %q is not %s: %s, or take the ctxkit that wrote it", file, head.Schema, BaselineSchema, hint)
	}
	var f baselineFile
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, bad(err)
	}
	return f.baseline(), nil
}

// baselineFile is a baseline of this version, or of the one before, which had all policies, and the figures that most
// replays of a session had, in one place.
type baselineFile struct {
	Baseline
	Policies map[string]BaselinePlan             `json:"policies"`
	Common   map[string]map[string]exact.Decimal `json:"common"` // figures, by session (and agent)
}

// baseline fills in what the file leaves out.
func (f *baselineFile) baseline() *Baseline {
	for i := range f.Cases {
		c := &f.Cases[i]
		if f.Policies != nil {
			c.Policies = f.Policies
		}
		for k := range c.Sessions {
			s := &c.Sessions[k]
			figures := map[string]exact.Decimal{}
			for _, name := range f.Figures {
				figures[name] = exact.Whole(0)
			}
			maps.Copy(figures, f.Common[inputKey(s.Session, s.Agent)])
			maps.Copy(figures, s.Figures)
			s.Figures = figures
		}
	}
	return &f.Baseline
}

// jsonProblem says what a JSON decoder found wrong, and on which line.
func jsonProblem(data []byte, err error) (line int, what string) {
	at := len(data)
	what = strings.TrimPrefix(err.Error(), "json: ")
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = int(syntax.Offset)
	case errors.As(err, &kind) && kind.Field == "":
		at = int(kind.Offset)
		what = kind.Value + " in place of a map"
	case errors.As(err, &kind):
		at = int(kind.Offset)
		what = strings.TrimPrefix(kind.Field, "Baseline.") + " has the wrong kind (" + kind.Value + ")"
	}
	return 1 + bytes.Count(data[:min(at, len(data))], []byte("\n")), what
}

// first is the first element of a list that is found, nil where none is.
func first[T any](list []T, found func(x *T) bool) *T {
	for i := range list {
		if found(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// find is the case of a name.
func (b *Baseline) find(name string) *BaselineCase {
	return first(b.Cases, func(c *BaselineCase) bool { return c.Name == name })
}

func (c *BaselineCase) find(session, agent string) *BaselineSession {
	return first(c.Sessions, func(s *BaselineSession) bool { return s.Session == session && s.Agent == agent })
}

// settings are those of a plan: the keys of like in their order, then the rest.
func (p BaselinePlan) settings(like []policy.Setting) []policy.Setting {
	var list []policy.Setting
	for _, s := range like {
		if v, ok := p.Settings[s.Key]; ok {
			list = append(list, policy.Setting{Key: s.Key, Value: v})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Settings)) {
		if !slices.ContainsFunc(like, func(s policy.Setting) bool { return s.Key == key }) {
			list = append(list, policy.Setting{Key: key, Value: p.Settings[key]})
		}
	}
	return list
}
