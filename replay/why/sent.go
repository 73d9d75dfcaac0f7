package why

import (
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// RecordedCause is what the requests on record say of a break.
type RecordedCause struct {
	Line   int                  `json:"line"`             // of the request
	Change *requests.BodyChange `json:"change,omitempty"` // the first that differs from the request before; nil: all of it was sent again
}

// RequestChange is a request of which something differs from the one before it, both on record.
type RequestChange struct {
	Request int `json:"request"`
	RecordedCause
	Tokens int `json:"tokens"` // of what differs, estimated by its length
}

// sentOf compares the requests on record, each with the one before it; by request.
func sentOf(rec *replay.Record, log *requests.Log) (map[int]RecordedCause, error) {
	all := map[int]RecordedCause{}
	if log == nil {
		return all, nil
	}
	conv := rec.Conv
	for n := 2; n <= len(conv.Requests); n++ {
		at := func(n int) *requests.LogRequest { return log.Of(conv.Messages[conv.Requests[n-1].Message].ID) }
		before, after := at(n-1), at(n)
		if before == nil || after == nil || before.Fault != "" || after.Fault != "" {
			continue
		}
		change, err := log.Diff(before, after)
		if err != nil {
			return nil, err
		}
		all[n] = RecordedCause{after.Line, change}
	}
	return all, nil
}

// changesOf lists those with a difference.
func changesOf(all map[int]RecordedCause, requests int) (list []RequestChange) {
	for n := range requests + 1 {
		if s, ok := all[n]; ok && s.Change != nil {
			list = append(list, RequestChange{n, s, policy.RoundQuarter(s.Change.Bytes)})
		}
	}
	return list
}

// compare takes what differs from the request before as the cause of a break that no line explains, and of one that the
// simulation takes for another.
func (b *CacheBreak) compare(sent RecordedCause) {
	b.Sent = &sent
	switch c := sent.Change; {
	case c == nil || b.Cause == cache.Compacted || b.Cause == cache.Expired:
	case c.Part == requests.PartModel:
		b.become(cache.ModelSwitch)
	case c.Part != requests.PartMessage:
		b.become(cache.ToolsChanged)
	case b.Cause == backtest.Unexplained:
		b.become(cache.Edited)
	}
}

// become gives a break another cause, without what was said of the one it had.
func (b *CacheBreak) become(cause cache.BreakCause) {
	if b.Cause != cause {
		b.Cause, b.Stage, b.Event, b.Edit, b.Trigger = cause, "", nil, "", ""
	}
}
