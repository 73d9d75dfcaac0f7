package pi

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/measure"
)

// imageChars is what an image counts as.
const imageChars = 4800

// tokens is the client's estimate of an item, in tokens: a quarter of the characters of each of its messages, rounded
// up. A tool_result is a separate message.
func (s *piCompaction) tokens(v policy.View, id policy.ItemID) int {
	n := 0
	chars := 0
	for t := range policy.Targets(v, id) {
		c := v.Replacement(t)
		raw := v.Raw(t)
		switch kind := v.Kind(t); {
		case c != nil && c.Tokens > 0:
			chars += 4 * c.Tokens
		case kind == jsonl.KindToolResult:
			n += quarter(v.Length(t).UTF16 + imageChars*measure.Images(v, t))
		case kind == jsonl.KindImage && s.countsImages():
			chars += imageChars
		case kind == jsonl.KindToolUse && c == nil:
			chars += len(raw.Name) + raw.JSON.UTF16
		case kind == jsonl.KindToolUse:
			chars += len(raw.Name) + v.Length(t).UTF16
		case kind != jsonl.KindRedactedThinking && kind != jsonl.KindImage:
			chars += v.Length(t).UTF16
		}
	}
	if sy := v.Synthetic(id); sy != nil && sy.Summary {
		chars -= len(summaryBegin + summaryEnd)
	}
	return n + quarter(chars)
}

// countsImages reports whether images of the user are counted.
func (p *PiCompaction) countsImages() bool { return p.inRun() }

func quarter(chars int) int { return (chars + 3) / 4 }

// resultTokens is the weight of a result of which at most limit characters are shown, without its images, in tokens.
func resultTokens(v policy.View, t policy.Target, limit int) int {
	if measure.Images(v, t) > 0 {
		return quarter(min(v.Length(t).UTF16, limit))
	}
	return measure.CutTokens(v, t, limit)
}

// note adds the files that an item's calls are about.
func (f fileOps) note(c *policy.Context, id policy.ItemID) error {
	m := c.View.Message(id)
	if m == nil || m.Role != session.Assistant {
		return nil
	}
	for b := range m.Blocks {
		bl := &m.Blocks[b]
		if bl.Kind != jsonl.KindToolUse {
			continue
		}
		changes, ok := fileTool(c.Conv.Alike(bl.Name))
		if !ok {
			continue
		}
		t := policy.BlockOf(id, b)
		text, err := c.Texts.Recorded(t)
		if err != nil {
			return err
		}
		var in struct {
			Path     string `json:"path"`
			FilePath string `json:"file_path"`
		}
		if json.Unmarshal(c.Conv.AlikeInput(bl.Name, []byte(text)), &in) != nil {
			continue
		}
		if path := cmp.Or(in.Path, in.FilePath); path != "" {
			f[path] = f[path] || changes
		}
	}
	return nil
}

// fileTool reports whether a tool works on a file, and whether it changes it.
func fileTool(name string) (changes, ok bool) {
	switch strings.ToLower(name) {
	case "read":
		return false, true
	case "write", "edit", "multiedit":
		return true, true
	}
	return false, false
}
