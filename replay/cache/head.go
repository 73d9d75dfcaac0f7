package cache

import "github.com/ctxkit/ctxkit/jsonl/session"

// Head is the part of a request before its messages that a client marks for the cache: tools and the system prompt up
// to its breakpoint. Whatever else the client sends (project instructions, reminders) is in the messages or behind
// that breakpoint.
type Head struct {
	Own    int // tokens up to the last breakpoint before the messages
	Shared int // tokens at its start that all sessions of the client have in common; at most Own
}

// measured are the heads of Claude Code by version. No line of a session holds the system prompt and the tools. These
// are medians over recorded sessions of what requests read when their messages were no longer in the cache. They are
// defaults for a client, not a figure of the replayed session, and less accurate for sessions outside that set
// (docs/internals/model.md).
//
// Sessions with MCP servers or more tools have a larger head, which shows in their larger overhead. They share it
// with no other session: after a pause, recorded sessions read nothing of it.
var measured = []struct {
	since string
	above int // least overhead for this row, tokens
	head  Head
}{
	{"", 0, Head{14000, 14000}},
	{"2.0.70", 0, Head{33500, 33500}},
	{"2.1.10", 0, Head{28000, 28000}},
	{"2.1.17", 0, Head{18600, 16100}},
	{"2.1.19", 0, Head{28000, 10950}},
	{"2.1.25", 0, Head{25400, 0}},
	{"2.1.29", 0, Head{16600, 16600}},
	{"2.1.38", 0, Head{18000, 18000}},
	{"2.1.38", 30000, Head{25500, 25500}},
	{"2.1.42", 0, Head{18500, 18500}},
	{"2.1.42", 30000, Head{27700, 0}},
	{"2.1.90", 0, Head{12000, 12000}},
	{"2.1.117", 0, Head{14900, 14900}},
	{"2.1.117", 38000, Head{29000, 0}},
	{"2.1.138", 0, Head{7650, 7650}},
	{"2.1.159", 0, Head{15550, 15550}},
	{"2.1.210", 0, Head{15550, 0}},
}

// HeadOf returns the head of a client version. overhead is the tokens of its requests beside the messages and limits
// the head; below 0 it is not known.
func HeadOf(version string, overhead int) Head {
	h := measured[0].head
	for _, row := range measured[1:] {
		if version != "" && session.CompareVersions(version, row.since) >= 0 && (row.above == 0 || overhead >= row.above) {
			h = row.head // the last row that fits counts
		}
	}
	if overhead < 0 {
		return h
	}
	return Head{Own: min(h.Own, overhead), Shared: min(h.Shared, overhead)}
}
