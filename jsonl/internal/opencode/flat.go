package opencode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/scan"
)

// flat is a message of 2.x, which has its content in itself. docs/internals/opencode.md has its sources.
type flat struct {
	ID    string  `json:"id"`
	Type  string  `json:"type"`
	Time  times   `json:"time"`
	Model modelID `json:"model"`

	Text    string        `json:"text"`   // user, synthetic, system, skill
	Files   []flatFile    `json:"files"`  // user
	Skills  []flatSkill   `json:"skills"` // user
	Content []flatContent `json:"content"`

	Finish string  `json:"finish"`
	Tokens tokens  `json:"tokens"`
	Cost   float64 `json:"cost"`

	Command string     `json:"command"` // shell
	Output  flatOutput `json:"output"`  // shell

	Status  string `json:"status"` // compaction
	Reason  string `json:"reason"`
	Summary string `json:"summary"`
	Recent  string `json:"recent"`

	Native *flatNative `json:"providerContext"` // compaction: made by the provider, without summary and recent
}

// flatNative is what a provider's compaction left: messages, in part encrypted, that only the same provider and model are
// sent again.
type flatNative struct {
	Provenance struct {
		Provider string `json:"providerID"`
		Model    string `json:"modelID"`
	} `json:"provenance"`
	Messages []struct {
		Content []json.RawMessage `json:"content"`
	} `json:"messages"`
}

func (n *flatNative) blocks() (blocks []foreign.Block) {
	for i := range n.Messages {
		for _, raw := range n.Messages[i].Content {
			var c flatContent
			if json.Unmarshal(raw, &c) == nil && c.Type == "text" {
				blocks = append(blocks, foreign.Text(c.Text))
			} else {
				blocks = append(blocks, foreign.Block{Type: "compaction", Signature: string(raw)})
			}
		}
	}
	return blocks
}

type modelID struct {
	ID       string `json:"id"`
	Provider string `json:"providerID"`
}

type flatFile struct {
	MIME string `json:"mime"`
	Data string `json:"data"` // base64
	URI  string `json:"uri"`  // in a result
}

type flatSkill struct {
	Text string `json:"text"`
}

type flatOutput struct {
	Output string `json:"output"`
}

// flatContent is a text, a reasoning or a tool call of a response, or a text or file of a result.
type flatContent struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Time  flatTime        `json:"time"`
	State flatState       `json:"state"`
	Sign  json.RawMessage `json:"native"` // of a reasoning: its provider's
	flatFile
}

type flatTime struct {
	Created   float64 `json:"created"`
	Ran       float64 `json:"ran"`
	Completed float64 `json:"completed"`
}

// flatState is that of a tool call; that of a reasoning in earlier releases has none of its members.
type flatState struct {
	Status  string          `json:"status"`
	Input   json.RawMessage `json:"input"`
	Content []flatContent   `json:"content"`
	Error   json.RawMessage `json:"error"`
}

// typeSystem is the type of a change of the instructions, a system message within the conversation.
const typeSystem = "system"

// isFlat reports whether an object is a message of 2.x: it has a type, and no info or parts.
func (d *document) isFlat(at, depth int) (typed bool) {
	m := scan.Object(d.text, at, depth)
	for m.Next() {
		switch key, _ := m.Key(); string(key) {
		case "info", "parts":
			return false
		case "type":
			typed = true
		}
		m.At, m.Code = scan.Value(d.text, m.At, m.Depth())
	}
	return typed && m.Code == scan.OK
}

