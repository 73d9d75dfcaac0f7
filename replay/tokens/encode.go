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

// EncodeOptions sets how a conversation is counted in an encoding.
type EncodeOptions struct {
	Jobs        int     // goroutines that count; 0: one
	Ratio       float64 // tokens of the model for one of the encoding; 0: one
	LargeImages bool    // the model has the 4.7 generation or later (see ImageCost)
}

// The tokenizers that rates are known of. The first two are the price table's names for Claude's: up to the 4.6
// generation, and from 4.7 on.
const (
	OldTokenizer    = "old"
	NewTokenizer    = "new"
	OpenAITokenizer = "openai" // o200k_base
	GoogleTokenizer = "google" // Gemini's, counted in o200k_base
	OtherTokenizer  = "other"  // of any other model, counted in o200k_base
)

// Tokenizers lists all of them.
func Tokenizers() []string {
	return []string{OldTokenizer, NewTokenizer, OpenAITokenizer, GoogleTokenizer, OtherTokenizer}
}

// IsClaude reports whether a tokenizer is one of Claude's, which is counted by characters.
func IsClaude(tokenizer string) bool { return tokenizer == OldTokenizer || tokenizer == NewTokenizer }

// Tokens of Claude for a hundred of o200k_base, by the generation of its tokenizer: the growth of the recorded context
// over what joined, median of 50 and 15 recorded sessions (quartiles 119 to 127 and 168 to 175).
const (
	oldRatio = 124
	newRatio = 170
)

// Ratio is the number of a model's tokens for one of o200k_base: one for a model that is not Claude. A model without
// a name counts as Claude.
func Ratio(model, tokenizer string) float64 {
	switch {
	case tokenizer == NewTokenizer:
		return newRatio / 100.0
	case tokenizer == "" && model != "" && !strings.Contains(strings.ToLower(model), "claude"):
		return 1
	}
	return oldRatio / 100.0
}

