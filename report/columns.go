package report

import (
	"slices"
	"strings"
)

// The columns of all tables that people read, each with what it says. Help prints these texts (see TableHead), so that no
// title stands unexplained. Where a table is too wide, the columns of the highest Drop are left out first.

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
			list = append(list, [2]string{c.Title, c.About})
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
			list = append(list, [2]string{"  " + c[0], c[1]})
		}
		p.fields(list...)
	}
	return strings.TrimRight(p.buf.String(), "\n")
}

// The tables of each report.
var (
	ReplayTables  = []TableHead{{"all sessions", overviewColumns}, {"requests", slices.Concat(requestColumns...)}, {"events", eventColumns}}
	CompareTables = []TableHead{{"policies", slices.Concat(policyColumns, figureColumns(figureTitles), allColumns)},
		{"against the first policy", slices.Concat(policyColumns, pairColumns, figureColumns(figureTitles), verdictColumns)},
		{"what makes figures doubtful", slices.Concat(policyColumns, figureColumns(troubleTitles))},
		{"by session", spreadColumns}, {"what stands behind the policies", evidenceColumns}}
	CostTables = []TableHead{{"cost by session", slices.Concat(costColumns...)}, {"from the bill to this cost", bridgeColumns},
		{"what the cost is made of", partsColumns}, {"what was billed", billedColumns}, {"what for", billKindColumns}, {"what the bill may be short of", billShortColumns}}
	RegretTables = []TableHead{{"misses", slices.Concat(missColumns...)}, {"sessions", missSumColumns}}
	StatsTables  = []TableHead{{"what the context holds", slices.Concat(contentColumns, contentShares, contentSent)}, {"tools", toolColumns}, {"files that Read returned", fileColumns},
		{"system prompt and tools", overheadColumns}, {"what the client adds to messages", addedColumns},
		{"results", resultColumns}, {"results with the same text", repeatedColumns}, {"turns", turnColumns},
		{"listings of tools, skills and agents", listingColumns}, {"subagents", subagentColumns}, {"sessions", heaviestColumns}}
	WhyTables = []TableHead{{"breaks of the prompt cache", slices.Concat(cacheBreakColumns...)}, {"what differs from the request before, as sent", sentColumns}, {"by cause", breakSumColumns}, {"the cost by its parts", costShareColumns},
		{"compactions that follow one another", refillColumns}, {"what refilled the context", sourceColumnsOfRefill}, {"sessions", brokenColumns}}
	ResumeTables    = []TableHead{{"sessions", slices.Concat(resumeColumns...)}}
	SweepTables     = []TableHead{{"points", slices.Concat([]column{axisColumn("PARAMETER", "")}, figureColumns(figureTitles), figureColumns(troubleTitles), frontColumns)}}
	ThresholdTables = []TableHead{{"limits", limitColumns}}
	PriceTables     = []TableHead{{"models", slices.Concat(priceColumns...)}}
	SessionTables   = []TableHead{{"sessions", slices.Concat(sessionColumns...)}}
	PolicyTables    = []TableHead{{"policies", slices.Concat(catalogueColumns...)}}
	FindingTables   = []TableHead{{"findings", slices.Concat(findingColumns...)}}
	ChangeTables    = []TableHead{{"settings", changeColumns("POLICY", "OTHER")}}
	LintTables      = []TableHead{{"problems of a file", problemColumns}, {"problems of several files", codeColumns}}
	CheckTables     = []TableHead{{"cases", caseColumns}, {"figures of a session", checkedColumns}}
	BacktestTables  = []TableHead{{"compactions", compactionColumns}, {"microcompactions", microColumns}, {"input by cache class", classColumns},
		{"the same, request by request", usageColumns}, {"breaks of the cache", causeColumns}, {"the cache by author", authorColumns}, {"fidelity", fidelityColumns},
		{"breaks, one by one", slices.Concat(breakColumns...)}, {"counters", slices.Concat(counterColumns...)},
		{"requests against those that were sent", payloadColumns}, {"what differs, by kind of block", payloadKindColumns}}
	DiffTables      = []TableHead{{"sums of changes", slices.Concat(changedColumns, sideColumns("LEFT", "RIGHT"), statColumns("before", "after"))}}
	AnonymizeTables = []TableHead{{"what an anonymised session reveals", keptColumns}}
)

// replay

var overviewColumns = []column{
	{Title: "session", About: "id of the session, and of the subagent", Flex: true},
	{Title: "requests", About: "requests of the conversation", Drop: 2},
	{Title: "raw peak", About: "tokens of the largest request if nothing was compacted", Drop: 4},
	{Title: "model peak", About: "tokens of the largest request in the model view"},
	{Title: "saved", About: "tokens that the policy saved, over all requests", Drop: 3},
	{Title: "compacted", About: "compactions of the whole conversation"},
	{Title: "cleared", About: "tool results cleared", Drop: 1},
	{Title: "USD", About: "cost, simulated, with the policy's own calls"},
	{Title: "billed", About: "what the recorded session was billed, USD, subagents included; >= at least"},
}

