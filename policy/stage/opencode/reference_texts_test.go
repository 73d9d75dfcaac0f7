package opencode

// The literal texts of OpenCode that no stage puts in front of a model, and those of the stages by the names the
// tests use.
const (
	ClearedText      = clearedText
	CompactionPrompt = compactionPrompt
	ContinueText     = continueText

	// InterruptedText is the error text of a call that never finished. OpenCode 1.1.36 to 1.18.34: section 6.
	InterruptedText = "[Tool execution was interrupted]"

	// SubtaskPrompt is how the model sees a subtask part. OpenCode 1.1.36 to 1.18.34: section 6.
	SubtaskPrompt = "The following tool was executed by the user"

	// AttachedMediaText precedes media moved out of a tool result. OpenCode 1.18.3 and 1.18.34: section 6.
	AttachedMediaText = "Attached media from tool result:"

	// TruncatedTaskAdvice ends the hint below a truncated output for an agent with the task tool. OpenCode 1.1.36 to
	// 1.18.34: section 9.
	TruncatedTaskAdvice = "Use the Task tool to have explore agent process this file with Grep and Read (with offset/limit). Do NOT read the full file yourself - delegate to save context."
)
