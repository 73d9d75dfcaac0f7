// Genscores writes policy/preset/scores.json: how well built-in policies predict the automatic compactions and the prunes
// of folders of recorded sessions. Each release of a product is scored on the sessions that it recorded, subagents
// included; a policy named after the product that is no release on all of them.
//
// Run it in the root of the repository: go run ./scripts/genscores FOLDER...
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/backtest"
)

var file = filepath.Join("policy", "preset", "scores.json")

func main() {
	err := errors.New("name the folders of recorded sessions")
	if len(os.Args) > 1 {
		var text []byte
		if text, err = generate(os.Args[1:]...); err == nil {
			err = os.WriteFile(file, text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "genscores:", err)
		os.Exit(1)
	}
}

// generate is the text of the file for the sessions in folders and in project folders within them.
func generate(folders ...string) ([]byte, error) {
	reg, err := stage.Registry()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, folder := range folders {
		before := len(paths)
		for _, pattern := range []string{"*.jsonl", "*.jsonl.gz", "*.jsonl.zst", "*/*.jsonl", "*/*.jsonl.gz", "*/*.json.gz"} {
			found, err := filepath.Glob(filepath.Join(folder, pattern))
			if err != nil {
				return nil, err
			}
			paths = append(paths, found...)
		}
		if len(paths) == before {
			return nil, fmt.Errorf("%s: no session: name a folder of .jsonl or .json files", folder)
		}
	}
	slices.Sort(paths)
	g := &scoring{reg: reg, presets: preset.New(reg), scored: map[string][]*backtest.SessionScore{}, products: map[string][]*backtest.SessionScore{}}
	for _, path := range paths {
		if err := g.file(path, true); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	s := preset.ScoreFile{MadeBy: "scripts/genscores; do not edit", Products: sums(g.products), Policies: sums(g.scored)}
	text, err := json.MarshalIndent(s, "", " ")
	return append(text, '\n'), err
}

// scoring are the scores of sessions so far.
type scoring struct {
	reg      policy.Registry
	presets  *preset.Library
	scored   map[string][]*backtest.SessionScore // by policy
	products map[string][]*backtest.SessionScore // by product: of each session under the release that recorded it
}

// file scores the conversations of a file, and of its subagents' files.
func (g *scoring) file(path string, agents bool) error {
	f, err := session.Load(path, session.LoadOptions{})
	if err != nil {
		return err
	}
	defer f.Close()
	for _, conv := range f.Conversations() {
		if len(conv.Requests) == 0 {
			continue
		}
		if err := g.conversation(conv); err != nil {
			return err
		}
	}
	if !agents {
		return nil
	}
	list, _, err := session.Subagents(path)
	if err != nil {
		return err
	}
	for _, a := range list {
		if err := g.file(a.Path, false); err != nil {
			return err
		}
	}
	return nil
}

// conversation scores one under the release that recorded it and under the policies named after its product that are no
// release.
func (g *scoring) conversation(conv *session.Conversation) error {
	rec, err := replay.NewRecord(conv)
	if err != nil {
		return err
	}
	for _, f := range g.reg.Families() {
		own, err := policy.NewRegistry(f)
		if err != nil {
			return err
		}
		presets := preset.New(own)
		if !slices.Contains(presets.Products(), conv.Product) {
			continue
		}
		for _, name := range append([]string{conv.Product}, presets.Names()...) {
			p, err := g.presets.LoadFor(name, preset.ClientOf(conv))
			if err != nil {
				return err
			}
			if name != conv.Product && (p.Product != "" || !strings.HasPrefix(name, conv.Product)) {
				continue
			}
			s, err := backtest.Score(rec, p, backtest.ScoreOptions{})
			if err != nil {
				return err
			}
			g.scored[p.Name] = append(g.scored[p.Name], s)
			if name == conv.Product {
				g.products[name] = append(g.products[name], s)
			}
		}
	}
	return nil
}

func sums(lists map[string][]*backtest.SessionScore) map[string]*policy.Score {
	by := map[string]*policy.Score{}
	for name, list := range lists {
		one := sum(list)
		by[name] = &one
	}
	return by
}

// sum sums up a policy's scores; those in fitted windows apart.
func sum(list []*backtest.SessionScore) (s policy.Score) {
	all := backtest.Sum("", list)
	for _, row := range all.Compactions {
		if row.Clients != backtest.All {
			continue
		}
		one := policy.Score{
			Conversations: row.Sessions, Requests: row.Requests, Recorded: row.Recorded, Decided: row.Hits, Alarms: row.Alarms,
			Free: row.Free.Exact, FreeAlarms: row.Free.Alarms,
		}
		if row.Fitted {
			s.Fitted = &one
		} else {
			s = one
		}
	}
	if p := all.Prunes(); p.Recorded+p.Alarms > 0 {
		s.Prunes = &p
	}
	return s
}
