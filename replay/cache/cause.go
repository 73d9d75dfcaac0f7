package cache

import "fmt"

// Kind names why a request read less than the request before it had left in the
// cache.
type Kind string

// The causes.
const (
	None         Kind = ""              // it read all there was
	First        Kind = "first_request" // nothing of this conversation was in the cache yet
	Expired      Kind = "ttl"           // the entry's life was over
	Edited       Kind = "edit"          // a stage changed what had been sent
	Compacted    Kind = "compaction"    // the messages were rebuilt
	ModelSwitch  Kind = "model_switch"  // caches are a model's own
	ToolsChanged Kind = "tools_changed" // tools or system prompt are others than before
	ImageAdded   Kind = "image_added"   // an image came or went: the messages' cache is lost
	SkillRan     Kind = "skill"         // the client sends other settings while a skill runs
	Thinking     Kind = "thinking"      // the thinking of earlier turns was stripped
	ContextFell  Kind = "context_fell"  // less was sent than before, and no line says why
	BelowMinimum Kind = "below_minimum" // the prefix is shorter than the model caches
	LookBackOver Kind = "look_back"     // more blocks joined than are looked back over
	Unmarked     Kind = "no_breakpoint" // the client marks nothing
)

// Cause is why something could not be read from the cache.
type Cause struct {
	Kind    Kind   `json:"cause"`
	Stage   string `json:"stage,omitempty"`   // of an edit: the stage that made it
	Message string `json:"message,omitempty"` // of an edit: uuid of the first message it changed
}

// String is the cause in a few words.
func (c Cause) String() string {
	switch c.Kind {
	case None:
		return "hit"
	case Edited:
		return fmt.Sprintf("edit by %s at message %s", c.Stage, c.Message)
	case First:
		return "first request"
	case Expired:
		return "lifetime over"
	case ModelSwitch:
		return "model switch"
	case ToolsChanged:
		return "tools or system prompt changed"
	case ImageAdded:
		return "image added or removed"
	case SkillRan:
		return "a skill began or ended"
	case Thinking:
		return "thinking of earlier turns stripped"
	case ContextFell:
		return "the context fell, no line says why"
	case BelowMinimum:
		return "below the model's minimum"
	case LookBackOver:
		return "look-back exceeded"
	case Unmarked:
		return "no breakpoint"
	}
	return string(c.Kind)
}

// why compares what was read with what the request before had written last.
func (s *Sim) why(r *Request, hit int) Cause {
	switch {
	case len(r.Breakpoints) == 0:
		return Cause{Kind: Unmarked}
	case !s.any:
		return Cause{Kind: First}
	case hit >= 0 && s.entries[hit].position >= s.last.position && !s.broken.any:
		return Cause{}
	case s.last.model != r.Model && s.last.model != "":
		return Cause{Kind: ModelSwitch}
	case s.broken.any && s.broken.position <= s.last.position:
		return s.broken.cause
	case s.last.model == "":
		// The request before left nothing: its prefix was too short.
		if r.Breakpoints[len(r.Breakpoints)-1].Tokens < r.Minimum || hit < 0 {
			return Cause{Kind: BelowMinimum}
		}
		return Cause{}
	case hit >= 0 && s.entries[hit].position >= s.last.position:
		return Cause{}
	case s.now.After(s.last.expires):
		return Cause{Kind: Expired}
	}
	return Cause{Kind: LookBackOver}
}
