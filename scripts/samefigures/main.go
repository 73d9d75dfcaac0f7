// Samefigures compares the figures of two builds of ctxkit: it replays every session of a folder under every built-in
// policy of the first build with both, and lists the values of timelines and views that differ. It exits with 1 if
// one does, with 2 if it cannot compare.
//
//	go run ./scripts/samefigures [flags] BEFORE AFTER FOLDER
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// outputs are the commands whose output is compared.
var outputs = [][]string{
	{"replay", "--format=json"},
	{"view", "--format=json", "--as=model", "--at=last"},
	{"view", "--format=json", "--as=model", "--at=peak"},
	{"view", "--format=json", "--as=payload", "--at=last"},
	{"view", "--format=json", "--as=payload", "--at=peak"},
}

// words matches the JSON paths of words and limits, which may differ.
var words = regexp.MustCompile(`^replay\.(title|thresholds|limits|events\.\d+\.reason|findings\.\d+\.text|warnings\.\d+\.(message|text|code|hint))\b`)

// most is how many values of one output are printed.
const most = 5

type comparison struct {
	before, after string // paths of the programs
	build         string // digest of the first program
	cache         string
	jobs, every   int
}

func main() {
	var c comparison
	flag.IntVar(&c.jobs, "jobs", runtime.NumCPU(), "how many pairs of session and policy to replay at once")
	flag.IntVar(&c.every, "every", 1, "compare a sample, one of `N` pairs")
	flag.StringVar(&c.cache, "cache", "", "keep digests of equal outputs in this `folder`: a second comparison with BEFORE runs AFTER only")
	flag.Parse()
	c.before, c.after = flag.Arg(0), flag.Arg(1)
	differ, err := c.run(os.Stdout, flag.Arg(2))
	if err != nil {
		fmt.Fprintln(os.Stderr, "samefigures BEFORE AFTER FOLDER:", err)
		os.Exit(2)
	}
	os.Exit(min(differ, 1))
}

// run prints the differences and the counts, and returns how many outputs differ.
func (c *comparison) run(w io.Writer, folder string) (int, error) {
	program, err1 := os.ReadFile(c.before)
	_, err2 := exec.LookPath(c.after)
	list, err3 := exec.Command(c.before, "policy", "list", "--format=json").Output()
	var known struct{ Policies []struct{ Name string } }
	err := errors.Join(err1, err2, err3, json.Unmarshal(list, &known))
	if c.cache != "" {
		err = errors.Join(err, os.MkdirAll(c.cache, 0o755))
	}
	if err != nil {
		return 0, err
	}
	c.build = fmt.Sprintf("%x", sha256.Sum256(program))
	sessions, _ := filepath.Glob(filepath.Join(folder, "*.jsonl*"))
	var pairs [][2]string
	for _, s := range sessions {
		for _, p := range known.Policies {
			pairs = append(pairs, [2]string{s, p.Name})
		}
	}
	if len(pairs) == 0 {
		return 0, fmt.Errorf("%s: no session files (*.jsonl, *.jsonl.gz, *.jsonl.zst)", folder)
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(pairs), func(i, k int) { pairs[i], pairs[k] = pairs[k], pairs[i] })
	pairs = pairs[:(len(pairs)-1)/max(c.every, 1)+1]
	var group sync.WaitGroup
	var lock sync.Mutex
	free, differ := make(chan bool, max(c.jobs, 1)), 0
	for _, pair := range pairs {
		free <- true
		group.Go(func() {
			text := c.compare(pair[0], pair[1])
			lock.Lock()
			fmt.Fprint(w, strings.Join(text, ""))
			differ += len(text)
			lock.Unlock()
			<-free
		})
	}
	group.Wait()
	fmt.Fprintf(w, "%d sessions, %d policies, %d pairs compared, %d of %d outputs differ\n",
		len(sessions), len(known.Policies), len(pairs), differ, len(pairs)*len(outputs))
	return differ, nil
}

// compare returns the differences of each output of one session that differs.
func (c *comparison) compare(session, policy string) (text []string) {
	for _, output := range outputs {
		args := append(slices.Clone(output), "--quiet", "--jobs=1", "--policy="+policy, session)
		mark := filepath.Join(c.cache, digest(c.build, words.String(), args))
		after := values(c.after, args)
		if equal, _ := os.ReadFile(mark); string(equal) == digest(after) {
			continue
		}
		before := values(c.before, args)
		if d := differences(before, after); d != "" {
			text = append(text, fmt.Sprintln(session, policy, output)+d)
		} else if c.cache != "" {
			_ = os.WriteFile(mark, []byte(digest(after)), 0o644) // without it the next comparison is slower
		}
	}
	return text
}

// differences lists the values that differ.
func differences(before, after map[string]string) (text string) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	maps.DeleteFunc(all, func(path, _ string) bool { return before[path] == after[path] })
	for i, path := range slices.Sorted(maps.Keys(all)) {
		if i == most {
			return text + fmt.Sprintf("  %d more values differ\n", len(all)-i)
		}
		text += fmt.Sprintf("  %s: before %.200s, after %.200s\n", path, cmp.Or(before[path], "absent"), cmp.Or(after[path], "absent"))
	}
	return text
}

// values runs a program and returns how it ended and the values of its JSON, by path.
func values(program string, args []string) map[string]string {
	text, err := exec.Command(program, args...).Output()
	found := map[string]string{"exit": fmt.Sprint(err)}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		value = string(text)
	}
	flatten(found, args[0], value)
	return found
}

// flatten adds the values below a path, without words.
func flatten(found map[string]string, path string, value any) {
	if words.MatchString(path) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		found[path] = "an object"
		for key, v := range value {
			flatten(found, path+"."+key, v)
		}
	case []any:
		found[path] = fmt.Sprintf("%d values", len(value))
		for i, v := range value {
			flatten(found, fmt.Sprintf("%s.%d", path, i), v)
		}
	default:
		text, _ := json.Marshal(value) // a decoded value can be encoded
		found[path] = string(text)
	}
}

func digest(values ...any) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", values))) // keys are sorted
}
