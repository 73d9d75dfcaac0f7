package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/report"
)

// allowPrograms is the flag without which no policy starts a program. No file and no environment variable stands for it.
const allowPrograms = "allow-programs"

// programs starts the programs of policies. Each is the first of a group of processes, which ends with it.
type programs struct {
	allowed bool
	files   *files
	err     io.Writer // what programs write to standard error goes here, by line
	say     sync.Mutex

	mu      sync.Mutex
	running map[*process]bool
	stopped bool
}

// permit is the error of a policy that starts a program where none may be.
func (s *system) permit(p *policy.Policy) error {
	if stages := p.Programs(); len(stages) > 0 && !s.programs.allowed {
		return fmt.Errorf("policy %s: %w", p.Name, refused(stages[0]))
	}
	return nil
}

func refused(stage string) error {
	return fmt.Errorf("the stage %s starts a program, which runs with your rights: read it, and add --%s", stage, allowPrograms)
}

// Start starts a program. One whose name holds a slash is a file, relative to the folder.
func (p *programs) Start(c policy.ProgramCommand) (policy.Program, error) {
	if !p.allowed {
		return nil, refused("of the policy")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return nil, errInterrupted
	}
	word := c.Words[0]
	title := report.Clean(strings.Join(c.Words, " "))
	if strings.ContainsAny(filepath.ToSlash(word), "/") && !filepath.IsAbs(word) {
		path, err := filepath.Abs(filepath.Join(c.Folder, word))
		if err != nil {
			return nil, err
		}
		word = path
	}
	run := exec.Command(word, c.Words[1:]...)
	run.Dir = c.Folder
	for _, word := range append([]string{word}, c.Words[1:]...) {
		if !filepath.IsAbs(word) {
			word = filepath.Join(c.Folder, word)
		}
		p.files.reads(roleProgram, word)
	}
	leadGroup(run)
	in, err := run.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := run.StdoutPipe()
	if err != nil {
		return nil, err
	}
	said, err := run.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := run.Start(); err != nil {
		return nil, fmt.Errorf("it cannot be started: %w", startError(err))
	}
	r := &process{of: p, cmd: run, in: in, lines: make(chan answer), closing: make(chan struct{}), ended: make(chan struct{})}
	p.running[r] = true
	r.readers.Add(2)
	go r.read(out)
	go r.pass(said, title)
	return r, nil
}

// startError is the error of a start, without the name of the system call.
func startError(err error) error {
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		return fmt.Errorf("%s: %w", lookup.Name, lookup.Err)
	}
	return err
}

// stop ends all programs, and starts no more.
func (p *programs) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	for r := range p.running {
		killGroup(r.cmd.Process)
	}
}

// process is a running program.
type process struct {
	of      *programs
	cmd     *exec.Cmd
	in      io.WriteCloser
	lines   chan answer
	closing chan struct{} // closed by Close: its later output is ignored
	readers sync.WaitGroup
	ended   chan struct{} // closed once the process has ended
	wait    sync.Once
	failed  error // of an earlier Ask
}

// answer is a line, or the error that ends them.
type answer struct {
	line []byte
	err  error
}

// Bounds of what is taken from a program.
const (
	longestAnswer = 64 << 20        // bytes of one line
	longestSaid   = 1 << 10         // bytes of one line of standard error
	mostSaid      = 200             // lines of standard error
	endsWithin    = 2 * time.Second // after its standard input has ended
)

var errTooLong = fmt.Errorf("its answer is longer than %d MiB", longestAnswer>>20)

// read hands over the lines of standard output, one at a time: a program that writes more than it is asked for waits.
func (r *process) read(out io.Reader) {
	defer r.readers.Done()
	lines := bufio.NewReaderSize(out, 64<<10)
	for going := true; going; {
		line, err := readLine(lines, longestAnswer)
		if len(line) > 0 && errors.Is(err, io.EOF) {
			err = nil // the last line without its end
		}
		select {
		case r.lines <- answer{line, err}:
			going = err == nil
		case <-r.closing:
			going = false
		}
	}
	_, _ = io.Copy(io.Discard, out) // until it ends
}

