package report

import (
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/replay"
)

func totalFields(tl *replay.Timeline) [][2]string {
	t, sent := tl.Totals, sentName(tl)
	var f [][2]string
	add := func(when bool, name, format string, args ...any) {
		f = append(f, [2]string{name, phraseIf(when, format, args...)})
	}
	c := t.Cache
	add(true, "requests", "%v", t.Requests)
	add(true, "peak", "raw %v, %v %v (%v of raw)", t.RawPeak, sent, t.PayloadPeak, percent(t.PayloadPeak, t.RawPeak))
	add(!hasPayloads(tl) || t.Requests == 0, "mean", "model %v", t.ModelMean)
	if hasPayloads(tl) && t.Requests > 0 {
		add(true, "mean", "payload %v, model view %v", (t.Payload-t.OwnInput+t.Requests/2)/t.Requests, t.ModelMean)
	}
	add(true, "sent", "raw %v, %v %v: saved %v (%v)", t.RawInput, sent, t.Payload-t.OwnInput, t.Saved, percent(t.Saved, t.RawInput))
	add(true, "output", "%v", t.Output-t.OwnOutput)
	add(t.Calls > t.Requests, "own calls", "%v by the policy: %v sent, %v written; cache and cost include them", t.Calls-t.Requests, t.OwnInput, t.OwnOutput)
	add(true, "events", "%v, %v, %v cleared", t.Events, count(t.Compactions, "compaction"), count(t.Cleared, "result"))
	add(c.Input() > 0, "cache", "read %v (%v), written %v, uncached %v", c.Read, percent(c.Read, c.Input()), c.Write5m+c.Write1h, c.Uncached)
	add(t.CostUSD.Known || t.Unpriced > 0, "cost", "USD %v%v", t.CostUSD,
		phraseIf(t.Unpriced > 0, ", without %v of a model with no known price", count(t.Unpriced, "request")))
	if tl.Regret != nil {
		add(true, "regret", "%v", regretText(tl))
	}
	add(t.Violations > 0, "violations", "%v of the API's rules", t.Violations)
	add(t.Transcript > 0, "transcript", "%v of the API's rules in the transcript itself", count(t.Transcript, "violation"))
	add(t.Preserved > 0, "thinking", "%v before thinking that the model preserves", count(t.Preserved, "edit"))
	add(true, "lines", "%v", linesText(tl.Lines))
	return f
}

// linesText accounts for every line of the file.
func linesText(l replay.Lines) string {
	var parts []string
	aside := 0
	for _, reason := range byCount(l.SetAside) {
		if n := l.SetAside[reason]; n > 0 {
			parts = append(parts, reason+" "+thousands(n))
			aside += n
		}
	}
	return phrase("read %v%v = used %v + set aside %v%v", l.Read, phraseIf(l.Fused > 0, ", %v of them fused with another", l.Fused),
		l.Used, aside, phraseIf(len(parts) > 0, " (%v)", strings.Join(parts, ", ")))
}

func printWarnings(p *page, tl *replay.Timeline) {
	if len(tl.Warnings) == 0 {
		return
	}
	p.heading("warnings")
	var texts []string
	for i, w := range tl.Warnings {
		if !p.All && i == mostWarnings-1 && len(tl.Warnings) > mostWarnings {
			break
		}
		texts = append(texts, warningText(w.File, w.Line, w.Message, tl.File))
	}
	p.items(none, texts)
	p.hidden(len(tl.Warnings)-len(texts), "warning", "json contains them")
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

// printOverview prints one row per conversation, and their sum.
func printOverview(p *page, tls []*replay.Timeline) {
	p.heading("all sessions")
	t := newTable([]column{{Title: "session", Flex: true}}, titles("requests", "raw peak", "model peak", "saved", "compacted", "cleared", "USD"))
	var sum replay.Totals
	row := func(st style, name string, x replay.Totals) {
		t.add(st, name, x.Requests, x.RawPeak, x.ModelPeak, x.Saved, x.Compactions, x.Cleared, x.CostUSD)
	}
	for _, tl := range tls {
		x := tl.Totals
		row(none, strings.TrimSpace(tl.Session+" "+tl.Agent), x)
		sum.Requests += x.Requests
		sum.RawPeak = max(sum.RawPeak, x.RawPeak)
		sum.ModelPeak = max(sum.ModelPeak, x.ModelPeak)
		sum.Saved += x.Saved
		sum.Compactions += x.Compactions
		sum.Cleared += x.Cleared
		sum.CostUSD.Add(x.CostUSD)
	}
	row(bold, "sum; of peaks the highest", sum)
	p.table(t)
}

// sessionTitle names a conversation in a heading.
func sessionTitle(session, agent string) string {
	return "session " + session + phraseIf(agent != "", ", agent %v", agent)
}
