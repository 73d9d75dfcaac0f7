package tokens

import (
	"math"
	"slices"

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
	Reminders  // task reminders among them
	PlanModes  // entries into plan mode whose reminder is on no line
	Images     // tokens of images and documents, by the documented formula
	References // tools that a tool_reference loads
	JSONChars  // of blocks of an unknown type
	measures
)

var measureNames = [measures]string{
	"output", "responses", "untold_responses", "text_chars", "text_marks",
	"thinking_chars", "thinking_marks", "summed_up_chars", "signature_chars",
	"tool_uses", "edit_input", "bash_input", "other_input", "results", "read_chars", "read_marks", "bash_chars", "bash_marks",
	"search_chars", "search_marks", "edit_chars", "other_chars", "other_marks", "read_wide", "wide", "prompts", "prompt_chars", "prompt_marks",
	"notes", "note_chars", "attachments", "attached_chars", "task_reminders", "plan_modes", "images", "references", "json_chars",
}

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
	input, result = texts{OtherInput, noMarks}, texts{OtherChars, OtherMarks}
	switch tool {
	case "Read", "NotebookRead":
		result = texts{ReadChars, ReadMarks}
	case "Bash":
		input, result = texts{BashInput, noMarks}, texts{BashChars, BashMarks}
	case "BashOutput", "TaskOutput":
		result = texts{BashChars, BashMarks}
	case "Grep", "Glob", "LS":
		result = texts{SearchChars, SearchMarks}
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		input, result = texts{EditInput, noMarks}, texts{EditChars, noMarks}
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
}

// NewMeter returns a meter at the beginning of a conversation.
func NewMeter(conv *session.Conversation, model CountedModel) *Meter {
	return &Meter{
		conv: conv, model: model, reliable: reliableOutputs(conv, model), attached: recordsAttachments(conv), other: replacedAtOnce(conv),
		thinking: NewThinking(conv, model.ClearsThinking),
		images:   pictures{conv: conv, large: model.Tokenizer == NewTokenizer},
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
	return joined
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
		bl := &msg.Blocks[t.Block]
		n, ok := s.other[t]
		if !ok {
			n = bl.Text
		}
		s.block(msg, bl, n, a.put)
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

// block measures one block with a text of the length n: that of the file, the stub, or what was recorded.
func (s *Meter) block(msg *session.Message, bl *session.Block, n jsonl.Metrics, put put) {
	switch bl.Kind {
	case jsonl.KindToolUse, jsonl.KindServerToolUse:
		put(ToolUses, 1)
		if bl.Name != exitPlanMode {
			input, _ := toolTexts(s.conv.Alike(bl.Name))
			input.measure(bl.JSON, put)
		}
	case jsonl.KindToolResult:
		s.result(bl, n, put)
		for i := range bl.Parts {
			switch bl.Parts[i].Kind {
			case jsonl.KindImage, jsonl.KindDocument:
				put(Images, s.images.tokens(bl.File, bl.Parts[i].Span))
			case jsonl.KindToolReference:
				put(References, 1)
			}
		}
	case jsonl.KindThinking:
		if isHidden(msg, bl) {
			put(SignatureChars, math.Max(float64(bl.Signature-signatureFrame), 1))
			return
		}
		texts{ThinkingChars, ThinkingMarks}.measure(n, put)
		put(SummedUpChars, math.Max(float64(bl.Signature-signatureFrame)-float64(n.Bytes)*4/3, 0))
	case jsonl.KindRedactedThinking:
		texts{SignatureChars, noMarks}.measure(n, put)
	case jsonl.KindImage, jsonl.KindDocument:
		put(Images, s.images.tokens(bl.File, bl.Value))
	case jsonl.KindText:
		textOf(msg).measure(n, put)
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
			t.measure(n, put)
		}
	default:
		texts{JSONChars, noMarks}.measure(bl.JSON, put)
	}
}

// result measures the text of a tool's result.
func (s *Meter) result(bl *session.Block, n jsonl.Metrics, put put) {
	put(Results, 1)
	tool := s.conv.ToolName(bl.ID)
	if tool == enterPlanMode && !s.attached {
		put(PlanModes, 1)
	}
	_, result := toolTexts(s.conv.Alike(tool))
	result.measure(n, put)
}

// isHidden reports whether a block of a message is thinking whose text the client left out; perhaps its encrypted form as
// well, where the usage tells that there was some.
func isHidden(msg *session.Message, bl *session.Block) bool {
	return bl.Kind == jsonl.KindThinking && bl.Text.UTF16 == 0 && (bl.Signature > 0 || msg.Usage.Thinking > 0)
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

// reliableOutputs reports by message whether the recorded output tokens are reliable. Some clients recorded the
// count from the start of the response, others did so if a response has one line: a count that is too small for the
// texts is unreliable.
func reliableOutputs(conv *session.Conversation, model CountedModel) []bool {
	reliable := make([]bool, len(conv.Messages))
	version, wrong := "", false // of the message before: usually it is the same
	for m := range conv.Messages {
		msg := &conv.Messages[m]
		if msg.Role != session.Assistant || msg.Synthetic || !msg.HasUsage && !msg.OutputOnly {
			continue
		}
		if v := msg.Version; v != version {
			version = v
			wrong = model.client(v).PartialOutput
		}
		reliable[m] = !wrong && float64(msg.Usage.Output) >= leastOutput(msg)
	}
	return reliable
}

// leastOutput is the fewest output tokens of a response with these blocks.
func leastOutput(msg *session.Message) float64 {
	least := 4.0
	for b := range msg.Blocks {
		switch bl := &msg.Blocks[b]; bl.Kind {
		case jsonl.KindToolUse:
			least += float64(bl.JSON.UTF16)*0.15 + 12
		case jsonl.KindText, jsonl.KindThinking:
			least += float64(bl.Text.UTF16) * 0.15
		}
	}
	return least
}

// message measures a message as it was sent. If the output tokens of a response are reliable, they are its measure.
func (s *Meter) message(m int, put put) {
	msg := &s.conv.Messages[m]
	s.frame(m, put)
	if s.reliable[m] {
		put(Output, float64(msg.Usage.Output))
		return
	}
	for b := range msg.Blocks {
		bl := &msg.Blocks[b]
		if n, ok := s.other[policy.Target{Item: policy.ItemID(m), Block: b}]; ok {
			s.result(bl, n, put)
		} else {
			s.block(msg, bl, bl.Text, put)
		}
	}
}
