package report

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/compare"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/report/parquet"
)

// The functions below declare a column. A name that ends in ? is that of a column that may be null.

func exportColumn(name string, kind parquet.ColumnType, about string, value func(r *exportRow) parquet.Cell) ExportColumn {
	c := parquet.Column{Name: strings.TrimSuffix(name, "?"), Kind: kind}
	c.Optional = c.Name != name
	return ExportColumn{c, about, value}
}

func intColumn(name, about string, value func(r *exportRow) int) ExportColumn {
	return exportColumn(name, parquet.Int, about, func(r *exportRow) parquet.Cell { return parquet.OfInt(value(r)) })
}

// countColumn is null where 0 means that there is none.
func countColumn(name, about string, value func(r *exportRow) int) ExportColumn {
	return exportColumn(name+"?", parquet.Int, about, func(r *exportRow) parquet.Cell {
		if n := value(r); n != 0 {
			return parquet.OfInt(n)
		}
		return parquet.Cell{}
	})
}

// textColumn is null where the text is empty, if it may be null.
func textColumn(name, about string, value func(r *exportRow) string) ExportColumn {
	optional := strings.HasSuffix(name, "?")
	return exportColumn(name, parquet.Text, about, func(r *exportRow) parquet.Cell {
		s := value(r)
		if s == "" && optional {
			return parquet.Cell{}
		}
		return parquet.OfText(s)
	})
}

func boolColumn(name, about string, value func(r *exportRow) bool) ExportColumn {
	return exportColumn(name, parquet.Bool, about, func(r *exportRow) parquet.Cell { return parquet.OfBool(value(r)) })
}

func timeColumn(name, about string, value func(r *exportRow) time.Time) ExportColumn {
	return exportColumn(name+"?", parquet.Time, about, func(r *exportRow) parquet.Cell { return parquet.OfTime(value(r)) })
}

// decimalColumn has so many digits after the point.
func decimalColumn(name string, places int, about string, value func(r *exportRow) exact.Decimal) ExportColumn {
	c := exportColumn(name+"?", parquet.Decimal, about, func(r *exportRow) parquet.Cell {
		d := value(r)
		if !d.Known {
			return parquet.Cell{}
		}
		n, ok := d.At(places)
		v, fits := parquet.OfDecimal(n)
		if !ok || !fits {
			r.large++
			return parquet.Cell{}
		}
		return v
	})
	c.Places = places
	return c
}

// usdPlaces are the digits after the point of an amount: all of price.USD.
const usdPlaces = 9

func usdColumn(name, about string, value func(r *exportRow) price.USD) ExportColumn {
	return decimalColumn(name, usdPlaces, about, func(r *exportRow) exact.Decimal { return value(r).Decimal() })
}

// ExportTables are the tables that export writes.
func ExportTables() []ExportTable {
	keys := []ExportColumn{
		textColumn("session", "id of the session", func(r *exportRow) string { return r.Session }),
		textColumn("agent", "main, or the id of a subagent", func(r *exportRow) string { return cmp.Or(r.Agent, "main") }),
		textColumn("file", "the file that was read; with agent it names the conversation in every table", func(r *exportRow) string { return r.File }),
	}
	policyKeys := append(slices.Clip(keys), textColumn("policy", "as the command line names it", func(r *exportRow) string { return r.name }))
	return []ExportTable{
		sessionsTable:   {"sessions", "One row for each conversation: what was recorded.", append(slices.Clip(keys), exportedSessions()...)},
		requestsTable:   {"requests", "One row for each request of each replay, calls of the policy's own included.", append(slices.Clip(policyKeys), exportedRequests()...)},
		eventsTable:     {"events", "One row for each event of each replay.", append(slices.Clip(policyKeys), exportedEvents()...)},
		comparisonTable: {"comparison", "One row for each conversation under each policy: the figures of `compare`.", append(slices.Clip(policyKeys), exportedFigures()...)},
	}
}

