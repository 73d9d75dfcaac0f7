package cache

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

//go:embed kinds.json
var embedded []byte

// Mode is how a provider caches.
type Mode string

// The modes. The zero value is one that is not known.
const (
	Breakpoints Mode = "breakpoints" // prefixes that the client marks (Sim)
	Auto        Mode = "automatic"   // whole blocks of what was sent before, unasked (Automatic)
	Off         Mode = "none"
)

// Recorded is the confidence of a kind of which nothing but a record shows that it is there.
const Recorded = "recorded"

// CacheKind is how models of some families are cached: a row of the embedded table, and not a choice of a policy. Figures are
// tokens. What is not known is zero.
type CacheKind struct {
	Families       []string       `json:"families"` // normalized ids, and whatever follows them after a dash
	Mode           Mode           `json:"kind"`
	Quantum        int            `json:"quantum,omitempty"`         // size of a block; 0: one token
	Offset         int            `json:"offset,omitempty"`          // of the first block
	OutputCached   bool           `json:"output_cached,omitempty"`   // a response is cached, too
	Slack          int            `json:"slack,omitempty"`           // at the end of what was sent that are not found again
	TTLSeconds     int            `json:"ttl_seconds,omitempty"`     // without use; 0: for as long as any session
	Minimum        int            `json:"minimum,omitempty"`         // shortest prefix that is cached
	DropsReasoning bool           `json:"drops_reasoning,omitempty"` // the server leaves the reasoning of a finished turn out
	Floors         map[string]int `json:"floors,omitempty"`          // what all sessions of a client have in common, and keep cached
	NotKnown       []string       `json:"not_known,omitempty"`       // of the fields above
	Confidence     string         `json:"confidence"`                // measured on sessions, documented, measured by a third party, stated by the user, or recorded by the session alone
	Source         string         `json:"source"`
	AsOf           string         `json:"as_of"`
}

// KindTable finds the kind of a model.
type KindTable struct {
	AsOf    string      `json:"as_of"`
	List    []CacheKind `json:"kinds"`
	Losses  []Losses    `json:"-"` // losses.json
	Markers []Marker    `json:"-"` // markers.json
}

// DefaultKinds is the embedded table, kinds.json, losses.json and markers.json. It is decoded once and shared: copy it before a change. An error means that
// the table of the program is damaged.
func DefaultKinds() (*KindTable, error) { return defaultKinds() }

var defaultKinds = sync.OnceValues(func() (*KindTable, error) {
	var k KindTable
	if err := errors.Join(json.Unmarshal(embedded, &k), json.Unmarshal(lossesJSON, &k.Losses), json.Unmarshal(markersJSON, &k.Markers)); err != nil {
		return nil, fmt.Errorf("reading the embedded table of caches: %w", err)
	}
	return &k, nil
})

// Find finds the kind of a model by its normalized id: that of the longest family. It is zero for a model of no family.
func (k *KindTable) Find(id string) CacheKind {
	var found CacheKind
	longest := 0
	for i := range k.List {
		if n := familyOf(k.List[i].Families, id); n > longest {
			longest = n
			found = k.List[i]
		}
	}
	return found
}

// familyOf is the length of the longest family of a normalized id; -1: it has none.
func familyOf(families []string, id string) int {
	longest := -1
	for _, family := range families {
		rest, ok := strings.CutPrefix(id, family)
		if ok && (rest == "" || family == "" || rest[0] == '-') {
			longest = max(longest, len(family))
		}
	}
	return longest
}

// forever is longer than any session.
const forever = 100 * 365 * 24 * time.Hour

// Lifetime is how long a prefix is kept without use.
func (k *CacheKind) Lifetime() time.Duration {
	if k.TTLSeconds == 0 {
		return forever
	}
	return time.Duration(k.TTLSeconds) * time.Second
}

// Blocks is the whole blocks of a prefix with a number of tokens, in tokens; 0 where they are less than the minimum.
func (k *CacheKind) Blocks(tokens int) int {
	q := max(k.Quantum, 1)
	n := (tokens-k.Offset)/q*q + k.Offset
	if tokens < k.Offset || n < k.Minimum {
		return 0
	}
	return n
}