// requestColumns are the columns of requests: eight for people, all for CSV. The third of people's is named by what is
// sent: see sentName.
var requestColumns = [][]column{
	keys(namedKeys), {{Title: "request", Key: "n", About: "number of the request; a call of the policy's own has that of the request after it"}}, keys("kind uuid"),
	{{Title: "time (UTC)", Key: "time", About: "month, day and time at which the request was recorded", Drop: 3}},
	keys("model"), {{Title: "raw", Key: "raw_tokens", About: "tokens of the request if nothing was compacted"}}, keys("model_tokens"),
	{{Title: sentColumn, Key: "payload_tokens", About: "tokens of the model view; as payload those that the server reads, after API-level edits"},
		{Title: "saved", About: "raw less what is sent", Drop: 1}},
	keys("overhead_tokens"), {{Title: "used", Key: "used_tokens", About: "context by the client's own count, which it compares with its limits", Drop: 2}},
	keys("messages output_tokens recorded_input recorded_cache_write recorded_cache_read recorded_output events event_kinds event_tokens_saved"),
	keys("cache_read cache_write_5m cache_write_1h cache_uncached cache_miss"),
	{{Title: "USD", Key: "cost_usd", About: "cost of the request"}, {Title: "what happened", About: "events, breaks of the cache, peaks", Flex: true, Min: 20}},
}

// sentColumn is the title of the column of what is sent, where no payload differs from the model view.
const sentColumn = "model"

var eventColumns = []column{
	{Title: "event", About: "number of the event"},
	{Title: "request", About: "request before which it took place; end: after the last one"},
	{Title: "stage", About: "stage of the policy"},
	{Title: "kind", About: "what it does: clear, summarize, truncate, persist and others", Drop: 3},
	{Title: "what", About: "its reason, and what became of messages and results", Flex: true, Min: 20},
	{Title: "before", About: "tokens of what it changed", Drop: 1},
	{Title: "after", About: "tokens of what is there instead", Drop: 2},
	{Title: "saved", About: "before less after"},
}

// compare, sweep

var (
	policyColumns  = []column{{Title: "policy", About: "name of the policy; * an infeasible one: its figures are bounds", Flex: true}}
	allColumns     = []column{{Title: "USD of all", About: "cost over all sessions, where sums leave some out", Drop: 5}}
	pairColumns    = []column{{Title: "sessions", About: "sessions that the difference is over", Drop: 3}}
	verdictColumns = []column{
		{Title: "90 %", About: "interval of the difference, by resampling of projects or sessions"},
		{Title: "lower", About: "sessions in which the policy is lower than the first", Drop: 2},
		{Title: "even", About: "sessions in which both are the same within 0.5 %", Drop: 3},
		{Title: "higher", About: "sessions in which it is higher", Drop: 2},
	}
	spreadColumns = []column{
		{Title: "figure", About: "name of the figure, as in json and csv"},
		{Title: "policy", About: "name of the policy", Flex: true},
		{Title: "total", About: "sum over sessions"},
		{Title: "median", About: "of sessions"},
		{Title: "p90", About: "90th percentile of sessions"},
	}
	evidenceColumns = []column{
		{Title: "policy", About: "name of the policy", Flex: true},
		{Title: "truth", About: "what stands behind it: oracle, observed, described and others"},
		{Title: "decided", About: "of the recorded compactions of its product, those that it decides at the exact request"},
		{Title: "free replay", About: "the same in a replay that does not follow the record's own compactions", Drop: 1},
		{Title: "false alarms", About: "compactions that it decides and the record does not have", Drop: 2},
		{Title: "fitted: decided", About: "decided, in windows fitted to the record", Drop: 3},
		{Title: "fitted: free", About: "free replay, in windows fitted to the record", Drop: 4},
	}
	frontColumns = []column{{Title: "front", About: "* no other point is as good in every figure and better in one; ! infeasible, a bound; ~ infeasible in some sessions"}}
)

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

