package cline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// message is an API message of the history, with what the clients add.
type message struct {
	unit foreign.Unit
	line int

	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Time      float64         `json:"ts"` // milliseconds of the epoch; 0: not recorded
	ID        string          `json:"id"`
	ModelInfo modelInfo       `json:"modelInfo"` // Cline

	// Roo Code: what a summary, or a mark of messages that were left out, stands for names it as its parent.
	Summary        bool   `json:"isSummary"`
	SummaryID      string `json:"condenseId"`
	SummaryParent  string `json:"condenseParent"`
	Mark           bool   `json:"isTruncationMarker"`
	MarkID         string `json:"truncationId"`
	MarkParent     string `json:"truncationParent"`
	ReasoningClass string `json:"type"` // "reasoning": an item of its own

	// Cline's CLI.
	Metrics  *metrics `json:"metrics"`
	Metadata struct {
		Shown bool `json:"displayOnly"`
	} `json:"metadata"`
}

type modelInfo struct {
	Model    string `json:"modelId"`
	ID       string `json:"id"` // the same, of Cline's CLI
	Provider string `json:"providerId"`
}

// shown is a message of the window.
type shown struct {
	Time      float64   `json:"ts"`
	Say       string    `json:"say"`
	Text      string    `json:"text"`
	Index     *int      `json:"conversationHistoryIndex"`        // Cline: of the last API message there was
	Deleted   *[2]int   `json:"conversationHistoryDeletedRange"` // Cline: API messages that are not sent any more
	ModelInfo modelInfo `json:"modelInfo"`
}

// asked is what the window says of a request.
type asked struct {
	tokens
	Protocol string `json:"apiProtocol"` // Roo Code
	at       float64
	index    int // Cline: -1: not recorded
	deleted  *[2]int
	model    modelInfo
	whole    bool // the input includes the cache
}

type tokens struct {
	In     float64 `json:"tokensIn"`
	Out    float64 `json:"tokensOut"`
	Writes float64 `json:"cacheWrites"`
	Reads  float64 `json:"cacheReads"`
	Cost   float64 `json:"cost"`
}

// wholeInput is when Roo Code began to record the whole input with the cache (3.29.5, 2025-11-01), in milliseconds of the
// epoch. Before, it did so but for Anthropic's protocol.
const wholeInput = 1_761_955_200_000

func (a *asked) usage(client string) *foreign.Usage {
	count := func(f float64) int { return int(min(max(f, 0), 1e12)) }
	u := &foreign.Usage{Input: count(a.In), CacheRead: count(a.Reads), CacheWrite: count(a.Writes), Output: count(a.Out)}
	if u.Input+u.CacheRead+u.CacheWrite+u.Output == 0 {
		return nil
	}
	if cached := u.CacheRead + u.CacheWrite; u.Input >= cached && (a.whole || client == rooName && (a.at >= wholeInput || a.Protocol != "anthropic")) {
		u.Input -= cached
	}
	if a.Cost > 0 && a.Cost < 1e9 {
		u.Cost = a.Cost
	}
	return u
}

// task is a document of gather.
type task struct {
	*foreign.Writer
	client   string
	id       string
	about    foreign.Session // of Cline's CLI
	messages []*message
	asked    []*asked
	of       map[int]*asked // by the index of an answer
	live     []line         // the content of requests
	steps    int64          // left for what compactions kept

	compaction compaction // of Cline's CLI
	sent       int        // messages of it that are not only shown
	input      float64    // of the request before
	warned     bool
}

// line is one that was put of a message.
type line struct {
	of   int // its index
	uuid string
}

func convert(in io.Reader, out *foreign.Writer) error {
	text, err := out.Limits.ReadDocument(in)
	t := &task{Writer: out, of: map[int]*asked{}}
	if e := t.read(text); err == nil {
		err = e
	}
	if len(t.messages) == 0 {
		if err == nil {
			err = errors.New("a task without messages: its history is empty or damaged")
		}
		return err
	}
	t.match()
	t.steps = out.Limits.Filled().Entries
	t.put()
	return err
}

// read reads the document as far as it is whole.
func (t *task) read(text []byte) (err error) {
	var deleted *[2]int
	in, line, fault := foreign.Members(text, func(name string, value []byte, line int) {
		switch name {
		case "history[]", "messages[]":
			m := &message{line: line}
			m.unit = t.Unit(m.line)
			t.Decode(value, m.line, m)
			if m.Metrics != nil {
				t.of[len(t.messages)] = &asked{tokens: tokens(*m.Metrics), at: m.Time, model: m.ModelInfo, whole: true}
			}
			t.messages = append(t.messages, m)
		case "history":
			var history struct{ Version any }
			_ = json.Unmarshal(value, &history) // for the message alone
			err = fmt.Errorf("a task whose history has version %v, which is not read: the lists of API messages of earlier releases are", history.Version)
		case "ui[]":
			t.shown(value, &deleted)
		case "client":
			_ = json.Unmarshal(value, &t.client) // a string
		case "id":
			_ = json.Unmarshal(value, &t.id)
		default:
			t.ofCLI(name, value)
		}
	})
	switch {
	case fault == "":
	case in == "ui":
		t.Warn(0, "unreadable-metadata", "%s is damaged: what it says of later requests is not known", windowName)
	default:
		t.Warn(line, "reading-stopped", "the history ends here, or is damaged: what is before it is used")
	}
	return err
}

