package claude

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
)

// MicrocompactSize are the parameters of microcompact_size.
type MicrocompactSize struct {
	Enabled    bool     `yaml:"enabled" doc:"clear by size; false: never, as where the server switches it off"`
	Target     int      `yaml:"target" doc:"leave at most this many estimated tokens of compactable results" unit:"tokens" min:"0"`
	MinSavings int      `yaml:"min_savings" doc:"do nothing unless at least this many estimated tokens are saved" unit:"tokens" min:"0"`
	KeepRecent int      `yaml:"keep_recent" doc:"the newest compactable tool uses that are never touched" unit:"results" min:"0"`
	Tools      []string `yaml:"tools" doc:"tools whose results may be compacted; a trailing * matches any rest"`
	Persist    bool     `yaml:"persist" doc:"save the result to a file and leave a stub that names it; false: leave the cleared text"`
	Gate       string   `yaml:"gate" doc:"what the warning test reads: the last response's usage, or that plus the estimate of what came after" enum:"last_usage,usage_plus_tail"`
	State      string   `yaml:"state" doc:"own: decide alone; recorded: where the session has a recorded microcompaction, clear the results it names and decide nothing else there" enum:"own,recorded"`
	Manual     bool     `yaml:"manual" doc:"skip the warning and savings gates, as a compaction by hand does"`
}

// ClearedText is the placeholder of a cleared result.
const ClearedText = "[Old tool result content cleared]"

func defineMicrocompactSize() policy.Definition {
	return policy.Definition{
		Name:    "microcompact_size",
		Summary: "Before a request above the warning threshold, the oldest tool results are saved to files until at most target tokens of them are left.",
		Source:  "Claude Code 2.1.19, analysis of the bundled client; confirmed by microcompactions recorded by 2.1.12-2.1.22",
		Differs: "No attachment is cleared: the microcompactions that sessions record clear none (clearedAttachmentUUIDs is empty in all)",
		Truth:   policy.TruthRecorded,
		Moments: policy.Prepare,
		Params:  defaultMicrocompactSize(),
		Example: `before: used 136,000 (warning threshold 135,000); results, oldest first: Read 30,000, Bash 15,000, Grep 10,000, Read 5,000, Read 400, Edit 100
after:  the first Read is a stub naming its file (60,500 - 30,000 = 30,500 <= 40,000; 30,000 saved >= 20,000); all else is unchanged`,
		Window: true,
		Shared: sharedWindow(),
		New:    func(p any) (policy.Stage, error) { return newMicrocompactSize(p.(*MicrocompactSize)), nil },
	}
}

// Limits are what decides when microcompact_size acts.
func (p *MicrocompactSize) Limits(l *policy.StageLimits) {
	if p.Manual || !p.Enabled {
		return
	}
	const from = "the warning threshold; acts where enough tokens of results are saved"
	l.Acts(policy.Limit{
		Name: "microcompaction", Tokens: limitsOf(l).Warning, From: from,
		Key: "microcompact_size", Lower: "make window.warning_offset larger", Raise: "make window.warning_offset smaller",
	})
}

// Check is what is questionable in a policy with microcompact_size.
func (p *MicrocompactSize) Check(c *policy.Check) {
	c.Unused("microcompact_size.min_savings", p.Manual, "microcompact_size.manual: true skips the gates")
	c.Unused("microcompact_size.gate", p.Manual, "microcompact_size.manual: true skips the gates")
	if limit, what := c.Ceiling(c.Window()); p.Enabled && !p.Manual && p.Target+p.MinSavings > limit {
		c.Add(policy.RuleNever, "microcompact_size.target", "make target or min_savings smaller",
			"%d tokens of results and %d to save are more than %d, %s", p.Target, p.MinSavings, limit, what)
	}
}

