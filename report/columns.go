package report

import (
	"slices"
	"strings"
)

// The row types of all tables that people read. A field is a column: columnsOf says what its tag holds. Help prints what
// each column says (see TableHead), so that no title stands unexplained. Where a table is too wide, the columns of the
// highest drop are left out first.

// TableHead is the head of a table, for help.
type TableHead struct {
	Name    string // its heading, or what its rows are
	columns []column
}

// Columns are the titles of the table's columns, each with what it says.
func (t TableHead) Columns() [][2]string {
	var list [][2]string
	for _, c := range t.columns {
		if c.Title != "" {
			list = append(list, field{c.Title, c.About})
		}
	}
	return list
}

// helpWidth is the width of help, columns.
const helpWidth = 80

// ColumnsText says what the columns of tables say, for help.
func ColumnsText(tables []TableHead) string {
	p := newPage(nil, Layout{Width: helpWidth})
	for _, t := range tables {
		p.heading(t.Name + ":")
		var list [][2]string
		for _, c := range t.Columns() {
			list = append(list, field{"  " + c[0], c[1]})
		}
		p.fields(list...)
	}
	return strings.TrimRight(p.buf.String(), "\n")
}

// Explained are terms with what they mean, for help.
func Explained(list [][2]string) string {
	p := newPage(nil, Layout{Width: helpWidth})
	p.fields(list...)
	return p.buf.String()
}

// headOf is the head of a table of rows of a type.
func headOf[T any](name string) TableHead { return TableHead{name, columnsOf[T]()} }

// The tables of each report.
var (
	ReplayTables  = []TableHead{headOf[overviewCells]("all sessions"), headOf[requestCells]("requests"), headOf[eventCells]("events")}
	CompareTables = []TableHead{{"policies", slices.Concat(columnsOf[policyCells](), figureColumns(figureTitles), columnsOf[allCells]())},
		{"against the first policy", slices.Concat(columnsOf[policyCells](), columnsOf[pairCells](), figureColumns(figureTitles), columnsOf[verdictCells]())},
		{"what makes figures doubtful", slices.Concat(columnsOf[policyCells](), figureColumns(troubleTitles))},
		headOf[spreadCells]("by session")}
	CostTables = []TableHead{headOf[costPeriodCells]("cost by period"), headOf[costCells]("cost by session"), headOf[bridgeCells]("from the bill to this cost"),
		headOf[partsCells]("what the cost is made of"), headOf[billedCells]("what was billed"), headOf[billKindCells]("what for"), headOf[billShortCells]("what the bill may be short of")}
	RegretTables = []TableHead{headOf[missCells]("needed later"), headOf[missSumCells]("sessions")}
	StatsTables  = []TableHead{headOf[contentCells]("what the context holds"), headOf[toolCells]("tools"), headOf[fileCells]("files that Read returned"),
		headOf[overheadCells]("system prompt and tools"), headOf[addedCells]("what the client adds to messages"),
		headOf[resultCells]("results"), headOf[repeatedCells]("results with the same text"), headOf[turnCells]("turns"),
		headOf[listingCells]("listings of tools, skills and agents"), headOf[subagentCells]("subagents"), headOf[heaviestCells]("sessions")}
	WhyTables = []TableHead{headOf[cacheBreakCells]("cache misses"), headOf[sentCells]("what differs from the request before, as sent"), headOf[expenseCells]("what was paid for"), headOf[contentCells]("what the input consisted of"),
		headOf[refillCells]("what filled the context before each compaction"), headOf[refillSourceCells]("the largest parts before a compaction"), headOf[brokenCells]("sessions")}
	ResumeTables    = []TableHead{headOf[resumeCells]("sessions")}
	SweepTables     = []TableHead{{"points", slices.Concat([]column{axisColumn("PARAMETER", "")}, figureColumns(figureTitles), figureColumns(troubleTitles), columnsOf[frontCells]())}}
	ThresholdTables = []TableHead{headOf[limitCells]("limits")}
	ValidateTables  = []TableHead{headOf[validateCells]("predicted against recorded")}
	PriceTables     = []TableHead{headOf[priceCells]("models")}
	SessionTables   = []TableHead{headOf[sessionCells]("sessions"), headOf[periodCells]("sums by period")}
	ExploreTables   = []TableHead{headOf[sessionCells]("sessions"), headOf[stepCells]("requests"), headOf[blockCells]("blocks"), headOf[foundCells]("what a search found")}
	PolicyTables    = []TableHead{headOf[catalogueCells]("policies")}
	FindingTables   = []TableHead{headOf[findingCells]("findings")}
	ChangeTables    = []TableHead{{"settings", changeColumns("POLICY", "OTHER")}}
	LintTables      = []TableHead{headOf[problemCells]("problems of a file"), headOf[codeCells]("problems of several files")}
	CheckTables     = []TableHead{headOf[caseCells]("cases"), headOf[checkedCells]("figures of a session")}
	BacktestTables  = []TableHead{headOf[compactionCells]("compactions"), headOf[microCells]("microcompactions"), headOf[classCells]("input by cache class"),
		headOf[usageCells]("the same, request by request"), headOf[causeCells]("cache misses"), headOf[authorCells]("the cache by author"), headOf[fidelityCells]("fidelity"),
		headOf[breakCells]("cache misses, one by one"), headOf[counterCells]("counters"),
		headOf[payloadCells]("requests against those that were sent"), headOf[payloadKindCells]("what differs, by kind of block")}
	DiffTables      = []TableHead{{"sums of changes", slices.Concat(columnsOf[changedCells](), sideColumns("LEFT", "RIGHT"), statColumns("before", "after"))}}
	AnonymizeTables = []TableHead{headOf[keptCells]("what an anonymised session reveals")}
)

// replay

type overviewCells struct {
	Session   any `col:"session" about:"id of the session, and of the subagent" fit:"wrap"`
	Requests  any `col:"requests" of:"Requests" about:"requests of the conversation" drop:"2"`
	RawPeak   any `col:"raw peak" of:"RawPeak" about:"tokens of the largest request if nothing was compacted" drop:"4"`
	ModelPeak any `col:"model peak" of:"ModelPeak" about:"tokens of the largest request in the model view"`
	Saved     any `col:"saved" of:"Saved" about:"tokens that the policy saved, over all requests" drop:"3"`
	Compacted any `col:"compacted" of:"Compactions" about:"compactions of the whole conversation"`
	Cleared   any `col:"cleared" of:"Cleared" about:"tool results cleared" drop:"1"`
	USD       any `col:"USD" of:"CostUSD" about:"cost, simulated, with the policy's summarization requests"`
	Billed    any `col:"billed" about:"what the recorded session was billed, USD, subagents included; >= at least"`
}

