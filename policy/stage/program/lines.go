package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ctxkit/ctxkit/policy"
)

// What ctxkit writes.
type (
	startLine struct {
		Type      string `json:"type"` // "start"
		Protocol  string `json:"protocol"`
		Session   string `json:"session"`
		Agent     string `json:"agent,omitempty"` // empty: the main conversation
		Model     string `json:"model"`
		Window    int    `json:"window"`     // tokens
		MaxOutput int    `json:"max_output"` // tokens; 0: not known
	}
	requestLine struct {
		Type     string        `json:"type"` // "request"
		Request  int           `json:"request"`
		Now      *time.Time    `json:"now,omitempty"`
		Model    string        `json:"model"`
		Window   int           `json:"window"`   // tokens
		Overhead int           `json:"overhead"` // system prompt and tools, tokens
		Tokens   int           `json:"tokens"`   // of all messages
		Used     int           `json:"used"`     // the client's own estimate of the request, tokens
		Removed  []string      `json:"removed,omitempty"`
		Messages []messageLine `json:"messages"`
	}
	messageLine struct {
		ID      string            `json:"id"`
		After   *string           `json:"after,omitempty"` // of a new message that is not the last: the one before it; "": none
		Role    string            `json:"role"`
		Tokens  int               `json:"tokens"`
		Content []json.RawMessage `json:"content"`
	}
)

// What a program writes.
type (
	readyLine struct {
		Protocol string `json:"protocol"`
	}
	answerLine struct {
		Request  int              `json:"request"`
		Edits    []editLine       `json:"edits"`
		Messages *[]messageAnswer `json:"messages"`
		Call     *callLine        `json:"call"`
	}
	editLine struct {
		Edit     string          `json:"edit"`
		Blocks   []string        `json:"blocks"`
		Messages []string        `json:"messages"`
		Text     *string         `json:"text"`
		Input    json.RawMessage `json:"input"`
		Role     string          `json:"role"`
		Reason   string          `json:"reason"`
		Call     *callLine       `json:"call"`
	}
	messageAnswer struct {
		ID      string          `json:"id"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	callLine struct {
		Input  int `json:"input"`
		Output int `json:"output"`
	}
)

// encode returns a value as one line of JSON, without line end.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// strict reads one JSON object without unknown members.
func strict(text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("more than one value in the line")
	}
	return nil
}

// decode reads the answer to a request.
func decode(text []byte, request int) (*answerLine, error) {
	var a answerLine
	if err := strict(text, &a); err != nil {
		return nil, fmt.Errorf("its answer is not as the protocol has it: %w: %s", err, excerpt(text))
	}
	switch {
	case a.Request != request:
		return nil, fmt.Errorf("it answered request %d: %s", a.Request, excerpt(text))
	case (a.Edits == nil) == (a.Messages == nil):
		return nil, fmt.Errorf("its answer needs one of edits and messages, not both: %s", excerpt(text))
	case a.Call != nil && a.Messages == nil:
		return nil, errors.New("call is next to edits: put it into the edit that summarizes")
	}
	for _, call := range []*callLine{a.Call} {
		if err := call.check(); err != nil {
			return nil, err
		}
	}
	return &a, nil
}

// mostTokens is the largest call that a program may state.
const mostTokens = 1_000_000_000

func (c *callLine) check() error {
	if c != nil && (c.Input < 0 || c.Output < 0 || c.Input > mostTokens || c.Output > mostTokens) {
		return fmt.Errorf("its call has %d tokens of input and %d of output", c.Input, c.Output)
	}
	return nil
}

// excerpt is the beginning of a line, quoted.
func excerpt(text []byte) string {
	const most = 80
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(string(text[:most]), "")) + "…"
	}
	return strconv.Quote(string(text))
}

// clean leaves out what cannot be printed on one line.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
}

// name is an item's id in the lines: m12 is a recorded message, s1 one that the policy added.
func name(id policy.ItemID) string {
	if id < 0 {
		return "s" + strconv.Itoa(int(-id))
	}
	return "m" + strconv.Itoa(int(id))
}