var (
	costColumns = [][]column{
		{{Title: "session", About: "id of the session, and of the subagent", Flex: true}}, keys(namedKeys), keys("model kind"),
		{{Title: "calls", Key: "calls", About: "requests sent", Drop: 1}, {Title: "read", Key: "cache_read", About: "input tokens read from the prompt cache"},
			{Title: "written", About: "input tokens written to it"}}, keys("cache_write_5m cache_write_1h"),
		{{Title: "uncached", Key: "cache_uncached", About: "input tokens neither read nor written", Drop: 2},
			{Title: "output", Key: "output_tokens", About: "output tokens", Drop: 3}},
		keys("estimated_outputs"), {{Title: "USD", Key: "cost_usd", About: "cost by the model's prices"}},
	}
	bridgeColumns = []column{
		{Title: "step", About: "from the recorded bill to the simulated cost; rows that begin with = are sums up to there", Flex: true},
		{Title: "calls", About: "requests that the step is about"},
		{Title: "USD", About: "what the step adds"},
	}
	partsColumns = []column{
		{Title: "part", About: "reason of a part of the cost", Flex: true},
		{Title: "USD", About: "its cost"},
		{Title: "share", About: "of the whole cost"},
	}
	billedColumns = []column{
		{Title: "model", About: "model by its id", Flex: true},
		{Title: "calls", About: "requests with a recorded usage", Drop: 1},
		{Title: "read", About: "recorded input tokens read from the cache"},
		{Title: "written 5m", About: "recorded input tokens written to it for 5 minutes"},
		{Title: "written 1h", About: "the same, for an hour"},
		{Title: "uncached", About: "recorded input tokens neither read nor written", Drop: 3},
		{Title: "output", About: "recorded output tokens", Drop: 2},
		{Title: "USD", About: "bill by the model's prices"},
	}
)

var (
	billKindColumns = []column{
		{Title: "calls for", About: "what the calls were made for", Flex: true},
		{Title: "calls", About: "how many; of searches the searches"},
		{Title: "input", About: "recorded input tokens, cached or not"},
		{Title: "output", About: "recorded output tokens", Drop: 1},
		{Title: "USD", About: "bill by the models' prices"},
	}
	billShortColumns = []column{
		{Title: "why", About: "why more may have been billed", Flex: true},
		{Title: "calls", About: "how many"},
		{Title: "tokens", About: "that the bill lacks; estimated where no count is recorded"},
		{Title: "USD", About: "what they cost, where that is known"},
	}
)

// regret

var (
	missColumns = [][]column{
		keys("session agent file policy"),
		{{Title: "needed", Key: "needed_request", About: "request at which the block was needed again"},
			{Title: "removed", Key: "removed_request", About: "request before which it was removed", Drop: 1}}, keys("distance"),
		{{Title: "by", About: "stage that removed it, and how", Drop: 3}}, keys("stage kind"),
		{{Title: "tokens", Key: "tokens", About: "tokens of the block"}, {Title: "what", About: "tool of the block, or text, and its line in the file", Drop: 2}},
		keys("tool tool_use_id message line evidence quote used_by used_line"),
		{{Title: "evidence", About: "what shows the need: a file read again, an edit, a quote; its line and words", Flex: true, Min: 20}},
	}
	missSumColumns = []column{
		{Title: "session", About: "id of the session, and of the subagent", Flex: true},
		{Title: "misses", About: "blocks removed and needed again"},
		{Title: "of removed", About: "blocks removed", Drop: 1},
		{Title: "re-read", About: "misses shown by a file read again", Drop: 2},
		{Title: "edited", About: "misses shown by an edit", Drop: 3},
		{Title: "quoted", About: "misses shown by a quote", Drop: 3},
		{Title: "tokens", About: "tokens to fetch again"},
		{Title: "USD", About: "what fetching them costs"},
	}
)

// listings

