package cmd

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
)

// inProcess runs the sample program on a goroutine, and shows each line to see.
type inProcess struct {
	see  func(line []byte)
	ends int
}

type inProcessRun struct {
	of  *inProcess
	in  *io.PipeWriter
	out *bufio.Reader
}

func (p *inProcess) Start(c policy.ProgramCommand) (policy.Program, error) {
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	go func() {
		stdout.CloseWithError(fmt.Errorf("exit %d", sampleProgram(c.Words, stdin, stdout, io.Discard)))
	}()
	return &inProcessRun{p, in, bufio.NewReader(out)}, nil
}

func (r *inProcessRun) Ask(line []byte, _ time.Duration) ([]byte, error) {
	r.of.see(line)
	if _, err := r.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	answer, err := r.out.ReadBytes('\n')
	r.of.see(answer)
	return bytes.TrimSuffix(answer, []byte("\n")), err
}

func (r *inProcessRun) Close() {
	r.of.ends++
	r.in.Close()
}

// programPolicy is a policy whose only stage asks a program.
func programPolicy(t testing.TB, words ...string) *policy.Policy {
	t.Helper()
	reg := must.Get(stage.Registry())(t)
	text := fmt.Sprintf("name: mine\nstages: [program: {command: [%s], timeout: 20s}]\n", strings.Join(words, ", "))
	p := must.Get(policy.Decode("mine.yaml", []byte(text), reg, nil))(t)
	return p
}

// sampleRecord is the record of a sample session, whose policies may start programs.
func sampleRecord(t testing.TB, name string, programs policy.Programs) *replay.Record {
	t.Helper()
	s := must.Get(session.Load(filepath.Join("..", "testdata", "sessions", name), session.LoadOptions{}))(t)
	t.Cleanup(func() { s.Close() })
	rec := must.Get(replay.NewRecordWith(s.Main, replay.RecordOptions{Programs: programs}))(t)
	return rec
}

// TestProgramLines holds every line between ctxkit and a program against the published schema, and that each program is
// ended once.
func TestProgramLines(t *testing.T) {
	schema := schemaOf(t, "program.v1.json")
	for _, words := range [][]string{{"mask", `"3"`}, {"list", `"2"`}, {"bare", `"2"`}, {"summarize", `"4"`}, {"drop", `"4"`}, {"keep"}} {
		lines := 0
		programs := &inProcess{see: func(line []byte) {
			lines++
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
			if err == nil {
				err = schema.Validate(v)
			}
			if err != nil && !t.Failed() {
				t.Errorf("%q: %v\n%.500s", words, err, line)
			}
		}}
		for _, name := range strings.Fields("compaction.jsonl parallel-tools.jsonl thinking.jsonl lost.jsonl collapse.jsonl") {
			tl, err := sampleRecord(t, name, programs).Replay(programPolicy(t, words...), replay.Options{})
			if err != nil {
				t.Fatalf("%q, %s: %v", words, name, err)
			}
			if words[0] != "keep" && name == "compaction.jsonl" && len(tl.Events) == 0 {
				t.Errorf("%q changed nothing", words)
			}
		}
		if lines < 100 || programs.ends != 5 {
			t.Errorf("%q: %d lines, %d programs ended", words, lines, programs.ends)
		}
	}
}

// TestProgramsAreGiven holds that a replay that is given nothing to start programs with starts none.
func TestProgramsAreGiven(t *testing.T) {
	_, err := sampleRecord(t, "cjk.jsonl", nil).Replay(programPolicy(t, "keep"), replay.Options{})
	if err == nil || !strings.Contains(err.Error(), "policy mine: stage program starts a program, which this replay may not") {
		t.Errorf("got %v", err)
	}
}
