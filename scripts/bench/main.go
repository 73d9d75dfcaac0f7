// Bench measures ctxkit beside what a user would take instead, and writes docs/performance.md:
//
//	go run ./scripts/bench [--quick] [--times N] [--data FOLDER] [--tools FOLDER] [-o docs/performance.md]
//
// It makes seeded data (1.8 GB), and runs the commands of a group in turns. Each figure of a run is a median. ccusage and
// gpt-tokenizer are installed by npm, in the versions of package.json, in the folder of --tools; script is taken where the
// system has it, and the recorded sessions are those of CTXKIT_CORPUS. What is missing is left out, and the page says so.
// With --save the measurements are kept, and --from writes the page from them, as after a change of notes.md.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) == 6 && os.Args[1] == "part" {
		scale, err1 := strconv.ParseFloat(os.Args[4], 64)
		times, err2 := strconv.Atoi(os.Args[5])
		err := errors.Join(err1, err2)
		if err == nil {
			err = part(os.Stdout, os.Args[2], os.Args[3], scale, times)
		}
		exit(err)
	}
	var o benchOptions
	flag.IntVar(&o.times, "times", 5, "measure everything this `many` times in each run")
	flag.BoolVar(&o.quick, "quick", false, "a fiftieth of the data, one repetition: a trial, whose ratios say little")
	flag.StringVar(&o.data, "data", "", "make the sessions in this `folder` and keep them; default: a temporary one")
	flag.StringVar(&o.tools, "tools", "", "install ccusage and gpt-tokenizer in this `folder` with npm and keep them; default: neither is measured")
	flag.StringVar(&o.out, "o", "", "write the page to this `file`; default: standard output")
	flag.StringVar(&o.date, "date", "", "the `day` of the measurement; default: that of the commit")
	flag.StringVar(&o.save, "save", "", "keep the measurements in this `file`")
	flag.StringVar(&o.from, "from", "", "write the page from the measurements in this `file`, and measure nothing")
	flag.Parse()
	o.scale, o.runs, o.times = 1, 3, max(o.times, 1)
	if o.quick {
		o.scale, o.times = 0.02, 1
	}
	exit(o.run(os.Stdout, os.Stderr))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	os.Exit(0)
}

type benchOptions struct {
	quick                              bool
	data, tools, out, date, save, from string
	scale                              float64
	runs, times                        int
}

// record is everything the page is made of, but the notes.
type record struct {
	Machine string            `json:"machine"`
	Go      string            `json:"go"`
	Date    string            `json:"date"`
	Commit  string            `json:"commit"`
	Load    string            `json:"load"` // before the first run and after the last
	Scale   float64           `json:"scale"`
	Times   int               `json:"times"`
	Tools   map[string]string `json:"tools"` // with their versions
	Missing []string          `json:"missing,omitempty"`
	Runs    []run             `json:"runs"`
}

func (o *benchOptions) run(stdout, stderr io.Writer) error {
	notes, err := os.ReadFile(filepath.Join("scripts", "bench", "notes.md"))
	if err != nil {
		return fmt.Errorf("run it in the repository's root: %w", err)
	}
	var rec record
	if o.from != "" {
		kept, err := os.ReadFile(o.from)
		if err := errors.Join(err, json.Unmarshal(kept, &rec)); err != nil {
			return err
		}
	} else if err := o.measure(&rec, stderr); err != nil {
		return err
	}
	if o.save != "" {
		kept, err := json.MarshalIndent(&rec, "", " ")
		if err := errors.Join(err, os.WriteFile(o.save, append(kept, '\n'), 0o644)); err != nil {
			return err
		}
	}
	var page bytes.Buffer
	if err := writePage(&page, &rec, string(notes)); err != nil {
		return err
	}
	if o.out == "" {
		_, err := stdout.Write(page.Bytes())
		return err
	}
	return os.WriteFile(o.out, page.Bytes(), 0o644)
}

