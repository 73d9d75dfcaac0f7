package report

import (
	"cmp"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/trace"
)

// replayHTML returns the printer of timelines as one page. Timelines without a trace have no payloads to show.
func replayHTML(w io.Writer, opt Layout) Printer[*replay.Timeline] {
	h := &htmlPage{Kicker: "Replay", Zone: opt.Zone}
	var added []*replay.Timeline
	return Printer[*replay.Timeline]{Add: func(tl *replay.Timeline) error {
		w := wordsOf(&opt)
		p := newPageReplay(h, tl, w)
		p.Name = w.or(cmp.Or(tl.Title, sessionTitle(tl.Session, tl.Agent)), "session "+strconv.Itoa(len(h.Replays)+1))
		p.Fields, p.Figures, p.Answers, p.Cost = pageFields(tl, w, &opt), pageFigures(tl), replayAnswers(tl, opt.NoText), newPageCost(tl)
		p.Notes, p.Warnings = replayNotes(tl), replayWarnings(tl, w)
		h.Replays = append(h.Replays, p)
		added = append(added, &replay.Timeline{Session: tl.Session, Agent: tl.Agent, Title: tl.Title, Policy: tl.Policy, Requests: tl.Requests, Totals: tl.Totals, Bill: tl.Bill, CacheFit: tl.CacheFit, Counter: tl.Counter})
		return nil
	}, Close: func() error {
		switch len(added) {
		case 0:
			h.Title = "No session"
		case 1:
			h.Kicker, h.Title, h.Answers = "Replay under "+added[0].Policy, wordsOf(&opt).title(added[0]), replayAnswers(added[0], opt.NoText)
		default:
			h.Title = count(len(added), "session")
			h.Answers = []string{sessionsAnswer(added, opt.NoText)}
		}
		h.Sections = append(h.Sections, section{Type: "replays"})
		return h.write(w)
	}}
}

// replayAnswers say what a replay comes to, with no name that only the file has where they are nameless.
func replayAnswers(tl *replay.Timeline, hidden bool) []string {
	t := &tl.Totals
	if t.Requests == 0 {
		return []string{"The session has no request."}
	}
	mean := (t.Payload - t.OwnInput + t.Requests/2) / t.Requests
	first := phrase("%v the largest request has %v tokens and the mean one %v; with nothing taken away they would have %v and %v.",
		either(tl.Policy == "recorded", "As recorded,", "Under "+tl.Policy), t.PayloadPeak, mean, t.RawPeak, (t.RawInput+t.Requests/2)/t.Requests)
	if t.Saved == 0 {
		first = phrase("%v takes nothing away: the largest request has %v tokens, the mean one %v.", tl.Policy, t.PayloadPeak, mean)
	}
	second := phrase("%v sent %v tokens", count(t.Requests, "request"), t.Payload-t.OwnInput) + phraseIf(t.OwnInput > 0, ", its own requests %v more", t.OwnInput) +
		phraseIf(t.CostUSD.Known, ", for %v%v in all", tl.CacheFit.Mark(), usdText(t.CostUSD)) + phrase(": %v, %v cleared.", count(t.Compactions, "compaction"), count(t.Cleared, "result"))
	texts := append([]string{first, second, besideText(nameless(tl.Bill, hidden), price.USD{}, "", tl.CacheFit)}, troubleNotes(t)...)
	return cleaned(texts)
}

// cents is an amount with two places.
func cents(usd price.USD) string { return usd.Decimal().Round(2).Text(2) }

func sessionsAnswer(list []*replay.Timeline, hidden bool) string {
	var sum replay.Totals
	var bills bill.Ledger
	var fit replay.CacheFit
	for _, tl := range list {
		t := &tl.Totals
		sum.Requests += t.Requests
		sum.Payload += t.Payload
		sum.OwnInput += t.OwnInput
		sum.Compactions += t.Compactions
		sum.PayloadPeak = max(sum.PayloadPeak, t.PayloadPeak)
		sum.CostUSD.Add(t.CostUSD)
		bills.Add(tl.Bill)
		fit.Add(tl.CacheFit)
	}
	return phrase("%v sent %v tokens, the largest one %v", count(sum.Requests, "request"), sum.Payload, sum.PayloadPeak) +
		phraseIf(sum.CostUSD.Known, ", for %v%v", fit.Mark(), usdText(sum.CostUSD)) + phrase(": %v.", count(sum.Compactions, "compaction")) +
		before(" ", besideText(nameless(bills.Bill(), hidden), price.USD{}, "", &fit))
}