var (
	limitColumns = []column{
		{Title: "limit", Key: "limit", About: "name of the limit"},
		{Title: "stage", Key: "stage", About: "stage that acts at it", Drop: 2},
		{Title: "compared", Key: "compared", About: "what is compared with it, and how", Drop: 3},
		{Title: "tokens", Key: "tokens", About: "the limit"},
		{Key: "share_of_window"},
		{Title: "left", Key: "percent_left", About: "what is left of the context up to the limit, where what is used is given"},
		{Title: "acts", Key: "acts", About: "yes: the policy does something there; else it only informs", Drop: 1},
		{Title: "where it comes from", Key: "from", About: "how it is worked out", Flex: true, Min: 20},
	}
	priceColumns = [][]column{
		{{Title: "model", Key: "model", About: "id that a model's name starts with"}, {Title: "input", Key: "input", About: "USD per million input tokens"},
			{Title: "write 5m", Key: "cache_write_5m", About: "the same, written to the cache for 5 minutes"},
			{Title: "write 1h", Key: "cache_write_1h", About: "the same, for an hour", Drop: 1},
			{Title: "read", Key: "cache_read", About: "the same, read from the cache"}, {Title: "output", Key: "output", About: "USD per million output tokens"},
			{Key: "above_prompt_tokens"}, {Title: "window", Key: "context", About: "context window in tokens", Drop: 2}, {Key: "max_output"},
			{Title: "caches", Key: "min_cacheable", About: "shortest prefix that the prompt cache stores, in tokens", Drop: 3},
			{Title: "how", Key: "cache", About: "how: marked by the client, or automatic, in blocks of tokens where these are known", Drop: 4}},
		keys("tokenizer released retired"),
		{{Title: "source", Key: "source", About: "number of the source below the table", Drop: 5},
			{Title: "remarks", About: "how sure the prices are, and when the model was released", Flex: true, Drop: 6}}, keys("confidence note"),
	}
	sessionColumns = [][]column{
		{{Title: "session", Key: "session", About: "beginning of the id, as long as no other in the list has it"},
			{Title: "age", About: "time since its last line", Drop: 1}}, keys("file folder"),
		{{Title: "project", Key: "project", About: "last part of the folder that it was recorded in", Drop: 4}},
		keys("branch client_version title first_prompt created last bytes index why subagents tool_results"),
		{{Title: "title", About: "title, or the first prompt, cut where the line ends", Cut: true, Min: 20},
			{Title: "requests", Key: "requests", About: "requests of the conversation", Drop: 3},
			{Title: "peak", Key: "peak_context", About: "tokens of its largest request, as the API reported", Drop: 2},
			{Title: "last", Key: "last_context", About: "tokens of its last request", Drop: 5},
			{Title: "compacted", Key: "compactions", About: "compactions of the conversation", Drop: 6},
			{Title: "USD", Key: "cost_usd", About: "bill by the recorded usage, subagents included; >= at least"},
			{Title: "idle", Key: "idle_seconds", About: "time in pauses of more than 5 minutes between responses", Drop: 7}},
		keys("requests_without_usage unpriced_requests partial_outputs cost_at_least models"),
		{{Title: "client", About: "version of the client that recorded it", Drop: 8},
			{Title: "index", About: "whether the folder's index lists the session, and rightly", Drop: 9},
			{Title: "size", About: "of the file", Drop: 10},
			{Title: "agents", About: "subagents beside it", Drop: 11}},
	}
	catalogueColumns = [][]column{
		{{Title: "policy", Key: "policy", About: "name of the policy; a product's releases stand below its name"}},
		keys("product version about source date valid_from valid_until"),
		{{Title: "from", About: "first day as the current release", Drop: 1}, {Title: "truth", About: "what stands behind it; hypothesis: nothing confirms it"}, {Key: "truth"}, {Key: "stages"}},
		keys("recorded decided free alarms fitted_recorded fitted_decided fitted_free"),
		{{Title: "score", About: "recorded compactions that it decides at the request / in a free replay / that there are; * in fitted windows", Drop: 2},
			{Title: "what it does", About: "in a sentence, cut where the line ends", Cut: true}},
	}
	// sourceColumns are for Markdown, whose lines have no end.
	sourceColumns  = []column{{Title: "source", About: "where the policy is from"}}
	findingColumns = [][]column{
		{{Title: "policy", Key: "policy", About: "name of the policy"}, {Title: "where", About: "file, line and column, or the setting", Flex: true}}, keys("file line column key"),
		{{Title: "rule", Key: "rule", About: "name of the rule", Drop: 1}, {Key: "message"}, {Key: "hint"},
			{Title: "what is odd, and what to do", About: "the finding", Flex: true, Min: 24}},
	}
	problemColumns = []column{
		{Title: "severity", About: "error, warning or note"},
		{Title: "code", About: "kind of the problem: docs/lint.md describes each"},
		{Title: "places", About: "how many there are", Drop: 1},
		{Title: "where, and what", About: "the first places, or all", Flex: true, Min: 20},
	}
	codeColumns = []column{
		{Title: "severity", About: "error, warning or note"},
		{Title: "code", About: "kind of the problem: docs/lint.md describes each"},
		{Title: "files", About: "files that have it"},
		{Title: "places", About: "how many there are", Drop: 1},
		{Title: "the first place", About: "file, line and what is there", Flex: true, Min: 20},
	}
	keptColumns = []column{
		{Title: "what stays", About: "kind of what is not replaced"},
		{Title: "as it was", About: "the values themselves", Flex: true},
	}
)

// changeColumns are the columns of the differences of two policies.
func changeColumns(a, b string) []column {
	return []column{{Title: "key", Key: "key", About: "stage and parameter", Flex: true}, {Title: a, Key: a, About: "its value in the first policy", Flex: true},
		{Title: b, Key: b, About: "its value in the second", Flex: true}}
}

// check

var (
	caseColumns = []column{
		{Title: "case", About: "name of the case in the configuration", Flex: true},
		{Title: "policy", About: "name of the policy", Flex: true},
		{Title: "sessions", About: "replays of the case", Drop: 1},
		{Title: "failed", About: "replays that fail the check"},
		{Title: "result", About: "the worst result of them"},
	}
	checkedColumns = []column{
		{Title: "figure", About: "name of the figure, as in json"},
		{Title: "before", About: "its value in the baseline"},
		{Title: "after", About: "its value now"},
		{Title: "difference", About: "after less before, and in percent", Drop: 2},
		{Title: "wanted", About: "limit of the configuration", Flex: true, Drop: 1},
		{Title: "result", About: "broken, worse, changed, better or ok"},
	}
)

// backtest: token counters

