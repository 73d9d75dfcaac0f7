package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/interval"
)

// losers are the policies whose losses are counted.
var losers = []string{"claude-code", "opencode", "codex", "gemini-cli", "qwen-code", "pi", "openhands", "goose", "crush", "cline", "roo-code", "mask"}

// compaction counts what policies removed before it was needed, and what followed recorded compactions.
func compaction(src *sources) (*article, error) {
	a := &article{title: "What compaction really loses"}
	picture := &chart{name: "compaction", title: "Edits and quotes of removed content", axis: "share of the removed blocks"}
	reads := newTable("compaction-rereads", column{"corpus", "corpus"}, column{"compactions", "recorded compactions"}, column{"requests", "requests after"}, column{"after", "files read"}, column{"again", "of them again"},
		column{"control_requests", "requests before"}, column{"before", "files read"}, column{"earlier", "of them again"}, column{"share", "share after"}, column{"control", "share before"},
		column{"change", "difference"}, column{"low", "from"}, column{"high", "to"})
	rates := newTable("compaction-rates", column{"corpus", "corpus"}, column{"rate", "files read again a request, after"}, column{"control", "before"}, column{"change", "difference"}, column{"low", "from"}, column{"high", "to"})
	price := newTable("compaction-price", column{"corpus", "corpus"}, column{"compactions", "recorded compactions"}, column{"usd", "USD of the record"}, column{"own", "USD of their calls"}, column{"share", "of the record"},
		column{"files", "files read again"}, column{"tokens", "their tokens"}, column{"each", "tokens a compaction"}, column{"refetch", "USD to get them back"}, column{"of", "of the record"})
	for i, c := range src.all() {
		all, err := compareIn(c, append([]string{"recorded"}, losers...))
		if err != nil {
			return nil, err
		}
		t := missTable("compaction-"+c.key, all)
		a.addTable(t)
		if c != src.codex {
			for _, r := range t.rows {
				picture.rows = append(picture.rows, markOf(r[0].raw+map[bool]string{true: ", second"}[c == src.more], r[7:10], i))
			}
			picture.rows = append(picture.rows, mark{})
		}
		w, err := readsAround(all)
		if err != nil {
			return nil, err
		}
		row := []cell{text(c.title), count(w.boundaries), count(w.after.requests), count(w.after.files), count(w.after.again), count(w.before.requests), count(w.before.files), count(w.before.again),
			share(w.after.share()), share(w.before.share())}
		reads.add(append(row, bounds(w.shares)...)...)
		row = []cell{text(c.title), number(w.after.rate(), 3), number(w.before.rate(), 3)}
		seen := w.after.files+w.before.files > 0
		if !seen {
			row[1], row[2] = blank, blank
		}
		for _, x := range bounds(w.rates) {
			switch {
			case !seen:
				x = blank
			case x.known:
				x = signed(x.value)
			}
			row = append(row, x)
		}
		rates.add(row...)
		list := all.Each
		record, own := sum(list, "recorded", "cost_usd"), sum(list, "recorded", "cost_own_calls")
		back := sum(list, "recorded", "refetch_usd")
		files, tokens := sum(list, "recorded", "misses_reread"), sum(list, "recorded", "refetch_tokens")
		price.add(text(c.title), count(w.boundaries), number(record, 2), number(own, 2), share(own/record), whole(files), whole(tokens), whole(tokens/max(1, float64(w.boundaries))), number(back, 2), share(back/record))
	}
	a.addTable(reads, rates, price)
	return a, a.addChart(picture)
}

// missTable has what each policy removed too early: misses by kind, and edits and quotes as a share of the removed blocks
// with its interval over projects.
func missTable(name string, all *comparison) *table {
	t := newTable(name, column{"policy", "policy"}, column{"sessions", "sessions"}, column{"compactions", "compactions"}, column{"removed", "blocks removed"},
		column{"reread", "re-read"}, column{"edit", "edited"}, column{"quote", "quoted"},
		column{"change", "edited or quoted, of removed"}, column{"low", "from"}, column{"high", "to"}, column{"all", "all misses, of removed"},
		column{"tokens", "tokens to get back"}, column{"usd", "USD to get back"}, column{"of", "of its cost"}, column{"own", "USD of its calls"}, column{"ownof", "of its cost"})
	for _, p := range losers {
		list := all.common(p)
		add := func(f string) float64 { return sum(list, p, f) }
		used := overProjects(list, func(s *compared) (float64, float64) {
			f := s.Figures[p]
			return f["misses_edit"] + f["misses_quote"], f["removed_blocks"]
		})
		if add("misses_edit")+add("misses_quote") == 0 { // no draw differs in them
			used.Lower.Known, used.Upper.Known = false, false
		}
		removed, cost := add("removed_blocks"), add("cost_usd")
		row := []cell{text(p), count(len(list)), whole(add("compactions")), whole(removed), whole(add("misses_reread")), whole(add("misses_edit")), whole(add("misses_quote"))}
		row = append(row, fine(bounds(used))...)
		row = append(row, precise(add("misses")/removed), whole(add("refetch_tokens")), number(add("refetch_usd"), 2), precise(add("refetch_usd")/cost), number(add("cost_own_calls"), 2), share(add("cost_own_calls")/cost))
		t.add(row...)
	}
	return t
}