// words says which words of a session a page may show. A page without text has no word of the transcript: no title,
// path, id or prompt, and only names that are the program's own or its table's.
type words struct {
	hidden bool
	tools  map[string]string // placeholders of names of tools
}

func wordsOf(opt *Layout) *words {
	return &words{hidden: opt.NoText, tools: map[string]string{}}
}

// or is the text, or what stands for it on a page without text.
func (w *words) or(text, otherwise string) string { return either(w.hidden, otherwise, Clean(text)) }

func (w *words) title(tl *replay.Timeline) string {
	return w.or(cmp.Or(tl.Title, sessionTitle(tl.Session, tl.Agent)), "One session")
}

// commonTools are tools of well-known clients, whose names say nothing of a session.
var commonTools = []string{"Agent", "Bash", "Edit", "Glob", "Grep", "LS", "MultiEdit", "NotebookEdit", "NotebookRead", "Read", "Skill", "Task", "TodoRead", "TodoWrite",
	"WebFetch", "WebSearch", "Write", "bash", "edit", "glob", "grep", "read", "task", "webfetch", "write"}

func (w *words) tool(name string) string {
	if !w.hidden || name == "" || slices.Contains(commonTools, name) {
		return Clean(name)
	}
	if w.tools[name] == "" {
		w.tools[name] = "tool " + strconv.Itoa(len(w.tools)+1)
	}
	return w.tools[name]
}

// modelName is how models are named: a family, and digits; versionName is how versions are. Other names could be anything.
var (
	modelName   = pattern.New(`^(claude-(opus|sonnet|haiku|instant)?[-0-9.]*|claude-[0-9][-.0-9]*-?(opus|sonnet|haiku)?[-0-9.]*|gpt-[-0-9.]+o?(-mini|-nano)?|gemini-[-0-9.]+(pro|flash)?)$`)
	versionName = pattern.New(`^\d{1,6}\.\d{1,6}\.\d{1,6}$`)
)

func (w *words) model(id string) string {
	return either(w.hidden && !modelName().MatchString(id), "a model", Clean(id))
}

func (w *words) version(v string) string {
	return either(w.hidden && !versionName().MatchString(v), "", Clean(v))
}

// pageReplay is a replay on a page. Names of requests are indexes into the lists of names next to them.
type pageReplay struct {
	Name     string                `json:"name"`
	Policy   string                `json:"policy"`
	Fields   [][2]string           `json:"fields"`
	Figures  []pageFigure          `json:"figures"`
	Notes    []string              `json:"notes"`
	Answers  []string              `json:"answers"`
	Window   int                   `json:"window"`
	Limits   []pageLimit           `json:"limits"`
	Kinds    []string              `json:"kinds"`  // of requests; the first is main
	Models   []string              `json:"models"` // of requests
	Causes   []string              `json:"causes"` // of what the cache lost
	Requests byColumn[pageRequest] `json:"requests"`
	Events   []pageEvent           `json:"events"`
	Cost     *pageCost             `json:"cost,omitempty"` // of a replay alone
	Warnings []string              `json:"warnings"`
	Trace    *pageTrace            `json:"trace,omitempty"`
}

type pageFigure struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	About string `json:"about,omitempty"`
}

type pageLimit struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Acts   bool   `json:"acts"`
}

// pageRequest is a call of a replay, or of the policy's own.
type pageRequest struct {
	N        int   `json:"n" of:"N"`
	Kind     int   `json:"kind"`
	Model    int   `json:"model"`
	Time     int64 `json:"time"` // seconds since 1970; 0: not known
	Raw      int   `json:"raw" of:"Raw"`
	View     int   `json:"view" of:"Tokens"`
	Payload  int   `json:"payload" of:"Payload"`
	Overhead int   `json:"overhead" of:"Overhead"`
	Used     int   `json:"used" of:"Used"`
	Output   int   `json:"output" of:"Output"`
	Read     int   `json:"read" of:"Cache.Read"`
	Written  int   `json:"written"`
	Uncached int   `json:"uncached" of:"Cache.Uncached"`
	Cost     int64 `json:"cost"`  // in 1e-9 USD; -1: not known
	Cause    int   `json:"cause"` // of Causes; -1: all was read
}

// byColumn are rows that JSON has by column, with a list for each field.
type byColumn[T any] []T

// MarshalJSON implements json.Marshaler.
func (rows byColumn[T]) MarshalJSON() ([]byte, error) {
	var columns object
	for f := range reflect.TypeFor[T]().Fields() {
		values := make([]any, len(rows))
		for i := range rows {
			values[i] = reflect.ValueOf(rows[i]).FieldByIndex(f.Index).Interface()
		}
		columns = append(columns, member{f.Tag.Get("json"), values})
	}
	return columns.MarshalJSON()
}

