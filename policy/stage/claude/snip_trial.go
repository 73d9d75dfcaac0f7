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

func (t SnipTrial) String() string { return fmt.Sprintf("%s@%d", t.ID, t.Request) }

// ParseSnipTrials reads ID@REQUEST, or with commas several ids for one request.
func ParseSnipTrials(s string) ([]SnipTrial, error) {
	ids, request, ok := strings.Cut(s, "@")
	n, err := strconv.Atoi(strings.TrimSpace(request))
	if !ok || err != nil || n < 1 {
		return nil, noSnip(strconv.Quote(s) + " is no snip")
	}
	var list []SnipTrial
	for id := range strings.SplitSeq(ids, ",") {
		if id = strings.TrimSpace(id); id == "" {
			return nil, noSnip(strconv.Quote(s) + " names no prompt")
		}
		list = append(list, SnipTrial{id, n})
	}
	return list, nil
}

func noSnip(msg string) error {
	return &policy.Error{Msg: msg, Hint: "write ID@REQUEST, such as 5x1k0q@12"}
}

// DecodeParam reads ID@REQUEST.
func (t *SnipTrial) DecodeParam(plain any) error {
	s, ok := plain.(string)
	if !ok {
		return noSnip("no snip")
	}
	list, err := ParseSnipTrials(s)
	if err != nil {
		return err
	}
	if len(list) > 1 {
		return noSnip(strconv.Quote(s) + " names more than one prompt")
	}
	*t = list[0]
	return nil
}

// EncodeParam returns the plain form.
func (t *SnipTrial) EncodeParam() any { return t.String() }

// ParamForm describes the notation.
func (t *SnipTrial) ParamForm() (string, map[string]any) {
	return "ID@REQUEST", map[string]any{"type": "string", "pattern": `^[^@,\s][^@,]*@[1-9][0-9]*$`}
}

// addTrials adds the snips of a text to the parameters, each once.
func addTrials(params any, text string) error {
	p := params.(*Snip)
	trials, err := ParseSnipTrials(text)
	for _, t := range trials {
		if !slices.Contains(p.IDs, t) {
			p.IDs = append(p.IDs, t)
		}
	}
	return err
}
