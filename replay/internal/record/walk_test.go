package record

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// sketch makes a conversation of words, one a message:
//
//	prompt queued meta command interrupt attachment summary   user messages
//	say:x,y       a response with tool calls x and y
//	synthetic     an assistant message that answers no request
//	result:x,y    the results of x and y; lost:x a stand-in for that of x
//	(auto) (manual) (micro) (snip) (collapse) (replaced)   what the client recorded stands here
func sketch(words string) *session.Conversation {
	conv := &session.Conversation{Path: "sketch"}
	classes := map[string]session.Class{
		"prompt": session.ClassPrompt, "queued": session.ClassPrompt, "meta": session.ClassMeta, "command": session.ClassCommand,
		"interrupt": session.ClassInterrupt, "attachment": session.ClassAttachment, "summary": session.ClassSummary,
		"result": session.ClassToolResult, "lost": session.ClassToolResult, "say": session.ClassResponse, "synthetic": session.ClassResponse,
	}
	for _, w := range strings.Fields(words) {
		at := len(conv.Messages)
		switch w {
		case "(auto)", "(manual)":
			conv.Boundaries = append(conv.Boundaries, session.Boundary{Trigger: strings.Trim(w, "()"), Before: at, Summary: -1, Request: len(conv.Requests) + 1})
			continue
		case "(micro)":
			conv.Micro = append(conv.Micro, session.Microcompaction{Before: at, Request: len(conv.Requests) + 1})
			continue
		case "(snip)":
			conv.Snips = append(conv.Snips, session.RecordedSnip{Before: at, Request: len(conv.Requests) + 1})
			continue
		case "(collapse)":
			conv.Collapses = append(conv.Collapses, session.Collapse{Before: at, Request: len(conv.Requests) + 1})
			continue
		case "(replaced)":
			conv.Replaced = append(conv.Replaced, session.Replacement{Line: at, Before: at, Request: len(conv.Requests) + 1})
			continue
		}
		word, ids, _ := strings.Cut(w, ":")
		class, ok := classes[word]
		if !ok {
			panic("no such word: " + w)
		}
		m := session.Message{Class: class, Lost: word == "lost", RecordOnly: word == "summary"}
		if word == "queued" {
			m.Marks = session.Queued
		}
		kind := jsonl.KindToolResult
		if class == session.ClassResponse {
			m.Role, kind = session.Assistant, jsonl.KindToolUse
		}
		if word == "say" {
			conv.Requests = append(conv.Requests, session.APICall{N: len(conv.Requests) + 1, Message: at})
		}
		for _, id := range strings.FieldsFunc(ids, func(r rune) bool { return r == ',' }) {
			m.Blocks = append(m.Blocks, session.Block{ContentBlock: jsonl.ContentBlock{Kind: kind, ID: id}})
		}
		conv.Messages = append(conv.Messages, m)
	}
	return conv
}

// calls is a track that notes how it is called.
type calls []string

func (c *calls) note(format string, args ...any) { *c = append(*c, fmt.Sprintf(format, args...)) }

func (c *calls) Recorded(act Act) {
	c.note("%s %d", []string{
		ActBoundary: "boundary", ActMicro: "micro", ActSnip: "snip", ActCollapse: "collapse", ActReplacement: "replacement",
	}[act.Kind], act.Index)
}
func (c *calls) Join(m int)    { c.note("join %d", m) }
func (c *calls) Request(k int) { c.note("request %d", k) }
func (c *calls) Respond(k int) { c.note("respond %d", k) }

func (c *calls) Responds() bool { return true }

func (c *calls) Done() bool { return false }

func (c *calls) TurnEnd(next int, final bool) {
	if final {
		c.note("final end %d", next)
		return
	}
	c.note("end %d", next)
}

func (c *calls) Manual(boundary, next int) { c.note("manual %d %d", boundary, next) }