type pageEvent struct {
	N       int    `json:"n"`
	Request int    `json:"request"` // 0: after the last
	Stage   string `json:"stage"`
	Kind    string `json:"kind"`
	Trigger string `json:"trigger,omitempty"`
	Text    string `json:"text"`
	Before  int    `json:"before"`
	After   int    `json:"after"`
	Mark    string `json:"mark,omitempty"` // on the timeline: compaction, change, lost; "": none
}

// pageCost is what a replay cost, by what is paid for and by what the cache lost.
type pageCost struct {
	Known bool       `json:"known"`
	Total string     `json:"total"`
	Parts []pagePart `json:"parts"`
	Lost  htmlTable  `json:"lost"`
	Bills htmlTable  `json:"bills"`
}

type pagePart struct {
	Name  string `json:"name"`
	Nano  int64  `json:"nano"`
	About string `json:"about"`
}

// pageTrace is a trace, by column. Texts are indexes into the page's.
type pageTrace struct {
	Items  [][]int    `json:"items"` // role, class, about, line, outside, first block, blocks, tag, edit; lists of names below
	Names  []string   `json:"names"`
	Kind   []int      `json:"kind"` // of blocks, in Names, as the tool and the category
	Tool   []int      `json:"tool"`
	Class  []int      `json:"class"`
	Tokens []int      `json:"tokens"`
	Text   []int      `json:"text"`
	Edits  [][]int    `json:"edits"`  // request, stage, kind, reason: in Names
	States [][]int    `json:"states"` // edit, tokens, text
	Steps  []pageStep `json:"steps"`
	Texts  bool       `json:"texts"` // there are texts to show
	Cut    int        `json:"cut"`
}

type pageStep struct {
	Joined  int     `json:"j"`
	System  int     `json:"o"`           // tokens of system prompt and tools
	Less    int     `json:"e,omitempty"` // off the history before the file
	Splices [][]int `json:"s,omitempty"` // at, delete, insert…
	Left    [][]int `json:"l,omitempty"` // edit, items…
	Changes []int   `json:"c,omitempty"` // block, state, block, state …
}

// namer numbers names in the order they come.
type namer struct {
	list []string
	at   map[string]int
}

func (n *namer) of(name string) int {
	if n.at == nil {
		n.at = map[string]int{}
	}
	at, ok := n.at[name]
	if !ok {
		at = len(n.list)
		n.at[name] = at
		n.list = append(n.list, name)
	}
	return at
}

// replayNotes say how far a policy can be trusted.
func replayNotes(tl *replay.Timeline) []string {
	if !tl.Truth.Hypothesis() {
		return []string{}
	}
	return []string{Clean(tl.Policy + " is " + hypothesisText(tl.Score))}
}

func replayWarnings(tl *replay.Timeline, w *words) []string {
	list := []string{}
	if n := len(tl.Warnings); w.hidden && n > 0 {
		return append(list, count(n, "warning")+" about the transcript: their words are left out")
	}
	for _, x := range tl.Warnings {
		list = append(list, Clean(warningText(x.File, x.Line, x.Message, tl.File)))
	}
	return list
}

// newPageReplay is what the timeline of a replay shows, and its trace.
func newPageReplay(h *htmlPage, tl *replay.Timeline, w *words) *pageReplay {
	p := &pageReplay{Policy: Clean(tl.Policy), Window: tl.Window, Limits: []pageLimit{}, Events: pageEvents(tl, w)}
	for _, l := range tl.Limits {
		if l.Label != "" || l.Acts && l.Of == policy.OfContext { // the axis is that of whole requests
			p.Limits = append(p.Limits, pageLimit{Clean(cmp.Or(l.Label, l.Name)) + phraseIf(l.Of == policy.OfMessages, " of messages"), l.Tokens, l.Acts})
		}
	}
	kinds := &namer{}
	models := &namer{}
	causes := &namer{}
	kinds.of(kindMain)
	fill := filler[pageRequest, replay.Request]()
	for _, r := range tl.Requests {
		cause := -1
		if m := r.Cache.Miss; m != nil {
			cause = causes.of(causeText(m.Kind, m.Stage))
		}
		row := pageRequest{
			Kind: kinds.of(Clean(r.Kind)), Model: models.of(w.model(r.Model)), Time: either(r.Time.IsZero(), 0, r.Time.Unix()),
			Written: r.Cache.Write5m + r.Cache.Write1h, Cost: either(r.CostUSD.Known, r.CostUSD.Nano, -1), Cause: cause,
		}
		fill(&row, &r)
		p.Requests = append(p.Requests, row)
	}
	p.Kinds, p.Models, p.Causes = kinds.list, notNil(models.list), notNil(causes.list)
	if tl.Trace != nil {
		p.Trace = newPageTrace(h, tl.Trace, w)
	}
	return p
}

