package codex

import (
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/summarize"
)

// CodexCompaction are the parameters of codex_compaction.
type CodexCompaction struct {
	Form       string `yaml:"form" doc:"who compacts: local, a summary that the model writes; remote_v1 and remote_v2, one encrypted item of the provider's, with every final answer of the agent's (v1) or none (v2); new_context, no one: a new context begins without a summary and without any message (the feature token_budget)" enum:"local,remote_v1,remote_v2,new_context"`
	Percent    int    `yaml:"percent" doc:"compact at this share of the window" unit:"percent" min:"1" max:"100"`
	TokenLimit *int   `yaml:"token_limit" doc:"model_auto_compact_token_limit: compact here where that is less" unit:"tokens" min:"1"`
	Reasoning  string `yaml:"reasoning" doc:"whether the estimate counts the encrypted reasoning from before the last user message once more; Claude's thinking is none" enum:"encrypted,none"`
	UserTokens *int   `yaml:"user_tokens" doc:"size limit of the newest user messages that stay, at four bytes a token; the message that exceeds it is cut in its middle" unit:"tokens" min:"0"`
	Images     string `yaml:"images" doc:"whether an image of a user message that stays counts, as 1,844 tokens: one that does not fit is left out, and what is before it" enum:"free,count"`
	Buffer     int    `yaml:"buffer" doc:"with new_context: how far past the limit the model goes on, to write notes (auto_compact_fallback_buffer_tokens), but not past 95 % of the window" unit:"tokens" min:"0"`
	Change     string `yaml:"model_change" doc:"compact before a turn that goes on with a model which the client's catalogue gives another compaction hash (comp_hash)" enum:"none,compact"`
	Context    string `yaml:"context" doc:"whether the reminders and attachments from before the session's first response are sent again" enum:"again,none"`
	Prompt     int    `yaml:"prompt_tokens" doc:"the prompt that asks for the summary" unit:"tokens" min:"0"`
	summarize.Params
}

// The values of form.
const (
	formLocal      = "local"
	formRemoteV1   = "remote_v1"
	formRemoteV2   = "remote_v2"
	formNewContext = "new_context"
)

func defineCodexCompaction() policy.Definition {
	userTokens := 20000
	models := catalogue()
	return policy.Definition{
		Name:    "codex_compaction",
		Summary: "At 90 % of the window the view becomes the newest user messages, up to 20,000 tokens of them, and a summary as the last message; compacted by the provider, all of them or up to 64,000 tokens, and one encrypted item.",
		Source:  "Codex CLI: codex-rs/core/src/compact.rs and truncate.rs (commit 0100b103), compact_remote_v2.rs (commit 009bd870; images of user messages count in compact_remote_v2_images.rs, the feature compaction_image_budget, on from 0.150 on), compact_token_budget.rs and session/context_window.rs (a new context, the feature token_budget, off in 0.171.0), auto_compact_token_limit of codex-rs/protocol/src/openai_models.rs; the windows and compaction hashes are those of the catalogues in its releases, the change of model is the reason comp_hash_changed in the program of 0.150.1 and openai/codex#33833; what the provider keeps in its first form is read off 11 recorded compactions of release 0.118.0, in its second off 28 of 0.142.5 to 0.144.5. A typed prompt is a user message, and what it holds next to text stays with it; a final answer is a response without a call. A request that is too long without all that can be dropped fails, and the view stays",
		Truth:   policy.TruthDocumented,
		Moments: policy.Prepare | policy.Manual,
		Params: &CodexCompaction{
			Form: formLocal, Percent: 90, Reasoning: "encrypted", UserTokens: &userTokens, Images: "free", Buffer: 16384, Change: "none", Context: "again", Prompt: 113,
			Params: summarize.DefaultParams(),
		},
		Example: `before: 180,000 of 200,000 tokens; prompts of 5,000, 8,000 and 9,000 tokens, oldest first, and what the agent did
after:  the first prompt cut to 3,000 tokens, the other two, "Another language model started to solve this problem …" and the summary`,
		Window: true,
		Models: func(model, release string, day time.Time) policy.ModelLimits {
			_, l := models(model, release, day)
			return l
		},
		Compaction: &policy.Compaction{},
		New: policy.Maker(func(p CodexCompaction) policy.Stage {
			return &codexCompaction{CodexCompaction: p, models: models}
		}),
	}
}

