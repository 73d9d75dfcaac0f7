package opencode

// The literal texts OpenCode puts in front of a model.
const (
	// clearedText replaces a pruned tool output. OpenCode 1.1.36 to 1.18.34: section 6.
	clearedText = "[Old tool result content cleared]"

	// compactionPrompt is how the model sees a compaction message. OpenCode 1.1.36 to 1.18.34: section 6.
	compactionPrompt = "What did we do so far?"

	// continueTextPinned is the synthetic prompt after an automatic compaction. OpenCode 1.1.36: section 8.
	continueTextPinned = "Continue if you have next steps"

	// continueText is the same prompt since v1.1.57. OpenCode 1.18.3 and 1.18.34: section 8.
	continueText = "Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed."

	// truncatedHint is the sentence before the advice below a truncated output; the path goes between it and the line
	// end. OpenCode 1.1.36 to 1.18.34: section 9.
	truncatedHint = "The tool call succeeded but the output was truncated. Full output saved to: "

	// truncatedAdvice ends the hint for an agent without the task tool. OpenCode 1.1.36 to 1.18.34: section 9.
	truncatedAdvice = "Use Grep to search the full content or Read with offset/limit to view specific sections."
)
