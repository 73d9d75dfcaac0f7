package anonymize

import "strings"

// What stays as it is. Everything else in a session is somebody's words.

// keys are the names of fields the format and its tools have. A key that is
// not here may be somebody's path or name, and is replaced.
var keys = set(`
agentType attachments rendered run_in_background task_id
activeForm addedBlocks addedLines addedNames addedTypes agentId agentName aiTitle allowedTools allUuids anchorUuid apiErrorStatus
applied_edits appliedLimit archivedUuids args armed atis attachment attributionAgent attributionPlugin attributionSkill
autoModeConsentFlow backup backupFileName backupTime bashFirst blockedBy blocks bridgeSessionId bypass bytes cache_control
cache_creation cache_creation_input_tokens cache_deleted_input_tokens cache_miss_reason cache_missed_input_tokens
cache_read_input_tokens cache_reference caller cause choice citations classifierMetaLines cleared_input_tokens cleared_thinking_turns
cleared_tool_uses clearedAttachmentUUIDs code collapseId command commandMode commandName compactedToolIds compactMetadata condition
connection container content context context_management cumulativeDroppedTokens customTitle cwd data date decision description
diagnostics disabled displayPath document durationMs durationSeconds edits effort elapsedTimeMs elapsedTimeSeconds end endUuid
entrypoint ephemeral_1h_input_tokens ephemeral_5m_input_tokens error exitCode fallbackModel file file_path filename filenames filePath
files firstArchivedUuid formatted fullOutput gitBranch glob hasOutput head_limit headers headUuid hookAdditionalContext hookCount
hookErrors hookEvent hookInfos hookName id ideName ids imagePasteIds inference_geo input input_tokens interrupted interruptedMessageId
is_error isAbortedMidStream isApiErrorMessage isCompactSummary isImage isInitial isMeta isNetworkDown isNew isSidechain
isSnapshotUpdate isSSLError isSubAgent isVisibleInTranscriptOnly itemCount iterations kind label labels lastArchivedUuid lastPrompt
lastSequenceNum lastSpawnTokens leafUuid level limit line lineEnd lines lineStart logicalParentUuid maxRetries maxThinkingTokens
media_type message messageCount messageId met microcompactMetadata mode model multiSelect name names new_string newDate newLines
newStart newString newTodos noOutputExpected normalizedMessages notebook_path numFiles numLines numMatches offset old_string oldLines
oldStart oldString oldTodos operation options origin originalFile originalModel output output_mode output_tokens output_tokens_details
ownerAccountUuid ownerOrganizationUuid parentToolUseID parentUuid path pattern pendingBackgroundAgentCount pendingMcpServers
pendingWorkflowCount permissionMode persistedAsDefault plan planContent planExists planFilePath postTokens preCompactDiscoveredTools
preservedMessages preservedSegment preTokens preventedContinuation prNumber project prompt promptId promptSource prRepository prUrl
query question questions range rateLimits readdedNames reason reminderType removedNames removedTypes removedUuids replace_all
replaceAll replacement replacements request_id requestID requestId result resultCount results retryAttempt retryInMs risk role sentinel
server server_tool_use serverName service_tier session_id sessionId severity showConcurrencyNote signature skill skillCount slug
snapshot snapshotMessageId snipMetadata snippet source source_uuid sourceToolAssistantUUID sourceToolUseID speed staged stagedAt
staleReadFileStateHint start startLine startUuid status statusChange stderr stdout steerOnly stop_details stop_reason stop_sequence
stopReason structuredPatch subagent_type subject subtype success summary summaryContent summaryUuid tailUuid task taskDescription
taskId tasks taskType team text thinking thinking_tokens thinkingMetadata timeout timeoutMs timestamp title todos tokensSaved tool_name
tool_use_id toolDenialKind toolName toolUseID toolUseId toolUseResult total_deferred_tools totalBytes totalDurationMs totalLines
totalTokens totalToolUseCount trackedFileBackups trackingPath trigger triggers truncated type updatedFields uri url usage userFeedback
userModified userType uuid uuids value verificationNudgeNeeded version web_fetch_requests web_search_requests x
`)

// plainValues are the fields whose values the format knows: they stay where
// each of their words is in the vocabulary, or too short to name anybody.
var plainValues = set(`
type subtype role stop_reason stopReason model version userType level operation trigger media_type service_tier entrypoint permissionMode
commandMode hookEvent inference_geo speed effort fallbackModel originalModel promptSource reminderType toolDenialKind taskType
`)

