package synth

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// prepare clears old tool results before a request, then compacts, each where the context as it was before both has
// reached its threshold.
func (c *client) prepare() {
	if c.agent != "" {
		return
	}
	c.microcompact()
	if c.lastTotal > 0 && c.used() >= c.threshold(c.opt.Window) {
		c.compact("auto", 0)
	}
	c.lost = ""
}

// lose decides whether a compaction that the last result of m, n tokens long, triggers loses it.
func (c *client) lose(m *response, n int) bool {
	return m.open == 0 && c.agent == "" && c.in(v21(17), v21(50)) &&
		c.used()+n >= c.threshold(c.opt.Window) && c.chance(c.opt.Lost)
}

// Thresholds of a microcompaction in version 2.1.19.
const (
	microTarget  = 40000 // estimated tokens of results to leave
	microSavings = 20000 // estimated tokens it must save
	microKeep    = 3     // newest results never cleared
)

// microcompact clears the oldest tool results by size.
func (c *client) microcompact() {
	if !c.Microcompact || c.lastTotal < c.warning(c.opt.Window) {
		return
	}
	var live, marked []int
	total := 0
	saved := 0
	for i := range c.items {
		if c.items[i].id != "" {
			live = append(live, i)
			total += c.items[i].est
		}
	}
	slices.SortStableFunc(live, func(a, b int) int { return c.items[a].call - c.items[b].call })
	for _, i := range live[:max(0, len(live)-microKeep)] {
		if total-saved > microTarget {
			marked = append(marked, i)
			saved += c.items[i].est
		}
	}
	if saved < microSavings {
		return
	}
	ids := make([]string, len(marked))
	for n, i := range marked {
		it := &c.items[i]
		ids[n] = it.id
		stub := "<persisted-output>Tool result saved to: " + c.resultPath(it.id) + "\n\nUse Read to view</persisted-output>"
		if w := milli(stub, toolRate) + resultFrame; it.est > 0 {
			c.sum += w - it.weight
			it.weight = w
		}
		it.id = ""
	}
	var before int64
	for i := range slices.Min(marked) {
		before += c.items[i].weight
	}
	c.cached = min(c.cached, before)
	c.pass(20, 200)
	c.stats.Microcompacts++
	o := c.head("system", c.leaf).put(`"subtype":"microcompact_boundary","content":"Context microcompacted","isMeta":false`)
	c.mark()
	o.put(`"level":"info","microcompactMetadata":{"trigger":"auto","preTokens":?,"tokensSaved":?`, total, saved)
	o.put(`"compactedToolIds":?,"clearedAttachmentUUIDs":[]}`, ids)
	c.end()
}

// resultPath is the file for a large result.
func (c *client) resultPath(id string) string {
	return folder + "/" + c.session + "/tool-results/" + id + ".txt"
}

// folder holds the project's sessions.
const folder = "/home/dev/.claude/projects/-home-dev-harbor"

// compact replaces the context by a summary. A manual one keeps the last keep blocks, or a few more where these would
// begin in the middle of a message (2.1.210 on).
func (c *client) compact(trigger string, keep int) {
	pre := c.used()
	asked := c.now
	summary := c.summarise()
	const opening = "This session is being continued from a previous conversation that ran out of context. "
	text := opening + "The conversation is summarized below:\n" + summary
	if c.Boundary {
		text = opening + "The summary below covers the earlier portion of the conversation.\n\n" + summary +
			"\n\nIf you need specific details from before compaction (like exact code snippets, error messages, or content you generated), " +
			"read the full transcript at: " + folder + "/" + c.session + ".jsonl"
	}
	if trigger == "auto" {
		text += "\n" + c.resume()
	}
	c.pass(36000, 127000)
	c.stats.Compactions++
	anchor := c.uuid()
	from := len(c.items)
	if c.Preserved && keep > 0 {
		for from = max(0, from-keep); from > 0 && !c.items[from].opens; {
			from--
		}
	}
	kept := slices.Clone(c.items[from:])
	restored := c.restored()

	parent := ""
	if c.Boundary {
		parent = c.boundaryLine(trigger, pre, anchor, text, kept, restored, int(c.now.Sub(asked).Milliseconds()))
	}
	c.user(parent, text).when(c.Boundary).put(`"isVisibleInTranscriptOnly":true`)
	c.line.put(`"isCompactSummary":true`)
	c.markAs(anchor)
	c.end()

	raw := c.stats.RawTokens
	c.items = c.items[:0]
	c.sum = 0
	c.cached = 0
	c.lastTotal = 0
	c.tail = 0
	c.text(anchor, text)
	for _, it := range kept {
		c.add(it)
	}
	if trigger == "manual" { // its lines have the time of the command
		done := c.now
		c.now = asked
		c.commandLines("compact")
		c.now = done.Add(50 * time.Millisecond)
		c.localLine("<local-command-stdout>\x1b[2mCompacted (ctrl+o to see full summary)\x1b[22m</local-command-stdout>", false)
	}
	if c.hooked {
		c.hook("SessionStart", "SessionStart:compact")
	}
	c.restore(restored)
	c.stats.RawTokens = raw
	c.reads = slices.Clone(restored)
}