var counterColumns = [][]column{
	{{Title: "clients", Key: "clients", About: "versions of the client"}, {Title: "model", Key: "model", About: "without vendor and date"},
		{Title: "counter", Key: "counter", About: "token counter"}, {Key: "sessions"},
		{Title: "requests", Key: "requests", About: "requests scored", Drop: 1}}, keys("increment_mape increment_bias"),
	{{Title: "inc p50", Key: "increment_p50", About: "median error of the tokens added since the request before, in tokens"},
		{Title: "inc p90", Key: "increment_p90", About: "the same, 90th percentile", Drop: 3},
		{Title: "next %", Key: "next_mape", About: "mean error of the total, given the total before"}},
	keys("next_bias next_p50 next_p90 free_mape free_bias free_p50 free_p90 free_sessions"),
	{{Title: "free %", Key: "free_session_mean", About: "mean error of the total, given the first total alone; mean of sessions"},
		{Title: "median", Key: "free_session_median", About: "the same, median of sessions", Drop: 2},
		{Title: "bias", About: "of free, over requests, in percent"}},
}

// backtest

var (
	overheadColumns = []column{
		{Title: "part", About: "system: a section of the system prompt; tool: the definition of one"},
		{Title: "name", About: "of the tool; heading of the section, without one the number of its text", Flex: true},
		{Title: "of", About: "MCP server that the tool is of; what the section is about: memory, environment …", Drop: 3},
		{Title: "tokens", About: "tokens of it in each request"},
		{Title: "%", About: "of the system prompt and the tools", Drop: 4},
		{Title: "calls", About: "calls of the tool up to the request; those never called stand first"},
		{Title: "requests", About: "requests up to it that had the part", Drop: 2},
		{Title: "sent", About: "tokens of it in all of them", Drop: 1},
	}
	addedColumns = []column{
		{Title: "what", About: "instructions, environment, skills, agents, memory, MCP servers, tools"},
		{Title: "attachment", About: "its type", Flex: true},
		{Title: "tokens", About: "tokens of it in the request"},
	}
	payloadColumns = []column{
		{Title: "what", Key: "track", About: "rebuilt from the conversation, or on record in the file itself"},
		{Title: "clients", Key: "clients", About: "version of the client"},
		{Title: "sessions", Key: "sessions", About: "sessions with such a request", Drop: 3},
		{Title: "requests", Key: "requests", About: "requests of which the true one is known"},
		{Title: "conversation", Key: "conversation", About: "those whose prompts, answers, thinking, calls, results and their order are equal"},
		{Title: "whole", Key: "whole", About: "those that are equal block by block, on record also in all else that is known"},
		{Title: "equal", Key: "equal", About: "blocks that are equal, in order", Drop: 4},
		{Title: "missing", Key: "missing", About: "blocks that were sent and are on lines of the file, but not in the request"},
		{Title: "unheld", Key: "unheld", About: "blocks that were sent and are on no line", Drop: 2},
		{Title: "extra", Key: "extra", About: "blocks that were not sent, placeholders left out"},
		{Title: "placeholders", Key: "placeholders", About: "blocks that stand for words that no line has", Drop: 6},
		{Title: "moved", Key: "moved", About: "blocks at another place", Drop: 5},
		{Title: "marks", Key: "marks", About: "requests whose cache breakpoints in messages are at the same places", Drop: 1},
	}
	payloadKindColumns = []column{
		{Title: "what", About: "rebuilt from the conversation, or on record in the file itself"},
		{Title: "difference", About: "how the blocks differ"},
		{Title: "role", About: "of their message"},
		{Title: "kind", About: "as the API names it", Flex: true},
		{Title: "blocks", About: "how many"},
	}
	compactionColumns = []column{
		{Title: "clients", About: "versions of the client; fitted: in windows fitted to the record"},
		{Title: "sessions", About: "sessions with a request", Drop: 3},
		{Title: "recorded", About: "automatic compactions in the record"},
		{Title: "hits", About: "those that the policy decides, on the recorded view before each request"},
		{Title: "misses", About: "those that it does not"},
		{Title: "alarms", About: "compactions that it decides and the record does not have"},
		{Title: "exact", About: "hits whose count of used tokens is the recorded pre_tokens", Drop: 4},
		{Title: "off", About: "mean error of that count, in tokens", Drop: 5},
		{Title: "most", About: "its largest error, in tokens", Drop: 6},
		{Title: "free", About: "compactions that a replay without the record's own predicts at the request"},
		{Title: "±1", About: "the same, 1 request off or less", Drop: 7},
		{Title: "±5", About: "the same, 5 requests off or less", Drop: 7},
		{Title: "lost", About: "hits of the compactions whose last message is not in the file, and how many there are", Drop: 2},
	}
	microColumns = []column{
		{Title: "clients", About: "versions of the client"},
		{Title: "recorded", About: "microcompactions with a line in the record"},
		{Title: "hits", About: "those that the policy does at the request"},
		{Title: "same results", About: "those of which it clears the same results"},
		{Title: "saving ±1 %", About: "those whose tokens saved are within 1 % of the recorded ones; –: the client records no saving", Drop: 1},
		{Title: "unrecorded", About: "those without a line, found by the usage"},
		{Title: "confirmed", About: "unrecorded ones that the policy does", Drop: 2},
		{Title: "alarms", About: "those that the policy does and the record does not have"},
	}
	causeColumns = []column{
		{Title: "cause", About: "why less was read than before; named: the causes that the simulation knows"},
		{Title: "breaks", About: "breaks of the record"},
		{Title: "right kind", About: "breaks whose cause the simulation predicts"},
		{Title: "within 10 %", About: "breaks whose size it predicts within 10 %"},
		{Title: "left", About: "tokens that the request before had read and written", Drop: 2},
		{Title: "read", About: "tokens read from the cache, as recorded"},
		{Title: "simulated", About: "the same, by the simulation"},
		{Title: "only simulated", About: "breaks that the record does not have", Drop: 1},
	}
	authorColumns = []column{
		{Title: "author", About: "the home folder in which the sessions were recorded; without one, their repository or folder", Flex: true},
		{Title: "sessions", About: "sessions with a recorded usage"},
		{Title: "requests", About: "requests with a recorded usage", Drop: 1},
		{Title: "read ±5 %", About: "requests whose simulated cache read is within 5 % of the recorded one"},
		{Title: "never misses", About: "the same, if each request read all that the one before had left"},
		{Title: "breaks", About: "breaks of the record", Drop: 2},
		{Title: "right kind", About: "breaks whose cause the simulation predicts"},
		{Title: "within 10 %", About: "breaks whose size it predicts within 10 %"},
		{Title: "cost off", About: "error of the input cost of all sessions together, by the simulated cache with the misses that are expected"},
	}
	fidelityColumns = []column{
		{Title: "measure", About: "name of the measure"},
		{Title: "%", About: "its value"},
		{Title: "of", About: "samples", Drop: 1},
		{Title: "bar", About: "what it has to be, at least or at most"},
		{Title: "holds", About: "whether it is; few: too few samples to judge"},
		{Title: "what", About: "what is measured", Flex: true, Min: 20},
	}
	classColumns = []column{
		{Title: "clients", About: "versions of the client"},
		{Title: "requests", About: "requests with a recorded usage", Drop: 2},
		{Title: "input tokens", About: "their input tokens", Drop: 1},
		{Title: "read", About: "share of the input read from the cache, as recorded"},
		{Title: "simulated", About: "the same, by the simulation"},
		{Title: "written", About: "share written to the cache, as recorded"},
		{Title: "simulated", About: "the same, by the simulation"},
		{Title: "plain", About: "share neither read nor written, as recorded"},
		{Title: "simulated", About: "the same, by the simulation"},
	}
	usageColumns = []column{
		{Title: "clients", About: "versions of the client"},
		{Title: "requests", About: "requests with a recorded usage", Drop: 1},
		{Title: "read ±5 %", About: "requests whose simulated cache read is within 5 % of the recorded one"},
		{Title: "read ±1 %", About: "the same, within 1 %"},
		{Title: "read off", About: "mean absolute error of what is read, in tokens of a request"},
		{Title: "MAPE", About: "mean absolute error in percent of the recorded figure of each request", Drop: 2},
		{Title: "written off", About: "mean absolute error of what is written, in tokens"},
		{Title: "MAPE", About: "the same, in percent", Drop: 4},
		{Title: "plain off", About: "mean absolute error of the rest, in tokens", Drop: 3},
		{Title: "MAPE", About: "the same, in percent", Drop: 5},
	}
	breakColumns = [][]column{
		keys("session agent file line"),
		{{Title: "request", Key: "request", About: "number of the request"}, {Title: "broke in", About: "the record, the simulation or both"}, {Key: "in_record"},
			{Title: "cause", Key: "cause", About: "why less was read than before"},
			{Title: "left", Key: "left", About: "tokens that the request before had read and written", Drop: 1},
			{Title: "read", Key: "read", About: "tokens read from the cache, as recorded"},
			{Title: "simulated", Key: "simulated", About: "the same, by the simulation"}}, keys("right_kind right_amount"),
		{{Title: "off", About: "difference of the two"}, {Title: "where", About: "file and line", Flex: true}},
	}
)

