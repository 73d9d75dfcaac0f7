package policy

import (
	"path/filepath"
	"time"
)

// Programs starts the programs that policies name. The caller of a replay supplies a Programs; otherwise no policy
// starts a program.
type Programs interface {
	Start(c ProgramCommand) (Program, error)
}

// ProgramCommand says which program to start, and where.
type ProgramCommand struct {
	Words  []string // the name of the program, which is looked up as a shell looks it up, and its arguments
	Folder string   // working directory of the program; "": the working directory of this process
}

// Program is a running program that answers each line with one line. It is not safe for concurrent use.
type Program interface {
	// Ask writes a line to the program and returns the line with which the program answers. Both are without the
	// newline. If the program does not answer within the limit, the error says in a few words what it did instead.
	Ask(line []byte, limit time.Duration) ([]byte, error)

	// Close ends the program and all processes that it started.
	Close()
}

// ProgramStage is a stage that runs a program (Definition.Program).
type ProgramStage interface {
	Stage

	// Open is called before the stage runs. The stage uses p to start its program. The name of the program is relative
	// to folder.
	Open(p Programs, folder string)

	// Close ends the program. The stage does not run after that.
	Close()
}

// Programs returns the names of those stages of the policy that run a program.
func (p *Policy) Programs() (stages []string) {
	for _, s := range p.Stages {
		if s.Definition.Program != "" {
			stages = append(stages, s.Definition.Name)
		}
	}
	return stages
}

// Folder returns the folder of the file in which a key is written, or "" if no file has the key.
func (p *Policy) Folder(key string) string {
	at := p.Position(key)
	if at.Line == 0 {
		return ""
	}
	return filepath.Dir(at.File)
}

// SentBlock is a block of a message in the form in which the Messages API takes it.
type SentBlock struct {
	Source Target // the block's place in the view; if Source.Block is WholeItem, the item has no such block: the block is, for example, a tag on a message without text
	Type   string // type in the API: "text", "tool_result" …
	ID     string // for a tool_use and a tool_result: the id of the call
	JSON   []byte
}