// measure makes the data, finds the tools and does the runs.
func (o *benchOptions) measure(rec *record, stderr io.Writer) (err error) {
	begin := time.Now()
	say := func(what string) { fmt.Fprintf(stderr, "bench: %4.0f s: %s\n", time.Since(begin).Seconds(), what) }
	scratch, err := os.MkdirTemp("", "ctxkit-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	dir := o.data
	if dir == "" {
		dir = filepath.Join(scratch, "data")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	say("build and install")
	t, err := o.find(rec, scratch)
	if err != nil {
		return err
	}
	scale := strconv.FormatFloat(o.scale, 'g', -1, 64)
	d := place(dir, o.scale)
	say("data")
	if _, err := t.part("data", &d, scale, 1); err != nil {
		return err
	}
	rec.Machine, rec.Go, rec.Scale, rec.Times = machine(), runtime.Version(), o.scale, o.times
	rec.Date = o.date
	log, err := exec.Command("git", "log", "-1", "--format=%h %cs").Output()
	if commit, day, ok := strings.Cut(strings.TrimSpace(string(log)), " "); err == nil && ok {
		rec.Commit = commit
		if rec.Date == "" {
			rec.Date = day
		}
	}
	before := load()
	for i := range o.runs {
		r, err := t.once(&d, scratch, o.times, scale, func(what string) { say(fmt.Sprintf("run %d: %s", i+1, what)) })
		if err != nil {
			return err
		}
		rec.Runs = append(rec.Runs, r)
	}
	if after := load(); before != "" {
		rec.Load = before + " before, " + after + " after"
	}
	say("done")
	return nil
}

// find builds ctxkit and finds what it is measured beside.
func (o *benchOptions) find(rec *record, scratch string) (*tools, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := &tools{self: self, ctxkit: filepath.Join(scratch, "ctxkit")}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", t.ctxkit, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as a release is
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w: %s", err, said)
	}
	rec.Tools = map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/pkoukk/tiktoken-go" {
				rec.Tools["tiktoken-go"] = m.Version
			}
		}
	}
	look := func(name string, version ...string) string {
		path, err := exec.LookPath(name)
		if err != nil {
			rec.Missing = append(rec.Missing, name)
			return ""
		}
		if len(version) > 0 {
			said, err := exec.Command(path, version...).Output()
			if line, _, _ := strings.Cut(string(said), "\n"); err == nil {
				rec.Tools[name] = line
			}
		}
		return path
	}
	t.script, t.node = look("script"), look("node", "--version")
	if t.recorded = os.Getenv("CTXKIT_CORPUS"); t.recorded == "" {
		rec.Missing = append(rec.Missing, "recorded sessions (CTXKIT_CORPUS)")
	}
	if err := o.install(rec, t); err != nil {
		rec.Missing = append(rec.Missing, fmt.Sprintf("ccusage and gpt-tokenizer (%v)", err))
		t.node = ""
	}
	return t, nil
}

// install has npm put the packages of package.json into the folder for tools.
func (o *benchOptions) install(rec *record, t *tools) error {
	if o.tools == "" {
		return errors.New("no folder for tools is named")
	}
	folder, err := filepath.Abs(o.tools)
	if err := errors.Join(err, os.MkdirAll(folder, 0o755)); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "package-lock.json", "count.mjs"} {
		text, err := os.ReadFile(filepath.Join("scripts", "bench", name))
		if err := errors.Join(err, os.WriteFile(filepath.Join(folder, name), text, 0o644)); err != nil {
			return err
		}
	}
	natives := filepath.Join(folder, "node_modules", "@ccusage", "*", "bin", "ccusage")
	if there, _ := filepath.Glob(natives); len(there) == 0 {
		npm := exec.Command("npm", "install", "--no-audit", "--no-fund") // npm ci wants the packages of every platform
		npm.Dir = folder
		if said, err := npm.CombinedOutput(); err != nil {
			first, _, _ := strings.Cut(string(said), "\n")
			return fmt.Errorf("npm install: %w: %s", err, first)
		}
	}
	there, err := filepath.Glob(natives)
	if err != nil || len(there) != 1 {
		return fmt.Errorf("no program of ccusage for this machine: %q, %w", there, errors.Join(err, os.ErrNotExist))
	}
	if err := os.Chmod(there[0], 0o755); err != nil {
		return err
	}
	t.folder, t.ccusage20, t.tokenizer = folder, there[0], "gpt-tokenizer"
	t.count = filepath.Join(folder, "count.mjs")
	return packages(rec, "scripts/bench/package.json")
}

// packages notes the versions of npm's packages.
func packages(rec *record, path string) error {
	text, err := os.ReadFile(path)
	var file struct{ Dependencies map[string]string }
	if err := errors.Join(err, json.Unmarshal(text, &file)); err != nil {
		return err
	}
	for name, version := range file.Dependencies {
		rec.Tools[name] = version
	}
	return nil
}

// part runs a part of this program by itself.
func (t *tools) part(name string, d *data, scale string, times int) (map[string]figures, error) {
	c := exec.Command(t.self, "part", name, d.dir, scale, strconv.Itoa(times))
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil || len(out) == 0 {
		return nil, err
	}
	found := map[string]figures{}
	return found, json.Unmarshal(out, &found)
}

// machine is the processor and how many of it there are.
func machine() string {
	name := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if m := regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`).FindSubmatch(info); m != nil {
			name = string(m[1])
		}
	}
	return fmt.Sprintf("%s, %d cores, %s", name, runtime.NumCPU(), runtime.GOOS)
}

// load is how many processes ran or waited over the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