// limit is the number of used tokens at which a window is compacted.
func (p *CodexCompaction) limit(window int) int {
	at := window * p.Percent / 100
	if p.TokenLimit != nil {
		at = min(at, *p.TokenLimit)
	}
	if p.Form == formNewContext {
		at = min(at+p.Buffer, window*95/100)
	}
	return at
}

// Limits are what decides when codex_compaction acts.
func (p *CodexCompaction) Limits(l *policy.StageLimits) {
	key := "codex_compaction.percent"
	from := fmt.Sprintf("%d %% of the window (codex_compaction.percent)", p.Percent)
	if p.TokenLimit != nil && *p.TokenLimit <= l.Window*p.Percent/100 {
		key = "codex_compaction.token_limit"
		from = "codex_compaction.token_limit"
	}
	if p.Form == formNewContext {
		from += ", and codex_compaction.buffer, but no more than 95 %"
	}
	l.Acts(policy.Limit{Name: "compaction", Label: "compact", Tokens: p.limit(l.Window), From: l.Name(from), Key: key})
}

// Check is what is questionable in a policy with codex_compaction.
func (p *CodexCompaction) Check(c *policy.Check) {
	at := p.limit(c.Window())
	overhead := c.Overhead()
	if users := p.UserTokens; users != nil && *users+overhead >= at && overhead < at {
		c.Add(policy.RuleAlways, "codex_compaction.user_tokens", "make it smaller", "%d of user messages with %d of system prompt and tools reach %d, where codex_compaction compacts again", *users, overhead, at)
	}
	c.Unused("codex_compaction.prompt_tokens", p.Form != formLocal, "codex_compaction.form: the provider needs no prompt")
	c.Unused("codex_compaction.buffer", p.Form == formNewContext, "codex_compaction.form: only new_context has one")
}

// codexSummaryPrefix precedes a summary, with a line break.
const codexSummaryPrefix = "Another language model started to solve this problem and produced a summary of its thinking process. You also have access to the state of the tools that were used by that language model. Use this to build on the work that has already been done and avoid duplicating work. Here is the summary produced by the other language model, use the information in this summary to  assist with your own analysis:"

// codexCompaction acts when Codex does: before a turn, when the new prompt is not in its history yet, and in a turn,
// when the results have joined.
type codexCompaction struct {
	CodexCompaction
	models  func(model, release string, day time.Time) (CatalogueModel, policy.ModelLimits)
	model   string // of the request before
	sums    reasonings
	results allResults
}

func (s *codexCompaction) Run(c *policy.Context) ([]policy.Edit, error) {
	if c.Moment == policy.Manual {
		if s.Manual != "replay" {
			return nil, nil
		}
		return s.compact(c, nil, false, "manual", "the user asked for it")
	}
	history, pending := s.tail(c)
	before := s.model
	s.model = c.Model
	if s.Change == "compact" && len(pending) > 0 {
		was, _ := s.models(before, c.Version, c.Now)
		is, _ := s.models(c.Model, c.Version, c.Now)
		if was.Hash != "" && is.Hash != "" && was.Hash != is.Hash {
			return s.compact(c, pending, len(history) > 0, "model_change", fmt.Sprintf("from %s to %s, of another compaction hash", before, c.Model))
		}
	}
	used := c.Used
	limit := s.limit(c.Window)
	if parts := s.count(c, history, len(pending)); parts != nil {
		used = policy.Sum(parts)
	}
	if used < limit {
		return nil, nil
	}
	return s.compact(c, pending, len(history) > 0, "auto", fmt.Sprintf("used %d >= %d", used, limit))
}

