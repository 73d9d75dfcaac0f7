package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/requests"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/cache"
	"github.com/ctxkit/ctxkit/replay/category"
	"github.com/ctxkit/ctxkit/replay/price"
	"github.com/ctxkit/ctxkit/replay/stats"
	"github.com/ctxkit/ctxkit/replay/why"
)

// counted are the cache misses that the answer counts: those of the recorded session where it has usage, else the
// simulated ones.
func counted(s *why.SessionBreaks) []why.CacheBreak {
	return slices.DeleteFunc(slices.Clone(s.Breaks), func(b why.CacheBreak) bool { return s.ByUsage() && b.InFile == nil })
}

// breakSection lists the cache misses.
func breakSection(p *page, s *why.SessionBreaks) {
	shown := counted(s)
	if p.All {
		shown = s.Breaks
	}
	p.top("cache misses, the most expensive first", cacheBreakTable(s, shown), mostBreaks, "cache miss", "json and csv contain them")
	if n := len(s.Breaks) - len(shown); n > 0 {
		var only price.USD
		lost := map[string]int{} // by cause
		for i := range s.Breaks {
			if b := &s.Breaks[i]; b.InFile == nil {
				only.Add(b.USD())
				lost[lossText(b.Cause, b.Stage, b.Edit)] += b.Lost()
			}
		}
		var causes []string
		for _, name := range byCount(lost) {
			causes = append(causes, phrase("%v (%v tokens)", name, lost[name]))
		}
		p.note(faint, phrase("The simulated cache alone missed at %v, %v: %v. (%v)", count(n, "further request"), usdText(only), strings.Join(causes, ", "), joined(", ", p.Hints.All, "json and csv contain them")))
	}
}

// cacheBreakTable has a row per break.
func cacheBreakTable(s *why.SessionBreaks, list []why.CacheBreak) *table {
	return rowsOf(list, func(b *why.CacheBreak, r *cacheBreakCells) style {
		r.named, r.TimeUTC, r.IdleSeconds, r.What, r.Lost = named{s.Session, s.Agent, s.File, s.Policy, s.Counter}, clock{b.Time, "01-02 15:04"}, decimal{b.Idle, 3}, breakText(b), b.Lost()
		if b.Event != nil {
			r.Event = *b.Event
		}
		r.USD = cmp.Or(b.Sim, &why.SimulatedBreak{}).USD
		if s.ByUsage() {
			r.Lost, r.USD, r.Simulated = number("-"), price.USD{}, r.USD
		}
		if in := b.InFile; in != nil {
			r.Lost = in.Lost
			if s.ByUsage() {
				r.USD = in.USD
			}
		}
		return either(b.Cause == backtest.Unexplained, yellow, none)
	})
}

// longPause is the shortest pause that is worth a word next to another cause, seconds: the shorter TTL.
const longPause = 5 * 60

// breakText is the cause of a break in words.
func breakText(b *why.CacheBreak) string {
	idle := timeSpan(b.Idle) + either(b.Tool, " in a tool call", " idle")
	text := lossText(b.Cause, b.Stage, b.Edit)
	switch {
	case b.Cause == cache.Expired && b.Idle > 0:
		return text + " after " + idle
	case b.Cause == cache.Expired:
		return text
	case b.Sent != nil && b.Sent.Change != nil && b.Cause != cache.Compacted:
		text += ": " + changeText(b.Sent.Change)
	case b.Model != "":
		text += phrase(": from %v to %v", cmp.Or(b.Before, "(unknown)"), b.Model)
	case b.Trigger != "" && b.Edit != policy.KindInferred:
		text += " (" + b.Trigger + ")"
	case b.InFile != nil && b.InFile.Reason != "" && b.InFile.Reason != "unavailable":
		reason := strings.ReplaceAll(Clean(b.InFile.Reason), "_", " ")
		text += phraseIf(reason != text, ": %v", reason) + " (recorded by the client)"
	case b.Cause == backtest.Unexplained:
		text += either(b.Sent != nil, ": all of the request before was sent again", ": no line says why")
	}
	return text + phraseIf(b.Idle >= longPause, ", after %v", idle)
}

// sentTable has a row per request that differs from the one before.
func sentTable(list []why.RequestChange) *table {
	return rowsOf(list, func(c *why.RequestChange, r *sentCells) style {
		if r.FirstDifference = changeText(c.Change); !c.USD.Known {
			r.USD = nil
		}
		return none
	})
}

// changeText says what differs between two requests on record.
func changeText(c *requests.BodyChange) string {
	what := string(c.Part) + " " + c.Name
	switch c.Part {
	case requests.PartModel:
		what = "model"
	case requests.PartSystem:
		what = phrase("system prompt, text %v", c.Block)
	case requests.PartMessage:
		what = phrase("message %v (%v), block %v (%v), line %v,", c.Message, c.Role, c.Block, c.Name, c.Line)
	}
	switch {
	case len(c.Tools) > 0:
		return toolsText(c.Tools)
	case c.Was == "":
		return what + " is new"
	case c.Is == "":
		return what + " is gone"
	case c.Part == requests.PartTool:
		var words []string
		for _, m := range c.Members {
			words = append(words, phrase("%v %v B, was %v B", m.Name, m.Is, m.Was))
		}
		return what + " is another" + before(": ", strings.Join(words, "; "))
	case c.Was == cutMark:
		return phrase("%v has in addition: %v", what, shownText(c.Is))
	case c.Is == cutMark:
		return phrase("%v lacks: %v", what, shownText(c.Was))
	}
	return cmp.Or(membersText(c), phrase("%v was %v, is %v", what, Clean(c.Was), Clean(c.Is)))
}

