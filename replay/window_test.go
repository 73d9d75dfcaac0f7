package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestUseWindow: every policy without a window of its own compacts in the one that the record's user had set; a named
// window or model replaces it, and the API refuses no more for it.
func TestUseWindow(t *testing.T) {
	conv := load(t, shipped+"/big-2.1.139.jsonl").Main
	rec := must.Get(replay.NewRecord(conv))(t)
	fit, err := rec.FitWindow(named(t, "claude-code-2.1.119"), replay.Options{})
	if err != nil || fit == nil || !fit.Agrees {
		t.Fatalf("%+v, %v", fit, err)
	}
	if other, err := rec.FitWindow(named(t, "opencode-1.18"), replay.Options{}); other != nil || err != nil {
		t.Errorf("by another product's policy: %+v, %v", other, err)
	}
	run := func(name string, opt replay.Options) *replay.Timeline {
		tl := must.Get(rec.Replay(named(t, name), opt))(t)
		return tl
	}
	before := run("none", replay.Options{})
	wide := run("opencode-1.18", replay.Options{})
	rec.UseWindow(fit)
	for _, name := range []string{"recorded", "claude-code-2.1.119", "opencode-1.18", "none"} {
		if tl := run(name, replay.Options{}); tl.Window != fit.Window || tl.Fit != fit {
			t.Errorf("%s: window %d, fit %+v, want %d", name, tl.Window, tl.Fit, fit.Window)
		}
	}
	if tl := run("opencode-1.18", replay.Options{}); tl.Totals.Compactions <= wide.Totals.Compactions {
		t.Errorf("%d compactions in %d tokens, %d in %d", tl.Totals.Compactions, tl.Window, wide.Totals.Compactions, wide.Window)
	}
	for _, opt := range []replay.Options{{Window: 123000}, {Model: "claude-opus-4-6"}} {
		if tl := run("claude-code-2.1.119", opt); tl.Fit != nil || tl.Window == fit.Window {
			t.Errorf("%+v: window %d, fit %+v", opt, tl.Window, tl.Fit)
		}
	}
	own := named(t, "claude-code-2.1.119")
	own.Window.Context = 321000
	if tl, err := rec.Replay(own, replay.Options{}); err != nil || tl.Fit != nil || tl.Window != 321000 {
		t.Errorf("a window of the policy's: %d, %+v, %v", tl.Window, tl.Fit, err)
	}
	must.Equal(t, run("none", replay.Options{}).Totals.Refused, before.Totals.Refused)
}

// growing is a session of a model whose last request has so much context.
func growing(t *testing.T, model, usage string, n int) *session.Conversation {
	t.Helper()
	var b strings.Builder
	parent := "null"
	for i := range n {
		fmt.Fprintf(&b, `{"type":"user","uuid":"p%d","parentUuid":%s,"sessionId":"s","version":"2.1.321","timestamp":"2026-11-20T09:%02d:00Z","message":{"role":"user","content":"go"}}`+"\n", i, parent, i)
		fmt.Fprintf(&b, `{"type":"assistant","uuid":"a%d","parentUuid":"p%d","sessionId":"s","version":"2.1.321","timestamp":"2026-11-20T09:%02d:10Z","message":{"id":"m%d","role":"assistant","model":%q,"content":[{"type":"text","text":"on"}],"usage":{%s}}}`+"\n", i, i, i, i, model, usage)
		parent = fmt.Sprintf(`"a%d"`, i)
	}
	f := must.Get(session.LoadReader("test", strings.NewReader(b.String()), session.LoadOptions{}))(t)
	t.Cleanup(func() { f.Close() })
	return f.Main
}

// TestAssumedWindow: a model that the table lacks has the window of the newest of its family, and a warning says that this
// is assumed. What a table or an option states is not.
func TestAssumedWindow(t *testing.T) {
	const usage = `"input_tokens":3,"cache_creation_input_tokens":3000,"cache_read_input_tokens":182000,"output_tokens":100`
	own := must.Get(price.ReadFile("p.json", []byte(`{"models": [{"id": "acme-1", "input": 1, "output": 1, "context": 190000}]}`)))(t)
	own = own.Over(price.Default())
	must.Rows(t, `
# model | a table with acme-1 | options | window | what is said
claude-fable-5-2  | false | {} | 1000000 | ""
claude-fable-5-3  | false | {} | 1000000 | : "claude-fable-5-3": 1,000,000 tokens, as claude-fable-5-2 has
claude-opus-6     | false | {} | 1000000 | : "claude-opus-6": 1,000,000 tokens, as claude-opus-5-5 has
acme-1            | false | {} | 200000  | : "acme-1": 200,000 tokens
acme-1            | true  | {} | 190000  | ""
acme-1            | false | {"window": 300000} | 300000 | ""
acme-1            | false | {"model": "claude-opus-5"} | 1000000 | ""
claude-opus-6[1m] | false | {} | 1000000 | ""
gpt-5.9           | false | {} | 1050000 | : "gpt-5.9": 1,050,000 tokens, as gpt-5-6 has
`, func(model string, table bool, opt replay.Options, window int, says string) {
		if table {
			opt.Prices = own
		}
		rec := must.Get(replay.NewRecordWith(growing(t, model, usage, 4), replay.RecordOptions{Prices: opt.Prices}))(t)
		tl := must.Get(rec.Replay(named(t, "claude-code"), opt))(t)
		said := ""
		for _, w := range tl.Warnings {
			if w.Code == replay.CodeWindowAssumed {
				said += w.Message
			}
		}
		if tl.Window != window || (said == "") != (says == "") || !strings.HasSuffix(said, says) {
			t.Errorf("%s, %+v: window %d, %q", model, opt, tl.Window, said)
		}
	})
}

