package report

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/report/parquet"
)

// usdPlaces are the digits after the point of an amount: all of price.USD.
const usdPlaces = 9

// exportColumns are the columns of a row type: a field's tag col is the column's name, about says what it holds. A column
// with a tag null is null where the field is zero; pointers, times and amounts are null where they are not known.
func exportColumns(row reflect.Type) (columns []ExportColumn) {
	for f := range row.Fields() {
		if f.Anonymous {
			columns = append(columns, exportColumns(f.Type)...)
			continue
		}
		c := ExportColumn{parquet.Column{Name: f.Tag.Get("col"), Optional: f.Tag.Get("null") != ""}, f.Tag.Get("about")}
		switch reflect.Zero(f.Type).Interface().(type) {
		case *int:
			c.Optional = true
		case string:
			c.Kind = parquet.Text
		case bool:
			c.Kind = parquet.Bool
		case float64:
			c.Kind = parquet.Double
		case time.Time:
			c.Kind = parquet.Time
			c.Optional = true
		case price.USD:
			c.Kind = parquet.Decimal
			c.Optional = true
			c.Places = usdPlaces
		}
		columns = append(columns, c)
	}
	return columns
}

// cell is the value of a column.
func (x *Export) cell(c *ExportColumn, v any) parquet.Cell {
	if c.Optional && (v == 0 || v == "") {
		return parquet.Cell{}
	}
	switch v := v.(type) {
	case int:
		return parquet.OfInt(v)
	case *int:
		if v != nil {
			return parquet.OfInt(*v)
		}
	case string:
		return parquet.OfText(v)
	case bool:
		return parquet.OfBool(v)
	case float64:
		return parquet.OfDouble(v)
	case time.Time:
		return parquet.OfTime(v)
	case price.USD:
		return x.cell(c, v.Decimal())
	case exact.Decimal:
		n, ok := v.At(c.Places)
		if cell, fits := parquet.OfDecimal(n); v.Known && ok && fits {
			return cell
		}
		if v.Known {
			x.Large++
		}
	}
	return parquet.Cell{}
}

// ExportTables are the tables that export writes.
func ExportTables() []ExportTable {
	abouts := map[compare.Flag]string{
		compare.FlagMidway: "the file begins in the middle of the conversation", compare.FlagEstimated: "no usage is recorded: all tokens are estimated",
		compare.FlagOutputs: "the output of some requests is estimated", compare.FlagCompacted: "the client compacted it when it was recorded",
		compare.FlagWindow: "its context window is fitted to the recorded compactions", compare.FlagSubagents: "it has subagents, and only main conversations were asked for",
		compare.FlagUnpriced: "a request's model has no price", compare.FlagContradicted: "the recorded usage contradicts the content, whose tokens are counted instead",
		compare.FlagRebuilt: "the client recorded its requests; " + heldFigures,
	}
	sessions := exportColumns(reflect.TypeFor[exportedSession]())
	for _, f := range compare.Flags() {
		sessions = append(sessions, ExportColumn{parquet.Column{Name: string(f), Kind: parquet.Bool}, abouts[f]})
	}
	comparison := exportColumns(reflect.TypeFor[exportedComparison]())
	for _, f := range compare.Figures() {
		c := parquet.Column{Name: f.Name, Places: f.Places(), Optional: true}
		if c.Places > 0 {
			c.Kind = parquet.Decimal
		}
		comparison = append(comparison, ExportColumn{c, joined(", ", f.About, either(f.Unit == "" || f.Unit == "USD", "", f.Unit))})
	}
	return []ExportTable{
		sessionsTable:   {"sessions", "One row for each conversation: what was recorded.", sessions},
		requestsTable:   {"requests", "One row for each request of each replay, calls of the policy's own included.", exportColumns(reflect.TypeFor[exportedRequest]())},
		eventsTable:     {"events", "One row for each event of each replay.", exportColumns(reflect.TypeFor[exportedEvent]())},
		comparisonTable: {"comparison", "One row for each conversation under each policy: the figures of `compare`.", comparison},
	}
}

