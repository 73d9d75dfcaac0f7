// Package measure measures items of a view and follows its changes, for the stages of several families.
package measure

import (
	"strings"
	"unicode/utf16"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Matches reports whether a tool is on the list, by the name it has or by that of its counterpart in Claude Code; an
// entry that ends in * matches by its beginning.
func Matches(tools []string, name, alike string) bool {
	for _, t := range tools {
		if t == name || t == alike {
			return true
		}
		if head, ok := strings.CutSuffix(t, "*"); ok && (strings.HasPrefix(name, head) || strings.HasPrefix(alike, head)) {
			return true
		}
	}
	return false
}

// Called reports whether the tool that a result answers is on the list.
func Called(tools []string, conv *session.Conversation, result *session.Block) bool {
	name := conv.ToolName(result.ID)
	return Matches(tools, name, conv.Alike(name))
}

// SafeID replaces what a file name may not hold in an id.
func SafeID(id string) string {
	for i := range len(id) {
		if !safe(rune(id[i])) {
			return strings.Map(func(r rune) rune {
				if safe(r) {
					return r
				}
				return '-'
			}, id)
		}
	}
	return id
}

func safe(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '-'
}

// Images is how many images a tool_result holds in the view.
func Images(v policy.View, t policy.Target) int {
	raw := v.Raw(t)
	if raw == nil || v.Replacement(t) != nil || raw.Offload != nil {
		return 0
	}
	n := 0
	for _, p := range raw.Parts {
		if p.Kind == jsonl.KindImage {
			n++
		}
	}
	return n
}

// ResultParts is the texts and images of a result whose content is an array, in order; nil where it is one text.
func ResultParts(v policy.View, t policy.Target) []jsonl.Part {
	raw := v.Raw(t)
	if raw.Offload != nil || raw.IsString {
		return nil
	}
	list := []jsonl.Part{}
	for _, p := range raw.Parts {
		if p.Kind == jsonl.KindText || p.Kind == jsonl.KindImage {
			list = append(list, p)
		}
	}
	return list
}

// JoinParts joins the parts of a result by line breaks, with words in the place of each image. text is its texts, joined
// by blank lines.
func JoinParts(v policy.View, t policy.Target, text, image string) string {
	parts := ResultParts(v, t)
	if parts == nil {
		return text
	}
	words := make([]string, len(parts))
	for i, p := range parts {
		if words[i] = image; p.Kind == jsonl.KindText {
			words[i] = FirstUnits(text, p.Text.UTF16)
			text = strings.TrimPrefix(text[len(words[i]):], "\n\n")
		}
	}
	return strings.Join(words, "\n")
}

// FirstUnits is the beginning of a text, at most n UTF-16 units of it.
func FirstUnits(text string, n int) string {
	for at, r := range text {
		if n -= utf16.RuneLen(r); n < 0 {
			return text[:at]
		}
	}
	return text
}

// LastUnits is the end of a text, at most n UTF-16 units of it.
func LastUnits(text string, n int) string {
	over := jsonl.Measure(text).UTF16 - n
	if over <= 0 {
		return text
	}
	for at, r := range text {
		if over <= 0 {
			return text[at:]
		}
		over -= utf16.RuneLen(r)
	}
	return ""
}

// CutTokens is the weight of a block of which at most limit UTF-16 units are sent, in tokens.
func CutTokens(v policy.View, t policy.Target, limit int) int {
	w := v.BlockTokens(t)
	if l := v.Length(t).UTF16; l > limit {
		return w * limit / l
	}
	return w
}

// Sent reports whether an item goes to the API: an attachment that the client keeps to itself does not.
func Sent(v policy.View, id policy.ItemID) bool {
	for t := range policy.Targets(v, id) {
		if v.Kind(t) != jsonl.KindAttachment || v.Length(t).UTF16 > 0 {
			return true
		}
	}
	return v.Tag(id) != nil
}

// PromptTokens is the size, in tokens, of the request about to be made, as the server would count it before its own
// edits.
func PromptTokens(c *policy.Context) int { return max(c.Overhead+c.View.ClientTokens(), 0) }
