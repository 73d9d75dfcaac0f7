package synth

import (
	"bufio"
	"io"
	"math/rand/v2"
	"time"
)

// client simulates the coding agent's client: it holds the conversation, decides the cost of every request, compacts
// where its version would, and writes the lines. Its methods are called in the order of the session; close returns
// the first write error.
type client struct {
	opt SessionOptions
	release
	w *bufio.Writer
	ids
	r    *rand.Rand // pace and other choices of the client
	now  time.Time
	line object
	own  string // uuid of the line

	session   string
	agent     string // id of the subagent whose transcript this is; "" in the main session
	slug      string
	branch    string
	promptID  string
	leaf      string // uuid of the last line of the chain
	turnStart time.Time
	messages  int      // chained messages so far
	hooked    bool     // there is a SessionStart hook
	held      [][]byte // lines written after the next one
	hold      bool

	items     []item // the context, in order
	sum       int64  // weight of items
	cached    int64  // weight of the items that the prompt cache holds
	cachedAt  time.Time
	lastTotal int        // usage total of the last response as recorded; 0: none in view
	tail      int        // estimated tokens of what came after it
	lost      string     // uuid of a result that never reached the file
	calls     int        // tool calls so far, for their order
	reads     []fileView // files last read, newest last
	heard     []string   // prompts, newest last
	said      string     // the agent's last text
	lastUser  string     // the last prompt, for last-prompt lines
	stats     Stats
	err       error
}

// item is one thing in the context.
type item struct {
	weight int64
	est    int    // the client's estimate, for results that a microcompaction may clear
	call   int    // their order
	id     string // their tool_use id; "" for everything else
	line   string // uuid of its line
	opens  bool   // a tail kept over a compaction may begin here
	prompt bool   // it is a typed prompt
}

// fileView is a file as a tool showed it.
type fileView struct {
	path    string
	content string
	start   int // first line shown
	lines   int // lines shown
	total   int // lines in the file
}

// newClient starts a session. Close ends it.
func newClient(w io.Writer, opt SessionOptions) (*client, error) {
	v, err := opt.fill()
	if err != nil {
		return nil, err
	}
	c := &client{
		opt: opt, release: v, w: bufio.NewWriterSize(w, 1<<16), now: start(),
		ids:    ids{rand.New(rand.NewPCG(opt.Seed, 0x1d5))},
		r:      rand.New(rand.NewPCG(opt.Seed, 0xc11e)),
		branch: "main",
	}
	c.session = c.uuid()
	c.slug = pickWord(c.r, "slugs1") + "-" + pickWord(c.r, "slugs2") + "-" + pickWord(c.r, "slugs3")
	c.stats.SessionID = c.session
	c.stats.RawTokens = int64(opt.Overhead)
	return c, nil
}

// wait moves the session's clock.
func (c *client) wait(d time.Duration) { c.now = c.now.Add(d) }

// close flushes the file and returns the first error.
func (c *client) close() (Stats, error) {
	c.writeHeld()
	c.fail(c.w.Flush())
	return c.stats, c.err
}

// pass moves the clock by from to to milliseconds.
func (c *client) pass(from, to int) {
	c.wait(time.Duration(from+c.r.IntN(to-from+1)) * time.Millisecond)
}

func (c *client) chance(p float64) bool { return p > 0 && c.r.Float64() < p }

// add appends an item to the context.
func (c *client) add(it item) {
	c.items = append(c.items, it)
	c.sum += it.weight
	c.stats.RawTokens += int64(tokens(it.weight))
}

// rewind goes back to an earlier copy of the client: what was said since stays in the file as an abandoned branch. It
// does nothing where the context was compacted since.
func (c *client) rewind(to *client) {
	if to.stats.Compactions != c.stats.Compactions || to.stats.Microcompacts != c.stats.Microcompacts {
		return
	}
	c.leaf = to.leaf
	c.items = c.items[:len(to.items)]
	c.sum = to.sum
	c.lastTotal = to.lastTotal
	c.tail = to.tail
	c.cached = min(c.cached, c.sum)
	c.reads = c.reads[:min(len(to.reads), len(c.reads))]
	c.heard = c.heard[:min(len(to.heard), len(c.heard))]
	c.stats.RawTokens = to.stats.RawTokens
	c.stats.Prompts = to.stats.Prompts
	c.stats.Abandoned = to.stats.Abandoned + c.stats.Requests - to.stats.Requests
	c.stats.Rewinds++
}

// usage is the API's report for one response, in tokens.
type usage struct{ input, write, read, output int }

func (u usage) context() int { return u.input + u.write + u.read }

func (c *client) cacheTTL() time.Duration {
	if c.LongCache && c.agent == "" {
		return time.Hour
	}
	return 5 * time.Minute
}

// send decides the usage of the next request: what the prompt cache still holds is read, a few tokens at the end are
// plain input, the rest is written.
func (c *client) send() usage {
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
	u.input = min(pick(c.r, []int{1, 2, 3, 5, 8, 10}), total-u.read)
	if c.number >= v21(91) {
		u.input = min(pick(c.r, []int{1, 1, 2, 3}), total-u.read)
	}
	u.write = total - u.read - u.input
	c.cached = max(0, c.sum-int64(u.input)*1000)
	c.cachedAt = c.now
	c.stats.PeakContext = max(c.stats.PeakContext, total)
	return u
}

// used is the client's estimate of the context; its thresholds refer to it.
func (c *client) used() int { return c.lastTotal + c.tail }
