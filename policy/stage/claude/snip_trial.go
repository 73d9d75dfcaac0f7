package claude

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// SnipTrial is a snip to try: the turn of a prompt is gone from a request on.
type SnipTrial struct {
	ID      string // six characters, or a uuid
	Request int    // n of the first request without the turn
}

const snipTrialHint = "write ID@REQUEST, such as 5x1k0q@12"

// String is the trial as it stands in a policy file.
func (t SnipTrial) String() string { return fmt.Sprintf("%s@%d", t.ID, t.Request) }

// ParseSnipTrials reads ID@REQUEST, or with commas several ids for one request.
func ParseSnipTrials(s string) ([]SnipTrial, error) {
	ids, request, ok := strings.Cut(s, "@")
	n, err := strconv.Atoi(strings.TrimSpace(request))
	if !ok || err != nil || n < 1 {
		return nil, &policy.Error{Msg: strconv.Quote(s) + " is no snip", Hint: snipTrialHint}
	}
	var list []SnipTrial
	for id := range strings.SplitSeq(ids, ",") {
		id = strings.TrimSpace(id)
		if id == "" {
			return nil, &policy.Error{Msg: strconv.Quote(s) + " names no prompt", Hint: snipTrialHint}
		}
		list = append(list, SnipTrial{id, n})
	}
	return list, nil
}

// DecodeParam reads ID@REQUEST.
func (t *SnipTrial) DecodeParam(plain any) error {
	s, ok := plain.(string)
	if !ok {
		return &policy.Error{Msg: "no snip", Hint: snipTrialHint}
	}
	list, err := ParseSnipTrials(s)
	if err != nil {
		return err
	}
	if len(list) != 1 {
		return &policy.Error{Msg: strconv.Quote(s) + " names more than one prompt", Hint: "write one ID@REQUEST each"}
	}
	*t = list[0]
	return nil
}

// EncodeParam is the plain form.
func (t *SnipTrial) EncodeParam() any { return t.String() }

// ParamForm describes the notation.
func (t *SnipTrial) ParamForm() (string, map[string]any) {
	return "ID@REQUEST", map[string]any{"type": "string", "pattern": `^[^@,\s][^@,]*@[1-9][0-9]*$`}
}

// addTrials adds the snips of a text to the parameters, each once.
func addTrials(params any, text string) error {
	p := params.(*Snip)
	trials, err := ParseSnipTrials(text)
	if err != nil {
		return err
	}
	for _, t := range trials {
		if !slices.Contains(p.IDs, t) {
			p.IDs = append(p.IDs, t)
		}
	}
	return nil
}
