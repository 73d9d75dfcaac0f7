// Package pi reads the sessions of Pi (pi-coding-agent), JSON Lines of three versions.
//
// Version 1 is a list in the order of the file. Versions 2 and 3 are a tree by parentId, whose live branch is that of
// the last entry. What Pi sends is built of the branch: a compaction puts its summary in front of the entries from
// the first one that it kept, and branch summaries, messages of extensions and commands of the user are messages of
// the user. (session-manager.ts and messages.ts of pi-mono.)
package pi

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// words.txt lists the words that carry the structure of a session.
//
//go:embed words.txt
var words string

// Form is the form of Pi's sessions.
func Form() foreign.Form {
	return foreign.Form{
		Name: "pi", Client: "Pi", Looks: looks, Convert: convert, Words: words,
		Declared: foreign.Declared{
			Reads:     "session files of versions 1 to 3",
			Exact:     "tokens and cost of each request, branches, compactions with what they kept, if anything (`retain-none` since 0.87.0)",
			Estimated: "the requests that summarise, in older versions",
		},
		Store: foreign.Store{Env: "PI_CODING_AGENT_DIR", Home: ".pi/agent", Folder: "sessions", Inside: []string{"*"}},
		Tools: foreign.Tools(`
			Read: read
			Bash: bash
			Edit: edit
			Write: write
			Grep: grep
			Glob: find
			LS: ls
		`),
	}
}

func looks(v *foreign.Value) bool {
	switch v.Fields["type"] {
	case "session":
		return v.Has("id", "timestamp") && (v.Has("cwd") || v.Has("version"))
	case "message": // the first line is lost
		return v.Has("message.role", "timestamp")
	}
	return false
}

// reader converts one session.
type reader struct {
	*foreign.Writer
	entries []*entry
	byID    map[string]*entry
	tree    bool
	model   string // of the last response
}

func convert(in io.Reader, out *foreign.Writer) error {
	r := &reader{Writer: out, byID: map[string]*entry{}}
	err := out.Lines(in, r.read)
	r.begin()
	leaf := r.branch()
	for _, e := range r.entries {
		r.put(e)
	}
	if uuid, _ := r.above(leaf); r.tree && uuid != "" {
		r.Leaf(uuid)
	}
	return err
}

// read keeps an entry: parents may be later in the file.
func (r *reader) read(u foreign.Unit, raw *jsonl.Entry) {
	e := &entry{unit: u, line: raw.Line}
	r.Decode(raw.Raw, e.line, e)
	e.n = len(r.entries)
	r.entries = append(r.entries, e)
	if e.ID != "" && e.Type != "session" {
		r.tree = true
		if r.byID[e.ID] == nil {
			r.byID[e.ID] = e
		}
	}
}

// newest is the version of sessions that is read.
const newest = 3

// skipsFailed is the version of sessions from which on what a failed or aborted request wrote is not sent again. (The first
// releases with it still sent the text of aborted ones; no line tells them apart.)
const skipsFailed = 3

// begin finds what holds for the whole session.
func (r *reader) begin() {
	var s foreign.Session
	begun := false
	version := 0
	for _, e := range r.entries {
		switch {
		case e.Type == "session" && !begun:
			s.ID = e.ID
			s.CWD = e.CWD
			begun = true
			version = e.Version
			r.Format(e.line, float64(version), newest)
		case e.Message != nil && e.Message.Role == "assistant" && s.Provider == "":
			s.Provider = e.Message.Provider
		}
		if m := e.Message; m != nil && m.Role == "assistant" && version >= skipsFailed && (m.StopReason == "error" || m.StopReason == "aborted") {
			e.failed, m.Content = m.Usage.recorded() == nil, nil // one that has cost tokens is a request
		}
	}
	r.Begin(s)
}

// up is the entry above e, nil where there is none in the file.
func (r *reader) up(e *entry) *entry {
	if p := r.byID[e.ParentID]; e.ParentID != "" && p != e {
		return p
	}
	return nil
}

// above is the uuid of the nearest line put at or above an entry; lost is the first parent that is not in the file.
func (r *reader) above(e *entry) (uuid, lost string) {
	var passed []*entry
	for e != nil && e.at == "" && !e.done {
		e.done = true
		passed = append(passed, e)
		p := r.up(e)
		switch {
		case p == nil:
			lost = e.ParentID
		case p.sent(): // it may be put later
			uuid = p.uuid()
			p = nil
		}
		e = p
	}
	switch {
	case e == nil:
	case e.at != "":
		uuid = e.at
	default:
		uuid = e.top
		lost = e.lost
	}
	for _, p := range passed {
		p.top = uuid
		p.lost = lost
	}
	return uuid, lost
}