// Count is what Codex compares with its limit before a request.
func (s *codexCompaction) Count(c *policy.Context) []policy.Counted {
	history, pending := s.tail(c)
	return s.count(c, history, len(pending))
}

// count is what Codex compares: what the last response used, and its own estimates of what is in its history since, and
// of encrypted reasoning. It is nil where there is no response, or only one that wrote a summary.
func (s *codexCompaction) count(c *policy.Context, history []policy.ItemID, pending int) []policy.Counted {
	if !c.Last.Known || c.Last.Summary {
		return nil
	}
	since := 0
	for _, id := range history {
		since += codexTokens(c.View, id, s.Form)
	}
	reasoning, estimated := s.reasoning(c, pending)
	return []policy.Counted{
		{Name: "used by the last response", Tokens: c.Last.Usage.Context() + c.Last.Usage.Output},
		{Name: "of items since", Tokens: since},
		{Name: "of encrypted reasoning before the last user message", Tokens: reasoning, Estimated: estimated},
	}
}

// tail is what joined after the last response: history, which Codex has in its history, and pending, the prompt that
// begins a turn and what follows it.
func (s *codexCompaction) tail(c *policy.Context) (history, pending []policy.ItemID) {
	v := c.View
	for id := range v.Backward {
		if v.Role(id) == session.Assistant {
			break
		}
		history = append(history, id)
	}
	slices.Reverse(history)
	at := len(history)
	for i := len(history) - 1; i >= 0; i-- {
		m := v.Message(history[i])
		if m == nil || m.Class == session.ClassToolResult {
			break
		}
		if m.Class == session.ClassPrompt || i+1 == at && m.Class == session.ClassMeta { // what the client adds to a prompt is above it
			at = i
		}
	}
	return history[:at], history[at:]
}

// What is around the texts of an item in its JSON, as Codex keeps it.
const (
	outputFrame  = `{"type":"function_call_output","call_id":"","output":}`
	messageFrame = `{"type":"message","role":"user","content":[{"type":"input_text","text":}]}`
	textFrame    = `{"type":"input_text","text":""},`
	turnFrame    = `,"internal_chat_message_metadata_passthrough":{"turn_id":"01234567-89ab-cdef-0123-456789abcdef"}` // since remote_v2
	imageBytes   = 7373                                                                                               // that an image counts as
	imageTokens  = (imageBytes + 3) / 4
)

// codexTokens is Codex' estimate of an item in its history, in tokens: for each part a quarter of the bytes of its
// JSON, rounded up.
func codexTokens(v policy.View, id policy.ItemID, form string) int {
	n := 0
	for t := range policy.Targets(v, id) {
		l := v.Length(t)
		bytes := l.Bytes + l.JSON - l.UTF16
		if raw := v.Raw(t); raw != nil && raw.Kind == jsonl.KindToolResult {
			bytes += len(outputFrame) + len(raw.ID)
			for _, p := range raw.Parts {
				if bytes += len(textFrame); p.Kind == jsonl.KindImage {
					bytes += imageBytes
				}
			}
		} else {
			bytes += len(messageFrame)
		}
		if form == formRemoteV2 {
			bytes += len(turnFrame)
		}
		n += (bytes + 3) / 4
	}
	return n
}

