package synth

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"
)

// Sample is one file of testdata/sessions.
type Sample struct {
	Path string // slash-separated, relative to the folder
	Data []byte
}

// fixture is one session of the samples.
type fixture struct {
	name  string // file name; a name without .jsonl is a project folder
	shows string // its description in README.md
	opt   SessionOptions
	play  func(s *script) // nil: Generate
	alter func(data []byte) []byte
	index bool // the folder gets a sessions-index.json
}

// Samples makes the files of testdata/sessions, README.md included.
func Samples() ([]Sample, error) {
	var out []Sample
	var rows strings.Builder
	for i, f := range fixtures() {
		files, stats, err := f.make(uint64(i + 1))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		out = append(out, files...)
		fmt.Fprintf(&rows, "| `%s` | %s | %d | %d | %d | %d | %d | %d | %d | %s |\n", f.name, f.opt.Version, stats.Lines,
			stats.Prompts, stats.Requests, stats.RawTokens, stats.PeakContext, stats.Microcompacts, stats.Compactions, f.shows)
	}
	return append(out, Sample{"README.md", []byte(readmeHead + rows.String() + readmeTail)}), nil
}

func (f *fixture) make(seed uint64) ([]Sample, Stats, error) {
	var out []Sample
	opt := f.opt
	if opt.Seed == 0 {
		opt.Seed = seed
	}
	folder := ""
	if !strings.HasSuffix(f.name, ".jsonl") {
		folder = f.name + "/"
	}
	opt.Open = func(name string) (io.WriteCloser, error) {
		if folder == "" {
			return discard{}, nil
		}
		return &sampleFile{name: folder + name, to: &out}, nil
	}
	var buf bytes.Buffer
	c, err := newClient(&buf, opt)
	if err != nil {
		return nil, Stats{}, err
	}
	var stats Stats
	if f.play == nil {
		stats, err = Generate(&buf, opt)
	} else {
		f.play(&script{newDeveloper(c)})
		stats, err = c.close()
	}
	if err != nil {
		return nil, stats, err
	}
	name, data := f.name, buf.Bytes()
	if folder != "" {
		name = folder + stats.SessionID + ".jsonl"
	}
	if f.alter != nil {
		data = f.alter(data)
	}
	out = append([]Sample{{name, data}}, out...)
	if f.index {
		out = append(out, f.indexFile(stats, folder))
	}
	return out, stats, nil
}

// indexFile is a sessions-index.json with two faults: stale figures of the session, and an entry whose file is
// missing.
func (f *fixture) indexFile(stats Stats, folder string) Sample {
	gone := "7d1f5a52-0c1e-4b53-9a35-0f4f6f0f5c11"
	base := "/home/dev/.claude/projects/-home-dev-harbor"
	entry := func(o *object, id, prompt, summary string, count int) {
		o.put(`{"sessionId":?,"fullPath":?,"fileMtime":1768467600000`, id, path.Join(base, id+".jsonl"))
		o.put(`"firstPrompt":?,"summary":?,"messageCount":?`, prompt, summary, count)
		o.put(`"created":"2026-01-15T09:00:00.000Z","modified":"2026-01-15T09:00:41.000Z"`)
		o.put(`"gitBranch":"main","projectPath":"/home/dev/harbor","isSidechain":false}`)
	}
	var o object
	o.put(`{"version":1,"entries":[`)
	entry(&o, stats.SessionID, "No prompt", "Harbor exploration", 2)
	entry(&o, gone, "tidy up the docs folder", "Docs folder", 31)
	o.put(`],"originalPath":"/home/dev/harbor"}`)
	return Sample{folder + "sessions-index.json", append(o.b, '\n')}
}

type sampleFile struct {
	bytes.Buffer
	name string
	to   *[]Sample
}

func (f *sampleFile) Close() error {
	*f.to = append(*f.to, Sample{f.name, f.Bytes()})
	return nil
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

const readmeHead = `# Sample sessions

Synthetic Claude Code sessions: no line of them was recorded. A test of package jsonl/synth generates
them and compares the bytes; ` + "`go test ./jsonl/synth -update`" + ` rewrites them. Do not edit them by hand.

Token counts are exact by construction: 1 token for 2.9 characters of tool output, 3.6 of prose,
3.0 of tool input, and 18,800 for the system prompt and the tools. "Raw" is the overhead and every text
of the live branch, summaries left out; "peak" is the largest input of one request; "micro" counts
microcompactions. A subagent's own requests are not counted.

| file | client | lines | prompts | requests | raw tokens | peak | micro | compactions | shows |
|---|---|--:|--:|--:|--:|--:|--:|--:|---|
`

const readmeTail = `
Lines are those of the session before its bytes were damaged (fused.jsonl, crlf-bom.jsonl).

Folders are laid out as on disk: ` + "`<session>.jsonl`" + `, ` + "`<session>/subagents/`" + ` and
` + "`<session>/tool-results/`" + `. The paths inside the sessions are those of the simulated machine
(/home/dev/.claude/projects/-home-dev-harbor): a reader finds these files next to the session file.
`
