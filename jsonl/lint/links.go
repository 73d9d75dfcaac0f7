package lint

import (
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// warned adds a warning of loading.
func (l *linter) warned(w session.Warning) {
	at := report{string(w.Code), w.Line}
	switch {
	case !l.rules[at.code]:
		return
	case !perObject(w.Code):
		if l.reported[at] {
			return
		}
		l.reported[at] = true
	}
	l.add(at.code, w.Line, "%s", w.Message)
}

// loaded adds what the conversations show.
func (l *linter) loaded(f *session.File) {
	for _, conv := range f.Conversations() {
		l.answers(conv)
		for i := range conv.Unfiled {
			l.add("missing-subagent", conv.Unfiled[i].Line, "the session has no file of the subagent %.40q", conv.Unfiled[i].Agent)
		}
		for i := range conv.Snips {
			for _, uuid := range conv.Snips[i].Removed {
				l.removed[uuid] = true
			}
		}
	}
}

// answers finds responses that follow another one. Where a compaction was recorded between them, its summary is what was
// said.
func (l *linter) answers(conv *session.Conversation) {
	for k := 1; k < len(conv.Requests); k++ {
		m := conv.Requests[k].Message
		if before := &conv.Messages[m-1]; before.Role == session.Assistant && !before.Synthetic && len(before.Blocks) > 0 {
			l.addNew("answer-after-answer", conv.Messages[m].Line, "the response on line %d comes before it, and nothing between them", before.Line)
		}
	}
}

// perObject reports whether a line may have a code several times, once an object.
func perObject(c session.Code) bool {
	return c == session.CodeMalformed || c == session.CodeNoMessage || c == session.CodeDuplicateUUID
}

// addNew adds a problem that loading has not reported.
func (l *linter) addNew(code string, line int, format string, args ...any) {
	if !l.reported[report{code, line}] {
		l.add(code, line, format, args...)
	}
}

// links checks the parents.
func (l *linter) links() {
	l.at = make(map[string]int, len(l.nodes))
	for i, n := range l.nodes {
		if _, dup := l.at[n.uuid]; !dup && n.uuid != "" {
			l.at[n.uuid] = i
		}
	}
	roots := false
	for _, n := range l.nodes {
		line := n.number
		switch _, there := l.at[n.parent]; {
		case n.parent == "":
			talk := n.kind == user || n.kind == meta || n.kind == assistant
			if roots && talk && n.hasParent && !n.sidechain {
				l.addNew("second-root", line, "no parent, although it is not the first message")
			}
			roots = roots || talk && !n.sidechain
		case there || l.removed[n.parent]:
			roots = roots || !n.sidechain
		case l.reported[report{string(session.CodeEarlier), line}]:
		default:
			roots = roots || !n.sidechain
			l.addNew("lost-parent", line, "the parent %.60q is not in the file", n.parent)
		}
	}
	l.cycles()
	if _, ok := l.at[l.leaf]; l.leaf != "" && !ok {
		l.addNew("lost-leaf", l.leafLine, "the leaf %.60q is not in the file", l.leaf)
	}
}

// cycles finds the cycles of parents and reports each once, at the line where the walk from the first of its lines
// returns.
func (l *linter) cycles() {
	const untouched, walking, done = 0, 1, 2
	state := make([]uint8, len(l.nodes))
	var path []int
	for i := range l.nodes {
		path = path[:0]
		at := i
		ok := true
		for ok && state[at] == untouched {
			state[at] = walking
			path = append(path, at)
			at, ok = l.at[l.nodes[at].parent]
		}
		if ok && state[at] == walking && !l.cycleReported(path, at) {
			l.addNew("parent-circle", l.line(at), "its parents form a cycle")
		}
		for _, p := range path {
			state[p] = done
		}
	}
}

// cycleReported reports whether loading has cut this cycle.
func (l *linter) cycleReported(path []int, at int) bool {
	for i := len(path) - 1; i >= 0; i-- {
		if l.reported[report{string(session.CodeCircle), l.line(path[i])}] {
			return true
		}
		if path[i] == at {
			break
		}
	}
	return false
}

// line is the number of a line in the file.
func (l *linter) line(node int) int { return l.nodes[node].number }

// pairs checks tool calls against results.
func (l *linter) pairs() {
	for _, t := range l.tools {
		most := len(t.calls) // results
		for i := 1; i < len(t.calls); i++ {
			switch c := &t.calls[i]; {
			case l.doubled(&t.calls[0], c) || l.doubled(&t.calls[i-1], c):
				l.addNew("doubled-call", l.line(c.node), "the same message calls a tool with the id %.80q on line %d", t.id, l.line(t.calls[0].node))
				most--
			case c.message == "" || c.message != t.calls[0].message: // else a copy by a client that resumed
				l.addNew("repeated-call", l.line(c.node), "the id %.80q belongs to a call on line %d", t.id, l.line(t.calls[0].node))
			}
		}
		if len(t.calls) == 0 {
			for _, r := range t.results {
				l.addNew("orphan-result", l.line(r), "no call of the file has the id %.80q", t.id)
			}
			continue
		}
		first := t.calls[0].node
		switch line := l.line(first); {
		case len(t.results) == 0 && line >= l.answered[l.nodes[first].agent]:
			l.addNew("open-call", line, "the call %.80q has no result", t.id)
		case len(t.results) == 0:
			l.addNew("unanswered-call", line, "the call %.80q has no result in the file", t.id)
		default:
			if r := l.line(t.results[0]); r < line {
				l.addNew("result-before-call", r, "the call %.80q is on line %d", t.id, line)
			}
			for _, r := range t.results[min(most, len(t.results)):] {
				l.addNew("second-result", l.line(r), "the call %.80q has a result on line %d", t.id, l.line(t.results[0]))
			}
		}
	}
}

// doubled reports whether two calls with one id are in one message. The copy of a line by a client that resumed has
// the same content and another parent.
func (l *linter) doubled(first, c *call) bool {
	switch {
	case c.node == first.node:
		return true
	case c.message == "" || c.message != first.message:
		return false
	}
	above := l.nodes[first.node].uuid
	return c.name != first.name || c.input != first.input || above != "" && l.nodes[c.node].parent == above
}

// compactions checks the summary and the links of each recorded compaction.
func (l *linter) compactions() {
	summarised := map[int]bool{}
	of := make([]int, len(l.nodes)) // the compaction above a line, with no prompt, response or summary between them, plus one
	for i, n := range l.nodes {
		p, ok := l.at[n.parent]
		switch {
		case n.kind == compaction:
			of[i] = i + 1
		case n.kind == summary && ok && of[p] > 0:
			summarised[of[p]-1] = true
		case n.kind == summary:
			l.addNew("lone-summary", n.number, "a summary without a compaction above it")
		case ok && (n.kind == meta || n.kind == other):
			of[i] = of[p]
		}
	}
	before := map[string]int{}
	for _, b := range l.boundaries {
		line := l.line(b.node)
		if !summarised[b.node] {
			l.addNew("no-summary", line, "no summary follows the compaction")
		}
		if b.logical == "" {
			continue
		}
		if _, ok := l.at[b.logical]; !ok {
			l.addNew("lost-logical-parent", line, "the last message before it, %.60q, is not in the file", b.logical)
		}
		if was, ok := before[b.logical]; ok {
			l.addNew("repeated-boundary", line, "the compaction on line %d names the same last message", was)
		} else {
			before[b.logical] = line
		}
	}
}

// otherSessions reports lines of other sessions than that of most lines.
func (l *linter) otherSessions() {
	own := ""
	for i := range l.nodes {
		if s := l.nodes[i].session; l.sessions[s] > l.sessions[own] {
			own = s
		}
	}
	for i := range l.nodes {
		if n := &l.nodes[i]; n.session != "" && n.session != own {
			l.add("other-session", n.number, "the session %.60q, most lines belong to %.60q", n.session, own)
		}
	}
}

// onRecord adds what is wrong with the requests that the file holds.
func (l *linter) onRecord(f *session.File) error {
	if !l.requests {
		return nil
	}
	log, err := requests.Read(f.Main.Source)
	if err != nil {
		return err
	}
	for _, found := range log.Findings {
		l.add(string(found.Code), found.Line, "%s", found.Message)
	}
	return nil
}
