package main

// Scenarios that reach the limits of Claude Code which change from release to release. They are played with releases of each
// rule, and what the policy of a release decides is held against what that release did (own.go).

// eras are releases of Claude Code with different limits.
var eras = []string{"2.1.19", "2.1.45", "2.1.76", "2.1.100", "2.1.119", "2.1.332"}

// unset are releases without a window that was set: the first compacts at its threshold, the others once the API refuses.
var unset = []string{"2.1.119", "2.1.153", "2.1.210", "2.1.332"}

// fine are n answers of about 1,250 tokens each, so that the first one past a limit tells it.
func fine(n int) string { return several(n, "big 600 && sh echo %d", " || ") }

var limitScenarios = []scenario{
	{
		name: "results", about: "results below and above the limits of tools: shell 29,000 and 31,000 characters, grep 14,000 and 25,000, reads of 45,000 and 62,000, a subagent's of 62,000 and 109,000",
		clients: []string{"claude"}, window: 200000, versions: eras, own: true,
		files: map[string]string{"$WORK/d.txt": several(480, longLine, "\n"), "$WORK/e.txt": several(650, longLine, "\n")},
		scripts: map[string]string{
			"s1": `sh head -c 29000 e.txt || sh head -c 31000 e.txt || Grep {"pattern":"quick","path":"$WORK/a.txt","output_mode":"content","head_limit":150} ||
Grep {"pattern":"quick","path":"$WORK/a.txt","output_mode":"content","head_limit":270} || say searched`,
			"s2":   `read d.txt || read e.txt || say read`,
			"s3":   `Task {"description":"job","subagent_type":"general-purpose","prompt":"%%sub1%%"} || Task {"description":"job","subagent_type":"general-purpose","prompt":"%%sub2%%"} || sh echo end || say last`,
			"sub1": `big 7000`, "sub2": `big 12000`,
		},
		turns: []turn{{prompt: "go @@s1@@"}, {prompt: "go @@s2@@"}, {prompt: "go @@s3@@"}},
	},
	{
		name: "full", about: "answers that fill 200,000 tokens twice, the end of each in small steps",
		clients: []string{"claude"}, window: 200000, versions: eras, own: true,
		scripts: map[string]string{
			"s1": "big 24000 && sh echo a || big 24000 && sh echo b || " + fine(36) + " || say full",
			"s2": "big 24000 && sh echo c || big 22000 && sh echo d || " + fine(36) + " || say again",
		},
		turns: []turn{{prompt: "go @@s1@@"}, {prompt: "go @@s2@@"}},
	},
	{
		name: "refused", about: "answers that fill 200,000 tokens twice, no window set, and a server that refuses more: the end of each in small steps",
		clients: []string{"claude"}, window: 200000, limit: 200000, versions: unset, own: true, env: []string{"CLAUDE_CODE_AUTO_COMPACT_WINDOW="},
		scripts: map[string]string{
			"s1": "big 24000 && sh echo a || big 24000 && sh echo b || big 8000 && sh echo c || " + fine(40) + " || say full",
			"s2": "big 24000 && sh echo d || big 24000 && sh echo e || big 8000 && sh echo f || " + fine(40) + " || say again",
		},
		turns: []turn{{prompt: "go @@s1@@"}, {prompt: "go @@s2@@"}},
	},
	{
		name: "blocked", about: "answers that go past every limit that blocks, automatic compaction switched off, in a window of 120,000 tokens where a variable sets it",
		clients: []string{"claude"}, window: 120000, versions: eras, own: true, env: []string{"DISABLE_AUTO_COMPACT=1"},
		scripts: map[string]string{
			"s1": "big 24000 && sh echo a || " + fine(24) + " || big 24000 && sh echo b || " + fine(34) + " || say not blocked",
		},
		turns: []turn{{prompt: "go @@s1@@"}},
	},
	{
		name: "cleared", about: "shell reads that fill 200,000 tokens: what releases up to 2.1.68 clear by size",
		clients: []string{"claude"}, window: 200000, versions: eras, own: true,
		scripts: map[string]string{
			"s1": "big 24000 && sh echo a || " + several(14, reads, " || ") + " || say one", "s2": several(4, reads, " || ") + " || say two",
		},
		turns: []turn{{prompt: "go @@s1@@"}, {prompt: "go @@s2@@"}},
	},
}

const longLine = "line %d: the quick brown fox reads a long file of the shop and writes down all it sees there"
