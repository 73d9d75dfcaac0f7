package session

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// UnfiledAgent is a subagent that lines of a session name, but of which there is no file.
type UnfiledAgent struct {
	Agent   string    // id of the subagent
	Line    int       // first line that names it
	Time    time.Time // time of that line; zero: not recorded
	Charges []Charge  // calls that progress lines of the session repeat, one for each line
}

// noteAgent notes the subagent that a line names: the result of its call, or a progress line, which repeats a message of it.
func (ld *loader) noteAgent(e *jsonl.Entry) {
	var line struct {
		AgentID string
		Data    struct {
			AgentID string
			Message json.RawMessage
		}
	}
	text := e.ToolUseResult
	if e.Type == "progress" {
		text = e.Raw
	}
	if !bytes.Contains(text, []byte(`"agentId"`)) {
		return
	}
	_ = json.Unmarshal(text, &line) // what has another type is left out
	id := cmp.Or(line.Data.AgentID, line.AgentID)
	if id == "" {
		return
	}
	at, known := ld.agentAt[id]
	if !known {
		at = len(ld.agents)
		ld.agentAt[id] = at
		ld.agents = append(ld.agents, UnfiledAgent{Agent: id, Line: e.Line, Time: e.Time})
	}
	r := jsonl.NewReader(bytes.NewReader(line.Data.Message), "", jsonl.ReadOptions{Block: len(text)})
	if r.Scan() && r.Item().Entry != nil {
		message := r.Item().Entry
		message.Line = e.Line
		ld.agents[at].Charges = ld.charged(ld.agents[at].Charges, message)
	}
}

// addUnfiled adds the subagents that lines name to the main conversation, but for those that the file holds, or that have one.
func (ld *loader) addUnfiled(f *File, path string) {
	for _, conv := range f.Conversations() {
		delete(ld.agentAt, conv.Agent)
	}
	if len(ld.agentAt) == 0 {
		return
	}
	if own, ok := ofSubagent(path); ok {
		path = own + extensions[0]
	}
	filed, _, _ := subagents(path, func(id string) bool { _, named := ld.agentAt[id]; return named }) // what reads their files says what is wrong
	for i := range filed {
		delete(ld.agentAt, filed[i].ID)
	}
	f.Main.Unfiled = slices.DeleteFunc(ld.agents, func(u UnfiledAgent) bool { _, lacks := ld.agentAt[u.Agent]; return !lacks })
}