// compact replaces the view. In a turn the session's context goes before the last prompt, without one before the summary;
// else it begins the next turn.
func (s *codexCompaction) compact(c *policy.Context, pending []policy.ItemID, inTurn bool, trigger, reason string) ([]policy.Edit, error) {
	if c.View.Len() == len(pending) {
		return nil, nil
	}
	if s.Form == formNewContext {
		again := s.context(c, pending)
		if len(again) == 0 { // Codex' own always has this
			again = []policy.Content{policy.Text("<environment_context></environment_context>")}
		}
		return []policy.Edit{{
			Kind: policy.KindSummarize, Trigger: trigger, Reason: reason + "; a new context, no summary", Keep: pending,
			Insert: []policy.Synthetic{{Role: "user", Label: "context", Attached: true, Contents: again}},
		}}, nil
	}
	summary, boundary, from, err := summarize.Take(c, s.Summary, summarize.Bare)
	if err != nil {
		return nil, err
	}
	keep := summarize.Kept(c, boundary, pending)
	call, dropped := s.call(c, keep)
	try := summarize.Plan{Trigger: trigger, Reason: reason, Call: call, Limit: c.Window}
	if s.Form == formLocal { // its instructions and tools are not in the call's input
		try.Limit -= max(c.Overhead, 0)
	}
	if failure := try.Failure(c); failure != nil {
		return failure, nil
	}
	lead, cuts, err := s.prompts(c, keep)
	if err != nil {
		return nil, err
	}
	if dropped > 0 {
		from += fmt.Sprintf("; too long, the oldest %d messages dropped", dropped)
	}
	insert := summarize.Message(summary)
	if s.Form == formLocal {
		insert[0].Contents = prefixed(codexSummaryPrefix+"\n", summary)
	}
	edit := policy.Edit{
		Kind: policy.KindSummarize, Trigger: trigger, Reason: reason + "; summary: " + from,
		Lead: lead, Insert: insert, Keep: keep, Call: call,
	}
	if again := s.context(c, keep); len(again) > 0 {
		context := policy.Synthetic{Role: "user", Label: "context", Attached: true, Contents: again}
		switch last := lastPrompt(c.View, lead); {
		case !inTurn:
			edit.Insert = append(edit.Insert, context)
		case last < 0 || len(keep) > 0:
			edit.Insert = slices.Insert(insert, 0, context)
		default:
			edit.Lead = lead[:last]
			edit.Insert = []policy.Synthetic{context}
			edit.Keep = lead[last:]
			edit.Tail = insert
		}
	}
	edits := []policy.Edit{edit}
	for _, cut := range cuts { // what it leaves of a prompt that was cut before is new, as the whole view is
		cut.Trigger = trigger
		edits = append(edits, cut)
	}
	return edits, nil
}

// lastPrompt is the place of the last prompt among messages; -1: there is none.
func lastPrompt(v policy.View, list []policy.ItemID) int {
	for i, id := range slices.Backward(list) {
		if v.Message(id).Class == session.ClassPrompt {
			return i
		}
	}
	return -1
}

// context is what Codex sends again: here the texts from before the session's first response that no person typed.
func (s *codexCompaction) context(c *policy.Context, keep []policy.ItemID) (list []policy.Content) {
	if s.Context == "none" {
		return nil
	}
	for i := range c.Conv.Messages {
		m := &c.Conv.Messages[i]
		if m.Role == session.Assistant || i >= c.View.Joined() {
			break
		}
		id := policy.ItemID(i)
		if m.RecordOnly || m.Class != session.ClassMeta && m.Class != session.ClassAttachment || slices.Contains(keep, id) {
			continue
		}
		for b := range m.Blocks {
			t := policy.BlockOf(id, b)
			bl := &m.Blocks[b]
			if (bl.Kind == jsonl.KindText || bl.Kind == jsonl.KindAttachment) && bl.Text.UTF16 > 0 {
				list = append(list, policy.Content{Kind: jsonl.KindText, Length: bl.Text, Ref: &t})
			}
		}
	}
	return list
}

// prefixed is a summary after a prefix, joined where the summary has its own text here.
func prefixed(prefix string, summary policy.Content) []policy.Content {
	if summary.Ref == nil && summary.Tokens == 0 {
		return []policy.Content{policy.Text(prefix + summary.Text)}
	}
	return []policy.Content{policy.Text(prefix), summary}
}