// billed puts the call of an entry whose usage no message has.
func (r *reader) billed(e *entry, kind string) {
	r.PutCall(e.unit, foreign.BilledCall{ID: e.request(), Kind: kind, Model: cmp.Or(e.Model, r.model), Time: e.Timestamp, Usage: e.Usage.recorded()})
}

// line is the line of an entry, linked to what is above it.
func (r *reader) line(e *entry, kind string) foreign.Line {
	l := foreign.Line{Type: kind, UUID: e.ID, Time: e.Timestamp}
	if e.ID == "" {
		return l
	}
	uuid, lost := r.above(e)
	l.Parent = uuid + lost
	l.Root = l.Parent == ""
	return l
}

func (r *reader) put(e *entry) {
	if e.Type == "branch_summary" && e.Usage.recorded() != nil {
		r.billed(e, "summary")
	}
	switch {
	case e.sent():
	case e.Type == "branch_summary" && e.Usage.recorded() != nil:
		return
	case e.Type == "usage" && e.Usage.recorded() != nil:
		kind := "other"
		if e.Kind == "cache_warm" {
			kind = "warming"
		}
		r.billed(e, kind)
		return
	case e.Type == "message" && e.Message == nil:
		r.Aside(e.unit, "message line without a message")
		return
	case e.failed:
		r.Aside(e.unit, "a request that failed or was aborted")
		return
	case e.Type == "message" && e.Message.Excluded:
		r.Aside(e.unit, "a command that the user kept from the model")
		return
	case e.Type == "message" && e.Message.Role == "system":
		r.Aside(e.unit, "the system prompt")
		return
	case e.Type == "message":
		r.Aside(e.unit, "unknown role: "+e.Message.Role)
		return
	case e.Type == "session":
		if e.n > 0 {
			r.Aside(e.unit, "a second session's first line")
		}
		return
	case e.Type == "session_info" && e.Name != "":
		r.Put(-1, foreign.Line{Type: "ai-title", Title: e.Name})
		r.Aside(e.unit, "metadata: session_info")
		return
	case e.Type == "":
		r.Aside(e.unit, "no type")
		return
	case e.Type == "context_edit":
		r.edit(e)
		return
	default:
		r.Aside(e.unit, "metadata: "+e.Type)
		return
	}
	switch e.Type {
	case "compaction":
		r.compaction(e)
	case "branch_summary":
		r.note(e, foreign.Text(branchPrefix+e.Summary+branchSuffix))
	case "custom_message":
		r.note(e, blocks(e.Content)...)
	default:
		r.message(e)
	}
}

// note puts a message for the model that no person typed.
func (r *reader) note(e *entry, content ...foreign.Block) {
	l := r.line(e, "user")
	l.Meta, l.Message = true, foreign.Said(content...)
	e.at = r.Put(e.unit, l)
}

func (r *reader) message(e *entry) {
	m := e.Message
	switch m.Role {
	case "bashExecution":
		r.note(e, foreign.Text(ran(m)))
		return
	case "custom", "hookMessage":
		r.note(e, blocks(m.Content)...)
		return
	}
	var l foreign.Line
	switch m.Role {
	case "user":
		l = r.line(e, "user")
		l.Message = foreign.Said(blocks(m.Content)...)
	case "toolResult":
		l = r.line(e, "user")
		var content any = blocks(m.Content)
		if len(content.([]foreign.Block)) == 0 {
			content = ""
		}
		l.Message = foreign.Said(foreign.Result(m.ToolCallID, content, m.IsError))
	case "assistant":
		l = r.line(e, "assistant")
		l.Request = cmp.Or(m.ResponseID, e.request())
		r.model = cmp.Or(m.Model, r.model)
		id := e.ID
		if id == "" {
			id = fmt.Sprintf("line-%d-%d", e.line, e.unit) // one line is one response
		}
		l.Message = &foreign.Message{
			ID: id, Type: "message", Model: m.Model, Content: blocks(m.Content), StopReason: stopReason(m.StopReason), Usage: m.Usage.recorded(),
		}
	}
	e.at = r.Put(e.unit, l)
}

