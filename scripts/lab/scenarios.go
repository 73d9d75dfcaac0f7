package main

import (
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
)

// scenario is what is done with a client. scripts are the answers of the model, by name: a prompt names one as @@name@@.
// Their steps are those of package mock; a step in small letters whose argument is no JSON is a call of the client's
// own tool for it (client.tools).
type scenario struct {
	name    string
	about   string
	clients []string
	model   string // instead of the client's
	window  int    // instead of the client's, in tokens
	limit   int    // tokens of a request from which on the server refuses it; 0: none
	files   map[string]string
	env     []string
	serve   bool // under the client's server, if it has one
	scripts map[string]string
	turns   []turn
	// typed is played in a terminal instead of turns: one action a line. play.go (type terminal) has the actions.
	typed []string
	args  []string // in the terminal
	// versions are played instead of the client's pins.
	versions []string
	// own: the policy of the release has to decide what the release did (own.go).
	own bool
}

// turn is one run of the client.
type turn struct {
	prompt string
	fresh  bool     // begins another session
	args   []string // further arguments
	// replaces stands for the arguments that begin or go on with a session.
	replaces []string
	before   []change
	only     string // the one client that plays it
}

// change is done to the project, or to the times of the session, before a turn.
type change struct {
	file, from, to string // from "" writes the file whole, to "" removes it
	back           string // a duration: the session's times are set back by it
}

func (s *scenario) plays(client string) bool { return slices.Contains(s.clients, client) }

var everyone = []string{"claude", "codex", "opencode", "gemini", "qwen", "pi", "copilot"}

// several joins n copies of a step, with %d for their number.
func several(n int, step, separator string) string {
	steps := make([]string, n)
	for i := range steps {
		steps[i] = strings.ReplaceAll(step, "%d", fmt.Sprint(i+1))
	}
	return strings.Join(steps, separator)
}

// reads are four shell reads at once, each of 7.7 kB: no client's shell cuts that.
const reads = "sh head -n 85 a.txt #%d && sh head -n 85 b.txt #%d && sh head -n 85 c.txt #%d && sh tail -n 85 a.txt #%d"

// picture is a small PNG.
func picture() string {
	var b strings.Builder
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	return b.String()
}

var scenarios = slices.Concat(commonScenarios, limitScenarios)

