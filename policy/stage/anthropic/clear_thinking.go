package anthropic

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// ClearThinking are the parameters of clear_thinking.
type ClearThinking struct {
	Keep *int `yaml:"keep" doc:"the newest assistant turns with thinking that keep it; all: none is cleared; auto: the model's own default" unit:"turns" min:"1" zero:"auto" none:"all"`
}

func defineClearThinking() policy.Definition {
	auto := 0
	return policy.Definition{
		Name:    "clear_thinking",
		Summary: "On the server, the thinking blocks of all assistant turns but the newest are cleared from what the model sees; the client's history stays.",
		Source:  "Anthropic API, context editing strategy clear_thinking_20251015 (beta context-management-2025-06-27)",
		Truth:   policy.TruthDocumented,
		Moments: policy.Project,
		Memory:  policy.Stateless,
		Params:  &ClearThinking{Keep: &auto},
		Example: `before: keep 1; three answered prompts, each answer with thinking
after:  the payload holds the thinking of the third answer alone; with keep all, the default from Opus 4.5 and Sonnet 4.6 on, that of all three`,
		New: func(p any) (policy.Stage, error) {
			s := &clearThinking{keep: allTurns}
			if keep := p.(*ClearThinking).Keep; keep != nil {
				s.keep = *keep
			}
			return s, nil
		},
	}
}

// Check is what is questionable in a policy with clear_thinking.
func (*ClearThinking) Check(c *policy.Check) {
	if c.Follows("clear_tool_uses") {
		c.Add(policy.RuleOrder, "clear_thinking", "list it before clear_tool_uses", "the API refuses a request whose edits do not begin with clear_thinking")
	}
}

// allTurns is the number of turns to keep where thinking is never cleared.
const allTurns = -1

// clearThinking counts the turns that hold thinking. A turn goes from one prompt to the next, so the thinking of a
// tool loop stays together.
type clearThinking struct {
	keep   int // turns; 0: by model, allTurns: all
	server serverSide
	open   bool // the last unit's turn goes on
	model  string
	usual  int // turns that keep it by default of model
}

func (s *clearThinking) Run(c *policy.Context) ([]policy.Edit, error) {
	s.follow(c.View)
	keep := s.keep
	whose := ""
	if keep == 0 {
		keep = s.byModel(c.Model)
		whose = ", the default of " + c.Model
	}
	want := 0
	if keep != allTurns {
		want = max(len(s.server.units)-keep, 0)
	}
	if s.server.unchanged(want) {
		return nil, nil
	}
	reason := "all thinking is kept" + whose
	if keep != allTurns {
		reason = fmt.Sprintf("%d turns with thinking, the newest %d keep it%s", len(s.server.units), keep, whose)
	}
	return s.server.set(want, policy.Edit{Trigger: "auto", Reason: reason, Detail: map[string]int{"cleared_thinking_turns": want}}), nil
}

// byModel is defaultThinking, computed once for a model.
func (s *clearThinking) byModel(model string) int {
	if s.usual == 0 || model != s.model {
		s.model, s.usual = model, defaultThinking(model)
	}
	return s.usual
}

// follow sorts the thinking blocks that joined since the last request into turns.
func (s *clearThinking) follow(v policy.View) {
	joined, anew := s.server.follow(v, func(policy.Target) {})
	if anew {
		s.open, joined = false, v.IDs()
	}
	for _, id := range joined {
		s.item(v, id)
	}
}

func (s *clearThinking) item(v policy.View, id policy.ItemID) {
	m := v.Message(id)
	if m == nil || m.Role == session.User {
		// A prompt queued while the agent ran is part of its turn.
		if v.Role(id) == session.User && (m == nil || m.Class == session.ClassPrompt && !m.Is(session.Queued)) {
			s.open = false
		}
		return
	}
	for b := range m.Blocks {
		if k := m.Blocks[b].Kind; k != jsonl.KindThinking && k != jsonl.KindRedactedThinking {
			continue
		}
		if !s.open {
			s.open = true
			s.server.units = append(s.server.units, nil)
		}
		last := &s.server.units[len(s.server.units)-1]
		*last = append(*last, substitute{target: policy.BlockOf(id, b)})
	}
}

// ClearsThinking reports whether the server clears the thinking of a model's earlier turns by default.
func ClearsThinking(model string) bool { return defaultThinking(model) != allTurns }

// defaultThinking is how many turns keep their thinking by default: all from Opus 4.5 and Sonnet 4.6 on and in later
// families, the last one before that. Haiku after 4.5 is not documented and assumed to keep all.
func defaultThinking(model string) int {
	for family, until := range map[string]int{"opus": 401, "sonnet": 405, "haiku": 405} {
		if v, ok := modelVersion(model, family); ok && v <= until {
			return 1
		}
	}
	return allTurns
}

// modelVersion is the version of a model of a family, as major x 100 + minor: 405 of claude-sonnet-4-5-20250929, 307
// of claude-3-7-sonnet-20250219.
func modelVersion(model, family string) (int, bool) {
	parts := strings.FieldsFunc(strings.ToLower(model), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	for i, p := range parts {
		if p != family {
			continue
		}
		if v, ok := versionAt(parts[i+1:]); ok {
			return v, true
		}
		for from := range parts[:i] { // before the family: claude-3-7-sonnet
			if v, ok := versionAt(parts[from:i]); ok {
				return v, true
			}
		}
	}
	return 0, false
}

// versionAt reads major and minor version at the beginning of parts, as major x 100 + minor. A number of more than two
// digits is a date.
func versionAt(parts []string) (int, bool) {
	var nums [2]int
	n := 0
	for n < 2 && n < len(parts) && len(parts[n]) <= 2 {
		v, err := strconv.Atoi(parts[n])
		if err != nil {
			break
		}
		nums[n] = v
		n++
	}
	return nums[0]*100 + nums[1], n > 0
}
