package account

import (
	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/replay/bill"
	"github.com/ctxkit/ctxkit/replay/cache"
)

// samplings is a usage as the API bills it: what the request sent last, and the samplings before it.
type samplings struct {
	last, rounds, compactions cache.Split
	output, summary           int // of the request, and of its compactions
}

// samplingsOf are those of a usage.
func samplingsOf(u *jsonl.Usage) samplings {
	rounds, compactions := u.Rounds(), u.Compactions()
	return samplings{
		last: bill.RecordedSplit(u), rounds: bill.SpentSplit(rounds, u), compactions: bill.SpentSplit(compactions, u), output: u.Output, summary: compactions.Output,
	}
}
