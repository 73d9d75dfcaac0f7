package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// noResponse is the answer that a new process of the client writes behind a user message.
func noResponse(uuid, parent string) line {
	l := assistant(uuid, parent, "n"+uuid, text("No response requested."))
	l["message"].(line)["model"] = "<synthetic>"
	return l
}

// hookOutput is the output of a hook as the clients up to 2.1.81 record it.
func hookOutput(uuid, parent, name string) line {
	return chained("progress", uuid, parent).with("data", line{"type": "hook_progress", "hookEvent": "SessionStart", "hookName": name})
}

// by gives the lines of a chain the version of a client.
func by(version string, lines ...any) (out []any) {
	for _, l := range lines {
		switch l := l.(type) {
		case []any:
			out = append(out, by(version, l...)...)
		case line:
			if l["uuid"] != nil {
				l["version"] = version
			}
			out = append(out, l)
		}
	}
	return out
}

// TestRestarts: what says that the client was started again, and what it did not read back.
func TestRestarts(t *testing.T) {
	// The response m1 has thinking, a text and two calls; each result hangs under its own call, and the next response
	// under one of them.
	pieces := strings.NewReplacer("PARALLEL", `user u1 - hello
assistant a1 u1 m1 thinking; assistant a2 a1 m1 {"type":"text","text":"both"}; called a3 a2 m1 t1
called a4 a3 m1 t2; result r1 a3 t1; result r2 a4 t2; said a5 r2 m2`,
		"EXIT", `user c1 a5 <command-name>/exit</command-name>; user c2 c1 <local-command-stdout>Bye</local-command-stdout>`,
		"HOOK", "the output of a SessionStart:resume hook", "ANSWER", `the answer "No response requested."`,
		"QUEUE", "a prompt that a new process took from its queue", "VERSION", "another client version")
	// "by" is the version of the lines behind it. A restart is its line, version, message and request, what is gone, and its sign.
	for _, tt := range strings.Split(pieces.Replace(`
# none
by 2.1.37
PARALLEL; EXIT; user u2 c2 more; said a6 u2 m3
# the hook alone: the history ends in a response
by 2.1.37
PARALLEL; hookOutput p1 a5 SessionStart:resume; hookOutput p2 p1 SessionStart:resume; user u2 p2 more; said a6 u2 m3
= 9 2.1.37 5 3 [{1 2} {2 0}] HOOK
# the answer, and the hook behind it
by 2.1.37
PARALLEL; EXIT; noResponse n1 c2; hookOutput p1 n1 SessionStart:resume; user u2 p1 more; said a6 u2 m3
= 11 2.1.37 7 3 [{1 2} {2 0}] ANSWER
# a client that reads parallel calls back
by 2.1.80
PARALLEL; EXIT; noResponse n1 c2; user u2 n1 more; said a6 u2 m3
= 11 2.1.80 7 3 [] ANSWER
# another version reads by its own rule
by 2.1.80
PARALLEL
by 2.1.37
user u2 a5 more; said a6 u2 m3
= 9 2.1.37 5 3 [{1 2} {2 0}] VERSION
# twice: what is gone goes once
by 2.1.37
PARALLEL; EXIT; noResponse n1 c2; user c3 n1 <command-name>/exit</command-name>; noResponse n2 c3; user u2 n2 more; said a6 u2 m3
= 11 2.1.37 7 3 [{1 2} {2 0}] ANSWER
= 13 2.1.37 9 3 [] ANSWER
# a call without a result, the thinking before it, and the placeholder behind it
by 2.1.37
user u1 - hello; assistant a1 u1 m1 thinking; called a2 a1 m1 t1
user u2 a2 stop; noResponse n1 u2; user u3 n1 more; said a3 u3 m2
= 5 2.1.37 4 2 [{1 0} {1 1} {2 0}] ANSWER
# an attachment beside the path is not read back
by 2.1.91
PARALLEL; attachment x1 r1 hook_additional_context; EXIT; noResponse n1 c2; user u2 n1 more; said a6 u2 m3
= 12 2.1.91 8 3 [{4 0}] ANSWER
# but by clients that write down its words
by 2.1.332
PARALLEL; attachment x1 r1 hook_additional_context rendered=[{"content":"words"}]; EXIT; noResponse n1 c2; user u2 n1 more; said a6 u2 m3
= 12 2.1.332 8 3 [] ANSWER
# a prompt that was never in the queue: the form up to 2.1.37
by 2.1.37
operation dequeue -; PARALLEL; operation dequeue -; user u2 a5 more; said a6 u2 m3
= 11 2.1.37 5 3 [{1 2} {2 0}] QUEUE
# a prompt that is queued after the last process ended
by 2.1.76
operation enqueue hello; operation dequeue -; PARALLEL; lastPrompt ""; operation enqueue more; operation dequeue -; user u2 a5 more; said a6 u2 m3
= 14 2.1.76 5 3 [{1 2} {2 0}] QUEUE
# prompts of one process: the last prompt is written while a call is open, or before a prompt that waits
by 2.1.210
operation enqueue hello; operation dequeue -; user u1 - hello; called a1 u1 m1 t1; lastPrompt ""; operation enqueue more; operation dequeue -
result r1 a1 t1; lastPrompt ""; operation enqueue "and more"; said a2 r1 m2; operation dequeue -; user u2 a2 more; said a3 u2 m3
lastPrompt ""; operation enqueue "Another Claude session sent a message"; operation dequeue -; user u3 a3 again; said a4 u3 m4
# from 2.1.246 on a process writes its cost as it ends, and its last prompt at any time
by 2.1.260
operation enqueue hello; operation dequeue -; PARALLEL; lastPrompt ""; {"type":"cost-state"}; operation enqueue more; operation dequeue -
user u2 a5 more; said a6 u2 m3; lastPrompt ""; operation enqueue again; operation dequeue -; user u3 a6 again; said a7 u3 m4
= 15 2.1.260 5 3 [] QUEUE
# prompts of a terminal, notices, and a text of an unknown form are none
by 2.1.76
PARALLEL; lastPrompt ""; operation enqueue more; operation dequeue -; user u2 a5 more; said a6 u2 m3
lastPrompt ""; operation enqueue <task-notification>; operation dequeue -; operation enqueue - content=[1]; operation dequeue -
user u3 a6 again; said a7 u3 m4
# the start of a session, other hooks, and texts that quote a sign are none
by 2.1.37
hookOutput p0 - SessionStart:resume; hookOutput p1 p0 SessionStart:startup
user u1 p1 hello; said a1 u1 m1; hookOutput p2 a1 SessionStart:compact
user u2 p2 "No response requested. {\"hookName\":\"SessionStart:resume\"}"
assistant a2 u2 m2 {"text":"No response requested.","type":"text"}
attachment x1 a2 note attachment={"content":"{\"hookName\":\"SessionStart:resume\"}","type":"note"}
`), "\n# ")[1:] {
		name, said, _ := strings.Cut(tt, "\n")
		t.Run(name, func(t *testing.T) {
			var lines []any
			var version, want, got string
			for text := range strings.Lines(said) {
				if v, ok := strings.CutPrefix(text, "by "); ok {
					version = strings.TrimSpace(v)
				} else if restart, ok := strings.CutPrefix(text, "= "); ok {
					want += strings.TrimSpace(restart) + "\n"
				} else {
					lines = append(lines, by(version, transcript(text))...)
				}
			}
			conv := load(t, lines...)
			for _, r := range conv.Restarts {
				got += fmt.Sprintln(r.Line, r.Version, r.Before, r.Request, r.Left, r.Sign)
				must.Say(t, "true false", conv.RestartedBefore(r.Request), conv.RestartedBefore(r.Request+1))
			}
			same(t, want, got)
		})
	}
}

// operation is a line of the queue.
func operation(name, content string) line {
	l := line{"type": "queue-operation", "operation": name, "sessionId": "s", "timestamp": "2026-02-01T10:00:00.000Z"}
	if content != "" {
		l["content"] = content
	}
	return l
}
