package regret

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/pattern"
	"github.com/ctxkit/ctxkit/jsonl/session"
)

// access is what a call does with one file.
type access struct {
	path    string // absolute where the client's folder is known
	edits   []session.FileEdit
	changes bool // the file
}

// accesses lists what a call does with files that it names: none for a call of another kind.
func (b *builder) accesses(tool string, raw []byte) []access {
	alike := b.conv.Alike(tool)
	switch alike {
	case "Read", "NotebookRead", "Edit", "MultiEdit", "NotebookEdit", "Write", "Bash":
	default:
		return nil
	}
	raw = b.conv.AlikeInput(tool, raw)
	var in struct {
		shellInput
		Input     string `json:"input"`
		PatchText string `json:"patchText"`
	}
	_ = json.Unmarshal(raw, &in) // another input has no path and no command
	if list := readPatch(in.Input+in.PatchText+in.Command, b.conv.CWD); len(list) > 0 {
		return list
	}
	if alike == "Bash" {
		return readCommand(in.shellInput, b.conv.CWD)
	}
	file, _ := session.DecodeFileInput(raw) // a field of another type belongs to another tool
	if file.Path() == "" {
		return nil
	}
	return []access{{path: absolute(file.Path(), b.conv.CWD), edits: file.Edits(), changes: alike != "Read" && alike != "NotebookRead"}}
}

func absolute(file, folder string) string {
	if path.IsAbs(file) || strings.Contains(file, `:\`) {
		return file
	}
	return path.Join(folder, file)
}

// readPatch lists the files of a patch as apply_patch takes it, each with the lines that its hunks found there.
func readPatch(text, folder string) (list []access) {
	var old strings.Builder
	hunk := func() {
		if last := len(list) - 1; last >= 0 && old.Len() > 0 {
			list[last].edits = append(list[last].edits, session.FileEdit{Old: old.String()})
		}
		old.Reset()
	}
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "*** "):
			hunk()
			for _, head := range [...]string{"*** Update File: ", "*** Add File: ", "*** Delete File: "} {
				if name, ok := strings.CutPrefix(line, head); ok {
					list = append(list, access{path: absolute(strings.TrimSpace(name), folder), changes: true})
				}
			}
		case strings.HasPrefix(line, "@@"):
			hunk()
		case line[0] == ' ' || line[0] == '-':
			old.WriteString(line[1:])
		}
	}
	hunk()
	return list
}

// showing are the programs that print a file, and nothing else, where their only other words are options, numbers or a
// script of sed.
func showing(program string) bool {
	return slices.Contains([]string{"cat", "head", "tail", "nl", "sed", "less", "more", "bat"}, program)
}

// shellInput is the input of a tool that runs commands, and the folder where the command runs.
type shellInput struct {
	Command string `json:"command"`
	Folder  string `json:"workdir"`
}

// readCommand reads a command. It understands one program with one file, and sed's substitutions in place.
func readCommand(in shellInput, folder string) []access {
	text := in.Command
	script, rest, inPlace := substitution(text)
	if inPlace {
		text = rest
	}
	words := strings.Fields(text)
	if len(words) < 2 || strings.ContainsAny(text, "|;&<>$`(){}*?\n") && !inPlace || !showing(words[0]) {
		return nil
	}
	file := ""
	for i, w := range words[1:] {
		w = strings.Trim(w, `'"`)
		option := strings.HasPrefix(w, "-") || strings.Trim(w, "0123456789,p$") == ""
		switch {
		case option && i < len(words)-2:
		case file != "":
			return nil
		default:
			file = w
		}
	}
	if file == "" {
		return nil
	}
	a := access{path: absolute(file, absolute(in.Folder, folder)), changes: inPlace}
	if inPlace {
		a.edits = []session.FileEdit{{Old: script}}
	}
	return []access{a}
}