// causeText says why something was not read from the cache, without the message that was edited.
func causeText(kind cache.BreakCause, stage string) string {
	if stage != "" {
		return Clean("edit by " + stage)
	}
	return Clean(cache.Cause{Kind: kind}.String())
}

func pageFields(tl *replay.Timeline, w *words, opt *Layout) [][2]string {
	list := [][2]string{}
	hide := []string{"title", "file"}
	for _, f := range headFields(tl, opt) {
		switch {
		case f[1] == "" || w.hidden && slices.Contains(hide, f[0]):
			continue
		case w.hidden && f[0] == "model":
			f[1] = w.model(tl.Model)
		case w.hidden && f[0] == "recorded":
			f[1] = joined(", ", recordedSpan(&replay.Timeline{Requests: tl.Requests}, opt.Zone), phraseIf(w.version(tl.Version) != "", "client %v", w.version(tl.Version)))
		case w.hidden && f[0] == "tokens" && tl.Converted != nil:
			f[1] = "converted to those of another model"
		}
		list = append(list, field{f[0], Clean(f[1])})
	}
	return append(list, field{"lines", either(w.hidden, phrase("read %v, used %v", tl.Lines.Read, tl.Lines.Used), Clean(linesText(tl.Lines)))})
}

func pageFigures(tl *replay.Timeline) []pageFigure {
	t := &tl.Totals
	list := []pageFigure{
		{"Largest request", thousands(t.PayloadPeak), percent(t.PayloadPeak, t.RawPeak) + " of raw"},
		{"Sent", short(t.Payload - t.OwnInput), phrase("%v of raw", percent(t.Payload-t.OwnInput, t.RawInput))},
		{"Requests", thousands(t.Requests), phraseIf(t.Calls > t.Requests, "and %v of the %v's own", t.Calls-t.Requests, caller(tl.Policy))},
	}
	if t.CostUSD.Known {
		list = append(list, pageFigure{"Cost, simulated", "$" + cents(t.CostUSD), phraseIf(t.Unpriced > 0, "without %v", count(t.Unpriced, "request"))})
	}
	if b := tl.Bill; b != nil && b.CostUSD.Known {
		list = append(list, pageFigure{"Billed", either(b.AtLeast(), "≥ ", "") + "$" + cents(b.CostUSD), "the recorded session"})
	}
	list = append(list, pageFigure{"Compactions", thousands(t.Compactions), phraseIf(t.Failed > 0, "%v failed", t.Failed)},
		pageFigure{"Cleared results", thousands(t.Cleared), phraseIf(t.ClearedTokens > 0, "%v tokens", t.ClearedTokens)},
		pageFigure{"Read from the cache", percent(t.Cache.Read, t.Cache.Input()), "of input tokens"})
	if t.Misses != nil {
		list = append(list, pageFigure{"Misses", thousands(*t.Misses), "removed and needed again"})
	}
	return list
}

func pageEvents(tl *replay.Timeline, w *words) []pageEvent {
	list := []pageEvent{}
	for _, e := range tl.Events {
		o := pageEvent{N: e.N, Stage: Clean(e.Stage), Kind: Clean(string(e.Kind)), Trigger: Clean(e.Trigger), Before: e.Before, After: e.After}
		if e.Request != nil {
			o.Request = *e.Request
		}
		switch {
		case lost(e.Kind):
			o.Mark = "lost"
		case e.Kind == policy.KindSummarize:
			o.Mark = "compaction"
		case !slices.Contains(unmarked, e.Kind):
			o.Mark = "change"
		}
		if w.hidden {
			e.Reason = ""
			e.Recorded = nil
			o.Trigger = ""
			o.Text = strings.TrimLeft(eventText(tl, &e), ",; ")
		} else {
			o.Text = Clean(eventText(tl, &e))
		}
		list = append(list, o)
	}
	return list
}

