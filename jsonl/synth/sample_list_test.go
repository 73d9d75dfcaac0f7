package synth

import "bytes"

func fixtures() []fixture {
	small := func(version string) SessionOptions {
		return SessionOptions{Version: version, ResultChars: 500, Files: 8}
	}
	micro := small("2.1.19")
	micro.Overhead, micro.ResultChars = 45000, 11000
	cjk := small("2.1.42")
	cjk.CJK = 1
	room := small("2.1.50")
	room.ResultChars = 1300
	room10, kept := room, room
	room10.Version, kept.Version = "1.0.53", "2.1.210"
	big := Default()
	big.Seed, big.Version, big.Requests, big.RequestsPerTurn, big.ResultChars = 30, "2.1.19", 300, 18, 1600
	big.Rewinds, big.Commands, big.Interrupts, big.Queued, big.Pauses, big.Offloads = 0.1, 0.12, 0.1, 0.12, 0.12, 0.008
	newer := Default()
	newer.Seed, newer.Version, newer.Requests, newer.RequestsPerTurn, newer.ResultChars = 12, "2.1.139", 110, 9, 2800
	return []fixture{
		{name: "parallel-tools.jsonl", opt: small("2.1.19"), play: playParallel,
			shows: "several tool calls in one response; each result hangs under its own tool_use line, one pair out of order; progress lines that nothing follows"},
		{name: "thinking.jsonl", opt: small("2.1.19"), play: playThinking,
			shows: "thinking blocks with text and signature, also within a tool loop; one usage on every line of a message"},
		{name: "compaction.jsonl", opt: room, play: playCompaction,
			shows: "a manual compaction: boundary with a null parent, summary on the next line, the command's own lines; the files shown again are on no line"},
		{name: "compaction-1.0.jsonl", opt: room10, play: playCompaction,
			shows: "the same in a client without boundaries: the summary alone, its parent null"},
		{name: "lost.jsonl", opt: small("2.1.29"), play: playLost,
			shows: "an automatic compaction whose last tool result was never written: an unanswered tool_use, and logicalParentUuid names no line. The session goes on from another file, so its context is large from the start"},
		{name: "microcompact.jsonl", opt: micro, play: playMicro,
			shows: "a microcompaction by size at a usage of 135,000 or more; an overhead of 45,000 as with many MCP tools"},
		{name: "rewind.jsonl", opt: small("2.1.121"), play: playRewind,
			shows: "prompts taken back: three with one parent, one of them answered; last-prompt lines name the leaf"},
		{name: "interruptions.jsonl", opt: small("2.1.119"), play: playInterruptions,
			shows: "interrupts in the middle of an answer and of a tool, a queued prompt, API errors and a synthetic message, local commands, failing tools, a pause of more than an hour"},
		{name: "sidechain-1.0.jsonl", opt: small("1.0.53"), play: playAgent,
			shows: "a subagent whose lines are in the session itself (isSidechain)"},
		{name: "subagent", opt: small("2.1.29"), play: playAgent, index: true,
			shows: "a project folder: a subagent's transcript, agent_progress lines that repeat its messages, an output left in a file, and a sessions-index.json that is stale in one entry and names a missing file in another"},
		{name: "offload", opt: small("2.1.50"), play: playOffload,
			shows: "outputs too large for the context: stubs in the session, the texts in tool-results, one of them missing"},
		{name: "cjk.jsonl", opt: cjk, play: playThinking,
			shows: "Chinese, Japanese and Korean text with emoji, in prompts, answers, thinking and files"},
		{name: "fused.jsonl", opt: small("2.1.14"), play: playParallel, alter: fuse,
			shows: "two objects on one line, comment lines at the top, a line that is not JSON, no newline at the end"},
		{name: "crlf-bom.jsonl", opt: small("2.1.139"), play: playThinking, alter: windows,
			shows: "a byte order mark and CRLF line ends"},
		{name: "preserved.jsonl", opt: kept, play: playCompaction,
			shows: "a compaction that keeps the last messages where they are: preservedSegment and preservedMessages"},
		{name: "snip.jsonl", opt: small("2.1.139"), play: playSnip,
			shows: "as analyses describe it: a call of the Snip tool, and a system line with the removedUuids of the turn it names"},
		{name: "collapse.jsonl", opt: small("2.1.139"), play: playCollapse,
			shows: "as analyses describe it: two turns staged in a marble-origami-snapshot, then collapsed by a marble-origami-commit"},
		{name: "replacement.jsonl", opt: small("2.1.139"), play: playReplacement,
			shows: "as analyses describe it: two large results in full, and content-replacement lines with the text that was sent instead"},
		{name: "big.jsonl", opt: big,
			shows: "long tool loops under several prompts, with some of everything; recorded microcompactions and an automatic compaction; large enough for OpenCode to prune and to compact. Its offloaded files are not included"},
		{name: "big-2.1.139.jsonl", opt: newer,
			shows: "a newer client: attachments in the chain, thinking with a signature only, final output_tokens on every line, results between the lines of their message, an automatic compaction with restored files (in a window of 200,000)"},
	}
}

// script writes a short session step by step.
type script struct{ *developer }

func (s *script) file(i int) *sourceFile { return s.p.files[i%len(s.p.files)] }

func (s *script) readFile(i int) block {
	f := s.file(i)
	s.show(f, 0, len(f.lines))
	return block{call: readCall(s.c.release, f, 0, 2000)}
}

func (s *script) editFile(i int) block {
	s.show(s.file(i), 0, len(s.file(i).lines))
	return block{call: s.edit()}
}

func (s *script) think() block { return block{thinking: s.w.sentences(2)} }
func (s *script) say() block   { return block{text: s.w.aside()} }
func (s *script) done()        { s.c.respond(block{text: s.w.answer()}); s.c.endTurn(false) }

