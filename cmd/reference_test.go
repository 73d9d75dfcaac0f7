package cmd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/lint"
	"github.com/ctxkit/ctxkit/report"
	"github.com/ctxkit/ctxkit/report/golden"
)

//go:generate go test . -run TestReference -update

// sharedBy is how many commands have to define a flag in the same words for the page to describe it once, at its
// head.
const sharedBy = 5

const cliIntro = `<!-- Generated from the commands by go generate ./cmd; do not edit. -->

# Command line

ctxkit reads session files and writes to standard output, or to the file that ` + "`-o`" + ` names. It opens no
network connection. A program that a policy names as a stage is not covered by that; none is started without
` + "`--allow-programs`" + ` ([programs.md](programs.md)).

## Inputs

| input | what is read |
|---|---|
| a file | one session: plain, gzip or zstd |
| ` + "`-`" + ` | one session from standard input |
| a folder | every session in it and in the project folders one level below |
| ` + "`last`" + `, ` + "`last~1`" + ` … | the session that was used last, the one before it … in the folders below |
| a project folder's name, such as ` + "`-home-me-work`" + ` | every session of the project |
| a session id, or the beginning of one | that session in ` + "`$CLAUDE_CONFIG_DIR/projects`" + ` (a list with commas), else ` + "`~/.claude/projects`" + ` |

What names a file or folder is that. ` + "`CTXKIT_NOW`" + ` (2026-01-31T12:00:00Z) sets the time that ages are counted from.

A command line that begins with an input and no command is one of ` + "`replay`" + `; standard error shows the whole command.

## Default policy

Without ` + "`--policy`" + `, every command that takes one policy uses ` + "`recorded`" + `: what the client really did. Two commands
differ: ` + "`backtest`" + ` scores the policy of the session's own client against the recorded session, and ` + "`thresholds`" + `, which
reads no session, lists those of ` + "`claude-code`" + `. ` + "`compare`" + ` and ` + "`export`" + ` take several policies; their own help says which.

## Output

| ` + "`--format`" + ` | contents |
|---|---|
| ` + "`table`" + `, ` + "`text`" + ` | for reading: as wide as the terminal, else ` + "`$COLUMNS`" + `, else 100 columns; 60 to 240. Columns that do not fit are named below the table. Colour on a terminal and with ` + "`FORCE_COLOR`" + `, never with ` + "`NO_COLOR`" + ` |
| ` + "`json`" + ` | the whole result; its ` + "`schema`" + ` field ` + "`ctxkit.NAME/v1`" + ` is [schemas](schemas)/NAME.v1.json; no field of a version is renamed or removed. ` + "`view`" + ` prints a body for the Messages API |
| ` + "`ndjson`" + ` | one request per line |
| ` + "`csv`" + ` | one row per request, session or finding |
| ` + "`html`" + ` | one file with charts, tables and texts, to open in a browser: [page.md](page.md) |
| ` + "`svg`" + ` | a picture: of a session's timeline, or of a sweep's points |
| ` + "`markdown`" + `, ` + "`github`" + `, ` + "`junit`" + ` | for pull requests and CI |

Warnings and progress go to standard error, and on a terminal the name of the file that ` + "`-o`" + ` wrote; ` + "`--quiet`" + ` leaves them out. More than 10 warnings are counted by
kind, with the first of each, below the result; ` + "`--verbose`" + ` prints every one.

Of several sessions, ` + "`replay`" + `, ` + "`regret`" + ` and ` + "`lint`" + ` print one table over all; ` + "`--verbose`" + ` prints each by itself as
well.

## Completion

` + "`ctxkit completion SHELL`" + ` prints a script for bash, fish, powershell or zsh; its ` + "`--help`" + ` says where to put it. The
shell then completes policies, parameters (those of the policy that is named), formats and other named values, ` + "`last`" + `,
projects, and session ids by their beginning.

In a checkout, ` + "`go run ./scripts/genman DIR`" + ` writes manual pages.

## Cache

ctxkit keeps the row of each session file that it listed, and what it is made of: title, first prompt, times, tokens and
cost. A row is used while the file's size, time of change, beginning and end are the same, and by the build that wrote
it; no output differs with it or without. It is in ` + "`ctxkit/sessions`" + ` in the user's cache folder, readable by the user
alone. ` + "`CTXKIT_CACHE`" + ` names another folder, and with ` + "`off`" + ` nothing is kept, as with ` + "`--no-cache`" + `. ` + "`check`" + ` uses none.

` + "`compare`" + ` keeps of each input what ` + "`--format rows`" + ` writes, warnings included, by policy. It reads a session again where
anything has changed that its rows depend on: the file; a file beside it (subagents, offloaded results, the session's own
summary), by name, mode, size and time of change; what a policy says; an option; the build. Another comparison with the
same first policy takes what both have in common, and works out the other policies alone. Nothing is kept of standard
input, of an input that failed, of a session that is a tree of files or has a link beside it, and where a policy starts a
program.

What is damaged is worked out again, and a folder that cannot be written is no error. Several runs may use one cache.
After ` + "`compare`" + ` added to it, at most once a day unless it added much, the cache is trimmed: what was not written or used for
30 days is removed, and from 1 GiB or 200,000 files on what was used longest ago. ` + "`cache info`" + ` says what it holds.

## Exit codes

| code | meaning |
|---|---|
| 0 | done, also when the reader of a pipe closes it early |
| 1 | a check failed: an error from ` + "`lint`" + `, a finding of ` + "`policy lint`" + `, a failed ` + "`check`" + `, a word left by ` + "`anonymize --check`" + `, or what ` + "`--strict`" + ` tests |
| 2 | the command could not do its work: usage, unreadable input, invalid policy |
| 129 | the terminal was closed |
| 130 | interrupted |
`

