package opencode

import "fmt"

// Version is a version the stages know, with what else differs between the reproduced versions of OpenCode (section
// 10).
type Version struct {
	version

	// Prune, section 3.
	PruneByDefault bool // enabled unless compaction.prune is false; else only if it is true
	Prune          PruneRules

	// Visible view, section 7.
	FailedSummaryCounts bool // a summary with an error completes its compaction

	// Model messages, section 6.
	DropsEmptyUserText   bool // a user text part "" is left out
	SpacesSignedText     bool // an assistant text part "" beside signed reasoning becomes " "
	ReasoningAsText      bool // another model's reasoning becomes text
	OmitsEmptyToolText   bool // a tool result of media only has no text item
	MovesMedia           bool // media a provider cannot take in a tool result goes into a user message
	ReplaysInterrupted   bool // an interrupted call with stored output is a normal result
	ToolOutputConfigured bool // tool_output.max_lines and max_bytes count (section 9)
}

// Pinned is OpenCode 1.1.36: section 10, column `pinned`.
func Pinned() Version {
	return Version{
		version:             pinned(),
		PruneByDefault:      true,
		Prune:               DefaultPruneRules(),
		FailedSummaryCounts: true,
	}
}

// V1_18_3 is OpenCode 1.18.3: section 10, column `1.18.3`.
func V1_18_3() Version {
	return Version{
		version:              v1183(),
		Prune:                DefaultPruneRules(),
		DropsEmptyUserText:   true,
		SpacesSignedText:     true,
		ReasoningAsText:      true,
		OmitsEmptyToolText:   true,
		MovesMedia:           true,
		ReplaysInterrupted:   true,
		ToolOutputConfigured: true,
	}
}

// V1_18_34 is OpenCode 1.18.34: section 10, column `1.18.34`.
func V1_18_34() Version {
	v := V1_18_3()
	v.version = v11834()
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