// ask types the next prompt.
func (s *script) ask() (uuid string) {
	s.c.pass(20000, 90000)
	return s.c.prompt(s.w.prompt())
}

func playParallel(s *script) {
	s.c.startHook("startup")
	s.ask()
	s.c.respond(s.say(), s.readFile(0), s.readFile(1), block{call: s.grep()})
	slow := s.test()
	slow.result.notes = 3
	s.c.respond(block{call: slow}, block{call: s.glob()})
	s.c.respond(s.editFile(0))
	s.c.respond(s.readFile(2), s.readFile(4), s.readFile(6), block{call: s.look()})
	s.done()
	s.ask()
	s.c.respond(s.readFile(3), s.readFile(1))
	s.done()
}

func playThinking(s *script) {
	s.c.title("Warehouse reservations off by one")
	s.ask()
	s.c.listings(false)
	s.c.respond(s.think(), s.say(), s.readFile(0))
	s.c.respond(s.think(), s.editFile(0))
	s.c.respond(block{call: s.test()})
	s.c.respond(s.think(), block{text: s.w.answer()})
	s.c.endTurn(true)
	s.ask()
	s.c.respond(s.think(), s.readFile(3), s.readFile(2))
	s.c.respond(s.editFile(2))
	s.done()
}

func playCompaction(s *script) {
	s.ask()
	s.c.respond(s.say(), s.readFile(0))
	s.c.respond(s.readFile(1))
	s.c.respond(s.editFile(1))
	for i := 2; i < 8; i++ {
		s.c.respond(s.readFile(i))
	}
	s.done()
	s.ask()
	s.c.respond(block{call: bashCall(s.c.release, "go test -v ./...", "Run all tests", s.testLog("store", 12000), 40000)})
	s.c.respond(s.readFile(2))
	s.done()
	s.c.pass(10000, 60000)
	s.c.compact("manual", 3)
	s.ask()
	s.c.respond(s.think(), s.readFile(1))
	s.c.respond(s.editFile(1))
	s.done()
}

func playLost(s *script) {
	s.c.opt.Lost = 1
	s.c.add(item{weight: 143_000_000}) // said in a file that is not there
	s.ask()
	for i := 0; s.c.stats.Compactions == 0 && i < 12; i++ {
		s.c.respond(s.readFile(i))
	}
	s.c.respond(s.readFile(0))
	s.c.respond(s.editFile(0))
	s.done()
}

func playMicro(s *script) {
	s.ask()
	for i := 0; s.c.stats.Microcompacts == 0 && i < 24; i++ {
		b := s.readFile(i)
		b.call.result.client = nil // it would only repeat the text
		s.c.respond(b)
	}
	s.done()
	s.ask()
	s.c.respond(block{call: s.look()})
	s.done()
}

func playRewind(s *script) {
	s.ask()
	s.c.respond(s.readFile(0))
	s.done()
	m := *s.c
	s.ask()
	s.c.respond(s.readFile(1))
	s.c.respond(block{text: s.w.answer()})
	s.c.rewind(&m)
	s.ask()
	s.c.rewind(&m)
	s.ask()
	s.c.respond(s.readFile(2))
	s.c.respond(s.editFile(2))
	s.done()
	s.ask()
	s.done()
}

func playInterruptions(s *script) {
	s.ask()
	s.c.respond(s.think(), s.say())
	s.c.interrupt(false)
	s.ask()
	push := bashCall(s.c.release, "git push origin main", "Push the branch", "", 0)
	s.c.respond(block{call: push.fail("The user doesn't want to proceed with this tool use. The tool use was rejected.", "The user doesn't want to proceed with this tool use.")})
	s.c.interrupt(true)
	s.c.command("cost", "Total cost: not shown for this plan")
	s.ask()
	s.c.respond(s.readFile(0))
	s.c.queue(s.w.prompt())
	e, _ := s.p.change(s.file(0), 0, 40)
	s.c.respond(block{call: s.editFailed(e)})
	s.c.apiError(2, false)
	s.c.respond(s.editFile(0))
	s.done()
	s.c.wait(97 * 60 * 1e9)
	s.ask()
	s.c.apiError(3, true)
	s.ask()
	s.c.respond(block{call: failedCall("Bash", bashInput("go test ./internal/store/...", "Run the tests"),
		"Exit code 1\n"+s.failure("store"), "Exit code 1\n"+s.failure("store"))})
	s.done()
}

func playAgent(s *script) {
	s.ask()
	s.c.respond(s.say(), block{call: s.subagent()})
	s.c.respond(s.readFile(0))
	if s.c.AgentFiles {
		big := s.large()
		s.c.offload(big)
		s.c.respond(block{call: big})
	}
	s.c.respond(s.editFile(0))
	s.done()
}

func playOffload(s *script) {
	s.ask()
	s.c.respond(s.readFile(0))
	for i := range 3 {
		big := s.large()
		open := s.c.opt.Open
		if i == 1 {
			s.c.opt.Open = nil // its file is lost
		}
		s.c.offload(big)
		s.c.opt.Open = open
		s.c.respond(block{call: big})
	}
	s.done()
}

// fuse damages a file as editors, crashes and collectors damaged real ones.
func fuse(data []byte) []byte {
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	var b bytes.Buffer
	b.WriteString("// A session with accidents, told for readers of session files.\n// These two lines are no JSON.\n")
	for i, l := range lines {
		b.Write(l)
		switch i {
		case 3, 8: // two objects on one line
		case 12:
			b.WriteString("\n{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"cut off in the mid\n")
		case len(lines) - 1:
		default:
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

func windows(data []byte) []byte {
	return append([]byte("\xef\xbb\xbf"), bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))...)
}