// exportedConversation names a conversation.
type exportedConversation struct {
	Session string `col:"session" about:"id of the session"`
	Agent   string `col:"agent" about:"main, or the id of a subagent"`
	File    string `col:"file" about:"the file that was read; with agent it names the conversation in every table"`
}

// conversation is the name of the conversation.
func (s *ExportedSession) conversation() exportedConversation {
	return exportedConversation{s.Session, cmp.Or(s.Agent, "main"), s.File}
}

// exportedReplay names a replay.
type exportedReplay struct {
	exportedConversation
	Policy string `col:"policy" about:"as the command line names it"`
}

// exportedSession is a row of sessions, without the flags.
type exportedSession struct {
	exportedConversation
	Project     string    "col:\"project\" null:\"yes\" of:\"Project\" about:\"the folder it was recorded in, joined as by `compare`: hidden folders, worktrees and copies belong to their repository's project\""
	Repository  string    `col:"repository" null:"yes" of:"Repository" about:"git repository of that folder: host and path"`
	Client      string    `col:"client" of:"Client" about:"product that recorded it"`
	Version     string    `col:"client_version" null:"yes" of:"Version" about:"of the client, at the first request"`
	Model       string    `col:"model" null:"yes" of:"Model" about:"of the first request, or the one that was assumed"`
	Models      string    `col:"models" null:"yes" about:"every model with usage, sorted, with spaces between"`
	Title       string    `col:"title" null:"yes" of:"Title" about:"the session's title; null where texts are left out"`
	Began       time.Time `col:"began" of:"Began" about:"first time in the conversation"`
	Ended       time.Time `col:"ended" of:"Glance.Ended" about:"end of its last response"`
	Requests    int       `col:"requests" of:"Glance.Requests" about:"requests recorded"`
	PeakContext int       `col:"peak_context" of:"Glance.PeakContext" about:"tokens of the largest request, as the API reported"`
	LastContext int       `col:"last_context" of:"Glance.LastContext" about:"tokens of the last request with usage"`
	Compactions int       `col:"compactions" of:"Glance.Compactions" about:"compactions recorded"`
	CostUSD     price.USD `col:"cost_usd" of:"Glance.CostUSD" about:"bill by the recorded usage, of this conversation alone; null: no request has usage and a price"`
	Without     int       `col:"requests_without_usage" of:"Glance.Without" about:"requests that no usage is recorded of: cost_usd leaves them out"`
	Unpriced    int       `col:"unpriced_requests" of:"Glance.Unpriced" about:"requests of models without a price: likewise"`
	Idle        float64   `col:"idle_seconds" of:"Glance.Idle" about:"in pauses between responses of more than 5 minutes"`
	Read        int       `col:"lines_read" of:"Lines.Read" about:"lines of the file"`
	Used        int       `col:"lines_used" of:"Lines.Used" about:"of these, lines of this conversation"`
	Malformed   int       `col:"malformed_lines" about:"of these, lines that cannot be read"`
}

var fillExported = sync.OnceValue(filler[exportedSession, ExportedSession])

// cells are the row of sessions.
func (s *ExportedSession) cells() []any {
	row := exportedSession{exportedConversation: s.conversation(), Models: strings.Join(s.Glance.Models, " "), Malformed: s.Lines.SetAside[session.AsideMalformed]}
	fillExported()(&row, s)
	cells := fieldCells(reflect.ValueOf(row))
	for _, f := range compare.Flags() {
		cells = append(cells, slices.Contains(s.Flags, f))
	}
	return cells
}

