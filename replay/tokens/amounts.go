package tokens

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Measure is one property of content that the usage counter measures. Characters are UTF-16 units of ASCII. Marks are
// characters that JSON writes with a backslash, most of them line ends and quotes: a text of many short lines has
// more tokens per character.
type Measure uint8

// The measures.
const (
	Output     Measure = iota // recorded output tokens of a response, if reliable
	Responses                 // responses with reliable output tokens
	Unreliable                // responses without
	TextChars                 // text of a response
	TextMarks
	ThinkingChars // thinking with its text
	ThinkingMarks
	SummedUpChars  // of its signature, beyond what the text takes there: the text is a summary
	SignatureChars // of thinking without text, beyond signatureFrame; encrypted thinking
	ToolUses       // calls of tools
	EditInput      // characters of their input: Edit, Write and the like
	BashInput
	OtherInput
	Results   // tool results
	ReadChars // their texts, by the tool that was called
	ReadMarks
	BashChars
	BashMarks
	SearchChars // Grep, Glob, LS
	SearchMarks
	EditChars // Edit, Write and the like
	OtherChars
	OtherMarks
	ReadWide // of files that are read: as Wide, mostly the arrow behind a line number
	Wide     // characters of three bytes of UTF-8 or more, and half of those of two
	Prompts  // user prompts
	PromptChars
	PromptMarks
	Notes // messages the client added: reminders, commands, interrupts
	NoteChars
	Attachments // attachments that are sent
	AttachedChars
	Reminders     // task reminders among them
	PlanModes     // entries into plan mode whose reminder is on no line
	Images        // tokens of images and documents, by the documented formula
	References    // tools that a tool_reference loads
	JSONChars     // of blocks of an unknown type
	EncodedTokens // tokens of o200k_base, in place of characters, where a model's own tokenizer is not Claude's
	Redacted      // passages of such texts that were taken out of the recording
	Reasoning     // recorded reasoning tokens among the reliable output tokens
	Searches      // calls that the provider ran within the request: what they found is on no line
	measures
)

var measureNames = strings.Fields(`
	output responses untold_responses text_chars text_marks thinking_chars thinking_marks summed_up_chars signature_chars
	tool_uses edit_input bash_input other_input results read_chars read_marks bash_chars bash_marks search_chars
	search_marks edit_chars other_chars other_marks read_wide wide prompts prompt_chars prompt_marks notes note_chars
	attachments attached_chars task_reminders plan_modes images references json_chars encoded_tokens redacted reasoning
	searches
`)

func (m Measure) String() string { return measureNames[m] }

// Amounts is the amount of each Measure.
type Amounts [measures]float64

// Add adds o, times by.
func (a *Amounts) Add(o *Amounts, by float64) {
	for i := range a {
		a[i] += o[i] * by
	}
}

func (a *Amounts) put(i Measure, x float64) { a[i] += x }

// signatureFrame is the length of the signature of empty thinking, characters of base64 (recorded: 250 to 300).
const signatureFrame = 250

// put receives an amount of a measure.
type put func(Measure, float64)

// texts are the measures of a kind of text.
type texts struct{ chars, marks Measure }

const noMarks = measures

func (t texts) measure(n jsonl.Metrics, put put) {
	wide := float64(n.Bytes-n.UTF16) / 2
	put(t.chars, math.Max(float64(n.UTF16)-wide, 0))
	switch {
	case wide == 0:
	case t.chars == ReadChars:
		put(ReadWide, wide)
	default:
		put(Wide, wide)
	}
	if t.marks != noMarks && n.JSON > n.UTF16+2 {
		put(t.marks, float64(n.JSON-n.UTF16-2))
	}
}

// toolTexts are the measures of a tool's input and result.
func toolTexts(tool string) (input, result texts) {
	input = texts{OtherInput, noMarks}
	result = texts{OtherChars, OtherMarks}
	switch tool {
	case "Read", "NotebookRead":
		result = texts{ReadChars, ReadMarks}
	case "Bash":
		input = texts{BashInput, noMarks}
		result = texts{BashChars, BashMarks}
	case "BashOutput", "TaskOutput":
		result = texts{BashChars, BashMarks}
	case "Grep", "Glob", "LS":
		result = texts{SearchChars, SearchMarks}
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		input = texts{EditInput, noMarks}
		result = texts{EditChars, noMarks}
	}
	return input, result
}

