package synth

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// Generate writes one session to w and returns what is in it.
func Generate(w io.Writer, opt SessionOptions) (Stats, error) {
	c, err := newClient(w, opt)
	if err != nil {
		return Stats{}, err
	}
	s := newDeveloper(c)
	for i := 0; c.err == nil && c.stats.Requests < c.opt.Requests; i++ {
		s.turn(i)
		if c.opt.Bytes > 0 && c.stats.Bytes >= c.opt.Bytes {
			break
		}
	}
	return c.close()
}

// developer decides what the user asks and what the agent does.
type developer struct {
	c   *client
	opt *SessionOptions
	r   *rand.Rand
	p   *project
	w   *writer

	open   []opened // files read lately, newest last
	todos  []todo
	queued string // a prompt for the end of the turn

	compactions int // seen so far
}

// opened is a file with the lines of it that were shown.
type opened struct {
	file     *sourceFile
	from, to int
}

func newDeveloper(c *client) *developer {
	r := rand.New(rand.NewPCG(c.opt.Seed, 0xde7))
	p := newProject(&c.opt)
	return &developer{c: c, opt: &c.opt, r: r, p: p, w: &writer{r, p, c.opt.CJK}}
}

func (s *developer) chance(p float64) bool { return p > 0 && s.r.Float64() < p }

// turn is one typed prompt and everything up to the next.
func (s *developer) turn(n int) {
	c := s.c
	switch {
	case n == 0:
		s.begin()
	case s.queued != "":
		c.pass(50, 400)
	case s.chance(s.opt.Pauses):
		c.wait(time.Duration(61+s.r.IntN(240)) * time.Minute)
	default:
		c.pass(9000, 240000)
	}
	if n > 0 && s.chance(s.opt.Commands) {
		s.command()
	}
	if n > 0 && s.chance(s.opt.ManualCompacts) {
		c.compact("manual", 2+s.r.IntN(3))
		c.pass(4000, 60000)
	}
	if s.queued != "" {
		c.dequeue(s.queued)
		s.queued = ""
	} else {
		if n > 0 && s.chance(s.opt.Rewinds) {
			s.rewind()
		}
		c.prompt(s.w.prompt())
	}
	if n == 0 {
		c.listings(false)
	}
	s.loop()
}

// begin writes the lines before the first prompt.
func (s *developer) begin() {
	if s.opt.Metadata > 0 {
		s.c.mode("acceptEdits")
		s.c.title(pickLine(s.r, "titles"))
	}
	if s.opt.Progress > 0 {
		s.c.startHook("startup")
	}
	s.c.pass(800, 20000)
}

func (s *developer) command() {
	switch s.r.IntN(3) {
	case 0:
		s.c.command("cost", "Total cost: not shown for this plan")
	case 1:
		s.c.command("model", "Set model to \x1b[1m"+s.opt.Model+"\x1b[22m")
	default:
		s.c.command("context", fmt.Sprintf("Context Usage: %dk/%dk tokens", (s.opt.Overhead+tokens(s.c.sum))/1000, s.opt.Window/1000))
	}
	s.c.pass(3000, 30000)
}

// rewind sends a prompt and takes it back, with or without an answer.
func (s *developer) rewind() {
	c := s.c
	before := *c
	c.prompt(s.w.prompt())
	if s.r.IntN(2) == 0 {
		c.respond(block{text: s.w.answer()})
	}
	c.pass(3000, 40000)
	c.rewind(&before)
}

// loop is the agent's work on one prompt.
func (s *developer) loop() {
	c := s.c
	left := 1 + s.r.IntN(2*s.opt.RequestsPerTurn-1)
	if s.r.IntN(5) == 0 {
		left *= 4
	}
	stop := -1
	queue := -1
	if left > 2 && s.chance(s.opt.Interrupts) {
		stop = s.r.IntN(left - 1)
	}
	if left > 3 && s.chance(s.opt.Queued) {
		queue = 1 + s.r.IntN(left-2)
	}
	for i := range left {
		if s.opt.Bytes > 0 && c.stats.Bytes > s.opt.Bytes || c.stats.Requests >= s.opt.Requests-1 || c.err != nil {
			break // finish
		}
		if c.lost == "" && s.chance(s.opt.APIErrors) {
			gaveUp := s.r.IntN(4) == 0
			c.apiError(1+s.r.IntN(4), gaveUp)
			if gaveUp {
				return
			}
		}
		if i == queue {
			if text := s.w.prompt(); !c.queue(text) {
				s.queued = text
			}
		} else if i > 0 && s.chance(s.opt.Attachments) {
			c.remind()
		}
		if i == left-1 {
			break
		}
		s.step(i == stop)
		s.forget()
		if i == stop {
			return
		}
		if s.chance(s.opt.Metadata) {
			s.metadata()
		}
	}
	c.respond(append(s.think(), block{text: s.w.answer()})...)
	c.endTurn(s.opt.Progress > 0 && s.r.IntN(2) == 0)
}

