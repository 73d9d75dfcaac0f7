package lint

import (
	"fmt"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// linter collects the lines of one file and their problems.
type linter struct {
	found    map[string]*findings
	most     int // places of a code that are kept
	rules    map[string]bool
	reported map[report]bool // problems that loading reported: not reported twice

	nodes      []line
	at         map[string]int   // uuid -> index into nodes, the first line that has it; made once the file is read
	sessions   map[string]int   // number of lines by session id
	last       time.Time        // of the chained line before
	tools      []*tool          // in order of appearance
	tool       map[string]*tool // id -> tool
	answered   map[string]int   // agent -> line of its last assistant line
	usage      map[string]int   // message.id -> input tokens on its first line
	boundaries []boundary
	leaf       string          // of last-prompt
	leafLine   int             // line of last-prompt
	removed    map[string]bool // uuids that snips removed
	foreign    bool            // another agent recorded the session: its reader made the lines
	requests   bool            // the file holds requests
}

// findings are the places of a code.
type findings struct {
	n      int
	places []Occurrence // the first ones
}

type report struct {
	code string
	line int
}

// line is a line of the chain.
type line struct {
	uuid, parent string
	agent        string
	number       int
	session      string
	kind         lineKind
	sidechain    bool
	hasParent    bool
}

type lineKind uint8

const (
	other lineKind = iota
	user
	meta // a user line that the client wrote
	assistant
	compaction
	summary
)

// tool is what has one tool id.
type tool struct {
	id      string
	calls   []call
	results []int // lines, indexes into nodes
}

// call is a tool call.
type call struct {
	node    int    // the line, index into nodes
	message string // message.id
	name    string // of the tool
	input   jsonl.Metrics
}

type boundary struct {
	node    int
	logical string
}

func newLinter(opt *session.LoadOptions) *linter {
	l := &linter{
		found: map[string]*findings{}, most: int(opt.Limits.Filled().Findings), rules: map[string]bool{}, reported: map[report]bool{}, sessions: map[string]int{},
		tool: map[string]*tool{}, answered: map[string]int{}, usage: map[string]int{}, removed: map[string]bool{},
	}
	for _, r := range Rules() {
		l.rules[r.Code] = true
	}
	opt.Item = l.item
	opt.Aside = l.aside
	opt.Warned = l.warned
	return l
}

func (l *linter) add(code string, line int, format string, args ...any) {
	f := l.found[code]
	if f == nil {
		f = &findings{}
		l.found[code] = f
	}
	if f.n++; f.n <= l.most {
		f.places = append(f.places, Occurrence{line, fmt.Sprintf(format, args...)})
	}
}

// metadata lists the types of lines outside the chain: those that were seen, and those of the client's own list in 2.1.332.
var metadata = jsonl.Set(`
	summary file-history-snapshot file-history-delta queue-operation last-prompt ai-title custom-title agent-name
	agent-setting pr-link mode permission-mode bridge-session atis-latch tag worktree-state content-replacement
	marble-origami-commit marble-origami-snapshot recorded-by recorded-totals recorded-call tools-used cost-state
	attribution-snapshot fork-context-ref data-flow-records data-flow-incomplete derived-from frame-link relocated
	agent-color observer-ref isolation-latch session-owner dev-mods memory-mode artifact-comment-monitor
	artifact-autoreact-ledger ended-by-model continued-in resume-head-vouch history-suppression repl-mode
	hybrid-organization host-row
`)

// chained lists the types of lines of the chain.
var chained = jsonl.Set(`user assistant system attachment progress`)

// setAside lists code and message of the lines that loading sets aside, by reason.
var setAside = map[session.Reason][2]string{
	session.AsideBlank:    {"blank-line", "an empty line"},
	session.AsideComment:  {"comment-line", "a comment"},
	session.AsideBranch:   {"abandoned-branch", "no part of the live branch"},
	session.AsideAPIError: {"api-error", "an error of the API, written by the client"},
	session.AsideRecord:   {"unused-record", "a record of an edit that fits nothing of the session"},
}

// aside reports a line that loading has set aside.
func (l *linter) aside(line int, r session.Reason) {
	if p, ok := setAside[r]; ok {
		l.add(p[0], line, "%s", p[1])
	}
}

func (l *linter) item(rec *jsonl.Item) (_ error) {
	if rec.Fused {
		l.add("fused-lines", rec.Line, "behind the first object of the line")
	}
	if rec.Kind != jsonl.ItemEntry {
		return
	}
	e := rec.Entry
	switch {
	case e.Type == "":
		l.add("no-type", e.Line, "an object without a type")
	case requests.IsType(e.Type):
		l.requests = true
	case !chained[e.Type] && !metadata[e.Type]:
		l.add("unknown-type", e.Line, "the type %.60q", e.Type)
	}
	if e.Type == foreign.TypeSession {
		l.foreign = true
	}
	if e.Type == "last-prompt" && e.LeafUUID != "" {
		l.leaf = e.LeafUUID
		l.leafLine = e.Line
	}
	talk := e.Type == "user" || e.Type == "assistant"
	if e.UUID == "" && !talk {
		return
	}
	l.chain(e)
	if talk && e.HasMessage {
		l.message(e)
	}
	return nil
}

// chain adds a line of the chain.
func (l *linter) chain(e *jsonl.Entry) {
	n := line{
		uuid: e.UUID, parent: e.ParentUUID, hasParent: e.HasParent, agent: e.AgentID, sidechain: e.IsSidechain,
		number: e.Line, session: e.SessionID,
	}
	switch {
	case e.Type == "assistant":
		n.kind = assistant
	case e.Type == "user" && e.IsCompactSummary:
		n.kind = summary
	case e.Type == "user" && e.IsMeta:
		n.kind = meta
	case e.Type == "user":
		n.kind = user
	case e.Subtype == "compact_boundary":
		n.kind = compaction
	}
	if e.Time.IsZero() {
		l.add("no-timestamp", e.Line, "%s line without a timestamp", article(e.Type))
	} else {
		if e.Time.Before(l.last) {
			l.add("time-backwards", e.Line, "%s before the line above", l.last.Sub(e.Time))
		}
		l.last = e.Time
	}
	if e.UUID == "" {
		l.add("no-uuid", e.Line, "%s line without a uuid", article(e.Type))
	}
	if e.SessionID != "" {
		l.sessions[e.SessionID]++
	}
	at := len(l.nodes)
	l.nodes = append(l.nodes, n)
	switch n.kind {
	case assistant:
		l.answered[n.agent] = e.Line
	case compaction:
		l.boundaries = append(l.boundaries, boundary{at, e.LogicalParentUUID})
	}
}

// article is a word with "a" or "an" before it.
func article(word string) string {
	if word != "" && strings.ContainsRune("aeio", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}

// message checks a message.
func (l *linter) message(e *jsonl.Entry) {
	m := &e.Message
	if made := l.foreign && e.IsCompactSummary; m.Role != "" && m.Role != e.Type && !made {
		l.add("wrong-role", e.Line, "%s line holds a message of the role %.40q", article(e.Type), m.Role)
	}
	if failed := m.StopReason == "error" || m.StopReason == "aborted"; len(m.Content) == 0 && !failed && !l.foreign {
		l.add("empty-message", e.Line, "%s message without content", article(e.Type))
	}
	if m.Omitted > 0 {
		l.add("too-many-blocks", e.Line, "%d blocks are left out", m.Omitted)
	}
	for i := range m.Content {
		l.block(e, &m.Content[i])
	}
	if e.Type != "assistant" || m.Model == "<synthetic>" || e.IsAPIError || e.NoRequest {
		return
	}
	if m.OddUsage != "" {
		return // loading reports it
	}
	if !m.HasUsage {
		l.add("no-usage", e.Line, "an answer without usage")
		return
	}
	if was, ok := l.usage[m.ID]; m.ID != "" && !ok {
		l.usage[m.ID] = m.Usage.Context()
	} else if ok && was != m.Usage.Context() {
		l.add("usage-differs", e.Line, "%d input tokens, %d on the first line of the message", m.Usage.Context(), was)
	}
}

func (l *linter) block(e *jsonl.Entry, b *jsonl.ContentBlock) {
	switch b.Kind {
	case jsonl.KindToolUse, jsonl.KindToolResult:
	case jsonl.KindUnknown:
		if !l.foreign {
			l.add("unknown-block", e.Line, "a block of the type %.60q", b.Type)
		}
		return
	default:
		return
	}
	if b.ID == "" {
		l.add("no-call-id", e.Line, "a %s without an id", b.Type)
		return
	}
	t := l.tool[b.ID]
	node := len(l.nodes) - 1
	if t == nil {
		t = &tool{id: b.ID}
		l.tools = append(l.tools, t)
		l.tool[b.ID] = t
	}
	if b.Kind == jsonl.KindToolUse {
		t.calls = append(t.calls, call{node, e.Message.ID, b.Name, b.JSON})
	} else {
		t.results = append(t.results, node)
	}
}
