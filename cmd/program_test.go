package cmd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sampleProgram is a program as the stage program asks it. The first word says what it does, and from which request on
// where that is a number behind it:
//
//	mask N      clears all results but the newest N, by edits
//	list N      the same, by a whole list of messages with ids
//	bare N      the same, by a list of messages without ids
//	summarize N turns all but the newest N messages into a summary, where that leaves whole pairs
//	drop N      leaves the oldest messages out of the list but the first, where N and more follow that begin with no result
//	keep        answers no edits
//	mark FILE   the same, and makes the file as soon as it runs
//	hang, hang-with-child, hang-with-session, answer-with-session, die, flood, rubbish, deaf, twice, half, rewrite, unknown, other, empty, version, restless
func sampleProgram(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &sampleState{what: args[0], out: bufio.NewWriter(stdout)}
	if len(args) > 1 {
		p.n, _ = strconv.Atoi(args[1])
	}
	if p.what == "child" { // of hang-with-child: it shows that it lives
		for {
			os.WriteFile(args[1], []byte(time.Now().Format(time.RFC3339Nano)), 0o600)
			time.Sleep(20 * time.Millisecond)
		}
	}
	if p.what == "mark" {
		if err := os.WriteFile(args[1], []byte("it ran\n"), 0o600); err != nil {
			panic(err)
		}
	}
	lines := bufio.NewReader(stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var in sampleLine
		if err := json.Unmarshal(line, &in); err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		if in.Type == "start" {
			version := "ctxkit.program/v1"
			if p.what == "version" {
				version = "ctxkit.program/v9"
			}
			p.write(map[string]any{"protocol": version})
			continue
		}
		p.take(&in)
		if code, ends := p.answer(&in, args, stderr); ends {
			return code
		}
	}
}

type sampleLine struct {
	Type     string
	Request  int
	Removed  []string
	Messages []sampleMessage
}

type sampleMessage struct {
	ID      string            `json:"id,omitempty"`
	After   *string           `json:"-"`
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

func (m *sampleMessage) UnmarshalJSON(js []byte) error {
	type plain sampleMessage
	var x struct {
		plain
		After *string `json:"after"`
	}
	err := json.Unmarshal(js, &x)
	*m = sampleMessage(x.plain)
	m.After = x.After
	return err
}

type sampleState struct {
	what string
	n    int
	out  *bufio.Writer
	list []sampleMessage
}

func (p *sampleState) write(v any) {
	js, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	p.out.Write(append(js, '\n'))
	p.out.Flush()
}

// take follows the conversation as docs/programs.md says.
func (p *sampleState) take(in *sampleLine) {
	p.list = slices.DeleteFunc(p.list, func(m sampleMessage) bool { return slices.Contains(in.Removed, m.ID) })
	for _, m := range in.Messages {
		at := func(id string) int {
			return slices.IndexFunc(p.list, func(x sampleMessage) bool { return x.ID == id })
		}
		switch i := at(m.ID); {
		case i >= 0:
			p.list[i] = m
		case m.After == nil:
			p.list = append(p.list, m)
		default:
			p.list = slices.Insert(p.list, at(*m.After)+1, m)
		}
	}
}

type sampleBlock struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Use     string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
}

func readSample(js []byte) (b sampleBlock) {
	if err := json.Unmarshal(js, &b); err != nil {
		panic(err)
	}
	return b
}

// results names the blocks with a result, oldest first.
func (p *sampleState) results(typ string) (names []string) {
	for _, m := range p.list {
		for i, js := range m.Content {
			if readSample(js).Type == typ {
				names = append(names, fmt.Sprintf("%s.%d", m.ID, i))
			}
		}
	}
	return names
}

const sampleText = "[old result]"

// masked is the list with all results but the newest n replaced.
func (p *sampleState) masked(ids bool) []sampleMessage {
	old := p.results("tool_result")
	old = old[:max(len(old)-p.n, 0)]
	var list []sampleMessage
	for _, m := range p.list {
		one := sampleMessage{ID: m.ID, Role: m.Role}
		for i, js := range m.Content {
			if slices.Contains(old, fmt.Sprintf("%s.%d", m.ID, i)) {
				b := readSample(js)
				js, _ = json.Marshal(map[string]string{"type": b.Type, "tool_use_id": b.Use, "content": sampleText})
			}
			one.Content = append(one.Content, js)
		}
		if !ids {
			one.ID = ""
		}
		list = append(list, one)
	}
	return list
}