// diff

var changedColumns = []column{{Title: "change", About: "what a stage did, and at which request", Flex: true}}

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

var (
	contentColumns = []column{{Title: "what", About: "category of content"}}
	contentShares  = []column{{Title: "tokens", About: "its tokens in the request"}, {Title: "share", About: "of the request"}}
	contentSent    = []column{
		{Title: "sent", About: "its tokens in all requests so far, each counted once for every request that held it", Drop: 2},
		{Title: "of sent", About: "share of all that these requests sent", Drop: 3},
		{Title: "most of it", About: "the largest parts, with their tokens in the request", Flex: true, Drop: 1},
	}
	toolColumns = []column{
		{Title: "tool", About: "name of the tool", Flex: true},
		{Title: "calls", About: "its calls"},
		{Title: "errors", About: "results that are errors", Drop: 3},
		{Title: "call tokens", About: "tokens of the calls when they were first sent", Drop: 5},
		{Title: "results", About: "tokens of the results when they were first sent", Drop: 2},
		{Title: "largest", About: "tokens of the largest result", Drop: 4},
		{Title: "in context", About: "tokens of its calls and results in the request"},
		{Title: "share", About: "of the request"},
		{Title: "sent", About: "tokens of its calls and results in all requests so far", Drop: 1},
	}
	fileColumns = []column{
		{Title: "file", About: "path, from the session's folder", Flex: true},
		{Title: "reads", About: "results of Read with its content", Drop: 2},
		{Title: "tokens", About: "tokens of these results when they were first sent"},
		{Title: "again", About: "tokens of lines that an earlier result had returned", Drop: 1},
		{Title: "superseded", About: "tokens of lines that were read, edited or written again later"},
		{Title: "changes", About: "edits and writes by the agent", Drop: 4},
		{Title: "in context", About: "tokens of the results in the request", Drop: 3},
		{Title: "stale", About: "tokens in the request that are superseded", Drop: 2},
	}
	resultColumns = []column{
		{Title: "line", About: "line of the session's file", Drop: 2},
		{Title: "tool", About: "tool that was called"},
		{Title: "about", About: "file, command or pattern of the call", Flex: true},
		{Title: "tokens", About: "tokens when it was first sent"},
		{Title: "requests", About: "requests that held it", Drop: 3},
		{Title: "sent", About: "its tokens in all requests so far", Drop: 1},
		{Title: "in context", About: "its tokens in the request", Drop: 4},
	}
	repeatedColumns = []column{
		{Title: "line", About: "line of the first of them in the session's file", Drop: 1},
		{Title: "tool", About: "tool that was called"},
		{Title: "about", About: "file, command or pattern of the first call", Flex: true},
		{Title: "copies", About: "later results with the same text"},
		{Title: "tokens", About: "tokens of the copies when they were first sent"},
	}
	turnColumns = []column{
		{Title: "turn", About: "number of the turn"},
		{Title: "requests", About: "numbers of its requests", Drop: 2},
		{Title: "context", About: "tokens of its last request"},
		{Title: "growth", About: "tokens more than at the end of the turn before"},
		{Title: "calls", About: "tokens of the calls that joined in it", Drop: 4},
		{Title: "results", About: "tokens of the results that joined in it", Drop: 3},
		{Title: "prompt", About: "start of what was typed", Flex: true},
	}
	listingColumns = []column{
		{Title: "listing", About: "type of the attachment", Flex: true},
		{Title: "times", About: "how often it was attached", Drop: 1},
		{Title: "names", About: "names in it; -: it is a text", Drop: 2},
		{Title: "of MCP", About: "names of tools of MCP servers", Drop: 3},
		{Title: "tokens", About: "tokens when they were first sent"},
		{Title: "in context", About: "tokens in the request"},
	}
	subagentColumns = []column{
		{Title: "type", About: "type of the subagents, or what the client forked the context for", Flex: true},
		{Title: "calls", About: "calls that started one"},
		{Title: "came back", About: "tokens of their results in this conversation"},
		{Title: "transcripts", About: "transcripts that were found", Drop: 3},
		{Title: "requests", About: "requests in them with usage", Drop: 2},
		{Title: "tokens in", About: "input tokens that these requests report"},
		{Title: "out", About: "output tokens", Drop: 1},
		{Title: "USD", About: "cost by the reported usage"},
	}
	heaviestColumns = []column{
		{Title: "session", About: "id of the session, and of the subagent", Flex: true},
		{Title: "requests", About: "requests so far", Drop: 2},
		{Title: "context", About: "tokens of the request", Drop: 1},
		{Title: "peak", About: "tokens of its largest request", Drop: 4},
		{Title: "sent", About: "tokens of all requests so far"},
		{Title: "results", About: "share of tool results in that", Drop: 3},
		{Title: "most is of", About: "tool whose calls and results were sent most, with their share", Flex: true},
	}
)

