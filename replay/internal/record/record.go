// Package record works out what the client of a recorded conversation really did: its edits of what it sent, what it
// sent on no line, and what its usage shows of the prompt cache. It replays no policy.
package record

import (
	"cmp"
	"sync"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/policy/view"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/regret"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// Record is what is computed of a recorded conversation for all policies: weights calibrated to its usage, and the
// recorded view R (what the client really sent) at each request. All replays of the conversation share it; it does
// not change once UseWindow and UseRelease have said what was set.
type Record struct {
	Conv    *session.Conversation
	Cal     *tokens.Calibration
	Counted tokens.CountedModel // how Cal weighs the conversation's model

	Models    *price.Table
	Kinds     *cache.KindTable
	Encoders  *tokens.Encoders
	Programs  policy.Programs           // nil: none are started
	Model     price.Model               // of the conversation, else the newest of its family; zero where none is known
	Client    *policy.Recorder          // that recorded it
	Largest   map[string]int            // the largest recorded context by model
	Weight    []int                     // weight of R's payload at each request, calibrated
	Overhead  []int                     // context less that weight: system prompt, tools, unrecorded reminders
	Withheld  []int                     // of each request: what the API left out of it, as it says, and no block weighs
	Reinject  []int                     // by boundary: tokens sent after it that are on no line
	Summary   []int                     // by boundary: what the recorded summary took to write
	Acts      Acts                      // what the client did
	Settings  map[int]cache.BreakCause  // by request (0-based): what else the client did
	Warmings  map[int][]*session.Charge // by request (0-based): the calls before it that renewed the cache
	Heads     []cache.Head              // of each request (heads)
	Floors    []int                     // of each request (floors)
	Tails     []cache.Tail              // of each request (tails)
	Thinking  []ThinkingChange          // by the models of the recorded session, in order of requests
	TTLs      []cache.TTL               // of each request: that it asked for (TTLs)
	AsksAgain bool                      // the client sends a request after each turn that no line holds
	Fit       *Fit                      // nil: the window is by model and client
	Release   *policy.Policy            // that recorded it; nil: not known
	Uses      func() (*regret.Index, error)
	MostEdits int // of a replay

	kindOf     map[string]cache.CacheKind // by model of a request
	encoding   sync.Mutex
	encoded    map[string]*tokens.WeightTable // by encoding; guarded by encoding
	results    func() resultWeight            // of the whole session
	factors    map[string]tokens.Factor       // by recorded model: of the target's tokenizer; nil: the recorded session is as recorded
	converting sync.Mutex
	converted  map[string]*Record // by target's tokenizer; guarded by converting
}

// Fit is the context window at which the recorded client compacted, tokens. Users can set one, and no line records it.
type Fit struct {
	Window int  `json:"window"`
	Least  int  `json:"least"`  // above it no request that was made would have been
	Most   int  `json:"most"`   // up to it every recorded automatic compaction fires
	Agrees bool `json:"agrees"` // Least <= Most: some window explains all of the recorded session
}

// Acts are what the client did.
type Acts struct {
	Edits []policy.Edit // the recorded session as edits on raw
	Notes []Act         // by edit: what the client recorded
}

// OverheadOf is the overhead of request k (0-based), of a track on which the API leaves out what it left out of the
// recorded request, or does not.
func (r *Record) OverheadOf(k int, recorded bool) int {
	if recorded {
		return r.Overhead[k]
	}
	return r.Overhead[k] + r.Withheld[k]
}

// Table is the table of models of a replay, in place of which a caller may have another.
func (r *Record) Table(other *price.Table) *price.Table { return cmp.Or(other, r.Models) }

// RecordOptions are those of a record. The zero value is the default.
type RecordOptions struct {
	Prices    *price.Table     // of models, for its replays as well; nil: the embedded one
	Encoders  *tokens.Encoders // that several records share, so that common texts are counted once; nil: its own
	Families  []policy.Family  // what is known of clients and models; nil: those that are built in
	MostEdits int64            // of a replay, which is an error where it has more; 0: the default of jsonl.InputLimits
	Programs  policy.Programs  // starts the programs that policies name; nil: a policy with one is an error
}

// New computes the recorded session of a conversation.
func New(conv *session.Conversation, opt RecordOptions) (*Record, error) {
	models := cmp.Or(opt.Prices, price.Default())
	encoders := cmp.Or(opt.Encoders, &tokens.Encoders{})
	families := opt.Families
	if families == nil {
		families = stage.Families()
	}
	kinds, err := cache.DefaultKinds()
	if err != nil {
		return nil, err
	}
	m, _, _ := models.FindLike(conv.Model)
	client := policy.RecorderOf(conv.Product, families)
	counted := tokens.CountedModel{Client: client}
	if counted.Tokenizer, err = tokens.TokenizerOf(conv.Model, m.Tokenizer); err != nil {
		return nil, err
	}
	counted.ClearsThinking = anyFamily(families, func(f *policy.Family) func(string) bool { return f.ClearsThinking })
	counted.UntilAnswer = anyFamily(families, func(f *policy.Family) func(string) bool { return f.KeepsUnanswered })
	if !tokens.IsClaude(counted.Tokenizer) {
		if counted.Encoder, err = encoders.Get(tokens.NameO200K); err != nil {
			return nil, err
		}
	}
	cal, err := tokens.Calibrate(conv, counted)
	if err != nil {
		return nil, err
	}
	r := &Record{
		Conv: conv, Cal: cal, Counted: counted, Models: models, Kinds: kinds, Encoders: encoders, Programs: opt.Programs, Model: m, Client: client,
		Reinject: make([]int, len(conv.Boundaries)), Summary: make([]int, len(conv.Boundaries)),
		encoded: map[string]*tokens.WeightTable{}, Largest: map[string]int{}, Settings: settingsChanges(conv, cal.Drops, kinds),
		MostEdits: int(jsonl.InputLimits{Edits: opt.MostEdits}.Filled().Edits),
	}
	r.AsksAgain = r.Kind(conv.Model).Mode != cache.Auto && asksAgain(conv, cal)
	if !r.Cal.Recorded {
		if r.Cal.WeightTable, err = r.encode(tokens.NameO200K, r.ratio()); err != nil {
			return nil, err
		}
	}
	return r, r.follow()
}

// follow computes the recorded view, and what it says of the overhead, from the calibration.
func (r *Record) follow() error {
	r.results = sync.OnceValue(r.weighResults)
	n := len(r.Conv.Requests)
	for k := range n {
		if m := r.Conv.Response(k); m.HasUsage {
			r.Largest[m.Model] = max(r.Largest[m.Model], r.Usage(m).Context())
		}
	}
	r.Thinking, r.TTLs = nil, lifetimes(r.Conv)
	r.Weight = make([]int, 0, n)
	r.Overhead = make([]int, 0, n)
	r.Withheld = make([]int, 0, n)
	t := &recordTrack{
		r: r, View: view.New(r.Conv, r.Cal, nil), pending: -1, known: -1, drops: r.Cal.Drops, folded: map[int]policy.ItemID{}, inferred: map[policy.Target]bool{},
		thinking: ThinkingEdits{thinking: tokens.NewThinking(r.Conv, r.Counted)},
	}
	t.Limit(r.MostEdits)
	Walk(r.Conv, t)
	if t.err != nil {
		return t.err
	}
	r.Acts = t.acts()
	r.Heads, r.Tails = r.heads(), r.tails()
	r.Floors, r.Warmings = r.floors(), warmings(r.Conv)
	r.Uses = sync.OnceValues(func() (*regret.Index, error) {
		return regret.NewIndex(r.Conv, r.Acts.Edits)
	})
	return nil
}

// anyFamily returns a test of a model: whether a test of any family holds.
func anyFamily(families []policy.Family, test func(*policy.Family) func(model string) bool) func(model string) bool {
	return func(model string) bool {
		for i := range families {
			if is := test(&families[i]); is != nil && is(model) {
				return true
			}
		}
		return false
	}
}

// Kind is how a model is cached: as the table of models says, else by the family. Where both are unknown, Claude Code
// marks what is to be cached all the same, and input that the recorded session reports as read shows that the provider
// caches by itself. Requests of which none has cached input show
// that nothing is cached automatically.
func (r *Record) Kind(model string) cache.CacheKind {
	if k, ok := r.kindOf[model]; ok {
		return k
	}
	id := price.Normalize(model)
	k := r.Kinds.Find(id)
	requests, cached := r.cached(model)
	shown := cache.CacheKind{Families: []string{id}, Confidence: cache.Recorded, Source: "usage of the session"}
	switch m, like, _ := r.Models.FindLike(model); {
	case m.Cache != "" && !like:
		return cache.CacheKind{Families: []string{id}, Mode: cache.Mode(m.Cache), Minimum: m.MinCacheable, Confidence: "stated", Source: m.Source}
	case cached == 0 && requests >= uncachedFrom && k.Mode != cache.Breakpoints: // what a client marks is cached, reported or not
		shown.Mode = cache.Off
		return shown
	case k.Mode == "" && r.Conv.Product == session.Product:
		k.Mode = cache.Breakpoints
	case k.Mode == "" && cached > 0:
		shown.Mode = cache.Auto
		return shown
	}
	return k
}

// uncachedFrom is from how many requests without cached input on nothing is cached.
const uncachedFrom = 10

// cached counts the requests of a model with usage, and of these those that read from a cache or wrote to it.
func (r *Record) cached(model string) (requests, cached int) {
	for k := range r.Conv.Requests {
		if m := r.Conv.Response(k); m.Model == model && m.HasUsage {
			requests++
			if m.Usage.CacheRead+m.Usage.CacheWrite > 0 {
				cached++
			}
		}
	}
	return requests, cached
}
