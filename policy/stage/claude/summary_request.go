package claude

import (
	_ "embed" // the prompts
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// The prompts that ask for a summary, as the analyses print them: of 2.1.19, and of the five-level pipeline, whose
// page has lost blank lines and indents.
var (
	//go:embed summary_prompt_2.1.19.txt
	summaryPrompt string
	//go:embed summary_prompt_pipeline.txt
	summaryPromptPipeline string
)

// ownSystem is the system prompt of a summary request that does not begin with the session's own prefix (the
// five-level pipeline analysis).
const ownSystem = "You are a helpful AI assistant tasked with summarizing conversations."

// promptText is the prompt of a number of tokens, "" where no source has one.
func promptText(tokens int) string {
	for _, text := range []string{summaryPrompt, summaryPromptPipeline} {
		if policy.RoundQuarter(jsonl.Measure(text).UTF16) == tokens {
			return text
		}
	}
	return ""
}

// Request is what the call is sent: the messages that are not kept as they were before this request's microcompaction,
// with a prefix of its own without images, documents, and what an earlier compaction re-injected; the oldest rounds
// dropped where they did not fit, and the prompt.
func (s *autocompact) Request(c *policy.Context, e *policy.Edit) (policy.CallRequest, error) {
	r := policy.CallRequest{Edits: beforeMicrocompaction(c), MaxOutput: s.MaxOutput}
	if s.Prefix == "own" {
		r.System = ownSystem
	}
	var attached, cut []policy.ItemID
	round := 0
	seen := false
	kept := s.kept
	for id := range c.View.Items {
		if len(kept) > 0 && id == kept[0] {
			break
		}
		if c.View.Role(id) == session.Assistant {
			if seen {
				round++
			}
			seen = true
		}
		switch sy := c.View.Synthetic(id); {
		case round < s.dropped:
			cut = append(cut, id)
		case s.Prefix == "session":
		case sy != nil && sy.Attached:
			attached = append(attached, id)
		case sy == nil:
			if err := withoutMedia(c, id, &r); err != nil {
				return r, err
			}
		}
	}
	if len(kept) > 0 {
		r.Edits = append(r.Edits, policy.Edit{Kind: policy.KindRemove, Items: kept, Reason: "it stays behind the summary"})
	}
	if len(attached) > 0 {
		r.Edits = append(r.Edits, policy.Edit{Kind: policy.KindRemove, Items: attached, Reason: "an earlier compaction re-injected it"})
	}
	if len(cut) > 0 {
		marker := policy.Synthetic{Role: "user", Label: "truncated", Contents: []policy.Content{policy.Text(truncatedForRetry)}}
		r.Edits = append(r.Edits, policy.Edit{Kind: policy.KindCollapse, Items: cut, Insert: []policy.Synthetic{marker}, Reason: "the request was too long"})
	}
	r.Edits = append(r.Edits, policy.Asking(promptText(s.PromptTokens), s.PromptTokens))
	return r, nil
}

// withoutMedia takes the images and documents out of a message.
func withoutMedia(c *policy.Context, id policy.ItemID, r *policy.CallRequest) error {
	for t := range policy.Targets(c.View, id) {
		if isMedia(c.View.Kind(t)) {
			r.Without = append(r.Without, t)
			continue
		}
		raw := c.View.Raw(t)
		if raw == nil || raw.Kind != jsonl.KindToolResult || c.View.Replacement(t) != nil {
			continue
		}
		for _, p := range raw.Parts {
			if !isMedia(p.Kind) {
				continue
			}
			text, err := c.Texts.Recorded(t)
			if err != nil {
				return err
			}
			content := policy.NewContent(jsonl.KindToolResult, text)
			content.Partial = true
			r.Edits = append(r.Edits, policy.Edit{Kind: policy.KindTruncate, Target: t, New: &content, Reason: "images and documents are left out"})
			break
		}
	}
	return nil
}

// beforeMicrocompaction puts back what this request's microcompaction has replaced.
func beforeMicrocompaction(c *policy.Context) []policy.Edit {
	var edits []policy.Edit
	before := map[policy.Target]*policy.Content{}
	for _, e := range c.View.Edits() {
		switch {
		case e.New == nil || !c.View.Has(e.Target.Item) || c.View.Replacement(e.Target) == nil:
		case e.Request == c.Request && strings.HasPrefix(e.Stage, "microcompact"):
			was := before[e.Target]
			if was == nil {
				t := e.Target
				was = &policy.Content{Kind: jsonl.KindToolResult, Length: c.View.Raw(t).Whole(), Ref: &t}
			}
			edits = append(edits, policy.Edit{Kind: policy.KindClear, Target: e.Target, New: was, Reason: "as it was before the microcompaction"})
		default:
			before[e.Target] = e.New
		}
	}
	return edits
}
