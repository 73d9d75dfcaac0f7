package main

import (
	"fmt"
	"slices"
	"strconv"
)

// result is what ctxkit says of a recording, held against its log. A request is equal in a column if all of it is.
type result struct {
	name     string
	failed   bool // the client failed, so the numbers are not to be judged
	unread   bool // ctxkit cannot read a session
	requests int  // in the log, answered and on the file
	seen     int  // by ctxkit
	left     int  // of branches that were left, asked for by --leaf
	talk     int  // requests whose conversation is equal
	whole    int  // ... every block, the client's own too
	bounds   int  // ... roles and boundaries of messages (Messages API)
	marks    int  // ... cache breakpoints on the same blocks
	places   int  // ... at the same message and block
	params   int  // ... model and max_tokens
	equal    int  // blocks
	onFile   int  // blocks that only the log has, whose words are on a line of the file
	offFile  int  // ... are on no line
	ours     int  // blocks that only ctxkit has
	counted  int  // compactions that ctxkit counts
	asked    int  // summaries that the client asked for
	first    string
	where    string // first without words of the client
	seconds  float64
	// decisions are the numbers of the requests before which the client compacted, and those before which ctxkit says so:
	// by the session, and by the policy that was asked for.
	askedAt, countedAt, policyAt []int
	policy                       string
}

func (r result) String() string {
	seen := strconv.Itoa(r.seen)
	if r.left > 0 {
		seen += fmt.Sprintf("+%d", r.left)
	}
	if r.unread {
		seen = "?"
	}
	text := fmt.Sprintf("%-40s %3d/%-5s %4d %4d %4d %4d %4d %4d  %5d %4d+%-4d %4d  %d/%d", r.name, r.requests, seen, r.talk, r.whole, r.bounds, r.marks, r.places, r.params,
		r.equal, r.onFile, r.offFile, r.ours, r.counted, r.asked)
	if r.seconds > 0 {
		text += fmt.Sprintf("  %.0f s", r.seconds)
	}
	if !slices.Equal(r.askedAt, r.countedAt) {
		text += fmt.Sprintf("\n    the client compacted before requests %d, ctxkit reads it before %d", r.askedAt, r.countedAt)
	}
	if r.policy != "" {
		text += fmt.Sprintf("\n    the client compacted before requests %d, policy %s compacts before %d", r.askedAt, r.policy, r.policyAt)
	}
	if r.first != "" {
		text += "\n    " + r.first
	}
	return text
}

const header = "recording                                 requests  conv whole bnds mark plcs parm  equal  only true ours  compactions"

// good reports whether all conversations are equal and every compaction is counted.
func (r result) good() bool {
	return !r.unread && r.talk == r.requests && r.requests == r.seen+r.left && r.counted == r.asked
}

// note keeps the first difference.
func (r *result) note(full, where string) {
	if r.first == "" {
		r.first, r.where = full, where
	}
}