// shown reads a message of the window: those that say something of a request, and what is left out from it on.
func (t *task) shown(value []byte, deleted **[2]int) {
	s := shown{}
	_ = json.Unmarshal(value, &s) // the readable part
	if s.Deleted != nil {
		*deleted = s.Deleted
	}
	if s.Say != "api_req_started" {
		if n := len(t.asked); n > 0 {
			t.asked[n-1].deleted = *deleted // it changes while a request is set up
		}
		return
	}
	a := &asked{at: s.Time, index: -1, deleted: *deleted, model: s.ModelInfo}
	_ = json.Unmarshal([]byte(s.Text), a) // one that has not begun says nothing
	if s.Index != nil {
		a.index = *s.Index
	}
	t.asked = append(t.asked, a)
}

// match finds the request of each answer: by its place in the history, by time, else by its number.
func (t *task) match() {
	k := 0
	var sent []*asked // those with tokens
	for _, a := range t.asked {
		if a.usage(t.client) != nil {
			sent = append(sent, a)
		}
	}
	byIndex := map[int]*asked{}
	for _, a := range t.asked {
		if a.index >= 0 || a.index == -1 && t.client == clineName {
			byIndex[a.index+2] = a // the prompt, or results, and the answer
		}
	}
	for i, m := range t.messages {
		switch {
		case m.Role != "assistant" || m.Summary:
		case byIndex[i] != nil:
			t.of[i] = byIndex[i]
		case m.Time > 0 && t.client == rooName:
			for k < len(t.asked) && t.asked[k].at <= m.Time {
				k++
			}
			if k > 0 && t.asked[k-1] != nil {
				t.of[i] = t.asked[k-1]
			}
		case len(byIndex) == 0 && len(sent) > 0:
			t.of[i] = sent[0]
			sent = sent[1:]
		}
	}
	used := map[*asked]bool{}
	for i := range t.messages { // one request, one answer
		if a := t.of[i]; a != nil && used[a] {
			delete(t.of, i)
		} else if a != nil {
			used[a] = true
		}
	}
}

// put puts the messages as lines.
func (t *task) put() {
	s := t.about
	model := ""
	s.ID = t.id
	for i, m := range t.messages {
		if a := t.of[i]; a != nil && s.Provider == "" {
			s.Provider = a.model.Provider
		}
		if i == 0 {
			text := string(m.Content)
			for _, mark := range []string{"# Current Working Directory (", "# Current Workspace Directory ("} {
				if _, rest, ok := strings.Cut(text, mark); ok && s.CWD == "" {
					s.CWD, _, _ = strings.Cut(rest, ")")
				}
			}
		}
	}
	t.Begin(s)
	var deleted *[2]int
	put := func(i int, l foreign.Line) { t.live = append(t.live, line{i, t.Put(t.messages[i].unit, l)}) }
	for i, m := range t.messages {
		if t.Err() != nil {
			return
		}
		if a := t.nextAsked(i); a != nil && a.deleted != nil && (deleted == nil || *deleted != *a.deleted) {
			deleted = a.deleted
			t.compact(i, -1, "auto", func(k int) bool { return k >= deleted[0] && k <= deleted[1] })
		}
		if t.sent == t.compaction.Count && t.sent > 0 {
			t.compacted(i)
		}
		if m.Metadata.Shown {
			t.Aside(m.unit, "not sent: shown to the user")
			continue
		}
		t.sent++
		blocks := blocksOf(m.Content)
		when := foreign.Millis(m.Time)
		if a := t.of[i]; a != nil && when.IsZero() {
			when = foreign.Millis(a.at)
		}
		switch {
		case m.ReasoningClass == "reasoning":
			t.Aside(m.unit, "reasoning of its own")
		case len(blocks) == 0:
			t.Aside(m.unit, "a message without content")
		case m.Summary || m.Mark:
			t.summary(i, m, blocks)
		case m.Role == "assistant":
			a := t.of[i]
			if a != nil {
				model = cmp.Or(a.model.Model, model)
			}
			model = cmp.Or(m.ModelInfo.Model, m.ModelInfo.ID, model)
			msg := foreign.Response(fmt.Sprintf("%s-%d", t.id, i), model, blocks, nil)
			if a != nil {
				msg.Usage = a.usage(t.client)
				t.fell(m, a)
			}
			put(i, foreign.Line{Type: "assistant", Time: when, Message: msg})
		case m.Role == "user":
			if name := modelIn(blocks); name != "" {
				model = name
			}
			meta := i > 0 && !typed(blocks)
			for _, b := range blocks {
				if b.Type == "text" {
					*b.Text = typedText(*b.Text)
				}
			}
			put(i, foreign.Line{Type: "user", Time: when, Meta: meta, Message: foreign.Said(blocks...)})
		default:
			t.Aside(m.unit, "a message of an unknown role")
		}
	}
}