// The tools of plan mode. A client records the plan as the input of the call that leaves plan mode, and sends the call
// without it (cli.js of 2.0.76 to 2.1.112). As plan mode is entered it sends a reminder of its rules, which is a line
// only with clients that record attachments.
const (
	enterPlanMode = "EnterPlanMode"
	exitPlanMode  = "ExitPlanMode"
)

// recordsAttachments reports whether a conversation has attachments that are sent. A queued prompt may be one without
// a line of its own.
func recordsAttachments(conv *session.Conversation) bool {
	return slices.ContainsFunc(conv.Messages, func(m session.Message) bool {
		return m.Class == session.ClassAttachment && m.Attachment != "queued_command" && slices.ContainsFunc(m.Blocks, func(b session.Block) bool { return b.Text.UTF16 > 0 })
	})
}

// Meter measures a conversation's content.
type Meter struct {
	conv     *session.Conversation
	model    CountedModel
	reliable []bool // by message: a response with reliable output tokens
	attached bool   // attachments are recorded
	thinking *Thinking
	other    map[policy.Target]jsonl.Metrics // results that were sent with another text from the first request on
	images   pictures
	encoded  map[policy.Target]encoded // texts that were counted
	err      error                     // of reading the first text that could not be read
}

// NewMeter returns a meter at the beginning of a conversation.
func NewMeter(conv *session.Conversation, model CountedModel) *Meter {
	s := &Meter{
		conv: conv, model: model, reliable: reliableOutputs(conv), attached: recordsAttachments(conv), other: replacedAtOnce(conv),
		images: pictures{conv: conv, large: model.Tokenizer == NewTokenizer}, encoded: map[policy.Target]encoded{},
	}
	s.rewind()
	return s
}

// rewind goes back to the first request with usage: the first span begins with it.
func (s *Meter) rewind() {
	s.thinking = NewThinking(s.conv, s.model)
	for _, q := range s.conv.Requests {
		if msg := &s.conv.Messages[q.Message]; msg.HasUsage {
			s.thinking.Request(q.Message, msg.Model)
			break
		}
	}
}

// Next measures what the messages of the next span add to the context, and lists the thinking that the server leaves
// out from there on, and that it does not leave out any more. Call it for all spans in order.
func (s *Meter) Next(sp *Increment) (joined Amounts, left, back []policy.Target) {
	left, back = s.follow(sp)
	return s.joined(sp), left, back
}

// joined measures what the messages of a span add to the context.
func (s *Meter) joined(sp *Increment) (joined Amounts) {
	for m := sp.From; m < sp.To; m++ {
		if !s.conv.Messages[m].RecordOnly {
			s.message(m, joined.put)
		}
	}
	if n := s.searches(sp.To); n > 0 {
		joined.put(Searches, float64(n))
	}
	return joined
}

// noInput is the input of a call that has none.
const noInput = `{"input":null}`

// searches is the number of calls that the provider ran within the request that a message answers, where what they
// found is on no line. A call without an input found nothing.
func (s *Meter) searches(m int) (n int) {
	if s.model.Encoder == nil {
		return 0
	}
	for b := range s.conv.Messages[m].Blocks {
		if bl := &s.conv.Messages[m].Blocks[b]; bl.Kind == jsonl.KindServerToolUse && bl.JSON.Bytes > len(noInput) {
			n++
		}
	}
	return n
}

// follow lists what the server leaves out from the next span on, and what it does not leave out any more. Nothing
// from before a compaction is sent after it.
func (s *Meter) follow(sp *Increment) (left, back []policy.Target) {
	if sp.Cut {
		s.thinking.forget(sp.From)
	}
	return s.thinking.Request(sp.To, s.conv.Messages[sp.To].Model)
}

// Sent measures blocks as they were sent.
func (s *Meter) Sent(blocks ...policy.Target) (a Amounts) {
	for _, t := range blocks {
		msg := &s.conv.Messages[t.Item]
		if s.isHidden(msg, &msg.Blocks[t.Block]) {
			if n, recorded := s.reasoned(int(t.Item)); n > 0 {
				a.put(Output, n)
				if recorded {
					a.put(Reasoning, n)
				}
				continue
			}
		}
		n, ok := s.other[t]
		if !ok {
			n = msg.Blocks[t.Block].Text
		}
		s.block(int(t.Item), t.Block, n, a.put)
	}
	return a
}

