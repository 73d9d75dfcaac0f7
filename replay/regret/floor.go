package regret

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// Ages are the first distances, in requests since the removal, of the bands by which chance is measured.
var ages = [...]int{0, 10, 30, 100}

// Bands is the number of bands of age.
const Bands = len(ages)

func band(distance int) int {
	b := 0
	for b+1 < Bands && distance >= ages[b+1] {
		b++
	}
	return b
}

// Chance counts how often the recorded agent wrote something that, of the conversation, only a block held which it had
// lost. It had it from elsewhere, so such a quote or edit is no use of the block.
type Chance struct {
	Edits  [Bands]int `json:"edits"`
	Quotes [Bands]int `json:"quotes"`

	// Requests counts, for each block that the record had lost, the requests after that.
	Requests [Bands]int `json:"block_requests"`
	Blocks   int        `json:"blocks"` // that the record had lost
}

// Add adds the counts of another conversation.
func (c *Chance) Add(o *Chance) {
	for b := range Bands {
		c.Edits[b] += o.Edits[b]
		c.Quotes[b] += o.Quotes[b]
		c.Requests[b] += o.Requests[b]
	}
	c.Blocks += o.Blocks
}

func (c *Chance) coincidence(e Evidence, distance int) {
	if e == Edited {
		c.Edits[band(distance)]++
	} else {
		c.Quotes[band(distance)]++
	}
}

// Misses is the number of coincidences.
func (c *Chance) Misses() (n int) {
	for b := range Bands {
		n += c.Edits[b] + c.Quotes[b]
	}
	return n
}

// Expected is how many of a policy's misses chance explains at these rates, in thousandths.
func (c *Chance) Expected(requests [Bands]int) (milli int64) {
	for b, n := range requests {
		if c.Requests[b] > 0 {
			milli += int64(n) * 1000 * int64(c.Edits[b]+c.Quotes[b]) / int64(c.Requests[b])
		}
	}
	return milli
}

// gained adds the requests from n on, up to before end, to the bands of a block that was removed at n.
func gained(bands *[Bands]int, n, end int) {
	for b, from := range ages {
		to := end - n
		if b+1 < Bands {
			to = min(to, ages[b+1])
		}
		bands[b] += max(to-from, 0)
	}
}

//go:embed floor.json
var floorFile []byte

// Floor is how often chance makes a miss, counted on recorded sessions by scripts/genfloor.
func Floor() (*Chance, error) {
	var f struct {
		Counts Chance `json:"counts"`
	}
	if err := json.Unmarshal(floorFile, &f); err != nil {
		return nil, fmt.Errorf("the rates of chance: %w", err)
	}
	return &f.Counts, nil
}

// Chance returns the coincidences of the conversation's own record.
func (x *Index) Chance() Chance { return x.chance }
