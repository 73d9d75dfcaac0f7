package tokens

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// EncodeOptions say how a conversation is counted in an encoding.
type EncodeOptions struct {
	Jobs        int     // goroutines that count; 0: one
	Ratio       float64 // tokens of the model for one of the encoding; 0: one
	LargeImages bool    // the model is of the 4.7 generation or later (see ImageCost)
}

// NewTokenizer is how the price table names the tokenizer of the 4.7
// generation and later.
const NewTokenizer = "new"

// Tokens of Claude for one of o200k_base, by the generation of its tokenizer:
// the growth of the recorded context over what joined, median of 50 and 15
// recorded sessions (quartiles 1.19 to 1.27 and 1.68 to 1.75).
const (
	oldRatio = 1.24
	newRatio = 1.7
)

// Ratio is how many tokens of a model one of o200k_base stands for; of a model
// that is not Claude's, one. No name is taken for Claude.
func Ratio(model, tokenizer string) float64 {
	switch {
	case tokenizer == NewTokenizer:
		return newRatio
	case tokenizer == "" && model != "" && !strings.Contains(strings.ToLower(model), "claude"):
		return 1
	}
	return oldRatio
}

// Encoded is the table of a conversation's blocks as they count in an encoding:
// text and thinking as they are; a tool_use as the JSON of its name and input;
// a tool_result as its texts, each by itself; an image by ImageCost, or
// ImageTokens where its size is not known; anything else as its JSON.
//
// It reads every text once. The result does not depend on the number of jobs.
func Encoded(conv *session.Conversation, e *Encoder, how EncodeOptions) (*Table, error) {
	if how.Ratio == 0 {
		how.Ratio = 1
	}
	t := newTable(conv, func(_ jsonl.Kind, n jsonl.Metrics) int {
		return scaled(policy.RoundQuarter(n.UTF16), how.Ratio)
	})
	t.count = func(text string) int { return scaled(e.Count(text), how.Ratio) }
	t.stubs = map[policy.Target]int{}
	w := &encodeWork{Table: t, encoder: e, how: how, failed: len(conv.Messages)}
	var wait sync.WaitGroup
	for range max(1, min(how.Jobs, len(conv.Messages)/encodeStep+1)) {
		wait.Go(w.run)
	}
	wait.Wait()
	if w.err != nil {
		return nil, w.err
	}
	return t, nil
}

func scaled(n int, ratio float64) int { return int(math.Round(float64(n) * ratio)) }

// encodeStep is how many messages a goroutine takes at a time: neighbours in
// the file, too, so that a compressed one is decoded about once.
const encodeStep = 16

// encodeWork is what the goroutines that count a conversation share.
type encodeWork struct {
	*Table
	encoder *Encoder
	how     EncodeOptions
	next    atomic.Int64 // the next message nobody has taken

	mu     sync.Mutex // guards what follows, and the table's stubs
	failed int        // the first message that could not be counted
	err    error      // why
}

func (w *encodeWork) run() {
	for {
		from := int(w.next.Add(encodeStep)) - encodeStep
		if from >= len(w.conv.Messages) {
			return
		}
		for m := from; m < min(from+encodeStep, len(w.conv.Messages)); m++ {
			if err := w.message(m); err != nil {
				w.fail(m, err)
				return
			}
		}
	}
}

// fail keeps the error of the first message, whoever meets one first. Messages
// before it have all been taken.
func (w *encodeWork) fail(m int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m < w.failed {
		w.failed, w.err = m, err
	}
	w.next.Store(int64(len(w.conv.Messages)))
}

func (w *encodeWork) message(m int) error {
	for b := range w.conv.Messages[m].Blocks {
		n, err := w.block(m, b)
		if err != nil {
			return err
		}
		if w.conv.Messages[m].Blocks[b].ReadBack() {
			// What was sent was the stub; raw history has the whole.
			w.mu.Lock()
			w.stubs[policy.Target{Item: policy.ItemID(m), Block: b}] = n
			w.mu.Unlock()
			text, err := w.conv.WholeText(m, b)
			if err != nil {
				return err
			}
			n = w.count(text)
		}
		w.set(m, b, n)
	}
	return nil
}

// block counts a block as it was recorded.
func (w *encodeWork) block(m, b int) (int, error) {
	bl := &w.conv.Messages[m].Blocks[b]
	switch bl.Kind {
	case jsonl.KindImage, jsonl.KindDocument:
		raw, err := w.conv.Raw(m, b)
		return w.picture(raw), err
	case jsonl.KindToolResult:
		if !bl.IsString && len(bl.Parts) > 0 {
			raw, err := w.conv.Raw(m, b)
			return w.parts(raw), err
		}
	}
	text, err := w.conv.Text(m, b)
	if err != nil {
		return 0, err
	}
	switch bl.Kind {
	case jsonl.KindToolUse, jsonl.KindServerToolUse:
		return w.count(toolUseJSON(bl.Name, text)), nil
	case jsonl.KindAttachment:
		// The client's words around it are known by their length only.
		extra := max(bl.Text.UTF16-jsonl.Measure(text).UTF16, 0)
		return w.count(text) + scaled(policy.RoundQuarter(extra), w.how.Ratio), nil
	}
	return w.count(text), nil
}

// toolUseJSON is a tool_use as it is counted: {"name":…,"input":…}.
func toolUseJSON(name, input string) string {
	if input == "" {
		return `{"name":` + quote(name) + `}`
	}
	return `{"name":` + quote(name) + `,"input":` + input + `}`
}

// quote is a string as JSON, without the escapes HTML would need.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil { // of a string it does not fail
		return s
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// parts counts the elements of a content array.
func (w *encodeWork) parts(raw []byte) int {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return w.count(string(raw))
	}
	n := 0
	for _, element := range list {
		var p struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if json.Unmarshal(element, &p) != nil {
			n += w.count(string(element))
			continue
		}
		switch p.Type {
		case "text":
			n += w.count(p.Text)
		case "image", "document":
			n += w.picture(element)
		default:
			n += w.count(compact(element))
		}
	}
	return n
}

func compact(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// maxHead is how much of an image's file is looked at for its size, in bytes:
// behind all that may stand before it in a JPEG.
const maxHead = 256 << 10

// picture is what an image or document block counts.
func (w *encodeWork) picture(block []byte) int {
	var p struct {
		Type   string `json:"type"`
		Source struct {
			Type string `json:"type"`
			Data string `json:"data"`
		} `json:"source"`
	}
	if json.Unmarshal(block, &p) != nil || p.Type != "image" || p.Source.Type != "base64" {
		return ImageTokens
	}
	decoder := base64.NewDecoder(base64.StdEncoding, strings.NewReader(p.Source.Data))
	head, _ := io.ReadAll(io.LimitReader(decoder, maxHead)) // what comes before an error is enough
	if width, height, ok := ImageSize(head); ok {
		return ImageCost(width, height, w.how.LargeImages)
	}
	return ImageTokens
}
