package payloads

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/replay"
)

// TrueRequest is a request that was really sent.
type TrueRequest struct {
	Line     int // of the file that it is from
	Messages []Message
	Frame    *requests.SentBody // its parameters, system prompt and tools, each where the line has it
	Who      string             // what asked: main, subagent, summary; "": unknown
	Answer   string             // message.id of the response; "": unknown
	Failed   bool               // nothing answered it
}

// ReadTrue reads requests from JSON lines or one JSON array: bodies as they were sent, by themselves or as the body or request of an
// object, in a string too, or with what a log says of them next to the messages. Other lines are skipped; where there is nothing else,
// that is an error.
func ReadTrue(name string, r io.Reader) (list []TrueRequest, skipped SkippedLines, err error) {
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if n == 1 && bytes.HasPrefix(bytes.TrimSpace(line), []byte("[")) { // a list of them
			rest, failed := io.ReadAll(lines)
			if failed != nil {
				return nil, skipped, fmt.Errorf("%s:1: %w", name, failed)
			}
			var values []json.RawMessage
			if json.Unmarshal(append(line, rest...), &values) != nil {
				return nil, skipped, fmt.Errorf("%s:1: no request body: neither JSON lines nor a JSON array", name)
			}
			for _, v := range values {
				list = skipped.read(list, 1, v)
			}
			err = io.EOF
		} else if len(bytes.TrimSpace(line)) > 0 {
			list = skipped.read(list, n, line)
		}
		switch {
		case err == nil:
		case err == io.EOF && (len(list) > 0 || skipped.Lines == 0):
			return list, skipped, nil
		case err == io.EOF:
			return nil, skipped, fmt.Errorf("%s:%d: %w", name, skipped.First, skipped.Why)
		default:
			return nil, skipped, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
}

// read adds the request of a line, or counts the line.
func (s *SkippedLines) read(list []TrueRequest, line int, value []byte) []TrueRequest {
	one, wrong := readTrue(value)
	if wrong != nil {
		s.add(line, wrong)
		return list
	}
	one.Line = line
	return append(list, one)
}

// SkippedLines are those that hold no request.
type SkippedLines struct {
	Lines int
	First int   // of the file
	Why   error // of that line
}

func (s *SkippedLines) add(line int, why error) {
	if s.Lines++; s.Lines == 1 {
		s.First = line
		s.Why = why
	}
}

func readTrue(line []byte) (t TrueRequest, err error) {
	if !json.Valid(line) {
		return t, fmt.Errorf("no request body: the line is no JSON")
	}
	body, ok := bodyIn(line)
	if !ok {
		return t, fmt.Errorf("no request body: it has no messages")
	}
	if json.Unmarshal(requests.Member(body, "messages"), &t.Messages) != nil {
		return t, fmt.Errorf("no request body: its messages are not those of a request")
	}
	t.Frame = frameOf(body, requests.Member(line, "params"))
	var log struct {
		Who    string
		Answer struct {
			ID    string
			Error any
		}
	}
	_ = json.Unmarshal(line, &log) // what a log says next to it is not needed
	t.Who, t.Answer, t.Failed = log.Who, log.Answer.ID, log.Answer.Error != nil
	return t, nil
}

// mostWrapped is how many objects or strings a body may be in.
const mostWrapped = 4

// bodyIn is the body that a value is, or that is its body or request; either may be JSON in a string.
func bodyIn(value []byte) (body []byte, ok bool) {
	list := [][]byte{bytes.TrimSpace(value)}
	for range mostWrapped {
		var inner [][]byte
		for _, v := range list {
			if text, quoted := jsonl.Unquote(v); quoted {
				v = bytes.TrimSpace([]byte(text))
			}
			if !json.Valid(v) {
				continue
			}
			if messages := requests.Member(v, "messages"); len(messages) > 0 && messages[0] == '[' {
				return v, true
			}
			inner = append(inner, requests.Member(v, "body"), requests.Member(v, "request"))
		}
		list = inner
	}
	return nil, false
}

// frameOf is what a body has next to its messages, or a log says of it.
func frameOf(body, params []byte) *requests.SentBody {
	system := requests.Member(body, "system")
	tools := requests.Member(body, "tools")
	if params == nil && requests.Member(body, "model") != nil { // a body as it was sent, which has all
		params = body
		system = orEmpty(system)
		tools = orEmpty(tools)
	}
	f := &requests.SentBody{System: listed(system), Tools: listed(tools)}
	var list map[string]json.RawMessage
	_ = json.Unmarshal(params, &list)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if !slices.Contains(noParams, name) {
			f.Params = append(f.Params, requests.Param{Name: name, Value: list[name]})
		}
	}
	return f
}

// noParams are the members of a body that are no parameters on record: what is compared by itself, and what the client
// does not record.
var noParams = strings.Fields("messages system tools metadata stream thread diagnostics safeguards data_flow")

// billing begins a text of the system prompt that is the client's word to its API, and is not recorded.
const billing = "x-anthropic-billing-header"

func orEmpty(list []byte) []byte {
	if list == nil {
		return []byte("[]")
	}
	return list
}

// listed is a list of texts or tools as it is compared; nil where there is none, as in a log that has sizes alone.
func listed(raw []byte) []byte {
	if len(raw) > 0 && raw[0] == '"' {
		raw = slices.Concat([]byte(`[{"type":"text","text":`), raw, []byte(`}]`))
	}
	var list []map[string]any
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return nil
	}
	list = slices.DeleteFunc(list, func(one map[string]any) bool {
		text, _ := one["text"].(string)
		return strings.HasPrefix(text, billing)
	})
	text, _ := json.Marshal(list)
	return text
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
	conv := rec.Conv
	at := map[int]*TrueRequest{}
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
				at[k] = t
				n = k + 1
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
