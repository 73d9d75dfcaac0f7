package payloads

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/ctxkit/ctxkit/replay"
)

// TrueRequest is a request that was really sent.
type TrueRequest struct {
	Line     int // of the file that it is from
	Messages []Message
	Who      string // what asked: main, subagent, summary; "": unknown
	Answer   string // message.id of the response; "": unknown
	Failed   bool   // nothing answered it
}

// ReadTrue reads requests from JSON lines: bodies as they were sent, by themselves or as the body or request of an
// object, or with what a log says of them beside the messages.
func ReadTrue(name string, r io.Reader) (list []TrueRequest, err error) {
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			one, err := readTrue(line)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			one.Line = n
			list = append(list, one)
		}
		switch err {
		case nil:
		case io.EOF:
			return list, nil
		default:
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
}

func readTrue(line []byte) (t TrueRequest, err error) {
	var o struct {
		Messages      []Message
		Body, Request struct{ Messages []Message }
		Who           string
		Answer        *struct {
			ID    string
			Error any
		}
	}
	if err := json.Unmarshal(line, &o); err != nil {
		return t, fmt.Errorf("no request body: %w", err)
	}
	for _, list := range [][]Message{o.Messages, o.Body.Messages, o.Request.Messages} {
		if t.Messages == nil {
			t.Messages = list
		}
	}
	if t.Messages == nil {
		return t, fmt.Errorf("no request body: it has no messages")
	}
	t.Who = o.Who
	if o.Answer != nil {
		t.Answer, t.Failed = o.Answer.ID, o.Answer.Error != nil
	}
	return t, nil
}

// named reports whether requests name their answers.
func named(list []TrueRequest) bool {
	for i := range list {
		if list[i].Answer != "" {
			return true
		}
	}
	return false
}

// match finds the true request that was sent as each request of a conversation: by the id of its response; where none is
// known, by what it asks for, in order.
func match(rec *replay.Record, list []TrueRequest) (map[int]*TrueRequest, error) {
	conv, at := rec.Conv, map[int]*TrueRequest{}
	if named(list) {
		n := map[string]int{}
		for k := range conv.Requests {
			n[conv.Response(k).ID] = k + 1
		}
		for i := range list {
			if t := &list[i]; t.Answer != "" && !t.Failed && n[t.Answer] > 0 {
				at[n[t.Answer]] = t
			}
		}
		return at, nil
	}
	asks := make([]string, len(conv.Requests)+1)
	err := new(reader).eachRebuilt(rec, func(n int, ours func() ([]Block, error)) error {
		blocks, err := ours()
		asks[n] = asked(blocks)
		return err
	})
	if err != nil {
		return nil, err
	}
	who := "main"
	if conv.Agent != "" {
		who = "subagent"
	}
	n := 1
	for i := range list {
		t := &list[i]
		if t.Failed || t.Who != "" && t.Who != who {
			continue
		}
		want := asked(Blocks(t.Messages))
		for k := n; k < len(asks) && k < n+mostSkipped; k++ {
			if t.Who != "" || asks[k] == want { // a log that says who asked has all
				at[k], n = t, k+1
				break
			}
		}
	}
	return at, nil
}

// mostSkipped is how many requests that no true one is known of may be between two that are.
const mostSkipped = 20

// asked is the last that the user's side says in a request: results by their calls, else the last text.
func asked(blocks []Block) string {
	for i := len(blocks) - 1; i >= 0; i-- {
		b := &blocks[i]
		switch text := b.words; {
		case b.Kind == "tool_result":
			return b.ID
		case b.Role == "user" && text != "":
			return text
		}
	}
	return ""
}
