package record

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// WalkedTrack follows a conversation: the recorded track, or a policy's. Walk calls it in causal order.
type WalkedTrack interface {
	Recorded(act Act)              // the client recorded an act here
	Join(m int)                    // message m joins
	Request(k int)                 // request k (0-based) is about to be made
	Responds() bool                // whether respond is to be called
	Respond(k int)                 // response k and all its tool results have joined
	TurnEnd(next int, final bool)  // the agent has stopped; next is the 0-based request to come
	Manual(boundary int, next int) // the user runs a compaction
	Done() bool                    // ends the walk early
}

// Walk calls the track for a whole conversation: messages join one by one, a request is made before each response, a
// turn ends before each typed prompt that was not queued, and at the end.
func Walk(conv *session.Conversation, t WalkedTrack) {
	w := walker{conv: conv, t: t, responds: t.Responds(), responding: -1}
	for m := range conv.Messages {
		w.recorded(m)
		w.message(m)
		if t.Done() {
			return
		}
	}
	w.recorded(len(conv.Messages))
	w.settle()
	w.end(true)
}

// walker is the place that a walk has come to.
type walker struct {
	conv       *session.Conversation
	t          WalkedTrack
	next       int               // 0-based number of the request to come
	acts       actIndexes        // of the acts to come
	responds   bool              // the track waits for tool results
	responding int               // request that waits for tool results, -1: none
	open       session.OpenCalls // its tool calls without a result yet
	active     bool              // the agent has run since the last turn end
}

// actIndexes are indexes into the conversation's lists of acts.
type actIndexes struct{ boundary, micro, snip, collapse, replacement, restart int }

// recorded passes on the acts that are recorded before message m, in the order in which a client's stages run.
func (w *walker) recorded(m int) {
	conv := w.conv
	next := &w.acts
	for ; next.restart < len(conv.Restarts) && conv.Restarts[next.restart].Before <= m; next.restart++ {
		w.settle()
		w.end(false)
		w.t.Recorded(Act{ActRestart, next.restart})
	}
	for ; next.replacement < len(conv.Replaced) && conv.Replaced[next.replacement].Before <= m; next.replacement = nextReplacement(conv, next.replacement) {
		w.t.Recorded(Act{ActReplacement, next.replacement})
	}
	for ; next.snip < len(conv.Snips) && conv.Snips[next.snip].Before <= m; next.snip++ {
		w.t.Recorded(Act{ActSnip, next.snip})
	}
	for ; next.micro < len(conv.Micro) && conv.Micro[next.micro].Before <= m; next.micro++ {
		w.t.Recorded(Act{ActMicro, next.micro})
	}
	for ; next.collapse < len(conv.Collapses) && conv.Collapses[next.collapse].Before <= m; next.collapse++ {
		w.t.Recorded(Act{ActCollapse, next.collapse})
	}
	for ; next.boundary < len(conv.Boundaries) && conv.Boundaries[next.boundary].Before <= m; next.boundary++ {
		if conv.Boundaries[next.boundary].Trigger == "manual" {
			w.settle()
			w.end(false)
			w.t.Manual(next.boundary, w.next)
		}
		w.t.Recorded(Act{ActBoundary, next.boundary})
	}
}

// message passes on message m, and the request that it answers.
func (w *walker) message(m int) {
	msg := &w.conv.Messages[m]
	response := w.next < len(w.conv.Requests) && w.conv.Requests[w.next].Message == m
	result := !response && msg.Class == session.ClassToolResult && w.responding >= 0
	if !result {
		w.settle()
	}
	if response {
		if w.t.Request(w.next); w.t.Done() {
			return
		}
		w.active = true
		if w.responds {
			w.responding = w.next
		}
		w.next++
		clear(w.open)
	} else if msg.Class == session.ClassPrompt && !msg.Is(session.Queued) {
		w.active = w.active || msg.Is(session.Stopped)
		w.end(false)
	}
	if w.t.Join(m); !w.responds {
		return
	}
	for b := range msg.Blocks {
		switch bl := &msg.Blocks[b]; {
		case response && bl.Kind == jsonl.KindToolUse:
			w.open.Add(bl.ID)
		case result && bl.Kind == jsonl.KindToolResult:
			w.open.Answer(bl.ID)
		}
	}
	if (response || result) && len(w.open) == 0 {
		w.settle()
	}
}

// settle ends the wait for the results of the last response.
func (w *walker) settle() {
	if k := w.responding; k >= 0 {
		w.responding = -1
		w.t.Respond(k)
	}
}

// end ends a turn in which the agent has run.
func (w *walker) end(final bool) {
	if w.active {
		w.active = false
		w.t.TurnEnd(w.next, final)
	}
}
