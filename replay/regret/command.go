package regret

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// command is what a shell command does with one file.
type command struct {
	path  string // absolute, of the file; "": none, or several
	edits []session.FileEdit
}

// showing are the programs that print a file, and nothing else, where their only other words are options, numbers or a
// script of sed.
func showing(program string) bool {
	return slices.Contains([]string{"cat", "head", "tail", "nl", "sed", "less", "more", "bat"}, program)
}

// readCommand reads the input of a shell tool: a command as text, or its words. It understands one program with one
// file, and sed's substitutions in place.
func readCommand(input []byte, folder string) (c command) {
	var in struct {
		Command json.RawMessage `json:"command"`
		Cmd     string          `json:"cmd"`
	}
	if json.Unmarshal(input, &in) != nil {
		return c
	}
	text := in.Cmd
	if words := []string(nil); json.Unmarshal(in.Command, &words) == nil && len(words) > 0 {
		text = words[len(words)-1] // behind bash -lc
	} else if len(in.Command) > 0 && json.Unmarshal(in.Command, &text) != nil {
		return c
	}
	script, rest, inPlace := substitution(text)
	if inPlace {
		text = rest
	}
	words := strings.Fields(text)
	if len(words) < 2 || strings.ContainsAny(text, "|;&<>$`(){}*?\n") && !inPlace || !showing(words[0]) {
		return c
	}
	file := ""
	for i, w := range words[1:] {
		w = strings.Trim(w, `'"`)
		option := strings.HasPrefix(w, "-") || strings.Trim(w, "0123456789,p$") == ""
		switch {
		case option && i < len(words)-2:
		case file != "":
			return c
		default:
			file = w
		}
	}
	if file == "" {
		return c
	}
	if c.path = file; !path.IsAbs(file) {
		c.path = path.Join(folder, file)
	}
	if inPlace {
		c.edits = []session.FileEdit{{Old: script}}
	}
	return c
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
// client's.
func (b *builder) saidAgain(text []byte, request, at int) {
	if bytes.Contains(text, []byte("</")) {
		return
	}
	for sentence := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return strings.ContainsRune(".!?:;\n", r) }) {
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
