package session

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
)

// rendersAttachments reports whether a client of a version writes down the words of every attachment that it sends
// (first seen in 2.1.268; 2.1.266 does not): one without them is not sent.
func rendersAttachments(version string) bool {
	return version != "" && CompareVersions(version, "2.1.268") >= 0
}

// userKinds are the attachments that are sent as the user's where their line does not say the role (up to 2.1.280): by
// what 2.1.300 and 2.1.332 say of them.
var userKinds = map[string]bool{
	"instructions": true, "session_context": true, "remote_session_change": true, "file": true, "nested_memory": true,
}

// readSent is what a line says of how its attachment was sent; its role by its kind where it does not say it.
func readSent(e *jsonl.Entry, kind string) Sent {
	s := Sent{System: e.RenderedRole == "system" || e.RenderedRole == "" && !userKinds[kind]}
	if len(renderedTexts(e.Rendered)) > 0 {
		s.Recorded = true
		s.Beside = e.RenderedBeside
	} else {
		s.Turns = turnsOf(e.Attachment)
	}
	return s
}

// renderedTexts are the texts of the messages as which an attachment was sent.
func renderedTexts(raw []byte) (list []string) {
	var messages []sentAs
	if len(raw) == 0 || json.Unmarshal(raw, &messages) != nil {
		return nil
	}
	for _, m := range messages {
		if text := strings.Join(texts(m.Content), "\n"); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// sentAs is a message as which an attachment was sent.
type sentAs struct{ Content json.RawMessage }

// oddlyRendered reports whether a line has words of an attachment that are no list of messages with a text or blocks.
func oddlyRendered(raw []byte) bool {
	var messages []sentAs
	return len(raw) > 0 && (json.Unmarshal(raw, &messages) != nil || slices.ContainsFunc(messages, func(m sentAs) bool {
		return !bytes.HasPrefix(m.Content, []byte(`"`)) && !bytes.HasPrefix(m.Content, []byte(`[`))
	}))
}

// mostCompared is how much of a text is looked for in the words that were sent: clients cut long lines.
const mostCompared = 80

// contradicts reports whether the words that an attachment was sent as do not have the first line of its text. Clients
// number lines, and write words around them. (True in each of 492 attachments of the releases 2.1.280 to 2.1.332.)
func contradicts(rendered, attachment []byte) bool {
	var f attachmentFields
	if json.Unmarshal(attachment, &f) != nil {
		return false
	}
	var own []string
	for _, raw := range []json.RawMessage{f.Prompt, f.Text, f.Snippet, f.Content} {
		own = append(own, texts(raw)...)
	}
	own = slices.Concat(own, f.AddedLines, f.AddedBlocks)
	first, _, _ := strings.Cut(strings.TrimSpace(strings.Join(own, "\n")), "\n")
	first = strings.TrimSpace(first[:min(len(first), mostCompared)])
	return !strings.Contains(strings.Join(renderedTexts(rendered), "\n"), first)
}

// Reminders returns the reminders in which the client sends an attachment, one for each message. They are the recorded
// reminders or, if none are recorded, are rebuilt from the type of the attachment.
func (conv *Conversation) Reminders(message, block int) ([]string, error) {
	bl := &conv.Messages[message].Blocks[block]
	raw, err := conv.Raw(message, block)
	if err != nil || len(raw) == 0 {
		return nil, err
	}
	if bl.Sent.Recorded {
		return renderedTexts(raw), nil
	}
	if bl.Text.UTF16 == 0 {
		return nil, nil
	}
	return reminders(bl.Type, conv.Messages[message].Version, raw), nil
}

// turnsOf is what a snapshot with tools says, which is one made after a response.
func turnsOf(attachment []byte) Turns {
	if !bytes.Contains(attachment, []byte(`"prompt_snapshot"`)) {
		return TurnsUnknown
	}
	var a struct {
		Type        string
		Tools       json.RawMessage
		SystemTurns bool
	}
	switch {
	case json.Unmarshal(attachment, &a) != nil || a.Type != "prompt_snapshot":
		return TurnsUnknown
	case a.SystemTurns:
		return TurnsSystem
	case len(a.Tools) > 0:
		return TurnsUser
	}
	return TurnsUnknown
}
