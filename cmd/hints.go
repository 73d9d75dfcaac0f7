package cmd

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/sweep"
	"github.com/ctxkit/ctxkit/report"
)

// The packages below cmd know no flag and no command. What to do about a
// warning or an error of theirs, in those terms, is in this file only.

// warningHint is what to do about warnings of a code; "" for nothing.
func warningHint(code session.Code) string {
	return map[session.Code]string{
		replay.CodeWindowExceeded: "use --window if the window was another",
		replay.CodeUsageUnfit:     "--tokens o200k_base counts the content itself",
		replay.CodeNoPrice:        "use --prices to give a table that has one",
	}[code]
}

// withHint adds to a warning what to do about it.
func withHint(w session.Warning) session.Warning {
	if hint := warningHint(w.Code); hint != "" {
		w.Message += ": " + hint
	}
	return w
}

// errorHints are what to do about errors, by what they wrap.
func errorHints() []struct {
	err  error
	hint string
} {
	return []struct {
		err  error
		hint string
	}{
		{sweep.ErrGridTooLarge, "give fewer values, or use --samples"},
	}
}

// hinted adds to an error what to do about it.
func hinted(err error) error {
	for _, h := range errorHints() {
		if errors.Is(err, h.err) {
			return fmt.Errorf("%w: %s", err, h.hint)
		}
	}
	return err
}

// policyHint adds to the error of a policy that is no built-in one and no file
// how to list those there are.
func policyHint(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; ctxkit policy list lists them", err)
	}
	return err
}

// reportHints are the hints of reports.
func reportHints() report.Hints {
	return report.Hints{
		All:    "--all shows them",
		Full:   "--full shows them",
		Prices: "ctxkit prices lists the models that have one",
		Lint:   "ctxkit lint lists them",
		Shell:  shellLine,
	}
}
