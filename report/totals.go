package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/price"
)

func totalFields(tl *replay.Timeline) [][2]string {
	t := tl.Totals
	sent := sentName(tl)
	var f [][2]string
	add := func(when bool, name, format string, args ...any) {
		f = append(f, field{name, phraseIf(when, format, args...)})
	}
	c := t.Cache
	add(true, "requests", "%v", t.Requests)
	add(true, "peak", "raw %v, %v %v (%v of raw)", t.RawPeak, sent, t.PayloadPeak, percent(t.PayloadPeak, t.RawPeak))
	add(!hasPayloads(tl) || t.Requests == 0, "mean", "model %v", t.ModelMean)
	if hasPayloads(tl) && t.Requests > 0 {
		add(true, "mean", "payload %v, model view %v", (t.Payload-t.OwnInput+t.Requests/2)/t.Requests, t.ModelMean)
	}
	add(true, "sent", "raw %v, %v %v: saved %v (%v)%v", t.RawInput, sent, t.Payload-t.OwnInput, t.Saved, percent(t.Saved, t.RawInput),
		phraseIf(t.NotReadBack != 0, ", not read back after a restart %v", t.NotReadBack))
	add(t.Placeholders > 0, "unrecorded", "%v in the last request that the client had added and no line shows, about %v tokens", count(t.Placeholders, "block"), t.PlaceholderTokens)
	add(true, "output", "%v", t.Output-t.OwnOutput)
	add(t.Calls > t.Requests, "own requests", "%v by the %v: %v in, %v out; cache and cost include them", t.Calls-t.Requests, caller(tl.Policy), t.OwnInput, t.OwnOutput)
	add(true, "events", "%v, %v, %v cleared", t.Events, count(t.Compactions, "compaction"), count(t.Cleared, "result"))
	add(c.Input() > 0, "cache", "simulated: read %v (%v), written %v, uncached %v", c.Read, percent(c.Read, c.Input()), c.Write5m+c.Write1h, c.Uncached)
	add(t.CostUSD.Known || t.Unpriced > 0, "cost", "USD %v%v%v%v", either(t.CostUSD.Known, tl.CacheFit.Mark(), ""), t.CostUSD,
		phraseIf(t.CostUSD.Known, "%v", before(", ", cacheName(tl.Cache)+shorterText(tl))), phraseIf(t.Unpriced > 0, ", without %v of a model with no known price", count(t.Unpriced, "request")))
	if b := tl.Bill; b != nil && b.Calls+b.Without > 0 {
		add(true, "billed", "%v", either(b.CostUSD.Known, billedAs(b, "USD "+b.CostUSD.String()), "not known"+clientReports(b))+before(": ", shortText(b, tl.CacheFit)))
	}
	add(true, "cache fit", "%v", fitText(tl.CacheFit))
	if tl.Regret != nil {
		add(true, "regret", "%v", regretText(tl))
	}
	add(t.Violations > 0, "violations", "%v of the API's rules", t.Violations)
	add(t.Transcript > 0, "transcript", "%v of the API's rules in the transcript itself", count(t.Transcript, "violation"))
	add(t.Preserved > 0, "thinking", "%v before thinking that the model preserves", count(t.Preserved, "edit"))
	add(true, "lines", "%v", linesText(tl.Lines))
	return f
}

// shorterText says that the policy's cache does not live as long as the recorded session's, which may double the cost.
func shorterText(tl *replay.Timeline) string {
	c := &tl.Totals.Cache
	return phraseIf(tl.Cache == replay.CacheOwn && c.Write5m > 0 && c.Write1h == 0 && tl.Bill != nil && tl.Bill.Input.Write1h > tl.Bill.Input.Write5m,
		": its entries live 5 minutes, the session's an hour")
}

// caller is who makes the calls of a track next to its main requests: where the policy is the recorded session, the
// client did.
func caller(policy string) string { return either(policy == "recorded", "client", "policy") }

// linesText accounts for every line of the file.
func linesText(l replay.Lines) string {
	var parts []string
	aside := 0
	sent := 0
	for _, reason := range byCount(l.SetAside) {
		n := l.SetAside[reason]
		switch kind, ok := strings.CutPrefix(reason, "metadata: "); {
		case n == 0:
		case ok && requests.IsType(kind):
			sent += n
		default:
			parts = append(parts, reason+" "+thousands(n))
			aside += n
		}
	}
	return phrase("read %v%v = used %v%v + set aside %v%v", l.Read, phraseIf(l.Fused > 0, ", %v of them fused with another", l.Fused),
		l.Used, phraseIf(sent > 0, " + requests as they were sent %v", sent), aside, phraseIf(len(parts) > 0, " (%v)", strings.Join(parts, ", ")))
}

// printWarnings prints the warnings of a session, or of several where own is "": counted by kind, or all of them.
func printWarnings(p *page, own string, kinds *WarningKinds, list []session.Warning) {
	text := func(w session.Warning) string { return warningText(w.File, w.Line, w.Message, own) }
	texts, hidden := kinds.Lines(text)
	if len(texts) == 0 {
		return
	}
	p.heading("warnings")
	if p.All || p.Verbose {
		texts = nil
		hidden = 0
		for _, w := range list {
			texts = append(texts, text(w))
		}
	}
	p.items(none, texts)
	if hidden > 0 {
		p.note(faint, phrase("(%v hidden: %v)", count(hidden, "more warning"), joined(", ", p.Hints.Warnings, "json contains them")))
	}
}