func exportedSessions() []ExportColumn {
	columns := []ExportColumn{
		textColumn("project?", "the folder it was recorded in, joined as by `compare`: hidden folders, worktrees and copies belong to their repository's project", func(r *exportRow) string { return r.Project }),
		textColumn("repository?", "git repository of that folder: host and path", func(r *exportRow) string { return r.Repository }),
		textColumn("client", "product that recorded it", func(r *exportRow) string { return r.Client }),
		textColumn("client_version?", "of the client, at the first request", func(r *exportRow) string { return r.Version }),
		textColumn("model?", "of the first request, or the one that was assumed", func(r *exportRow) string { return r.Model }),
		textColumn("models?", "every model with usage, sorted, with spaces between", func(r *exportRow) string { return strings.Join(r.Glance.Models, " ") }),
		textColumn("title?", "the session's title; null where texts are left out", func(r *exportRow) string { return r.Title }),
		timeColumn("began", "first time in the conversation", func(r *exportRow) time.Time { return r.Began }),
		timeColumn("ended", "end of its last response", func(r *exportRow) time.Time { return r.Glance.Ended }),
		intColumn("requests", "requests recorded", func(r *exportRow) int { return r.Glance.Requests }),
		intColumn("peak_context", "tokens of the largest request, as the API reported", func(r *exportRow) int { return r.Glance.PeakContext }),
		intColumn("last_context", "tokens of the last request with usage", func(r *exportRow) int { return r.Glance.LastContext }),
		intColumn("compactions", "compactions recorded", func(r *exportRow) int { return r.Glance.Compactions }),
		usdColumn("cost_usd", "bill by the recorded usage, of this conversation alone; null: no request has usage and a price", func(r *exportRow) price.USD { return r.Glance.CostUSD }),
		intColumn("requests_without_usage", "requests that no usage is recorded of: cost_usd leaves them out", func(r *exportRow) int { return r.Glance.Without }),
		intColumn("unpriced_requests", "requests of models without a price: likewise", func(r *exportRow) int { return r.Glance.Unpriced }),
		exportColumn("idle_seconds", parquet.Double, "in pauses between responses of more than 5 minutes", func(r *exportRow) parquet.Cell { return parquet.OfDouble(r.Glance.Idle) }),
		intColumn("lines_read", "lines of the file", func(r *exportRow) int { return r.Lines.Read }),
		intColumn("lines_used", "of these, lines of this conversation", func(r *exportRow) int { return r.Lines.Used }),
		intColumn("malformed_lines", "of these, lines that cannot be read", func(r *exportRow) int { return r.Lines.SetAside[session.AsideMalformed] }),
	}
	abouts := map[compare.Flag]string{
		compare.FlagMidway: "the file begins in the middle of the conversation", compare.FlagEstimated: "no usage is recorded: all tokens are estimated",
		compare.FlagOutputs: "the output of some requests is estimated", compare.FlagCompacted: "the client compacted it when it was recorded",
		compare.FlagWindow: "its context window is fitted to the recorded compactions", compare.FlagSubagents: "it has subagents, and only main conversations were asked for",
		compare.FlagUnpriced: "a request's model has no price", compare.FlagContradicted: "the recorded usage contradicts the content, whose tokens are counted instead",
	}
	for _, f := range compare.Flags() {
		columns = append(columns, boolColumn(string(f), abouts[f], func(r *exportRow) bool { return slices.Contains(r.Flags, f) }))
	}
	return columns
}