// precise is a small share, shown with two decimals.
func precise(x float64) cell {
	c := number(x, 6)
	if c.known {
		c.shown = fmt.Sprintf("%.2f %%", zero(100*x, 0.005))
	}
	return c
}

// fine shows changes with two decimals.
func fine(list []cell) []cell {
	for i, c := range list {
		if c.known {
			list[i] = percentOf(c.value)
		}
	}
	return list
}

func percentOf(x float64) cell {
	c := number(x, 6)
	if c.shown = strings.Replace(fmt.Sprintf("%+.2f %%", zero(100*x, 0.005)), "-", "−", 1); c.shown == "+0.00 %" {
		c.shown = c.shown[1:]
	}
	return c
}

// signed is a difference of numbers.
func signed(x float64) cell {
	c := number(x, 3)
	c.shown = strings.Replace(fmt.Sprintf("%+.3f", zero(x, 0.0005)), "-", "−", 1)
	return c
}

// soon is how many requests before and after a compaction are looked at, as `ctxkit compare` does.
const soon = 30

// window is the files that were read in some requests, and how many of them had been read before.
type window struct{ requests, files, again int }

func (w window) share() float64 { return float64(w.again) / float64(w.files) }

func (w window) rate() float64 { return float64(w.again) / float64(w.requests) }

func (w window) plus(o window) window {
	return window{w.requests + o.requests, w.files + o.files, w.again + o.again}
}

// around is what was read around recorded compactions.
type around struct {
	boundaries    int
	after, before window
	shares, rates interval.Interval // differences of after and before
}

// readsAround counts the files that were read within soon requests after each recorded compaction, and those that had
// been read before it; and the same before the compaction, for as many requests that are not soon after another. The
// second is what reading again comes to without a compaction.
func readsAround(all *comparison) (w around, err error) {
	by := map[string][2]window{}
	for _, s := range all.Each {
		f, err := session.Load(s.File, session.LoadOptions{})
		if err != nil {
			return w, err
		}
		list, err := readsOf(f.Main)
		if err != nil {
			return w, err
		}
		last := -soon // no compaction before
		for _, b := range f.Main.Boundaries {
			w.boundaries++
			p := by[s.Project]
			p[0] = p[0].plus(windowOf(list, b.Request, min(b.Request+soon, len(f.Main.Requests)+1)))
			p[1] = p[1].plus(windowOf(list, max(b.Request-soon, last+soon, 1), b.Request))
			by[s.Project] = p
			last = b.Request
		}
		f.Close()
	}
	difference := func(den func(w window) int) interval.Interval {
		var sides [2][]interval.Ratio
		for _, p := range slices.Sorted(maps.Keys(by)) {
			for i, one := range by[p] {
				sides[i] = append(sides[i], interval.Ratio{Num: int64(one.again), Den: int64(den(one))})
			}
		}
		return interval.Difference(sides[0], sides[1])
	}
	for _, p := range by {
		w.after, w.before = w.after.plus(p[0]), w.before.plus(p[1])
	}
	w.shares = difference(func(w window) int { return w.files })
	w.rates = difference(func(w window) int { return w.requests })
	return w, nil
}

// read is a call of Read, in the response of a request.
type read struct {
	request int
	path    string
}

// readsOf are the reads of a conversation, in order.
func readsOf(conv *session.Conversation) (list []read, err error) {
	request := 0
	for m := range conv.Messages {
		msg := &conv.Messages[m]
		if request < len(conv.Requests) && conv.Requests[request].Message == m {
			request++
		}
		if msg.RecordOnly {
			continue
		}
		for i := range msg.Blocks {
			bl := &msg.Blocks[i]
			if bl.Kind != jsonl.KindToolUse || conv.Alike(bl.Name) != "Read" {
				continue
			}
			input, err := conv.Raw(m, i)
			if err != nil {
				return nil, err
			}
			var in session.FileInput
			if json.Unmarshal(conv.AlikeInput(bl.Name, input), &in) == nil && in.FilePath != "" {
				list = append(list, read{request, in.FilePath})
			}
		}
	}
	return list, nil
}

// windowOf counts the files that were read from a request up to another, each once, and of them those that had been read
// before the first of these requests.
func windowOf(list []read, from, to int) (w window) {
	w.requests = max(0, to-from)
	known, seen := map[string]bool{}, map[string]bool{}
	for _, r := range list {
		switch {
		case r.request < from:
			known[r.path] = true
		case r.request < to && !seen[r.path]:
			seen[r.path] = true
			w.files++
			if known[r.path] {
				w.again++
			}
		}
	}
	return w
}
