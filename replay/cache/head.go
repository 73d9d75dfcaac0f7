package cache

import "github.com/ctxkit/ctxkit/jsonl/session"

// Head is the part of a request before its messages, as far as a client marks it
// for the cache: tools and the system prompt up to its breakpoint. What a client
// sends beyond it (project instructions, reminders) stands in the messages or
// behind that breakpoint.
type Head struct {
	Own    int // tokens up to the last breakpoint before the messages
	Shared int // tokens of its beginning that every session of the client has in common; at most Own
}

// measured are the heads of Claude Code by version. No line of a session holds
// the system prompt and the tools, so these are medians over recorded sessions:
// of what requests read whose messages were not in the cache any more. They are
// defaults for a client, not a figure of the session that is replayed; of sessions
// they were not taken from they are less true (docs/internals/model.md).
//
// Sessions with MCP servers or more tools have a larger head; they are told by
// their larger overhead, and they share it with nobody: recorded sessions read
// nothing of it after a pause.
var measured = []struct {
	since string
	above int // of overhead, tokens: the row holds from there on
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

// HeadOf is the head of a client of a version whose requests carry so much beside
// their messages, in tokens; below 0 that is not known. It is never more than that.
func HeadOf(version string, overhead int) Head {
	h := measured[0].head
	for _, row := range measured[1:] {
		if version != "" && session.CompareVersions(version, row.since) >= 0 && (row.above == 0 || overhead >= row.above) {
			h = row.head // the last row that fits is the one
		}
	}
	if overhead < 0 {
		return h
	}
	return Head{Own: min(h.Own, overhead), Shared: min(h.Shared, overhead)}
}