// vocabulary are the words of such values longer than 6 letters.
var vocabulary = set(`
acceptedits additional anthropic assistant assistants attachment attributed attribution audience authorization availability available
background blocking boundary breakpoints bypasspermissions cancelled checkpoint collapse command commands compact compaction
compactmeta completed configuration consent content context continued coordinator created default deferred dequeue desktop developer
diagnostics directories directory disabled discovery document duration dynamic enabled enqueue enterplanmode ephemeral estimate
explicit external failure fallback fileread finished followup frequency frontmatter function generated generation handoff history
icrocompact inferred inflight information informational input_tokens instructions internal interrupted invalid invocation invoked
isolation learning listing location mailbox managed message metadata microcompact microcompaction micrometa missing network nonblocking
notification notifications operation origami original overflow overloaded overview parallel parameters pending permanent permission
permissions persisted platform position postcompact posttooluse posttoolusefailure precompact prepare preserved pretooluse preview
previous progress project protected provider proxies question received redacted reference refusal rejected reminder replacement request
response restored results resumed revision schedule scheduled selected selection sequence serverless session sessionstart settings
sidechain snapshot snippet specific standard started stopped streaming structured subagentstart subagentstop success suggestion
suggestion_accepted summary summary_message superseded synthetic system_prompt teammate template temporary terminal thinking threshold
timeout tool_result tool_use transcript truncated turn_duration unavailable unchanged unknown updated user_prompt usercommand
userpromptsubmit validation variant visible waiting warning workspace worktree
`)

// statuses are the values of status that tools know.
var statuses = set(`pending in_progress completed deleted started failed running killed cancelled success error`)

// tools are the names of tools that come with the client.
var tools = set(`
Agent AgentOutputTool AskUserQuestion Bash BashOutput CronCreate CronDelete CronList Edit EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep
KillBash KillShell LS LSP ListMcpResourcesTool MultiEdit NotebookEdit NotebookRead Read ReadMcpResourceTool ScheduleWakeup SendMessage Skill
SlashCommand Snip Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TeamCreate TeamDelete TodoRead TodoWrite ToolSearch
WebFetch WebSearch Write compact web_fetch web_search
`)

// markers are phrases of the client that readers and policies go by. They stay
// wherever they stand.
var markers = []string{
	"<command-name>/compact</command-name>", "<command-message>compact</command-message>",
	"<command-name>", "</command-name>", "<command-message>", "</command-message>", "<command-args>", "</command-args>",
	"<local-command-stdout>", "</local-command-stdout>", "<local-command-stderr>", "</local-command-stderr>",
	"<local-command-caveat>", "</local-command-caveat>", "<task-notification>", "</task-notification>",
	"<bash-input>", "</bash-input>", "<bash-stdout>", "</bash-stdout>", "<bash-stderr>", "</bash-stderr>",
	"<system-reminder>", "</system-reminder>", "<persisted-output>", "</persisted-output>", "<collapsed id=", "</collapsed>",
	"<summary>", "</summary>", "<analysis>", "</analysis>", "<synthetic>",
	"[Request interrupted by user for tool use]", "[Request interrupted by user", "[Old tool result content cleared]",
	"[Previous tool result compacted]", "[earlier conversation truncated for compaction retry]", "[Tool execution was interrupted]",
	"[id:", "/compact", "/.claude/plans/", "Base directory for this skill: ", "File unchanged since last read", "agentId: ",
	"<task-id>", "</task-id>", "<task_id>", "</task_id>",
	"<status>running</status>", "<status>completed</status>", "<status>failed</status>", "<status>killed</status>", "<status>", "</status>",
	"Caveat: The messages below were generated by the user while running local commands",
	"Output too large (", "Full output saved to: ", "Tool result saved to: ", "Use Read to view", "Preview (first ", "tool-results/",
	"This session is being continued from a previous conversation that ran out of context.", "Task #",
}

// markerBytes are the bytes a marker begins with.
var markerBytes = func() (t [256]bool) {
	for _, m := range markers {
		t[m[0]] = true
	}
	return t
}()

// kept are words that stay in any text: what file names and ids are made of.
var kept = set(`txt json jsonl toolu msg req agent acompact asession memory tool results subagents mcp png jpeg image`)

// folders and files are the names of what stands beside a session.
var (
	folders = set(`tool-results subagents session-memory workflows`)
	files   = set(`summary.md`)
)

// ends are the ends of such files' names that say what they are.
var ends = []string{".meta.json"}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// SafeWords are the letter runs of everything that may stay, in lower case: a
// word of an anonymised session that is not one of them is a stand-in.
func SafeWords() map[string]bool {
	safe := map[string]bool{}
	add := func(s string) {
		letterRuns(s, func(run string) { safe[strings.ToLower(run)] = true })
	}
	for _, m := range []map[string]bool{keys, tools, kept, statuses, vocabulary, folders, files} {
		for w := range m {
			add(w)
		}
	}
	for _, m := range markers {
		add(m)
	}
	return safe
}
