package tokens

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ctxkit/ctxkit/replay/tokens/bpe"
)

// Names of the counters that are encodings.
const (
	NameO200K  = bpe.O200K
	NameCL100K = bpe.CL100K
)

// Names lists the counters there are, the default first.
func Names() []string { return []string{NameUsage, NameHeuristic, NameO200K, NameCL100K} }

// CheckName gives an error for a name no counter has.
func CheckName(name string) error {
	if all := Names(); !slices.Contains(all, name) {
		return fmt.Errorf("unknown token counter %q: use %s or %s", name, strings.Join(all[:len(all)-1], ", "), all[len(all)-1])
	}
	return nil
}

// maxKept is how many counts of texts an Encoder keeps: about 10 MB of them.
const maxKept = 1 << 18

// minKept is the shortest text whose count is kept, in bytes: counting a
// shorter one again is as fast as finding it.
const minKept = 96

// Encoder counts texts in one encoding and keeps the counts of long ones by a
// hash of their content, so that a text that stands in a session more than
// once, or in several, is counted once. Several goroutines may use it.
type Encoder struct {
	encoding *bpe.Encoding

	mu     sync.Mutex
	counts map[contentHash]int32
	idle   []*bpe.Counter
}

// contentHash tells contents apart: the first half of their SHA-256.
type contentHash [sha256.Size / 2]byte

// NewEncoder makes the encoder of an encoding.
func NewEncoder(name string) (*Encoder, error) {
	encoding, err := bpe.Load(name)
	if err != nil {
		return nil, err
	}
	return &Encoder{encoding: encoding, counts: map[contentHash]int32{}}, nil
}

// Name is the encoding's name.
func (e *Encoder) Name() string { return e.encoding.Name() }

// Count is how many tokens a text is.
func (e *Encoder) Count(text string) int {
	if text == "" {
		return 0
	}
	var key contentHash
	if len(text) >= minKept {
		sum := sha256.Sum256([]byte(text))
		key = contentHash(sum[:len(key)])
	}
	e.mu.Lock()
	if n, ok := e.counts[key]; ok && len(text) >= minKept {
		e.mu.Unlock()
		return int(n)
	}
	c := e.counter()
	e.mu.Unlock()

	n := c.Count(text)

	e.mu.Lock()
	defer e.mu.Unlock()
	e.idle = append(e.idle, c)
	if len(text) >= minKept {
		if len(e.counts) >= maxKept {
			clear(e.counts)
		}
		e.counts[key] = int32(n)
	}
	return n
}

// counter takes a counter that is idle, or a new one.
func (e *Encoder) counter() *bpe.Counter {
	if n := len(e.idle); n > 0 {
		c := e.idle[n-1]
		e.idle = e.idle[:n-1]
		return c
	}
	return e.encoding.NewCounter()
}

// Encoders makes each encoder when it is first asked for. Replays that share
// one count a text they have in common once. The zero value is ready for use,
// by several goroutines.
type Encoders struct {
	Jobs int // how many goroutines count one conversation; 0: one

	mu   sync.Mutex
	made map[string]*Encoder
}

// Get is the encoder of an encoding.
func (s *Encoders) Get(name string) (*Encoder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.made[name]; e != nil {
		return e, nil
	}
	e, err := NewEncoder(name)
	if err != nil {
		return nil, err
	}
	if s.made == nil {
		s.made = map[string]*Encoder{}
	}
	s.made[name] = e
	return e, nil
}
