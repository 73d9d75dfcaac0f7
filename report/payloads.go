package report

import (
	"cmp"
	"fmt"
	"io"

	"github.com/ctxkit/ctxkit/replay/backtest"
	"github.com/ctxkit/ctxkit/replay/payloads"
)

// Payloads prints how far requests that are rebuilt are those that were sent; bars are what the measures are judged by, nil
// where they are not.
func Payloads(w io.Writer, r *payloads.PayloadScores, bars []backtest.Bar, opt Layout) error {
	t := rowsOf(r.Rows, func(x *payloads.ScoreRow, _ *payloadCells) style { return totalStyle(x.Clients) })
	d := &document{
		page: func(p *page) {
			p.note(bold, payloadsAnswer(r))
			p.table(t)
			p.note(faint, "conversation: prompts, answers, thinking, calls, results and their order are equal. whole: every block is, and on record system prompt, tools and parameters, as far as both are known. missing: blocks that were sent and lines of the file hold as a whole; unheld: the client's own words, which are not in the file. extra: blocks that were not sent, placeholders left out. moved: at another place.")
			p.section("measures", fidelityTable(bars))
			p.section("what differs, by kind of block", rowsOf[payloadKindCells](r.Kinds, nil))
			p.places(payloadPlaces(r, p.All))
		},
		json: func() any { return r },
		csv:  func() *table { return t },
	}
	return d.print(w, opt)
}

// payloadsAnswer is how many requests are equal, in a sentence.
func payloadsAnswer(r *payloads.PayloadScores) string {
	text := "No request could be compared."
	for _, row := range r.Rows {
		if row.Clients == payloads.All && row.Track == payloads.Rebuilt {
			text = phrase("%v of %v rebuilt from the conversation hold what was said, %v every block.", row.Conversation, count(row.Requests, "request"), row.Whole)
		}
		if row.Clients == payloads.All && row.Track == payloads.OnRecord {
			text += phrase(" Of %v on record %v are equal as a whole.", row.Requests, row.Whole)
		}
	}
	if q := &r.Record; q.Requests > 0 {
		text += phrase(" The files hold %v; %v can be put together, with %v of %v; ", count(q.Requests, "request"), q.Whole, q.Found, count(q.Messages, "message"))
		text += either(q.Digests == 0, "none of them has a digest of the client.", phrase("of %v with a digest of the client %v fit it.", q.Digests, q.Exact))
		text += phraseIf(q.Exact < q.Digests, " The rest was changed after it was recorded (ctxkit lint names the lines), or has a field that the file lacks.")
		text += phraseIf(q.Unasked > 0, " Not compared, for want of a response in the conversation: %v of them.", q.Unasked)
	}
	unmatched := 0
	for _, s := range r.Sessions {
		unmatched += s.Unmatched
	}
	text += phraseIf(r.Unused > 0, " Not compared, for want of a response in these conversations: %v of the true requests.", r.Unused)
	text += phraseIf(unmatched > 0, " Of %v of the conversations it is not known how they were sent: they are not compared.", count(unmatched, "request"))
	return text
}

// payloadPlaces names the blocks that differ, those alone that are not the client's own words. Those that the page hides
// have no text.
func payloadPlaces(r *payloads.PayloadScores, all bool) (notes []string) {
	for _, s := range r.Sessions {
		for _, c := range s.Results {
			for _, d := range c.Differences {
				if d.What == payloads.Unheld || d.What == payloads.StandIn {
					continue
				}
				text := ""
				if where := fmt.Sprintf("%s:%d: request %d, %s: ", s.File, cmp.Or(d.Line, c.Line), c.Request, c.Track); d.What == payloads.Frame {
					text = where + fmt.Sprintf("%s: not as sent: %q", joined(" ", d.Kind, d.ID), d.Text)
				} else if all || len(notes) < mostPlacesListed {
					text = where + fmt.Sprintf("%s: %s %s at message %d, block %d: %q", d.What, d.Role, d.Kind, d.Message, d.Block, d.Text)
				}
				notes = append(notes, text)
			}
		}
	}
	return notes
}