// toolsText says which tools are new, gone, or at another place.
func toolsText(list []requests.ToolPlace) string {
	var fresh, gone, words []string
	for _, t := range list {
		switch {
		case t.Was == 0:
			fresh = append(fresh, t.Name)
		case t.Is == 0:
			gone = append(gone, t.Name)
		default:
			words = append(words, phrase("tool %v moved from place %v to %v", t.Name, t.Was, t.Is))
		}
	}
	named := func(names []string, what string) string {
		return either(len(names) == 1, "tool ", "tools ") + strings.Join(names, ", ") + either(len(names) == 1, " is ", " are ") + what
	}
	if len(gone) > 0 {
		words = slices.Insert(words, 0, named(gone, "gone"))
	}
	if len(fresh) > 0 {
		words = slices.Insert(words, 0, named(fresh, "new"))
	}
	return strings.Join(words, "; ")
}

// shownText is a text that is more than another; white space alone is quoted.
func shownText(text string) string {
	text = strings.TrimPrefix(text, cutMark)
	return cmp.Or(Clean(strings.TrimSpace(text)), strconv.Quote(text))
}

// cutMark stands for what two texts have in common.
const cutMark = "…"

// membersText says which members of a setting differ; "" where it is none with members, or one too long to tell.
func membersText(c *requests.BodyChange) string {
	var was, is map[string]json.RawMessage
	if c.Part != requests.PartSetting || json.Unmarshal([]byte(c.Was), &was) != nil || json.Unmarshal([]byte(c.Is), &is) != nil {
		return ""
	}
	both := maps.Clone(was)
	maps.Copy(both, is)
	var words []string
	value := func(v json.RawMessage) string { return Clean(strings.Trim(compactJSON(v), `"`)) }
	for _, name := range slices.Sorted(maps.Keys(both)) {
		what := strings.TrimPrefix(c.Name+"."+name, "output_config.")
		switch a, b := was[name], is[name]; {
		case a == nil:
			words = append(words, phrase("%v %v is new", what, value(b)))
		case b == nil:
			words = append(words, phrase("%v %v is gone", what, value(a)))
		case compactJSON(a) != compactJSON(b):
			words = append(words, phrase("%v was %v, is %v", what, value(a), value(b)))
		}
	}
	return strings.Join(words, "; ")
}

// recordedEdits are the edits of the recorded track in words.
var recordedEdits = map[policy.EditKind]string{
	policy.KindClear: "microcompaction", policy.KindPersist: "results moved to files", policy.KindRemove: "messages removed",
	policy.KindCollapse: "span collapsed", policy.KindAttach: "messages attached", policy.KindInferred: "tokens left, no line says which",
}

// lossText is a cause in words.
func lossText(c cache.BreakCause, stage string, kind policy.EditKind) string {
	recorded := stage == "" || stage == replay.RecordedTrack().Name
	switch c {
	case backtest.Unexplained:
		return "unexplained"
	case cache.Expired:
		return "expired"
	case cache.Compacted:
		return either(recorded, "compaction", "compaction by "+stage)
	case cache.Edited:
		if recorded {
			return cmp.Or(recordedEdits[kind], "recorded edit")
		}
		return "edit by " + stage + phraseIf(kind != "", ": %v", kind)
	case cache.ModelSwitch:
		return "another model"
	}
	return cache.Cause{Kind: c}.String()
}

// refillSection lists what filled the context before each compaction.
func refillSection(p *page, s *why.SessionBreaks) {
	t := rowsOf(s.Refills, func(x *stats.Refill, r *refillCells) style {
		r.Before, r.Time = number(either(x.To > s.Requests, "end", thousands(x.To))), number(either(x.Seconds > 0 && x.Seconds < 60, "<1 min", timeSpan(x.Seconds)))
		r.Freed, r.MostOfIt = number(perMille(x.Freed)), sourcesText(x.Parts, 3)
		return none
	})
	p.top("what was added before each compaction; freed: the part of the messages then in the context that it took away", t, MostStats, "compaction", "json contains them")
	for _, r := range s.Refills[:either(p.All, len(s.Refills), min(1, len(s.Refills)))] {
		t := rowsOf(r.Heaviest, func(x *stats.RefillSource, r *refillSourceCells) style {
			r.What = sourceText(x)
			r.Line = number(either(x.Line > 0, fmt.Sprint(x.Line), ""))
			return none
		})
		p.top(phrase("the largest parts before the compaction at %v", either(r.To > s.Requests, "the end", "request "+thousands(r.To))), t, MostStats, "source", "json contains them")
	}
}

// sourceText is where tokens came from, in words.
func sourceText(x *stats.RefillSource) string {
	tool := slices.Contains([]category.Name{category.Calls, category.Results, category.Images, category.Attachments, category.Notes}, x.Category)
	return contentNames[x.Category] + phraseIf(tool && x.Of != "", " (%v)", x.Of)
}

// sourcesText names the largest sources.
func sourcesText(list []stats.RefillSource, most int) string {
	var words []string
	for i := range list[:min(most, len(list))] {
		words = append(words, phrase("%v %v", sourceText(&list[i]), list[i].Tokens))
	}
	return strings.Join(words, ", ") + phraseIf(len(list) > most, ", …")
}
