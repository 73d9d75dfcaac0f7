package synth

import (
	"bufio"
	"io"
	"math/rand/v2"
	"time"
)

// Client plays the part of the coding agent's client: it holds the
// conversation, settles what every request costs, compacts where its version
// would, and writes the lines. Methods are called in the order of the session;
// the first write error sticks and is returned by Close.
type Client struct {
	opt Options
	v   release
	w   *bufio.Writer
	truth
	ids
	r    *rand.Rand // pace and other choices of the client
	now  time.Time
	line object
	note object // for values built beside a line

	session   string
	agent     string // id of the subagent whose transcript this is; "" in the main session
	slug      string
	branch    string
	promptID  string
	leaf      string // uuid of the last line of the chain
	turnStart time.Time
	messages  int      // chained messages so far
	hooked    bool     // there is a SessionStart hook
	held      [][]byte // a line written only after the next one
	hold      bool

	items     []item // the context, in order
	sum       int64  // weight of items
	cached    int64  // weight of the items that the prompt cache holds
	cachedAt  time.Time
	lastTotal int    // usage total of the last response as recorded; 0: none in view
	tail      int    // estimated tokens of what came after it
	lost      string // uuid of a result that never reached the file
	calls     int    // tool calls so far, for their order
	reads     []File // files last read, newest last
	heard     []string
	said      string // the last thing the agent said
	lastUser  string // the last prompt, for last-prompt lines
	stats     Stats
	err       error
}

// item is one thing in the context.
type item struct {
	weight int64
	est    int    // the client's estimate, for results that a microcompaction may clear
	call   int    // their order
	id     string // their tool_use id; "" for everything else
	line   string // uuid of the line it stands on
	opens  bool   // a tail kept over a compaction may begin here
	prompt bool   // it is a typed prompt
}

// File is a file as a tool showed it.
type File struct {
	Path    string
	Content string
	Start   int // first line shown
	Lines   int // lines shown
	Total   int // lines in the file
}

// NewClient starts a session. Close ends it.
func NewClient(w io.Writer, opt Options) (*Client, error) {
	v, err := opt.fill()
	if err != nil {
		return nil, err
	}
	c := &Client{
		opt: opt, v: v, w: bufio.NewWriterSize(w, 1<<16), truth: newTruth(&opt), now: opt.StartTime,
		ids:    ids{rand.New(rand.NewPCG(opt.Seed, 0x1d5))},
		r:      rand.New(rand.NewPCG(opt.Seed, 0xc11e)),
		branch: "main",
	}
	c.session = opt.SessionID
	if id := c.uuid(); c.session == "" {
		c.session = id
	}
	c.slug = pick(c.r, slugFirst) + "-" + pick(c.r, slugSecond) + "-" + pick(c.r, slugThird)
	c.stats.SessionID = c.session
	c.stats.RawTokens = int64(opt.Overhead)
	return c, nil
}

// SessionID is the session's uuid.
func (c *Client) SessionID() string { return c.session }

// Leaf is the uuid of the last line of the chain.
func (c *Client) Leaf() string { return c.leaf }

// Now is the session's clock.
func (c *Client) Now() time.Time { return c.now }

// Wait lets time pass.
func (c *Client) Wait(d time.Duration) { c.now = c.now.Add(d) }

// Stats are the counts so far.
func (c *Client) Stats() Stats { return c.stats }

// Close flushes the file and returns the first error met.
func (c *Client) Close() (Stats, error) {
	c.release()
	if err := c.w.Flush(); c.err == nil {
		c.err = err
	}
	return c.stats, c.err
}

// pass lets between from and to milliseconds pass.
func (c *Client) pass(from, to int) {
	c.now = c.now.Add(time.Duration(from+c.r.IntN(to-from+1)) * time.Millisecond)
}

func (c *Client) chance(p float64) bool { return p > 0 && c.r.Float64() < p }

// add puts something into the context.
func (c *Client) add(it item) {
	c.items = append(c.items, it)
	c.sum += it.weight
	c.stats.RawTokens += int64(tokens(it.weight))
}

// Mark is a point of the conversation to rewind to.
type Mark struct {
	leaf                  string
	items, lastTotal      int
	tail, compactions     int
	microcompactions      int
	sum, raw              int64
	reads, heard, prompts int
	requests, abandoned   int
}

// Mark remembers this point.
func (c *Client) Mark() Mark {
	return Mark{c.leaf, len(c.items), c.lastTotal, c.tail, c.stats.Compactions, c.stats.Microcompacts, c.sum,
		c.stats.RawTokens, len(c.reads), len(c.heard), c.stats.Prompts,
		c.stats.Requests, c.stats.Abandoned}
}

// Rewind goes back to m: what was said since stays in the file as an abandoned
// branch. It does nothing where the context was compacted since.
func (c *Client) Rewind(m Mark) bool {
	if m.compactions != c.stats.Compactions || m.microcompactions != c.stats.Microcompacts {
		return false
	}
	c.leaf, c.items, c.sum = m.leaf, c.items[:m.items], m.sum
	c.lastTotal, c.tail = m.lastTotal, m.tail
	c.stats.RawTokens = m.raw
	c.cached = min(c.cached, c.sum)
	if m.reads <= len(c.reads) {
		c.reads = c.reads[:m.reads]
	}
	if m.heard <= len(c.heard) {
		c.heard = c.heard[:m.heard]
	}
	c.stats.Prompts = m.prompts
	c.stats.Abandoned = m.abandoned + c.stats.Requests - m.requests
	c.stats.Rewinds++
	return true
}

// usage is what the API reported for one response.
type usage struct{ input, write, read, output int }

func (u usage) context() int { return u.input + u.write + u.read }

func (c *Client) cacheTTL() time.Duration {
	if c.v.longCache() && c.agent == "" {
		return time.Hour
	}
	return 5 * time.Minute
}

// send settles the input of the next request: what the prompt cache still
// holds is read, the rest is written to it, but for a few tokens at the end.
func (c *Client) send() usage {
	total := c.opt.Overhead + tokens(c.sum)
	var u usage
	switch {
	case c.cachedAt.IsZero(): // another session has warmed a part of the system prompt
		if c.r.IntN(2) == 0 {
			u.read = c.opt.Overhead * 6 / 10
		}
	case c.now.Sub(c.cachedAt) <= c.cacheTTL():
		u.read = c.opt.Overhead + tokens(c.cached)
	}
	u.input = min([]int{1, 2, 3, 5, 8, 10}[c.r.IntN(6)], total-u.read)
	if c.v >= v21(91) {
		u.input = min([]int{1, 1, 2, 3}[c.r.IntN(4)], total-u.read)
	}
	u.write = total - u.read - u.input
	c.cached = max(0, c.sum-int64(u.input)*1000)
	c.cachedAt = c.now
	c.stats.InputTokens += int64(total)
	c.stats.PeakContext = max(c.stats.PeakContext, total)
	return u
}

// used is the client's own idea of the context, as it decides by it.
func (c *Client) used() int { return c.lastTotal + c.tail }

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

var (
	slugFirst  = []string{"amber", "brisk", "calm", "dapper", "eager", "foggy", "gentle", "humble", "lively", "mellow", "nimble", "quiet", "rusty", "sunny", "tidy", "witty"}
	slugSecond = []string{"drifting", "folding", "gliding", "humming", "knitting", "mapping", "painting", "rolling", "sorting", "tracing", "weaving", "wandering"}
	slugThird  = []string{"acorn", "badger", "comet", "dune", "fern", "heron", "kettle", "lantern", "maple", "otter", "pebble", "quartz", "raven", "teapot", "willow"}
)
