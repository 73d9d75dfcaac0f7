package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/replay/serving"
)

// WekaBlock is the size of the blocks of WEKA traces, tokens.
const WekaBlock = 64

// WekaTrace is one session as a WEKA trace: what a server is sent, without a word of it.
type WekaTrace struct {
	ID     string
	Main   *serving.PromptBlocks
	Agents []*serving.PromptBlocks // of subagents
}

// WriteWeka writes a trace as one line of JSON. Blocks of different conversations have different numbers.
func WriteWeka(w io.Writer, t *WekaTrace) error {
	clock := wekaClock(t.Main)
	main := wekaRequests(t.Main, 0, clock)
	agents := make([]wekaAgent, len(t.Agents))
	models := wekaModels(nil, main)
	blocks := t.Main.Blocks()
	for i, l := range t.Agents {
		agents[i] = wekaAgent{number: i + 1, requests: wekaRequests(l, blocks, clock)}
		models = wekaModels(models, agents[i].requests)
		blocks += l.Blocks()
	}
	slices.SortStableFunc(agents, func(a, b wekaAgent) int { return cmp.Compare(a.begins(), b.begins()) })

	b := wekaWriter{Writer: bufio.NewWriter(w)}
	b.text(`{"id":`)
	b.json(t.ID)
	b.text(`,"models":`)
	b.json(models)
	b.text(fmt.Sprintf(`,"block_size":%d,"hash_id_scope":"local","requests":[`, WekaBlock))
	entries := 0
	next := func() {
		if entries++; entries > 1 {
			b.text(",")
		}
	}
	for i := range main {
		for len(agents) > 0 && agents[0].begins() < main[i].at {
			next()
			b.agent(&agents[0])
			agents = agents[1:]
		}
		next()
		b.request(&main[i])
	}
	for i := range agents {
		next()
		b.agent(&agents[i])
	}
	b.text("]}\n")
	return b.Flush()
}

// wekaRequest is a request with its times, in milliseconds.
type wekaRequest struct {
	*serving.Served
	prompts *serving.PromptBlocks
	before  int   // blocks of other conversations with lower numbers
	at      int64 // after the trace's beginning
	took    int64 // from there to the end of the response; -1: not known
	waited  int64 // from the end of the response before; -1: there is none
}

// wekaAgent is a subagent with its requests.
type wekaAgent struct {
	number   int
	requests []wekaRequest
}

func (a *wekaAgent) begins() int64 { return a.requests[0].at }

// wekaClock is when the first request was sent whose time is known.
func wekaClock(l *serving.PromptBlocks) time.Time {
	for i := range l.Requests {
		if t := l.Requests[i].Start; !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// wekaRequests are requests with their times. None is sent before the one in front of it.
func wekaRequests(l *serving.PromptBlocks, before int, clock time.Time) []wekaRequest {
	list := make([]wekaRequest, len(l.Requests))
	at, end := int64(0), int64(0)
	for i := range l.Requests {
		q := &l.Requests[i]
		if !q.Start.IsZero() {
			at = max(at, q.Start.Sub(clock).Milliseconds())
		}
		list[i] = wekaRequest{Served: q, prompts: l, before: before, at: at, took: -1, waited: -1}
		if i > 0 {
			list[i].waited = max(at-end, 0)
		}
		if !q.Start.IsZero() && !q.End.IsZero() {
			list[i].took = max(q.End.Sub(clock).Milliseconds()-at, 0)
		}
		end = max(end, at+max(list[i].took, 0))
	}
	return list
}

// wekaModel is the name of a request's model. A name that is none of a model is a text like any other.
func wekaModel(name string) string {
	if name == "" || len(name) > 100 || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._:/@[]") != "" {
		return "unknown"
	}
	return name
}

func wekaModels(models []string, list []wekaRequest) []string {
	for i := range list {
		models = append(models, wekaModel(list[i].Model))
	}
	slices.Sort(models)
	return slices.Compact(models)
}

type wekaWriter struct {
	*bufio.Writer
	blocks []int
	number []byte
}

func (b *wekaWriter) text(s string) { _, _ = b.WriteString(s) } // Flush returns the error

func (b *wekaWriter) json(v any) {
	data, _ := json.Marshal(v) // strings
	_, _ = b.Write(data)
}

func (b *wekaWriter) int(n int64) {
	b.number = strconv.AppendInt(b.number[:0], n, 10)
	_, _ = b.Write(b.number)
}

// seconds writes milliseconds as seconds.
func (b *wekaWriter) seconds(ms int64) {
	b.int(ms / 1000)
	b.text(fmt.Sprintf(".%03d", ms%1000))
}

func (b *wekaWriter) request(q *wekaRequest) {
	b.text(`{"t":`)
	b.seconds(q.at)
	b.text(`,"type":"s","model":`)
	b.json(wekaModel(q.Model))
	b.text(`,"in":`)
	b.int(int64(q.In))
	b.text(`,"out":`)
	b.int(int64(q.Out))
	b.text(`,"hash_ids":[`)
	b.blocks = q.prompts.AppendBlocks(b.blocks[:0], q.Served)
	for i, n := range b.blocks {
		if i > 0 {
			b.text(",")
		}
		b.int(int64(q.before + n))
	}
	b.text(`]`)
	if q.Stop == "tool_use" || q.Stop == "end_turn" {
		b.text(`,"stop":"` + q.Stop + `"`)
	}
	if q.took >= 0 {
		b.text(`,"api_time":`)
		b.seconds(q.took)
	}
	if q.waited >= 0 {
		b.text(`,"think_time":`)
		b.seconds(q.waited)
	}
	b.text(`}`)
}

func (b *wekaWriter) agent(a *wekaAgent) {
	end, tokens := int64(0), 0
	for i := range a.requests {
		q := &a.requests[i]
		end = max(end, q.at+max(q.took, 0))
		tokens += q.In + q.Out
	}
	b.text(`{"t":`)
	b.seconds(a.begins())
	b.text(fmt.Sprintf(`,"type":"subagent","agent_id":"agent_%03d","subagent_type":"","duration_ms":%d,"total_tokens":%d,"status":"completed","models":`,
		a.number, end-a.begins(), tokens))
	b.json(wekaModels(nil, a.requests))
	b.text(`,"requests":[`)
	for i := range a.requests {
		if i > 0 {
			b.text(",")
		}
		b.request(&a.requests[i])
	}
	b.text(`]}`)
}