func exportedRequests() []ExportColumn {
	columns := []ExportColumn{
		intColumn("position", "of the row in its replay, from 1", func(r *exportRow) int { return r.at }),
		intColumn("n", "number of the main request; a call of the policy's own has that of the request after it", func(r *exportRow) int { return r.request.N }),
		textColumn("kind", "main, or the kind of a call of the policy's own, such as compaction", func(r *exportRow) string { return r.request.Kind }),
		textColumn("uuid?", "of the message it asked for", func(r *exportRow) string { return r.request.UUID }),
		timeColumn("time", "at which it was recorded", func(r *exportRow) time.Time { return r.request.Time }),
		textColumn("model?", "of its response", func(r *exportRow) string { return r.request.Model }),
		intColumn("raw_tokens", "of the raw history, overhead included", func(r *exportRow) int { return r.request.Raw }),
		intColumn("model_tokens", "of the model view, overhead included", func(r *exportRow) int { return r.request.Tokens }),
		intColumn("payload_tokens", "of the payload, overhead included: what is sent", func(r *exportRow) int { return r.request.Payload }),
		intColumn("overhead_tokens", "of the system prompt, tools, and what is on no line", func(r *exportRow) int { return r.request.Overhead }),
		intColumn("used_tokens", "the client's own estimate before this request's edits", func(r *exportRow) int { return r.request.Used }),
		intColumn("messages", "in the model view", func(r *exportRow) int { return r.request.Messages }),
		intColumn("output_tokens", "of the response", func(r *exportRow) int { return r.request.Output }),
		boolColumn("output_estimated", "output_tokens is the weight of the response: no reliable count is recorded", func(r *exportRow) bool { return r.request.Estimated }),
		intColumn("cache_read", "tokens read from the simulated prompt cache; the four add up to payload_tokens", func(r *exportRow) int { return r.request.Cache.Read }),
		intColumn("cache_write_5m", "tokens written into it for 5 minutes", func(r *exportRow) int { return r.request.Cache.Write5m }),
		intColumn("cache_write_1h", "tokens written into it for 1 hour", func(r *exportRow) int { return r.request.Cache.Write1h }),
		intColumn("cache_uncached", "tokens neither read nor written", func(r *exportRow) int { return r.request.Cache.Uncached }),
		textColumn("cache_miss?", "why less was read than was sent before", func(r *exportRow) string {
			if m := r.request.Cache.Miss; m != nil {
				return string(m.Kind)
			}
			return ""
		}),
		textColumn("cache_miss_stage?", "of an edit: the stage that made it", func(r *exportRow) string {
			if m := r.request.Cache.Miss; m != nil {
				return m.Stage
			}
			return ""
		}),
		usdColumn("cost_usd", "simulated; null: no price is known for the model", func(r *exportRow) price.USD { return r.request.CostUSD }),
	}
	for _, p := range exportedCosts {
		columns = append(columns, usdColumn(p.name, p.about, func(r *exportRow) price.USD {
			if r.request.CostParts == nil {
				return price.USD{}
			}
			return p.of(r.request.CostParts)
		}))
	}
	for _, u := range recordedUsages {
		columns = append(columns, exportColumn(u.name+"?", parquet.Int, u.about, func(r *exportRow) parquet.Cell {
			if r.request.Recorded == nil {
				return parquet.Cell{}
			}
			return parquet.OfInt(u.of(r.request.Recorded))
		}))
	}
	for _, u := range billedUsages {
		columns = append(columns, exportColumn(u.name+"?", parquet.Int, u.about, func(r *exportRow) parquet.Cell {
			if r.request.Recorded == nil || r.request.Recorded.Billed == nil {
				return parquet.Cell{}
			}
			return parquet.OfInt(u.of(r.request.Recorded.Billed))
		}))
	}
	return append(columns, intColumn("events", "events at this request", func(r *exportRow) int { return len(r.request.Events) }))
}

// exportedCosts are the parts of a cost.
var exportedCosts = []struct {
	name, about string
	of          func(p *replay.CostParts) price.USD
}{
	{"cost_ideal", "of cost_usd: input, where what was sent before is read from the cache and only the rest is written", func(p *replay.CostParts) price.USD { return p.Ideal }},
	{"cost_ideal_restarts", "of cost_ideal: what restarts of the client made the cache lose; null: nothing", func(p *replay.CostParts) price.USD { return p.Restarts }},
	{"cost_ideal_changes", "of cost_ideal: what other models, tools and settings made it lose; null: nothing", func(p *replay.CostParts) price.USD { return p.Changes }},
	{"cost_breaks", "of cost_usd: what the policy's edits made the cache lose", func(p *replay.CostParts) price.USD { return p.Breaks }},
	{"cost_lifetime", "of cost_usd: what had expired", func(p *replay.CostParts) price.USD { return p.Lifetime }},
	{"cost_placement", "of cost_usd: what no breakpoint or look-back covered, or was too short to be cached", func(p *replay.CostParts) price.USD { return p.Placement }},
	{"cost_own_calls", "of cost_usd: a call of the policy's own, with what it writes", func(p *replay.CostParts) price.USD { return p.OwnCalls }},
	{"cost_output", "of cost_usd: output of a main request", func(p *replay.CostParts) price.USD { return p.Output }},
}

