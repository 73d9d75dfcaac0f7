package cmd

import (
	"cmp"
	"fmt"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay"
)

// opened is the one conversation that a command shows, and its policy.
type opened struct {
	*replays
	convs *conversations
	conv  agentConversation
	pol   *policy.Policy
	opt   replay.Options
}

// open reads the one conversation that the options name, and its policy, and opens the output. The caller closes it.
func (o *replayOptions) open(sys *system) (*opened, error) {
	r, err := o.begin(sys)
	if err != nil {
		return nil, err
	}
	s := &opened{replays: r, convs: &conversations{}, opt: o.options()}
	if n := len(s.in.list); n != 1 {
		err = fmt.Errorf("%d sessions: this command shows one: name it", n)
	} else if err = s.in.broken[s.in.list[0]]; err == nil {
		err = s.read(s.in.list[0])
	}
	if err != nil {
		s.convs.close()
		return nil, s.out.close(err)
	}
	return s, nil
}

// read reads the conversation.
func (s *opened) read(path string) error {
	convs, err := load(s.sys, path, s.input, s.input.Jobs, s.msgs.warn)
	if err != nil {
		return err
	}
	s.convs = convs
	if n := len(convs.list); n != 1 {
		return pathError(path, fmt.Errorf("%d conversations: this command shows one: name a subagent with --agent", n))
	}
	s.conv = convs.list[0]
	s.msgs.warn(s.conv.conv.Warnings...)
	if s.pol, err = s.choose(preset.ClientOf(s.conv.conv)); err == nil {
		s.conv.rec, err = newRecord(s.sys, s.conv.conv, s.encoders)
	}
	if err != nil {
		return pathError(path, err)
	}
	s.msgs.warn(assumed(s.conv.rec, s.opt)...)
	return nil
}

// asked is the error of another agent's conversation without a request.
func (s *opened) asked() error {
	if conv := s.conv.conv; !foreignConversation(conv) || len(conv.Requests) > 0 {
		return nil
	}
	return cmp.Or(s.convs.stopped(), pathError(s.convs.path, errNoRequest))
}

// close ends the command. A file whose reading stopped before its end fails the command, and its output is kept.
func (s *opened) close(err error) error {
	defer s.convs.close()
	if stopped := s.convs.stopped(); err == nil && stopped != nil {
		s.msgs.fail(stopped)
		err = &partError{failed: 1, usable: true}
	}
	return s.out.close(err)
}

// request is the number of the request that the value of a flag names. Only that of a peak or an event takes a replay.
func (s *opened) request(flag, name string) (int, error) {
	n, ok, err := replay.RequestNumber(name, len(s.conv.conv.Requests))
	switch {
	case err != nil:
		return 0, fmt.Errorf("flag %s: %w", flag, err)
	case !ok:
		n, _, err = s.at(flag, name)
	}
	return n, err
}

// at finds the request that the value of a flag names, in a replay.
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
