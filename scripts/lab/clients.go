package main

import "regexp"

// client is an agent that npm serves and how it is driven. In its texts $URL is the mock's address, $HOME and $WORK the
// folders of the run, $WINDOW the context window in tokens, $LIMIT three quarters of it, $MODEL the scenario's model,
// $PORT a free port, $PROMPT the prompt of a turn, $SESSION the id of the session.
type client struct {
	name    string
	label   string // as the product is called
	pkg     string // package of npm
	bin     string
	pins    []string // releases that .ci/run clients plays
	model   string
	window  int
	env     []string
	files   map[string]string // in the home, written before the first turn
	common  []string          // arguments of every turn
	first   []string          // arguments of a turn that begins a session
	next    []string          // arguments of a turn that goes on with it
	session []string          // globs in the home, of session files
	// serve are the arguments of a server that runs beside all turns; attach those of a turn under it.
	serve  []string
	attach []string
	list   []string // arguments of a command that prints the session's id as ses_...
	export []string // arguments of a command that prints the session
	// tools are the tools by what a scenario calls them, with {} for the argument. A step's call without a tool here is
	// left out.
	tools map[string]string
	// terminal are the arguments in a terminal, ready the regular expression that the screen shows then.
	terminal []string
	ready    string
	ignored  []string // paths that it asks for and does without
	asIf     asIf
	own      ownRelease
}

