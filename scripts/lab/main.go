// Command lab plays scenarios with real coding agents against a mock model server, and holds what they sent against what
// ctxkit reads in their session files. docs/internals/lab.md says how to use it and how to add a client or a scenario.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const use = `usage:
  lab run [flags]                  install clients, play scenarios, compare
  lab compare [flags] FOLDER...    compare recordings
  lab counterfactual [flags]       replay recordings of one client under the policy of another, and compare with its own
  lab own [flags]                  replay recordings under the policy of their own release, and compare decisions
  lab inside [flags]               play ctxkit's plugin, status line and MCP server in the newest Claude Code
  lab mock [-port N] [-log FILE]   only the model server
  lab list                         clients and scenarios

lab run -h and lab compare -h print the flags.
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, use)
		os.Exit(2)
	}
	var code int
	var err error
	switch args := os.Args[2:]; os.Args[1] {
	case "run":
		code, err = runCommand(args)
	case "play": // started by run, in a network namespace where there is one
		code, err = playCommand(args)
	case "compare":
		code, err = compareCommand(args)
	case "counterfactual":
		code, err = counterfactualCommand(args)
	case "own":
		code, err = ownCommand(args)
	case "inside":
		code, err = insideCommand(args)
	case "mock":
		err = mockCommand(args)
	case "mcp":
		err = serveMCP(os.Stdin, os.Stdout)
	case "list":
		list()
	default:
		fmt.Fprint(os.Stderr, use)
		code = 2
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		code = max(code, 2)
		if errors.Is(err, errNoNpm) {
			code = 3
		}
	}
	os.Exit(code)
}

func list() {
	for _, c := range clients {
		fmt.Printf("%s (%s): %s\n", c.name, c.pkg, strings.Join(c.pins, ", "))
	}
	for _, s := range scenarios {
		fmt.Printf("%s (%s): %s\n", s.name, strings.Join(s.clients, ", "), s.about)
	}
}

// playCommand plays one scenario: exit code 2 if the client failed.
func playCommand(args []string) (int, error) {
	flags := flag.NewFlagSet("play", flag.ExitOnError)
	whole := flags.Bool("whole", false, "")
	limit := flags.Duration("limit", patience, "")
	model := flags.String("model", "", "")
	_ = flags.Parse(args)
	if flags.NArg() != 4 {
		return 2, errors.New("play takes CLIENT VERSION SCENARIO FOLDER")
	}
	c, s := clientNamed(flags.Arg(0)), scenarioNamed(flags.Arg(2))
	if c == nil || s == nil {
		return 2, fmt.Errorf("no client %s or no scenario %s: lab list prints them", flags.Arg(0), flags.Arg(2))
	}
	if *model != "" {
		other := *s
		other.model = *model
		s = &other
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	problems, err := play(ctx, c, flags.Arg(1), s, flags.Arg(3), *whole, *limit)
	if err != nil {
		return 2, err
	}
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, p)
	}
	if len(problems) > 0 {
		return 2, nil
	}
	return 0, nil
}

// inNamespace wraps a command so that it runs with no network but a loopback, and ends with all its children; on Linux
// as root. Elsewhere it returns the command as it is.
func inNamespace(command []string) []string {
	wrap := []string{"unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", `ip link set lo up && exec "$@"`, "sh"}
	if exec.Command(wrap[0], append(slices.Clone(wrap[1:]), "true")...).Run() != nil {
		return command
	}
	return append(wrap, command...)
}

// cell is one client, of one release, that plays one scenario.
type cell struct {
	client   *client
	version  string
	scenario *scenario
}

func (c cell) name() string { return c.client.name + "-" + c.version + "-" + c.scenario.name }

// selection are the flags of run.
type selection struct {
	clients, scenarios, versions, model, out, ctxkit, expected, page string
	whole, update, keep                                              bool
	jobs                                                             int
	limit                                                            time.Duration
}

// patience is how long a turn of a client may take by default.
const patience = 4 * time.Minute

func runCommand(args []string) (int, error) {
	var o selection
	flags := flag.NewFlagSet("run", flag.ExitOnError)
	flags.StringVar(&o.clients, "clients", "", "clients, separated by commas (default: all)")
	flags.StringVar(&o.scenarios, "scenarios", "", "scenarios, separated by commas (default: all that a client plays)")
	flags.StringVar(&o.versions, "versions", "pins,latest", "releases, separated by commas: numbers, pins, latest")
	flags.StringVar(&o.model, "model", "", "model instead of the client's and the scenario's, as the client names it")
	flags.StringVar(&o.out, "out", filepath.Join(cacheFolder(), "recordings"), "folder of the recordings")
	flags.StringVar(&o.ctxkit, "ctxkit", "ctxkit", "the program that is judged")
	flags.StringVar(&o.expected, "expected", "", "table of expected results to hold these against")
	flags.StringVar(&o.page, "page", "", "with -update: the page with the table of what was found")
	flags.BoolVar(&o.update, "update", false, "write the results into the table instead of judging them")
	flags.BoolVar(&o.whole, "whole", false, "log system prompts and tools whole")
	flags.BoolVar(&o.keep, "keep", false, "compare the recordings that are there and play the missing ones")
	flags.DurationVar(&o.limit, "limit", patience, "how long a turn may take before the client counts as hanging")
	flags.IntVar(&o.jobs, "jobs", 2, "scenarios at the same time")
	_ = flags.Parse(args)
	return run(o)
}