// defaultMicrocompactSize returns the client's own figures.
func defaultMicrocompactSize() *MicrocompactSize {
	return &MicrocompactSize{Enabled: true, Target: 40000, MinSavings: 20000, KeepRecent: 3, Tools: compactable(), Persist: true, Gate: "last_usage", State: "own"}
}

func newMicrocompactSize(p *MicrocompactSize) policy.Stage {
	return &microcompactSize{MicrocompactSize: *p, done: map[string]bool{}}
}

// microcompactSize reproduces the microcompact by size of Claude Code 2.1.19. Without edits, anew, marked and seen the list
// is made again after each edit, and a compare of five policies takes more than two replays (bar in docs/performance.md).
type microcompactSize struct {
	MicrocompactSize
	results compactables    // not compacted yet, as of the last request that asked for them
	done    map[string]bool // ids of the calls and of the messages that were compacted
	edits   int             // of the view, looked at
	anew    bool            // an edit after the last look may have changed any result
	marked  int             // results at the start of the list for which the last run proposed edits, and nothing else
	seen    []int           // len(View.Results) at each request after the last look
}

func (s *microcompactSize) Run(c *policy.Context) ([]policy.Edit, error) {
	proposed := s.results.list[:s.marked]
	s.marked = 0
	if n := len(c.View.Edits()); n != s.edits {
		s.follow(c.View.Edits()[s.edits:], proposed)
		s.edits = n
		s.seen = s.seen[:0]
	}
	s.seen = append(s.seen, len(c.View.Results()))
	if s.State == "recorded" {
		if edits, here, err := s.recorded(c); here {
			return edits, err
		}
	}
	gate := c.Used - c.UsedTail
	if s.Gate == "usage_plus_tail" {
		gate = c.Used
	}
	warning := thresholds(c).Warning
	if !s.Enabled || !s.Manual && gate < warning {
		return nil, nil
	}
	list := s.list(c.View)
	total := tokensOf(list)
	marked := 0
	saved := 0
	for marked < len(list)-s.KeepRecent && total-saved > s.Target {
		saved += list[marked].tokens
		marked++
	}
	if marked == 0 || !s.Manual && saved < s.MinSavings {
		return nil, nil
	}
	reason := fmt.Sprintf("last usage %d >= warning %d; %d of %d estimated tokens of results saved", gate, warning, saved, total)
	edits, err := s.clear(c, list[:marked], reason)
	if len(edits) == marked {
		s.marked = marked
	}
	return edits, err
}

// follow notes edits since the last look. Those that it proposed itself, of the marked results, take what they compact off
// the list.
func (s *microcompactSize) follow(edits []policy.Edit, marked []compactableAt) {
	own := len(edits) == len(marked)
	for i := 0; own && i < len(edits); i++ {
		kind := edits[i].Kind
		own = (kind == policy.KindPersist || kind == policy.KindClear) && edits[i].Target == marked[i].Target
	}
	if own {
		s.results.remove(func(r *compactableAt) bool { return s.done[r.ID] })
	} else {
		s.anew = true
	}
}

// list returns the results that were not compacted. Most requests end at the gate and need none.
func (s *microcompactSize) list(v policy.View) []compactableAt {
	if s.anew {
		s.results.restart(v)
		s.anew = false
	}
	for _, n := range s.seen {
		s.results.follow(v, n, s.Tools, func(r *compactableAt) bool { return !s.done[r.ID] })
	}
	s.seen = s.seen[:0]
	return s.results.list
}

// recorded clears the results that the microcompactions recorded before this request name; here reports whether there
// are any.
func (s *microcompactSize) recorded(c *policy.Context) (edits []policy.Edit, here bool, err error) {
	at := sort.Search(len(c.Conv.Micro), func(i int) bool { return c.Conv.Micro[i].Request >= c.Request })
	for ; at < len(c.Conv.Micro) && c.Conv.Micro[at].Request == c.Request; at++ {
		m := &c.Conv.Micro[at]
		here = true
		marks := slices.DeleteFunc(slices.Clone(s.list(c.View)), func(r compactableAt) bool { return !slices.Contains(m.ToolIDs, r.ID) })
		more, err := s.clear(c, marks, fmt.Sprintf("recorded, line %d", m.Line))
		if err != nil {
			return nil, true, err
		}
		edits = append(edits, more...)
	}
	return edits, here, nil
}

