package tokens

import (
	"math"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// Density is how many characters of a kind of text make a token, before
// calibration to the session. Source: documentation (3.4 for models up to the
// 4.6 generation, 2.5 after) and recorded tool output (2.87 and 2.3).
type Density struct {
	Prose float64 // characters a token
	Tool  float64 // of tool output and tool input
}

// DensityFor gives the density for a tokenizer generation: "new" or "old".
func DensityFor(tokenizer string) Density {
	if tokenizer == "new" {
		return Density{Prose: 2.5, Tool: 2.3}
	}
	return Density{Prose: 3.4, Tool: 2.87}
}

// Tokens estimates a text of the given lengths: ASCII by the density, any
// other character as one token.
func (d Density) Tokens(k jsonl.Kind, n jsonl.Metrics) float64 {
	wide := float64(n.Bytes-n.UTF16) / 2
	ascii := math.Max(float64(n.UTF16)-wide, 0)
	per := d.Prose
	switch k {
	case jsonl.KindToolResult, jsonl.KindToolUse, jsonl.KindServerToolUse, jsonl.KindUnknown:
		per = d.Tool
	}
	return ascii/per + wide
}

// Drop is a fall of the recorded context that no line explains.
type Drop struct {
	Request int    // n of the first request after it
	Tokens  int    // how far the recorded context fell
	Cause   string // what changed at the same request, or "unrecorded microcompaction"
	Shared  bool   // a change of scale (model, version): every view shares it
}

// Calibration is the usage counter: weights scaled so that what joined between
// two requests adds up to what the API reported.
type Calibration struct {
	*Table
	Recorded bool    // there is recorded usage to calibrate to
	Ratio    float64 // reported tokens per estimated token over the session
	Drops    []Drop
	Lost     []int // by message index -> tokens of the lost results that stand there, client estimate
}

// DropThreshold is how far the recorded context must fall, in tokens, for the
// fall to be told as an inferred event (docs/model.md, decision 3).
const DropThreshold = 2000

// Calibrate fits the weights of a conversation's blocks to its recorded usage.
// Without usage the densities stand as they are.
//
// Between requests k-1 and k the true growth is known; the blocks that joined
// share it in proportion to their estimates. Where the context shrank (a
// recorded compaction or microcompaction, a drop) nothing is learned and the
// session's own ratio is used.
func Calibrate(conv *session.Conversation, d Density) *Calibration {
	c := &Calibration{Ratio: 1}
	ratio := func() float64 { return c.Ratio }
	c.Table = newTable(conv, func(k jsonl.Kind, n jsonl.Metrics) int {
		return int(math.Round(d.Tokens(k, n) * ratio()))
	})
	est := make([]float64, len(c.weight))
	for m := range conv.Messages {
		c.estimate(est, m, d)
	}
	spans := c.spans(est)
	c.Recorded = hasUsage(conv)
	c.fitRatio(spans)
	for i := range est {
		c.weight[i] = int32(math.Round(est[i] * c.Ratio))
	}
	c.stubs = map[policy.Target]int{}
	c.readBack(0, len(conv.Messages), c.Ratio, d)
	for _, s := range spans {
		if !s.learn || s.est <= 0 {
			continue
		}
		scale := math.Min(math.Max(float64(s.growth)/s.est, c.Ratio*0.4), c.Ratio*2.5)
		for i := c.start[s.from]; i < c.start[s.to]; i++ {
			c.weight[i] = int32(math.Round(est[i] * scale))
		}
		c.readBack(s.from, s.to, scale, d)
	}
	c.placeholders()
	return c
}

// readBack gives offloaded results that are read back the weight of their
// files, and keeps that of their stubs, which is what was sent.
func (c *Calibration) readBack(from, to int, scale float64, d Density) {
	for m := from; m < to; m++ {
		for b := range c.conv.Messages[m].Blocks {
			if bl := &c.conv.Messages[m].Blocks[b]; bl.ReadBack() {
				t := policy.Target{Item: policy.ItemID(m), Block: b}
				stub := d.Tokens(bl.Kind, bl.Text) + 8
				c.stubs[t] = int(math.Round(stub * scale))
				c.set(m, b, int(math.Round((d.Tokens(bl.Kind, bl.Whole())+8)*scale)))
			}
		}
	}
}

// estimate fills in the density estimates of one message's blocks.
func (c *Calibration) estimate(est []float64, m int, d Density) {
	msg := &c.conv.Messages[m]
	known := 0.0
	hidden := -1
	for b := range msg.Blocks {
		bl := &msg.Blocks[b]
		e := 0.0
		switch bl.Kind {
		case jsonl.KindToolUse, jsonl.KindServerToolUse:
			e = d.Tokens(bl.Kind, jsonl.Metrics{UTF16: bl.JSON.UTF16 + len(bl.Name) + 24, Bytes: bl.JSON.Bytes + len(bl.Name) + 24})
		case jsonl.KindImage, jsonl.KindDocument:
			e = ImageTokens * 0.75
		case jsonl.KindToolResult:
			e = d.Tokens(bl.Kind, bl.Text) + 8
			for _, p := range bl.Parts {
				if p.Kind == jsonl.KindImage || p.Kind == jsonl.KindDocument {
					e += ImageTokens * 0.75
				}
			}
		case jsonl.KindThinking:
			e = d.Tokens(bl.Kind, bl.Text)
			if bl.Text.UTF16 == 0 && bl.Signature > 0 {
				hidden = b
				// The signature holds the thinking, encrypted: base64 of about its length.
				n := max(bl.Signature-300, 0) * 3 / 4
				e = d.Tokens(bl.Kind, jsonl.Metrics{UTF16: n, Bytes: n})
			}
		case jsonl.KindUnknown, jsonl.KindRedactedThinking, jsonl.KindToolReference:
			e = d.Tokens(bl.Kind, bl.JSON)
		default:
			e = d.Tokens(bl.Kind, bl.Text)
		}
		est[int(c.start[m])+b] = e
		if b != hidden {
			known += e
		}
	}
	if hidden >= 0 && msg.Usage.Thinking > 0 {
		est[int(c.start[m])+hidden] = float64(msg.Usage.Thinking)
	} else if hidden >= 0 && float64(msg.Usage.Output) > known {
		est[int(c.start[m])+hidden] = float64(msg.Usage.Output) - known
	}
}

// span is what joined between two requests, and by how much the recorded
// context grew.
type span struct {
	from, to int // messages
	request  int
	growth   int
	est      float64
	learn    bool
}

func (c *Calibration) spans(est []float64) []span {
	conv := c.conv
	broken := map[int]bool{}
	for i := range conv.Boundaries {
		broken[conv.Boundaries[i].Request] = true
	}
	for i := range conv.Micro {
		broken[conv.Micro[i].Request] = true
	}
	var out []span
	var known []session.Request
	for _, q := range conv.Requests {
		if conv.Messages[q.Message].HasUsage {
			known = append(known, q)
		}
	}
	for k := 1; k < len(known); k++ {
		prev, cur := known[k-1], known[k]
		s := span{from: prev.Message, to: cur.Message, request: cur.N}
		p, q := &conv.Messages[prev.Message], &conv.Messages[cur.Message]
		s.growth = q.Usage.Context() - p.Usage.Context()
		for i := c.start[s.from]; i < c.start[s.to]; i++ {
			s.est += est[i]
		}
		cut := false
		for n := prev.N + 1; n <= cur.N; n++ {
			cut = cut || broken[n]
		}
		s.learn = !cut && s.growth > 0 && p.Model == q.Model
		for m := s.from; m < s.to; m++ {
			if conv.Messages[m].Lost {
				s.learn = false
			}
		}
		if !cut && s.growth < -DropThreshold {
			d := Drop{Request: cur.N, Tokens: -s.growth, Cause: "no line says why", Shared: true}
			switch {
			case p.Model != q.Model:
				d.Cause = "model switch from " + p.Model + " to " + q.Model
			case p.Version != q.Version:
				d.Cause = "client version " + p.Version + " to " + q.Version
			case unrecordedMicrocompaction(p.Version, p.Usage.Total(), -s.growth):
				d.Cause, d.Shared = Unrecorded, false
			}
			c.Drops = append(c.Drops, d)
		}
		out = append(out, s)
	}
	return out
}

// Unrecorded is the cause of a drop that looks like a microcompaction by size
// in all but the line that says so.
const Unrecorded = "unrecorded microcompaction"

// unrecordedMicrocompaction reports whether a fall is what a microcompaction
// by size leaves behind: clients up to 2.1.24 made them from 135,000 tokens
// used on, to save at least 20,000 by their estimate.
func unrecordedMicrocompaction(version string, used, fell int) bool {
	return used >= 135000 && fell >= 16000 && session.CompareVersions(version, "2.1.25") < 0
}

func (c *Calibration) fitRatio(spans []span) {
	growth, est := 0.0, 0.0
	for _, s := range spans {
		if s.learn && s.est > 200 {
			r := float64(s.growth) / s.est
			if r > 0.3 && r < 3 {
				growth += float64(s.growth)
				est += s.est
			}
		}
	}
	if est > 2000 {
		c.Ratio = growth / est
	}
}

// placeholders weighs what no line holds: results lost at a boundary, and the
// history before the start of the file.
func (c *Calibration) placeholders() {
	conv := c.conv
	c.Lost = make([]int, len(conv.Messages))
	for i := range conv.Boundaries {
		b := &conv.Boundaries[i]
		m := b.Before - 1
		if m < 0 || !conv.Messages[m].Lost || b.PreTokens == 0 {
			continue
		}
		known, ok := usedBefore(conv, m)
		if ok && b.PreTokens > known {
			c.Lost[m] = b.PreTokens - known
			c.set(m, 0, c.Lost[m])
		}
	}
	if len(conv.Messages) > 0 && conv.Messages[0].Earlier && len(conv.Requests) > 0 && conv.Messages[conv.Requests[0].Message].HasUsage {
		first := conv.Requests[0].Message
		w := conv.Messages[first].Usage.Context() - DefaultOverhead
		for _, d := range c.Drops {
			if d.Shared && conv.Messages[first].Model == conv.Model {
				w -= d.Tokens // a fall that every view shares was overhead till then
			}
		}
		for m := 1; m < first; m++ {
			w -= c.Message(m)
		}
		c.set(0, 0, w)
	}
}

// usedBefore is the client's arithmetic for what stands before message m: the
// last response's total plus the estimates of what came after it.
func usedBefore(conv *session.Conversation, m int) (int, bool) {
	tail := 0
	for m--; m >= 0; m-- {
		msg := &conv.Messages[m]
		if msg.Role == session.Assistant && msg.HasUsage {
			return msg.Usage.Total() + tail, true
		}
		for b := range msg.Blocks {
			tail += Estimate(&msg.Blocks[b])
		}
	}
	return 0, false
}

func hasUsage(conv *session.Conversation) bool {
	for _, q := range conv.Requests {
		if conv.Messages[q.Message].HasUsage {
			return true
		}
	}
	return false
}