// doing are tools that are called for what they do, or to wait: their answers are no knowledge.
func doing(tool string) bool {
	return slices.Contains(strings.Fields(`TodoWrite EnterPlanMode ExitPlanMode AskUserQuestion BashOutput TaskOutput AgentOutputTool KillShell KillBash
		TaskCreate TaskUpdate TaskStop Skill SlashCommand write_stdin update_plan wait wait_agent send_input close_agent todowrite question`), tool)
}

// writing matches a command that changes files, or the state of a repository: what others said before may not hold any more.
var writing = pattern.New(`(?:^|[^0-9&>-])>>?\s*[^&/\s]|(?:^|[^0-9&>-])>>?\s*/(?:[^d]|d[^e])|(?:^|[;&|(]\s*|\bsudo\s+|\bxargs\s+)(?:tee|rm|mv|cp|touch|mkdir|patch|apply_patch|ln|chmod|rsync|unzip|tar)\b` +
	`|\b(?:sed|perl)\s+-\w*i|\bgit\s+(?:-C\s+\S+\s+)?(?:add|am|apply|checkout|cherry-pick|clean|commit|merge|mv|pull|push|rebase|reset|restore|revert|rm|stash|switch)\b` +
	`|\b(?:npm|pnpm|yarn|pip3?|bun|cargo|go|apt|apt-get|brew|poetry|uv|composer|bundle)\s+(?:ci|install|i|add|remove|update|upgrade|get|fmt|generate|mod)\b|\bgofmt\s+-w|\b(?:prettier|eslint|ruff)\b.*(?:--write|--fix|format)`)

// sameCall is equal for calls that ask for the same. Of a command it is what runs and where: how long to wait for it and
// what it is for makes no difference. writes reports whether it is a command that changes files.
func (b *builder) sameCall(tool string, raw []byte) (key string, writes bool) {
	var in shellInput
	if b.conv.Alike(tool) == "Bash" && json.Unmarshal(b.conv.AlikeInput(tool, raw), &in) == nil && in.Command != "" {
		return "Bash " + absolute(in.Folder, b.conv.CWD) + " " + in.Command, writing().MatchString(in.Command)
	}
	return tool + " " + string(raw), false
}

// substitution takes the text that `sed -i 's/OLD/NEW/' FILE` replaces out of the command.
func substitution(text string) (old, rest string, ok bool) {
	head, script, ok := strings.Cut(text, "'s")
	if !ok || !strings.HasPrefix(head, "sed -i") || len(script) < 2 {
		return "", "", false
	}
	parts := strings.SplitN(script[1:], script[:1], 2)
	end := strings.LastIndexByte(script, '\'')
	if len(parts) < 2 || end < 0 {
		return "", "", false
	}
	return strings.ReplaceAll(parts[0], `\`, ""), "sed " + script[end+1:], true
}

// saidAgain collects the sentences of a person's text that an earlier one has, too. A text with tags has words of the
// client's, one that is sent again as a whole is a loop's, and lines that are quoted or indented are pasted.
func (b *builder) saidAgain(text []byte, request, at int) {
	if whole := foldString(string(text)); bytes.Contains(text, []byte("</")) || bytes.HasPrefix(text, []byte("[Request interrupted")) || b.prompts[whole] {
		return
	} else {
		b.prompts[whole] = true
	}
	own := ""
	for line := range strings.Lines(string(text)) {
		if !strings.ContainsAny(line[:1], " \t>|`") {
			own += line
		}
	}
	for sentence := range strings.FieldsFuncSeq(own, func(r rune) bool { return strings.ContainsRune(".!?:;\n", r) }) {
		form := foldString(sentence)
		if len(form) < minQuote {
			continue
		}
		if sources := b.said[form]; len(sources) > 0 && request >= max(b.lost, 1) {
			b.found = append(b.found, needle{
				evidence: Reread, quote: strings.TrimSpace(sentence), request: request, sources: slices.Clone(sources), sought: sought{text: form, at: at, reread: true},
			})
		}
		if len(b.said[form]) <= maxHolders {
			b.said[form] = append(b.said[form], at)
		}
	}
}
