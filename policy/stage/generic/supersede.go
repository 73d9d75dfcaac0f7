package generic

import (
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// Supersede are the parameters of supersede.
type Supersede struct {
	Reads    bool `yaml:"reads" doc:"replace reads of a file"`
	Changes  bool `yaml:"changes" doc:"replace what Edit, MultiEdit, NotebookEdit and Write printed"`
	Searches bool `yaml:"searches" doc:"replace searches (Grep, Glob, LS)"`
	Commands bool `yaml:"commands" doc:"replace the output of commands (Bash)"`
	Step     int  `yaml:"step" doc:"act only once this much is saved, so that the prefix changes rarely" unit:"tokens" min:"0"`
	Tools
}

func defineSupersede() policy.Definition {
	return policy.Definition{
		Name:    "supersede",
		Summary: "Before a request, a tool result about a file or a command that a newer result covers becomes a line that names the newer one.",
		Source: "no product. A read covers earlier reads of its lines; one of the whole file, or a Write, also what edits printed and searches in that file. A search covers an earlier one of the same input, a command one of the same words. " +
			"What failed covers nothing, nor does a read that only says that the file is unchanged",
		Truth:   policy.TruthOwn,
		Moments: policy.Prepare,
		Params:  &Supersede{Reads: true, Changes: true, Searches: true, Commands: true, Tools: allTools()},
		Example: `before: Read a.go (lines 1 to 200), Read a.go (lines 50 to 400), Edit a.go, Read a.go (all of it)
after:  the first two reads and the edit's output are "[Superseded by a newer result of Read a.go]"; until the third Read only lines of the first were shown twice, and nothing was replaced`,
		New: policy.Maker(func(p Supersede) policy.Stage { return &supersede{Supersede: p} }),
	}
}

// Check is what is questionable in a policy with supersede.
func (p *Supersede) Check(c *policy.Check) {
	if !p.Reads && !p.Changes && !p.Searches && !p.Commands {
		c.Add(policy.RuleNever, "supersede", "set reads, changes, searches or commands to true", "it replaces no kind of result")
	}
}

// Limits are what decides when supersede acts.
func (p *Supersede) Limits(l *policy.StageLimits) {
	stepNote(l, "superseded results", "supersede.step", p.Step)
}

// about is what a result is about.
type about struct {
	index    int // into View.Results
	kind     aboutKind
	from, to int  // lines of a read, as asked for
	nothing  bool // it shows nothing of the file or the command: it failed, or points to an earlier result
}

type aboutKind uint8

const (
	aboutRead aboutKind = iota
	aboutWrite
	aboutEdit
	aboutSearch
	aboutCommand
)

// supersede looks at each result once, as it joins. By resource it keeps those that nothing has covered yet.
type supersede struct {
	Supersede
	begun   bool
	epoch   int
	seen    int                // of View.Results
	files   map[string][]about // by path
	same    map[string][]about // searches and commands, by kind and words
	over    map[int]bool       // results that are covered, as indexes into View.Results
	waiting []covered
}

func (s *supersede) Run(c *policy.Context) ([]policy.Edit, error) {
	v := c.View
	if !s.begun || v.Epoch() != s.epoch {
		*s = supersede{Supersede: s.Supersede, begun: true, epoch: v.Epoch(), files: map[string][]about{}, same: map[string][]about{}, over: map[int]bool{}}
	}
	list := v.Results()
	for ; s.seen < len(list); s.seen++ {
		if err := s.join(c, list, s.seen); err != nil {
			return nil, err
		}
	}
	return clearCovered(c, list, &s.waiting, s.Step, "covered by a newer result"), nil
}

// join finds what a result that has joined covers, and notes it.
func (s *supersede) join(c *policy.Context, list []policy.Result, at int) error {
	r := &list[at]
	raw := c.View.Raw(r.Target)
	kind, ok := kindOf(r.Alike)
	if !ok || raw == nil || r.State != policy.ResultLive {
		return nil
	}
	call, err := measure.InputOf(c, r)
	if err != nil {
		return err
	}
	a := about{index: at, kind: kind, from: max(call.From, 1), to: call.To, nothing: raw.IsError}
	if a.to == 0 {
		a.to = math.MaxInt
	}
	if kind == aboutRead && !a.nothing {
		if a.nothing, err = s.unchanged(c, r.Target); err != nil {
			return err
		}
	}
	file := call.Path
	if file != "" && !path.IsAbs(file) {
		file = path.Join(c.Conv.CWD, file)
	}
	file = path.Clean(file)
	switch words := strings.TrimSpace(call.Command); {
	case kind == aboutCommand && words != "":
		return s.note(c, list, s.same, "command "+words, call, a)
	case kind == aboutSearch && call.Input != "":
		if err := s.note(c, list, s.same, r.Alike+" "+call.Input, call, a); err != nil || call.Path == "" {
			return err
		}
		s.files[file] = append(s.files[file], a) // a read of the file may cover it
	case kind < aboutSearch && call.Path != "":
		return s.note(c, list, s.files, file, call, a)
	}
	return nil
}

// kindOf is what results of a tool are about.
func kindOf(alike string) (kind aboutKind, ok bool) {
	switch alike {
	case "Read", "NotebookRead":
		return aboutRead, true
	case "Write":
		return aboutWrite, true
	case "Edit", "MultiEdit", "NotebookEdit":
		return aboutEdit, true
	case "Grep", "Glob", "LS":
		return aboutSearch, true
	case "Bash":
		return aboutCommand, true
	}
	return 0, false
}

// unchanged reports whether a read only points to an earlier one.
func (s *supersede) unchanged(c *policy.Context, t policy.Target) (bool, error) {
	const most = 300 // UTF-16 units: such results are short
	if c.View.Length(t).UTF16 > most {
		return false, nil
	}
	text, err := c.Texts.Text(t)
	if err != nil {
		return false, fmt.Errorf("reading a tool result: %w", err)
	}
	return session.IsUnchangedFile(text), nil
}

// note adds a new result to the open ones of its resource, and moves those that it covers to the waiting ones.
func (s *supersede) note(c *policy.Context, list []policy.Result, of map[string][]about, key string, call *measure.CallInput, a about) error {
	var content *policy.Content // in the place of those that it covers
	open := of[key]
	reach := 0
	if !a.nothing {
		left := open[:0:0]
		for _, old := range open {
			covers, err := s.covers(c, list, &a, &old, &reach)
			if err != nil {
				return err
			}
			if !covers {
				left = append(left, old)
			} else if r := &list[old.index]; s.replaces(old.kind) && !s.over[old.index] && s.live(r) {
				s.over[old.index] = true // a search is noted twice
				if content == nil {
					made := policy.NewContent(jsonl.KindToolResult, fmt.Sprintf("[Superseded by a newer result of %s]", named(&list[a.index], call)))
					content = &made
				}
				s.waiting = append(s.waiting, covered{old: old.index, newer: a.index, content: content})
			}
		}
		open = left
	}
	of[key] = append(open, a)
	return nil
}

// replaces reports whether results of a kind are replaced.
func (s *supersede) replaces(kind aboutKind) bool {
	switch kind {
	case aboutRead:
		return s.Reads
	case aboutSearch:
		return s.Searches
	case aboutCommand:
		return s.Commands
	}
	return s.Changes
}

// covers reports whether a result shows what an older one of the same resource shows, as it is since. reach keeps the
// last line that the newer one shows, 0 where it is not worked out yet.
func (s *supersede) covers(c *policy.Context, list []policy.Result, a, old *about, reach *int) (bool, error) {
	switch {
	case a.kind == aboutSearch || a.kind == aboutCommand || a.kind == aboutWrite:
		return true, nil
	case a.kind == aboutEdit:
		return false, nil
	case old.kind != aboutRead:
		return a.from == 1 && a.to == math.MaxInt, nil
	case a.from > old.from || a.to < old.to:
		return false, nil
	case old.to == math.MaxInt || a.to != math.MaxInt:
		return true, nil
	}
	// A read of the whole file may end before the older one's lines: tools show a limited number of lines.
	if *reach == 0 {
		last, err := s.lastLine(c, list[a.index].Target)
		if err != nil {
			return false, err
		}
		*reach = last
	}
	return *reach >= old.to, nil
}

// lastLine is the number of the last line that a read shows, the largest number where its lines are not numbered.
func (s *supersede) lastLine(c *policy.Context, t policy.Target) (int, error) {
	text, err := c.Texts.Text(t)
	if err != nil {
		return 0, fmt.Errorf("reading a tool result: %w", err)
	}
	last := math.MaxInt
	for line := range strings.Lines(text) {
		if n, _, ok := session.CutLineNumber(strings.TrimRight(line, "\n")); ok {
			last = max(n, 1)
		}
	}
	return last, nil
}
