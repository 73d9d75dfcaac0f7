package summarize

import (
	"fmt"
	"strings"

	"github.com/ctxkit/ctxkit/policy"
)

// Plan is a compaction, or another summary, that needs calls of a model.
type Plan struct {
	Trigger, Reason string
	Call            *policy.Call
	Items           []policy.ItemID // what it is about, of a summary that does not rebuild the view

	// Limit is the most tokens that the API takes as the call's input: the context window less what the call reserves
	// for its output. Below 0 nothing fits; 0: it is not known, and everything does.
	Limit int

	// The rest is what Compact takes.
	Summary    policy.SummaryChoices
	Wrap       func(string) string                             // puts the client's words around an outline; nil: there are none
	Note       string                                          // behind the reason and the source of the summary
	Insert     func(summary policy.Content) []policy.Synthetic // nil: Message
	Lead, Keep []policy.ItemID
}

// Compact returns the edit that rebuilds the view with a summary, or Failure's.
func (a *Plan) Compact(c *policy.Context) ([]policy.Edit, error) {
	if failure := a.Failure(c); failure != nil {
		return failure, nil
	}
	wrap := Bare
	insert := Message
	if a.Wrap != nil {
		wrap = a.Wrap
	}
	if a.Insert != nil {
		insert = a.Insert
	}
	summary, boundary, from, err := Take(c, a.Summary, wrap)
	if err != nil {
		return nil, err
	}
	return []policy.Edit{{
		Kind: policy.KindSummarize, Trigger: a.Trigger, Reason: a.Reason + "; summary: " + from + a.Note,
		Lead: a.Lead, Insert: insert(summary), Keep: Kept(c, boundary, a.Keep), Call: a.Call,
	}}, nil
}

// Message is a summary as a message of the user's.
func Message(summary policy.Content) []policy.Synthetic {
	return []policy.Synthetic{{Role: "user", Label: "summary", Summary: true, Contents: []policy.Content{summary}}}
}

// Failure returns what comes of a plan with a call that does not fit: the edit of kind fail, which leaves
// the view as it is. What the API refuses is not billed; the calls before it are, with the output they state. It returns
// nil where all calls fit.
func (a *Plan) Failure(c *policy.Context) []policy.Edit {
	if a.Limit == 0 {
		return nil
	}
	limit := max(a.Limit, 0)
	for refused := a.Call; refused != nil; refused = refused.Then {
		_, sent := refused.Size(c.View, c.Overhead)
		if sent <= limit {
			continue
		}
		after := ""
		switch refused.Retries {
		case 0:
		case 1:
			after = " after 1 retry"
		default:
			after = fmt.Sprintf(" after %d retries", refused.Retries)
		}
		return []policy.Edit{{
			Kind: policy.KindFail, Trigger: a.Trigger, Items: a.Items, Call: callsBefore(a.Call, refused), Refused: refused,
			Reason: fmt.Sprintf("%s; the %s request of %s tokens does not fit %s%s: it fails", a.Reason,
				strings.ReplaceAll(refused.Kind, "_", " "), policy.Thousands(sent), policy.Thousands(limit), after),
			Detail: map[string]int{"input_tokens": sent, "limit_tokens": limit, "retries": refused.Retries},
		}}
	}
	return nil
}

// callsBefore is a copy of the calls before one of them, nil where that is the first.
func callsBefore(first, end *policy.Call) *policy.Call {
	if first == end {
		return nil
	}
	call := *first
	call.Then = callsBefore(first.Then, end)
	return &call
}

// Breaker ends automatic attempts after a number of failures in a row. The zero value never does.
type Breaker struct {
	Most   int // failures; 0: it never ends them
	failed int
}

// Open reports whether no further attempt is made.
func (b *Breaker) Open() bool { return b.Most > 0 && b.failed >= b.Most }

// Note counts what came of an attempt. The edits of the failure that ends further attempts report it.
func (b *Breaker) Note(failure []policy.Edit) {
	if len(failure) == 0 {
		b.failed = 0
		return
	}
	if b.failed++; b.Open() {
		failure[0].Reason += fmt.Sprintf(", the last of %d tries", b.Most)
	}
}