const lintIntro = `<!-- Generated from the rules by go generate ./cmd; do not edit. -->

# Lint codes

` + "`ctxkit lint`" + ` reports each problem of a session file under one of these codes. A code never changes its meaning.

| severity | meaning |
|---|---|
| ` + "`error`" + ` | part of the transcript is lost or refused; the exit code is 1 |
| ` + "`warning`" + ` | a replay has to assume something; with ` + "`--strict`" + ` the exit code is 1 |
| ` + "`note`" + ` | normal for the format |

| code | severity | what it means | what a replay loses or assumes |
|---|---|---|---|
`

const limitsIntro = `<!-- Generated from the limits by go generate ./cmd; do not edit. -->

# Limits

These limits bound what a session costs, however it was made; no recorded session comes near them. An input over a limit
costs only itself: the error or the warning names the limit, and the exit code is 2 where the input could not be read to its
end. ` + "`--max NAME=VALUE`" + ` changes one, such as ` + "`--max line=256MiB --max findings=100`" + `; units of bytes
are binary.

| limit | default | of what |
|---|---|---|
`

const limitsEnd = `
What is over it:

- ` + "`line`" + `: the line is set aside as malformed; the rest is read. It can be 2,147,483,647 bytes at most, and so can a document.
- ` + "`input`, `ratio`, `entries`, `document`" + `: reading stops there, as at the end of a truncated file. A plain file longer than
  ` + "`input`" + ` is not begun.
- ` + "`offload`, `offloads`" + `: the file is refused; its preview in the session is all that is known. ` + "`anonymize`" + `, which has to
  write every file, ends.
- ` + "`edits`" + `: there is no replay of the conversation: its figures would be those of a part. A policy that compacts at every
  request, and keeps thousands of messages each time, gets there; so does a session that changes its model at every request. Ten messages that a
  failed compaction was about count as one edit.
- ` + "`findings`" + `: the first ones of each kind are listed, all are counted. In JSON, ` + "`left_out`" + ` of a finding of ` + "`lint`" + `, and
  ` + "`more`" + ` of a warning, say how many are not listed.

Other files have limits that no flag changes: a sessions index and a subagent's meta file 64 MiB, a session's own summary
1 MiB, a policy 1 MiB; baselines, price tables and the answers of programs a few MiB.

Memory is bounded from outside by a control group. ` + "`ulimit -v`" + ` counts what Go reserves and does not use: below 2 GB ctxkit
can end with a report of Go's.
`

// TestReference compares docs/cli.md with the commands, docs/lint.md with the lint rules and docs/limits.md with the
// limits. With -update it writes them.
func TestReference(t *testing.T) {
	golden.Check(t, "../docs/cli.md", []byte(cliPage(t)))
	page := lintIntro
	for _, r := range lint.Rules() {
		page += fmt.Sprintf("| `%s` | %s | %s | %s |\n", r.Code, r.Severity, r.Means, r.Costs)
	}
	golden.Check(t, "../docs/lint.md", []byte(page))
	page = limitsIntro
	for _, l := range jsonl.LimitNames() {
		page += fmt.Sprintf("| `%s` | %s | %s |\n", l.Name, l.DefaultText(), l.Means)
	}
	golden.Check(t, "../docs/limits.md", []byte(page+limitsEnd))
}

func cliPage(t *testing.T) string {
	t.Helper()
	var commands []*cobra.Command
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Runnable() && !c.HasSubCommands() && c.Name() != "help" {
			commands = append(commands, c)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&system{}))
	var shared []string
	uses := map[string]int{}
	newRoot(&system{}).PersistentFlags().VisitAll(func(f *pflag.Flag) { shared = append(shared, flagRow(f)) })
	for _, c := range commands {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { uses[flagRow(f)]++ })
	}
	var body strings.Builder
	for _, c := range commands {
		var rows, names []string
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			row := flagRow(f)
			if uses[row] < sharedBy {
				rows = append(rows, row)
				return
			}
			shared = append(shared, row)
			names = append(names, "`--"+f.Name+"`")
		})
		fmt.Fprintf(&body, "\n## %s\n\n%s.\n\n```text\n%s\n```\n", c.CommandPath(), c.Short, strings.TrimSpace(c.UseLine()+"\n\n"+c.Long))
		if c.Example != "" {
			fmt.Fprintf(&body, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
		}
		if len(rows) > 0 {
			fmt.Fprintf(&body, "\n%s%s", flagHead, strings.Join(rows, ""))
		}
		if len(names) > 0 {
			fmt.Fprintf(&body, "\nShared flags: %s.\n", strings.Join(names, ", "))
		}
		if text := c.Annotations[columnsTopic]; text != "" {
			fmt.Fprintf(&body, "\nColumns:\n\n```text\n%s\n```\n", text)
		} else if f := c.LocalFlags().Lookup("format"); f != nil && f.DefValue == string(report.FormatTable) {
			t.Errorf("%s prints tables and explains no column", c.CommandPath())
		}
	}
	slices.SortFunc(shared, func(a, b string) int { return strings.Compare(a[strings.Index(a, "--"):], b[strings.Index(b, "--"):]) })
	return cliIntro + "\n## Shared flags\n\n" + flagHead + strings.Join(slices.Compact(shared), "") + body.String()
}

const flagHead = "| flag | default | what it does |\n|---|---|---|\n"

// flagRow is one row of a table of flags.
func flagRow(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	name := strings.TrimSpace("--" + f.Name + " " + value)
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	def := f.DefValue
	if def == "false" || def == "[]" || f.Name == "jobs" {
		def = "" // of jobs: the number of processors
	}
	return fmt.Sprintf("| `%s` | %s | %s |\n", name, def, strings.ReplaceAll(usage, "|", `\|`))
}
