package stage

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/program"
	"github.com/ctxkit/ctxkit/policy/stage/stagetest"
)

// randomPrograms answer at random what a program may: edits of results, the removal of whole pairs outside of the last
// tool loop, summaries, and lists of messages, with ids and without.
type randomPrograms struct{ d *stagetest.Dice }

type randomProgram struct {
	d    *stagetest.Dice
	list []told
	cut  map[string]bool // blocks that were given another text
}

type told struct {
	ID      string            `json:"id,omitempty"`
	After   *string           `json:"after,omitempty"`
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

type toldBlock struct {
	Name string // m3.0
	Type string
	ID   string
	Use  string `json:"tool_use_id"`
}

func (p randomPrograms) Start(policy.ProgramCommand) (policy.Program, error) {
	return &randomProgram{d: p.d, cut: map[string]bool{}}, nil
}

func (p *randomProgram) Close() {}

func (p *randomProgram) Ask(line []byte, _ time.Duration) ([]byte, error) {
	var in struct {
		Type     string
		Request  int
		Removed  []string
		Messages []told
	}
	if err := json.Unmarshal(line, &in); err != nil {
		return nil, err
	}
	if in.Type == "start" {
		return json.Marshal(map[string]string{"protocol": program.Protocol})
	}
	p.list = slices.DeleteFunc(p.list, func(m told) bool { return slices.Contains(in.Removed, m.ID) })
	for _, m := range in.Messages {
		at := func(id string) int { return slices.IndexFunc(p.list, func(o told) bool { return o.ID == id }) }
		switch i := at(m.ID); {
		case i >= 0:
			p.list[i] = m
		case m.After == nil:
			p.list = append(p.list, m)
		default:
			p.list = slices.Insert(p.list, at(*m.After)+1, m)
		}
	}
	answer := map[string]any{"request": in.Request}
	switch {
	case p.d.One(4):
		answer["messages"] = p.messages()
	default:
		answer["edits"] = p.edits()
	}
	return json.Marshal(answer)
}

func (m *told) blocks() (list []toldBlock) {
	for i, js := range m.Content {
		var b toldBlock
		if err := json.Unmarshal(js, &b); err != nil {
			panic(err)
		}
		b.Name = fmt.Sprintf("%s.%d", m.ID, i)
		list = append(list, b)
	}
	return list
}

// turn is where the newest turn begins: at the last message of the user without a result, behind one of the assistant.
// 0: there is none.
func (p *randomProgram) turn() int {
	for i := len(p.list) - 1; i > 0; i-- {
		result := slices.ContainsFunc(p.list[i].blocks(), func(b toldBlock) bool { return b.Type == "tool_result" })
		if p.list[i].Role == "user" && !result && p.list[i-1].Role == "assistant" {
			return i
		}
	}
	return 0
}

func (p *randomProgram) edits() []any {
	list := []any{}
	add := func(edit string, members map[string]any) {
		members["edit"] = edit
		list = append(list, members)
	}
	turn := p.turn()
	if turn > 2 && p.d.One(6) {
		var ids []string
		for _, m := range p.list[:turn] {
			ids = append(ids, m.ID)
		}
		add("summarize", map[string]any{"messages": ids, "text": fmt.Sprintf("what was said in %d messages", turn)})
		return list
	}
	gone := map[string]string{} // call -> block
	for i, m := range p.list {
		for _, b := range m.blocks() {
			switch {
			case b.Type == "tool_use" && m.ID[0] == 'm' && i < turn-2 && p.d.One(20):
				gone[b.ID] = b.Name
			case b.Type != "tool_result":
			case gone[b.Use] != "":
				add("remove", map[string]any{"blocks": []string{gone[b.Use], b.Name}})
				delete(gone, b.Use)
			case !p.cut[b.Name] && p.d.One(8):
				p.cut[b.Name] = true
				add(p.d.Pick("clear", "replace"), map[string]any{"blocks": []string{b.Name}, "text": p.d.Pick("[cleared]", "gone", "")})
			}
		}
	}
	return list
}

// messages is the list without some of the oldest turns, but the first message.
func (p *randomProgram) messages() []told {
	list := slices.Clone(p.list)
	if turn := p.turn(); turn > 0 && p.d.One(3) {
		list = append(list[:1:1], list[turn:]...)
	}
	ids := p.d.One(2)
	for i := range list {
		list[i].After = nil
		if !ids {
			list[i].ID = ""
		}
	}
	return list
}
