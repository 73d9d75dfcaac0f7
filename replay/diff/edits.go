package diff

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// Edit is one edit as it is written down: with the raw history it is all that
// a view is made of.
type Edit struct {
	Request int         `json:"request"` // n of the main request it belongs to; 0: after the last
	Joined  int         `json:"joined"`  // how many messages of the session had been said or passed over
	Stage   string      `json:"stage"`
	Kind    policy.Kind `json:"kind"`
	Trigger string      `json:"trigger,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Before  int         `json:"tokens_before"`
	After   int         `json:"tokens_after"`

	Message string `json:"message,omitempty"` // of block edits and tags
	Block   int    `json:"block,omitempty"`
	ToolUse string `json:"tool_use_id,omitempty"`
	Carrier string `json:"carrier,omitempty"` // of a cache_edit
	New     *Text  `json:"replacement,omitempty"`

	Items  []string `json:"items,omitempty"` // that leave
	Lead   []string `json:"lead,omitempty"`  // kept before what is inserted
	Keep   []string `json:"keep,omitempty"`  // kept behind it
	Insert []Made   `json:"insert,omitempty"`
	Tail   []Made   `json:"tail,omitempty"`
	Delta  int      `json:"delta,omitempty"` // tokens, of an inferred edit
}

// Text is what an edit puts in place: a text, the text of a recorded block, or
// a number of tokens that stands for one.
type Text struct {
	Type     string `json:"type"` // of the block it counts as
	Text     string `json:"text,omitempty"`
	Tokens   int    `json:"tokens,omitempty"`
	Message  string `json:"message,omitempty"` // of the recorded block
	Block    int    `json:"block,omitempty"`
	Recorded bool   `json:"recorded,omitempty"` // as it stands in the file, not what was offloaded and read back
	Partial  bool   `json:"partial,omitempty"`  // a part of the original
}

// Made is a message that an edit adds.
type Made struct {
	ID       string `json:"id"` // synthetic-N
	Role     string `json:"role"`
	Label    string `json:"label"`
	Contents []Text `json:"contents"`
}

// Edits writes the edits of a view down, from the one with this index on.
func Edits(v *view.View, from int) []Edit {
	conv := v.Conversation()
	list := []Edit{}
	edits := v.Edits()
	for i := from; i < len(edits); i++ {
		list = append(list, written(v, conv, &edits[i]))
	}
	return list
}

func written(v *view.View, conv *session.Conversation, e *policy.Edit) Edit {
	w := Edit{
		Request: e.Request, Joined: e.Joined, Stage: e.Stage, Kind: e.Kind, Trigger: e.Trigger, Reason: e.Reason, Before: e.Before, After: e.After,
		Items: names(conv, e.Items), Lead: names(conv, e.Lead), Keep: names(conv, e.Keep),
		Insert: made(conv, e.Insert), Tail: made(conv, e.Tail), Delta: e.Delta,
	}
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindTag, policy.KindCacheEdit, policy.KindServerClear, policy.KindServerKeep:
		w.Message, w.Block = ItemName(conv, e.Target.Item), max(e.Target.Block, 0)
		if e.Target.Item >= 0 && e.Target.Block >= 0 {
			w.ToolUse = v.Raw(e.Target).ID
		}
		if e.Kind == policy.KindCacheEdit {
			w.Carrier = ItemName(conv, e.Carrier)
		}
		if e.New != nil {
			t := text(conv, e.New)
			w.New = &t
		}
	}
	return w
}

func names(conv *session.Conversation, ids []policy.ItemID) []string {
	var list []string
	for _, id := range ids {
		list = append(list, ItemName(conv, id))
	}
	return list
}

func made(conv *session.Conversation, list []policy.Synthetic) []Made {
	var out []Made
	for i := range list {
		s := &list[i]
		m := Made{ID: ItemName(conv, s.ID), Role: s.Role, Label: s.Label, Contents: []Text{}}
		for c := range s.Contents {
			m.Contents = append(m.Contents, text(conv, &s.Contents[c]))
		}
		out = append(out, m)
	}
	return out
}

func text(conv *session.Conversation, c *policy.Content) Text {
	t := Text{Type: typeName(c.Kind), Text: c.Text, Tokens: c.Tokens, Recorded: c.Stub, Partial: c.Partial}
	if c.Ref != nil {
		t.Message, t.Block = ItemName(conv, c.Ref.Item), c.Ref.Block
	}
	return t
}

// typeName is what the API calls a kind of block that a policy can make.
func typeName(k jsonl.Kind) string {
	switch k {
	case jsonl.KindToolResult:
		return "tool_result"
	case jsonl.KindToolUse:
		return "tool_use"
	case jsonl.KindAttachment:
		return "attachment"
	case jsonl.KindImage:
		return "image"
	case jsonl.KindDocument:
		return "document"
	}
	return "text"
}
