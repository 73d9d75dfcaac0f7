package codex

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// event is the payload of an event_msg: those of its kinds that tell more than the items do.
type event struct {
	Type   string `json:"type"`
	Turn   string `json:"turn_id"`
	Window int    `json:"model_context_window"`
	Turns  int    `json:"num_turns"`
	Thread string `json:"thread_name"`
	Info   *struct {
		Total  usage `json:"total_token_usage"`
		Last   usage `json:"last_token_usage"`
		Window int   `json:"model_context_window"`
	} `json:"info"`
	Settings struct {
		Tier string `json:"service_tier"`
	} `json:"thread_settings"`
}

type usage struct {
	Input     int `json:"input_tokens"`
	Cached    int `json:"cached_input_tokens"`
	Written   int `json:"cache_write_input_tokens"` // of newer releases
	Output    int `json:"output_tokens"`
	Reasoning int `json:"reasoning_output_tokens"`
	Total     int `json:"total_tokens"`
}

// usage is the count in the convention of all sessions, of a service tier.
func (u *usage) usage(tier string) *foreign.Usage {
	in := bounded(u.Input)
	cached := min(bounded(u.Cached), in)
	written := min(bounded(u.Written), in-cached)
	out := bounded(u.Output)
	return &foreign.Usage{
		Input: in - cached - written, CacheRead: cached, CacheWrite: written, Output: out, Tier: tier,
		Details: &foreign.Details{Thinking: min(bounded(u.Reasoning), out)},
	}
}

func bounded(n int) int { return max(0, min(n, math.MaxInt32)) }

func (c *converter) event(p part, payload []byte) {
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		c.broken(p.unit, p.line, err)
		return
	}
	if c.copied && e.Type == "task_started" && len(e.Turn) == len(c.session.ID) {
		if c.turns = true; e.Turn > c.session.ID {
			c.endCopy()
		}
	}
	if e.Type == "task_started" {
		c.window(e.Window)
	}
	if e.Info != nil {
		c.window(e.Info.Window)
	}
	switch {
	case e.Type == "token_count" && c.copied:
		if e.Info != nil && (!c.counted || e.Info.Total.Total != c.total) {
			c.counted, c.total, c.last = true, e.Info.Total.Total, bounded(e.Info.Last.Total)
			p.item.Type, p.used = endOfResponse, e.Info.Last.usage(c.tier)
			c.copies = append(c.copies, p)
		}
		c.Aside(p.unit, asideCopy)
	case c.copied:
		c.Aside(p.unit, asideCopy)
	case e.Type == "token_count":
		c.count(p, &e)
	case e.Type == "task_started", e.Type == "task_complete", e.Type == "turn_aborted":
		c.endResponse(nil)
		c.endCompaction(e.Type != "task_started")
		c.endTurn(&p)
	case e.Type == "thread_rolled_back":
		c.endResponse(nil)
		c.endCompaction(false)
		c.rollBack(&p, e.Turns)
	case e.Type == "thread_name_updated" && e.Thread != "":
		c.put(&p, foreign.Line{Type: "ai-title", Title: e.Thread})
	default:
		if e.Type == "thread_settings_applied" {
			c.tier = e.Settings.Tier
		}
		c.Aside(p.unit, "event: "+e.Type)
	}
}

// usablePercent is the share of the whole window that Codex records.
const usablePercent = 95

func (c *converter) window(usable int) {
	n := bounded(usable) * 100 / usablePercent
	if n == 0 || n == c.session.Window {
		return
	}
	c.endCounted()
	c.session.Window = n
	if c.begun {
		c.begin()
	}
}

// count reads a token count: the end of a response, the client's estimate behind a compaction, or something else.
func (c *converter) count(p part, e *event) {
	switch {
	case e.Info == nil:
		c.Aside(p.unit, asideNoUsage)
		if len(c.answer) > 0 && !c.counted { // the provider reports none
			c.unmetered = true
			c.endResponse(nil)
		}
	case c.compact != nil && c.compact.post == 0 && e.Info.Last.Input == 0 && e.Info.Last.Output == 0:
		c.compact.post = bounded(e.Info.Last.Total)
	case c.counted && e.Info.Total.Total == c.total:
		c.Aside(p.unit, asideRepeat)
	default:
		c.endCounted()
		c.counted, c.total, c.earlier, c.last = true, e.Info.Total.Total, c.last, bounded(e.Info.Last.Total)
		c.endCompaction(false)
		if len(c.answer) == 0 {
			c.answer = []part{{unit: p.unit, line: p.line, time: p.time}}
		}
		if c.billed != nil { // the same response
			c.usedID = c.billed.ID
			c.billed = nil
		}
		if c.used = e.Info.Last.usage(c.tier); len(c.rest) > 0 || c.answered() == "" {
			c.endCounted()
		}
	}
}

// usageRecord is the provider's usage of a response, right before its outputs and its token count.
type usageRecord struct {
	part
	ID    string `json:"response_id"`
	Usage *usage `json:"usage"`
	tier  string
}

func (r *usageRecord) used() *foreign.Usage { return r.Usage.usage(r.tier) }

// usageRecord reads one. The response in progress, a compaction or the next token count is its own.
func (c *converter) usageRecord(p part, payload []byte) {
	r := &usageRecord{part: p, tier: c.tier}
	switch err := json.Unmarshal(payload, r); {
	case err != nil:
		c.broken(p.unit, p.line, err)
	case c.copied:
		c.Aside(p.unit, asideCopy)
	case r.Usage == nil || r.ID == "":
		c.Aside(p.unit, asideNoUsage)
	default:
		c.endRecord()
		c.billed = r
	}
}

// endRecord writes the call of a record that is no response's and no compaction's: one that failed, or of the client's own.
func (c *converter) endRecord() {
	if r := c.billed; r != nil {
		c.billed = nil
		c.PutCall(r.unit, foreign.BilledCall{ID: r.ID, Kind: "other", Model: c.model, Time: r.time, Usage: r.used()})
	}
}

// endCounted writes the response that is counted, if it is not written yet.
func (c *converter) endCounted() {
	if c.used != nil {
		c.endResponse(c.used)
	}
}

// answered is the text of the response in progress; "": it calls tools, or says nothing.
func (c *converter) answered() string {
	var texts []string
	for i := range c.answer {
		switch it := &c.answer[i].item; it.Type {
		case "message":
			texts = append(texts, joined(it.Content))
		case "reasoning":
		default:
			return ""
		}
	}
	return strings.Join(texts, "")
}

// endTurn marks the end of a turn: a prompt after it was not queued.
func (c *converter) endTurn(p *part) {
	if c.spoken && c.begun {
		c.put(p, foreign.Line{Type: "system", Subtype: "turn_duration"})
	}
	c.spoken = false
}

// rollBack cuts the history before the newest turns.
func (c *converter) rollBack(p *part, turns int) {
	at := len(c.history)
	for i := len(c.history) - 1; i >= 0 && turns > 0; i-- {
		if c.history[i].boundary {
			at = i
			turns -= 1
		}
	}
	for at > 0 && c.history[at-1].context {
		at--
	}
	if at == len(c.history) {
		return
	}
	c.root = at == 0
	c.parent = ""
	if at > 0 {
		c.parent = c.history[at-1].uuid
		c.Put(p.unit, foreign.Line{Type: "last-prompt", Leaf: c.parent})
	}
	c.history = c.history[:at]
}
