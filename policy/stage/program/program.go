package program

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/policy"
)

// Protocol names the version of the lines between ctxkit and a program (docs/programs.md,
// docs/schemas/program.v1.json).
const Protocol = "ctxkit.program/v1"

// Parameters are the parameters of program.
type Parameters struct {
	Command []string      `yaml:"command" doc:"the program and its arguments; it runs in the folder of the policy file"`
	Timeout time.Duration `yaml:"timeout" doc:"the longest time it may take for one answer" min:"1ms"`
}

func defineProgram() policy.Definition {
	return policy.Definition{
		Name:    "program",
		Summary: "Before each request a program of yours receives the new content and answers with edits, or with the messages to send.",
		Source:  "the program; the lines between ctxkit and it are described in docs/programs.md. It runs only where the person who starts ctxkit allows programs",
		Truth:   policy.TruthDocumented,
		Moments: policy.Prepare,
		Params:  &Parameters{Command: []string{}, Timeout: 30 * time.Second},
		Example: `before: a Read and its result of 900 tokens, m2; the program answers {"request":9,"edits":[{"edit":"clear","blocks":["m2.0"],"text":"[cleared]"}]}
after:  the result is "[cleared]"`,
		Window:  true,
		Memory:  policy.Stateless,
		Program: "command",
		New: policy.Maker(func(p Parameters) policy.Stage {
			return &stage{Parameters: p}
		}),
	}
}

// Check is what is questionable in a policy with program.
func (p *Parameters) Check(c *policy.Check) {
	switch words := p.Command; {
	case len(words) == 0:
		c.Add(policy.RuleNever, "program", "add command: [PROGRAM, ARGUMENT …]", "it names no program")
	case len(words) == 1 && strings.ContainsAny(words[0], " \t"):
		c.Add(policy.RuleNever, "program.command", "write ["+strings.Join(strings.Fields(words[0]), ", ")+"], unless the program's name has a space",
			"no shell divides it into words: the program is %s", strconv.Quote(clean(words[0])))
	}
}

// Limits are what decides when program acts.
func (p *Parameters) Limits(l *policy.StageLimits) {
	l.Note("program: what %s answers", title(p.Command))
}

// stage asks one process about one conversation.
type stage struct {
	Parameters
	programs policy.Programs
	folder   string
	running  policy.Program
	list     list
}

// title is the command in messages.
func title(words []string) string {
	const most = 60
	if len(words) == 0 {
		return "no program"
	}
	text := []rune(clean(strings.Join(words, " ")))
	if len(text) > most {
		return string(text[:most-1]) + "…"
	}
	return string(text)
}

// Open gives the stage what starts its program.
func (s *stage) Open(p policy.Programs, folder string) {
	s.programs = p
	s.folder = folder
}

// Fork is the stage itself: a process cannot be copied.
func (s *stage) Fork() policy.Stage { return s }

// Close ends the program.
func (s *stage) Close() {
	if s.running != nil {
		s.running.Close()
		s.running = nil
	}
	s.programs = nil
}

// Run tells the program what is new and returns the edits of its answer.
func (s *stage) Run(c *policy.Context) ([]policy.Edit, error) {
	edits, err := s.ask(c)
	if err != nil {
		return nil, fmt.Errorf("%s: request %d: %w", title(s.Command), c.Request, err)
	}
	return edits, nil
}

func (s *stage) ask(c *policy.Context) ([]policy.Edit, error) {
	if err := s.start(c); err != nil {
		return nil, err
	}
	removed, messages, err := s.list.update(c)
	if err != nil {
		return nil, err
	}
	request := requestLine{
		Type: "request", Request: c.Request, Model: c.Model, Window: c.Window, Overhead: max(c.Overhead, 0), Tokens: c.View.Tokens(),
		Used: c.Used, Removed: removed, Messages: messages,
	}
	if !c.Now.IsZero() {
		request.Now = &c.Now
	}
	line, err := encode(request)
	if err != nil {
		return nil, err
	}
	text, err := s.running.Ask(line, s.Timeout)
	if err != nil {
		return nil, err
	}
	a, err := decode(text, c.Request)
	if err != nil {
		return nil, err
	}
	if a.Messages == nil && len(a.Edits) == 0 {
		return nil, nil
	}
	e := newEditing(c, &s.list, title(s.Command))
	if a.Messages != nil {
		err = e.match(*a.Messages, a.Call)
	} else {
		err = e.apply(a.Edits)
	}
	if err != nil {
		return nil, err
	}
	return e.finish()
}

// start starts the program and agrees on the protocol, once.
func (s *stage) start(c *policy.Context) error {
	switch {
	case s.running != nil:
		return nil
	case s.programs == nil:
		return errors.New("nothing may start it")
	case len(s.Command) == 0 || s.Command[0] == "":
		return errors.New("program.command names no program: write it as [PROGRAM, ARGUMENT …]")
	}
	var err error
	if s.running, err = s.programs.Start(policy.ProgramCommand{Words: s.Command, Folder: s.folder}); err != nil {
		return err
	}
	line, err := encode(startLine{Type: "start", Protocol: Protocol, Session: c.Conv.SessionID, Agent: c.Agent, Model: c.Model, Window: c.Window, MaxOutput: c.MaxOutput})
	if err != nil {
		return err
	}
	text, err := s.running.Ask(line, s.Timeout)
	if err != nil {
		return fmt.Errorf("at the start: %w", err)
	}
	var ready readyLine
	if err := strict(text, &ready); err != nil {
		return fmt.Errorf("at the start it answered %s: %w: want {\"protocol\":%q}", excerpt(text), err, Protocol)
	}
	if ready.Protocol != Protocol {
		return fmt.Errorf("it speaks the protocol %q: this ctxkit speaks %s", clean(ready.Protocol), Protocol)
	}
	return nil
}