// nextAsked is the request whose answer is the message, or the one behind it.
func (t *task) nextAsked(i int) *asked {
	if a := t.of[i]; a != nil {
		return a
	}
	return t.of[i+1]
}

// compact puts that messages are left out from message i on: those that are gone.
func (t *task) compact(i int, u foreign.Unit, trigger string, gone func(k int) bool) bool {
	before := len(t.live)
	t.live = slices.DeleteFunc(t.live, func(l line) bool { return gone(l.of) })
	if u < 0 && len(t.live) == before {
		return false // it says again what was left out before
	}
	c := &foreign.Compact{Trigger: trigger}
	if t.steps -= int64(before); t.steps < 0 {
		t.Warn(t.messages[i].line, "unreadable-metadata", foreign.KeptTooMuch)
		t.live = nil
	}
	if len(t.live) > 0 {
		c.Preserved = &foreign.Preserved{}
		for _, l := range t.live {
			c.Preserved.UUIDs = append(c.Preserved.UUIDs, l.uuid)
		}
	}
	t.Put(u, foreign.Line{Type: "system", Subtype: "compact_boundary", Time: foreign.Millis(t.messages[i].Time), Compact: c})
	return true
}

// summary puts a summary of Roo Code's, or its mark of messages that it leaves out: what names it as its parent is not
// sent from there on, and where nothing does, nothing before it is.
func (t *task) summary(i int, m *message, blocks []foreign.Block) {
	named := func(k int) bool {
		other := t.messages[k]
		return m.Summary && m.SummaryID != "" && other.SummaryParent == m.SummaryID || m.Mark && m.MarkID != "" && other.MarkParent == m.MarkID
	}
	gone := named
	if m.Summary && !slices.ContainsFunc(t.live, func(l line) bool { return named(l.of) }) {
		gone = func(int) bool { return true }
	}
	if t.compact(i, m.unit, "unknown", gone) {
		l := foreign.Line{Type: "user", Time: foreign.Millis(m.Time), Summary: true, Message: foreign.Said(blocks...)}
		t.live = append(t.live, line{i, t.Put(m.unit, l)})
	}
}

// blocksOf are the blocks of a content: a text or a list.
func blocksOf(raw json.RawMessage) (list []foreign.Block) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" {
			return nil
		}
		return []foreign.Block{foreign.Text(text)}
	}
	var all []json.RawMessage
	_ = json.Unmarshal(raw, &all)
	for _, one := range all {
		var b struct {
			foreign.Block
			Data string `json:"data"` // image of Cline's CLI
			MIME string `json:"mediaType"`
			Raw  struct {
				Content json.RawMessage `json:"content"`
			} `json:"-"`
		}
		if json.Unmarshal(one, &b) != nil || b.Type == "" {
			continue
		}
		switch {
		case b.Type == "text" && (b.Text == nil || *b.Text == ""):
		case b.Type == "thinking" && b.Thinking == nil:
		case b.Type == "tool_use":
			list = append(list, foreign.Call(b.ID, b.Name, b.Input))
		case b.Type == "tool_result":
			_ = json.Unmarshal(one, &b.Raw)
			list = append(list, foreign.Result(b.ToolUseID, resultText(b.Raw.Content, b.Content), b.IsError))
		case b.Type == "image" && b.Source == nil:
			list = append(list, foreign.Picture(b.MIME, b.Data))
		case b.Type == "text" || b.Type == "thinking" || b.Type == "image" || b.Type == "document":
			list = append(list, b.Block)
		}
	}
	return list
}

// typed reports whether a person typed something of a message: tags that the clients put around that.
func typed(blocks []foreign.Block) bool {
	return slices.ContainsFunc(blocks, func(b foreign.Block) bool {
		return b.Type == "text" && slices.ContainsFunc([]string{"<task>", "<feedback>", "<user_message>", "<answer>", "<user_input "}, func(tag string) bool { return strings.Contains(*b.Text, tag) })
	})
}

// modelIn is the model that Roo Code names in a message.
func modelIn(blocks []foreign.Block) string {
	for _, b := range blocks {
		if b.Type != "text" {
			continue
		}
		if _, rest, ok := strings.Cut(*b.Text, "<model>"); ok {
			name, _, ok := strings.Cut(rest, "</model>")
			if ok && len(name) < 200 && !strings.ContainsAny(name, "\n<") {
				return strings.TrimSpace(name)
			}
		}
	}
	return ""
}
