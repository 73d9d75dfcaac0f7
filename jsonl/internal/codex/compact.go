package codex

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// compacted reads a compaction. Its own lines follow when it is known how it ended: endCompaction.
func (c *converter) compacted(p part, payload []byte) {
	var r struct {
		Message     string `json:"message"`
		Replacement []item `json:"replacement_history"`
		Response    string `json:"compaction_response_id"` // of the server, or of the model
		Latest      struct {
			Response string `json:"response_id"`
			Usage    usage  `json:"usage"`
		} `json:"latest_token_usage_record"`
	}
	if err := json.Unmarshal(payload, &r); err != nil {
		c.broken(p.unit, p.line, err)
		return
	}
	for i := range r.Replacement {
		r.Replacement[i].name()
	}
	if c.copied {
		if r.Replacement == nil {
			texts := make([]string, len(c.copies))
			for i := range c.copies {
				if it := &c.copies[i].item; it.Type == "message" && it.Role == "user" && !added(it.Content) {
					texts[i] = joined(it.Content)
				}
			}
			keep, cut := newest(texts)
			for _, i := range keep {
				cut = append(cut, c.copies[i].item)
			}
			cut = append(cut, item{Type: "message", Role: "user", Content: content(r.Message)})
			r.Replacement = cut
		}
		c.replaceCopy(p, r.Replacement)
		return
	}
	k := &compaction{part: p, message: r.Message, replacement: r.Replacement, pre: c.last, own: !c.spoken, called: c.resets}
	if text := c.answered(); text != "" && c.used != nil && strings.TrimSpace(summaryOf(r.Message)) == strings.TrimSpace(text) {
		k.used = c.used
		k.request = c.usedID
		k.pre = c.earlier
		k.own = !c.before
		for i := range c.answer {
			c.Aside(c.answer[i].unit, asideSummary)
		}
		c.answer = nil
		c.used = nil
		c.usedID = ""
	} else if b := c.billed; b != nil && b.ID == r.Response {
		k.used = b.used()
		k.request = b.ID
		c.billed = nil
	} else if r.Response != "" && r.Response == r.Latest.Response {
		k.used = r.Latest.Usage.usage(c.tier)
		k.request = r.Response
	}
	c.endResponse(nil)
	c.endCompaction(false)
	c.compact = k
}

// replaceCopy follows a parent's compaction in a copy of its records: the history so far is what it left.
func (c *converter) replaceCopy(p part, items []item) {
	for i := range c.copies {
		if c.copies[i].item.Type != endOfResponse {
			c.Aside(c.copies[i].unit, asideReplaced)
		}
	}
	c.copies = c.copies[:0]
	for i := range items {
		q := p
		if q.item = items[i]; q.item.Type != "compaction" || q.item.encrypted() != "" {
			c.copies = append(c.copies, q)
			q.item = item{Type: endOfResponse}
			c.copies = append(c.copies, q)
		}
	}
}

// endCopy ends the copy of a parent's records: what is left of them is the history.
func (c *converter) endCopy() {
	copies := c.copies
	if c.copied && len(copies) == 0 {
		c.parent = c.forked // it is not in the file: the conversation begins before it
	}
	c.copies = nil
	for i := range copies {
		c.item(copies[i])
	}
	if c.copied {
		c.endResponse(nil)
	}
	c.copied = false
	c.spoken = false
}

// userBytes is how much of the user's messages a compaction keeps that does not list its result.
const userBytes = 4 * 20000

// summaryHead begins the summaries of compactions that a client wrote itself.
const summaryHead = "Another language model started to solve this problem and produced a summary of its thinking process."

// summaryOf is what the model wrote of a compaction's message: what is behind the client's own line, if that is there.
func summaryOf(message string) string {
	if strings.HasPrefix(message, summaryHead) {
		_, message, _ = strings.Cut(message, "\n")
	}
	return message
}

