package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ctxkit/ctxkit/report"
)

// Limits of what a call may ask for.
const (
	usualListed  = 20 // sessions
	mostListed   = 100
	mostCompared = 50 // inputs
	mostPolicies = 8
)

type sessionsInput struct {
	Folder  string `json:"folder,omitempty" jsonschema:"a project folder, or a folder of projects; default: where Claude Code and the other agents keep their sessions"`
	Project string `json:"project,omitempty" jsonschema:"only sessions whose project's folder contains this text, in any case"`
	Since   string `json:"since,omitempty" jsonschema:"only sessions used at this time or later: 2026-01-31, 2026-01-31T12:00:00Z, or how long ago: 90min, 12h, 7d, 2w"`
	Until   string `json:"until,omitempty" jsonschema:"only sessions used last at this time or earlier; the same forms"`
	Model   string `json:"model,omitempty" jsonschema:"only sessions with a request to a model whose name contains this text"`
	Grep    string `json:"grep,omitempty" jsonschema:"only sessions whose title or first prompt matches this regular expression, in any case"`
	Sort    string `json:"sort,omitempty" jsonschema:"by which figure, the newest or largest first; default age, the time of the last use"`
	Limit   int    `json:"limit,omitempty" jsonschema:"how many are listed; default 20"`
}

type sessionInput struct {
	Session string `json:"session" jsonschema:"a session's id or its beginning, last or last~1 for those used last, or the path of a session file"`
	Policy  string `json:"policy,omitempty" jsonschema:"recorded (default: what the client really sent), or what another policy would have sent: claude-code, opencode, codex, gemini-cli, another built-in one, or the path of a policy file"`
}

type atInput struct {
	sessionInput
	At string `json:"at,omitempty" jsonschema:"which request: its number, last (default), peak (the largest), or event:K: the K-th compaction or other change, counted from 0"`
}

type compareInput struct {
	Sessions []string `json:"sessions" jsonschema:"sessions, each by its id or its beginning, last, the path of a file or of a project folder; one session alone says nothing of others"`
	Policies []string `json:"policies,omitempty" jsonschema:"the first is what the others are compared with; a parameter may follow a comma: opencode,opencode_prune.protect=20000; default: recorded, none, and the usual ones of ctxkit compare"`
}

// sessionList is the structured result of sessions.
type sessionList struct {
	Note     string       `json:"note" jsonschema:"how to read the texts"`
	Sessions []sessionRow `json:"sessions" jsonschema:"in the order that was asked for"`
}

type sessionRow struct {
	Session     string   `json:"session" jsonschema:"id"`
	File        string   `json:"file,omitempty" jsonschema:"path"`
	Project     string   `json:"project,omitempty" jsonschema:"folder it was recorded in"`
	Title       string   `json:"title,omitempty" jsonschema:"recorded text, cut where it is long"`
	Last        string   `json:"last,omitempty" jsonschema:"time of its last line"`
	Client      string   `json:"client,omitempty" jsonschema:"agent that recorded it; absent: Claude Code"`
	Requests    int      `json:"requests" jsonschema:"of the main conversation"`
	PeakContext int      `json:"peak_context" jsonschema:"tokens of its largest request"`
	LastContext int      `json:"last_context" jsonschema:"tokens of its last request"`
	Compactions int      `json:"compactions" jsonschema:"that the client recorded"`
	CostUSD     *float64 `json:"cost_usd,omitempty" jsonschema:"bill by the recorded usage; absent: not known"`
}

// args is the command line of a question about one session.
func (in *sessionInput) args(command string, more ...string) []string {
	return append([]string{command, flag("policy", cmp.Or(in.Policy, "recorded"))}, more...)
}

