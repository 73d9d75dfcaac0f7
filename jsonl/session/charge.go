package session

import (
	"time"

	"github.com/ctxkit/ctxkit/jsonl"
)

// ChargeKind is what a call was made for.
type ChargeKind uint8

// The kinds of charges.
const (
	ChargeRequest    ChargeKind = iota // it answers a request of Requests
	ChargeBranch                       // it is on a branch that was left: rewound, or abandoned
	ChargeCompaction                   // it wrote the summary of a compaction
	ChargeSummary                      // it wrote the summary of a branch that was left
	ChargeWarming                      // it renewed the cache, and answered nothing
	ChargeOther                        // the client's own call, of which nothing else is recorded
	ChargeRun                          // what a run of the client used for its calls that no other charge names
)

var chargeNames = [...]string{"request", "branch", "compaction", "summary", "warming", "other", "run"}

func (k ChargeKind) String() string { return chargeNames[k] }

// Charge is one call of a model that was billed, as a file records it. Lines repeat a call, and forks repeat calls of
// other files: ID tells them apart.
type Charge struct {
	ID       string // of the response by the API: its message, request or response id; "": none is recorded, the call is this file's alone
	Kind     ChargeKind
	Line     int       // its first one
	Time     time.Time // of that line; zero: not recorded
	Model    string    // as recorded; of a compaction without one that of the request after it, else of the last
	Request  int       // N of the request that it answers; 0: none
	Calls    int       // that it stands for: 1 but of a ChargeRun
	Usage    jsonl.Usage
	HasUsage bool // false: it was billed, and nothing is known of how much
	Partial  bool // Usage.Output is of the start of the response: more was written
	Written  int  // UTF-16 length of its text, thinking and tool inputs in the file
}

// ClientTotals are what the client says that it was billed for the whole session up to a line, subagents and calls that no
// line has included.
type ClientTotals struct {
	Line     int
	Nano     int64       // of all models, billionths of a USD
	Models   []RunTotals // by name
	Unpriced bool        // it says that it does not know the price of a model that it used
}