// TestCostOfTheDay: a request costs, simulated, what its model's tokens cost on its day, under another model as well.
func TestCostOfTheDay(t *testing.T) {
	rec := must.Get(replay.NewRecord(growing(t, "claude-sonnet-5-5", `"input_tokens":3,"cache_creation_input_tokens":3000,"cache_read_input_tokens":40000,"output_tokens":100`, 4)))(t)
	cost := func(opt replay.Options) int64 {
		tl := must.Get(rec.Replay(named(t, "none"), opt))(t)
		var sum int64
		for _, q := range tl.Requests {
			sum += q.CostParts.Sum().Nano
		}
		must.Equal(t, sum, tl.Totals.CostUSD.Nano, opt)
		return sum
	}
	table := func(text string) *price.Table {
		own := must.Get(price.ReadFile("p.json", []byte(`{"models": [{"id": "claude-sonnet-5-5", "input": 2, "output": 10, "context": 1000000`+text+`}]}`)))(t)
		return own.Over(price.Default())
	}
	now := cost(replay.Options{Prices: table("")})
	for _, until := range []string{"2026-11-20", "2026-11-19"} { // of the requests, and the day before
		dated := table(`, "earlier": [{"until": "` + until + `", "input": 4, "output": 20}]`)
		want := now
		if until == "2026-11-20" {
			want = 2 * now
		}
		for _, model := range []string{"", "claude-sonnet-5-5"} {
			must.Equal(t, cost(replay.Options{Prices: dated, Model: model}), want, until, model)
		}
	}
}

// TestShownCache: a provider of which nothing is known caches where the record has cached input, and one of which the record
// has ten requests without cached input does not; how a model is cached can be stated.
func TestShownCache(t *testing.T) {
	const read, plain = `"input_tokens":9000,"cache_read_input_tokens":40000,"output_tokens":100`, `"input_tokens":49000,"output_tokens":100`
	must.Rows(t, `
# model | requests | cached input is recorded | how the model is cached by the table | it reads | code of the warning
acme-1        | 4  | true  | ""        | true  | cache-shown
acme-1        | 4  | false | ""        | false | no-cache
acme-1        | 4  | true  | none      | false | ""
acme-1        | 12 | false | automatic | true  | ""
acme-1        | 12 | false | ""        | false | cache-shown
gpt-5.5       | 12 | false | ""        | false | cache-shown
gpt-5.5       | 9  | false | ""        | true  | ""
gpt-5.5       | 12 | true  | ""        | true  | ""
claude-opus-5 | 12 | false | ""        | true  | ""
`, func(model string, requests int, cached bool, stated string, reads bool, code session.Code) {
		usage := plain
		if cached {
			usage = read
		}
		own := must.Get(price.ReadFile("p.json", []byte(`{"models": [{"id": "acme-1", "input": 1, "output": 1, "context": 190000`+either(stated != "", `, "cache": "`+stated+`"`, "")+`}]}`)))(t)
		conv := growing(t, model, usage, requests)
		conv.Product = "pi"
		rec := must.Get(replay.NewRecordWith(conv, replay.RecordOptions{Prices: own}))(t)
		tl := must.Get(rec.Replay(named(t, "none"), replay.Options{}))(t)
		var codes []session.Code
		for _, w := range tl.Warnings {
			if w.Code == replay.CodeCacheShown || w.Code == replay.CodeNoCache {
				codes = append(codes, w.Code)
			}
		}
		if got := tl.Requests[3].Cache.Read > 0; got != reads || len(codes) > 1 || code == "" && codes != nil || code != "" && !slices.Contains(codes, code) {
			t.Errorf("reads %v, %v", got, codes)
		}
		fit := must.Get(rec.CacheFit(replay.Options{}))(t)
		want, miss := code != "" && !reads, tl.Requests[3].Cache.Miss
		if got := miss != nil && miss.Kind == cache.Uncached; got != want || fit.Uncached != map[bool]int{true: requests}[want] {
			t.Errorf("no cache recorded: %v, %d requests", got, fit.Uncached)
		}
	})
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}