// requestCells are the row of a request: eight columns for people, all for CSV. The third of people's is named by what is
// sent: see sentName.
type requestCells struct {
	named
	Request            any `col:"request" csv:"n" of:"N" about:"number of the request; a call of the policy's own has that of the request after it"`
	Kind               any `csv:"kind" of:"Kind"`
	UUID               any `csv:"uuid" of:"UUID"`
	TimeUTC            any `col:"time (UTC)" csv:"time" about:"month, day and time at which the request was recorded" drop:"3"`
	Model              any `csv:"model" of:"Model"`
	Raw                any `col:"raw" csv:"raw_tokens" of:"Raw" about:"tokens of the request if nothing was compacted"`
	ModelTokens        any `csv:"model_tokens" of:"Tokens"`
	Sent               any `col:"model" csv:"payload_tokens" of:"Payload" about:"tokens of the model view; as payload those that the server reads, after API-level edits"`
	Saved              any `col:"saved" about:"raw less the input tokens" drop:"1"`
	OverheadTokens     any `csv:"overhead_tokens" of:"Overhead"`
	Used               any `col:"used" csv:"used_tokens" of:"Used" about:"context by the client's own count, which it compares with its limits" drop:"2"`
	Messages           any `csv:"messages" of:"Messages"`
	OutputTokens       any `csv:"output_tokens" of:"Output"`
	RecordedInput      any `csv:"recorded_input" of:"Recorded.Input"`
	RecordedCacheWrite any `csv:"recorded_cache_write" of:"Recorded.CacheWrite"`
	RecordedCacheRead  any `csv:"recorded_cache_read" of:"Recorded.CacheRead"`
	RecordedOutput     any `csv:"recorded_output" of:"Recorded.Output"`
	eventSums
	CacheRead     any `csv:"cache_read" of:"Cache.Read"`
	CacheWrite5m  any `csv:"cache_write_5m" of:"Cache.Write5m"`
	CacheWrite1h  any `csv:"cache_write_1h" of:"Cache.Write1h"`
	CacheUncached any `csv:"cache_uncached" of:"Cache.Uncached"`
	CacheMiss     any `csv:"cache_miss" of:"Cache.Miss.Kind"`
	USD           any `col:"USD" csv:"cost_usd" of:"CostUSD" about:"cost of the request"`
	WhatHappened  any `col:"what happened" about:"events, cache misses, peaks" fit:"wrap" min:"20"`
}

type eventSums struct {
	Events           any `csv:"events"`
	EventKinds       any `csv:"event_kinds"`
	EventTokensSaved any `csv:"event_tokens_saved"`
}

// sentColumn is the title of the column of the payload, where no payload differs from the model view.
const sentColumn = "model"

type eventCells struct {
	Event   any `col:"event" about:"number of the event"`
	Request any `col:"request" about:"request before which it took place; end: after the last one"`
	Stage   any `col:"stage" of:"Stage" about:"stage of the policy"`
	Kind    any `col:"kind" of:"Kind" about:"what it does: clear, summarize, truncate, persist and others" drop:"3"`
	What    any `col:"what" about:"its reason, and what became of messages and results" fit:"wrap" min:"20"`
	Before  any `col:"before" of:"Before" about:"tokens of what it changed" drop:"1"`
	After   any `col:"after" of:"After" about:"tokens of what is there instead" drop:"2"`
	Saved   any `col:"saved" of:"Saved" about:"before less after"`
}

// compare, sweep

type policyCells struct {
	Policy any `col:"policy" about:"name of the policy; * an infeasible one: its figures are lower bounds" fit:"wrap"`
}
type allCells struct {
	USDOfAll any `col:"USD of all" about:"cost over all sessions, where sums leave some out" drop:"5"`
}
type pairCells struct {
	Sessions any `col:"sessions" about:"sessions that the difference is over" drop:"3"`
}
type verdictCells struct {
	Interval any `col:"90 %" about:"interval of the difference, over projects, or sessions of one project"`
	Lower    any `col:"lower" about:"sessions in which the policy is lower than the first" drop:"2"`
	Even     any `col:"even" about:"sessions in which both are the same within 0.5 %" drop:"3"`
	Higher   any `col:"higher" about:"sessions in which it is higher" drop:"2"`
}
type spreadCells struct {
	Figure any `col:"figure" about:"name of the figure, as in json and csv"`
	Policy any `col:"policy" about:"name of the policy" fit:"wrap"`
	Total  any `col:"total" about:"sum over sessions; of a peak the largest"`
	Median any `col:"median" about:"of sessions"`
	P90    any `col:"p90" about:"90th percentile of sessions"`
}
type frontCells struct {
	Front any `col:"Pareto" about:"* on the Pareto front: no other point is as good in every figure and better in one; ! infeasible, a lower bound; = as a point before"`
}

// axisColumn is the column of a parameter that a sweep varies.
func axisColumn(title, key string) column {
	return column{Title: title, Key: key, About: "value of the parameter that is varied", Flex: true}
}

// figureColumns are the columns of figures.
func figureColumns(figures []figureTitle) []column {
	columns := make([]column, len(figures))
	for i, f := range figures {
		columns[i] = f.column("")
	}
	return columns
}

// column is the column of a figure.
func (f figureTitle) column(key string) column {
	return column{Title: f.title, Key: key, About: f.about, Drop: f.drop}
}

// cost

type costCells struct {
	Session any `col:"session" about:"id of the session, and of the subagent" fit:"wrap"`
	named
	Model            any `csv:"model"`
	Kind             any `csv:"kind"`
	Calls            any `col:"calls" csv:"calls" about:"requests sent" drop:"1"`
	Read             any `col:"read" csv:"cache_read" about:"input tokens read from the prompt cache"`
	Written          any `col:"written" about:"input tokens written to it"`
	CacheWrite5m     any `csv:"cache_write_5m"`
	CacheWrite1h     any `csv:"cache_write_1h"`
	Uncached         any `col:"uncached" csv:"cache_uncached" about:"input tokens neither read nor written" drop:"2"`
	Output           any `col:"output" csv:"output_tokens" about:"output tokens" drop:"3"`
	EstimatedOutputs any `csv:"estimated_outputs"`
	USD              any `col:"USD" csv:"cost_usd" about:"cost by the model's prices"`
}
type bridgeCells struct {
	Step  any `col:"step" about:"from the recorded bill to the simulated cost; rows that begin with = are sums up to there" fit:"wrap"`
	Calls any `col:"calls" about:"requests that the step is about"`
	USD   any `col:"USD" about:"what the step adds"`
}
type partsCells struct {
	Part  any `col:"part" about:"reason of a part of the cost" fit:"wrap"`
	USD   any `col:"USD" about:"its cost"`
	Share any `col:"share" about:"of the whole cost"`
}
type billedCells struct {
	Model     any `col:"model" of:"Model" about:"model by its id" fit:"wrap"`
	Calls     any `col:"calls" of:"Calls" about:"requests with a recorded usage" drop:"1"`
	Read      any `col:"read" of:"Input.Read" about:"recorded input tokens read from the cache"`
	Written5m any `col:"written 5m" of:"Input.Write5m" about:"recorded input tokens written to it for 5 minutes"`
	Written1h any `col:"written 1h" of:"Input.Write1h" about:"the same, for an hour"`
	Uncached  any `col:"uncached" of:"Input.Uncached" about:"recorded input tokens neither read nor written" drop:"3"`
	Output    any `col:"output" of:"Output" about:"recorded output tokens" drop:"2"`
	USD       any `col:"USD" of:"CostUSD" about:"bill by the model's prices"`
}

type billKindCells struct {
	CallsFor any `col:"calls for" about:"what the calls were made for" fit:"wrap"`
	Calls    any `col:"calls" of:"Calls" about:"how many; of searches the searches"`
	Input    any `col:"input" about:"recorded input tokens, cached or not"`
	Output   any `col:"output" of:"Output" about:"recorded output tokens" drop:"1"`
	USD      any `col:"USD" of:"CostUSD" about:"bill by the models' prices"`
}
type billShortCells struct {
	Why    any `col:"why" about:"why more may have been billed" fit:"wrap"`
	Calls  any `col:"calls" about:"how many"`
	Tokens any `col:"tokens" about:"that the bill lacks; estimated where no count is recorded"`
	USD    any `col:"USD" about:"what they cost, where that is known"`
}

