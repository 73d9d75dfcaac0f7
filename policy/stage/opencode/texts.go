package opencode

// The literal texts OpenCode puts in front of a model.
const (
	// ClearedText stands for a pruned tool output. OpenCode 1.1.36 to 1.18.34:
	// section 6.
	ClearedText = "[Old tool result content cleared]"

	// InterruptedText is the error text of a call that never finished. OpenCode
	// 1.1.36 to 1.18.34: section 6.
	InterruptedText = "[Tool execution was interrupted]"

	// CompactionPrompt is how the model sees a compaction message. OpenCode
	// 1.1.36 to 1.18.34: section 6.
	CompactionPrompt = "What did we do so far?"

	// SubtaskPrompt is how the model sees a subtask part. OpenCode 1.1.36 to
	// 1.18.34: section 6.
	SubtaskPrompt = "The following tool was executed by the user"

	// AttachedMediaText precedes media moved out of a tool result. OpenCode
	// 1.18.3 and 1.18.34: section 6.
	AttachedMediaText = "Attached media from tool result:"

	// ContinueTextPinned is the synthetic prompt after an automatic compaction.
	// OpenCode 1.1.36: section 8.
	ContinueTextPinned = "Continue if you have next steps"

	// ContinueText is the same prompt since v1.1.57. OpenCode 1.18.3 and
	// 1.18.34: section 8.
	ContinueText = "Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed."

	// QueuedPrefix and QueuedSuffix wrap a prompt queued while the loop runs.
	// OpenCode 1.1.36: section 5.
	QueuedPrefix = "<system-reminder>\nThe user sent the following message:\n"
	QueuedSuffix = "\n\nPlease address this message and continue with your tasks.\n</system-reminder>"

	// TruncatedHint is the sentence before the advice below a truncated
	// output; the path goes between it and the line end. OpenCode 1.1.36 to
	// 1.18.34: section 9.
	TruncatedHint = "The tool call succeeded but the output was truncated. Full output saved to: "

	// TruncatedAdvice and TruncatedTaskAdvice end the hint; the latter is for
	// agents that may use the task tool. OpenCode 1.1.36 to 1.18.34: section 9.
	TruncatedAdvice     = "Use Grep to search the full content or Read with offset/limit to view specific sections."
	TruncatedTaskAdvice = "Use the Task tool to have explore agent process this file with Grep and Read (with offset/limit). Do NOT read the full file yourself - delegate to save context."
)
