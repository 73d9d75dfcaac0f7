package cache

// BreakCause names why a request read less from the cache than the request before it had left there.
type BreakCause string

// The causes.
const (
	None         BreakCause = ""                  // it read everything
	First        BreakCause = "first_request"     // nothing of this conversation was in the cache yet
	Expired      BreakCause = "ttl"               // the TTL of the entry was over
	Edited       BreakCause = "edit"              // a stage changed what had been sent
	Compacted    BreakCause = "compaction"        // the messages were rebuilt
	ModelSwitch  BreakCause = "model_switch"      // each model has its own cache
	ToolsChanged BreakCause = "tools_changed"     // tools or system prompt changed
	ImageAdded   BreakCause = "image_added"       // an image was added or removed: the messages' cache is lost
	SkillRan     BreakCause = "skill"             // the client sends other settings while a skill runs
	EffortSet    BreakCause = "effort"            // the user set another level of reasoning effort: the messages' cache is lost
	Thinking     BreakCause = "thinking"          // the thinking of earlier turns was stripped
	Restart      BreakCause = "restart"           // the client was started again
	ContextFell  BreakCause = "context_fell"      // less was sent than before, and no line says why
	MessageEdit  BreakCause = "messages_changed"  // the API found other messages, and no line says which
	EntryGone    BreakCause = "entry_gone"        // the API found nothing of the request before, though its TTL was not over
	BelowMinimum BreakCause = "below_minimum"     // the prefix is shorter than the model caches
	LookBackOver BreakCause = "look_back"         // more blocks joined than the look-back covers
	Unmarked     BreakCause = "no_breakpoint"     // the client marks nothing
	Uncached     BreakCause = "no_cache_recorded" // the model has no cached input in the session
)

// Cause is why something could not be read from the cache.
type Cause struct {
	Kind    BreakCause `json:"cause"`
	Stage   string     `json:"stage,omitempty"`   // of an edit: the stage that made it
	Message string     `json:"message,omitempty"` // of an edit: uuid of the first message it changed
}

var kindTexts = map[BreakCause]string{
	None: "hit", First: "first request", Expired: "TTL expired", ModelSwitch: "model switch",
	ToolsChanged: "tools or system prompt changed", ImageAdded: "image added or removed",
	SkillRan: "a skill began or ended", EffortSet: "another reasoning effort set", Restart: "client started again", Thinking: "thinking of earlier turns stripped",
	ContextFell: "the context fell, no line says why", MessageEdit: "messages changed", EntryGone: "the cache entry was gone", BelowMinimum: "below the model's minimum",
	LookBackOver: "look-back exceeded", Unmarked: "no breakpoint", Uncached: "no cache recorded",
}

// String is the cause in a few words.
func (c Cause) String() string {
	if c.Kind == Edited {
		return "edit by " + c.Stage + " at message " + c.Message
	}
	if text, ok := kindTexts[c.Kind]; ok {
		return text
	}
	return string(c.Kind)
}

// why compares what was read with what the request before wrote last.
func (s *Sim) why(r *CachedRequest, hit *place) Cause {
	switch {
	case len(r.Breakpoints) == 0:
		return Cause{Kind: Unmarked}
	case !s.any:
		return Cause{Kind: First}
	case hit != nil && hit.position >= s.lastAt && !s.broken.any:
		return Cause{}
	case s.last.model != r.Model && s.last.model != "":
		return Cause{Kind: ModelSwitch}
	case s.broken.any && s.broken.position <= s.lastAt:
		return s.broken.cause
	case s.last.model == "":
		// The request before left nothing: its prefix was too short.
		if r.Breakpoints[len(r.Breakpoints)-1].Tokens < r.Minimum || hit == nil {
			return Cause{Kind: BelowMinimum}
		}
		return Cause{}
	case hit != nil && hit.position >= s.lastAt:
		return Cause{}
	case s.now.After(s.last.expires):
		return Cause{Kind: Expired}
	}
	return Cause{Kind: LookBackOver}
}
