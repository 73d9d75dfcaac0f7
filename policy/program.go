package policy

import (
	"path/filepath"
	"time"
)

// Programs starts the programs that policies name. Whoever replays gives it: without it no policy starts anything.
type Programs interface {
	Start(c ProgramCommand) (Program, error)
}

// ProgramCommand is how a program is started.
type ProgramCommand struct {
	Words  []string // the program, which is looked up as a shell does, and its arguments
	Folder string   // where it runs; "": the folder of the process
}

// Program is a running program that is asked line by line. It is used by one goroutine.
type Program interface {
	// Ask writes a line and returns the next line of the program, both without line end. The error says in a few words
	// what the program did instead within the limit.
	Ask(line []byte, limit time.Duration) ([]byte, error)

	// Close ends the program and all that it started.
	Close()
}

// ProgramStage is a stage that runs a program. Its Definition states that too.
type ProgramStage interface {
	Stage

	// Open gives the stage, before it runs, what starts its program, and the folder that the program's name is
	// relative to.
	Open(p Programs, folder string)

	// Close ends the program. The stage does not run after that.
	Close()
}

// Programs lists the names of the policy's stages that run a program.
func (p *Policy) Programs() (stages []string) {
	for _, s := range p.Stages {
		if s.Definition.Program != "" {
			stages = append(stages, s.Definition.Name)
		}
	}
	return stages
}

// Folder is the folder of the file in which a key was written; "" where it was written in none.
func (p *Policy) Folder(key string) string {
	at := p.Position(key)
	if at.Line == 0 {
		return ""
	}
	return filepath.Dir(at.File)
}

// SentBlock is a block of a message as the Messages API takes it.
type SentBlock struct {
	Source Target // WholeItem where it is no block of its item, such as a tag that has no text to follow
	Type   string // as the API names it: "text", "tool_result" …
	ID     string // of a tool_use and a tool_result: that of the call
	JSON   []byte
}