// addTools adds the five tools. All of them only read.
func addTools(s *mcp.Server) {
	a := newAsker()
	tool := func(name, title, description string) *mcp.Tool {
		closed := false
		return &mcp.Tool{Name: name, Title: title, Description: description, Annotations: &mcp.ToolAnnotations{
			Title: title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &closed, OpenWorldHint: &closed,
		}}
	}
	list := tool("sessions", "List sessions",
		"List recorded sessions of coding agents, the last used first: id, title, project, requests, tokens of the context, "+
			"compactions, cost. The other tools take these ids and files.")
	list.InputSchema = schema[sessionsInput](map[string]*jsonschema.Schema{
		"limit": {Minimum: jsonschema.Ptr(1.0), Maximum: jsonschema.Ptr(float64(mostListed))},
		"sort":  {Enum: []any{"age", "begun", "project", "size", "requests", "peak", "last", "compactions", "cost", "idle"}},
	})
	list.OutputSchema = schema[sessionList](map[string]*jsonschema.Schema{"sessions": {}})
	mcp.AddTool(s, list,
		func(ctx context.Context, _ *mcp.CallToolRequest, in sessionsInput) (*mcp.CallToolResult, *sessionList, error) {
			return a.sessions(ctx, &in)
		})
	mcp.AddTool(s, tool("stats", "What fills the context",
		"What fills a session's context at a request, and what filled it up to there: tool results, prompts, thinking; the tools, "+
			"files, results and turns that took the most; what was read twice."),
		func(ctx context.Context, _ *mcp.CallToolRequest, in atInput) (*mcp.CallToolResult, any, error) {
			return a.report(ctx, part{args: in.args("stats", markdown, flag("at", cmp.Or(in.At, "last"))), inputs: []string{in.Session}})
		})
	mcp.AddTool(s, tool("why", "What a session was paid for",
		"What a session's bill was paid for: the context read again, new content, cache misses by their cause, output; what would "+
			"cost less; what filled the context before each compaction; the cache misses, the most expensive first."),
		func(ctx context.Context, _ *mcp.CallToolRequest, in sessionInput) (*mcp.CallToolResult, any, error) {
			return a.report(ctx, part{args: in.args("why", markdown), inputs: []string{in.Session}})
		})
	mcp.AddTool(s, tool("dropped", "What compaction dropped",
		"What the client's compactions, or those of another policy, dropped of a session, and what of it the conversation needed "+
			"again: which file or text, removed at which request, needed at which."),
		func(ctx context.Context, _ *mcp.CallToolRequest, in atInput) (*mcp.CallToolResult, any, error) {
			inputs := []string{in.Session}
			return a.report(ctx,
				part{title: "What was dropped and then needed again, in the whole session:", args: in.args("regret", markdown), inputs: inputs},
				part{title: "What was dropped of the raw history, up to a request:", args: in.args("diff", "--stat", flag("at", in.At)), inputs: inputs})
		})
	compare := tool("compare", "Compare policies",
		"Compare context-management policies over the same sessions: first the conclusions, in sentences, then tokens, cost, "+
			"compactions and misses of each policy. A long session takes a second or more. Repeat a conclusion with its interval, or say that there is none.")
	compare.InputSchema = schema[compareInput](map[string]*jsonschema.Schema{
		"sessions": {MinItems: jsonschema.Ptr(1), MaxItems: jsonschema.Ptr(mostCompared)},
		"policies": {MaxItems: jsonschema.Ptr(mostPolicies)},
	})
	mcp.AddTool(s, compare,
		func(ctx context.Context, _ *mcp.CallToolRequest, in compareInput) (*mcp.CallToolResult, any, error) {
			args := []string{"compare", markdown}
			for _, p := range in.Policies {
				args = append(args, flag("policy", p))
			}
			return a.report(ctx, part{args: args, inputs: in.Sessions})
		})
}

// schema is the schema of T, in which some properties have limits, and a list is never null.
func schema[T any](limits map[string]*jsonschema.Schema) *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // T has no schema
	}
	for name, limit := range limits {
		p := s.Properties[name]
		if p.Types != nil {
			p.Type, p.Types = "array", nil
		}
		p.Minimum, p.Maximum, p.MinItems, p.MaxItems, p.Enum = limit.Minimum, limit.Maximum, limit.MinItems, limit.MaxItems, limit.Enum
	}
	return s
}

// sessions lists sessions, as data and as text.
func (a *asker) sessions(ctx context.Context, in *sessionsInput) (*mcp.CallToolResult, *sessionList, error) {
	n := cmp.Or(in.Limit, usualListed)
	p := part{args: []string{
		"sessions", "--format=json", flag("limit", strconv.Itoa(n)), flag("project", in.Project), flag("since", in.Since),
		flag("until", in.Until), flag("model", in.Model), flag("grep", in.Grep), flag("sort", in.Sort),
	}}
	if in.Folder != "" {
		p.inputs = []string{in.Folder}
	}
	found, said, err := a.ask(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	list := &sessionList{Note: recordedText}
	if err := json.Unmarshal([]byte(found), list); err != nil {
		return nil, nil, fmt.Errorf("the list of ctxkit sessions: %w", err)
	}
	var text strings.Builder
	for i := range list.Sessions {
		r := &list.Sessions[i]
		for _, s := range []*string{&r.Session, &r.File, &r.Project, &r.Title, &r.Client} {
			*s = report.Clean(*s)
		}
		r.Title = shortened(r.Title, mostTitle)
		fmt.Fprintln(&text, r.line())
	}
	about := fmt.Sprintf("%d sessions.", len(list.Sessions))
	if len(list.Sessions) == n {
		about = fmt.Sprintf("%d sessions; there may be more than the limit.", n)
	}
	return textResult(about + " " + quotedText + "\n\n" + quote(text.String()) + messages(said)), list, nil
}

// line is a row as text.
func (r *sessionRow) line() string {
	cost := ""
	if r.CostUSD != nil {
		cost = fmt.Sprintf(", %.2f USD", *r.CostUSD)
	}
	return fmt.Sprintf("- %s: %q, %s, last used %s, requests: %d, context: peak %d, last %d tokens, compactions: %d%s",
		r.Session, r.Title, r.Project, r.Last, r.Requests, r.PeakContext, r.LastContext, r.Compactions, cost)
}
