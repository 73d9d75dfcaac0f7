package compare

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
)

// RowsSchema is the version of the lines that WriteRows writes.
const RowsSchema = "ctxkit.rows/v1"

// InputRows is what came of one input of a comparison.
type InputRows struct {
	Input    int               // its place among the inputs of all shards, from 0
	Warnings []session.Warning // of reading it
	Failed   string            // why it failed, or could be read in part only; "": it was read
	Empty    []Origin          // conversations without a request
	Sessions []ComparedSession
}

// Rows are the outcomes of some inputs of a comparison, with what they depend on.
type Rows struct {
	Build    string            // of the program
	Policies []RowsPolicy      // in their order
	Options  map[string]string // that change what is worked out of a session
	Inputs   int               // of all shards
	Names    string            // a digest of the names of these, in their order
	Shard    int               // which part of the inputs, from 1
	Shards   int
	Warnings []session.Warning // of no input
	Late     []session.Warning // of no input, known once all are read: sorted, each once
	Outcomes []InputRows       // by Input
}

// RowsPolicy is a policy by the name that was asked for.
type RowsPolicy struct {
	Name   string `json:"name"`
	Digest string `json:"digest,omitempty"` // of all that it says; "": the session decides which release the name means
}

// lines are those of an outcome.
func (o *InputRows) lines() (list []rowLine) {
	for _, w := range o.Warnings {
		out := as[rowWarning](w)
		list = append(list, rowLine{Input: o.Input, Warning: &out})
	}
	if o.Failed != "" {
		list = append(list, rowLine{Input: o.Input, Failed: text(o.Failed)})
	}
	for _, e := range o.Empty {
		out := as[rowOrigin](e)
		list = append(list, rowLine{Input: o.Input, Empty: &out})
	}
	for _, s := range o.Sessions {
		out := as[row](s)
		list = append(list, rowLine{Input: o.Input, Row: &out})
	}
	return list
}

// add adds a line of the outcome's input, of a comparison of a number of policies.
func (o *InputRows) add(line *rowLine, policies int) error {
	members := 0
	for _, there := range []bool{line.Warning != nil, line.Failed != "", line.Empty != nil, line.Row != nil} {
		if there {
			members++
		}
	}
	switch {
	case members != 1:
		return errors.New("want one of warning, failed, empty and row")
	case line.Warning != nil:
		o.Warnings = append(o.Warnings, as[session.Warning](*line.Warning))
	case line.Empty != nil:
		o.Empty = append(o.Empty, as[Origin](*line.Empty))
	case line.Row != nil:
		if err := line.Row.check(policies); err != nil {
			return err
		}
		o.Sessions = append(o.Sessions, as[ComparedSession](*line.Row))
	default:
		o.Failed = string(line.Failed)
	}
	return nil
}

// strictly decodes one JSON value, and refuses members that are not known and what follows it.
func strictly(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more on the line than one value")
	}
	return nil
}

// WriteRows writes rows as lines of JSON, a line at a time: one about all of them, then those of each outcome.
func WriteRows(w io.Writer, r *Rows) error {
	enc := json.NewEncoder(w)
	head := rowsHead{
		RowsSchema, r.Build, r.Policies, r.Options, Names(), r.Inputs, r.Names, r.Shard, r.Shards, 0,
		append([]rowWarning{}, as[[]rowWarning](r.Warnings)...), append([]rowWarning{}, as[[]rowWarning](r.Late)...),
	}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		head.Lines += len(o.Warnings) + len(o.Empty) + len(o.Sessions) + min(len(o.Failed), 1)
	}
	if err := enc.Encode(head); err != nil {
		return err
	}
	for i := range r.Outcomes {
		for _, line := range r.Outcomes[i].lines() {
			if err := enc.Encode(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// RowsError is what is wrong in a line of rows, from 1.
type RowsError struct {
	Line int
	Err  error
}

func (e *RowsError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap is the cause.
func (e *RowsError) Unwrap() error { return e.Err }

// ErrNoRows is wrapped by the error of ReadRows for what does not begin as rows do.
var ErrNoRows = errors.New("no rows of a comparison")

// ErrCut is wrapped by the error of ReadRows for rows that end too early.
var ErrCut = errors.New("the rows end too early")

// ReadRows reads what WriteRows writes. Its error has the type *RowsError where a line is wrong.
func ReadRows(r io.Reader) (*Rows, error) {
	in := bufio.NewReader(r)
	var head rowsHead
	rows, ran := &Rows{}, map[string]*policy.Policy{}
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0 && n > 1:
			if n-2 != head.Lines {
				return nil, &RowsError{n - 1, fmt.Errorf("%w: %d lines of %d", ErrCut, n-2, head.Lines)}
			}
			return rows, nil
		case err != nil && !errors.Is(err, io.EOF):
			return nil, &RowsError{n, err}
		case n == 1:
			err = readHead(line, &head, rows)
		case n-1 > head.Lines:
			err = fmt.Errorf("there are more than %d lines after the first", head.Lines)
		default:
			err = rows.read(line, ran)
		}
		if err != nil {
			return nil, &RowsError{n, err}
		}
	}
}

func readHead(line []byte, h *rowsHead, r *Rows) error {
	var known struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(line, &known); err != nil || known.Schema != RowsSchema {
		return fmt.Errorf("%w: the first line is none of %s", ErrNoRows, RowsSchema)
	}
	if err := strictly(line, h); err != nil {
		return err
	}
	switch {
	case !slices.Equal(h.Figures, Names()):
		return errors.New("the rows have other figures: they were written by another build")
	case len(h.Policies) == 0:
		return errors.New("the rows have no policy")
	case h.Shard < 1 || h.Shard > h.Shards:
		return fmt.Errorf("shard %d of %d", h.Shard, h.Shards)
	case h.Inputs < 0 || h.Lines < 0:
		return errors.New("a count is below 0")
	}
	*r = Rows{
		Build: h.Build, Policies: h.Policies, Options: h.Options, Inputs: h.Inputs, Names: h.Names, Shard: h.Shard, Shards: h.Shards,
		Warnings: as[[]session.Warning](h.Warnings), Late: as[[]session.Warning](h.Late),
	}
	return nil
}

// read reads a line after the first. Policies that are the same are one, of ran.
func (r *Rows) read(data []byte, ran map[string]*policy.Policy) error {
	var line rowLine
	if err := strictly(data, &line); err != nil {
		return err
	}
	last := len(r.Outcomes) - 1
	switch {
	case line.Input < 0 || line.Input >= r.Inputs:
		return fmt.Errorf("input %d of %d", line.Input, r.Inputs)
	case last < 0 || r.Outcomes[last].Input < line.Input:
		r.Outcomes = append(r.Outcomes, InputRows{Input: line.Input})
		last++
	case r.Outcomes[last].Input > line.Input:
		return fmt.Errorf("input %d is behind input %d", line.Input, r.Outcomes[last].Input)
	}
	o := &r.Outcomes[last]
	if err := o.add(&line, len(r.Policies)); err != nil {
		return err
	}
	if line.Row != nil {
		s := &o.Sessions[len(o.Sessions)-1]
		for i, p := range s.Policies {
			key, err := json.Marshal(line.Row.Policies[i])
			if err != nil {
				return err
			}
			if ran[string(key)] == nil {
				ran[string(key)] = p
			}
			s.Policies[i] = ran[string(key)]
		}
	}
	return nil
}
