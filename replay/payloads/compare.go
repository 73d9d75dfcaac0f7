package payloads

import (
	"fmt"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/requests"
)

// BodyComparison is what comes of comparing a request with the true one.
type BodyComparison struct {
	Conversation bool `json:"conversation"` // prompts, answers, thinking, calls, results and their order are equal
	Whole        bool `json:"whole"`        // every block is, and where both are known system prompt, tools and parameters
	Marks        bool `json:"marks"`        // the cache breakpoints in messages are at the same places
	Equal        int  `json:"equal"`        // blocks, in order
	Missing      int  `json:"missing"`      // blocks of the true request alone that some lines of the file have as a whole
	Unheld       int  `json:"unheld"`       // and those that no line has
	Extra        int  `json:"extra"`        // blocks of ours alone, placeholders left out
	Placeholders int  `json:"placeholders"`
	Moved        int  `json:"moved"` // blocks of both at another place

	Differences []BlockDifference `json:"differences,omitempty"`
}

// BlockDifference is a block that is not equal.
type BlockDifference struct {
	What    What   `json:"what"`
	Role    string `json:"role"`
	Kind    string `json:"kind"`
	ID      string `json:"id,omitempty"`
	Message int    `json:"message"` // of the request, from 1 on; 0: it is no block
	Block   int    `json:"block"`
	Line    int    `json:"line,omitempty"` // of the file
	Text    string `json:"text"`           // its beginning

	lines []string // of all of it, see settle
}

// What is how a block differs.
type What string

// The differences.
const (
	Missing What = "missing"    // though lines of the file have it
	Unheld  What = "on no line" // missing, and no line has it
	Extra   What = "extra"
	Moved   What = "moved"
	StandIn What = "placeholder" // for words that no line has
	Frame   What = "another"     // system prompt, tools, a parameter, or the message around blocks that are equal
)

// beginning is how many characters of a text a difference has.
const beginning = 70

// compare compares a request with the true one. Blocks that are missing count as such until settle.
func compare(want, got []Block, lines *fileLines) *BodyComparison {
	c := &BodyComparison{}
	prompts := map[string]bool{}
	for i := range want {
		prompts[want[i].words] = true
	}
	c.Conversation = slices.Equal(conversation(want, nil), conversation(got, prompts))
	c.Marks = slices.Equal(marks(want), marks(got))
	at := matched(want, got)
	b := make([]bool, len(got))
	for _, j := range at {
		if j >= 0 {
			b[j] = true
		}
	}
	left := map[key]int{} // of ours, not matched
	for j := range got {
		if !b[j] {
			left[got[j].key()]++
		}
	}
	moved := map[key]int{}
	for i := range want {
		w := &want[i]
		k := w.key()
		switch {
		case at[i] >= 0:
			c.Equal++
		case left[k] > 0:
			left[k]--
			moved[k]++
			c.Moved++
			c.add(Moved, w)
		default:
			c.Missing++
			c.add(Missing, w)
			c.Differences[len(c.Differences)-1].lines = lines.ask(w.SentContent)
		}
	}
	for j := range got {
		g := &got[j]
		k := g.key()
		switch {
		case b[j]:
		case moved[k] > 0:
			moved[k]--
		case g.Placeholder():
			c.Placeholders++
			c.add(StandIn, g)
		default:
			c.Extra++
			c.add(Extra, g)
		}
	}
	c.Whole = c.Equal == len(want) && c.Equal == len(got)
	return c
}

func (c *BodyComparison) add(what What, b *Block) {
	c.Differences = append(c.Differences, BlockDifference{What: what, Role: b.Role, Kind: b.Kind, ID: b.ID, Message: b.Message + 1, Block: b.At + 1, Line: b.Line, Text: b.begins})
}

// compareRoles adds that messages whose blocks are equal have other roles or begin elsewhere.
func (c *BodyComparison) compareRoles(want, got []Block) {
	if !c.Whole {
		return
	}
	for i := range want {
		if w := &want[i]; w.Role != got[i].Role || w.Message != got[i].Message {
			c.Whole = false
			d := &got[i]
			c.Differences = append(c.Differences, BlockDifference{What: Frame, Role: d.Role, Kind: "message", Message: d.Message + 1, Block: d.At + 1, Line: d.Line, Text: fmt.Sprintf("%s, message %d", w.Role, w.Message+1)})
			return
		}
	}
}

// compareFrames adds what a request on record has next to its messages that is not as it was sent. What is not known of the
// true one is not compared.
func (c *BodyComparison) compareFrames(want, got *requests.SentBody) {
	differ := func(kind, name string, was, is []byte) {
		if sorted(was) != sorted(is) {
			c.Whole = false
			c.Differences = append(c.Differences, BlockDifference{What: Frame, Kind: kind, ID: name, Line: got.Line, Text: fmt.Sprintf("%.*s", beginning, was)})
		}
	}
	if want.System != nil {
		differ("system", "", want.System, listed(orEmpty(got.System)))
	}
	if want.Tools != nil {
		differ("tools", "", want.Tools, listed(orEmpty(got.Tools)))
	}
	if want.Params == nil {
		return
	}
	for _, p := range want.Params {
		differ("parameter", p.Name, p.Value, got.Param(p.Name))
	}
	for _, p := range got.Params {
		if p.Name != "betas" && want.Param(p.Name) == nil { // those are sent as a header
			differ("parameter", p.Name, nil, p.Value)
		}
	}
}

// settle tells the missing blocks that no line of the file has, once it is read.
func (c *BodyComparison) settle(lines *fileLines) {
	for i := range c.Differences {
		if d := &c.Differences[i]; d.What == Missing && slices.ContainsFunc(d.lines, func(text string) bool { return !lines.found[text] }) {
			d.What = Unheld
			c.Missing--
			c.Unheld++
		}
	}
}

// place is that of a block in a request.
type place struct{ message, at int }

func marks(list []Block) (at []place) {
	for _, b := range list {
		if b.Marked {
			at = append(at, place{b.Message, b.At})
		}
	}
	return at
}

// matched tells which block of got each of want matches in order, -1: none. It is the longest run of equal blocks, and so
// on before and behind it, as Python's difflib does.
func matched(want, got []Block) []int {
	pairs := slices.Repeat([]int{-1}, len(want))
	at := map[key][]int{}
	for j := range got {
		at[got[j].key()] = append(at[got[j].key()], j)
	}
	type span struct{ a0, a1, b0, b1 int }
	for todo := []span{{0, len(want), 0, len(got)}}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		i := s.a0
		j := s.b0
		n := 0
		length := map[int]int{} // of the run that ends at a block of ours
		for x := s.a0; x < s.a1; x++ {
			next := map[int]int{}
			for _, y := range at[want[x].key()] {
				if y < s.b0 || y >= s.b1 {
					continue
				}
				next[y] = length[y-1] + 1
				if next[y] > n {
					i = x - next[y] + 1
					j = y - next[y] + 1
					n = next[y]
				}
			}
			length = next
		}
		if n == 0 {
			continue
		}
		for k := range n {
			pairs[i+k] = j + k
		}
		todo = append(todo, span{s.a0, i, s.b0, j}, span{i + n, s.a1, j + n, s.b1})
	}
	return pairs
}