var commonScenarios = []scenario{
	{
		name: "turns", about: "five turns: parallel calls, a failing call, a subagent, a file changed outside, compactions",
		clients: everyone, serve: true,
		scripts: map[string]string{
			"s1":   `read a.txt || sh cat b.txt #1 || sh cat c.txt #2 && sh cat a.txt #3 && sh false || say first turn done`,
			"s2":   `sh cat a.txt #4 || sh cat b.txt #5 || agent sub1 || sh cat c.txt #6 || say second turn done`,
			"s3":   `sh cat a.txt #7 || sh cat b.txt #8 || sh cat c.txt #9 || sh cat a.txt #10 || sh cat b.txt #11 || sh cat c.txt #12 || sh cat a.txt #13 || say third turn done`,
			"s5":   `read a.txt || sh cat c.txt #14 || sh echo five || say fifth turn done`,
			"sub1": `read c.txt || sh echo sub || say subagent result here`,
		},
		turns: []turn{
			{prompt: "go @@s1@@"},
			{prompt: "go @@s2@@", before: []change{{file: "a.txt", from: "a line 5:", to: "a CHANGED 5:"}}},
			{prompt: "go @@s3@@"},
			{prompt: "/compact keep the file names", only: "claude"},
			{prompt: "go @@s5@@"},
		},
	},
	{
		name: "think", about: "thinking with calls and with texts, over two turns",
		clients: everyone,
		scripts: map[string]string{
			"s1": `think let me look && sh echo one || think more && say found && sh echo two || think at last && say first`,
			"s2": `think second && sh echo three || say second`,
		},
		turns: []turn{{prompt: "go @@s1@@"}, {prompt: "go @@s2@@"}},
	},
	{
		name: "loop", about: "a loop of 40 calls, and another after a resume",
		clients: everyone,
		scripts: map[string]string{
			"s1": several(40, "sh echo step %d", " || ") + " || say looped",
			"s2": several(5, "sh echo again %d", " || ") + " || say looped again",
		},
		turns: []turn{{prompt: "go @@s1@@"}, {prompt: "go @@s2@@"}},
	},
	{
		name: "long", about: "long reading in a wide window: five turns of shell reads, and one output that is too long for a result",
		clients: []string{"claude", "codex", "opencode"}, window: 200000, serve: true, // or OpenCode ends before it has pruned
		scripts: map[string]string{
			"s1": several(5, reads, " || ") + " || say one", "s2": several(4, reads, " || ") + " || say two", "s3": several(1, reads, "") + " || sh seq 1 30000 || " + several(1, reads, "") + " || say three",
			"s4": several(2, reads, " || ") + " || say four", "s5": several(3, reads, " || ") + " || say five",
		},
		turns: []turn{{prompt: "go @@s1@@"}, {prompt: "go @@s2@@"}, {prompt: "go @@s3@@"}, {prompt: "go @@s4@@"}, {prompt: "go @@s5@@"}},
	},
	{
		name: "twice", about: "four turns of shell reads, which fill a window of 100,000 tokens at least twice",
		clients: []string{"claude", "codex", "opencode"}, window: 100000, serve: true,
		scripts: map[string]string{
			"s1": several(8, reads, " || ") + " || say one", "s2": several(8, reads, " || ") + " || say two",
			"s3": several(8, reads, " || ") + " || say three", "s4": several(4, reads, " || ") + " || say four",
		},
		turns: []turn{{prompt: "go @@s1@@"}, {prompt: "go @@s2@@"}, {prompt: "go @@s3@@"}, {prompt: "go @@s4@@"}},
	},
	{
		name: "parallel", about: "25 parallel calls in one answer, then 26, one of them failing, after a resume",
		clients: everyone,
		scripts: map[string]string{
			"s1": several(25, "sh echo p%d", " && ") + " || say one",
			"s2": several(25, "sh echo q%d", " && ") + " && sh false || say two || say three",
		},
		turns: []turn{{prompt: "go @@s1@@"}, {prompt: "go @@s2@@"}},
	},
	{
		name: "images", about: "a picture read by a tool, and a turn after it",
		clients: []string{"claude", "opencode", "pi", "gemini", "qwen"},
		files:   map[string]string{"$WORK/dot.png": picture()},
		scripts: map[string]string{"s1": `read dot.png || say a dot`, "s2": `sh echo after || say after`},
		turns:   []turn{{prompt: "go @@s1@@"}, {prompt: "go @@s2@@"}},
	},
	{
		name: "errors", about: "overloaded, a connection cut, an error of the server, too many requests, a prompt that is too long: each followed by success; a refusal",
		clients: []string{"claude", "codex", "opencode", "pi"},
		scripts: map[string]string{
			"s1": `sh echo one || error 529 || sh echo two || cut && say half of it || error 500 || say done with errors`,
			"s2": `sh echo three || error 429 || sh echo four || say second`,
			"s3": `sh echo five || error prompt_too_long || sh echo six || say third`,
			"s4": `sh echo seven || refuse I will not || say fourth`,
			"s5": `sh echo eight || say fifth`,
		},
		turns: []turn{{prompt: "go @@s1@@"}, {prompt: "go @@s2@@"}, {prompt: "go @@s3@@", only: "claude"}, {prompt: "go @@s4@@", only: "claude"}, {prompt: "go @@s5@@"}},
	},
	{
		name: "edit", about: "files written and edited, and changed, rewritten and removed outside between turns",
		clients: []string{"claude", "opencode", "pi"},
		scripts: map[string]string{
			"s1": `read a.txt || edit a.txt || write new.txt || say edited`,
			"s2": `read a.txt || edit a.txt || say again`,
			"s3": `read b.txt || sh cat new.txt || say third`,
		},
		turns: []turn{
			{prompt: "go @@s1@@"},
			{prompt: "go @@s2@@", before: []change{{file: "a.txt", from: "a line 9:", to: "a CHANGED 9:"}, {file: "new.txt", to: "other text\n"}}},
			{prompt: "go @@s3@@", before: []change{{file: "new.txt"}}},
		},
	},
	{
		name: "offload", about: "an output that is too long for the conversation",
		clients: []string{"claude", "codex", "opencode", "pi", "gemini", "qwen"}, window: 200000,
		scripts: map[string]string{"s1": `sh seq 1 30000 || sh echo after || say long`, "s2": `sh seq 1 9000 || say longer`},
		turns:   []turn{{prompt: "go @@s1@@"}, {prompt: "go @@s2@@"}},
	},
	{
		name: "resume", about: "--continue, --resume --fork-session, --resume of the first session, --continue",
		clients: []string{"claude"},
		scripts: map[string]string{
			"s1": `sh echo one && sh echo two || say one`, "s2": `sh echo three || say two`, "s3": `sh echo fork || sh echo fork2 || say forked`,
			"s4": `sh echo four || say back`, "s5": `sh echo five || say last`,
		},
		turns: []turn{
			{prompt: "go @@s1@@", replaces: []string{"--output-format", "json", "--session-id", firstSession, "-p", "$PROMPT"}},
			{prompt: "go @@s2@@", replaces: []string{"--output-format", "json", "--continue", "-p", "$PROMPT"}},
			{prompt: "go @@s3@@", replaces: []string{"--output-format", "json", "--resume", firstSession, "--fork-session", "-p", "$PROMPT"}},
			{prompt: "go @@s4@@", replaces: []string{"--output-format", "json", "--resume", firstSession, "-p", "$PROMPT"}},
			{prompt: "go @@s5@@", replaces: []string{"--output-format", "json", "--continue", "-p", "$PROMPT"}},
		},
	},
	{
		name: "fork", about: "a session forked, and an image given with the prompt",
		clients: []string{"opencode"}, serve: true,
		files:   map[string]string{"$WORK/dot.png": picture()},
		scripts: map[string]string{"s1": `sh echo one || say one`, "s2": `sh echo two || say two`, "s3": `sh echo three || say three`},
		turns: []turn{
			{prompt: "go @@s1@@"},
			{prompt: "go @@s2@@", args: []string{"--file=$WORK/dot.png"}},
			{prompt: "go @@s3@@", args: []string{"--fork"}},
		},
	},
	{
		name: "idle", about: "an hour without a request: the times of the session are set back before it is resumed",
		clients: []string{"claude", "codex", "pi"},
		scripts: map[string]string{
			"s1": `think first && read a.txt || sh cat b.txt #1 || say one`,
			"s2": `think second && sh cat c.txt #2 || say two`,
			"s3": `sh echo three || say three`,
		},
		turns: []turn{
			{prompt: "go @@s1@@"},
			{prompt: "go @@s2@@", before: []change{{back: "70m"}}},
			{prompt: "go @@s3@@", before: []change{{back: "25h"}}},
		},
	},
	{
		name: "hooks", about: "hooks (SessionStart, UserPromptSubmit, PreToolUse that denies, PostToolUse, Stop that blocks once), rules in folders, a file named with the prompt",
		clients: []string{"claude"},
		files: map[string]string{
			"$WORK/sub/CLAUDE.md": "# Rules of sub\nCount in dozens.\n", "$WORK/sub/note.txt": "sub file\n",
			".claude/settings.json": `{"hooks":{
 "SessionStart":[{"hooks":[{"type":"command","command":"echo the shop opens at nine"}]}],
 "UserPromptSubmit":[{"hooks":[{"type":"command","command":"echo the stock list is in a.txt"}]}],
 "PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"grep -q forbidden && { echo not here >&2; exit 2; } || true"}]}],
 "PostToolUse":[{"matcher":"Read","hooks":[{"type":"command","command":"echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"additionalContext\":\"a note was read\"}}'"}]}],
 "Stop":[{"hooks":[{"type":"command","command":"[ -e $HOME/stopped ] || { touch $HOME/stopped; echo look once more >&2; exit 2; }"}]}]}}`,
		},
		scripts: map[string]string{
			"s1": `read sub/note.txt || sh echo forbidden || sh echo fine || say first || say looked once more`,
			"s2": `read c.txt || say second`,
		},
		turns: []turn{{prompt: "go @@s1@@"}, {prompt: "look at @sub/note.txt and go @@s2@@"}},
	},
	{
		name: "mcp", about: "an MCP server of two tools, a third by list_changed, a failing call, a resume without the server",
		clients: []string{"claude"},
		files:   map[string]string{"$HOME/mcp.json": `{"mcpServers":{"shop":{"type":"stdio","command":"$LAB","args":["mcp"]}}}`},
		scripts: map[string]string{
			"s1": `mcp__shop__stock {"item":"tea"} || mcp__shop__price {"item":"tea"} || mcp__shop__open {} || sh echo wait || mcp__shop__order {"item":"tea"} || say ordered`,
			"s2": `mcp__shop__price {"item":"none"} || sh echo two || say second`,
			"s3": `sh echo three || say third`,
		},
		turns: []turn{{prompt: "go @@s1@@", args: []string{"--mcp-config", "$HOME/mcp.json"}}, {prompt: "go @@s2@@", args: []string{"--mcp-config", "$HOME/mcp.json"}}, {prompt: "go @@s3@@"}},
	},
	{
		name: "agents", about: "terminal: a subagent that starts another one, one in the background that reports later, a second turn",
		clients: []string{"claude"}, window: 200000,
		scripts: map[string]string{
			"t1": `agent sub1 && background sub3 || sh echo main || say first`, "t2": `sh echo second || say second`,
			"sub1": `sh echo outer || agent sub2 || say outer result`, "sub2": `read c.txt || say inner result`, "sub3": `wait 1500 && sh echo back || say background result`,
		},
		typed: []string{"> go @@t1@@ please", "quiet 4s", "> go @@t2@@ please"},
	},
	{
		name: "compact", about: "terminal: three turns with automatic compactions, then /compact with instructions, a turn after it",
		clients: []string{"claude"},
		scripts: map[string]string{
			"t1": `read a.txt || sh cat b.txt #1 || sh cat c.txt #2 || say one`, "t2": several(7, "sh cat b.txt #2%d", " || ") + ` || say two`,
			"t3": `sh cat a.txt #30 || say three`, "t4": `sh echo four || say four`,
		},
		typed: []string{"> go @@t1@@ please", "> go @@t2@@ please", "> go @@t3@@ please", "type /compact keep the file names", "asked 1", "quiet 3s", "> go @@t4@@ please"},
	},
	{
		name: "rewind", about: "terminal: three turns, back to before the second, two turns more",
		clients: []string{"claude"}, window: 200000,
		scripts: map[string]string{"t1": `sh echo one || say one`, "t2": `sh echo two || say two`, "t3": `sh echo three || say three`, "t4": `sh echo four || say four`, "t5": `sh echo five || say five`},
		typed: []string{
			"> go @@t1@@ please", "> go @@t2@@ please", "> go @@t3@@ please", "type /rewind", "see (?i)rewind|restore", "key Up Up", "sleep 500ms", "key Enter",
			"sleep 1s", "key Enter", "sleep 1500ms", "key C-u", "> go @@t4@@ please", "> go @@t5@@ please",
		},
	},
	{
		name: "clear", about: "terminal: a turn, /clear, two turns in the session that follows",
		clients: []string{"claude"}, window: 200000,
		scripts: map[string]string{"t1": `sh echo one || say one`, "t2": `sh echo two || say two`, "t3": `sh echo three || say three`},
		typed:   []string{"> go @@t1@@ please", "type /clear", "sleep 2s", "> go @@t2@@ please", "> go @@t3@@ please"},
	},
	{
		name: "model", about: "terminal: thinking, /model to another model, /effort, /model to a third, a turn after each",
		clients: []string{"claude"}, window: 200000,
		scripts: map[string]string{"t1": `think one && sh echo one || say one`, "t2": `think two && sh echo two || say two`, "t3": `think three && sh echo three || say three`, "t4": `sh echo four || say four`},
		typed: []string{
			"> go @@t1@@ please", "type /model claude-opus-4-8", "confirm", "> go @@t2@@ please", "type /effort low", "confirm", "> go @@t3@@ please",
			"type /model claude-haiku-4-5", "confirm", "> go @@t4@@ please",
		},
	},
	{
		name: "plan", about: "terminal: plan mode, the plan written and accepted, an edit, a second turn",
		clients: []string{"claude"}, window: 200000, args: []string{"--permission-mode", "plan"},
		scripts: map[string]string{
			"t1": `read a.txt || Write {"file_path":"$PLAN","content":"# Plan\nEdit a.txt.\n"} || ExitPlanMode {"plan":"# Plan\nEdit a.txt.\n"} || edit a.txt || say planned`, "t2": `sh echo two || say two`,
		},
		typed: []string{"type go @@t1@@ please", "see (?i)would you like to proceed|ready to code", "sleep 1s", "key Enter", "played t1", "> go @@t2@@ please"},
	},
	{
		name: "queue", about: "terminal: two prompts queued while a command runs, then a third turn",
		clients: []string{"claude"}, window: 200000,
		scripts: map[string]string{"t1": `sh sleep 6 || sh echo one || say one`, "t2": `sh echo two || say two`, "t3": `sh echo three || say three`},
		typed:   []string{"type go @@t1@@ please", "asked 1", "sleep 1s", "type and count the lines", "sleep 500ms", "type and be short", "played t1", "> go @@t2@@ please", "> go @@t3@@ please"},
	},
	{
		name: "esc", about: "terminal: Esc while a command runs, and while the answer is awaited, then a third turn",
		clients: []string{"claude"}, window: 200000,
		scripts: map[string]string{"t1": `sh sleep 30 || say one`, "t2": `wait 20000 && say two`, "t3": `sh echo three || say three`},
		typed: []string{
			"type go @@t1@@ please", "asked 1", "sleep 2s", "key Escape", "sleep 1500ms", "key C-u", "type go @@t2@@ please", "asked 1", "sleep 1500ms", "key Escape", "sleep 1500ms", "key C-u",
			"> go @@t3@@ please",
		},
	},
	{
		name: "escmid", about: "terminal: Esc while an answer comes in (thinking and text; text and the first of two calls), then a third turn",
		clients: []string{"claude"}, window: 200000,
		scripts: map[string]string{"t1": `sh echo one || stall 20000 && think deep thoughts && say one`, "t2": `sh echo two || stall 20000 && say two && sh echo a && sh echo b`, "t3": `sh echo three || say three`},
		typed: []string{
			"type go @@t1@@ please", "asked 2", "sleep 2s", "key Escape", "sleep 1500ms", "key C-u", "type go @@t2@@ please", "asked 2", "sleep 2s", "key Escape", "sleep 1500ms", "key C-u",
			"> go @@t3@@ please",
		},
	},
}

// firstSession is the id of the session that a scenario names itself.
const firstSession = "11111111-2222-4333-8444-555555555555"

// scenarioNamed returns the scenario with a name, or nil.
func scenarioNamed(name string) *scenario {
	for i := range scenarios {
		if scenarios[i].name == name {
			return &scenarios[i]
		}
	}
	return nil
}