func warningText(file string, line int, message, own string) string {
	switch {
	case file == own && line > 0:
		return fmt.Sprintf("line %d: %s", line, message)
	case file == own || file == "":
		return message
	case line > 0:
		return fmt.Sprintf("%s:%d: %s", file, line, message)
	}
	return file + ": " + message
}

// overview is what several replays have in common: a table with a row for each, and sums.
type overview struct {
	rows     []*replay.Timeline // without requests and events
	sum      replay.Totals
	bills    bill.Ledger
	fit      replay.CacheFit
	warnings WarningKinds
	ran      policy.Use
	notes    map[string]policy.Use // what is to be said of the policies: those of which it is
}

func (o *overview) add(tl *replay.Timeline) {
	x := &tl.Totals
	o.rows = append(o.rows, &replay.Timeline{Session: tl.Session, Agent: tl.Agent, File: tl.File, Policy: tl.Policy, Totals: *x})
	o.bills.Add(tl.Bill)
	o.fit.Add(tl.CacheFit)
	o.warnings.Add(tl.Warnings...)
	name := tl.Policy
	if base, _, ok := strings.Cut(tl.Chosen, policy.Extended); ok {
		name = base
	}
	o.ran.Add(policy.Ran{Policy: name, Sessions: 1})
	for _, text := range append([]string{tl.Newer}, tl.Notes...) {
		of := o.notes[text]
		of.Add(policy.Ran{Policy: name, Sessions: 1})
		o.notes[text] = of
	}
	s := &o.sum
	s.Requests += x.Requests
	s.RawInput += x.RawInput
	s.NotReadBack += x.NotReadBack
	s.Payload += x.Payload
	s.OwnInput += x.OwnInput
	s.RawPeak = max(s.RawPeak, x.RawPeak)
	s.ModelPeak = max(s.ModelPeak, x.ModelPeak)
	s.Saved += x.Saved
	s.Compactions += x.Compactions
	s.Cleared += x.Cleared
	s.CostUSD.Add(x.CostUSD)
	s.Refused += x.Refused
	s.Blocked += x.Blocked
	s.Failed += x.Failed
}

// name is the policy of all rows; "" where they differ.
func (o *overview) name() string {
	for _, tl := range o.rows {
		if tl.Policy != o.rows[0].Policy {
			return ""
		}
	}
	return o.rows[0].Policy
}

// print prints the answer over all sessions, a row for each of them, and their warnings by kind.
func (o *overview) print(p *page) {
	billed := o.bills.Bill()
	p.note(bold, count(len(o.rows), "session")+": "+verdictText(o.name(), &o.sum, &o.fit)+".")
	p.note(none, besideText(billed, price.USD{}, "", &o.fit))
	p.notes(yellow, troubleNotes(&o.sum))
	var items []string
	if len(o.ran.Ran) > 1 || o.ran.Ran[0].Policy != o.name() {
		items = append(items, "under "+releasesText(&o.ran, p.All))
	}
	delete(o.notes, "")
	for _, text := range slices.Sorted(maps.Keys(o.notes)) {
		of := o.notes[text]
		items = append(items, phraseIf(of.Sessions() < len(o.rows), "under %v: ", releasesText(&of, p.All))+text)
	}
	p.items(none, items)
	p.heading("all sessions")
	t := tableOf[overviewCells]()
	fill := filler[overviewCells, replay.Totals]()
	row := func(st style, name string, x *replay.Totals) *row {
		cells := overviewCells{Session: name, Billed: billCell(x.USD, x.AtLeast, 4)}
		fill(&cells, x)
		return t.put(st, cells)
	}
	hidden := 0
	for i, tl := range o.rows {
		r := row(none, strings.TrimSpace(tl.Session+" "+tl.Agent), &tl.Totals)
		if r.noTab = i >= MostSessions && !p.All; r.noTab {
			hidden++
		}
	}
	o.sum.Brief = billed.Short()
	row(bold, "sum; of peaks the highest", &o.sum)
	p.table(t)
	p.hidden(hidden, "session", "json and csv contain them")
	p.note(faint, either(p.Verbose, "", p.Hints.Pages))
	printWarnings(p, "", &o.warnings, nil)
}

// verdictText says what a policy makes of the requests, in a sentence: "under opencode, 298 requests send 27,280,375
// tokens, 49.3 % less than raw, for 19.66 USD, with 1 compaction and 108 results cleared".
func verdictText(policy string, t *replay.Totals, fit *replay.CacheFit) string {
	sent := t.Payload - t.OwnInput
	than := phrase("%v less than raw", percent(t.Saved, t.RawInput))
	switch {
	case t.Saved == 0:
		than = "as raw"
	case t.Saved < 0:
		than = phrase("%v more than raw", percent(-t.Saved, t.RawInput))
	}
	than += phraseIf(t.NotReadBack != 0, " (without %v tokens that the restarted client did not read back)", t.NotReadBack)
	return phraseIf(policy != "", "under %v, ", policy) + count(t.Requests, "request") + either(t.Requests == 1, " sends", " send") + phrase(" %v tokens, ", sent) + than +
		phraseIf(t.CostUSD.Known, ", for %v%v%v (simulated)", phraseIf(t.Refused > 0, "at least "), fit.Mark(), usdText(t.CostUSD)) +
		phraseIf(!t.CostUSD.Known && t.Unpriced > 0, ", at an unknown cost (no price is known for the model)") + phrase(", with %v and %v cleared", count(t.Compactions, "compaction"), count(t.Cleared, "result"))
}

// sessionTitle names a conversation in a heading.
func sessionTitle(session, agent string) string {
	return "session " + session + phraseIf(agent != "", ", agent %v", agent)
}
