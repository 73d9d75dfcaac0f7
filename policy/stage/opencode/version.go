package opencode

import "fmt"

// Order says which of two messages is the newer one (section 5).
type Order int

const (
	ByPosition Order = iota // the later in the visible list
	ByID                    // the greater message id
	ByTime                  // the greater (time.created, id)
)

// Version holds everything in which the reproduced versions of OpenCode
// differ, and the numbers they share (section 10). It is a value: a changed
// copy is a policy of one's own.
type Version struct {
	Name string // as the cases name it

	// Prune, section 3.
	PruneByDefault bool // enabled unless compaction.prune is false; else only if it is true
	Prune          PruneRules

	// Overflow, section 4.
	CountsAll         bool // tokens.total, or all four counts; else input + cache.read + output
	OverflowAtLimit   bool // count >= usable; else count > usable
	ReserveBuffer     int  // taken from limit.input, at most the output limit; 0: nothing is, and usable may be negative
	StreamIgnoresEnv  bool // the check in the stream always assumes OutputTokenMax
	SkipsSummaryCalls bool // the check in the stream is not made on a compaction summary

	// Visible view, section 7.
	FailedSummaryCounts bool // a summary with an error completes its compaction
	KeepsTail           bool // tail_start_id is honoured, and a tail is selected

	// Prompt loop, section 5.
	Newest           Order
	UnknownContinues bool // finish "unknown" does not end the loop
	ToolsContinue    bool // nor does a message that holds tool parts
	ExitByParent     bool // the last assistant message must answer the last user message; else have the greater id
	WrapsQueued      bool // prompts queued while the loop runs are wrapped

	// Tail selection, section 8.1.
	TailTurns     int // compaction.tail_turns when not set; Unlimited: all
	TailMinTokens int
	TailMaxTokens int

	// Model messages, section 6.
	DropsEmptyUserText   bool // a user text part "" is left out
	SpacesSignedText     bool // an assistant text part "" beside signed reasoning becomes " "
	ReasoningAsText      bool // another model's reasoning becomes text
	OmitsEmptyToolText   bool // a tool result of media only has no text item
	MovesMedia           bool // media a provider cannot take in a tool result goes into a user message
	ReplaysInterrupted   bool // an interrupted call with stored output is a normal result
	ToolOutputConfigured bool // tool_output.max_lines and max_bytes count (section 9)

	ContinueText string // the synthetic prompt after an automatic compaction (section 8)
}

// Unlimited is the tail_turns of a version that has no such limit.
const Unlimited = int(^uint(0) >> 1)

// Pinned is OpenCode 1.1.36 at commit 8c4bf225f29f26635158333785dbdb4e6923bfb7
// (2026-01-25): section 10, column `pinned`.
func Pinned() Version {
	return Version{
		Name:                "pinned",
		PruneByDefault:      true,
		Prune:               DefaultPruneRules(),
		FailedSummaryCounts: true,
		Newest:              ByPosition,
		UnknownContinues:    true,
		WrapsQueued:         true,
		ContinueText:        ContinueTextPinned,
	}
}

// V1_18_3 is OpenCode 1.18.3, commit 127bdb30784d508cc556c71a0f32b508a3061517
// (2026-07-16): section 10, column `1.18.3`.
func V1_18_3() Version {
	return Version{
		Name:                 "1.18.3",
		Prune:                DefaultPruneRules(),
		CountsAll:            true,
		OverflowAtLimit:      true,
		ReserveBuffer:        20000,
		StreamIgnoresEnv:     true,
		SkipsSummaryCalls:    true,
		KeepsTail:            true,
		Newest:               ByID,
		ToolsContinue:        true,
		TailTurns:            2,
		TailMinTokens:        2000,
		TailMaxTokens:        8000,
		DropsEmptyUserText:   true,
		SpacesSignedText:     true,
		ReasoningAsText:      true,
		OmitsEmptyToolText:   true,
		MovesMedia:           true,
		ReplaysInterrupted:   true,
		ToolOutputConfigured: true,
		ContinueText:         ContinueText,
	}
}

// V1_18_34 is OpenCode 1.18.34, the newest release described: section 10,
// column `1.18.34`.
func V1_18_34() Version {
	v := V1_18_3()
	v.Name = "1.18.34"
	v.Newest = ByTime
	v.UnknownContinues = true
	v.ExitByParent = true
	v.TailTurns = Unlimited
	v.TailMaxTokens = 15000
	return v
}

// Versions lists the reproduced versions, oldest first.
func Versions() []Version {
	return []Version{Pinned(), V1_18_3(), V1_18_34()}
}

// ByName finds a version by the name the cases give it; "1.1.36" is `pinned`.
func ByName(name string) (Version, error) {
	if name == "1.1.36" {
		return Pinned(), nil
	}
	for _, v := range Versions() {
		if v.Name == name {
			return v, nil
		}
	}
	return Version{}, fmt.Errorf("no opencode version %q", name)
}