// Content measures a text that a policy puts in as a block of a kind.
func Content(k jsonl.Kind, n jsonl.Metrics) (a Amounts) {
	t := texts{NoteChars, noMarks}
	switch k {
	case jsonl.KindToolResult:
		t = texts{OtherChars, OtherMarks}
	case jsonl.KindToolUse, jsonl.KindServerToolUse:
		t = texts{OtherInput, noMarks}
	case jsonl.KindThinking:
		t = texts{ThinkingChars, ThinkingMarks}
	case jsonl.KindUnknown:
		t = texts{JSONChars, noMarks}
	}
	t.measure(n, a.put)
	return a
}

// reasoned is the reasoning of a response with reliable output tokens, tokens for each of its hidden blocks: as recorded,
// or else what is beyond the other blocks, where these are counted.
func (s *Meter) reasoned(m int) (n float64, recorded bool) {
	msg := &s.conv.Messages[m]
	if !s.reliable[m] || msg.Usage.Thinking == 0 && s.model.Encoder == nil {
		return 0, false
	}
	hidden := 0
	rest := msg.Usage.Output
	for b := range msg.Blocks {
		switch {
		case s.isHidden(msg, &msg.Blocks[b]):
			hidden++
		case msg.Usage.Thinking == 0:
			text, err := s.conv.Text(m, b)
			s.err = cmp.Or(s.err, err)
			rest -= s.model.Encoder.Count(text)
		}
	}
	if recorded = msg.Usage.Thinking > 0; recorded {
		rest = msg.Usage.Thinking
	}
	return float64(max(rest, 0)) / float64(max(hidden, 1)), recorded
}

// encoded is a text as it is counted in o200k_base.
type encoded struct{ tokens, redacted int }

// redacted is what takes the place of a passage that was taken out of a recording.
const redacted = "REDACTED"

// count counts a recorded text, where the model's tokens are counted so. Responses are not: their tokens are recorded.
func (s *Meter) count(m, b int) (e encoded, ok bool) {
	if s.model.Encoder == nil || s.reliable[m] {
		return encoded{}, false
	}
	t := policy.BlockOf(m, b)
	if e, ok := s.encoded[t]; ok {
		return e, true
	}
	text, err := s.conv.Text(m, b)
	if err != nil {
		s.err = cmp.Or(s.err, err)
		return encoded{}, false
	}
	e = encoded{s.model.Encoder.Count(text), strings.Count(text, redacted)}
	s.encoded[t] = e
	return e, true
}

// text measures a block's text of the length n: in tokens, or in characters, where it was sent with another text as
// well.
func (s *Meter) text(m, b int, n jsonl.Metrics, by texts, put put) {
	bl := &s.conv.Messages[m].Blocks[b]
	if n == bl.Text && bl.Offload == nil {
		if e, ok := s.count(m, b); ok {
			put(EncodedTokens, float64(e.tokens))
			put(Redacted, float64(e.redacted))
			return
		}
	}
	by.measure(n, put)
}

// block measures one block with a text of the length n: that of the file, the stub, or what was recorded.
func (s *Meter) block(m, b int, n jsonl.Metrics, put put) {
	msg := &s.conv.Messages[m]
	bl := &msg.Blocks[b]
	switch bl.Kind {
	case jsonl.KindToolUse, jsonl.KindServerToolUse:
		put(ToolUses, 1)
		if bl.Name != exitPlanMode {
			input, _ := toolTexts(s.conv.Alike(bl.Name))
			input.measure(bl.JSON, put)
		}
	case jsonl.KindToolResult:
		s.result(m, b, n, put)
		for i := range bl.Parts {
			switch bl.Parts[i].Kind {
			case jsonl.KindImage, jsonl.KindDocument:
				put(Images, s.images.tokens(bl.Parts[i].Span))
			case jsonl.KindToolReference:
				put(References, 1)
			}
		}
	case jsonl.KindThinking:
		if s.isHidden(msg, bl) {
			put(SignatureChars, math.Max(float64(bl.Signature-signatureFrame), 1))
			return
		}
		texts{ThinkingChars, ThinkingMarks}.measure(n, put)
		put(SummedUpChars, math.Max(float64(bl.Signature-signatureFrame)-float64(n.Bytes)*4/3, 0))
	case jsonl.KindRedactedThinking:
		texts{SignatureChars, noMarks}.measure(n, put)
	case jsonl.KindImage, jsonl.KindDocument:
		put(Images, s.images.tokens(bl.Value))
	case jsonl.KindText:
		s.text(m, b, n, textOf(msg), put)
	case jsonl.KindAttachment:
		if n.UTF16 > 0 {
			put(Attachments, 1)
			t := texts{AttachedChars, noMarks}
			switch msg.Attachment {
			case "task_reminder", "todo_reminder":
				put(Reminders, 1)
			case "edited_text_file":
				t = texts{ReadChars, ReadMarks} // numbered lines of the file, as Read shows them
			}
			s.text(m, b, n, t, put)
		}
	default:
		texts{JSONChars, noMarks}.measure(bl.JSON, put)
	}
}

