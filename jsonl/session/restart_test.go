package session_test

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
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

// by gives lines the version of a client.
func by(version string, lines ...any) (out []any) {
	for _, l := range lines {
		switch l := l.(type) {
		case []any:
			out = append(out, by(version, l...)...)
		case line:
			out = append(out, l.with("version", version))
		}
	}
	return out
}

// TestRestarts: what says that the client was started again, and what it did not read back.
func TestRestarts(t *testing.T) {
	// The response m1 has thinking, a text and two calls; each result hangs under its own call, and the next response
	// under one of them.
	parallel := func(version string) []any {
		return by(version, transcript(`
user u1 - hello
assistant a1 u1 m1 thinking; assistant a2 a1 m1 {"text":"both","type":"text"}; called a3 a2 m1 t1
called a4 a3 m1 t2; result r1 a3 t1; result r2 a4 t2; said a5 r2 m2
`))
	}
	exit := func(version string) []any {
		return by(version, transcript(`user c1 a5 <command-name>/exit</command-name>; user c2 c1 <local-command-stdout>Bye</local-command-stdout>`))
	}
	type restart struct {
		Line    int
		Sign    session.RestartSign
		Version string
		Before  int
		Request int
		Left    []session.BlockPlace
	}
	for _, tt := range []struct {
		name  string
		lines []any
		want  []restart
	}{
		{"none", slices.Concat(parallel("2.1.37"), exit("2.1.37"), by("2.1.37", transcript(`user u2 c2 more; said a6 u2 m3`))), nil},
		{
			"the hook alone: the history ends in a response",
			slices.Concat(parallel("2.1.37"), by("2.1.37", transcript(`hookOutput p1 a5 SessionStart:resume; hookOutput p2 p1 SessionStart:resume; user u2 p2 more; said a6 u2 m3`))),
			[]restart{{9, session.SignHook, "2.1.37", 5, 3, []session.BlockPlace{{1, 2}, {2, 0}}}},
		},
		{
			"the answer, and the hook behind it",
			slices.Concat(parallel("2.1.37"), exit("2.1.37"), by("2.1.37", transcript(`noResponse n1 c2; hookOutput p1 n1 SessionStart:resume; user u2 p1 more; said a6 u2 m3`))),
			[]restart{{11, session.SignNoResponse, "2.1.37", 7, 3, []session.BlockPlace{{1, 2}, {2, 0}}}},
		},
		{
			"a client that reads parallel calls back",
			slices.Concat(parallel("2.1.80"), exit("2.1.80"), by("2.1.80", transcript(`noResponse n1 c2; user u2 n1 more; said a6 u2 m3`))),
			[]restart{{11, session.SignNoResponse, "2.1.80", 7, 3, nil}},
		},
		{
			"another version reads by its own rule",
			slices.Concat(parallel("2.1.80"), by("2.1.37", transcript(`user u2 a5 more; said a6 u2 m3`))),
			[]restart{{9, session.SignVersion, "2.1.37", 5, 3, []session.BlockPlace{{1, 2}, {2, 0}}}},
		},
		{
			"twice: what is gone goes once",
			slices.Concat(parallel("2.1.37"), exit("2.1.37"), by("2.1.37", transcript(`
noResponse n1 c2
user c3 n1 <command-name>/exit</command-name>; noResponse n2 c3; user u2 n2 more; said a6 u2 m3
`))),
			[]restart{
				{11, session.SignNoResponse, "2.1.37", 7, 3, []session.BlockPlace{{1, 2}, {2, 0}}},
				{13, session.SignNoResponse, "2.1.37", 9, 3, nil},
			},
		},
		{
			"a call without a result, the thinking before it, and the placeholder behind it",
			by("2.1.37", transcript(`
user u1 - hello; assistant a1 u1 m1 thinking; called a2 a1 m1 t1
user u2 a2 stop; noResponse n1 u2; user u3 n1 more; said a3 u3 m2
`)),
			[]restart{{5, session.SignNoResponse, "2.1.37", 4, 2, []session.BlockPlace{{1, 0}, {1, 1}, {2, 0}}}},
		},
		{
			"an attachment beside the path is not read back",
			slices.Concat(parallel("2.1.91"), by("2.1.91", transcript(`attachment x1 r1 hook_additional_context`)),
				exit("2.1.91"), by("2.1.91", transcript(`noResponse n1 c2; user u2 n1 more; said a6 u2 m3`))),
			[]restart{{12, session.SignNoResponse, "2.1.91", 8, 3, []session.BlockPlace{{4, 0}}}},
		},
		{
			"but by clients that write down its words",
			slices.Concat(parallel("2.1.332"), by("2.1.332", transcript(`attachment x1 r1 hook_additional_context rendered=[{"content":"words"}]`)),
				exit("2.1.332"), by("2.1.332", transcript(`noResponse n1 c2; user u2 n1 more; said a6 u2 m3`))),
			[]restart{{12, session.SignNoResponse, "2.1.332", 8, 3, nil}},
		},
		{
			"a prompt that was never in the queue: the form up to 2.1.37",
			slices.Concat(transcript(`operation dequeue -`), parallel("2.1.37"), transcript(`operation dequeue -`), by("2.1.37", transcript(`user u2 a5 more; said a6 u2 m3`))),
			[]restart{{11, session.SignQueue, "2.1.37", 5, 3, []session.BlockPlace{{1, 2}, {2, 0}}}},
		},
		{
			"a prompt that is queued after the last process ended",
			slices.Concat(transcript(`operation enqueue hello; operation dequeue -`), parallel("2.1.76"), transcript(`lastPrompt ""; operation enqueue more; operation dequeue -`),
				by("2.1.76", transcript(`user u2 a5 more; said a6 u2 m3`))),
			[]restart{{14, session.SignQueue, "2.1.76", 5, 3, []session.BlockPlace{{1, 2}, {2, 0}}}},
		},
		{
			"prompts of one process: the last prompt is written while a call is open, or before a prompt that waits",
			slices.Concat(transcript(`operation enqueue hello; operation dequeue -`), by("2.1.210", transcript(`user u1 - hello; called a1 u1 m1 t1`)),
				transcript(`lastPrompt ""; operation enqueue more; operation dequeue -`), by("2.1.210", transcript(`result r1 a1 t1`)),
				transcript(`lastPrompt ""; operation enqueue "and more"`), by("2.1.210", transcript(`said a2 r1 m2`)),
				transcript(`operation dequeue -`), by("2.1.210", transcript(`user u2 a2 more; said a3 u2 m3`)),
				transcript(`lastPrompt ""; operation enqueue "Another Claude session sent a message"; operation dequeue -`), by("2.1.210", transcript(`user u3 a3 again; said a4 u3 m4`))),
			nil,
		},
		{
			"from 2.1.246 on a process writes its cost as it ends, and its last prompt at any time",
			slices.Concat(transcript(`operation enqueue hello; operation dequeue -`), parallel("2.1.260"), []any{lastPrompt(""), line{"type": "cost-state"}, operation("enqueue", "more"), operation("dequeue", "")},
				by("2.1.260", transcript(`user u2 a5 more; said a6 u2 m3`)), transcript(`lastPrompt ""; operation enqueue again; operation dequeue -`),
				by("2.1.260", transcript(`user u3 a6 again; said a7 u3 m4`))),
			[]restart{{15, session.SignQueue, "2.1.260", 5, 3, nil}},
		},
		{
			"prompts of a terminal, notices, and a text of an unknown form are none",
			slices.Concat(parallel("2.1.76"), transcript(`lastPrompt ""; operation enqueue more; operation dequeue -`), by("2.1.76", transcript(`user u2 a5 more; said a6 u2 m3`)),
				[]any{lastPrompt(""), operation("enqueue", "<task-notification>"), operation("dequeue", ""), operation("enqueue", "").with("content", []int{1}), operation("dequeue", "")},
				by("2.1.76", transcript(`user u3 a6 again; said a7 u3 m4`))),
			nil,
		},
		{
			"the start of a session, other hooks, and texts that quote a sign are none",
			slices.Concat(by("2.1.37", transcript(`
hookOutput p0 - SessionStart:resume; hookOutput p1 p0 SessionStart:startup
user u1 p1 hello; said a1 u1 m1; hookOutput p2 a1 SessionStart:compact
user u2 p2 "No response requested. {\"hookName\":\"SessionStart:resume\"}"
`)),
				by("2.1.37", transcript(`
assistant a2 u2 m2 {"text":"No response requested.","type":"text"}
attachment x1 a2 note attachment={"content":"{\"hookName\":\"SessionStart:resume\"}","type":"note"}
`))),
			nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conv := load(t, tt.lines...)
			var got []restart
			for _, r := range conv.Restarts {
				got = append(got, restart{r.Line, r.Sign, r.Version, r.Before, r.Request, r.Left})
				if !conv.RestartedBefore(r.Request) || conv.RestartedBefore(r.Request+1) {
					t.Errorf("RestartedBefore(%d) is %t, of the request after it %t", r.Request, conv.RestartedBefore(r.Request), conv.RestartedBefore(r.Request+1))
				}
			}
			if !slices.EqualFunc(got, tt.want, func(a, b restart) bool {
				left := slices.Equal(a.Left, b.Left)
				a.Left, b.Left = nil, nil
				return left && a.Line == b.Line && a.Sign == b.Sign && a.Version == b.Version && a.Before == b.Before && a.Request == b.Request
			}) {
				t.Errorf("restarts %+v\nwant %+v", got, tt.want)
			}
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
