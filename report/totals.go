package report

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/replay"
)

func totalFields(tl *replay.Timeline) [][2]string {
	t, sent := tl.Totals, sentName(tl)
	f := [][2]string{
		{"requests", thousands(t.Requests)},
		{"peak", fmt.Sprintf("raw %s, %s %s (%s of raw)", thousands(t.RawPeak), sent, thousands(t.PayloadPeak), percent(t.PayloadPeak, t.RawPeak))},
		{"mean", meanText(tl)},
		{"sent", fmt.Sprintf("raw %s, %s %s: saved %s (%s)", thousands(t.RawInput), sent, thousands(t.Payload-t.OwnInput), thousands(t.Saved), percent(t.Saved, t.RawInput))},
		{"output", thousands(t.Output - t.OwnOutput)},
	}
	if t.Calls > t.Requests {
		f = append(f, [2]string{"own calls", fmt.Sprintf("%s by the policy: %s sent, %s written; cache and cost hold them too", thousands(t.Calls-t.Requests), thousands(t.OwnInput), thousands(t.OwnOutput))})
	}
	f = append(f, [2]string{"events", fmt.Sprintf("%s, %s, %s cleared", thousands(t.Events), count(t.Compactions, "compaction"), count(t.Cleared, "result"))})
	if c := t.Cache; c.Input() > 0 {
		f = append(f, [2]string{"cache", fmt.Sprintf("read %s (%s), written %s, uncached %s", thousands(c.Read), percent(c.Read, c.Input()), thousands(c.Write5m+c.Write1h), thousands(c.Uncached))})
	}
	if t.CostUSD.Known || t.Unpriced > 0 {
		f = append(f, [2]string{"cost", costText(t)})
	}
	if tl.Regret != nil {
		f = append(f, [2]string{"regret", regretText(tl.Regret)})
	}
	if t.Violations > 0 {
		f = append(f, [2]string{"violations", thousands(t.Violations) + " of the API's rules"})
	}
	if t.Transcript > 0 {
		f = append(f, [2]string{"transcript", count(t.Transcript, "violation") + " of the API's rules of its own"})
	}
	if t.Preserved > 0 {
		f = append(f, [2]string{"thinking", count(t.Preserved, "edit") + " before it, on a model that preserves it"})
	}
	return append(f, [2]string{"lines", linesText(tl.Lines)})
}

// meanText is the mean of what the session's own requests sent; the model
// view's, which is another where the API edits it.
func meanText(tl *replay.Timeline) string {
	t := tl.Totals
	if !hasPayloads(tl) || t.Requests == 0 {
		return "model " + thousands(t.ModelMean)
	}
	sent := (t.Payload - t.OwnInput + t.Requests/2) / t.Requests
	return "payload " + thousands(sent) + ", model view " + thousands(t.ModelMean)
}

// costText is the cost, and how many requests it leaves out.
func costText(t replay.Totals) string {
	s := "USD " + t.CostUSD.String()
	if t.Unpriced > 0 {
		s += ", without " + count(t.Unpriced, "request") + " of a model that no price is known for"
	}
	return s
}

// linesText says where every line went.
func linesText(l replay.Lines) string {
	reasons := make([]string, 0, len(l.SetAside))
	aside := 0
	for r, n := range l.SetAside {
		if n > 0 {
			reasons = append(reasons, r)
			aside += n
		}
	}
	sort.Slice(reasons, func(i, j int) bool {
		a, b := reasons[i], reasons[j]
		if l.SetAside[a] != l.SetAside[b] {
			return l.SetAside[a] > l.SetAside[b]
		}
		return a < b
	})
	s := fmt.Sprintf("read %s = used %s + set aside %s", thousands(l.Read), thousands(l.Used), thousands(aside))
	if l.Fused > 0 {
		s = fmt.Sprintf("read %s, %s of them fused with another = used %s + set aside %s", thousands(l.Read), thousands(l.Fused), thousands(l.Used), thousands(aside))
	}
	if len(reasons) == 0 {
		return s
	}
	parts := make([]string, len(reasons))
	for i, r := range reasons {
		parts[i] = r + " " + thousands(l.SetAside[r])
	}
	return s + " (" + strings.Join(parts, ", ") + ")"
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
	p.hidden(len(tl.Warnings)-len(texts), "warning", "json holds them")
}

func warningText(file string, line int, message, own string) string {
	where := ""
	switch {
	case file == own && line > 0:
		where = "line " + strconv.Itoa(line) + ": "
	case file != "" && file != own && line > 0:
		where = file + ":" + strconv.Itoa(line) + ": "
	case file != "" && file != own:
		where = file + ": "
	}
	return where + message
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
	title := "session " + session
	if agent != "" {
		title += ", agent " + agent
	}
	return title
}