// readLine reads a line without its end.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > most:
			return nil, errTooLong
		case err == nil:
			line = line[:len(line)-1]
			if n := len(line); n > 0 && line[n-1] == '\r' {
				line = line[:n-1]
			}
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, io.EOF // the pipe was closed at either end
		}
	}
}

// pass passes standard error on, line by line with the program's name.
func (r *process) pass(said io.Reader, title string) {
	defer r.readers.Done()
	lines := bufio.NewReaderSize(said, longestSaid)
	for n := 0; ; n++ {
		line, more, err := lines.ReadLine()
		if err != nil {
			return
		}
		text := report.Clean(string(line))
		if more {
			text += "…"
		}
		for more && err == nil {
			_, more, err = lines.ReadLine()
		}
		switch {
		case n < mostSaid:
			r.of.tell(title + ": " + text)
		case n == mostSaid:
			r.of.tell(title + ": further lines are left out")
		}
	}
}

func (p *programs) tell(text string) {
	p.say.Lock()
	defer p.say.Unlock()
	say(p.err, text)
}

// Ask writes a line and returns the next line of the program.
func (r *process) Ask(line []byte, limit time.Duration) ([]byte, error) {
	if r.failed == nil {
		var got []byte
		if got, r.failed = r.ask(line, limit); r.failed == nil {
			return got, nil
		}
		killGroup(r.cmd.Process)
	}
	return nil, r.failed
}

func (r *process) ask(line []byte, limit time.Duration) ([]byte, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	written := make(chan error, 1)
	go func() {
		_, err := r.in.Write(append(line, '\n'))
		written <- err
	}()
	writing := true
	answered := false
	var got answer
	for writing || !answered {
		lines := r.lines
		if answered {
			lines = nil
		}
		select {
		case err := <-written:
			writing = false
			written = nil
			if err != nil && answered {
				return nil, errors.New("it does not read its input")
			}
		case got = <-lines:
			if answered = true; got.err != nil {
				return nil, r.died(got.err)
			}
		case <-timer.C:
			if writing {
				return nil, fmt.Errorf("it did not read its input within %s", limit)
			}
			return nil, fmt.Errorf("it gave no answer within %s", limit)
		}
	}
	return got.line, nil
}

// died is the error of a program that writes no more.
func (r *process) died(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	late := time.After(endsWithin)
	r.drained(late)
	r.finish()
	select {
	case <-r.ended:
		return fmt.Errorf("it ended without an answer (%s)", r.cmd.ProcessState)
	case <-late:
		return errors.New("it closed its standard output without an answer")
	}
}

// drained waits until all that the program wrote has been read, which has to be before finish, and reports whether it
// has been in time.
func (r *process) drained(late <-chan time.Time) bool {
	read := make(chan struct{})
	go func() {
		r.readers.Wait()
		close(read)
	}()
	select {
	case <-read:
		return true
	case <-late:
		return false
	}
}

// finish waits, on a goroutine, for the process to end.
func (r *process) finish() {
	r.wait.Do(func() {
		go func() {
			_ = r.cmd.Wait() // its state says how it ended
			close(r.ended)
		}()
	})
}

// Close ends the standard input of the program, and after a while the program and all that it started.
func (r *process) Close() {
	close(r.closing)
	children := startedBy(r.cmd.Process.Pid) // before it ends
	r.in.Close()
	if late := time.After(endsWithin); r.failed == nil && r.drained(late) { // it writes no more, and ends by itself
		r.finish()
		select {
		case <-r.ended:
		case <-late:
		}
	}
	killGroup(r.cmd.Process)
	for _, child := range children {
		child.kill()
	}
	r.drained(time.After(endsWithin)) // not so where a process that left the group holds the pipes
	r.finish()
	<-r.ended
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	delete(r.of.running, r)
}