func tokensOf(list []compactableAt) (tokens int) {
	for _, r := range list {
		tokens += r.tokens
	}
	return tokens
}

// clear makes the edits for the marked results.
func (s *microcompactSize) clear(c *policy.Context, marks []compactableAt, reason string) (edits []policy.Edit, err error) {
	detail := map[string]int{"pre_tokens": tokensOf(s.results.list), "tokens_saved": tokensOf(marks), "compacted_ids": len(marks)}
	text := policy.NewContent(jsonl.KindToolResult, ClearedText)
	cleared := &text
	for _, r := range marks {
		s.done[r.ID] = true
		e := policy.Edit{Kind: policy.KindPersist, Trigger: "auto", Target: r.Target, Reason: reason, Detail: detail}
		switch skip, err := (microcompaction{}).Leaves(c.View, c.Texts, r.Target); {
		case err != nil:
			return nil, err
		case skip:
			edits = append(edits, unchanged(c.View, e))
			continue
		case s.Persist:
			stub := (microcompaction{}).Stub(c.View, r.Result)
			e.New = &stub
		default:
			e.Kind = policy.KindClear
			e.New = cleared
		}
		edits = append(edits, e)
	}
	for id := range c.View.Items {
		m := c.View.Message(id)
		if m == nil || m.Attachment != "memory" || s.done[m.UUID] {
			continue
		}
		s.done[m.UUID] = true
		detail["cleared_attachments"]++
		edits = append(edits, policy.Edit{Kind: policy.KindRemove, Trigger: "auto", Items: []policy.ItemID{id}, Reason: "memory attachments go with a microcompaction"})
	}
	return edits, nil
}

// unchanged sets the content that the view has: the edit names the result and does not change it.
func unchanged(v policy.View, e policy.Edit) policy.Edit {
	if e.New = v.Replacement(e.Target); e.New == nil {
		e.New = &policy.Content{Kind: jsonl.KindToolResult, Length: v.Length(e.Target), Ref: &e.Target}
	}
	return e
}

// microcompaction applies microcompact_size to sessions that recorded one.
type microcompaction struct{}

// Leaves reports whether a microcompaction counts and names a marked result but does not change it: it is empty, a
// placeholder, or already persisted. Array content is always replaced.
func (microcompaction) Leaves(v policy.View, texts policy.TextSource, t policy.Target) (bool, error) {
	if r := v.Replacement(t); r != nil {
		return r.Stub || r.Text == ClearedText || strings.Contains(r.Text, "<persisted-output>"), nil
	}
	raw := v.Raw(t)
	if !raw.IsString && raw.Offload == nil {
		return len(raw.Parts) == 0 && raw.Text.UTF16 == 0, nil
	}
	if raw.Whole().UTF16 == 0 || raw.Persisted && raw.Offload == nil {
		return true, nil
	}
	if raw.Whole().UTF16 != len(ClearedText) {
		return false, nil
	}
	text, err := texts.Text(t)
	return text == ClearedText, err
}

// Stub makes the text in the place of a persisted result.
func (microcompaction) Stub(v policy.View, r policy.Result) policy.Content {
	ext := "txt"
	if raw := v.Raw(r.Target); v.Replacement(r.Target) == nil && !raw.IsString && raw.Offload == nil && len(raw.Parts) > 0 {
		ext = "json"
	}
	return persistedStub(v.Conversation(), r.ID, ext)
}

// Stage clears by the default parameters without gates.
func (microcompaction) Stage() policy.Stage {
	p := defaultMicrocompactSize()
	p.Manual = true
	return newMicrocompactSize(p)
}
