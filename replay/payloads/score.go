package payloads

import (
	"cmp"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/wire"
)

// Schema is the version of the JSON form of Scores.
const Schema = "ctxkit.payloads/v1"

// Track is which requests are compared with the true ones.
type Track string

// The tracks.
const (
	Rebuilt  Track = "rebuilt"   // from the conversation
	OnRecord Track = "on record" // of the file, against those of another
)

// ConversationScore is what comes of comparing the requests of one conversation.
type ConversationScore struct {
	Session string `json:"session"`
	Agent   string `json:"agent,omitempty"`
	File    string `json:"file"`
	Version string `json:"client_version,omitempty"`

	Requests  int               `json:"requests"`
	Unmatched int               `json:"unmatched"` // of them, of which no true one is known
	Record    Record            `json:"record"`
	Results   []ComparedRequest `json:"results"`
}

// Record is what the file itself holds of requests.
type Record struct {
	Requests int `json:"requests"`
	Whole    int `json:"whole"`      // that can be put together
	Unasked  int `json:"unanswered"` // of those, that no response of the conversation is to
	Digests  int `json:"digests"`    // of those that can be put together, with a digest by the client
	Exact    int `json:"exact"`      // of those, with system prompt, tools and parameters those that were sent, by the client's own digest
	Messages int `json:"messages"`
	Found    int `json:"found"` // of the messages that requests name
}

// ComparedRequest is one request.
type ComparedRequest struct {
	Request int   `json:"request"`
	Line    int   `json:"line"` // of its response
	Track   Track `json:"track"`
	BodyComparison
	sent *TrueRequest // of a list
}

// Score compares the requests of a conversation that are rebuilt, and those on record, with the true ones: of list, or
// without any those on record. log is nil where the file has none.
func Score(rec *replay.Record, log *requests.Log, list []TrueRequest) (*ConversationScore, error) {
	conv := rec.Conv
	s := &ConversationScore{Session: conv.SessionID, Agent: conv.Agent, File: conv.Path, Version: conv.Version, Requests: len(conv.Requests), Results: []ComparedRequest{}}
	if log != nil {
		if err := s.record(log, conv); err != nil {
			return nil, err
		}
	}
	lines := &fileLines{found: map[string]bool{}}
	blocks := &reader{}
	var at map[int]*TrueRequest
	if list != nil {
		var err error
		if at, err = match(rec, list); err != nil {
			return nil, err
		}
	}
	err := blocks.eachRebuilt(rec, func(n int, ours func() ([]Block, error)) error {
		m := conv.Response(n - 1)
		body, err := onRecord(log, m.ID)
		var held []Block
		if body != nil {
			held = blocks.recorded(body)
		}
		want := held
		if list != nil {
			if want = nil; at[n] != nil {
				want = blocks.messages(at[n].Messages)
			}
		}
		if err != nil {
			return err
		}
		if want == nil {
			s.Unmatched++
			return nil
		}
		got, err := ours()
		if err != nil {
			return err
		}
		s.Results = append(s.Results, ComparedRequest{n, m.Line, Rebuilt, *compare(want, got, lines), at[n]})
		if list != nil && body != nil {
			c := compare(want, held, lines)
			c.compareRoles(want, held)
			c.compareFrames(at[n].Frame, body)
			s.Results = append(s.Results, ComparedRequest{n, m.Line, OnRecord, *c, at[n]})
		}
		return nil
	})
	if err == nil && conv.Source != nil {
		err = lines.read(conv.Source)
	}
	for i := range s.Results {
		s.Results[i].settle(lines)
	}
	return s, err
}

// record counts what the file holds.
func (s *ConversationScore) record(log *requests.Log, conv *session.Conversation) error {
	answered := map[*requests.LogRequest]bool{}
	for k := range conv.Requests {
		answered[log.Of(conv.Response(k).ID)] = true
	}
	s.Record.Requests, s.Record.Whole = len(log.Requests), log.Whole()
	s.Record.Found, s.Record.Messages = log.Messages()
	for i := range log.Requests {
		q := &log.Requests[i]
		if q.Fault != "" {
			continue
		}
		body, err := log.Body(q)
		if err != nil {
			return err
		}
		exact, known := body.Exact()
		count(&s.Record.Unasked, !answered[q])
		count(&s.Record.Digests, known)
		count(&s.Record.Exact, exact)
	}
	return nil
}