// flat reads a message of 2.x.
func (d *document) flat(at, depth int) (int, scan.Fault) {
	end, fault := scan.Value(d.text, at, depth)
	line := d.lineOf(at)
	m := &message{line: line, unit: d.Unit(line), flat: &flat{}}
	d.decode(d.text[at:end], line, m.flat)
	f := m.flat
	m.info = info{ID: f.ID, Time: f.Time, Provider: f.Model.Provider, ModelID: f.Model.ID, Finish: f.Finish, Tokens: f.Tokens, Cost: f.Cost}
	switch f.Type {
	case "user", "synthetic", typeSystem, "skill", "shell":
		m.Role = "user"
	case "assistant":
		m.Role = "assistant"
	}
	text := func(kind, text string, own bool) {
		if text != "" {
			m.parts = append(m.parts, part{unit: d.Unit(line), line: line, Type: kind, Text: text, Synthetic: own})
		}
	}
	for _, s := range f.Skills {
		text("text", s.Text, true)
	}
	if m.Role == "user" {
		text("text", f.Text, f.Type != "user")
		text("text", strings.TrimPrefix(f.Command+"\n"+f.Output.Output, "\n"), true)
	}
	for _, x := range f.Files {
		m.parts = append(m.parts, part{unit: d.Unit(line), line: line, Type: "file", MIME: x.MIME, URL: x.url()})
	}
	for i := range f.Content {
		c := &f.Content[i]
		p := part{unit: d.Unit(line), line: line, ID: f.ID, Type: c.Type, Text: c.Text, Metadata: c.Sign, Tool: c.Name, CallID: c.ID}
		p.Time = times{Start: c.Time.Created, End: c.Time.Completed}
		p.State.Time = times{Start: cmp.Or(c.Time.Ran, c.Time.Created), End: c.Time.Completed}
		c.State.fill(&p.State)
		m.parts = append(m.parts, p)
	}
	d.message(m)
	return end, fault
}

func (f *flatFile) url() string {
	if f.Data == "" {
		return f.URI
	}
	return "data:" + f.MIME + ";base64," + f.Data
}

// fill fills in the state of a call as 1.x has it.
func (s *flatState) fill(to *state) {
	to.Status = s.Status
	to.Input = s.Input
	var texts []string
	for i := range s.Content {
		c := &s.Content[i]
		if c.Type == "text" {
			texts = append(texts, c.Text)
		} else if url := c.url(); url != "" {
			to.Attachments = append(to.Attachments, attachment{c.MIME, url})
		}
	}
	to.Output = strings.Join(texts, "\n")
	if json.Unmarshal(s.Error, &to.Error) != nil {
		var line bytes.Buffer
		_ = json.Compact(&line, s.Error) // a part of what is JSON
		to.Error = line.String()
	}
}

// copied reports whether a response is one of the session that this one is a fork of: it was asked for there.
func (c *converter) copied(m *message) bool {
	return c.info != nil && c.info.Fork != "" && m.Time.Created < c.info.Time.Created
}

// sent reports whether the response after a provider's compaction was sent what that left: it belongs to the same provider, and
// of the same model, by its name here or by that of the response before.
func (c *converter) sent(k int) bool {
	made := &c.messages[k].flat.Native.Provenance
	before := ""
	for i, m := range c.messages {
		switch {
		case m.Role != "assistant":
		case i < k:
			before = m.ModelID
		default:
			return m.Provider == made.Provider && (m.ModelID == made.Model || m.ModelID == before)
		}
	}
	return true
}

// Frame of a compaction's message.
const (
	checkpointBegins = "<conversation-checkpoint>\n<summary>\n"
	checkpointEnds   = "\n</summary>\n</conversation-checkpoint>"
	recentBegins     = "\n</summary>\n\n<recent-context>\n"
	recentEnds       = "\n</recent-context>\n</conversation-checkpoint>"
)

// flat puts a message of 2.x.
func (c *converter) flat(k int) {
	m := c.messages[k]
	switch f := m.flat; {
	case m.Role == "user":
		c.user(k)
	case m.Role == "assistant":
		c.response(k)
	case f.Type != "compaction":
		c.setAside(m.unit, m.line, "message", f.Type)
	case f.Status != "completed":
		c.Aside(m.unit, "compaction without a summary")
	case f.Native != nil && !c.sent(k):
		c.Aside(m.unit, "compaction by another provider or model")
	default:
		c.line(m.unit, m.ID, foreign.Line{
			Type: "system", Subtype: "compact_boundary", Time: foreign.Millis(m.Time.Created),
			Compact: &foreign.Compact{Trigger: cmp.Or(f.Reason, "auto"), Usage: f.Tokens.usage("2", f.Cost)},
		})
		text := checkpointBegins + f.Summary
		if f.Recent == "" {
			text += checkpointEnds
		} else {
			text += recentBegins + f.Recent + recentEnds
		}
		blocks := []foreign.Block{foreign.Text(text)}
		if f.Native != nil {
			blocks = f.Native.blocks()
		}
		c.line(m.unit, m.ID+"-summary", foreign.Line{
			Type: "user", Time: foreign.Millis(cmp.Or(m.Time.Completed, m.Time.Created)), Summary: true, Message: foreign.Said(blocks...),
		})
	}
}