// TestWalk is the order of things, call by call.
func TestWalk(t *testing.T) {
	must.Rows(t, `
# name | words | want
nothing                      | ""                           | ""
a prompt                     | prompt say                   | join 0, request 0, join 1, respond 0, final end 1
a prompt without an answer   | prompt                       | join 0
two turns                    | prompt say prompt say        | join 0, request 0, join 1, respond 0, end 1, join 2, request 1, join 3, respond 1, final end 2
the last prompt without an answer | prompt say prompt            | join 0, request 0, join 1, respond 0, end 1, join 2
two prompts in a row end one turn | prompt say prompt prompt say | join 0, request 0, join 1, respond 0, end 1, join 2, join 3, request 1, join 4, respond 1, final end 2
a tool loop                  | prompt say:a result:a say:b,c result:b result:c say | join 0, request 0, join 1, join 2, respond 0, request 1, join 3, join 4, join 5, respond 1, request 2, join 6, respond 2, final end 3
two results in one message   | prompt say:a,b result:a,b prompt | join 0, request 0, join 1, join 2, respond 0, end 1, join 3
a result that is missing     | prompt say:a,b result:a say  | join 0, request 0, join 1, join 2, respond 0, request 1, join 3, respond 1, final end 2
no result at all             | prompt say:a prompt          | join 0, request 0, join 1, respond 0, end 1, join 2
something said before the result | prompt say:a meta result:a say | join 0, request 0, join 1, respond 0, join 2, join 3, request 1, join 4, respond 1, final end 2
a lost result                | prompt say:a,b result:a lost:b (auto) summary say | join 0, request 0, join 1, join 2, join 3, respond 0, boundary 0, join 4, request 1, join 5, respond 1, final end 2
a queued prompt ends no turn | prompt say:a result:a queued say | join 0, request 0, join 1, join 2, respond 0, join 3, request 1, join 4, respond 1, final end 2
a prompt after a result ends one | prompt say:a result:a prompt say | join 0, request 0, join 1, join 2, respond 0, end 1, join 3, request 1, join 4, respond 1, final end 2
what nobody typed ends no turn | prompt say meta command attachment interrupt say | join 0, request 0, join 1, respond 0, join 2, join 3, join 4, join 5, request 1, join 6, respond 1, final end 2
what nobody typed, and then a prompt | prompt say interrupt prompt  | join 0, request 0, join 1, respond 0, join 2, end 1, join 3
a message the client wrote answers no request | prompt synthetic prompt say synthetic | join 0, join 1, join 2, request 0, join 3, respond 0, join 4, final end 1
a manual boundary: the turn ends first, and once | prompt say (manual) summary prompt say | join 0, request 0, join 1, respond 0, end 1, manual 0 1, boundary 0, join 2, join 3, request 1, join 4, respond 1, final end 2
a manual boundary while a result is awaited | prompt say:a (manual) summary | join 0, request 0, join 1, respond 0, end 1, manual 0 1, boundary 0, join 2
a manual boundary before any answer | prompt (manual) summary say  | join 0, manual 0 0, boundary 0, join 1, request 0, join 2, respond 0, final end 1
an automatic boundary ends no turn | prompt say:a result:a (auto) summary say | join 0, request 0, join 1, join 2, respond 0, boundary 0, join 3, request 1, join 4, respond 1, final end 2
an automatic boundary behind a prompt | prompt say prompt (auto) summary say | join 0, request 0, join 1, respond 0, end 1, join 2, boundary 0, join 3, request 1, join 4, respond 1, final end 2
boundaries one after the other | prompt say (auto) (manual) say | join 0, request 0, join 1, respond 0, boundary 0, end 1, manual 1 1, boundary 1, request 1, join 2, respond 1, final end 2
a microcompaction            | prompt say:a result:a (micro) say | join 0, request 0, join 1, join 2, respond 0, micro 0, request 1, join 3, respond 1, final end 2
a microcompaction and a compaction at one request | prompt say:a result:a (micro) (auto) summary say | join 0, request 0, join 1, join 2, respond 0, micro 0, boundary 0, join 3, request 1, join 4, respond 1, final end 2
edits, whatever their order in the file, stand in that of the stages | prompt say:a result:a (auto) (collapse) (micro) (snip) (replaced) (replaced) summary say (snip) | join 0, request 0, join 1, join 2, respond 0, replacement 0, snip 0, micro 0, collapse 0, boundary 0, join 3, request 1, join 4, respond 1, snip 1, final end 2
an automatic boundary at the end of the file | prompt say (micro) (auto)    | join 0, request 0, join 1, respond 0, micro 0, boundary 0, final end 1
a manual boundary at the end: no turn is open | prompt say (manual)          | join 0, request 0, join 1, respond 0, end 1, manual 0 1, boundary 0
the file ends while a result is awaited | prompt say:a                 | join 0, request 0, join 1, respond 0, final end 1
`, func(name, words, want string) {
		t.Run(name, func(t *testing.T) {
			var got calls
			Walk(sketch(words), &got)
			must.Equal(t, strings.Join(got, ", "), want)
		})
	})
}
