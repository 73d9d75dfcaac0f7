package tokens

import (
	"math"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Measure is one thing the usage counter measures of content. Characters are
// UTF-16 units of ASCII; marks are the characters that JSON writes with a
// backslash, of which most are line ends and quotes: a text of many short lines
// has more tokens a character. Both are known once a line is read.
type Measure uint8

// The measures.
const (
	Output         Measure = iota // output tokens of a response, where they are right
	Responses                     // responses whose output tokens are right
	Untold                        // responses whose output tokens are not
	TextChars                     // text of a response
	TextMarks                     //
	ThinkingChars                 // thinking with its text
	ThinkingMarks                 //
	SummedUpChars                 // of its signature, beyond what the text takes there: the text is a summary
	SignatureChars                // of thinking without text, beyond signatureFrame; encrypted thinking
	ToolUses                      // calls of tools
	EditInput                     // characters of their input: Edit, Write and the like
	BashInput                     //
	OtherInput                    //
	Results                       // tool results
	ReadChars                     // their texts, by the tool that was called
	ReadMarks                     //
	BashChars                     //
	BashMarks                     //
	SearchChars                   // Grep, Glob, LS
	SearchMarks                   //
	EditChars                     // Edit, Write and the like
	OtherChars                    //
	OtherMarks                    //
	Wide                          // characters of three bytes of UTF-8 or more, and half of those of two
	Prompts                       // user prompts
	PromptChars                   //
	PromptMarks                   //
	Notes                         // messages the client put in: reminders, commands, interrupts
	NoteChars                     //
	Attachments                   // attachments that are sent
	AttachedChars                 //
	Reminders                     // task reminders among them
	EditedFiles                   // notes on changed files among them
	Images                        // tokens of images and documents, by the documented formula
	References                    // tools that a tool_reference loads
	JSONChars                     // of blocks of a type nobody knows
	measures
)

var measureNames = [measures]string{
	"output", "responses", "untold_responses", "text_chars", "text_marks", "thinking_chars", "thinking_marks", "summed_up_chars", "signature_chars",
	"tool_uses", "edit_input", "bash_input", "other_input", "results", "read_chars", "read_marks", "bash_chars", "bash_marks",
	"search_chars", "search_marks", "edit_chars", "other_chars", "other_marks", "wide", "prompts", "prompt_chars", "prompt_marks",
	"notes", "note_chars", "attachments", "attached_chars", "task_reminders", "edited_files", "images", "references", "json_chars",
}

func (m Measure) String() string { return measureNames[m] }

// Amounts say how much there is of each Measure.
type Amounts [measures]float64

// Add adds o, times by.
func (a *Amounts) Add(o *Amounts, by float64) {
	for i := range a {
		a[i] += o[i] * by
	}
}

// signatureFrame is how long the signature of empty thinking is, characters of
// base64 (recorded: 250 to 300).
const signatureFrame = 250

// take is told how much of a measure there is.
type take func(Measure, float64)

// texts are the measures of a kind of text.
type texts struct{ chars, marks Measure }

const noMarks = measures

func (t texts) measure(n jsonl.Metrics, put take) {
	wide := float64(n.Bytes-n.UTF16) / 2
	put(t.chars, math.Max(float64(n.UTF16)-wide, 0))
	if wide != 0 {
		put(Wide, wide)
	}
	if t.marks != noMarks && n.JSON > n.UTF16+2 {
		put(t.marks, float64(n.JSON-n.UTF16-2))
	}
}

// resultTexts are the measures of a tool's results.
func resultTexts(tool string) texts {
	switch tool {
	case "Read", "NotebookRead":
		return texts{ReadChars, ReadMarks}
	case "Bash", "BashOutput", "TaskOutput":
		return texts{BashChars, BashMarks}
	case "Grep", "Glob", "LS":
		return texts{SearchChars, SearchMarks}
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		return texts{EditChars, noMarks}
	}
	return texts{OtherChars, OtherMarks}
}

func inputChars(tool string) texts {
	switch tool {
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		return texts{EditInput, noMarks}
	case "Bash":
		return texts{BashInput, noMarks}
	}
	return texts{OtherInput, noMarks}
}

// Meter measures a conversation's content.
type Meter struct {
	conv    *session.Conversation
	model   Model
	told    []bool          // by message: a response whose output tokens are right
	thought []policy.Target // thinking since the last user prompt, where the server clears it then
	cleared []policy.Target
	other   map[policy.Target]jsonl.Metrics // results of which another text was sent from the first request on
	images  pictures
}

// NewMeter is a meter at the beginning of a conversation.
func NewMeter(conv *session.Conversation, model Model) *Meter {
	return &Meter{
		conv: conv, model: model, told: toldOutputs(conv), other: replacedAtOnce(conv),
		images: pictures{conv: conv, large: model.Tokenizer == NewTokenizer},
	}
}

// restart puts the meter back to the beginning.
func (s *Meter) restart() { s.thought = s.thought[:0] }

// Next measures what the messages of the next span add to the context, and
// names what the server clears of it: thinking of turns that are over. Spans
// are to be measured in their order; cleared is good up to the next.
func (s *Meter) Next(sp *Span) (joined Amounts, cleared []policy.Target) {
	return s.joined(sp), s.follow(sp)
}

// joined measures what the messages of a span add to the context.
func (s *Meter) joined(sp *Span) (joined Amounts) {
	put := func(i Measure, x float64) { joined[i] += x }
	for m := sp.From; m < sp.To; m++ {
		if !s.conv.Messages[m].RecordOnly {
			s.message(m, put)
		}
	}
	return joined
}

// follow names what the server clears in the next span.
func (s *Meter) follow(sp *Span) (cleared []policy.Target) {
	if !s.model.ClearsThinking {
		return nil
	}
	if sp.Cut {
		s.thought = s.thought[:0]
	}
	s.cleared = s.cleared[:0]
	for m := sp.From; m < sp.To; m++ {
		msg := &s.conv.Messages[m]
		switch {
		case msg.RecordOnly:
		case msg.Role == session.Assistant:
			for b := range msg.Blocks {
				if msg.Blocks[b].Kind == jsonl.KindThinking {
					s.thought = append(s.thought, policy.Target{Item: policy.ItemID(m), Block: b})
				}
			}
		case msg.Class == session.ClassPrompt:
			s.cleared = append(s.cleared, s.thought...)
			s.thought = s.thought[:0]
		}
	}
	return s.cleared
}

// Sent measures blocks as they were sent.
func (s *Meter) Sent(blocks ...policy.Target) Amounts {
	var a Amounts
	for _, t := range blocks {
		msg := &s.conv.Messages[t.Item]
		bl := &msg.Blocks[t.Block]
		n := bl.Text
		if other, ok := s.other[t]; ok {
			n = other
		}
		s.block(msg, bl, n, func(i Measure, x float64) { a[i] += x })
	}
	return a
}

// Content measures a text that stands in for a block.
func Content(k jsonl.Kind, n jsonl.Metrics) Amounts {
	var a Amounts
	contentTexts(k).measure(n, func(i Measure, x float64) { a[i] += x })
	return a
}

// block measures one block, its text being of the length n: that of the file,
// the stub, or what was recorded.
func (s *Meter) block(msg *session.Message, bl *session.Block, n jsonl.Metrics, put take) {
	switch bl.Kind {
	case jsonl.KindToolUse, jsonl.KindServerToolUse:
		put(ToolUses, 1)
		inputChars(bl.Name).measure(bl.JSON, put)
	case jsonl.KindToolResult:
		put(Results, 1)
		resultTexts(s.conv.ToolName(bl.ID)).measure(n, put)
		for i := range bl.Parts {
			switch bl.Parts[i].Kind {
			case jsonl.KindImage, jsonl.KindDocument:
				put(Images, s.images.tokens(bl.File, bl.Parts[i].Span))
			case jsonl.KindToolReference:
				put(References, 1)
			}
		}
	case jsonl.KindThinking:
		if isHidden(bl) {
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
			switch msg.Attachment {
			case "task_reminder", "todo_reminder":
				put(Reminders, 1)
			case "edited_text_file":
				put(EditedFiles, 1)
			}
			texts{AttachedChars, noMarks}.measure(n, put)
		}
	default:
		texts{JSONChars, noMarks}.measure(bl.JSON, put)
	}
}

// isHidden reports whether a block is thinking whose text the client left out.
func isHidden(bl *session.Block) bool {
	return bl.Kind == jsonl.KindThinking && bl.Text.UTF16 == 0 && bl.Signature > 0
}

// textOf are the measures of a message's texts.
func textOf(msg *session.Message) texts {
	switch {
	case msg.Role == session.Assistant:
		return texts{TextChars, TextMarks}
	case msg.Class == session.ClassPrompt || msg.Class == session.ClassToolResult:
		return texts{PromptChars, PromptMarks}
	}
	return texts{NoteChars, noMarks}
}

// frame measures what goes around a message's blocks.
func frame(msg *session.Message, told bool, put take) {
	switch {
	case msg.Role == session.Assistant && msg.Synthetic:
	case msg.Role == session.Assistant && told:
		put(Responses, 1)
	case msg.Role == session.Assistant:
		put(Untold, 1)
	case msg.Class == session.ClassPrompt:
		put(Prompts, 1)
	case msg.Class != session.ClassToolResult && msg.Class != session.ClassAttachment:
		put(Notes, 1)
	}
}

// toldOutputs says of which messages the recorded output tokens are right.
// Clients 2.1.12-2.1.51 wrote down those the response began with, and earlier
// ones did so where a response has one line: output that cannot even hold the
// texts is not taken.
func toldOutputs(conv *session.Conversation) []bool {
	told := make([]bool, len(conv.Messages))
	version, wrong := "", false // of the message before: as a rule it is the same
	for m := range conv.Messages {
		msg := &conv.Messages[m]
		if msg.Role != session.Assistant || msg.Synthetic || !msg.HasUsage {
			continue
		}
		if msg.Version != version {
			version = msg.Version
			wrong = version != "" && session.CompareVersions(version, "2.1.12") >= 0 && session.CompareVersions(version, "2.1.51") <= 0
		}
		told[m] = !wrong && float64(msg.Usage.Output) >= leastOutput(msg)
	}
	return told
}

// leastOutput is what a response with these blocks puts out at the least.
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

// message measures a message as it was sent: a response whose output tokens
// are right by these.
func (s *Meter) message(m int, put take) {
	msg := &s.conv.Messages[m]
	frame(msg, s.told[m], put)
	if s.told[m] {
		put(Output, float64(msg.Usage.Output))
		return
	}
	for b := range msg.Blocks {
		bl := &msg.Blocks[b]
		if n, ok := s.other[policy.Target{Item: policy.ItemID(m), Block: b}]; ok {
			put(Results, 1)
			resultTexts(s.conv.ToolName(bl.ID)).measure(n, put)
			continue
		}
		s.block(msg, bl, bl.Text, put)
	}
}

// contentTexts are the measures of a text a policy puts in.
func contentTexts(k jsonl.Kind) texts {
	switch k {
	case jsonl.KindToolResult:
		return texts{OtherChars, OtherMarks}
	case jsonl.KindToolUse, jsonl.KindServerToolUse:
		return texts{OtherInput, noMarks}
	case jsonl.KindThinking:
		return texts{ThinkingChars, ThinkingMarks}
	case jsonl.KindUnknown:
		return texts{JSONChars, noMarks}
	}
	return texts{NoteChars, noMarks}
}
