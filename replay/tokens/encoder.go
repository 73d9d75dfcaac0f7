package tokens

import (
	"fmt"
	"hash/maphash"
	"math/bits"
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
	encoding *bpe.Encoding
	seeds    [forms][2]maphash.Seed

	mu     sync.Mutex
	idle   []*bpe.Counter // with their buffers; without them exact o200k_base is too slow (bar in docs/performance.md)
	counts map[contentHash]int32
}

// form is how a content becomes the text that is counted.
type form int

const (
	asText    form = iota // as it is
	asString              // a JSON string, decoded: so it is valid UTF-8
	asToolUse             // the input of a tool_use, with its name: see appendToolUse
	forms
)

// contentHash identifies a content in one form: two hashes of it, with seeds that no input can know. By chance two contents
// have the same one once in 2^128; the counts do not depend on the seeds otherwise.
type contentHash [2]uint64

// NewEncoder returns the encoder of an encoding.
func NewEncoder(name string) (*Encoder, error) {
	encoding, err := bpe.Load(name)
	if err != nil {
		return nil, err
	}
	e := &Encoder{encoding: encoding, counts: map[contentHash]int32{}}
	for i := range e.seeds {
		e.seeds[i] = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	}
	return e, nil
}

// Count returns the number of tokens of a text.
func (e *Encoder) Count(text string) int { return e.CountBytes([]byte(text)) }

// CountBytes is Count of a text in a buffer, which it does not change.
func (e *Encoder) CountBytes(text []byte) int {
	n, _ := e.countAs(asText, "", text, func() ([]byte, error) { return text, nil })
	return n
}

// countAs returns the number of tokens of the text that a content becomes, which is made where its count is not kept.
// name is the tool's.
func (e *Encoder) countAs(as form, name string, content []byte, text func() ([]byte, error)) (int, error) {
	keep := len(content) >= minKept
	var key contentHash
	if keep {
		key = e.hash(as, name, content)
		e.mu.Lock()
		n, ok := e.counts[key]
		e.mu.Unlock()
		if ok {
			return int(n), nil
		}
	}
	made, err := text()
	if err != nil {
		return 0, err
	}
	n := e.count(made, as == asString)
	if keep {
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.counts) >= maxKept {
			clear(e.counts)
		}
		e.counts[key] = int32(n)
	}
	return n, nil
}

func (e *Encoder) hash(as form, name string, content []byte) (h contentHash) {
	for i, seed := range e.seeds[as] {
		h[i] = maphash.Bytes(seed, content)
		if name != "" {
			h[i] ^= bits.RotateLeft64(maphash.String(seed, name), 1)
		}
	}
	return h
}

func (e *Encoder) count(text []byte, isValid bool) int {
	c := e.take()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.idle = append(e.idle, c)
	}()
	if isValid {
		return c.CountValid(text)
	}
	return c.CountBytes(text)
}

// take returns a counter that no other goroutine uses.
func (e *Encoder) take() *bpe.Counter {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.idle); n > 0 {
		c := e.idle[n-1]
		e.idle = e.idle[:n-1]
		return c
	}
	return e.encoding.NewCounter()
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
