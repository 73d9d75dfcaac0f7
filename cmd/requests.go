package cmd

import (
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/stats"
	"github.com/ctxkit/ctxkit/report"
)

// requestsOf reads the requests that a conversation's file holds, with what is wrong with them; nil where it holds none.
func requestsOf(conv *session.Conversation) (*requests.Log, error) {
	held := 0
	for _, name := range []string{requests.TypeRequest, requests.TypeMessage, requests.TypeShape} {
		held += conv.Lines.SetAside[session.Reason("metadata: "+name)]
	}
	if held == 0 || conv.Source == nil {
		return nil, nil
	}
	return requests.Read(conv.Source)
}

// requestAt is the request that was sent as request n, or nil.
func requestAt(log *requests.Log, conv *session.Conversation, n int) *requests.LogRequest {
	if n < 1 || n > len(conv.Requests) {
		return nil
	}
	return log.Of(conv.Response(n - 1).ID)
}

// onRecord is what the file says of request n, nil where it holds no requests.
func (s *opened) onRecord(n int, tl *replay.Timeline) (*report.OnRecord, error) {
	conv := s.conv.conv
	log, err := requestsOf(conv)
	if err != nil || log == nil {
		return nil, err
	}
	r := &report.OnRecord{Of: len(conv.Requests)}
	for k := range conv.Requests {
		if q := requestAt(log, conv, k+1); q != nil && q.Fault == "" {
			r.Whole++
		}
	}
	q := requestAt(log, conv, n)
	switch {
	case n > len(conv.Requests):
		r.Why = "nothing was sent after the last response"
	case q == nil:
		r.Why = "the client did not record it"
	case q.Fault != "":
		r.Why = q.Fault
		s.msgs.warn(session.Warning{File: conv.Path, Line: q.Line, Message: "the recorded request cannot be put together, and is rebuilt from the conversation: " + q.Fault})
	default:
		r.Line = q.Line
		if r.Body, err = log.Body(q); err != nil {
			return nil, err
		}
		shape, err := log.Shape(q)
		if err != nil {
			return nil, err
		}
		if r.Parts, err = stats.PromptParts(s.conv.rec, tl.Counter, shape, stats.SystemTokens(conv, tl, n)); err != nil {
			return nil, err
		}
		if q.Cut {
			r.Body.Wrong = append(r.Body.Wrong, "the client did not record a part of the request")
		}
		for _, wrong := range r.Body.Wrong {
			s.msgs.warn(session.Warning{File: conv.Path, Line: q.Line, Message: wrong})
		}
	}
	return r, nil
}