// result measures the text of a tool's result.
func (s *Meter) result(m, b int, n jsonl.Metrics, put put) {
	put(Results, 1)
	tool := s.conv.ToolName(s.conv.Messages[m].Blocks[b].ID)
	if tool == enterPlanMode && !s.attached {
		put(PlanModes, 1)
	}
	_, result := toolTexts(s.conv.Alike(tool))
	s.text(m, b, n, result, put)
}

// isHidden reports whether a block of a message is thinking whose text the client left out; perhaps its encrypted form as
// well, where the usage tells that there was some. What other providers than Claude's show of it is a summary, which is
// not sent.
func (s *Meter) isHidden(msg *session.Message, bl *session.Block) bool {
	return bl.Kind == jsonl.KindThinking &&
		(bl.Text.UTF16 == 0 && (bl.Signature > 0 || msg.Usage.Thinking > 0) || s.model.Encoder != nil && (bl.Signature > 0 || msg.Usage.Thinking > 0))
}

// textOf returns the measures of a message's texts.
func textOf(msg *session.Message) texts {
	switch {
	case msg.Role == session.Assistant:
		return texts{TextChars, TextMarks}
	case msg.Class == session.ClassPrompt || msg.Class == session.ClassToolResult:
		return texts{PromptChars, PromptMarks}
	}
	return texts{NoteChars, noMarks}
}

// frame measures what the API adds around a message's blocks.
func (s *Meter) frame(m int, put put) {
	msg := &s.conv.Messages[m]
	switch reliable := s.reliable[m]; {
	case msg.Role == session.Assistant && (msg.Synthetic || reliable && s.model.client(msg.Version).WholeOutput):
	case msg.Role == session.Assistant && reliable:
		put(Responses, 1)
	case msg.Role == session.Assistant:
		put(Unreliable, 1)
	case msg.Class == session.ClassPrompt:
		put(Prompts, 1)
	case msg.Class != session.ClassToolResult && msg.Class != session.ClassAttachment:
		put(Notes, 1)
	}
}

// reliableOutputs reports by message whether the recorded output tokens are reliable: those of the end of the response, and
// not too few for its texts.
func reliableOutputs(conv *session.Conversation) []bool {
	reliable := make([]bool, len(conv.Messages))
	for m := range conv.Messages {
		msg := &conv.Messages[m]
		reliable[m] = msg.Role == session.Assistant && !msg.Synthetic && (msg.HasUsage || msg.Is(session.OutputOnly)) &&
			!msg.Is(session.StartOnly) && float64(msg.Usage.Output) >= session.LeastOutput(msg.Blocks)
	}
	return reliable
}

// message measures a message as it was sent. If the output tokens of a response are reliable, they are its measure.
func (s *Meter) message(m int, put put) {
	msg := &s.conv.Messages[m]
	s.frame(m, put)
	if s.reliable[m] {
		put(Output, float64(msg.Usage.Output))
		put(Reasoning, float64(msg.Usage.Thinking))
		return
	}
	for b := range msg.Blocks {
		if n, ok := s.other[policy.BlockOf(m, b)]; ok {
			s.result(m, b, n, put)
		} else {
			s.block(m, b, msg.Blocks[b].Text, put)
		}
	}
}
