package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/jsonl/synth"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/stage"
	"github.com/ctxkit/ctxkit/replay"
	"github.com/ctxkit/ctxkit/replay/tokens/bpe"
)

// part is work that is measured inside of a process. Each has a process of its own: the peak of memory of a process
// that is started is at least what its parent holds.
func part(w io.Writer, name, dir string, scale float64, times int) error {
	d := place(dir, scale)
	if name == "data" {
		return d.create(scale)
	}
	var found map[string]figures
	var err error
	switch name {
	case "count":
		found, err = countTexts(&d, times)
	case "letters":
		found, err = countLetters(3 * times) // the worst of nine ratios is shown: noise would decide it
	case "doubling":
		found, err = doubling(&d, 3*times) // the worst of four ratios is shown
	default:
		err = fmt.Errorf("no part %q", name)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(found)
}

// timer measures functions in turns.
type timer struct {
	all map[string][]figures
}

// add measures a function that does the same n times.
func (t *timer) add(name string, n int, run func()) {
	runtime.GC()
	begin := cpuTime()
	for range n {
		run()
	}
	if t.all == nil {
		t.all = map[string][]figures{}
	}
	t.all[name] = append(t.all[name], figures{CPU: (cpuTime() - begin) / float64(n)})
}

func (t *timer) medians() map[string]figures {
	found := map[string]figures{}
	for name, list := range t.all {
		found[name] = middle(list)
	}
	return found
}

// countTexts counts texts of three kinds with this project's counter and with the stock encoder.
func countTexts(d *data, times int) (map[string]figures, error) {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	stock, err1 := tiktoken.GetEncoding(bpe.O200K)
	own, err2 := bpe.Load(bpe.O200K)
	code, err3 := texts(d.sample, "policy/*.go", "jsonl/*.go", "replay/*.go", "cmd/*.go")
	prose, err4 := texts(d.sample, "docs/*.md", "docs/internals/*.md", "*.md")
	mix, err5 := sessionText(d.few, d.sample)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	var t timer
	var wrong error
	for range times {
		for kind, text := range map[string]string{"code": code, "prose": prose, "session": mix} {
			var ours, theirs int
			t.add(kind+"/own", 10, func() { ours = own.NewCounter().Count(text) })
			t.add(kind+"/stock", 1, func() { theirs = len(stock.EncodeOrdinary(text)) })
			if ours != theirs {
				wrong = fmt.Errorf("%s: %d tokens, tiktoken-go counts %d", kind, ours, theirs)
			}
		}
	}
	return t.medians(), wrong
}

// texts are the files of some names, up to a size.
func texts(size int, globs ...string) (string, error) {
	var b strings.Builder
	for _, glob := range globs {
		paths, err := filepath.Glob(glob)
		if err != nil || len(paths) == 0 {
			return "", fmt.Errorf("no files %s: %w", glob, errors.Join(err, os.ErrNotExist))
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			b.Write(text)
		}
	}
	return b.String()[:min(size, b.Len())], nil
}

// sessionText is the text of a session's messages, up to a size.
func sessionText(path string, size int) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b strings.Builder
	for dec := json.NewDecoder(f); b.Len() < size; {
		var line struct{ Message struct{ Content any } }
		if err := dec.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", err
		}
		addTexts(&b, line.Message.Content)
	}
	return b.String()[:min(size, b.Len())], nil
}

// addTexts adds the texts of a message's content.
func addTexts(b *strings.Builder, content any) {
	switch v := content.(type) {
	case string:
		b.WriteString(v)
		b.WriteByte('\n')
	case []any:
		for _, e := range v {
			addTexts(b, e)
		}
	case map[string]any:
		for _, key := range []string{"text", "thinking", "content", "input"} {
			addTexts(b, v[key])
		}
	}
}

// countLetters counts 1 and 2 MiB of one character.
func countLetters(times int) (map[string]figures, error) {
	own, err := bpe.Load(bpe.O200K)
	if err != nil {
		return nil, err
	}
	var t timer
	for range times {
		for _, letter := range []string{"a", " ", "\n", "0", "=", ".", "é", "漢", "\u0301"} {
			again := 1
			if letter == "0" || letter == "漢" { // in pieces of a few: a tenth of the time, which noise would decide
				again = 10
			}
			for n := 1; n <= 2; n++ {
				text := strings.Repeat(letter, n<<20/len(letter))
				t.add(fmt.Sprintf("%+q/%d", letter, n), again, func() { own.NewCounter().Count(text) })
			}
		}
	}
	return t.medians(), nil
}

// doublingPolicies are those under which a session is replayed that has twice as many requests.
var doublingPolicies = []string{"none", "opencode", "gemini-cli", "claude-code-2.1.19"}

// doubling replays a session and one with twice its requests, in turns.
func doubling(d *data, times int) (map[string]figures, error) {
	reg, err := stage.Registry()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "ctxkit-doubling")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var paths [2]string
	for i := range paths {
		paths[i] = filepath.Join(dir, strconv.Itoa(i))
		if err := generate(paths[i], (i+1)*d.doubled); err != nil {
			return nil, err
		}
	}
	var t timer
	for range times {
		for i, path := range paths {
			if err := t.replays(path, i+1, reg); err != nil {
				return nil, err
			}
		}
	}
	return t.medians(), nil
}

// generate writes a session of so many requests.
func generate(path string, requests int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	o := options(6)
	o.Requests = requests
	_, err = synth.Generate(f, o)
	return errors.Join(err, f.Close())
}

// replays measures replays of a session of n times so many requests. Nothing of it stays in memory.
func (t *timer) replays(path string, n int, reg policy.Registry) (err error) {
	file, err := session.Load(path, session.LoadOptions{Jobs: runtime.NumCPU()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for _, name := range doublingPolicies {
		p, err := preset.Load(name, reg)
		if err != nil {
			return err
		}
		var failed error
		t.add(fmt.Sprintf("%s/%d", name, n), 1, func() { _, failed = replay.Run(file.Main, p, replay.Options{}) })
		if failed != nil {
			return failed
		}
	}
	return nil
}