// Encoded returns the table of a conversation's blocks counted in an encoding: text and thinking as they are; a
// tool_use as the JSON of its name and input; a tool_result as its texts, each by itself; an image by ImageCost, or
// ImageTokens if its size is not known; anything else as its JSON.
//
// It reads every text once. The result does not depend on the number of jobs.
func Encoded(conv *session.Conversation, e *Encoder, how EncodeOptions) (*WeightTable, error) {
	if how.Ratio == 0 {
		how.Ratio = 1
	}
	t := newTable(conv, func(_ jsonl.Kind, n jsonl.Metrics) int {
		return scaled(policy.RoundQuarter(n.UTF16), how.Ratio)
	})
	t.count = func(text string) int { return scaled(e.Count(text), how.Ratio) }
	t.stubs = map[policy.Target]int{}
	w := &encodeWork{WeightTable: t, e: e, how: how, errs: make([]error, len(conv.Messages))}
	var wait sync.WaitGroup
	for range max(1, min(how.Jobs, len(conv.Messages)/encodeStep+1)) {
		wait.Go(w.run)
	}
	wait.Wait()
	for _, err := range w.errs {
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

func scaled(n int, ratio float64) int { return int(math.Round(float64(n) * ratio)) }

// encodeStep is the number of messages that a goroutine takes at a time. They are neighbours in the file, so that a
// compressed one is decoded about once.
const encodeStep = 64

// encodeWork is shared by the goroutines that count a conversation.
type encodeWork struct {
	*WeightTable
	e    *Encoder
	how  EncodeOptions
	next atomic.Int64 // the next message to take
	errs []error      // by message
	mu   sync.Mutex   // guards the table's stubs
}

// run counts messages until none are left or one fails. The first error in the order of messages does not depend on
// the number of goroutines: all messages before it have been taken.
func (w *encodeWork) run() {
	e := &encoding{encodeWork: w, texts: w.conv.NewBlockReader()}
	for {
		from := int(w.next.Add(encodeStep)) - encodeStep
		for m := from; m < min(from+encodeStep, len(w.errs)); m++ {
			if w.errs[m] = e.message(m); w.errs[m] != nil {
				w.next.Store(int64(len(w.errs)))
			}
		}
		if from >= len(w.errs) {
			return
		}
	}
}

// encoding is the work of one goroutine.
type encoding struct {
	*encodeWork
	texts *session.BlockReader
}

func (w *encoding) message(m int) error {
	for b := range w.conv.Messages[m].Blocks {
		n, err := w.block(m, b)
		if err != nil {
			return err
		}
		if w.conv.Messages[m].Blocks[b].Offload != nil {
			// The stub was sent; raw history has the whole.
			w.mu.Lock()
			w.stubs[policy.BlockOf(m, b)] = n
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
func (w *encoding) block(m, b int) (int, error) {
	bl := &w.conv.Messages[m].Blocks[b]
	switch bl.Kind {
	case jsonl.KindImage, jsonl.KindDocument:
		raw, err := w.texts.Raw(m, b)
		return w.picture(raw, bl.Kind == jsonl.KindImage), err
	case jsonl.KindToolResult:
		if !bl.IsString && len(bl.Parts) > 0 {
			raw, err := w.texts.Raw(m, b)
			return w.parts(raw), err
		}
	}
	raw, err := w.texts.Raw(m, b)
	if err != nil {
		return 0, err
	}
	decode := func() ([]byte, error) { return w.texts.Decode(m, b, raw) }
	as := asText
	name := ""
	switch {
	case bl.Kind == jsonl.KindToolUse || bl.Kind == jsonl.KindServerToolUse:
		as = asToolUse
		name = bl.Name
	case bl.Kind != jsonl.KindAttachment && w.conv.Messages[m].Class != session.ClassMeta && len(raw) > 0 && raw[0] == '"':
		as = asString
	default:
		text, err := decode()
		n := w.bytes(text)
		if bl.Kind == jsonl.KindAttachment || bl.Kind == jsonl.KindText {
			// Of the client's text around it only the length is known.
			extra := max(bl.Text.UTF16-jsonl.Measure(string(text)).UTF16, 0)
			n += scaled(policy.RoundQuarter(extra), w.how.Ratio)
		}
		return n, err
	}
	n, err := w.e.countAs(as, name, raw, func() ([]byte, error) {
		text, err := decode()
		if as == asToolUse && err == nil {
			text = appendToolUse(nil, name, text)
		}
		return text, err
	})
	return scaled(n, w.how.Ratio), err
}

func (w *encoding) bytes(text []byte) int { return scaled(w.e.CountBytes(text), w.how.Ratio) }

// appendToolUse appends the counted form of a tool_use: {"name":…,"input":…}.
func appendToolUse(dst []byte, name string, input []byte) []byte {
	dst = append(dst, `{"name":`...)
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		out := bytes.NewBuffer(dst)
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		_ = e.Encode(name)              // a string always has a JSON form
		dst = out.Bytes()[:out.Len()-1] // without its newline
	} else {
		dst = append(append(append(dst, '"'), name...), '"')
	}
	if len(input) > 0 {
		dst = append(append(dst, `,"input":`...), input...)
	}
	return append(dst, '}')
}

// parts counts the elements of a content array.
func (w *encoding) parts(raw []byte) int {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return w.bytes(raw)
	}
	n := 0
	for _, element := range list {
		var p struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if json.Unmarshal(element, &p) != nil {
			n += w.bytes(element)
			continue
		}
		switch p.Type {
		case "text":
			n += w.count(p.Text)
		case "image", "document":
			n += w.picture(element, p.Type == "image")
		default:
			var b bytes.Buffer
			_ = json.Compact(&b, element) // the element is valid JSON
			n += w.bytes(b.Bytes())
		}
	}
	return n
}

// picture counts an image or document block.
func (w *encodeWork) picture(block []byte, isImage bool) int {
	if width, height, ok := ImageSize(imageData(block)); ok && isImage {
		return ImageCost(width, height, w.how.LargeImages)
	}
	return ImageTokens
}

// unknownImage is the weight of an image or document of unknown size, tokens: an image as large as older models see
// has 1,568.
const unknownImage = 1500

// pictures reads the sizes of a conversation's images, each once, from the start of the image.
type pictures struct {
	conv  *session.Conversation
	large bool // see ImageCost
	known map[jsonl.Span]float64
}

// maxHead is the length of the start of an image that is searched for its size, in bytes: more than everything that
// can precede it in a JPEG.
const maxHead = 256 << 10

// headLengths are the bytes of a block to read for the size: enough for all formats but JPEG, and then enough for a
// JPEG.
var headLengths = [...]int{4 << 10, 4 * maxHead / 3}

// tokens returns the weight of the image or document block at a span of a file.
func (p *pictures) tokens(at jsonl.Span) float64 {
	if n, ok := p.known[at]; ok {
		return n
	}
	n := float64(unknownImage)
	if p.conv.Source != nil {
		for _, length := range headLengths {
			head, err := p.conv.Source.ReadSpan(jsonl.Span{Off: at.Off, Len: min(at.Len, length)})
			if err != nil {
				break
			}
			if w, h, ok := ImageSize(imageData(head)); ok {
				n = float64(ImageCost(w, h, p.large))
				break
			}
		}
	}
	if p.known == nil {
		p.known = map[jsonl.Span]float64{}
	}
	p.known[at] = n
	return n
}

// imageData returns the start of an image, from the start of its block's JSON.
func imageData(block []byte) []byte {
	_, rest, _ := bytes.Cut(block, []byte(`"data"`))
	rest = bytes.TrimLeft(rest, " \t\r\n:")
	if len(rest) == 0 || rest[0] != '"' {
		return nil
	}
	rest, _, _ = bytes.Cut(rest[1:min(len(rest), 4*maxHead/3)], []byte(`"`))
	data, _ := io.ReadAll(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(rest))) // the data before an error is enough
	return data
}