// regret

type missCells struct {
	Session   any `csv:"session"`
	Agent     any `csv:"agent"`
	File      any `csv:"file"`
	Policy    any `csv:"policy"`
	Needed    any `col:"needed at" csv:"needed_request" of:"Needed" about:"request at which the block was needed again"`
	Removed   any `col:"removed at" csv:"removed_request" of:"Removed" about:"request before which it was removed" drop:"1"`
	Distance  any `csv:"distance"`
	By        any `col:"by" about:"stage that removed it, and how" drop:"3"`
	Stage     any `csv:"stage" of:"Stage"`
	Kind      any `csv:"kind" of:"Kind"`
	Tokens    any `col:"tokens" csv:"tokens" of:"Tokens" about:"tokens of the block"`
	What      any `col:"what" about:"tool of the block, or text, and its line in the file" drop:"2"`
	Tool      any `csv:"tool" of:"Tool"`
	ToolUseID any `csv:"tool_use_id" of:"ToolUse"`
	Message   any `csv:"message" of:"Message"`
	Line      any `csv:"line" of:"Line"`
	Evidence  any `csv:"evidence" of:"Evidence"`
	Quote     any `csv:"quote" of:"Quote"`
	UsedBy    any `csv:"used_by" of:"UsedBy"`
	UsedLine  any `csv:"used_line" of:"UsedLine"`
	Shown     any `col:"evidence" about:"what shows the need: a file read again, an edit, a quote; its line and words" fit:"wrap" min:"20"`
}
type missSumCells struct {
	Session   any `col:"session" about:"id of the session, and of the subagent" fit:"wrap"`
	Misses    any `col:"needed later" about:"blocks removed and needed later"`
	OfRemoved any `col:"of removed" of:"Regret.Removed" about:"blocks removed" drop:"1"`
	ReRead    any `col:"re-read" about:"needed later: a file read again" drop:"2"`
	Edited    any `col:"edited" about:"needed later: an edit" drop:"3"`
	Quoted    any `col:"quoted" about:"needed later: a quote" drop:"3"`
	Tokens    any `col:"tokens" of:"Regret.Tokens" about:"tokens to fetch again"`
	USD       any `col:"USD" of:"Regret.USD" about:"what fetching them costs"`
}

// listings

type limitCells struct {
	Limit            any `col:"limit" csv:"limit" about:"name of the limit"`
	Stage            any `col:"stage" csv:"stage" about:"stage that acts at it" drop:"2"`
	Compared         any `col:"compared" csv:"compared" about:"what is compared with it, and how" drop:"3"`
	Tokens           any `col:"tokens" csv:"tokens" about:"the limit"`
	ShareOfWindow    any `csv:"share_of_window"`
	Left             any `col:"left" csv:"percent_left" about:"what is left of the context up to the limit, where what is used is given"`
	Acts             any `col:"acts" csv:"acts" about:"yes: the policy does something there; else it only informs" drop:"1"`
	WhereItComesFrom any `col:"where it comes from" csv:"from" about:"how it is worked out" fit:"wrap" min:"20"`
}
type validateCells struct {
	Measure   any `col:"measure" csv:"measure" of:"Measure" about:"what is predicted"`
	History   any `col:"history" about:"tokens of the whole history of the requests"`
	From      any `csv:"history_from" of:"From"`
	To        any `csv:"history_to" of:"To"`
	Recorded  any `csv:"sessions" col:"sessions" about:"sessions that were recorded under the regime" drop:"2"`
	Others    any `csv:"predicting" col:"others" about:"sessions that predict them" drop:"2"`
	Value     any `csv:"recorded" col:"recorded" about:"what was recorded"`
	Replayed  any `csv:"replayed" col:"replayed" about:"the same sessions replayed under the regime" drop:"1"`
	Predicted any `csv:"predicted" col:"predicted" about:"the others replayed under it"`
	Off       any `csv:"off" col:"off" about:"the prediction less what was recorded, as a part of that"`
	Bounds    any `col:"90 %" about:"interval of that over projects; –: too few"`
	Low       any `csv:"low" of:"Low"`
	High      any `csv:"high" of:"High"`
}
type priceCells struct {
	Model             any `col:"model" csv:"model" about:"id that a model's name starts with"`
	Input             any `col:"input" csv:"input" about:"USD per million input tokens"`
	Write5m           any `col:"write 5m" csv:"cache_write_5m" about:"the same, written to the cache for 5 minutes"`
	Write1h           any `col:"write 1h" csv:"cache_write_1h" about:"the same, for an hour" drop:"1"`
	Read              any `col:"read" csv:"cache_read" about:"the same, read from the cache"`
	Output            any `col:"output" csv:"output" about:"USD per million output tokens"`
	AbovePromptTokens any `csv:"above_prompt_tokens"`
	Window            any `col:"window" csv:"context" about:"context window in tokens" drop:"2"`
	MaxOutput         any `csv:"max_output" of:"MaxOutput"`
	Caches            any `col:"caches" csv:"min_cacheable" about:"shortest prefix that the prompt cache stores, in tokens" drop:"3"`
	How               any `col:"how" csv:"cache" about:"how: marked by the client, or automatic, in blocks of tokens where these are known" drop:"4"`
	Tokenizer         any `csv:"tokenizer" of:"Tokenizer"`
	Released          any `csv:"released" of:"Released"`
	Retired           any `csv:"retired" of:"Retired"`
	Source            any `col:"source" csv:"source" about:"number of the source below the table" drop:"5"`
	Remarks           any `col:"remarks" about:"how sure the prices are, and when the model was released" fit:"wrap" drop:"6"`
	Confidence        any `csv:"confidence" of:"Confidence"`
	Note              any `csv:"note" of:"Note"`
}
type stepCells struct {
	Request any `col:"request" of:"N" about:"number of the request"`
	Time    any `col:"time (UTC)" about:"month, day and time at which the request was recorded" drop:"2"`
	Sent    any `col:"sent" of:"Payload" about:"tokens of the request"`
	Change  any `col:"change" about:"tokens more than the request before"`
	Mark    any `col:"≠" about:"the policies send different numbers of tokens"`
	Second  any `col:"second" about:"tokens of the request under the second policy" drop:"4"`
	Cached  any `col:"cached" about:"share of the request that is read from the prompt cache" drop:"1"`
	USD     any `col:"USD" of:"CostUSD" about:"cost of the request" drop:"3"`
	What    any `col:"what happened" about:"events, cache misses" fit:"cut" min:"12"`
}
type blockCells struct {
	What   any `col:"what" of:"About" about:"what the block is" fit:"cut" min:"12"`
	Line   any `col:"line" about:"line of the session's file; none: the policy made the block" drop:"2"`
	Raw    any `col:"raw" of:"Raw" about:"tokens as recorded" drop:"1"`
	Mark   any `col:"≠" about:"the policies send different blocks"`
	Second any `col:"second" about:"what became of the block under the second policy" fit:"cut" min:"12"`
	Tokens any `col:"tokens" about:"tokens that the second policy sends"`
	First  any `col:"what happened" about:"what became of the block: new, kept, cleared, summarised, added, and by which stage" fit:"cut" min:"12"`
	Sent   any `col:"sent" of:"Right.Tokens" about:"tokens that are sent"`
}
type foundCells struct {
	Request any `col:"request" of:"Request" about:"first request that sends the block"`
	Line    any `col:"line" about:"line of the session's file; none: the policy made the block" drop:"1"`
	What    any `col:"what" of:"About" about:"what the block is" fit:"cut" min:"12"`
	Text    any `col:"text" of:"Text" about:"text around the place" fit:"cut" min:"20"`
}
type periodCells struct {
	Period   any `col:"period" csv:"period" about:"day, ISO week or month of the calls, in the time zone; -: calls without a time"`
	Sessions any `col:"sessions" csv:"sessions" of:"Sessions" about:"sessions with calls in it"`
	Calls    any `col:"calls" csv:"calls" of:"Calls" about:"billed calls, each once"`
	Tokens   any `col:"tokens" csv:"tokens" of:"Tokens" about:"their input and output"`
	USD      any `col:"USD" csv:"cost_usd" about:"what they were billed; >= at least"`
}
type costPeriodCells struct {
	Period   any `col:"period" csv:"period" about:"day, ISO week or month of the requests, in the time zone; -: requests without a time"`
	Sessions any `col:"sessions" csv:"sessions" of:"Sessions" about:"sessions with requests in it" drop:"1"`
	Calls    any `col:"calls" csv:"calls" of:"Sum.Calls" about:"requests sent"`
	Read     any `col:"read" csv:"cache_read" of:"Sum.Input.Read" about:"input tokens read from the prompt cache"`
	Written  any `col:"written" csv:"cache_write" about:"input tokens written to it"`
	Uncached any `col:"uncached" csv:"cache_uncached" of:"Sum.Input.Uncached" about:"input tokens neither read nor written" drop:"2"`
	Output   any `col:"output" csv:"output_tokens" of:"Sum.Output" about:"output tokens" drop:"3"`
	USD      any `col:"USD" csv:"cost_usd" of:"Sum.CostUSD" about:"simulated cost"`
}
type sessionCells struct {
	Session       any `col:"session" csv:"session" about:"beginning of the id, as long as no other in the list has it"`
	Age           any `col:"age" about:"time since its last line" drop:"1"`
	File          any `csv:"file" of:"Path"`
	Folder        any `csv:"folder" of:"Folder"`
	Project       any `col:"project" csv:"project" about:"last part of the folder that it was recorded in" drop:"4"`
	Branch        any `csv:"branch" of:"Branch"`
	ClientVersion any `csv:"client_version" of:"Version"`
	Title         any `csv:"title" of:"Title"`
	FirstPrompt   any `csv:"first_prompt" of:"Prompt"`
	Created       any `csv:"created" of:"Created"`
	Last          any `csv:"last" of:"Last"`
	Bytes         any `csv:"bytes"`
	Index         any `csv:"index" of:"Standing"`
	Why           any `csv:"why" of:"Why"`
	Subagents     any `csv:"subagents"`
	ToolResults   any `csv:"tool_results" of:"ToolResults"`
	Headline      any `col:"title" about:"title, or the first prompt, cut where the line ends" fit:"cut" min:"20"`
	glanceCells
	Client   any `col:"client" about:"version of the client that recorded it" drop:"8"`
	Standing any `col:"index" of:"Standing" about:"whether the folder's index lists the session, and rightly" drop:"9"`
	Size     any `col:"size" about:"of the file" drop:"10"`
	Agents   any `col:"agents" about:"subagents with it" drop:"11"`
}

