package report

import (
	"io"
	"slices"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/replay/exact"
	"github.com/ctxkit/ctxkit/replay/predict"
)

// ValidateSchema is the version of the JSON form of predictions of recorded sessions.
const ValidateSchema = "ctxkit.validate/v1"

// Validate prints how well sessions of other windows predict those of one or, where window is 0, those of other
// releases the policy's. out is the number of sessions that were left out.
func Validate(w io.Writer, sessions []predict.SessionTally, window, out int, use policy.Use, opt Layout) error {
	recorded := 0
	for i := range sessions {
		if sessions[i].Recorded != nil {
			recorded++
		}
	}
	rows := predict.Rows(sessions)
	worst, bounds := exact.Whole(0), slices.ContainsFunc(rows, func(r predict.Row) bool { return r.Low.Known })
	t := rowsOf(rows, func(r *predict.Row, row *validateCells) style {
		places := map[string]int{"compactions": 2, "usd": 4}[r.Measure]
		cell := func(d exact.Decimal) pair {
			return pair{number(either(places > 0, d.Text(places), figureText("", d))), d}
		}
		history := any(number(thousands(r.From) + either(r.To > 0, " to "+thousands(r.To), " on")))
		if r.From+r.To == 0 {
			history = number("any")
		}
		if r.Measure == "context" && r.Off.Abs().Cmp(worst) > 0 {
			worst = r.Off.Abs()
		}
		row.History = history
		row.Recorded = r.Sessions[0]
		row.Others = r.Sessions[1]
		row.Bounds = either(bounds, "-", "")
		if r.Low.Known {
			row.Bounds = signedPercent(r.Low) + " to " + signedPercent(r.High)
		}
		row.Value, row.Replayed, row.Predicted, row.Off = cell(r.Recorded), cell(r.Replayed), cell(r.Predicted), pair{number(signedPercent(r.Off) + " %"), r.Off}
		return none
	})
	others := "other releases recorded"
	replayed := use.Name
	by := "that release recorded"
	if window > 0 {
		by = "really ran in such a window"
		others = "were recorded in other windows"
		replayed = phrase("%v in a window of %v tokens", use.Name, thousands(window))
	}
	answer := phrase("%v that %s were replayed under %s, to predict %v that %s.", count(len(sessions)-recorded, "session"), others, replayed, recorded, by)
	answer += either(len(rows) > 0, phrase(" At the same length of history, the mean input of a request was predicted %v %% off at most.", worst.Times(100).Text(0)), " Nothing can be compared: at no length of history are there 5 sessions of either.")
	return listing(answer, t, object{{"schema", ValidateSchema}, {"recorded", recorded}, {"predicting", len(sessions) - recorded}, {"left_out", out}, {"rows", notNil(rows)}},
		phraseIf(out > 0, "left out: %v of other clients or compacted in another window", count(out, "session")),
		"context, usd: mean tokens and cost of a request. "+phraseIf(slices.ContainsFunc(rows, func(r predict.Row) bool { return r.Measure == "compactions" }), "compactions: per 100,000 tokens of history, in sessions with a compaction. compacted from: tokens that a compaction begins with. ")+
			"history: which requests are compared, by the tokens of their whole history with nothing compacted. sessions, others: how many have such requests. replayed: the sessions of the column recorded, under the same policy. Where replayed is near recorded and predicted is not, the two groups did different work: the simulation is not at fault.").after(use).print(w, opt)
}