func newPageCost(tl *replay.Timeline) *pageCost {
	c := tl.Cost()
	total := c.Total()
	p := &pageCost{Known: total.CostUSD.Known, Total: either(total.CostUSD.Known, "$"+cents(total.CostUSD), ""), Parts: []pagePart{}}
	if parts := tl.Totals.CostParts; parts != nil {
		for _, part := range []struct {
			name, about string
			usd         price.USD
		}{
			{"content", "all input, read from the cache where it was sent before", parts.Ideal},
			{"breaks", "what edits made the cache lose", parts.Breaks},
			{"lifetime", "what had expired in the cache", parts.Lifetime},
			{"placement", "what no breakpoint or look-back covered", parts.Placement},
			{"own requests", phrase("requests of the %v itself, such as for summaries", caller(tl.Policy)), parts.OwnCalls},
			{"output", "what the model wrote", parts.Output},
		} {
			if part.usd.Nano != 0 {
				p.Parts = append(p.Parts, pagePart{part.name, part.usd.Nano, part.about})
			}
		}
	}
	p.Lost = numbersBy("Cause", "Requests", "Tokens not read")
	for _, l := range c.Lost {
		p.Lost.Rows = append(p.Lost.Rows, []string{causeText(l.Cause, l.Stage), thousands(l.Requests), thousands(l.Tokens)})
	}
	p.Bills = numbersBy("Calls", "Number", "Read", "Written", "Uncached", "Output", "USD")
	for _, b := range []struct {
		name string
		bill bill.Sum
	}{{"the session's requests", c.Main}, {phrase("the %v's own requests", caller(tl.Policy)), c.Own}, {"all", total}} {
		in := b.bill.Input
		p.Bills.Rows = append(p.Bills.Rows, []string{b.name, thousands(b.bill.Calls), thousands(in.Read), thousands(in.Write5m + in.Write1h), thousands(in.Uncached),
			thousands(b.bill.Output), either(b.bill.CostUSD.Known, b.bill.CostUSD.String(), "–")})
	}
	return p
}

func newPageTrace(h *htmlPage, t *trace.Trace, w *words) *pageTrace {
	text := func(i int) int {
		if i < 0 || w.hidden {
			return -1
		}
		return h.Texts.of(t.Texts[i]) // replays of one session have most in common
	}
	names := &namer{}
	p := &pageTrace{Items: [][]int{}, Kind: []int{}, Tool: []int{}, Class: []int{}, Tokens: []int{}, Text: []int{}, Edits: [][]int{}, States: [][]int{}, Steps: []pageStep{}, Texts: len(t.Texts) > 0 && !w.hidden, Cut: t.Cut}
	flag := func(ok bool) int { return either(ok, 1, 0) }
	for _, it := range t.Items {
		if it.First < 0 {
			p.Items = append(p.Items, []int{})
			continue
		}
		about := Clean(it.About)
		if w.hidden {
			about = it.Class
		}
		p.Items = append(p.Items, []int{int(it.Role), names.of(it.Class), names.of(about), it.Line, flag(it.Outside), it.First, it.Blocks, it.Tag, it.Edit})
	}
	kinds := slices.Collect(maps.Values(blockKinds))
	for _, b := range t.Blocks {
		kind := cmp.Or(blockKinds[b.Kind], Clean(b.Kind))
		if w.hidden && !slices.Contains(kinds, kind) {
			kind = "other"
		}
		p.Kind, p.Tool = append(p.Kind, names.of(kind)), append(p.Tool, names.of(w.tool(b.Tool)))
		p.Tokens, p.Text, p.Class = append(p.Tokens, b.Tokens), append(p.Text, text(b.Text)), append(p.Class, names.of(contentNames[b.Class]))
	}
	for _, e := range t.Edits {
		p.Edits = append(p.Edits, []int{e.Request, names.of(Clean(e.Stage)), names.of(Clean(kindText(e.Kind))), names.of(w.or(e.Reason, ""))})
	}
	for _, s := range t.States {
		p.States = append(p.States, []int{s.Edit, s.Tokens, text(s.Text)})
	}
	for _, s := range t.Steps {
		o := pageStep{Joined: s.Joined, System: s.System, Less: s.Less}
		for _, sp := range s.Splices {
			o.Splices = append(o.Splices, append([]int{sp.At, sp.Delete}, sp.Insert...))
		}
		for _, l := range s.Left {
			o.Left = append(o.Left, append([]int{l.Edit}, l.Items...))
		}
		for _, c := range s.Changes {
			o.Changes = append(o.Changes, c.Block, c.State)
		}
		p.Steps = append(p.Steps, o)
	}
	p.Names = names.list
	return p
}

// blockKinds are the words for kinds of blocks.
var blockKinds = map[string]string{
	"": "text", "text": "text", "thinking": "thinking", "redacted_thinking": "thinking", "tool_use": "call", "server_tool_use": "call", "tool_result": "result",
	"image": "image", "document": "document", "attachment": "attachment", "tag": "tag",
}