type glanceCells struct {
	Requests             any `col:"requests" csv:"requests" of:"Glance.Requests" about:"requests of the conversation" drop:"3"`
	Peak                 any `col:"peak" csv:"peak_context" about:"tokens of its largest request, as the API reported" drop:"2"`
	LastContext          any `col:"last" csv:"last_context" about:"tokens of its last request" drop:"6"`
	Compacted            any `col:"compacted" csv:"compactions" of:"Glance.Compactions" about:"compactions of the conversation" drop:"5"`
	USD                  any `col:"USD" csv:"cost_usd" about:"bill by the recorded usage, subagents included; >= at least"`
	Idle                 any `col:"idle" csv:"idle_seconds" about:"time in pauses of more than 5 minutes between responses" drop:"7"`
	RequestsWithoutUsage any `csv:"requests_without_usage" of:"Glance.Without"`
	UnpricedRequests     any `csv:"unpriced_requests" of:"Glance.Unpriced"`
	PartialOutputs       any `csv:"partial_outputs" of:"Glance.Partial"`
	CostAtLeast          any `csv:"cost_at_least" of:"Glance.AtLeast"`
	Models               any `csv:"models"`
}
type catalogueCells struct {
	Policy         any `col:"policy" csv:"policy" about:"name of the policy; a product's releases stand below its name"`
	Product        any `csv:"product" of:"Product"`
	Version        any `csv:"version" of:"Version"`
	About          any `csv:"about" of:"About"`
	Source         any `csv:"source" of:"Source"`
	Date           any `csv:"date" of:"Date"`
	ValidFrom      any `csv:"valid_from" of:"From"`
	ValidUntil     any `csv:"valid_until" of:"Until"`
	From           any `col:"from" of:"From" about:"first day as the current release" drop:"1"`
	Truth          any `col:"truth" about:"evidence of it; unconfirmed: described in one analysis alone"`
	FullTruth      any `csv:"truth" of:"Truth"`
	Stages         any `csv:"stages"`
	Recorded       any `csv:"recorded" of:"Score.Recorded"`
	Decided        any `csv:"decided" of:"Score.Decided"`
	Free           any `csv:"free" of:"Score.Free"`
	Alarms         any `csv:"alarms" of:"Score.Alarms"`
	FittedRecorded any `csv:"fitted_recorded" of:"Score.Fitted.Recorded"`
	FittedDecided  any `csv:"fitted_decided" of:"Score.Fitted.Decided"`
	FittedFree     any `csv:"fitted_free" of:"Score.Fitted.Free"`
	Score          any `col:"score" about:"recorded compactions that it decides at the request / in a free replay / that there are; * in fitted windows" drop:"2"`
	WhatItDoes     any `col:"what it does" about:"in a sentence, cut where the line ends" fit:"cut"`
}

// sourcedCells are for Markdown, whose lines have no end.
type sourcedCells struct {
	catalogueCells
	Origin any `col:"source" of:"Source" about:"where the policy is from"`
}

type findingCells struct {
	Policy               any `col:"policy" csv:"policy" of:"Policy" about:"name of the policy"`
	Where                any `col:"where" about:"file, line and column, or the setting" fit:"wrap"`
	File                 any `csv:"file" of:"File"`
	Line                 any `csv:"line" of:"Line"`
	Column               any `csv:"column" of:"Column"`
	Key                  any `csv:"key" of:"Key"`
	Rule                 any `col:"rule" csv:"rule" of:"Rule" about:"name of the rule" drop:"1"`
	Message              any `csv:"message" of:"Msg"`
	Hint                 any `csv:"hint" of:"Hint"`
	WhatIsOddAndWhatToDo any `col:"what is odd, and what to do" about:"the finding" fit:"wrap" min:"24"`
}
type problemCells struct {
	Severity     any `col:"severity" about:"error, warning or note"`
	Code         any `col:"code" about:"kind of the problem: docs/lint.md describes each"`
	Places       any `col:"places" about:"how many there are" drop:"1"`
	WhereAndWhat any `col:"where, and what" about:"the first places, or all" fit:"wrap" min:"20"`
}
type codeCells struct {
	Severity      any `col:"severity" about:"error, warning or note"`
	Code          any `col:"code" about:"kind of the problem: docs/lint.md describes each"`
	Files         any `col:"files" about:"files that have it"`
	Places        any `col:"places" about:"how many there are" drop:"1"`
	TheFirstPlace any `col:"the first place" about:"file, line and what is there" fit:"wrap" min:"20"`
}
type keptCells struct {
	WhatStays any `col:"what stays" about:"kind of what is not replaced"`
	AsItWas   any `col:"as it was" about:"the values themselves" fit:"wrap"`
	What      any `csv:"what"`
	Value     any `csv:"value"`
	Count     any `csv:"count"`
}

