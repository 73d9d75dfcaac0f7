// Package cline reads the task folders of Cline and Roo Code: the history of API messages, with what the messages of the
// window next to it say of each request.
//
//	tasks/ID/api_conversation_history.json   tasks/ID/ui_messages.json
//
// Both are rewritten as a whole. (ExtensionMessage.ts and the task persistence of Cline and Roo Code.)
package cline

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
)

// words.txt lists the words that carry the structure of a session.
//
//go:embed words.txt
var words string

// Names of the files of a task, and clients as their policies have them.
const (
	historyName = "api_conversation_history.json"
	windowName  = "ui_messages.json"

	clineName = "cline"
	rooName   = "roo-code"
)

// indexMember is in every message of Cline's window, and in none of Roo Code's.
const indexMember = `"conversationHistoryIndex"`

// Form is the form of Cline's tasks.
func Form() foreign.Form { return form(clineName, "Cline", "saoudrizwan.claude-dev") }

// Roo is the form of Roo Code's tasks.
func Roo() foreign.Form { return form(rooName, "Roo Code", "rooveterinaryinc.roo-cline") }

func form(name, client, extension string) foreign.Form {
	return foreign.Form{
		Name: name, Client: client, Convert: convert, Words: words,
		Declared: foreign.Declared{
			Reads:     "task folders: `api_conversation_history.json` and `ui_messages.json`",
			Exact:     "tokens and cost of each request, messages that are left out or summed up",
			Estimated: "the request that summarises",
		},
		Store:  foreign.Store{Home: ".config/Code/User/globalStorage/" + extension, Folder: "tasks", Inside: []string{"*"}},
		Looks:  func(v *foreign.Value) bool { return v.Fields["client"] == name && v.Fields["history"] == "[" },
		Beside: func(h *foreign.Beginning, file string) bool { return isHistory(h) && clientOf(file) == name },
		Gather: func(file string, _ *foreign.Writer) (io.Reader, error) { return gather(file, name) },
		Files:  files,
		Needs:  map[string]string{windowName: historyName, historyName: windowName},
		Tools: foreign.Tools(`
			Read: read_file read_files
			Write: write_to_file
			Edit: replace_in_file apply_diff insert_content search_and_replace editor apply_patch
			Bash: execute_command run_commands
			Grep: search_files search_codebase list_code_definition_names codebase_search
			LS: list_files
			WebFetch: web_fetch fetch_web_content
			WebSearch: web_search
			AskUserQuestion: ask_followup_question ask_question
			TodoWrite: update_todo_list
			Task: new_task use_subagents spawn_agent
			Skill: use_skill skills
		`),
	}
}

// isHistory reports whether a file begins as a history: a list of API messages, or one of a version.
func isHistory(h *foreign.Beginning) bool {
	if len(h.Values) == 0 {
		return false
	}
	v := &h.Values[0]
	return v.Kind == '[' && v.Has("[].role", "[].content") || v.Kind == '{' && v.Has("version") && v.Fields["messages"] == "["
}

// clientOf is the client of a task, by the window's messages next to its history; "": there are none.
func clientOf(file string) string {
	if filepath.Base(file) != historyName {
		return ""
	}
	text, err := foreign.ReadFile(filepath.Join(filepath.Dir(file), windowName), 1<<20)
	switch {
	case err != nil || !bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")):
		return ""
	case bytes.Contains(text, []byte(indexMember)):
		return clineName
	}
	return rooName
}

// files lists the files of a task.
func files(file string) (folder string, names []string) {
	if clientOf(file) == "" {
		return filepath.Dir(file), nil
	}
	return filepath.Dir(file), []string{historyName, windowName}
}

// gather makes one document of a task: lines of the history stay those of its file.
func gather(file, client string) (io.Reader, error) {
	if clientOf(file) == "" {
		return nil, nil
	}
	history, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	window, err := os.Open(filepath.Join(filepath.Dir(file), windowName))
	if err != nil {
		history.Close()
		return nil, err
	}
	id, _ := json.Marshal(filepath.Base(filepath.Dir(file))) // a string
	return &foreign.Closing{Reader: io.MultiReader(strings.NewReader(fmt.Sprintf(`{"client":%q,"id":%s,"history":`, client, id)), history,
		strings.NewReader("\n,\"ui\":"), window, strings.NewReader("}")), Files: []*os.File{history, window}}, nil
}