// endCompaction writes the compaction that was read, if one was. manual says that its turn ended with it.
func (c *converter) endCompaction(manual bool) {
	k := c.compact
	if k == nil {
		return
	}
	c.compact = nil
	c.compacts++
	name := fmt.Sprintf("compaction-%d", c.compacts)
	line := &foreign.Message{Content: []foreign.Block{{Type: "compaction"}}}
	var keep, order []string
	var history []entry
	var again []foreign.Line
	send := func(it *item) {
		for _, t := range texts(it.Content) {
			if t.Text == "" {
				continue
			}
			l := foreign.Line{Type: "attachment", Attachment: &foreign.Attachment{Type: it.attachment(), Content: t.Text}}
			l.UUID = fmt.Sprintf("%s-%d", name, len(again)+1)
			again = append(again, l)
			order = append(order, l.UUID)
		}
		history = append(history, entry{said: it.retained()})
	}
	hold := func(e entry) {
		keep = append(keep, e.uuid)
		order = append(order, e.uuid)
		history = append(history, e)
	}
	items := k.replacement
	if items == nil {
		texts := make([]string, len(c.history))
		for i := range texts {
			texts[i] = c.history[i].text
		}
		stay, cut := newest(texts)
		for i := range cut {
			send(&cut[i])
		}
		for _, i := range stay {
			hold(c.history[i])
		}
		k.message, _ = strings.CutSuffix(k.message, "\n")
	}
	at := 0
	summed := false
	for i := range items {
		it := &items[i]
		if encrypted := it.Type == "compaction"; !summed && (encrypted || k.message != "" && strings.TrimSpace(joined(it.Content)) == strings.TrimSpace(k.message)) {
			if encrypted {
				line.Content[0].Signature = it.encrypted()
			}
			summed = true
			order = append(order, name)
			continue
		}
		if n := c.find(at, it); n >= 0 {
			at = n + 1
			hold(c.history[n])
			continue
		}
		send(it)
	}
	// A new context has no summary. A recording that lost an encrypted one still has what the user said.
	fresh := len(items) > 0 && k.message == "" && !slices.ContainsFunc(items, func(it item) bool { return it.attachment() != "context" })
	if !summed && !fresh {
		order = append(order, name)
	}
	if k.message != "" {
		line.Content[0] = foreign.Text(k.message)
	}
	trigger := "auto"
	switch {
	case fresh && k.called:
		trigger = "model"
	case manual && k.own:
		trigger = "manual"
	case k.change && k.own && 100*k.pre < changeBelow*c.session.Window:
		trigger = "model_change"
	}
	meta := &foreign.Compact{Trigger: trigger, PreTokens: k.pre, PostTokens: k.post, Usage: k.used, Request: k.request, Order: order}
	if len(keep) > 0 {
		meta.Preserved = &foreign.Preserved{UUIDs: keep}
	}
	last := c.put(&k.part, foreign.Line{Type: "system", Subtype: "compact_boundary", Compact: meta})
	if !fresh {
		last = c.put(&k.part, foreign.Line{Type: "user", UUID: name, Summary: true, Message: line})
	}
	for _, l := range again {
		last = c.put(&k.part, l)
	}
	// A rollback that goes behind it leaves what it left.
	c.history = append(c.history[:0], entry{uuid: last})
	for i := range history {
		e := history[i]
		c.history = append(c.history, entry{uuid: e.uuid, said: e.said, text: e.text})
	}
	c.history = append(c.history, entry{uuid: last})
}

// changeBelow is the share of the window, in percent, below which it was the change of a turn's model or effort that
// compacted (openai/codex#33833, from 0.145 on): of 38 recorded compactions at the limit the lowest is at 73 %.
const changeBelow = 70

// attachment is what a compaction sends again.
func (it *item) attachment() string {
	if it.Role == "developer" || it.Role == "user" && added(it.Content) {
		return "context"
	}
	return "retained " + it.Role + " message"
}

// find is the index of a message of the history that a compaction retained, -1 for none: the first one from at on that
// a person or the model wrote.
func (c *converter) find(at int, it *item) int {
	said := it.retained()
	if said == "" || it.Role != "assistant" && (it.Role != "user" || added(it.Content)) {
		return -1
	}
	for i := at; i < len(c.history); i++ {
		if c.history[i].said == said && c.history[i].uuid != "" {
			return i
		}
	}
	return -1
}

// newest is what a compaction keeps that does not list its result: the places of the newest texts of the user that fit, and
// of the next older one as much as fits. Other messages have no text.
func newest(texts []string) (keep []int, cut []item) {
	room := userBytes
	for i := len(texts) - 1; i >= 0 && room > 0; i-- {
		switch said := texts[i]; {
		case said == "", strings.HasPrefix(said, summaryHead):
		case len(said) > room:
			return keep, []item{{Type: "message", Role: "user", Content: content(shortened(said, room))}}
		default:
			keep = append([]int{i}, keep...)
			room -= len(said)
		}
	}
	return keep, nil
}
