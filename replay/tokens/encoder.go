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

// Names lists the counters, the default first.
func Names() []string { return []string{NameUsage, NameHeuristic, NameO200K, NameCL100K} }

// CheckName returns an error for a name that no counter has.
func CheckName(name string) error {
	if all := Names(); !slices.Contains(all, name) {
		return fmt.Errorf("unknown token counter %q: use %s or %s", name, strings.Join(all[:len(all)-1], ", "), all[len(all)-1])
	}
	return nil
}

// maxKept is the most counts of texts that an Encoder keeps: about 10 MB of them.
const maxKept = 1 << 18

// minKept is the length of the shortest text whose count is kept, in bytes: counting a shorter one again is as fast
// as finding it.
const minKept = 96

// Encoder counts texts in one encoding. It keeps the counts of long ones by a hash of their content, so that a text
// that occurs several times is counted once. Several goroutines may use it.
type Encoder struct {
	idle   sync.Pool // of *bpe.Counter
	mu     sync.Mutex
	counts map[contentHash]int32
}

// contentHash identifies a content: the first half of its SHA-256.
type contentHash [sha256.Size / 2]byte

// NewEncoder returns the encoder of an encoding.
func NewEncoder(name string) (*Encoder, error) {
	encoding, err := bpe.Load(name)
	if err != nil {
		return nil, err
	}
	newCounter := func() any { return encoding.NewCounter() }
	return &Encoder{idle: sync.Pool{New: newCounter}, counts: map[contentHash]int32{}}, nil
}

// Count returns the number of tokens of a text.
func (e *Encoder) Count(text string) int { return e.CountBytes([]byte(text)) }

// CountBytes is Count of a text in a buffer, which it does not change.
func (e *Encoder) CountBytes(text []byte) int {
	if len(text) < minKept {
		return e.count(text)
	}
	sum := sha256.Sum256(text)
	key := contentHash(sum[:len(contentHash{})])
	e.mu.Lock()
	n, ok := e.counts[key]
	e.mu.Unlock()
	if ok {
		return int(n)
	}
	n = int32(e.count(text))
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.counts) >= maxKept {
		clear(e.counts)
	}
	e.counts[key] = n
	return int(n)
}

func (e *Encoder) count(text []byte) int {
	c := e.idle.Get().(*bpe.Counter)
	defer e.idle.Put(c)
	return c.CountBytes(text)
}

// Encoders makes each encoder on first use. Replays that share one count a text that they have in common once. The
// zero value is ready for use, by several goroutines.
type Encoders struct {
	Jobs int // goroutines that count one conversation; 0: one

	mu   sync.Mutex
	made map[string]*Encoder
}

// Get returns the encoder of an encoding.
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
