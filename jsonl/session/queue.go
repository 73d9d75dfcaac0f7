package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// typeQueue is the type of the lines that record the client's queue of prompts: enqueue, and dequeue, remove or popAll
// where one leaves it. A prompt is typed while the agent runs. At the end of a round of tool calls the client sends it
// next to their results, as a separate message, and records a remove. From 2.1.101 on it records the message too, as
// an attachment; before, the queue alone has the text (cli.js of 2.0.76, 2.1.5, 2.1.50 and 2.1.91). What is dequeued
// starts a turn and stands in its own line, and popAll gives it back to the person to edit.
const typeQueue = "queue-operation"

const typeQueued = "queued_command" // of the attachment

// notices start queued texts of the client itself, next to metaHeads. Up to 2.1.91 it sends none of them next to results.
var notices = []string{"<agent-notification>", "<bash-notification>", `{"task_id":`}

// queued is a text that was put into the client's queue.
type queued struct {
	text  string
	after *node // the chained line before it: its own line names no version
	block Block
	left  bool
	taken time.Time // when it was removed; zero: it was not
	used  bool      // part of the conversation
}

type queueOperation struct {
	Operation string `json:"operation"`
	Content   string `json:"content"`
}

// queue notes a line of the queue.
func (ld *loader) queue(e *jsonl.Entry) {
	var op queueOperation
	ok := json.Unmarshal(e.Raw, &op) == nil
	ld.process.queue(&op, len(ld.nodes) == 0, ld.leaves("") < 0)
	if ok && op.Operation == "enqueue" && op.Content != "" {
		ld.enqueue(e, op.Content)
		return
	}
	ld.aside(e.Line, Reason("metadata: "+e.Type))
	if i := ld.leaves(op.Content); i >= 0 {
		ld.queued[i].left = true
		if op.Operation == "remove" {
			ld.queued[i].taken = e.Time
		}
	}
}

func (ld *loader) enqueue(e *jsonl.Entry, text string) {
	q := queued{text: text, after: &node{}}
	if n := len(ld.nodes); n > 0 {
		q.after = ld.nodes[n-1]
	}
	span := jsonl.Span{Off: e.Offset, Len: len(e.Raw)}
	q.block = Block{Line: e.Line, ContentBlock: jsonl.ContentBlock{
		Kind: jsonl.KindAttachment, Type: typeQueued, Text: queuedLength(text, q.after.version),
		JSON: jsonl.Metrics{UTF16: len(e.Raw), Bytes: len(e.Raw)}, Span: span, Value: span,
	}}
	w := &ld.waiting
	i := len(ld.queued)
	if w.named == nil {
		w.named = map[string][]int{}
	}
	w.named[text] = append(w.named[text], i)
	if isNotice(text) {
		w.notices = append(w.notices, i)
	} else {
		w.prompts = append(w.prompts, i)
	}
	ld.queued = append(ld.queued, q)
}

// waiting are the texts in the queue, by index into loader.queued, oldest first. Those that have left stay in a list
// until they are its first.
type waiting struct {
	prompts, notices []int
	named            map[string][]int
}

// leaves is the text that leaves the queue: the named one, else the oldest prompt, else the oldest; -1: none.
func (ld *loader) leaves(named string) int {
	first := func(list *[]int) int {
		for len(*list) > 0 && ld.queued[(*list)[0]].left {
			*list = (*list)[1:]
		}
		if len(*list) == 0 {
			return -1
		}
		return (*list)[0]
	}
	if named != "" {
		list, ok := ld.waiting.named[named]
		i := first(&list)
		if ok {
			ld.waiting.named[named] = list
		}
		return i
	}
	if i := first(&ld.waiting.prompts); i >= 0 {
		return i
	}
	return first(&ld.waiting.notices)
}

func isNotice(text string) bool {
	text = strings.TrimSpace(text)
	return startsWith(text, notices...) || startsWith(text, metaHeads...)
}

const reminderHead, reminderTail = "<system-reminder>\n", "\n</system-reminder>"

// queuedLength is the length of a queued prompt with what a client writes around it.
func queuedLength(text, version string) jsonl.Metrics {
	w := OwnWordsOf(typeQueued, cmp.Or(version, "2.1.20"))
	return w.sentLength([]string{w.Wrap(text)})
}

func olderThan(version, release string) bool {
	return version != "" && CompareVersions(version, release) < 0
}

// findQueued finds the prompts that the client sent next to the results of tool calls: those removed from the queue when
// a result was the newest message, of which no attachment exists. A prompt removed while a response came was withdrawn.
func (c *chain) findQueued() {
	if c.id > 1 || !slices.ContainsFunc(c.loader.queued, func(q queued) bool { return !q.taken.IsZero() }) {
		return
	}
	byTime := slices.DeleteFunc(slices.Clone(c.order), func(i int) bool {
		n := c.node(i)
		return n.kind != nodeUser && n.kind != nodeAssistant || n.time.IsZero()
	})
	slices.SortStableFunc(byTime, func(a, b int) int { return c.node(a).time.Compare(c.node(b).time) })
	for k := range c.loader.queued {
		q := &c.loader.queued[k]
		if q.taken.IsZero() || isNotice(q.text) || c.attached[q.text] {
			continue
		}
		at, _ := slices.BinarySearchFunc(byTime, q.taken, func(i int, t time.Time) int {
			if c.node(i).time.After(t) {
				return 1
			}
			return -1
		})
		if at > 0 && c.node(byTime[at-1]).class == ClassToolResult {
			c.queued[byTime[at-1]] = append(c.queued[byTime[at-1]], k)
		}
	}
}

// emitQueued adds the queued prompts that went out next to a result among the messages from index `from` on. Those of an
// abandoned branch stay away.
func (c *chain) emitQueued(from int) {
	var sent []int
	for m := from; m < len(c.Messages); m++ {
		for _, uuid := range c.Messages[m].UUIDs {
			if i, ok := c.lineOf(uuid); ok {
				sent = append(sent, c.queued[i]...)
				delete(c.queued, i)
			}
		}
	}
	slices.Sort(sent)
	for _, k := range sent {
		q := &c.loader.queued[k]
		q.used = true
		uuid := fmt.Sprintf("queued-%d", q.block.Line)
		m := Message{
			Role: User, Class: ClassPrompt, Marks: Queued, Blocks: []Block{q.block}, Line: q.block.Line, LastLine: q.block.Line,
			UUID: uuid, UUIDs: []string{uuid}, Time: q.taken, Attachment: typeQueued,
		}
		m.markIf(olderThan(q.after.version, "2.1.33"), Uncounted) // they estimate no attachments
		c.push(m, q.after)
		c.turnOver = false
	}
}
