package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"sort"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// attach appends an attachment. The first one begins a message with each of its own.
func (f *claudeFrame) attach(blocks []BodyBlock) {
	m := f.openUser()
	for i := range blocks {
		if m == nil {
			f.begin(blocks[i : i+1])
			continue
		}
		if raw := f.raw(&blocks[i]); f.FilesApart && raw != nil && raw.Sent.Recorded && filesApart[raw.Type] && f.systemTurns() {
			f.user(blocks[i : i+1])
			continue
		}
		if f.sent(&blocks[i]).Beside || f.carriers[blocks[i].Source.Item] || !f.fold(m, f.before(m, &blocks[i]), &blocks[i]) {
			m.Blocks = append(m.Blocks, blocks[i])
			f.note(m.Blocks, len(m.Blocks)-1)
			f.open.end = len(m.Blocks) - 1
		}
	}
}

// filesApart are the kinds of attachments of Frame.FilesApart.
var filesApart = jsonl.Set("nested_memory file directory")

// openMessage is what is known of the user's message in progress. Its blocks are in their order once it is closed.
type openMessage struct {
	end    int              // of its blocks: the last one in their order
	result int              // the last result, -1: none
	other  int              // the last one that is none, -1: none
	run    []placedResult   // of the results at the end those with no later one on a line at or before theirs: by lines
	merged bool             // more than one message of the user is in it
	folds  map[int][]string // reminders that become a part of a result
}

// placedResult is a result of the message, and its line.
type placedResult struct{ block, line int }

// note notes the blocks from index n on.
func (f *claudeFrame) note(blocks []BodyBlock, n int) {
	o := &f.open
	for i := n; i < len(blocks); i++ {
		if !isResult(blocks[i]) {
			o.other = i
			o.run = nil
			continue
		}
		o.result = i
		if raw := f.raw(&blocks[i]); raw != nil {
			for len(o.run) > 0 && o.run[len(o.run)-1].line >= raw.Line {
				o.run = o.run[:len(o.run)-1]
			}
			o.run = append(o.run, placedResult{i, raw.Line})
		}
	}
}

// openUser is the last message if it is the user's; nil: a new one has to begin.
func (f *claudeFrame) openUser() *BodyMessage {
	if n := len(f.body.Messages); n > 0 && f.body.Messages[n-1].Role == session.User && !f.apart {
		return &f.body.Messages[n-1]
	}
	return nil
}

// begin begins a message of the user.
func (f *claudeFrame) begin(blocks []BodyBlock) {
	f.body.Messages = append(f.body.Messages, BodyMessage{Role: session.User, Blocks: slices.Clip(blocks)})
	f.apart = false
	f.open = openMessage{end: len(blocks) - 1, result: -1, other: -1, folds: map[int][]string{}}
	f.note(blocks, 0)
}

// close writes the last message's reminders into its results and puts its blocks in order, if it is the user's.
func (f *claudeFrame) close() {
	m := f.openUser()
	if m == nil {
		return
	}
	for i, reminders := range f.open.folds {
		m.Blocks[i].JSON = folded(m.Blocks[i].JSON, reminders)
	}
	f.open.folds = nil
	if f.open.merged {
		slices.SortStableFunc(m.Blocks, func(a, b BodyBlock) int { return cmp.Compare(rank(a), rank(b)) })
		f.byCall(m.Blocks)
	}
}

// before is the last block of a message: of results at its end the last one whose line is before the attachment's.
func (f *claudeFrame) before(m *BodyMessage, attachment *BodyBlock) int {
	if raw := f.raw(attachment); raw != nil && isResult(m.Blocks[f.open.end]) {
		run := f.open.run
		if n := sort.Search(len(run), func(i int) bool { return run[i].line >= raw.Line }); n > 0 {
			return run[n-1].block
		}
	}
	return f.open.end
}

// toolLoaded is what the client writes behind results that name tools.
const toolLoaded = "Tool loaded."