// run plays and compares all that is chosen. Clients that fail are named, and the others are run.
func run(o selection) (int, error) {
	begin := time.Now()
	cells, failed, err := choose(o)
	if err != nil {
		return 2, err
	}
	self, err := os.Executable()
	if err != nil {
		return 2, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Println(header)
	var results []result
	var mu sync.Mutex
	var group sync.WaitGroup
	free := make(chan struct{}, max(o.jobs, 1))
	for _, c := range cells {
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			if ctx.Err() != nil {
				return
			}
			found, problem := o.record(ctx, self, c)
			mu.Lock()
			defer mu.Unlock()
			if problem != "" {
				failed = true
				fmt.Printf("%-40s FAILED: %s\n", c.name(), problem)
			}
			for _, r := range found {
				fmt.Println(r)
			}
			results = append(results, found...)
		})
	}
	group.Wait()
	fmt.Printf("%d recordings in %.0f s\n", len(cells), time.Since(begin).Seconds())
	code := 0
	if ctx.Err() != nil {
		return 2, errors.New("stopped")
	}
	if o.expected != "" {
		if code, err = judge(o, results); err != nil {
			return 2, err
		}
	}
	if failed {
		code = 2
	}
	return code, nil
}

// record plays a cell and compares its recording.
func (o selection) record(ctx context.Context, self string, c cell) (found []result, problem string) {
	at := time.Now()
	out := filepath.Join(o.out, c.name())
	if _, err := os.Stat(filepath.Join(out, "scenario.txt")); !o.keep || err != nil {
		command := []string{self, "play", "-limit", o.limit.String(), "-model", o.model}
		if o.whole {
			command = append(command, "-whole")
		}
		problem = execute(ctx, inNamespace(append(command, c.client.name, c.version, c.scenario.name, out)), 15*time.Minute)
	}
	found, err := compareFolder(o.ctxkit, out, c.name(), "")
	if err != nil && problem == "" {
		problem = err.Error()
	}
	for i := range found {
		found[i].failed = problem != ""
		found[i].seconds = time.Since(at).Seconds()
	}
	return found, problem
}

// execute runs the play of a cell and returns its problem.
func execute(ctx context.Context, command []string, limit time.Duration) string {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends the client's process group
	cmd.WaitDelay = 5 * time.Second
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = os.Stdout, &out
	if err := cmd.Start(); err != nil {
		return err.Error()
	}
	err := cmd.Wait()
	text := strings.TrimSpace(out.String())
	if err != nil {
		if text == "" {
			text = err.Error()
		}
		return text
	}
	if text != "" {
		fmt.Println(text)
	}
	return ""
}

// choose lists the cells and installs their clients. A client that cannot be installed, or whose latest release npm does
// not know, is named and left out; where npm knows none, the error is errNoNpm.
func choose(o selection) (cells []cell, failed bool, err error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return nil, false, fmt.Errorf("%w: there is no npm", errNoNpm)
	}
	if folder := clientPath(); folder != "" {
		if err := install("node", fmt.Sprint(newestNode)); err != nil {
			return nil, false, fmt.Errorf("%w: %w", errNoNpm, err)
		}
	}
	reached := false
	var unreached error
	for i := range clients {
		c := &clients[i]
		if o.clients != "" && !slices.Contains(strings.Split(o.clients, ","), c.name) {
			continue
		}
		missing, told := map[string]bool{}, false // releases that were tried, and whether the latest one is said to be unknown
		for k := range scenarios {
			s := &scenarios[k]
			if !s.plays(c.name) || o.scenarios != "" && !slices.Contains(strings.Split(o.scenarios, ","), s.name) {
				continue
			}
			versions, err := o.releases(c, s)
			if err != nil && !told {
				fmt.Printf("%s latest is left out: %v\n", c.name, err)
				failed, unreached, told = true, err, true
			}
			reached = reached || err == nil
			for _, v := range versions {
				if _, tried := missing[v]; !tried {
					err := install(c.pkg, v)
					if missing[v] = err != nil; err != nil {
						fmt.Printf("%s %s is left out: %v\n", c.name, v, err)
						failed = failed || slices.Contains(c.pins, v)
					}
				}
				if !missing[v] {
					cells = append(cells, cell{c, v, s})
				}
			}
		}
	}
	if unreached != nil && !reached {
		return nil, false, unreached
	}
	return cells, failed, nil
}

// releases are the releases with which a client plays a scenario, each once. The error is that npm does not say which is
// the latest; the others are there.
func (o selection) releases(c *client, s *scenario) (versions []string, err error) {
	for v := range strings.SplitSeq(o.versions, ",") {
		switch {
		case v == "pins" && s.versions != nil:
			versions = append(versions, s.versions...)
		case v == "pins":
			versions = append(versions, c.pins...)
		case v == "latest":
			newest, unknown := latest(c.pkg)
			if unknown != nil {
				err = unknown
				continue
			}
			versions = append(versions, newest)
		default:
			versions = append(versions, v)
		}
	}
	slices.Sort(versions)
	return slices.Compact(versions), err
}