// onRecord is the request that a response answers as the file holds it, nil where it does not.
func onRecord(log *requests.Log, answer string) (*requests.SentBody, error) {
	if log == nil {
		return nil, nil
	}
	q := log.Of(answer)
	if q == nil || q.Fault != "" {
		return nil, nil
	}
	return log.Body(q)
}

// eachRebuilt calls fn with every request, and what it is rebuilt as.
func (r *reader) eachRebuilt(rec *replay.Record, fn func(n int, blocks func() ([]Block, error)) error) (failed error) {
	pol := replay.RecordedTrack()
	err := rec.EachView(pol, replay.Options{}, func(n int, v *view.View) bool {
		if n > len(rec.Conv.Requests) {
			return true
		}
		r.next()
		failed = fn(n, func() ([]Block, error) {
			body, err := wire.RequestBody(v, pol)
			if err != nil {
				return nil, err
			}
			return r.rebuilt(body, v), nil
		})
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}

// rebuilt are the blocks of a request that is rebuilt, with their lines where its view is given.
func (r *reader) rebuilt(body *wire.Body, v *view.View) []Block {
	r.start()
	for i := range body.Messages {
		r.begin(body.Messages[i].Role.String())
		for _, b := range body.Messages[i].Blocks {
			r.add(b.JSON, b.CacheControl != nil, lineOf(v, b.Source))
		}
	}
	return r.list
}

// lineOf is the line that a block is from, 0 where there is none.
func lineOf(v *view.View, t policy.Target) int {
	if v == nil {
		return 0
	}
	if m := v.Message(t.Item); m == nil || t.Block < 0 || t.Block >= len(m.Blocks) {
		return 0
	}
	return v.Raw(t).Line
}

// recorded are the blocks of a request on record.
func (r *reader) recorded(body *requests.SentBody) []Block {
	r.start()
	for _, m := range body.Messages {
		r.begin(m.Role)
		for _, b := range m.Blocks {
			r.add(b.JSON, b.Mark != nil, m.Line)
		}
	}
	return r.list
}

// ScoreRow is sums over sessions.
type ScoreRow struct {
	Clients      string `json:"clients"` // version; All
	Track        Track  `json:"track"`
	Sessions     int    `json:"sessions"`
	Requests     int    `json:"requests"`
	Conversation int    `json:"conversation"` // equal
	Whole        int    `json:"whole"`
	Marks        int    `json:"marks"`
	Equal        int    `json:"equal"` // blocks
	Missing      int    `json:"missing"`
	Unheld       int    `json:"unheld"`
	Extra        int    `json:"extra"`
	Placeholders int    `json:"placeholders"`
	Moved        int    `json:"moved"`
}

// KindRow is the differences of one kind of block.
type KindRow struct {
	Track  Track  `json:"track"`
	What   What   `json:"what"`
	Role   string `json:"role"`
	Kind   string `json:"kind"`
	Blocks int    `json:"blocks"`
}

// All is the row of all client versions.
const All = "all"

// PayloadScores is what comes of comparing the requests of all sessions.
type PayloadScores struct {
	Schema   string               `json:"schema"`
	Record   Record               `json:"record"`
	Unused   int                  `json:"unused"` // true requests of a list that no response of these conversations is to
	Rows     []ScoreRow           `json:"rows"`
	Kinds    []KindRow            `json:"kinds"`
	Sessions []*ConversationScore `json:"sessions"`
}

// Sum sums sessions by the version of the client. They were compared with the requests of a list, nil for those on record.
func Sum(list []*ConversationScore, sent []TrueRequest) *PayloadScores {
	r := &PayloadScores{Schema: Schema, Rows: []ScoreRow{}, Kinds: []KindRow{}, Sessions: list}
	used := map[*TrueRequest]bool{nil: true}
	type group struct {
		clients string
		track   Track
	}
	rows := map[group]*ScoreRow{}
	kinds := map[KindRow]int{}
	for _, s := range list {
		r.Record.add(&s.Record)
		seen := map[group]bool{}
		for i := range s.Results {
			c := &s.Results[i]
			used[c.sent] = true
			for _, clients := range []string{All, cmp.Or(s.Version, "unknown")} {
				g := group{clients, c.Track}
				if rows[g] == nil {
					rows[g] = &ScoreRow{Clients: clients, Track: c.Track}
				}
				rows[g].add(&c.BodyComparison, !seen[g])
				seen[g] = true
			}
			for _, d := range c.Differences {
				kinds[KindRow{Track: c.Track, What: d.What, Role: d.Role, Kind: d.Kind}]++
			}
		}
	}
	r.Unused = len(sent) + 1 - len(used)
	for _, row := range rows {
		r.Rows = append(r.Rows, *row)
	}
	slices.SortFunc(r.Rows, func(a, b ScoreRow) int {
		return cmp.Or(cmp.Compare(b.Track, a.Track), session.CompareVersions(a.Clients, b.Clients), cmp.Compare(a.Clients, b.Clients))
	})
	for k, n := range kinds {
		k.Blocks = n
		r.Kinds = append(r.Kinds, k)
	}
	slices.SortFunc(r.Kinds, func(a, b KindRow) int {
		return cmp.Or(cmp.Compare(b.Track, a.Track), cmp.Compare(b.Blocks, a.Blocks), cmp.Compare(a.What, b.What), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Kind, b.Kind))
	})
	return r
}

func (r *Record) add(o *Record) {
	r.Requests += o.Requests
	r.Whole += o.Whole
	r.Unasked += o.Unasked
	r.Digests += o.Digests
	r.Exact += o.Exact
	r.Messages += o.Messages
	r.Found += o.Found
}

func (r *ScoreRow) add(c *BodyComparison, first bool) {
	count(&r.Sessions, first)
	r.Requests++
	count(&r.Conversation, c.Conversation)
	count(&r.Whole, c.Whole)
	count(&r.Marks, c.Marks)
	r.Equal += c.Equal
	r.Missing += c.Missing
	r.Unheld += c.Unheld
	r.Extra += c.Extra
	r.Placeholders += c.Placeholders
	r.Moved += c.Moved
}

func count(n *int, so bool) {
	if so {
		*n++
	}
}

// ScoreMeasure is a share with the bar that it is judged by, percent.
type ScoreMeasure struct {
	Name, About string
	Bar         float64
	Of, Had     int
}

// MeasureNames are the names of measures.
func MeasureNames() []string { return []string{"resolved", "conversation", "whole", "recorded"} }

// Measures are those of the result, with their bars: of all requests that are rebuilt, and of those on record that are as
// they were sent.
func (r *PayloadScores) Measures() []ScoreMeasure {
	list := []ScoreMeasure{
		{"resolved", "messages of recorded requests that are in the file", 100, r.Record.Messages, r.Record.Found}, {"conversation", "rebuilt requests that hold what was said", 95, 0, 0},
		{"whole", "rebuilt requests of which every block is equal", 0, 0, 0}, {"recorded", "requests on record that are equal as a whole", 100, 0, 0},
	}
	for _, row := range r.Rows {
		switch {
		case row.Clients != All:
		case row.Track == Rebuilt:
			list[1].Of = row.Requests
			list[1].Had = row.Conversation
			list[2].Of = row.Requests
			list[2].Had = row.Whole
		default:
			list[3].Of = row.Requests
			list[3].Had = row.Whole
		}
	}
	return list
}

// Percent is the share; 100 of nothing.
func (m *ScoreMeasure) Percent() float64 {
	if m.Of == 0 {
		return 100
	}
	return 100 * float64(m.Had) / float64(m.Of)
}
