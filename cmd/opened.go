package cmd

import (
	"fmt"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// opened is the one conversation that a command shows, and its policy.
type opened struct {
	*job
	convs *conversations
	conv  agentConversation
	pol   *policy.Policy
	opt   replay.Options
}

// open reads the one conversation that the options name, and its policy. The
// caller closes it.
func (o *ReplayOptions) open(sys *system) (*opened, error) {
	s := &opened{job: &job{sys: sys, msgs: o.messages(sys), input: o.InputOptions}}
	choose, err := choosePolicy(sys, o, s.msgs.warn)
	if err != nil {
		return nil, err
	}
	if s.in, err = resolve(sys, o.Inputs, s.msgs.warn); err != nil {
		return nil, err
	}
	if n := len(s.in.list); n != 1 {
		return nil, fmt.Errorf("%d sessions: this command shows one: name it", n)
	}
	path := s.in.list[0]
	if s.convs, err = load(path, sys.in, o.InputOptions, o.Jobs, s.msgs.warn); err != nil {
		return nil, err
	}
	if err = s.prepare(o, choose); err != nil {
		s.convs.close()
		return nil, pathError(path, err)
	}
	return s, nil
}

func (s *opened) prepare(o *ReplayOptions, choose policyChoice) (err error) {
	if n := len(s.convs.list); n != 1 {
		return fmt.Errorf("%d conversations: this command shows one: name a subagent with --agent", n)
	}
	s.conv = s.convs.list[0]
	s.msgs.warn(s.conv.conv.Warnings...)
	if s.pol, err = choose(s.conv.conv.Version); err != nil {
		return err
	}
	s.opt = o.options()
	if s.conv.rec, err = replay.NewRecordWith(s.conv.conv, &tokens.Encoders{Jobs: o.Jobs}); err != nil {
		return err
	}
	s.out, err = o.create(s.sys, s.in.list)
	return err
}

// close ends the command. A file whose reading stopped before its end fails
// the command, and its output is kept.
func (s *opened) close(err error) error {
	defer s.convs.close()
	if stopped := s.convs.stopped(); err == nil && stopped != nil {
		s.msgs.fail(stopped)
		err = &partError{failed: 1, usable: true}
	}
	return s.out.close(err)
}

// at finds the request that the value of a flag names.
func (s *opened) at(flag, name string) (int, *replay.Timeline, error) {
	tl, err := s.conv.rec.Replay(s.pol, s.opt)
	if err != nil {
		return 0, nil, err
	}
	n, err := tl.RequestAt(name)
	if err != nil {
		return 0, nil, fmt.Errorf("flag %s: %w", flag, err)
	}
	return n, tl, nil
}
