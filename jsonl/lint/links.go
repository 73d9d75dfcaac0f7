package lint

import (
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// loaded takes over what loading has warned of.
func (l *linter) loaded(f *session.File) {
	known := map[string]bool{}
	for _, r := range Rules() {
		known[r.Code] = true
	}
	for _, conv := range f.Conversations() {
		for _, w := range conv.Warnings {
			at := toldAt{string(w.Code), w.Line}
			if !known[at.code] || l.told[at] && !perObject(w.Code) {
				continue
			}
			l.told[at] = true
			l.add(at.code, w.Line, "%s", w.Message)
		}
		for i := range conv.Snips {
			for _, uuid := range conv.Snips[i].Removed {
				l.removed[uuid] = true
			}
		}
	}
}

// perObject reports whether a code is told of each object that is set aside, of
// which there may be several on a line.
func perObject(c session.Code) bool {
	return c == session.CodeMalformed || c == session.CodeNoMessage || c == session.CodeDuplicateUUID
}

// tell adds what loading has not told of already.
func (l *linter) tell(code string, line int, format string, args ...any) {
	if !l.told[toldAt{code, line}] {
		l.add(code, line, format, args...)
	}
}

// links follows the parents.
func (l *linter) links() {
	roots := false
	for i := range l.nodes {
		n := &l.nodes[i]
		line := int(n.number)
		switch _, there := l.at[n.parent]; {
		case n.parent == "":
			talk := n.kind == user || n.kind == assistant
			if roots && talk && n.hasParent && !n.sidechain {
				l.tell("second-root", line, "it has no parent, and is not the first")
			}
			roots = roots || talk && !n.sidechain
		case there || l.removed[n.parent]:
			roots = roots || !n.sidechain
		case l.told[toldAt{string(session.CodeEarlier), line}]:
		default:
			roots = roots || !n.sidechain
			l.tell("lost-parent", line, "the parent %.60q is not in the file", n.parent)
		}
	}
	l.circles()
	if _, ok := l.at[l.leaf]; l.leaf != "" && !ok {
		l.tell("lost-leaf", l.leafLine, "the leaf %.60q is not in the file", l.leaf)
	}
}

// circles finds the parents that run in a circle: each is told once, where the
// walk from the lines above first comes back.
func (l *linter) circles() {
	const untouched, walking, done = 0, 1, 2
	state := make([]uint8, len(l.nodes))
	var path []int32
	for i := range l.nodes {
		path = path[:0]
		at, ok := int32(i), true
		for ok && state[at] == untouched {
			state[at] = walking
			path = append(path, at)
			at, ok = l.at[l.nodes[at].parent]
		}
		if ok && state[at] == walking && !l.toldInCircle(path, at) {
			l.tell("parent-circle", int(l.nodes[at].number), "its parents lead back to it")
		}
		for _, p := range path {
			state[p] = done
		}
	}
}

// toldInCircle reports whether loading has cut this circle already.
func (l *linter) toldInCircle(path []int32, at int32) bool {
	for i := len(path) - 1; i >= 0; i-- {
		if l.told[toldAt{string(session.CodeCircle), int(l.nodes[path[i]].number)}] {
			return true
		}
		if path[i] == at {
			break
		}
	}
	return false
}

// pairs brings tool calls and results together.
func (l *linter) pairs() {
	for _, id := range l.order {
		calls, results := l.calls[id], l.results[id]
		most := len(calls) // results there may be
		for i := 1; i < len(calls); i++ {
			switch c := &calls[i]; {
			case l.doubled(&calls[0], c) || l.doubled(&calls[i-1], c):
				l.tell("doubled-call", c.line, "%.80q is the id of a call of the same message, on line %d, already", id, calls[0].line)
				most--
			case c.message == "" || c.message != calls[0].message: // else a copy, as a client that resumes writes them
				l.tell("repeated-call", c.line, "%.80q is the id of a call on line %d already", id, calls[0].line)
			}
		}
		switch {
		case len(calls) == 0:
			for _, r := range results {
				l.tell("orphan-result", r.line, "no call of the file has the id %.80q", id)
			}
		case len(results) == 0 && calls[0].line >= l.answered[calls[0].agent]:
			l.tell("open-call", calls[0].line, "%.80q is not answered", id)
		case len(results) == 0:
			l.tell("unanswered-call", calls[0].line, "no result of the file answers %.80q", id)
		default:
			if results[0].line < calls[0].line {
				l.tell("result-before-call", results[0].line, "the call of %.80q stands on line %d", id, calls[0].line)
			}
			for _, r := range results[min(most, len(results)):] {
				l.tell("second-result", r.line, "%.80q has a result on line %d already", id, results[0].line)
			}
		}
	}
}

// doubled reports whether a call stands in the message of another one of its
// id. A copy of a line, as a client that resumes writes them, holds the same and
// hangs elsewhere.
func (l *linter) doubled(first, c *pair) bool {
	switch {
	case c.node == first.node:
		return true
	case c.message == "" || c.message != first.message:
		return false
	}
	return c.name != first.name || c.input != first.input || l.nodes[first.node].uuid != "" && l.nodes[c.node].parent == l.nodes[first.node].uuid
}

// compactions looks at what belongs to each recorded compaction.
func (l *linter) compactions() {
	summarised := map[int32]bool{}
	for _, i := range l.summaries {
		n := &l.nodes[i]
		p, ok := l.at[n.parent]
		if ok && l.nodes[p].kind == compaction {
			summarised[p] = true
			continue
		}
		l.tell("lone-summary", int(n.number), "a summary without a compaction above it")
	}
	before := map[string]int32{}
	for _, b := range l.boundaries {
		line := int(l.nodes[b.node].number)
		if !summarised[b.node] {
			l.tell("no-summary", line, "no summary stands under it")
		}
		for _, uuid := range b.preserved {
			if _, ok := l.at[uuid]; !ok {
				l.tell("lost-preserved", line, "the message %.60q that it kept is not in the file", uuid)
			}
		}
		if b.logical == "" {
			continue
		}
		if _, ok := l.at[b.logical]; !ok {
			l.tell("lost-logical-parent", line, "the last message before it, %.60q, is not in the file", b.logical)
		}
		if was, ok := before[b.logical]; ok {
			l.tell("repeated-boundary", line, "the compaction on line %d names the same last message", was)
		} else {
			before[b.logical] = int32(line)
		}
	}
}

// sessions tells of lines that belong to another session than most.
func (l *linter) sessions() {
	if len(l.ids) < 2 {
		return
	}
	own := 0
	for i, n := range l.perID {
		if n > l.perID[own] {
			own = i
		}
	}
	for i := range l.nodes {
		if n := &l.nodes[i]; n.session >= 0 && int(n.session) != own {
			l.add("other-session", int(n.number), "the session %.60q, most lines are of %.60q", l.ids[n.session], l.ids[own])
		}
	}
}