// recordedUsages are the recorded usage.
var recordedUsages = []struct {
	name, about string
	of          func(u *replay.Usage) int
}{
	{"recorded_input", "input tokens that the API reported, uncached; of several iterations the last", func(u *replay.Usage) int { return u.Input }},
	{"recorded_cache_write", "written to the cache", func(u *replay.Usage) int { return u.CacheWrite }},
	{"recorded_cache_read", "read from the cache", func(u *replay.Usage) int { return u.CacheRead }},
	{"recorded_output", "output tokens", func(u *replay.Usage) int { return u.Output }},
}

// billedUsages are the sums of several iterations.
var billedUsages = []struct {
	name, about string
	of          func(u *replay.Samplings) int
}{
	{"billed_iterations", "how often the API sampled within the request; null: once", func(u *replay.Samplings) int { return u.Iterations }},
	{"billed_input", "sum of their uncached input tokens", func(u *replay.Samplings) int { return u.Input }},
	{"billed_cache_write", "sum of what they wrote to the cache", func(u *replay.Samplings) int { return u.CacheWrite }},
	{"billed_cache_read", "sum of what they read from it", func(u *replay.Samplings) int { return u.CacheRead }},
	{"billed_output", "sum of their output tokens", func(u *replay.Samplings) int { return u.Output }},
}

func exportedEvents() []ExportColumn {
	recorded := func(get func(e *replay.RecordedEvent) string) func(r *exportRow) string {
		return func(r *exportRow) string {
			if r.event.Recorded == nil {
				return ""
			}
			return get(r.event.Recorded)
		}
	}
	count := func(get func(e *replay.RecordedEvent) int) func(r *exportRow) int {
		return func(r *exportRow) int {
			if r.event.Recorded == nil {
				return 0
			}
			return get(r.event.Recorded)
		}
	}
	return []ExportColumn{
		intColumn("n", "number of the event in its replay, from 0", func(r *exportRow) int { return r.event.N }),
		exportColumn("request?", parquet.Int, "n of the request that it took place before; null: after the last", func(r *exportRow) parquet.Cell {
			if r.event.Request == nil {
				return parquet.Cell{}
			}
			return parquet.OfInt(*r.event.Request)
		}),
		textColumn("stage", "of the policy; api, client: who would not have taken or sent the request", func(r *exportRow) string { return r.event.Stage }),
		textColumn("kind", "what it does: clear, summarize, truncate, persist, remove and others", func(r *exportRow) string { return string(r.event.Kind) }),
		textColumn("trigger?", "auto, manual, model, inferred, restart", func(r *exportRow) string { return r.event.Trigger }),
		textColumn("reason", "in words, without a word of the transcript", func(r *exportRow) string { return r.event.Reason }),
		intColumn("tokens_before", "of what it changed; of a refused or blocked request: its payload, also after", func(r *exportRow) int { return r.event.Before }),
		intColumn("tokens_after", "of what is there instead", func(r *exportRow) int { return r.event.After }),
		intColumn("tokens_saved", "tokens_before - tokens_after", func(r *exportRow) int { return r.event.Saved }),
		intColumn("results", "tool results changed", func(r *exportRow) int { return r.event.Results }),
		intColumn("messages", "messages removed", func(r *exportRow) int { return r.event.Messages }),
		intColumn("targets", "blocks changed", func(r *exportRow) int { return len(r.event.Targets) }),
		textColumn("detail?", "figures that the client would record, as a JSON object", func(r *exportRow) string {
			if len(r.event.Detail) == 0 {
				return ""
			}
			data, _ := json.Marshal(r.event.Detail) // of numbers by name: it cannot fail
			return string(data)
		}),
		textColumn("recorded_file?", "where the client recorded it", recorded(func(e *replay.RecordedEvent) string { return e.File })),
		countColumn("recorded_line", "line of that file", count(func(e *replay.RecordedEvent) int { return e.Line })),
		textColumn("recorded_trigger?", "auto, manual", recorded(func(e *replay.RecordedEvent) string { return e.Trigger })),
		countColumn("recorded_pre_tokens", "tokens before a compaction, as the client recorded them", count(func(e *replay.RecordedEvent) int { return e.PreTokens })),
		countColumn("recorded_tokens_saved", "tokens that it recorded as saved", count(func(e *replay.RecordedEvent) int { return e.TokensSaved })),
	}
}