// compaction puts the boundary and the summary. Whether the user asked for it is not recorded, nor, in most versions, is
// the request that wrote the summary.
func (r *reader) compaction(e *entry) {
	l := r.line(e, "system")
	l.Subtype = "compact_boundary"
	l.Logical = l.Parent
	l.Compact = &foreign.Compact{Trigger: "unknown", PreTokens: e.TokensBefore, Usage: e.Usage.recorded()}
	if l.Compact.Usage != nil {
		l.Compact.Request = e.request()
	}
	l.Compact.Range = r.preserved(e)
	at := r.Put(e.unit, l)
	s := foreign.Line{Type: "user", Parent: at, Time: e.Timestamp, Summary: true}
	if e.ID != "" {
		s.UUID = e.uuid()
	}
	s.Message = foreign.Said(foreign.Text(summaryPrefix + e.Summary + summarySuffix))
	e.at = r.Put(e.unit, s)
}

// preserved is what a compaction kept: the messages from an entry on, whatever compactions before it left of them.
// (buildContextEntries of session-manager.ts.) One that names itself kept nothing.
func (r *reader) preserved(c *entry) *foreign.KeptRange {
	first := r.byID[c.KeptID]
	if k := c.KeptIndex; k != nil && *k >= 0 && *k < len(r.entries) {
		first = r.entries[*k]
	}
	switch {
	case c.place == 0, first == c, first == nil && c.KeptIndex == nil && c.KeptID == "":
		return nil
	case first == nil || first.place == 0 || first.place > c.place:
		r.Warn(c.line, "unreadable-metadata", "the compaction kept what follows an entry that is not before it: no message is kept")
		return nil
	case first.next == nil || first.next.place > c.place:
		return nil
	}
	return &foreign.KeptRange{Head: cmp.Or(first.next.at, first.next.ID), Tail: cmp.Or(c.prev.at, c.prev.ID)}
}

// edit puts a change of the sent content of an entry, which holds on its own branch from there on.
func (r *reader) edit(e *entry) {
	var t *entry
	if e.Target != nil {
		t = r.byID[*e.Target]
	}
	if t == nil || t.at == "" || e.place == 0 || t.place == 0 {
		r.Aside(e.unit, "metadata: "+e.Type)
		return
	}
	to := e.Replacement
	var object struct{ Content json.RawMessage }
	if json.Unmarshal(to, &object) == nil && object.Content != nil {
		to = object.Content
	}
	text := ""
	for _, b := range blocks(to) {
		if b.Type == "text" {
			text = strings.TrimPrefix(text+"\n"+*b.Text, "\n")
		}
	}
	l := r.line(e, "system")
	switch {
	case text == "":
		l.Subtype = "context_edit"
		l.Removed = []string{t.at}
	case t.Message != nil && t.Message.Role == "toolResult":
		l = foreign.Line{Type: foreign.TypeReplaced, ToolUseID: t.Message.ToolCallID, Replacement: text}
	default:
		l = foreign.Line{Type: foreign.TypeCollapsed, First: t.at, Last: t.at, Collapsed: text}
	}
	e.at = r.Put(e.unit, l)
}

// before is the entry before e on its branch.
func (r *reader) before(e *entry) *entry {
	if e.ID != "" {
		return r.up(e)
	}
	if e.n > 0 {
		return r.entries[e.n-1]
	}
	return nil
}

// branch finds the live branch, that of the last entry, or of the one that it names, and returns its end.
func (r *reader) branch() *entry {
	var leaf *entry
	for _, e := range slices.Backward(r.entries) {
		if !r.tree || e.ID != "" && e.Type != "session" {
			leaf = e
			break
		}
	}
	if leaf != nil && leaf.Type == "leaf" && leaf.Target != nil && r.byID[*leaf.Target] != nil {
		leaf = r.byID[*leaf.Target]
	}
	var path []*entry // the last one first
	for e := leaf; e != nil && e.place == 0; e = r.before(e) {
		e.place = 1
		path = append(path, e)
	}
	var last *entry
	for i, e := range slices.Backward(path) {
		e.place = len(path) - i
		e.prev = last
		if e.sent() && e.Type != "compaction" {
			last = e
		}
	}
	var next *entry
	for _, e := range path {
		if e.sent() && e.Type != "compaction" {
			next = e
		}
		e.next = next
	}
	return leaf
}