// user appends a message of the user. Results stand first, and a text that another follows ends its line in newer clients.
func (f *claudeFrame) user(blocks []BodyBlock) {
	m := f.openUser()
	if m == nil {
		f.begin(blocks)
		return
	}
	last := &m.Blocks[f.open.end]
	if text, ok := last.text(); ok && f.LineEnds && blocks[0].Type == "text" {
		last.JSON = textBlock(text + "\n")
	}
	n := len(m.Blocks)
	m.Blocks = append(m.Blocks, blocks...)
	f.note(m.Blocks, n)
	f.open.merged = true
	f.open.end = f.open.other
	if f.open.other < 0 {
		f.open.end = f.open.result
	}
}

// rank is 0 for results, which stand before the rest of their message.
func rank(b BodyBlock) int {
	if isResult(b) {
		return 0
	}
	return 1
}

// byCall orders the results that stand before the rest of a message as a process has them that read them back: by their
// times, of one moment in the order of the calls. The one that came last is on the path of parents and stays last.
func (f *claudeFrame) byCall(blocks []BodyBlock) {
	n := 0
	for n < len(blocks) && isResult(blocks[n]) && f.Message(blocks[n].Source.Item) != nil && int(blocks[n].Source.Item) < f.own.readBack {
		n++
	}
	if f.ByCall && n > 2 {
		slices.SortStableFunc(blocks[:n-1], func(a, b BodyBlock) int {
			return cmp.Or(f.Message(a.Source.Item).Time.Compare(f.Message(b.Source.Item).Time), cmp.Compare(f.call(a), f.call(b)))
		})
	}
}

// call is the number of a result's call.
func (f *claudeFrame) call(b BodyBlock) int { return f.conv.CallNumber(f.Raw(b.Source)) }

// fold makes a reminder a part of the result of a tool before it, block i. Older clients fold into results of one text
// alone.
func (f *claudeFrame) fold(m *BodyMessage, i int, reminder *BodyBlock) bool {
	text, ok := reminder.text()
	if !ok || !isResult(m.Blocks[i]) || len(f.open.folds[i]) == 0 && !f.folds(m.Blocks[i].JSON) {
		return false
	}
	f.open.folds[i] = append(f.open.folds[i], text)
	return true
}

// folds reports whether a result takes reminders.
func (f *claudeFrame) folds(js []byte) bool {
	raw, _, ok := resultContent(js)
	var whole string
	if !ok || json.Unmarshal(raw, &whole) == nil {
		return ok
	}
	var parts []struct{ Type string }
	if !f.Whole || json.Unmarshal(raw, &parts) != nil {
		return false
	}
	for _, p := range parts {
		if p.Type == "tool_reference" {
			return false
		}
	}
	return true
}

// folded is a result's JSON with reminders at its end: joined to a text, and behind the parts of a result of several, of
// which a text before another one ends its line. (claude of 2.1.332.)
func folded(js []byte, reminders []string) []byte {
	raw, at, _ := resultContent(js)
	var content any
	var whole string
	var parts []json.RawMessage
	if json.Unmarshal(raw, &whole) == nil {
		var texts []string
		for _, text := range slices.Concat([]string{whole}, reminders) {
			if text = strings.TrimSpace(text); text != "" {
				texts = append(texts, text)
			}
		}
		content = strings.Join(texts, "\n\n")
	} else {
		_ = json.Unmarshal(raw, &parts) // folds has read it
		for _, text := range reminders {
			var last struct{ Type, Text string }
			if n := len(parts); n > 0 && json.Unmarshal(parts[n-1], &last) == nil && last.Type == "text" {
				parts[n-1] = textBlock(last.Text + "\n")
			}
			parts = append(parts, textBlock(text))
		}
		content = parts
	}
	return slices.Concat(js[:at], appendValue(nil, content), js[at+len(raw):])
}

// resultContent finds the content of a result's JSON.
func resultContent(js []byte) (raw []byte, at int, ok bool) {
	var members struct{ Content json.RawMessage }
	if json.Unmarshal(js, &members) != nil || len(members.Content) == 0 {
		return nil, 0, false
	}
	at = bytes.Index(js, slices.Concat([]byte(`"content":`), members.Content))
	if at < 0 {
		return nil, 0, false
	}
	return members.Content, at + len(`"content":`), true
}

// namesTool reports whether a block is a result that names a tool whose definition is sent from then on.
func namesTool(b BodyBlock) bool {
	return isResult(b) && bytes.Contains(b.JSON, []byte(`"tool_reference"`))
}