// exportedRequest is a row of requests.
type exportedRequest struct {
	exportedReplay
	Position           int       `col:"position" about:"of the row in its replay, from 1"`
	N                  int       `col:"n" of:"N" about:"number of the main request; a call of the policy's own has that of the request after it"`
	Kind               string    `col:"kind" of:"Kind" about:"main, or the kind of a call of the policy's own, such as compaction"`
	UUID               string    `col:"uuid" null:"yes" of:"UUID" about:"of the message it asked for"`
	Time               time.Time `col:"time" of:"Time" about:"at which it was recorded"`
	Model              string    `col:"model" null:"yes" of:"Model" about:"of its response"`
	Raw                int       `col:"raw_tokens" of:"Raw" about:"of the raw history, overhead included"`
	Tokens             int       `col:"model_tokens" of:"Tokens" about:"of the model view, overhead included"`
	Payload            int       `col:"payload_tokens" of:"Payload" about:"of the payload, overhead included"`
	Overhead           int       `col:"overhead_tokens" of:"Overhead" about:"of the system prompt, tools, and what is not in the file"`
	Used               int       `col:"used_tokens" of:"Used" about:"the client's own estimate before this request's edits"`
	Messages           int       `col:"messages" of:"Messages" about:"in the model view"`
	Output             int       `col:"output_tokens" of:"Output" about:"of the response"`
	Estimated          bool      `col:"output_estimated" of:"Estimated" about:"output_tokens is the weight of the response: no reliable count is recorded"`
	Read               int       `col:"cache_read" of:"Cache.Read" about:"tokens read from the simulated prompt cache; the four add up to payload_tokens"`
	Write5m            int       `col:"cache_write_5m" of:"Cache.Write5m" about:"tokens written into it for 5 minutes"`
	Write1h            int       `col:"cache_write_1h" of:"Cache.Write1h" about:"tokens written into it for 1 hour"`
	Uncached           int       `col:"cache_uncached" of:"Cache.Uncached" about:"tokens neither read nor written"`
	Miss               string    `col:"cache_miss" null:"yes" of:"Cache.Miss.Kind" about:"why less was read than was sent before"`
	MissStage          string    `col:"cache_miss_stage" null:"yes" of:"Cache.Miss.Stage" about:"of an edit: the stage that made it"`
	CostUSD            price.USD `col:"cost_usd" of:"CostUSD" about:"simulated; null: no price is known for the model"`
	Ideal              price.USD `col:"cost_ideal" of:"CostParts.Ideal" about:"of cost_usd: input, where what was sent before is read from the cache and only the rest is written"`
	Restarts           price.USD `col:"cost_ideal_restarts" of:"CostParts.Restarts" about:"of cost_ideal: what restarts of the client made the cache lose; null: nothing"`
	Changes            price.USD `col:"cost_ideal_changes" of:"CostParts.Changes" about:"of cost_ideal: what other models, tools and settings made it lose; null: nothing"`
	Breaks             price.USD `col:"cost_breaks" of:"CostParts.Breaks" about:"of cost_usd: what the policy's edits made the cache lose"`
	Lifetime           price.USD `col:"cost_lifetime" of:"CostParts.Lifetime" about:"of cost_usd: what had expired"`
	Placement          price.USD `col:"cost_placement" of:"CostParts.Placement" about:"of cost_usd: what no breakpoint or look-back covered, or was too short to be cached"`
	OwnCalls           price.USD `col:"cost_own_calls" of:"CostParts.OwnCalls" about:"of cost_usd: a call of the policy's own, with what it writes"`
	CostOutput         price.USD `col:"cost_output" of:"CostParts.Output" about:"of cost_usd: output of a main request"`
	RecordedInput      *int      `col:"recorded_input" of:"Recorded.Input" about:"input tokens that the API reported, uncached; of several iterations the last"`
	RecordedCacheWrite *int      `col:"recorded_cache_write" of:"Recorded.CacheWrite" about:"written to the cache"`
	RecordedCacheRead  *int      `col:"recorded_cache_read" of:"Recorded.CacheRead" about:"read from the cache"`
	RecordedOutput     *int      `col:"recorded_output" of:"Recorded.Output" about:"output tokens"`
	BilledIterations   *int      `col:"billed_iterations" of:"Recorded.Billed.Iterations" about:"how often the API sampled within the request; null: once"`
	BilledInput        *int      `col:"billed_input" of:"Recorded.Billed.Input" about:"sum of their uncached input tokens"`
	BilledCacheWrite   *int      `col:"billed_cache_write" of:"Recorded.Billed.CacheWrite" about:"sum of what they wrote to the cache"`
	BilledCacheRead    *int      `col:"billed_cache_read" of:"Recorded.Billed.CacheRead" about:"sum of what they read from it"`
	BilledOutput       *int      `col:"billed_output" of:"Recorded.Billed.Output" about:"sum of their output tokens"`
	Events             int       `col:"events" about:"events at this request"`
}