func exportedFigures() []ExportColumn {
	columns := []ExportColumn{
		textColumn("ran", "the policy that a product's name meant for this session", func(r *exportRow) string { return r.Policies[r.policy].Name }),
		textColumn("prompt_cache", "whose prompt cache was simulated: equal, own, none", func(r *exportRow) string { return string(r.Cache) }),
		textColumn("counter", "token counter", func(r *exportRow) string { return r.timeline().Counter }),
		intColumn("window", "context window, tokens", func(r *exportRow) int { return r.timeline().Window }),
		boolColumn("feasible", "no request is refused, and none breaks a rule of the API; else the figures are a bound", func(r *exportRow) bool { return r.Values[r.policy].Feasible() }),
	}
	for i, f := range compare.Figures() {
		value := func(r *exportRow) exact.Decimal { return r.Values[r.policy][i] }
		about := joined(", ", figureAbouts[f.Name], either(f.Unit == "" || f.Unit == "USD", "", f.Unit))
		if places := f.Places(); places > 0 {
			columns = append(columns, decimalColumn(f.Name, places, about, value))
			continue
		}
		columns = append(columns, exportColumn(f.Name+"?", parquet.Int, about, func(r *exportRow) parquet.Cell {
			if d := value(r); d.Known {
				return parquet.OfInt(d.N)
			}
			return parquet.Cell{}
		}))
	}
	return columns
}

// figureAbouts says what each figure is.
var figureAbouts = map[string]string{
	"requests": "main requests", "calls": "main requests and the policy's own calls",
	"raw_peak": "largest request of the raw history", "model_peak": "largest model view", "model_mean": "mean model view",
	"payload_peak": "largest payload", "payload_mean": "mean payload", "payload_input": "what was sent, the policy's own calls included",
	"own_input": "of payload_input: the policy's own calls", "tokens_saved": "raw history less what main requests sent",
	"output_tokens": "of all calls", "cache_read": "read from the cache", "cache_write_5m": "written into it for 5 minutes",
	"cache_write_1h": "written into it for 1 hour", "uncached": "neither read nor written",
	"cost_usd": "of all calls; null: a model has no price", "cost_ideal": "of cost_usd: input, where what was sent before is read from the cache",
	"cost_breaks": "of cost_usd: what the policy's edits made the cache lose", "cost_lifetime": "of cost_usd: what had expired",
	"cost_placement": "of cost_usd: what no breakpoint or look-back covered, or was too short",
	"cost_own_calls": "of cost_usd: the policy's own calls", "cost_output": "of cost_usd: output of main requests",
	"refused": "main requests that would have had no answer", "blocked": "of refused: those that the client would not have sent",
	"compactions": "compactions of the whole conversation", "failed_compactions": "those that came to nothing, not in compactions",
	"thrash": "compactions that freed less than a tenth of what they read", "thrash_run": "the most of them in a row",
	"cleared_results": "tool results that stay cleared", "cleared_tokens": "removed by edits of single blocks",
	"client_pre_tokens": "before compactions, by the client's own count", "client_tokens_saved": "saved, by the client's own count",
	"events": "events of the replay", "misses": "blocks removed and needed again; this and all down to median_distance are null where the regret is left out",
	"misses_reread": "of misses: read again", "misses_edit": "of misses: edited later", "misses_quote": "of misses: quoted later",
	"removed_blocks": "blocks removed",
	"refetch_tokens": "tokens of the misses", "refetch_usd": "what fetching them again costs",
	"median_distance": "median from removal to need; null without a miss",
	"violations":      "rules of the API that the policy breaks", "preserved_thinking": "edits before thinking that the model preserves",
}
