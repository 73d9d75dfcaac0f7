package backtest

import (
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// Microcompacted is a microcompaction by the client and what the policy does there in a free replay: the results that
// it clears depend on its own state.
type Microcompacted struct {
	Request  int  `json:"request"`
	Line     int  `json:"line"`     // of its boundary; where there is none, of the response
	Recorded bool `json:"recorded"` // false: on no line, inferred from the usage
	Hit      bool `json:"hit"`      // the policy makes one before the same request
	Same     bool `json:"same"`     // and clears the same results; of a recorded one
	Saved    int  `json:"saved"`    // by the policy, tokens
	Wanted   int  `json:"wanted"`   // recorded, tokens; 0 where there is no record
}

// Close reports whether the policy saves what was recorded, within 1 %.
func (m *Microcompacted) Close() bool { return abs(m.Saved-m.Wanted)*100 <= m.Wanted }

// MicroAlarm is a microcompaction by the policy where nothing is recorded and the usage did not fall.
type MicroAlarm struct {
	Request int `json:"request"`
	Line    int `json:"line"`  // of the response
	Saved   int `json:"saved"` // tokens
}

// microcompaction is one by the policy.
type microcompaction struct {
	ids   []string
	saved int
}

// microStage is the prefix of the names of stages that do what clients record as a microcompaction.
const microStage = "microcompact_"

// ownMicro returns the policy's microcompactions by request, those after the last request by the number that would come
// next. clears is a further stage that makes some.
func ownMicro(own *replay.Timeline, clears string, requests int) map[int]*microcompaction {
	at := map[int]*microcompaction{}
	kinds := []policy.EditKind{policy.KindPersist, policy.KindClear, policy.KindCacheEdit}
	for _, e := range own.Events {
		n := requests + 1
		if e.Request != nil {
			n = *e.Request
		}
		if !slices.Contains(kinds, e.Kind) || !strings.HasPrefix(e.Stage, microStage) && (clears == "" || e.Stage != clears) {
			continue
		}
		m := at[n]
		if m == nil {
			m = &microcompaction{}
			at[n] = m
		}
		if saved, ok := e.Detail["tokens_saved"]; ok {
			m.saved += saved
		} else {
			m.saved += e.Saved
		}
		for _, t := range e.Targets {
			m.ids = append(m.ids, t.ToolUse)
		}
	}
	return at
}

func (s *SessionScore) microcompactions(r *replay.Record, own, track *replay.Timeline) {
	conv := r.Conv
	clears := r.Client().Clears
	s.Prunes = clears != ""
	fired := ownMicro(own, clears, len(conv.Requests))
	known := map[int]bool{}
	for i := range conv.Micro {
		m := &conv.Micro[i]
		known[m.Request] = true
		if !inFile(conv, m) || m.Request > len(conv.Requests) && clears == "" {
			s.MicroUnknown++
			continue
		}
		c := Microcompacted{Request: m.Request, Line: m.Line, Recorded: true, Wanted: m.TokensSaved}
		if f := fired[m.Request]; f != nil {
			c.Hit = true
			c.Saved = f.saved
			c.Same = slices.Equal(slices.Sorted(slices.Values(f.ids)), slices.Sorted(slices.Values(m.ToolIDs)))
		}
		s.Micro = append(s.Micro, c)
	}
	for _, e := range track.Events {
		if e.Kind != policy.KindInferred || e.Recorded != nil || e.Request == nil ||
			!strings.HasSuffix(e.Reason, tokens.Unrecorded) {
			continue
		}
		known[*e.Request] = true
		c := Microcompacted{Request: *e.Request, Line: r.LineAt(*e.Request)}
		if f := fired[*e.Request]; f != nil {
			c.Hit = true
			c.Saved = f.saved
		}
		s.Micro = append(s.Micro, c)
	}
	slices.SortStableFunc(s.Micro, func(a, b Microcompacted) int { return a.Request - b.Request })
	for _, n := range slices.Sorted(maps.Keys(fired)) {
		if !known[n] && n <= len(conv.Requests) {
			s.MicroAlarms = append(s.MicroAlarms, MicroAlarm{n, r.LineAt(n), fired[n].saved})
		}
	}
}

// inFile reports whether any result of a recorded microcompaction is in the file.
func inFile(conv *session.Conversation, m *session.Microcompaction) bool {
	return slices.ContainsFunc(m.ToolIDs, func(id string) bool {
		_, _, ok := conv.ToolUse(id)
		return ok
	})
}