var clients = []client{
	{
		name: "claude", label: "Claude Code", pkg: "@anthropic-ai/claude-code", bin: "claude",
		pins:  []string{"2.1.119", "2.1.260", "2.1.332"},
		model: "claude-sonnet-4-5", window: 100000,
		env: []string{
			"ANTHROPIC_API_KEY=sk-ant-mock", "ANTHROPIC_BASE_URL=$URL", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1",
			"DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_AUTO_COMPACT_WINDOW=$WINDOW",
		},
		files: map[string]string{".claude.json": `{"hasCompletedOnboarding":true,"theme":"dark","autoUpdates":false,"customApiKeyResponses":{"approved":["sk-ant-mock"],"rejected":[]},
 "projects":{"$WORK":{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true,"projectOnboardingSeenCount":9}}}`},
		common: []string{"--model", "$MODEL", "--permission-mode", "acceptEdits", "--allowedTools", "Bash,Read,Edit,Write,Grep,Glob,Task,Agent,TodoWrite,mcp__shop"},
		first:  []string{"--output-format", "json", "-p", "$PROMPT"},
		next:   []string{"--output-format", "json", "--resume", "$SESSION", "-p", "$PROMPT"},

		terminal: []string{}, ready: `(?m)^\s*[❯>]|\? for shortcuts`,
		session: []string{".claude/projects/*/*.jsonl"},
		tools: map[string]string{
			"read":       `Read {"file_path":"$WORK/{}"}`,
			"sh":         `Bash {"command":"{}","description":"run it"}`,
			"agent":      `Agent {"description":"job {}","subagent_type":"general-purpose","prompt":"%%{}%%"}`,
			"background": `Agent {"description":"job {}","subagent_type":"general-purpose","run_in_background":true,"prompt":"%%{}%%"}`,
			"write":      `Write {"file_path":"$WORK/{}","content":"written by the agent\nline two\n"}`,
			"edit":       `Edit {"file_path":"$WORK/{}","old_string":"line 3:","new_string":"line three:"}`,
		},
		ignored: []string{"HEAD /", "GET /api/", "POST /api/"},
		own:     ownRelease{policy: "claude-code@$RELEASE"},
		asIf: asIf{
			policy: "claude-code-2.1.193", cut: regexp.MustCompile(`^<persisted-output>`),
			flags: []string{"--model", "$MODEL", "--window", "200000", "--set", "window.auto_compact_window=$WINDOW", "--set", "autocompact.summary=[{fixed: $SUMMARY}]"},
		},
	},
	{
		name: "codex", label: "Codex", pkg: "@openai/codex", bin: "codex",
		pins:  []string{"0.150.1", "0.165.0", "0.171.0"},
		model: "gpt-5.4", window: 60000,
		env: []string{"CODEX_HOME=$HOME/.codex", "MOCK_KEY=x"},
		files: map[string]string{".codex/config.toml": `model = "$MODEL"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"
model_context_window = $WINDOW
model_auto_compact_token_limit = $LIMIT
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.mock]
name = "Mock"
base_url = "$URL/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2
`},
		first:   []string{"exec", "--skip-git-repo-check", "$PROMPT"},
		next:    []string{"exec", "--skip-git-repo-check", "resume", "$SESSION", "$PROMPT"},
		session: []string{".codex/sessions/*/*/*/*.jsonl"},
		tools: map[string]string{
			"read": `exec_command {"cmd":"cat {}","max_output_tokens":20000}`,
			"sh":   `exec_command {"cmd":"{}","max_output_tokens":20000}`,
		},
		own: ownRelease{
			policy: "codex-local", scenarios: []string{"turns", "long", "twice"}, // the lab's server is another provider's
			flags: []string{"--window", "$WINDOW", "--set", "codex_compaction.token_limit=$LIMIT"},
		},
		asIf: asIf{
			policy: "codex-local", cut: regexp.MustCompile(`Warning: truncated output`),
			// Of a model that the catalogue of its release does not have it keeps 10,000 bytes of an output.
			flags: []string{
				"--window", "$WINDOW", "--set", "truncate_results.max_bytes=10000", "--set", "codex_compaction.token_limit=$LIMIT",
				"--set", "codex_compaction.summary=[{fixed: $SUMMARY}]",
			},
		},
	},
	{
		name: "opencode", label: "OpenCode", pkg: "opencode-ai", bin: "opencode",
		pins:  []string{"1.15.13", "1.18.3", "1.18.33"},
		model: "mock-1", window: 60000,
		env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"},
		files: map[string]string{".config/opencode/opencode.json": `{"autoupdate":false,"share":"disabled","model":"mock/mock-1","small_model":"mock/mock-1","compaction":{"auto":true,"prune":true},
 "provider":{"mock":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"$URL/v1","apiKey":"x"},"models":{"mock-1":{"name":"Mock","attachment":true,"modalities":{"input":["text","image"],"output":["text"]},"limit":{"context":$WINDOW,"output":8000}}}}},
 "permission":{"edit":"allow","bash":"allow","webfetch":"deny"}}`},
		first:  []string{"run", "$PROMPT"},
		next:   []string{"run", "-s", "$SESSION", "$PROMPT"},
		serve:  []string{"serve", "--port", "$PORT"},
		attach: []string{"--attach", "http://127.0.0.1:$PORT"},
		list:   []string{"session", "list", "--format", "json"},
		export: []string{"export", "$SESSION"},
		tools: map[string]string{
			"read":  `read {"filePath":"$WORK/{}"}`,
			"sh":    `bash {"command":"{}","description":"run it"}`,
			"agent": `task {"description":"job {}","subagent_type":"general","prompt":"%%{}%%"}`,
			"write": `write {"filePath":"$WORK/{}","content":"written by the agent\nline two\n"}`,
			"edit":  `edit {"filePath":"$WORK/{}","oldString":"line 3:","newString":"line three:"}`,
		},
		own: ownRelease{
			policy: "opencode@$RELEASE", scenarios: []string{"turns", "long", "twice"},
			flags: []string{"--window", "$WINDOW", "--set", "opencode_compaction.input_limit=$WINDOW", "--set", "opencode_compaction.reserved=8000", "--set", "opencode_prune.auto=true"},
		},
		asIf: asIf{
			policy: "opencode-1.18", cut: regexp.MustCompile(`^\.\.\.output truncated`),
			// The window and the answers of the model in its configuration, and that it prunes.
			flags: []string{
				"--window", "$WINDOW", "--set", "opencode_compaction.input_limit=$WINDOW", "--set", "opencode_compaction.reserved=8000", "--set", "opencode_prune.auto=true",
				"--set", "opencode_compaction.summary=[{fixed: $SUMMARY}]",
			},
		},
	},
	{
		name: "gemini", label: "Gemini CLI", pkg: "@google/gemini-cli", bin: "gemini",
		pins:  []string{"0.45.2", "0.55.1", "0.61.0"},
		model: "gemini-2.5-pro",
		env:   []string{"GEMINI_API_KEY=mock", "GOOGLE_GEMINI_BASE_URL=$URL", "GEMINI_CLI_TRUST_WORKSPACE=true"},
		files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"disableAutoUpdate":true},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false}}`},

		common:  []string{"-y", "-m", "$MODEL"},
		first:   []string{"-p", "$PROMPT"},
		next:    []string{"--resume", "latest", "-p", "$PROMPT"},
		session: []string{".gemini/tmp/*/chats/session-*.json*"},
		tools: map[string]string{
			"read":  `read_file {"file_path":"$WORK/{}"}`,
			"sh":    `run_shell_command {"command":"{}","description":"run it"}`,
			"write": `write_file {"file_path":"$WORK/{}","content":"written by the agent\nline two\n"}`,
		},
	},
	{
		name: "qwen", label: "Qwen Code", pkg: "@qwen-code/qwen-code", bin: "qwen",
		pins:  []string{"0.15.10", "0.21.10", "0.24.4"},
		model: "qwen3-coder-plus",
		env:   []string{"OPENAI_API_KEY=mock", "OPENAI_BASE_URL=$URL/v1", "OPENAI_MODEL=$MODEL"},

		common:  []string{"--auth-type", "openai", "-y"},
		first:   []string{"-p", "$PROMPT"},
		next:    []string{"--resume", "$SESSION", "-p", "$PROMPT"},
		session: []string{".qwen/projects/*/chats/*.jsonl"},
		tools: map[string]string{
			"read":  `read_file {"file_path":"$WORK/{}"}`,
			"sh":    `run_shell_command {"command":"{}","description":"run it","is_background":false}`,
			"write": `write_file {"file_path":"$WORK/{}","content":"written by the agent\nline two\n"}`,
		},
	},
	{
		name: "pi", label: "Pi", pkg: "@earendil-works/pi-coding-agent", bin: "pi",
		pins:  []string{"0.74.2", "0.85.1", "1.6.0"},
		model: "mock-1", window: 60000,
		env: []string{"PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1"},
		files: map[string]string{".pi/agent/models.json": `{"providers":{"mock":{"baseUrl":"$URL/v1","apiKey":"mock","api":"openai-completions","models":[{"id":"mock-1","name":"Mock","reasoning":false,"input":["text","image"],
 "contextWindow":$WINDOW,"maxTokens":8000,"cost":{"input":1,"output":2,"cacheRead":0.1,"cacheWrite":0}}]}}}`},
		common:  []string{"--provider", "mock", "--model", "$MODEL"},
		first:   []string{"-p", "$PROMPT"},
		next:    []string{"-c", "-p", "$PROMPT"},
		session: []string{".pi/agent/sessions/*/*.jsonl"},
		tools: map[string]string{
			"read":  `read {"path":"$WORK/{}"}`,
			"sh":    `bash {"command":"{}"}`,
			"write": `write {"path":"$WORK/{}","content":"written by the agent\nline two\n"}`,
			"edit":  `edit {"path":"$WORK/{}","edits":[{"oldText":"a line 3:","newText":"a line three:"}]}`,
		},
		own: ownRelease{policy: "pi@$RELEASE", scenarios: []string{"turns"}, flags: []string{"--window", "$WINDOW"}},
	},
	{
		name: "copilot", label: "Copilot CLI", pkg: "@github/copilot", bin: "copilot",
		pins:  []string{"1.0.75", "1.0.89", "1.0.102"},
		model: "mock-1",
		env: []string{
			"COPILOT_PROVIDER_BASE_URL=$URL/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY=mock", "COPILOT_MODEL=$MODEL",
			"COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false",
		},
		common:  []string{"--allow-all-tools"},
		first:   []string{"-p", "$PROMPT"},
		next:    []string{"--continue", "-p", "$PROMPT"},
		session: []string{".copilot/session-state/*/events.jsonl"},
		tools: map[string]string{
			"read": `view {"path":"$WORK/{}"}`,
			"sh":   `bash {"command":"{}","description":"run it","initial_wait":5,"sessionId":"s1"}`,
		},
	},
}

// clientNamed returns the client with a name, or nil.
func clientNamed(name string) *client {
	for i := range clients {
		if clients[i].name == name {
			return &clients[i]
		}
	}
	return nil
}
