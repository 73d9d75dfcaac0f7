package synth

import (
	"slices"

	"github.com/ctxkit/ctxkit/jsonl"
)

// Snips, collapses and replaced results were not found in real files. They are written as analyses describe them.

// snip writes a response that calls the Snip tool on the turns of prompts, and the line that lists what was removed.
func (c *client) snip(reason string, prompts ...string) {
	call := newCall("Snip", func(o *object) {
		ids := make([]string, len(prompts))
		for i, p := range prompts {
			ids[i] = jsonl.ShortID(p)
		}
		o.put(`"ids":?,"reason":?`, ids, reason)
	}, "Removed.", func(*object) {})
	call.result.client = nil
	c.respond(block{call: call})
	var removed []string
	for _, p := range prompts {
		from, to := c.turnOf(p)
		removed = append(removed, c.linesOf(from, to)...)
		c.replace(from, to)
	}
	c.pass(5, 60)
	o := c.head("system", c.leaf).put(`"subtype":"snip_boundary","content":"Messages removed","removedUuids":?`, removed)
	c.mark()
	o.put(`"isMeta":false`)
	c.end()
}

// collapse replaces the turns from one prompt up to, not including, another by a placeholder. A staged span is
// written to a snapshot line first.
func (c *client) collapse(from, next, summary string, staged bool) {
	first, _ := c.turnOf(from)
	to, _ := c.turnOf(next)
	lines := c.linesOf(first, to)
	begin, end := lines[0], lines[len(lines)-1]
	snapshot := func(spans func(o *object), armed bool) {
		o := c.unchained("marble-origami-snapshot").put(`"sessionId":?,"staged":[`, c.session)
		spans(o)
		o.put(`],"armed":?,"lastSpawnTokens":?}`, armed, c.used())
		c.emit()
	}
	if staged {
		snapshot(func(o *object) {
			o.put(`{"startUuid":?,"endUuid":?,"summary":?,"risk":?,"stagedAt":?}`, begin, end, summary, []byte("0.12"), int(c.now.UnixMilli()))
		}, true)
	}
	id := c.uuid()[:8]
	text := "<collapsed id='" + id + "'>" + summary + "</collapsed>"
	o := c.unchained("marble-origami-commit").put(`"sessionId":?,"collapseId":?,"summaryUuid":?`, c.session, id, c.uuid())
	o.put(`"summaryContent":?,"summary":?,"firstArchivedUuid":?,"lastArchivedUuid":?}`, text, summary, begin, end)
	c.emit()
	snapshot(func(*object) {}, false)
	c.replace(first, to, item{weight: milli(text, proseRate) + messageFrame})
}

// sendInstead has the client send another text instead of results, and writes a content-replacement line. The
// results' own lines stay as they are.
func (c *client) sendInstead(text string, ids ...string) {
	o := c.unchained("content-replacement").put(`"sessionId":?,"replacements":[`, c.session)
	for _, id := range ids {
		o.put(`{"kind":"tool-result","toolUseId":?,"replacement":?}`, id, text)
		for i := range c.items {
			if it := &c.items[i]; it.id == id {
				w := milli(text, toolRate) + resultFrame
				c.sum += w - it.weight
				c.tail += estimate(units(text)) - it.est
				it.weight, it.est, it.id = w, estimate(units(text)), ""
			}
		}
	}
	o.put(`]}`)
	c.emit()
}

// turnOf is the range of items of a prompt's turn: from its item up to that of the next prompt.
func (c *client) turnOf(prompt string) (from, to int) {
	from = slices.IndexFunc(c.items, func(it item) bool { return it.line == prompt })
	for to = from + 1; to < len(c.items) && !c.items[to].prompt; to++ {
	}
	return from, to
}

// linesOf lists the lines of items, each once.
func (c *client) linesOf(from, to int) []string {
	var lines []string
	for _, it := range c.items[from:to] {
		if it.line != "" {
			lines = append(lines, it.line)
		}
	}
	return slices.Compact(lines)
}

// replace replaces the items from..to.
func (c *client) replace(from, to int, by ...item) {
	var before int64
	for _, it := range c.items[:from] {
		before += it.weight
	}
	c.cached = min(c.cached, before)
	for _, it := range c.items[from:to] {
		c.sum -= it.weight
	}
	c.items = slices.Replace(c.items, from, to, by...)
	for _, it := range by {
		c.sum += it.weight
	}
}

func playSnip(s *script) {
	todo := s.ask()
	s.c.respond(s.say(), block{call: s.grep()})
	s.c.respond(s.readFile(0))
	s.done()
	s.ask()
	s.c.snip("the user has gone on to something else", todo)
	s.c.respond(s.readFile(1))
	s.c.respond(s.editFile(1))
	s.done()
	s.ask()
	s.done()
}

func playCollapse(s *script) {
	s.ask()
	s.c.respond(s.readFile(0))
	s.done()
	from := s.ask()
	s.c.respond(s.readFile(1), s.readFile(2))
	s.c.respond(s.editFile(1))
	s.done()
	s.ask()
	s.c.respond(block{call: s.test()})
	s.done()
	next := s.ask()
	s.c.respond(s.readFile(3))
	s.c.collapse(from, next, "Two files were read and one was changed; the tests were run afterwards.", true)
	s.c.respond(s.editFile(3))
	s.done()
}

func playReplacement(s *script) {
	s.ask()
	s.c.respond(s.readFile(0))
	for i := range 2 {
		big := s.large()
		s.c.respond(block{call: big}, block{call: s.glob()})
		stub, _ := persisted(s.c.resultPath(big.id), big.result.content)
		s.c.sendInstead(stub, big.id)
		s.c.respond(s.readFile(i + 1))
	}
	s.done()
}
