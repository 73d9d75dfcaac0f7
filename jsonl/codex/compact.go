package codex

import (
	"encoding/json"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// compacted reads a compaction. Its own lines follow when it is known how it ended: endCompaction.
func (c *converter) compacted(p part, payload []byte) {
	var r struct {
		Message     string `json:"message"`
		Replacement []item `json:"replacement_history"`
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
			r.Replacement = append(c.copiedUsers(), item{Type: "message", Role: "user", Content: content(r.Message)})
		}
		c.replaceCopy(p, r.Replacement)
		return
	}
	c.endResponse(nil)
	c.endCompaction(false)
	c.compact = &compaction{part: p, message: r.Message, replacement: r.Replacement, own: !c.spoken}
}

// replaceCopy follows a parent's compaction in a copy of its records: the history so far is what it left.
func (c *converter) replaceCopy(p part, items []item) {
	for i := range c.copies {
		if c.copies[i].item.Type != endOfResponse {
			c.w.Aside(c.copies[i].unit, asideReplaced)
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

// copiedUsers are the messages of the user in a copy that a compaction keeps which does not list its result.
func (c *converter) copiedUsers() (keep []item) {
	room := userBytes
	for i := len(c.copies) - 1; i >= 0; i-- {
		it := c.copies[i].item
		if it.Type != "message" || it.Role != "user" || added(it.Content) {
			continue
		}
		said := joined(it.Content)
		if strings.HasPrefix(said, summaryHead) {
			continue
		}
		if len(said) > room {
			return append([]item{{Type: "message", Role: "user", Content: content(shortened(said, room))}}, keep...)
		}
		keep, room = append([]item{it}, keep...), room-len(said)
	}
	return keep
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
	c.copied, c.spoken = false, false
}

// userBytes is how much of the user's messages a compaction keeps that does not list its result.
const userBytes = 4 * 20000

// summaryHead begins the summaries of compactions that a client wrote itself.
const summaryHead = "Another language model started to solve this problem and produced a summary of its thinking process."

// endCompaction writes the compaction that was read, if one was. manual says that its turn ended with it.
func (c *converter) endCompaction(manual bool) {
	k := c.compact
	if k == nil {
		return
	}
	c.compact = nil
	items := k.replacement
	var keep []string
	var history []entry
	var again []item
	if items == nil {
		history, again = c.newest()
		for _, e := range history {
			keep = append(keep, e.uuid)
		}
		k.message, _ = strings.CutSuffix(k.message, "\n")
	}
	at := 0
	for i := range items {
		it := &items[i]
		if it.Type == "compaction" {
			if k.message == "" {
				k.item.Encrypted = it.encrypted()
			}
			continue
		}
		if n := c.find(at, it); n >= 0 {
			at = n + 1
			keep, history = append(keep, c.history[n].uuid), append(history, c.history[n])
			continue
		}
		again = append(again, *it)
		history = append(history, entry{said: it.retained()})
	}
	trigger := "auto"
	if manual && k.own {
		trigger = "manual"
	}
	meta := &foreign.Compact{Trigger: trigger, PreTokens: c.last, PostTokens: k.post}
	if len(keep) > 0 {
		meta.Preserved = &foreign.Preserved{UUIDs: keep}
	}
	c.put(&k.part, foreign.Line{Type: "system", Subtype: "compact_boundary", Compact: meta})
	summary := &foreign.Message{Content: []foreign.Block{{Type: "compaction", Signature: k.item.Encrypted}}}
	if k.message != "" {
		summary.Content[0] = foreign.Text(k.message)
	}
	last := c.put(&k.part, foreign.Line{Type: "user", Summary: true, Message: summary})
	for i := range again {
		last = c.put(&k.part, foreign.Line{Type: "attachment", Attachment: &foreign.Attachment{Type: again[i].attachment(), Content: joined(again[i].Content)}})
	}
	// A rollback that goes behind it leaves what it left.
	c.history = append(c.history[:0], entry{uuid: last})
	for i := range history {
		e := history[i]
		c.history = append(c.history, entry{uuid: e.uuid, said: e.said, text: e.text})
	}
	c.history = append(c.history, entry{uuid: last})
}

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

// newest is what a compaction keeps that does not list its result: the newest messages of the user that fit, and of the
// next older one as much as fits.
func (c *converter) newest() (keep []entry, cut []item) {
	room := userBytes
	for i := len(c.history) - 1; i >= 0 && room > 0; i-- {
		e := c.history[i]
		if e.text == "" || strings.HasPrefix(e.text, summaryHead) {
			continue
		}
		if len(e.text) <= room {
			keep, room = append([]entry{e}, keep...), room-len(e.text)
			continue
		}
		cut = append(cut, item{Type: "message", Role: "user", Content: content(shortened(e.text, room))})
		break
	}
	return keep, cut
}