// why

var (
	cacheBreakColumns = [][]column{
		keys(namedKeys), {{Title: "request", Key: "request", About: "number of the request that read less than the one before had left"}}, keys("line"),
		{{Title: "time (UTC)", Key: "time", About: "time at which it was recorded", Drop: 4}},
		keys("cause stage event kind trigger model_before model idle_seconds idle_in_tool"),
		{{Title: "cause", About: "why less was read; how long the session had been idle", Flex: true, Min: 20}},
		{{Title: "lost", About: "tokens that were sent again and not read, by the usage; of a policy, simulated", Drop: 2}}, keys("left_tokens read_tokens lost_tokens recorded_usd simulated_lost_tokens simulated_usd"),
		{{Title: "USD", About: "what they cost more than if they had been read"}, {Title: "simulated", About: "the same by the simulated cache, in USD; -: it did not break", Drop: 3}},
		keys("restarts_usd changes_usd breaks_usd lifetime_usd placement_usd"),
	}
	sentColumns = []column{
		{Title: "request", About: "number of the request"},
		{Title: "line", About: "line of the file that holds it", Drop: 1},
		{Title: "first difference", About: "the first tool, setting or block of the request before that was not sent again as it was", Flex: true, Min: 20},
		{Title: "tokens", About: "of what differs, by the counter; a model or a setting has none"},
		{Title: "lost", About: "tokens that were sent again and not read, by the usage", Drop: 2},
		{Title: "USD", About: "what they cost more than if they had been read"},
	}
	breakSumColumns = []column{
		{Title: "cause", About: "why the cache was lost", Flex: true},
		{Title: "breaks", About: "requests at which the record broke; of a policy, simulated"},
		{Title: "lost", About: "tokens that were sent again and not read", Drop: 1},
		{Title: "USD", About: "what they cost more than if they had been read"},
		{Title: "simulated", About: "the same by the simulated cache, in USD", Drop: 2},
		{Title: "only simulated", About: "further breaks of the simulated cache, which the record does not have; simulated contains them", Drop: 3},
	}
	costShareColumns = []column{
		{Title: "part", About: "part of the simulated cost", Flex: true},
		{Title: "at breaks", About: "what of it falls on the requests at which the simulated cache broke"},
		{Title: "elsewhere", About: "what falls on the others"},
		{Title: "USD", About: "both together: they add up to the simulated cost"},
	}
	refillColumns = []column{
		{Title: "from", About: "first request after a compaction"},
		{Title: "to", About: "request before which the next one was made"},
		{Title: "requests", About: "requests in between"},
		{Title: "prompts", About: "prompts typed in between", Drop: 4},
		{Title: "time", About: "from one to the other", Drop: 2},
		{Title: "joined", About: "tokens that joined in between"},
		{Title: "freed", About: "share of the messages that the next compaction freed", Drop: 3},
		{Title: "most of it", About: "categories and tools that joined most, with their tokens", Flex: true, Drop: 1},
	}
	sourceColumnsOfRefill = []column{
		{Title: "tokens", About: "tokens as they came"},
		{Title: "times", About: "blocks of this kind and target", Drop: 2},
		{Title: "what", About: "category, and the tool", Flex: true},
		{Title: "about", About: "file, command or pattern of the call, or start of the prompt", Flex: true},
		{Title: "line", About: "line of the first in the session's file", Drop: 1},
	}
	brokenColumns = []column{
		{Title: "session", About: "beginning of the id, as long as no other in the list has it; and the subagent"},
		{Title: "requests", About: "requests of the conversation", Drop: 3},
		{Title: "breaks", About: "requests at which the cache broke"},
		{Title: "USD", About: "what the breaks cost"},
		{Title: "of all", About: "share of the cost of the session", Drop: 2},
		{Title: "the largest", About: "the most expensive break: its request, cost and cause", Flex: true, Drop: 1, Min: 30},
	}
)