// changeColumns are the columns of the differences of two policies.
func changeColumns(a, b string) []column {
	return []column{{Title: "key", Key: "key", About: "stage and parameter", Flex: true}, {Title: a, Key: a, About: "its value in the first policy", Flex: true},
		{Title: b, Key: b, About: "its value in the second", Flex: true}}
}

// check

type caseCells struct {
	Case     any `col:"case" of:"Name" about:"name of the case in the configuration" fit:"wrap"`
	Policy   any `col:"policy" about:"name of the policy" fit:"wrap"`
	Sessions any `col:"sessions" about:"replays of the case" drop:"1"`
	Failed   any `col:"replays failed" csv:"failed" of:"Failed" about:"replays that fail by themselves; the sums of a case may fail, too"`
	Result   any `col:"result" of:"Status" about:"the worst result of them"`
}
type checkedCells struct {
	Figure     any `col:"figure" about:"name of the figure, as in json"`
	Before     any `col:"before" about:"its value in the baseline"`
	After      any `col:"after" about:"its value now"`
	Difference any `col:"difference" about:"after less before, and in percent" drop:"2"`
	Wanted     any `col:"wanted" about:"limit of the configuration" fit:"wrap" drop:"1"`
	Result     any `col:"result" about:"broken, worse, changed, better or ok"`
}

// backtest: token counters

type counterCells struct {
	Clients       any `col:"clients" csv:"clients" about:"versions of the client"`
	Model         any `col:"model" csv:"model" about:"without vendor and date"`
	Counter       any `col:"counter" csv:"counter" of:"Counter" about:"token counter"`
	Sessions      any `csv:"sessions" of:"Sessions"`
	Requests      any `col:"requests" csv:"requests" of:"Requests" about:"requests scored" drop:"1"`
	IncrementMAPE any `csv:"increment_mape" of:"Increment.MAPE"`
	IncrementBias any `csv:"increment_bias" of:"Increment.Bias"`
	IncP50        any `col:"inc p50" csv:"increment_p50" about:"median error of the tokens added since the request before, in tokens"`
	IncP90        any `col:"inc p90" csv:"increment_p90" about:"the same, 90th percentile" drop:"3"`
	NextPercent   any `col:"next %" csv:"next_mape" about:"mean error of the total, given the total before"`
	NextBias      any `csv:"next_bias" of:"Next.Bias"`
	NextP50       any `csv:"next_p50" of:"Next.P50"`
	NextP90       any `csv:"next_p90" of:"Next.P90"`
	FreeMAPE      any `csv:"free_mape" of:"Free.MAPE"`
	FreeBias      any `csv:"free_bias" of:"Free.Bias"`
	FreeP50       any `csv:"free_p50" of:"Free.P50"`
	FreeP90       any `csv:"free_p90" of:"Free.P90"`
	FreeSessions  any `csv:"free_sessions" of:"Each.Sessions"`
	FreePercent   any `col:"free %" csv:"free_session_mean" about:"mean error of the total, given the first total alone; mean of sessions"`
	Median        any `col:"median" csv:"free_session_median" about:"the same, median of sessions" drop:"2"`
	Bias          any `col:"bias" about:"of free, over requests, in percent"`
}

// backtest

