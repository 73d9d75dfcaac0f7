package cmd

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/strict"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/sweep"
	"github.com/ctxkit/ctxkit/report"
)

// The packages below cmd know no flag and no command. What to do about a warning or an error of theirs, in those
// terms, is in this file only.

// addHints adds to warnings what to do about them.
func addHints(list []session.Warning) {
	for i := range list {
		switch w := &list[i]; w.Code {
		case replay.CodeWindowExceeded:
			w.Message += ": use --window if the window was another"
		case replay.CodeWindowAssumed:
			w.Message += ": --window sets it, or ctxkit.yaml"
		case replay.CodeUsageUnfit:
			w.Message += ": --tokens o200k_base counts the content itself"
		case replay.CodeNoPrice:
			w.Message += ": use --prices to give a table that has one"
		default:
			w.Message = limitHint(w.Message)
		}
	}
}

// assumed warns of the windows that replays of a session assume.
func assumed(rec *replay.Record, opt replay.Options) []session.Warning {
	list := rec.Assumed(opt)
	addHints(list)
	return list
}

// unread warns of a session whose client is newer than those of its product that were read.
func (s *system) unread(client preset.Client) []session.Warning {
	if text := s.presets.Unread(client); text != "" {
		return []session.Warning{{Message: text}}
	}
	return nil
}

// converted says which models' tokens were converted to those of another model.
func (m *messages) converted(list []*replay.Conversion) {
	said := map[string]bool{}
	for _, c := range list {
		if c == nil {
			continue
		}
		for i := range c.Models {
			one := &replay.Conversion{Source: c.Source, Models: c.Models[i : i+1]}
			if text := "tokens are " + report.ConversionText(one); c.Models[i].To.Known && !said[text] {
				said[text] = true
				m.warn(session.Warning{Message: text})
			}
		}
	}
}

// unknownModel warns of a model of the options that is not in the table, where no replay is printed that would.
func (o *replayOptions) unknownModel(sys *system, m *messages) {
	if w := replay.UnknownModel(sys.models(), o.options()); w != nil {
		m.warn(*w)
	}
}

// gridHint adds to the error of a grid that is too large what to do about it.
func gridHint(err error) error {
	if errors.Is(err, sweep.ErrGridTooLarge) {
		return fmt.Errorf("%w: give fewer values, or use --samples", err)
	}
	return err
}

// policyHint adds to the error of a policy that is no built-in one and no file how to list those there are.
func policyHint(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; ctxkit policy list lists them", err)
	}
	return startHint(err, "ctxkit policy show NAME")
}

// startHint adds to the error of an empty file the command that prints one to start from.
func startHint(err error, command string) error {
	var list strict.Errors
	if errors.As(err, &list) && len(list) == 1 && list[0].Msg == strict.Empty {
		list[0].Hint += " (" + command + " prints one to start from)"
	}
	return err
}

// reportHints are the hints of reports.
func reportHints() report.Hints {
	return report.Hints{
		All:      "--all shows them",
		Pages:    "Name one session to see it alone; --verbose shows each of them.",
		Warnings: "--verbose shows them",
		Wider:    "a wider terminal or --format json shows them",
		Full:     "--full shows them",
		Prices:   "ctxkit prices lists the models that have one",
		Lint:     "ctxkit lint lists them",
		Findings: "--max findings=N keeps more of each kind",
		Window:   "--window sets another",
		Contents: "ctxkit stats lists files and results",
		Policies: "ctxkit compare shows what other policies would cost",
		Agents:   "--agent all shows each",
		Included: "--agent all includes them",
		Shell:    shellLine,

		Releases: "NAME@" + preset.Latest + " is the newest, NAME@VERSION that version's. " +
			"Without a session, as in ctxkit thresholds and ctxkit policy show, a bare name means the newest. " +
			"--all lists releases, further policies of products, and unconfirmed ones.",
	}
}
