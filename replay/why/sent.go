package why

import (
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/spend"
	"github.com/ctxkit/ctxkit/replay/stats"
)

// RecordedCause is what the requests on record say of a break.
type RecordedCause struct {
	Line   int                  `json:"line"`             // of the request
	Change *requests.BodyChange `json:"change,omitempty"` // the first that differs from the request before; nil: all of it was sent again

	added int // blocks of the request that the one before had not
}

// RequestChange is a request of which something differs from the one before it, both on record.
type RequestChange struct {
	Request int `json:"request"`
	RecordedCause
	Tokens int       `json:"tokens"`            // of what differs, by the counter; a model or a setting has none
	Lost   int       `json:"lost_tokens"`       // that were sent again and not read, by the usage
	USD    price.USD `json:"cost_usd,omitzero"` // what they cost more than if they had been read
}

// sentOf compares the requests on record, each with the one before it; by request.
func sentOf(rec *replay.Record, log *requests.Log) (map[int]RecordedCause, error) {
	all := map[int]RecordedCause{}
	if log == nil {
		return all, nil
	}
	for n := 2; n <= len(rec.Conv.Requests); n++ {
		before := requestAt(rec, log, n-1)
		after := requestAt(rec, log, n)
		if before == nil || after == nil || before.Fault != "" || after.Fault != "" {
			continue
		}
		change, added, err := log.Diff(before, after)
		if err != nil {
			return nil, err
		}
		all[n] = RecordedCause{after.Line, change, added}
	}
	return all, nil
}

// requestAt is request n on record, or nil.
func requestAt(rec *replay.Record, log *requests.Log, n int) *requests.LogRequest {
	return log.Of(rec.Conv.Response(n - 1).ID)
}

// changesOf lists those with a difference.
func changesOf(rec *replay.Record, tl *replay.Timeline, log *requests.Log, all map[int]RecordedCause, lost map[int]*spend.CacheMiss) (list []RequestChange, err error) {
	for n := range len(rec.Conv.Requests) + 1 {
		s, ok := all[n]
		if !ok || s.Change == nil {
			continue
		}
		c := RequestChange{Request: n, RecordedCause: s}
		if c.Tokens, err = tokensOf(rec, tl, log, n, s.Change); err != nil {
			return nil, err
		}
		if p := lost[n]; p != nil {
			c.Lost = p.Lost
			c.USD = p.USD
		}
		list = append(list, c)
	}
	return list, nil
}

// tokensOf are the tokens of what differs: of a tool all of it and of those that came or went with it, of a text what it is from where it differs, or else was.
func tokensOf(rec *replay.Record, tl *replay.Timeline, log *requests.Log, n int, c *requests.BodyChange) (int, error) {
	switch c.Part {
	case requests.PartMessage, requests.PartSystem:
		kind := jsonl.KindText
		for _, k := range [...]jsonl.Kind{jsonl.KindToolUse, jsonl.KindToolResult, jsonl.KindThinking} {
			if k.Type() == c.Name {
				kind = k
			}
		}
		content := policy.NewContent(kind, c.Text)
		return max(rec.Cal.Content(&content), 1), nil
	case requests.PartTool:
		if c.Is == "" { // what is gone was a part of the request before
			n--
		}
		shape, err := log.Shape(requestAt(rec, log, n))
		if err != nil || shape == nil {
			return 0, err
		}
		parts, err := stats.PromptParts(rec, tl.Counter, shape, stats.SystemTokens(rec.Conv, tl, n))
		tokens := 0
		for i := range parts {
			if p := &parts[i]; p.Part == stats.ToolPart && (p.Name == c.Name || slices.ContainsFunc(c.Tools, func(t requests.ToolPlace) bool { return t.Name == p.Name })) {
				tokens += p.Tokens
			}
		}
		return tokens, err
	}
	return 0, nil
}

// mostAdded are the blocks behind what is cached that the server looks back over.
const mostAdded = cache.LookBack - 1

// compare takes what differs from the request before as the cause of a break that no line explains, and of one that the
// simulation takes for another. Where nothing differs no content is the cause: lives is how long the cache does.
func (b *CacheBreak) compare(sent RecordedCause, lives time.Duration) {
	b.Sent = &sent
	switch c := sent.Change; {
	case c == nil && b.InFile == nil || b.Cause == cache.Expired || b.Cause == cache.LookBackOver && c == nil:
	case c == nil && b.Idle > lives.Seconds():
		b.become(cache.Expired)
	case c == nil && sent.added > mostAdded:
		b.become(cache.LookBackOver)
	case c == nil:
		b.become(backtest.Unexplained)
	case b.Cause == cache.Compacted:
	case c.Part == requests.PartModel:
		b.become(cache.ModelSwitch)
	case c.Part == requests.PartSetting && c.Name == "output_config":
		b.become(cache.EffortSet)
	case c.Part != requests.PartMessage:
		b.become(cache.ToolsChanged)
	case b.Cause == backtest.Unexplained:
		b.become(cache.Edited)
	}
}

// reasons are the causes that the API's reasons name.
var reasons = map[string]cache.BreakCause{
	"model_changed": cache.ModelSwitch, "system_changed": cache.ToolsChanged, "tools_changed": cache.ToolsChanged,
	"messages_changed": cache.MessageEdit, "previous_message_not_found": cache.EntryGone,
}

// believe takes the API's reason as the cause of a break that no line explains. Where the API found nothing of the request
// before and the cache's life was over, that is the cause whatever else changed.
func (b *CacheBreak) believe(lives time.Duration) {
	cause := reasons[b.InFile.Reason]
	switch {
	case cause == cache.EntryGone && b.Stage == "" && b.Idle > lives.Seconds():
		b.become(cache.Expired)
	case cause != cache.None && (b.Cause == backtest.Unexplained || b.Cause == cache.ContextFell):
		b.become(cause)
	}
}

// become gives a break another cause, without what was said of the one it had.
func (b *CacheBreak) become(cause cache.BreakCause) {
	if b.Cause != cause {
		b.Cause = cause
		b.Stage = ""
		b.Event = nil
		b.Edit = ""
		b.Trigger = ""
	}
}