type overheadCells struct {
	Part     any `col:"part" of:"Part" about:"system: a section of the system prompt; tool: the definition of one"`
	Name     any `col:"name" of:"Name" about:"of the tool; heading of the section, without one the number of its text" fit:"wrap"`
	Of       any `col:"of" about:"MCP server of the tool; what the section is about: memory, environment …" drop:"3"`
	Tokens   any `col:"tokens" of:"Tokens" about:"tokens of it in each request"`
	Percent  any `col:"%" about:"of the system prompt and the tools" drop:"4"`
	Calls    any `col:"calls" of:"Calls" about:"calls of the tool up to the request; those never called stand first"`
	Requests any `col:"requests" of:"Requests" about:"requests up to it that had the part" drop:"2"`
	Sent     any `col:"sent" of:"Sent" about:"tokens of it in all of them" drop:"1"`
	USD      any `col:"USD" of:"USD" about:"its share of what the system prompt and the tools cost"`
}
type addedCells struct {
	What       any `col:"what" of:"Kind" about:"instructions, environment, skills, agents, memory, MCP servers, tools"`
	Attachment any `col:"attachment" of:"Name" about:"its type" fit:"wrap"`
	Tokens     any `col:"tokens" of:"Tokens" about:"tokens of it in the request"`
}
type payloadCells struct {
	What         any `col:"what" csv:"track" of:"Track" about:"rebuilt from the conversation, or on record in the file itself"`
	Clients      any `col:"clients" csv:"clients" of:"Clients" about:"version of the client"`
	Sessions     any `col:"sessions" csv:"sessions" of:"Sessions" about:"sessions with such a request" drop:"3"`
	Requests     any `col:"requests" csv:"requests" of:"Requests" about:"requests of which the true one is known"`
	Conversation any `col:"conversation" csv:"conversation" of:"Conversation" about:"those whose prompts, answers, thinking, calls, results and their order are equal"`
	Whole        any `col:"whole" csv:"whole" of:"Whole" about:"those that are equal block by block, on record also in all else that is known"`
	Equal        any `col:"equal" csv:"equal" of:"Equal" about:"blocks that are equal, in order" drop:"4"`
	Missing      any `col:"missing" csv:"missing" of:"Missing" about:"blocks that were sent and are on lines of the file, but not in the request"`
	Unheld       any `col:"unheld" csv:"unheld" of:"Unheld" about:"blocks that were sent and are not in the file" drop:"2"`
	Extra        any `col:"extra" csv:"extra" of:"Extra" about:"blocks that were not sent, placeholders left out"`
	Placeholders any `col:"placeholders" csv:"placeholders" of:"Placeholders" about:"blocks that stand for words that no line has" drop:"6"`
	Moved        any `col:"moved" csv:"moved" of:"Moved" about:"blocks at another place" drop:"5"`
	Marks        any `col:"marks" csv:"marks" of:"Marks" about:"requests whose cache breakpoints in messages are at the same places" drop:"1"`
}
type payloadKindCells struct {
	What       any `col:"what" of:"Track" about:"rebuilt from the conversation, or on record in the file itself"`
	Difference any `col:"difference" of:"What" about:"how the blocks differ"`
	Role       any `col:"role" of:"Role" about:"of their message"`
	Kind       any `col:"kind" of:"Kind" about:"as the API names it" fit:"wrap"`
	Blocks     any `col:"blocks" of:"Blocks" about:"how many"`
}
type compactionCells struct {
	Clients  any `col:"clients" of:"Clients" about:"versions of the client; fitted: in windows fitted to the recorded sessions"`
	Sessions any `col:"sessions" of:"Sessions" about:"sessions with a request" drop:"3"`
	Recorded any `col:"recorded" of:"Recorded" about:"recorded automatic compactions"`
	Hits     any `col:"hits" of:"Hits" about:"those that the policy decides, on the recorded view before each request"`
	Misses   any `col:"missed" of:"Misses" about:"those that it does not"`
	Alarms   any `col:"alarms" of:"Alarms" about:"compactions that it decides and that were not recorded"`
	Exact    any `col:"exact" of:"Exact" about:"hits whose count of used tokens is the recorded pre_tokens" drop:"4"`
	Off      any `col:"off" about:"mean error of that count, in tokens" drop:"5"`
	Most     any `col:"most" about:"its largest error, in tokens" drop:"6"`
	Free     any `col:"free" of:"Free.Exact" about:"compactions that a replay without the recorded ones predicts at the request"`
	Within1  any `col:"±1" of:"Free.One" about:"the same, 1 request off or less" drop:"7"`
	Within5  any `col:"±5" of:"Free.Five" about:"the same, 5 requests off or less" drop:"7"`
	Lost     any `col:"lost" about:"hits of the compactions whose last message is not in the file, and how many there are" drop:"2"`
}
type microCells struct {
	Clients              any `col:"clients" of:"Clients" about:"versions of the client"`
	Recorded             any `col:"recorded" of:"Recorded" about:"microcompactions with a recorded line"`
	Hits                 any `col:"hits" of:"Hits" about:"those that the policy does at the request"`
	SameResults          any `col:"same results" of:"Same" about:"those of which it clears the same results"`
	SavingWithin1Percent any `col:"saving ±1 %" of:"Close" about:"those whose tokens saved are within 1 % of the recorded ones; –: the client records no saving" drop:"1"`
	Unrecorded           any `col:"unrecorded" of:"Unrecorded" about:"those without a line, found by the usage"`
	Confirmed            any `col:"confirmed" of:"Confirmed" about:"unrecorded ones that the policy does" drop:"2"`
	Alarms               any `col:"alarms" of:"Alarms" about:"those that the policy does and that were not recorded"`
}
type causeCells struct {
	Cause           any `col:"cause" of:"Cause" about:"why less was read than before; named: the causes that the simulation knows"`
	Breaks          any `col:"cache misses" of:"Breaks" about:"recorded cache misses"`
	RightKind       any `col:"right kind" of:"Kind" about:"cache misses whose cause the simulation predicts"`
	Within10Percent any `col:"within 10 %" of:"Amount" about:"cache misses whose size it predicts within 10 %"`
	Left            any `col:"cached before" of:"Left" about:"tokens that the request before had read and written" drop:"2"`
	Read            any `col:"read" of:"Read" about:"tokens read from the cache, as recorded"`
	Simulated       any `col:"simulated" of:"Simulated" about:"the same, by the simulation"`
	OnlySimulated   any `col:"only simulated" of:"Only" about:"cache misses that were not recorded" drop:"1"`
}
type authorCells struct {
	Author          any `col:"author" of:"Author" about:"the home folder in which the sessions were recorded; without one, their repository or folder" fit:"wrap"`
	Sessions        any `col:"sessions" of:"Sessions" about:"sessions with a recorded usage"`
	Requests        any `col:"requests" of:"Requests" about:"requests with a recorded usage" drop:"1"`
	Within5Percent  any `col:"read ±5 %" about:"requests whose simulated cache read is within 5 % of the recorded one"`
	NeverMisses     any `col:"all read" about:"the same, if each request read all that the one before had left"`
	Breaks          any `col:"cache misses" of:"Broken" about:"recorded cache misses" drop:"2"`
	RightKind       any `col:"right kind" about:"cache misses whose cause the simulation predicts"`
	Within10Percent any `col:"within 10 %" about:"cache misses whose size it predicts within 10 %"`
	CostOff         any `col:"cost off" about:"error of the input cost of all sessions together, by the simulated cache with the expected cache misses"`
}
type fidelityCells struct {
	Measure any `col:"measure" of:"Name" about:"name of the measure"`
	Percent any `col:"%" about:"its value"`
	Of      any `col:"of" of:"Of" about:"samples" drop:"1"`
	Bar     any `col:"bar" about:"what it has to be, at least or at most"`
	Holds   any `col:"holds" about:"whether it is; few: too few samples to judge"`
	What    any `col:"what" of:"About" about:"what is measured" fit:"wrap" min:"20"`
}
type classCells struct {
	Clients          any `col:"clients" of:"Clients" about:"versions of the client"`
	Requests         any `col:"requests" of:"Requests" about:"requests with a recorded usage" drop:"2"`
	InputTokens      any `col:"input tokens" about:"their input tokens" drop:"1"`
	Read             any `col:"read" about:"share of the input read from the cache, as recorded"`
	ReadSimulated    any `col:"simulated" about:"the same, by the simulation"`
	Written          any `col:"written" about:"share written to the cache, as recorded"`
	WrittenSimulated any `col:"simulated" about:"the same, by the simulation"`
	Plain            any `col:"plain" about:"share neither read nor written, as recorded"`
	PlainSimulated   any `col:"simulated" about:"the same, by the simulation"`
}
type usageCells struct {
	Clients            any `col:"clients" of:"Clients" about:"versions of the client"`
	Requests           any `col:"requests" of:"Requests" about:"requests with a recorded usage" drop:"1"`
	ReadWithin5Percent any `col:"read ±5 %" about:"requests whose simulated cache read is within 5 % of the recorded one"`
	ReadWithin1Percent any `col:"read ±1 %" about:"the same, within 1 %"`
	ReadOff            any `col:"read off" about:"mean absolute error of what is read, in tokens of a request"`
	ReadMAPE           any `col:"MAPE" about:"mean absolute error in percent of the recorded figure of each request" drop:"2"`
	WrittenOff         any `col:"written off" about:"mean absolute error of what is written, in tokens"`
	WrittenMAPE        any `col:"MAPE" about:"the same, in percent" drop:"4"`
	PlainOff           any `col:"plain off" about:"mean absolute error of the rest, in tokens" drop:"3"`
	PlainMAPE          any `col:"MAPE" about:"the same, in percent" drop:"5"`
}
type breakCells struct {
	Session     any `csv:"session" of:"Session"`
	Agent       any `csv:"agent" of:"Agent"`
	File        any `csv:"file" of:"File"`
	Line        any `csv:"line" of:"Line"`
	Request     any `col:"request" csv:"request" of:"Request" about:"number of the request"`
	BrokeIn     any `col:"broke in" about:"recorded, simulated or both"`
	InRecord    any `csv:"in_record" of:"Recorded"`
	Cause       any `col:"cause" csv:"cause" of:"Cause" about:"why less was read than before"`
	Left        any `col:"left" csv:"left" of:"Left" about:"tokens that the request before had read and written" drop:"1"`
	Read        any `col:"read" csv:"read" of:"Read" about:"tokens read from the cache, as recorded"`
	Simulated   any `col:"simulated" csv:"simulated" of:"Simulated" about:"the same, by the simulation"`
	RightKind   any `csv:"right_kind" of:"Kind"`
	RightAmount any `csv:"right_amount" of:"Amount"`
	Off         any `col:"off" about:"difference of the two"`
	Where       any `col:"where" about:"file and line" fit:"wrap"`
}