// split is where the newest n messages begin, or before that, where no pair is cut; 0 where there is no such place.
func (p *sampleState) split() int {
	for i := len(p.list) - p.n; i > 1; i-- {
		m := &p.list[i]
		if m.Role == "user" && readSample(m.Content[0]).Type == "text" && p.list[i-1].Role == "assistant" {
			return i
		}
	}
	return 0
}

func (p *sampleState) answer(in *sampleLine, args []string, stderr io.Writer) (code int, ends bool) {
	edits := func(list ...map[string]any) {
		if list == nil {
			list = []map[string]any{}
		}
		p.write(map[string]any{"request": in.Request, "edits": list})
	}
	results := p.results("tool_result")
	switch p.what {
	case "mask":
		if old := results[:max(len(results)-p.n, 0)]; len(old) > 0 {
			edits(map[string]any{"edit": "clear", "blocks": old, "text": sampleText})
			return
		}
		edits()
		return
	case "list", "bare":
		p.write(map[string]any{"request": in.Request, "messages": p.masked(p.what == "list")})
		return
	case "summarize":
		if at := p.split(); at > 0 {
			var ids []string
			for _, m := range p.list[:at] {
				ids = append(ids, m.ID)
			}
			edits(map[string]any{"edit": "summarize", "messages": ids, "text": fmt.Sprintf("Summary of %d messages.", at), "reason": "enough"})
			return
		}
		edits()
		return
	case "drop":
		list := p.list
		if at := p.split(); at > 0 {
			list = append(slices.Clone(list[:1]), list[at:]...)
		}
		p.write(map[string]any{"request": in.Request, "messages": list})
		return
	}
	if p.what == "keep" || p.what == "mark" || p.what == "version" || in.Request < p.n || len(results) == 0 {
		edits()
		return
	}
	first, last := results[0], results[len(results)-1]
	switch p.what {
	case "hang-with-child", "hang-with-session", "answer-with-session":
		self, err := os.Executable()
		if err != nil {
			panic(err)
		}
		child := exec.Command(self, "child", args[2])
		child.Args[0] = "sample-program" // by which the test binary knows what it is
		if p.what != "hang-with-child" { // it leaves the group
			child = exec.Command("sh", "-c", `exec setsid sh -c 'while :; do date +%N >"$0"; sleep 0.02; done' "$0"`, args[2])
		}
		if err := child.Start(); err != nil {
			panic(err)
		}
		if p.what == "answer-with-session" {
			p.n = math.MaxInt // one child is enough
			edits()
			return
		}
		time.Sleep(time.Hour)
	case "hang":
		time.Sleep(time.Hour)
	case "die":
		fmt.Fprintln(stderr, "I have \x1b[31mhad enough")
		return 7, true
	case "flood":
		for text := strings.Repeat("x", 1<<20); ; {
			if _, err := p.out.WriteString(text); err != nil {
				return 1, true
			}
		}
	case "rubbish":
		p.out.WriteString("Here is the list you asked for:\n")
		p.out.Flush()
	case "deaf":
		p.write(map[string]any{"request": in.Request, "edits": []int{}})
		time.Sleep(time.Hour)
	case "twice":
		edits()
		edits()
	case "half":
		edits(map[string]any{"edit": "remove", "blocks": []string{last}})
	case "rewrite":
		edits(map[string]any{"edit": "clear", "blocks": []string{p.results("tool_use")[0]}, "text": "I never said that"})
	case "unknown":
		edits(map[string]any{"edit": "clear", "blocks": []string{"m9999.0"}, "text": "x"})
	case "other":
		p.write(map[string]any{"request": in.Request + 1, "edits": []int{}})
	case "empty":
		p.write(map[string]any{"request": in.Request, "messages": []int{}})
	case "restless":
		edits(map[string]any{"edit": "clear", "blocks": []string{first}, "text": time.Now().Format(time.RFC3339Nano)})
	default:
		fmt.Fprintf(stderr, "no such thing: %q\n", p.what)
		return 2, true
	}
	return 0, false
}
