package diff

import (
	"cmp"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
)

// EditOutput is one edit in output. The raw history and the edits define a view.
type EditOutput struct {
	Request int             `json:"request"` // n of the main request it belongs to; 0: after the last
	Joined  int             `json:"joined"`  // messages of the session that had joined or were passed over
	Stage   string          `json:"stage"`
	Kind    policy.EditKind `json:"kind"`
	Trigger string          `json:"trigger,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Before  int             `json:"tokens_before"`
	After   int             `json:"tokens_after"`

	Message string    `json:"message,omitempty"` // of block edits and tags
	Block   int       `json:"block,omitempty"`
	ToolUse string    `json:"tool_use_id,omitempty"`
	Carrier string    `json:"carrier,omitempty"` // of a cache_edit
	New     *EditText `json:"replacement,omitempty"`

	Items  []string `json:"items,omitempty"` // that leave
	Lead   []string `json:"lead,omitempty"`  // kept before what is inserted
	Keep   []string `json:"keep,omitempty"`  // kept behind it
	Insert []Made   `json:"insert,omitempty"`
	Tail   []Made   `json:"tail,omitempty"`
	Delta  int      `json:"delta,omitempty"` // tokens, of an inferred edit
}

// EditText is the content that an edit adds: a text, the text of a recorded block, only a number of tokens, or nothing.
type EditText struct {
	Type     string `json:"type"` // of the block it counts as
	Text     string `json:"text,omitempty"`
	Tokens   int    `json:"tokens,omitempty"`
	Message  string `json:"message,omitempty"` // of the recorded block
	Block    int    `json:"block,omitempty"`
	Recorded bool   `json:"recorded,omitempty"` // as in the file, without what was offloaded and read back
	Partial  bool   `json:"partial,omitempty"`  // a part of the original
	Gone     bool   `json:"gone,omitempty"`     // nothing takes the block's place: it is not sent
}

// Made is a message that an edit adds.
type Made struct {
	ID       string     `json:"id"` // synthetic-N
	Role     string     `json:"role"`
	Label    string     `json:"label"`
	Attached bool       `json:"attached,omitempty"` // the client attaches it again after a compaction
	Contents []EditText `json:"contents"`
}

// Edits returns the edits of a view from an index on.
func Edits(v *view.View, from int) []EditOutput {
	edits := v.Edits()
	list := make([]EditOutput, 0, max(len(edits)-from, 0))
	for i := from; i < len(edits); i++ {
		e := edits[i]
		list = append(list, written(v, &e))
	}
	return list
}

func written(v *view.View, e *policy.Edit) EditOutput {
	conv := v.Conversation()
	w := EditOutput{
		Request: e.Request, Joined: e.Joined, Stage: e.Stage, Kind: e.Kind, Trigger: e.Trigger, Reason: e.Reason,
		Before: e.Before, After: e.After, Delta: e.Delta,
		Items: names(conv, e.Items), Lead: names(conv, e.Lead), Keep: names(conv, e.Keep),
		Insert: made(conv, e.Insert), Tail: made(conv, e.Tail),
	}
	switch e.Kind {
	case policy.KindClear, policy.KindPersist, policy.KindTruncate, policy.KindTag, policy.KindWrap,
		policy.KindCacheEdit, policy.KindServerClear, policy.KindServerKeep:
		w.Message = ItemName(conv, e.Target.Item)
		w.Block = max(e.Target.Block, 0)
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

func names(conv *session.Conversation, ids []policy.ItemID) (list []string) {
	for _, id := range ids {
		list = append(list, ItemName(conv, id))
	}
	return list
}

func made(conv *session.Conversation, list []policy.Synthetic) (out []Made) {
	for _, s := range list {
		m := Made{ID: ItemName(conv, s.ID), Role: s.Role, Label: s.Label, Attached: s.Attached, Contents: []EditText{}}
		for c := range s.Contents {
			m.Contents = append(m.Contents, text(conv, &s.Contents[c]))
		}
		out = append(out, m)
	}
	return out
}

// typeNames are the API's names of the kinds of blocks that a policy can make; "text" if not listed.
var typeNames = map[jsonl.Kind]string{
	jsonl.KindToolResult: "tool_result", jsonl.KindToolUse: "tool_use", jsonl.KindAttachment: "attachment",
	jsonl.KindImage: "image", jsonl.KindDocument: "document",
}

func text(conv *session.Conversation, c *policy.Content) EditText {
	t := EditText{
		Type: cmp.Or(typeNames[c.Kind], "text"), Text: c.Text, Tokens: c.Tokens, Recorded: c.Stub, Partial: c.Partial, Gone: c.Gone,
	}
	if c.Ref != nil {
		t.Message = ItemName(conv, c.Ref.Item)
		t.Block = c.Ref.Block
	}
	return t
}