// diff

type changedCells struct {
	Change any `col:"change" about:"what a stage did, and at which request" fit:"wrap"`
}

// sideColumns are the columns of a diff of two policies, instead of one of changes.
func sideColumns(left, right string) []column {
	return []column{{Title: left, About: "what the left policy did", Flex: true}, {Title: right, About: "what the right one did", Flex: true}}
}

// statColumns are the columns of the sums of a diff.
func statColumns(before, after string) []column {
	return []column{{Title: "messages", About: "messages changed"}, {Title: before, About: "their tokens before, or on the left"},
		{Title: after, About: "their tokens after, or on the right"}, {Title: "tokens", About: "a bar of the tokens saved (-) or added (+)", Drop: 1}}
}

// stats

type contentCells struct {
	What     any `col:"what" about:"category of content"`
	Tokens   any `col:"tokens" of:"Tokens" about:"its tokens in the request"`
	Share    any `col:"share" about:"of the request"`
	Sent     any `col:"input tokens" of:"Sent" about:"its tokens in all requests, each counted once for every request that held it" drop:"2"`
	OfSent   any `col:"of input" about:"share of all input tokens" drop:"3"`
	USD      any `col:"USD" of:"USD" about:"what it cost in all requests"`
	MostOfIt any `col:"most of it" about:"the largest parts, with their tokens in the request, or their USD in all" fit:"wrap" drop:"1"`
}
type toolCells struct {
	Tool       any `col:"tool" about:"name of the tool" fit:"wrap"`
	Calls      any `col:"calls" of:"Calls" about:"its calls"`
	Errors     any `col:"errors" of:"Errors" about:"results that are errors" drop:"3"`
	CallTokens any `col:"call tokens" of:"Called" about:"tokens of the calls when they were first sent" drop:"5"`
	Results    any `col:"returned" csv:"results" of:"Returned" about:"tokens of the results when they were first sent" drop:"2"`
	Largest    any `col:"largest" of:"Largest" about:"tokens of the largest result" drop:"4"`
	InContext  any `col:"in context" of:"InContext" about:"tokens of its calls and results in the request"`
	Share      any `col:"share" about:"of the request"`
	Sent       any `col:"input tokens" of:"Sent" about:"tokens of its calls and results in all requests" drop:"1"`
	USD        any `col:"USD" of:"USD" about:"what they cost in all requests"`
}
type fileCells struct {
	File       any `col:"file" of:"Path" about:"path, from the session's folder" fit:"wrap"`
	Reads      any `col:"reads" of:"Results" about:"results of Read with its content" drop:"2"`
	Tokens     any `col:"tokens" of:"Tokens" about:"tokens of these results when they were first sent"`
	Again      any `col:"again" of:"Again" about:"tokens of lines that an earlier result had returned" drop:"1"`
	Superseded any `col:"superseded" about:"tokens of lines that were read, edited or written again later"`
	Changes    any `col:"changes" of:"Changes" about:"edits and writes by the agent" drop:"4"`
	InContext  any `col:"in context" of:"InContext" about:"tokens of the results in the request" drop:"3"`
	Stale      any `col:"stale" of:"Stale" about:"tokens in the request that are superseded" drop:"2"`
}
type resultCells struct {
	Line      any `col:"line" about:"line of the session's file" drop:"2"`
	Tool      any `col:"tool" about:"tool that was called"`
	About     any `col:"about" of:"Target" about:"file, command or pattern of the call" fit:"wrap"`
	Tokens    any `col:"tokens" of:"Tokens" about:"tokens when it was first sent"`
	Requests  any `col:"requests" of:"Requests" about:"requests that held it" drop:"3"`
	Sent      any `col:"input tokens" of:"Sent" about:"its tokens in all requests" drop:"1"`
	InContext any `col:"in context" of:"InContext" about:"its tokens in the request" drop:"4"`
	USD       any `col:"USD" of:"USD" about:"what it cost in all requests"`
}
type repeatedCells struct {
	Line   any `col:"line" about:"line of the first of them in the session's file" drop:"1"`
	Tool   any `col:"tool" of:"Tool" about:"tool that was called"`
	About  any `col:"about" of:"Target" about:"file, command or pattern of the first call" fit:"wrap"`
	Copies any `col:"copies" about:"later results with the same text"`
	Tokens any `col:"tokens" of:"Tokens" about:"tokens of the copies when they were first sent"`
}
type turnCells struct {
	Turn     any `col:"turn" of:"N" about:"number of the turn"`
	Requests any `col:"requests" about:"numbers of its requests" drop:"2"`
	Context  any `col:"context" of:"Tokens" about:"tokens of its last request"`
	Growth   any `col:"growth" of:"Growth" about:"tokens more than at the end of the turn before"`
	Calls    any `col:"calls" of:"Called" about:"tokens of the calls that joined in it" drop:"4"`
	Results  any `col:"results" of:"Returned" about:"tokens of the results that joined in it" drop:"3"`
	Prompt   any `col:"prompt" of:"Prompt" about:"start of what was typed" fit:"wrap"`
}
type listingCells struct {
	Listing   any `col:"listing" of:"Type" about:"type of the attachment" fit:"wrap"`
	Times     any `col:"times" of:"Times" about:"how often it was attached" drop:"1"`
	Names     any `col:"names" about:"names in it; -: it is a text" drop:"2"`
	OfMCP     any `col:"of MCP" about:"names of tools of MCP servers" drop:"3"`
	Tokens    any `col:"tokens" of:"Tokens" about:"tokens when they were first sent"`
	InContext any `col:"in context" of:"InContext" about:"tokens in the request"`
}
type subagentCells struct {
	Type        any `col:"type" about:"type of the subagents, or what the client forked the context for" fit:"wrap"`
	Calls       any `col:"calls" of:"Calls" about:"calls that started one"`
	CameBack    any `col:"came back" of:"Returned" about:"tokens of their results in this conversation"`
	Transcripts any `col:"transcripts" of:"Agents" about:"transcripts that were found" drop:"3"`
	Requests    any `col:"requests" of:"Requests" about:"requests in them with usage" drop:"2"`
	TokensIn    any `col:"tokens in" of:"Input" about:"input tokens that these requests report"`
	Out         any `col:"out" of:"Output" about:"output tokens" drop:"1"`
	USD         any `col:"USD" of:"CostUSD" about:"cost by the reported usage"`
}
type heaviestCells struct {
	Session  any `col:"session" about:"id of the session, and of the subagent" fit:"wrap"`
	Requests any `col:"requests" of:"Until" about:"its requests" drop:"2"`
	Context  any `col:"context" of:"Tokens" about:"tokens of the request" drop:"5"`
	Peak     any `col:"peak" of:"Peak.Tokens" about:"tokens of its largest request" drop:"4"`
	Sent     any `col:"input tokens" of:"Sent" about:"tokens of all requests"`
	USD      any `col:"USD" of:"InputUSD" about:"what these cost"`
	Results  any `col:"results" about:"share of tool results in that" drop:"3"`
	MostIsOf any `col:"mostly" about:"tool whose calls and results were sent most, with their share" fit:"wrap"`
}

// why