func (c *client) boundaryLine(trigger string, pre int, anchor, text string, kept []item, restored []fileView, took int) string {
	o := c.head("boundary", "").put(`"subtype":"compact_boundary","content":"Conversation compacted"`)
	o.when(!c.Preserved).put(`"isMeta":false`)
	if !c.TailEnvelope {
		c.mark()
	}
	o.put(`"level":"info","compactMetadata":{"trigger":?,"preTokens":?`, trigger, pre)
	if c.PostTokens {
		post := tokens(milli(text, proseRate) + messageFrame)
		for _, f := range restored {
			post += tokens(milli(f.content, toolRate))
		}
		o.put(`"postTokens":?`, post).when(c.Preserved).put(`"cumulativeDroppedTokens":?`, pre-post)
		o.put(`"durationMs":?`, took)
	}
	if len(kept) > 0 {
		var lines []string
		for _, it := range kept {
			lines = append(lines, it.line)
		}
		lines = slices.Compact(lines)
		o.put(`"preservedSegment":{"headUuid":?,"anchorUuid":?,"tailUuid":?}`, lines[0], anchor, lines[len(lines)-1])
		o.put(`"preservedMessages":{"anchorUuid":?,"uuids":?,"allUuids":?}`, anchor, lines, lines)
	}
	o.put(`}`)
	if c.TailEnvelope {
		c.mark()
	}
	return c.end()
}

const (
	restoreFiles = 5
	restoreChars = 20000 // 5,000 estimated tokens
)

// restored returns the files that the client shows after a compaction, newest first.
func (c *client) restored() []fileView {
	out := slices.Clone(c.reads[max(0, len(c.reads)-restoreFiles):])
	slices.Reverse(out)
	for i := range out {
		f := &out[i]
		if c.Attachments && len(f.content) > restoreChars/2 {
			f.content = "" // only named
		}
		if len(f.content) > restoreChars {
			f.content = f.content[:strings.LastIndexByte(f.content[:restoreChars], '\n')+1]
		}
	}
	return out
}

// restore puts the files back into the context: as attachments where the version writes them, on no line in older
// versions.
func (c *client) restore(files []fileView) {
	for _, f := range files {
		if !c.Attachments {
			c.add(item{weight: milli(numbered(f, c.release), toolRate) + resultFrame})
			continue
		}
		short := strings.TrimPrefix(f.path, root+"/")
		rendered := ""
		var o *object
		if f.content == "" {
			o = c.attachment("compact_file_reference").put(`"filename":?`, f.path)
		} else {
			o = fileJSON(c.attachment("file").put(`"filename":?,"content":{`, f.path), f).put(`}`)
			rendered = numbered(f, c.release)
		}
		c.attach(o.put(`"displayPath":?`, short), rendered)
	}
	c.listings(true)
}

// fileJSON writes the toolUseResult of a Read.
func fileJSON(o *object, f fileView) *object {
	return o.put(`"type":"text","file":{"filePath":?,"content":?,"numLines":?,"startLine":?,"totalLines":?}`, f.path, f.content, f.lines, f.start, f.total)
}

// numbered is the output of Read for a file.
func numbered(f fileView, v release) string {
	format := "%6d→%s"
	if v.TabNumbers {
		format = "%d\t%s"
	}
	lines := strings.Split(f.content, "\n")
	for i, line := range lines {
		lines[i] = fmt.Sprintf(format, f.start+i, line)
	}
	return joinLines(lines)
}

// summarise makes the summary of nine sections from the prompts and the files read.
func (c *client) summarise() string {
	oneLine := strings.NewReplacer("\n", " ").Replace
	var b strings.Builder
	if !c.PostTokens {
		b.WriteString("Analysis:\nGoing through the conversation in order:\n\n")
		for i, p := range c.heard {
			fmt.Fprintf(&b, "%d. The user asked: %s\n", i+1, oneLine(p))
		}
		b.WriteByte('\n')
	}
	var asked, files []string
	last := ""
	for _, p := range c.heard {
		last = oneLine(p)
		asked = append(asked, "- \""+last+"\"")
	}
	for _, f := range slices.Backward(c.reads) {
		files = append(files, "- `"+strings.TrimPrefix(f.path, root+"/")+"`", "  - read most recently from line "+fmt.Sprint(f.start),
			"  ```", "  "+strings.Join(firstLines(f.content, 12), "\n     "), "  ```")
	}
	b.WriteString("Summary:\n")
	for i, section := range []struct {
		title string
		lines []string
	}{
		{"Primary Request and Intent", asked},
		{"Key Technical Concepts", strings.Split(texts()["concepts"], "\n")},
		{"Files and Code Sections", files},
		{"Errors and fixes", []string{"- Failing tests were read to the end before anything was changed."}},
		{"Problem Solving", []string{oneLine(c.said)}},
		{"All user messages", asked},
		{"Pending Tasks", nil},
		{"Current Work", []string{"The last request was: " + last}},
		{"Optional Next Step", []string{"Continue with \"" + last + "\"."}},
	} {
		lines := section.lines
		if len(lines) == 0 {
			lines = []string{"N/A"}
		}
		fmt.Fprintf(&b, "%d. %s:\n   %s\n\n", i+1, section.title, strings.Join(lines, "\n   "))
	}
	return strings.TrimRight(b.String(), "\n")
}

func firstLines(s string, n int) []string {
	lines := strings.SplitN(s, "\n", n+1)
	return lines[:min(n, len(lines))]
}