// prompts returns the messages that stay, oldest first: the newest of the user's that fit user_tokens, and of the next
// older one as much as fits, by the edits cuts; in the form remote_v1 the agent's final answers too. It leaves out what
// is kept anyway.
func (s *codexCompaction) prompts(c *policy.Context, keep []policy.ItemID) (lead []policy.ItemID, cuts []policy.Edit, err error) {
	v := c.View
	remaining := math.MaxInt
	if s.UserTokens != nil {
		remaining = *s.UserTokens
	}
	for id := range v.Backward {
		if remaining == 0 {
			break
		}
		m := v.Message(id)
		if s.Form == formRemoteV1 && finalAnswer(m) && !slices.Contains(keep, id) {
			lead = append(lead, id)
			continue
		}
		if m == nil || m.Class != session.ClassPrompt || slices.Contains(keep, id) {
			continue
		}
		bytes := 0
		images := 0
		for b := range m.Blocks {
			t := policy.BlockOf(id, b)
			switch kind := v.Kind(t); {
			case kind == jsonl.KindText:
				bytes += v.Length(t).Bytes
			case kind == jsonl.KindImage && s.Images == "count":
				images++
			}
		}
		if bytes == 0 && s.Form == formLocal {
			continue
		}
		tokens := max((bytes+3)/4+images*imageTokens, 1)
		if tokens <= remaining {
			lead = append(lead, id)
			remaining -= tokens
			continue
		}
		stays := false
		if cuts, stays, err = fitting(c, id, remaining, images > 0, fmt.Sprintf("%d tokens of user messages, %d are left", tokens, remaining)); stays {
			lead = append(lead, id)
		} else {
			cuts = nil
		}
		break
	}
	slices.Reverse(lead)
	for len(lead) > 0 && v.Role(lead[0]) == session.Assistant { // the first message has to be a user's
		lead = lead[1:]
	}
	return lead, cuts, err
}

// fitting leaves of a user message the parts that fit, the first ones or, where its images count, the last ones; stays is false
// where none does.
func fitting(c *policy.Context, id policy.ItemID, remaining int, images bool, reason string) (cuts []policy.Edit, stays bool, err error) {
	v := c.View
	blocks := len(v.Message(id).Blocks)
	for b := range blocks {
		t := policy.BlockOf(id, b)
		if images {
			t.Block = blocks - 1 - b
		}
		kind := v.Kind(t)
		tokens := 0
		if kind == jsonl.KindText {
			tokens = (v.Length(t).Bytes + 3) / 4
		} else if images && kind == jsonl.KindImage {
			tokens = imageTokens
		}
		if tokens <= remaining {
			remaining -= tokens
			stays = stays || tokens > 0 || kind == jsonl.KindImage
			continue
		}
		content := policy.Content{Kind: kind, Gone: true}
		if kind == jsonl.KindText && remaining > 0 {
			text, err := c.Texts.Text(t)
			if err != nil {
				return nil, false, fmt.Errorf("reading a user message: %w", err)
			}
			content = policy.Text(codexTruncate(text, 4*remaining))
			stays = true
			content.Partial = true
		}
		cuts = append(cuts, policy.Edit{Kind: policy.KindTruncate, Target: t, New: &content, Reason: reason})
		remaining = 0
	}
	return cuts, stays, nil
}

// finalAnswer reports whether a message is a response that says something and calls no tool.
func finalAnswer(m *session.Message) bool {
	if m == nil || m.Role != session.Assistant {
		return false
	}
	says := false
	for b := range m.Blocks {
		switch m.Blocks[b].Kind {
		case jsonl.KindToolUse, jsonl.KindServerToolUse:
			return false
		case jsonl.KindText:
			says = true
		}
	}
	return says
}

// codexTruncate leaves limit bytes of a text, half from its beginning and half from its end, whole characters, with a
// note of how many tokens are left out.
func codexTruncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	left := limit / 2
	tail := len(text) - (limit - left)
	before := 0
	after := len(text)
	for at, size := 0, 0; at < len(text); at += size {
		_, size = utf8.DecodeRuneInString(text[at:])
		if at+size <= left {
			before = at + size
		} else if at >= tail {
			after = at
			break
		}
	}
	return fmt.Sprintf("%s…%d tokens truncated…%s", text[:before], (len(text)-limit+3)/4, text[max(after, before):])
}