// exportedEvent is a row of events.
type exportedEvent struct {
	exportedReplay
	N           int    `col:"n" of:"N" about:"number of the event in its replay, from 0"`
	Request     *int   `col:"request" of:"Request" about:"n of the request that it took place before; null: after the last"`
	Stage       string `col:"stage" of:"Stage" about:"of the policy; api, client: who would not have taken or sent the request"`
	Kind        string `col:"kind" of:"Kind" about:"what it does: clear, summarize, truncate, persist, remove and others"`
	Trigger     string `col:"trigger" null:"yes" of:"Trigger" about:"auto, manual, model, inferred, restart"`
	Reason      string `col:"reason" of:"Reason" about:"in words, without a word of the transcript"`
	Before      int    `col:"tokens_before" of:"Before" about:"of what it changed; of a refused or blocked request: its payload, also after"`
	After       int    `col:"tokens_after" of:"After" about:"of what is there instead"`
	Saved       int    `col:"tokens_saved" of:"Saved" about:"tokens_before - tokens_after"`
	Results     int    `col:"results" of:"Results" about:"tool results changed"`
	Messages    int    `col:"messages" of:"Messages" about:"messages removed"`
	Targets     int    `col:"targets" about:"blocks changed"`
	Detail      string `col:"detail" null:"yes" about:"figures that the client would record, as a JSON object"`
	File        string `col:"recorded_file" null:"yes" of:"Recorded.File" about:"where the client recorded it"`
	Line        int    `col:"recorded_line" null:"yes" of:"Recorded.Line" about:"line of that file"`
	Recorded    string `col:"recorded_trigger" null:"yes" of:"Recorded.Trigger" about:"auto, manual"`
	PreTokens   int    `col:"recorded_pre_tokens" null:"yes" of:"Recorded.PreTokens" about:"tokens before a compaction, as the client recorded them"`
	TokensSaved int    `col:"recorded_tokens_saved" null:"yes" of:"Recorded.TokensSaved" about:"tokens that it recorded as saved"`
}

// exportedComparison is a row of comparison, without the figures.
type exportedComparison struct {
	exportedReplay
	Ran         string `col:"ran" about:"the policy that a product's name meant for this session"`
	PromptCache string `col:"prompt_cache" about:"whose prompt cache was simulated: equal, own, none"`
	Counter     string `col:"counter" of:"Counter" about:"token counter"`
	Window      int    `col:"window" of:"Window" about:"context window, tokens"`
	Feasible    bool   `col:"feasible" about:"no request is refused, and none violates a rule of the API; else the figures are a lower bound"`
}

// compared is the row of a policy, by its index, in comparison.
func (s *ExportedSession) compared(of exportedReplay, policy int) []any {
	tl := s.Timelines[policy]
	values := s.Values[policy]
	cells := fieldCells(reflect.ValueOf(exportedComparison{of, s.Policies[policy].Name, string(s.Cache), tl.Counter, tl.Window, values.Feasible()}))
	for _, v := range values {
		cells = append(cells, v)
	}
	return cells
}