// resume

var resumeColumns = [][]column{
	{{Title: "session", Key: "session", About: "beginning of the id, as long as no other in the list has it"},
		{Title: "age", About: "time since its last line", Drop: 1}}, keys("file"),
	{{Title: "project", Key: "project", About: "last part of the folder that it was recorded in", Drop: 4},
		{Title: "title", About: "title, or the first prompt, cut where the line ends", Cut: true, Min: 20, Drop: 3}}, keys("model"),
	{{Title: "context", Key: "context_tokens", About: "tokens that the next request would send"},
		{Title: "cache", About: "warm: it still holds the context, for how long; cold: it does not; not known: how long its provider keeps it"}}, keys("cache_warm last_response cache_expires"),
	{{Title: "next USD", Key: "cost_usd", About: "input of the next request, now"},
		{Title: "if warm", Key: "if_warm_usd", About: "the same if the cache is warm", Drop: 6},
		{Title: "if cold", Key: "if_cold_usd", About: "the same if it is cold", Drop: 5}}, keys("compacts summary_tokens"),
	{{Title: "after compaction", Key: "compacted_context_tokens", About: "tokens of the first request after a compaction by the client", Drop: 2},
		{Title: "compacted USD", Key: "compacted_usd", About: "the compaction's own call and the first request after it, now"}}, keys("compacted_if_warm_usd compacted_if_cold_usd"),
	{{Title: "pays back", Key: "pays_back_after", About: "requests after which that has cost less than to go on; -: never"},
		{Title: "billed", Key: "billed_usd", About: "what the session was billed so far, USD, subagents included; >= at least", Drop: 1}},
}
