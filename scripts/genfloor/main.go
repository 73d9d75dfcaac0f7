// Genfloor writes replay/regret/floor.json: how often the agents of recorded sessions wrote what only a block held that
// the record had removed. It counts, and predicts the sessions of each project from those of all others:
//
//	go run ./scripts/genfloor FOLDER... > replay/regret/floor.json
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/regret"
)

func main() {
	if err := write(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "genfloor:", err)
		os.Exit(1)
	}
}

// floor is the file: the counts, and how well they predict.
type floor struct {
	About         string        `json:"about"`
	Conversations int           `json:"conversations"` // with blocks that the record removed
	Projects      int           `json:"projects"`
	Counts        regret.Chance `json:"counts"`
	LeftOut       leftOut       `json:"project_left_out"`
}

// leftOut compares the coincidences of each project with those that the rates of all others predict.
type leftOut struct {
	Found    int     `json:"found"`
	Expected float64 `json:"expected"`
}

func write(w io.Writer, folders []string) error {
	f := floor{About: "Coincidences on the recorded tracks of real sessions, by requests since the removal: 0, 10, 30, 100 and more. Written by scripts/genfloor."}
	projects := map[string]*regret.Chance{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.jsonl*"))
		if err != nil || len(files) == 0 {
			return errors.Join(fmt.Errorf("no sessions in %s", folder), err)
		}
		for _, path := range files {
			if err := f.count(path, projects); err != nil {
				return err
			}
		}
	}
	f.Projects = len(projects)
	var milli int64
	for name, c := range projects { // sums do not depend on the order
		var others regret.Chance
		for other, o := range projects {
			if other != name {
				others.Add(o)
			}
		}
		milli += others.Expected(c.Requests)
		f.Counts.Add(c)
	}
	f.LeftOut = leftOut{f.Counts.Misses(), float64(milli) / 1000}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(f)
}

func (f *floor) count(path string, projects map[string]*regret.Chance) error {
	file, err := session.Load(path, session.LoadOptions{})
	if err != nil {
		return err
	}
	defer file.Close()
	for _, conv := range file.Conversations() {
		rec, err := replay.NewRecord(conv)
		if err != nil {
			return err
		}
		c, err := rec.Chance()
		if err != nil {
			return err
		}
		if c.Blocks == 0 {
			continue
		}
		f.Conversations++
		if projects[conv.CWD] == nil {
			projects[conv.CWD] = &regret.Chance{}
		}
		projects[conv.CWD].Add(&c)
	}
	return nil
}