// forget drops the files that a compaction removed from the context.
func (s *developer) forget() {
	if s.compactions == s.c.stats.Compactions {
		return
	}
	s.compactions = s.c.stats.Compactions
	s.open = slices.DeleteFunc(s.open, func(o opened) bool {
		return !slices.ContainsFunc(s.c.reads, func(f fileView) bool { return f.path == o.file.abs() })
	})
}

func (s *developer) metadata() {
	switch s.r.IntN(3) {
	case 0:
		if s.c.Titles {
			s.c.title(pickLine(s.r, "titles"))
		}
	case 1:
		s.c.mode("acceptEdits")
	default:
		if s.c.LastPrompt {
			s.c.lastPromptLine()
		}
	}
}

// think draws whether a response begins with a thinking block.
func (s *developer) think() []block {
	if s.chance(s.opt.Thinking) {
		return []block{{thinking: s.w.thinking()}}
	}
	return nil
}

// step is one response with tool calls; the user stops a rejected one.
func (s *developer) step(rejected bool) {
	c := s.c
	blocks := s.think()
	if s.r.IntN(5) < 2 {
		blocks = append(blocks, block{text: s.w.aside()})
	}
	if rejected && s.r.IntN(2) == 0 && len(blocks) > 0 && c.lost == "" {
		c.respond(blocks...)
		c.interrupt(false)
		return
	}
	n := 1
	if s.chance(s.opt.Parallel) {
		n = 2 + s.r.IntN(3)
	}
	if rejected {
		n = 0
		push := bashInput("git push origin "+c.branch, "Push the branch")
		blocks = append(blocks, block{call: failedCall("Bash", push, "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.", "The user doesn't want to proceed with this tool use.")})
	}
	for range n {
		blocks = append(blocks, block{call: s.call(n > 1)})
	}
	c.respond(blocks...)
	if rejected && c.lost == "" {
		c.interrupt(true)
	}
}

// call chooses the next tool call. Parallel calls change nothing.
func (s *developer) call(parallel bool) *toolCall {
	if !parallel && s.chance(s.opt.Subagents) {
		return s.subagent()
	}
	var call *toolCall
	if s.chance(s.opt.Offloads) {
		call = s.large()
	} else {
		call = s.choose(parallel)
	}
	if call.result.failed {
		return call
	}
	if s.chance(s.opt.Progress) {
		call.result.notes = 1 + s.r.IntN(4)
	}
	if n := len(call.result.content); call.name == "Bash" && n > 30000 || call.name == "Grep" && n > 20000 {
		s.c.offload(call)
	}
	return call
}

func (s *developer) choose(parallel bool) *toolCall {
	n := s.r.IntN(100)
	if parallel {
		n = s.r.IntN(60)
	}
	switch {
	case n < 34 || len(s.open) == 0:
		return s.read()
	case n < 47:
		return s.grep()
	case n < 51:
		return s.glob()
	case n < 60:
		return s.look()
	case n < 80:
		return s.edit()
	case n < 92:
		return s.test()
	case n < 95:
		f := s.p.create(s.opt)
		s.show(f, 0, len(f.lines))
		return writeCall(f)
	case n < 97 && s.c.number < v21(70):
		return s.plan()
	case n < 98:
		return issueCall(fmt.Sprintf("HAR-%d", 100+s.r.IntN(900)), s.issue())
	case n < 99:
		return fetchCall("https://docs.example.com/harbor/"+pick(s.r, things()), "What does this page say about limits?", s.w.sentences(6+s.r.IntN(20)))
	}
	return s.test()
}

func (s *developer) show(f *sourceFile, from, to int) {
	s.open = newest(s.open, opened{f, from, to}, 8, func(o opened) bool { return o.file == f })
}

func (s *developer) issue() string {
	o := new(object).put(`{"id":?,"title":?,"state":"In Progress"`, s.c.uuid(), s.w.prompt())
	return string(o.put(`"description":?}`, s.w.sentences(5)).b)
}

func (s *developer) plan() *toolCall {
	old := s.todos
	s.todos = nil
	for i := range 3 + s.r.IntN(3) {
		s.todos = append(s.todos, todo{"Change `" + pick(s.r, verbs()) + pick(s.r, nouns()) + "` and its tests", []string{"completed", "in_progress", "pending"}[min(i, 2)]})
	}
	return todoCall(old, s.todos)
}