type cacheBreakCells struct {
	named
	Request             any `col:"request" csv:"request" of:"Request" about:"number of the request that read less than the one before had left"`
	Line                any `csv:"line" of:"Line"`
	TimeUTC             any `col:"time (UTC)" csv:"time" about:"time at which it was recorded" drop:"4"`
	Cause               any `csv:"cause" of:"Cause"`
	Stage               any `csv:"stage" of:"Stage"`
	Event               any `csv:"event"`
	Kind                any `csv:"kind" of:"Edit"`
	Trigger             any `csv:"trigger" of:"Trigger"`
	ModelBefore         any `csv:"model_before" of:"Before"`
	Model               any `csv:"model" of:"Model"`
	IdleSeconds         any `csv:"idle_seconds"`
	IdleInTool          any `csv:"idle_in_tool" of:"Tool"`
	What                any `col:"cause" about:"why less was read; how long the session had been idle" fit:"wrap" min:"20"`
	Lost                any `col:"lost" about:"tokens that were sent again and not read, by the usage; of a policy, simulated" drop:"2"`
	LeftTokens          any `csv:"left_tokens" of:"InFile.Left"`
	ReadTokens          any `csv:"read_tokens" of:"InFile.Read"`
	LostTokens          any `csv:"lost_tokens" of:"InFile.Lost"`
	RecordedUSD         any `csv:"recorded_usd" of:"InFile.USD"`
	SimulatedLostTokens any `csv:"simulated_lost_tokens" of:"Sim.Lost"`
	SimulatedUSD        any `csv:"simulated_usd" of:"Sim.USD"`
	USD                 any `col:"USD" about:"what they cost more than if they had been read"`
	Simulated           any `col:"simulated USD" csv:"simulated" about:"the same by the simulated cache; -: it had none" drop:"3"`
	RestartsUSD         any `csv:"restarts_usd" of:"Sim.Restarts"`
	ChangesUSD          any `csv:"changes_usd" of:"Sim.Changes"`
	BreaksUSD           any `csv:"breaks_usd" of:"Sim.Edits"`
	LifetimeUSD         any `csv:"lifetime_usd" of:"Sim.Lifetime"`
	PlacementUSD        any `csv:"placement_usd" of:"Sim.Placement"`
	Reason              any `csv:"recorded_reason" of:"InFile.Reason"`
}

type sentCells struct {
	Request         any `col:"request" of:"Request" about:"number of the request"`
	Line            any `col:"line" of:"Line" about:"line of the file that holds it" drop:"1"`
	FirstDifference any `col:"first difference" about:"the first tool, setting or block of the request before that was not sent again as it was" fit:"wrap" min:"20"`
	Tokens          any `col:"tokens" of:"Tokens" about:"of what differs, by the counter; a model or a setting has none"`
	Lost            any `col:"lost" of:"Lost" about:"tokens that were sent again and not read, by the usage" drop:"2"`
	USD             any `col:"USD" of:"USD" about:"what they cost more than if they had been read"`
}
type expenseCells struct {
	For    any `col:"for" about:"what was paid for" fit:"wrap"`
	Times  any `col:"times" of:"Times" about:"requests, calls or subagents" drop:"2"`
	Tokens any `col:"tokens" of:"Tokens" about:"their tokens" drop:"1"`
	USD    any `col:"USD" of:"USD" about:"what they cost; of cache misses, what the tokens that were sent again cost more than if they had been read"`
	Share  any `col:"share" about:"of the sum"`
}
type refillCells struct {
	Before   any `col:"before" about:"request before which the compaction was made"`
	From     any `col:"from" of:"From" about:"first request, or the first after the compaction before it" drop:"5"`
	Requests any `col:"requests" of:"Requests" about:"requests in between"`
	Prompts  any `col:"prompts" of:"Prompts" about:"prompts typed in between" drop:"4"`
	Time     any `col:"time" about:"from one to the other" drop:"2"`
	System   any `col:"system" of:"System" about:"tokens of system prompt and tools" drop:"6"`
	Joined   any `col:"added" of:"Joined" about:"tokens added in between"`
	Freed    any `col:"freed" about:"share of the messages that the compaction freed" drop:"3"`
	MostOfIt any `col:"most of it" about:"categories and tools that added most, with their tokens" fit:"wrap" drop:"1"`
}
type refillSourceCells struct {
	Tokens any `col:"tokens" of:"Tokens" about:"tokens as they came"`
	Times  any `col:"times" of:"Times" about:"blocks of this kind and target" drop:"2"`
	What   any `col:"what" about:"category, and the tool" fit:"wrap"`
	About  any `col:"about" of:"Target" about:"file, command or pattern of the call, or start of the prompt" fit:"wrap"`
	Line   any `col:"first line" csv:"line" about:"line of the first in the session's file" drop:"1"`
}
type brokenCells struct {
	Session    any `col:"session" about:"beginning of the id, as long as no other in the list has it; and the subagent"`
	Requests   any `col:"requests" about:"requests of the conversation" drop:"3"`
	Breaks     any `col:"cache misses" about:"requests with a cache miss"`
	USD        any `col:"USD" about:"what the cache misses cost"`
	OfAll      any `col:"of all" about:"share of the cost of the session" drop:"2"`
	TheLargest any `col:"the largest" about:"the most expensive cache miss: its request, cost and cause" fit:"wrap" min:"30" drop:"1"`
}

// resume

type resumeCells struct {
	Session any `col:"session" csv:"session" about:"beginning of the id, as long as no other in the list has it"`
	Age     any `col:"age" about:"time since its last line" drop:"1"`
	File    any `csv:"file" of:"Path"`
	Project any `col:"project" csv:"project" about:"last part of the folder that it was recorded in" drop:"4"`
	Title   any `col:"title" about:"title, or the first prompt, cut where the line ends" fit:"cut" min:"20" drop:"3"`
	nextCells
	compactedCells
	Billed any `col:"billed" csv:"billed_usd" about:"what the session was billed so far, USD, subagents included; >= at least" drop:"1"`
}

type nextCells struct {
	Model        any `csv:"model" of:"Next.Model"`
	Context      any `col:"context" csv:"context_tokens" of:"Next.Context" about:"tokens that the next request would send"`
	Cache        any `col:"cache" about:"warm: it still holds the context, for how long; cold: it does not; not known: how long its provider keeps it"`
	CacheWarm    any `csv:"cache_warm" of:"Next.Warm"`
	LastResponse any `csv:"last_response" of:"Next.Last"`
	CacheExpires any `csv:"cache_expires" of:"Next.Expires"`
	NextUSD      any `col:"next USD" csv:"cost_usd" about:"input of the next request, now"`
	IfWarm       any `col:"if warm" csv:"if_warm_usd" about:"the same if the cache is warm" drop:"6"`
	IfCold       any `col:"if cold" csv:"if_cold_usd" about:"the same if it is cold" drop:"5"`
}

type compactedCells struct {
	Compacts           any `csv:"compacts"`
	SummaryTokens      any `csv:"summary_tokens"`
	AfterCompaction    any `col:"after compaction" csv:"compacted_context_tokens" about:"tokens of the first request after a compaction by the client" drop:"2"`
	CompactedUSD       any `col:"compacted USD" csv:"compacted_usd" about:"the request for the summary and the first request after it, now"`
	CompactedIfWarmUSD any `csv:"compacted_if_warm_usd"`
	CompactedIfColdUSD any `csv:"compacted_if_cold_usd"`
	PaysBack           any `col:"pays back" csv:"pays_back_after" about:"requests until compacting is cheaper than going on; -: never"`
}
