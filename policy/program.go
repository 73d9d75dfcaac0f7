package policy

import (
	"path/filepath"
	"time"
)

// Programs starts the programs that policies name. The caller of a replay supplies it; without it, no policy starts a
// program.
type Programs interface {
	Start(c ProgramCommand) (Program, error)
}

// ProgramCommand is a program to start.
type ProgramCommand struct {
	Words  []string // the program, which is looked up as a shell does, and its arguments
	Folder string   // working directory; "": that of this process
}

// Program is a running program that answers line by line. It is not safe for concurrent use.
type Program interface {
	// Ask writes a line and returns the next line of the program, both without newline. The error says in a few words
	// what the program did instead of answering within the limit.
	Ask(line []byte, limit time.Duration) ([]byte, error)

	// Close ends the program and all processes that it started.
	Close()
}

// ProgramStage is a stage that runs a program (Definition.Program).
type ProgramStage interface {
	Stage

	// Open is called before the stage runs. p starts the program; its name is relative to folder.
	Open(p Programs, folder string)

	// Close ends the program. The stage does not run after that.
	Close()
}

// Programs returns the names of the stages that run a program.
func (p *Policy) Programs() (stages []string) {
	for _, s := range p.Stages {
		if s.Definition.Program != "" {
			stages = append(stages, s.Definition.Name)
		}
	}
	return stages
}

// Folder returns the folder of the file in which key was written; "": in no file.
func (p *Policy) Folder(key string) string {
	at := p.Position(key)
	if at.Line == 0 {
		return ""
	}
	return filepath.Dir(at.File)
}

// SentBlock is a block of a message as the Messages API takes it.
type SentBlock struct {
	Source Target // WholeItem as its Block: not a block of its item, such as a tag on a message without text
	Type   string // type in the API: "text", "tool_result" …
	ID     string // for a tool_use and a tool_result: the id of the call
	JSON   []byte
}
