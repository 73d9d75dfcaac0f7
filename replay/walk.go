package replay

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// track is one way of going through a conversation: the record's own, or a
// policy's. walk calls it in the order things happened.
type track interface {
	boundary(i int)                // a recorded compaction stands here
	micro(i int)                   // a recorded microcompaction stands here
	edited(act recordedAct)        // a recorded snip, collapse or replacement stands here
	join(m int)                    // message m is said
	request(k int)                 // request k (0-based) is about to be made
	respond(k int)                 // response k and all its tool results have joined
	turnEnd(next int, final bool)  // the agent has stopped; next is the 0-based request to come
	manual(boundary int, next int) // the user asked for a compaction
	done() bool                    // nothing more is wanted
}

// walk goes through a conversation: messages join one by one, a request is
// made before each response, a turn ends before each typed prompt that was not
// queued, and at the end.
func walk(conv *session.Conversation, t track) {
	w := walker{conv: conv, t: t, responding: -1, open: map[string]bool{}}
	for m := range conv.Messages {
		w.recorded(m)
		w.message(m)
		if t.done() {
			return
		}
	}
	w.recorded(len(conv.Messages))
	w.settle()
	if w.active {
		t.turnEnd(w.next, true)
	}
}

type walker struct {
	conv       *session.Conversation
	t          track
	next       int             // 0-based number of the request to come
	b, u       int             // next boundary, next microcompaction
	s, c, r    int             // next snip, next collapse, next replacement
	responding int             // request whose results are awaited, -1: none
	open       map[string]bool // its tool calls without a result yet
	active     bool            // something was answered since the last turn end
}

// recorded passes on the record's own acts that stand before message m, in the
// order a client's stages run.
func (w *walker) recorded(m int) {
	for w.r < len(w.conv.Replaced) && w.conv.Replaced[w.r].Before <= m {
		w.t.edited(recordedAct{actReplacement, w.r})
		w.r = nextReplacement(w.conv, w.r)
	}
	for w.s < len(w.conv.Snips) && w.conv.Snips[w.s].Before <= m {
		w.t.edited(recordedAct{actSnip, w.s})
		w.s++
	}
	for w.u < len(w.conv.Micro) && w.conv.Micro[w.u].Before <= m {
		w.t.micro(w.u)
		w.u++
	}
	for w.c < len(w.conv.Collapses) && w.conv.Collapses[w.c].Before <= m {
		w.t.edited(recordedAct{actCollapse, w.c})
		w.c++
	}
	for w.b < len(w.conv.Boundaries) && w.conv.Boundaries[w.b].Before <= m {
		i := w.b
		w.b++
		if w.conv.Boundaries[i].Trigger == "manual" {
			w.settle()
			if w.active {
				w.active = false
				w.t.turnEnd(w.next, false)
			}
			w.t.manual(i, w.next)
		}
		w.t.boundary(i)
	}
}

func (w *walker) message(m int) {
	msg := &w.conv.Messages[m]
	if w.next < len(w.conv.Requests) && w.conv.Requests[w.next].Message == m {
		w.settle()
		k := w.next
		w.t.request(k)
		if w.t.done() {
			return
		}
		w.next++
		w.t.join(m)
		w.responding, w.active = k, true
		clear(w.open)
		for b := range msg.Blocks {
			if msg.Blocks[b].Kind == jsonl.KindToolUse {
				w.open[msg.Blocks[b].ID] = true
			}
		}
		if len(w.open) == 0 {
			w.settle()
		}
		return
	}
	if msg.Class == session.ClassToolResult && w.responding >= 0 {
		w.t.join(m)
		for b := range msg.Blocks {
			if msg.Blocks[b].Kind == jsonl.KindToolResult {
				delete(w.open, msg.Blocks[b].ID)
			}
		}
		if len(w.open) == 0 {
			w.settle()
		}
		return
	}
	w.settle()
	if msg.Class == session.ClassPrompt && !msg.Queued && w.active {
		w.active = false
		w.t.turnEnd(w.next, false)
	}
	w.t.join(m)
}

// settle ends the wait for the results of the last response.
func (w *walker) settle() {
	if w.responding < 0 {
		return
	}
	k := w.responding
	w.responding = -1
	w.t.respond(k)
}
