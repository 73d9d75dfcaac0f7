package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// terminal is a client in a terminal of tmux. Actions of scenario.typed:
//
//	> TEXT     types TEXT and Enter, and waits until the script that it names is played
//	type TEXT  types TEXT and Enter
//	key K ...  presses keys, by tmux's names
//	see REGEX  waits until the screen shows it
//	played ID  waits until the script is played
//	asked N    waits for N more requests than when the last text was typed
//	confirm    waits a little; where the screen then asks for a choice, takes the first
//	quiet T    waits until no request has come for T
//	sleep T
type terminal struct {
	*recording
	socket string
	typed  int // requests when the last text was typed
}

var named = regexp.MustCompile(`@@(\w+)@@`)

// inTerminal plays the typed actions.
func (r *recording) inTerminal() error {
	t := &terminal{recording: r, socket: filepath.Join(r.folder, "tmux")}
	begin := []string{"-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "50", "-c", r.work, "env", "-i"}
	begin = append(begin, r.environment()...)
	begin = append(begin, r.bin)
	args := r.client.common
	for i := range args {
		if len(r.scenario.args) == 0 || args[i] != r.scenario.args[0] && (i == 0 || args[i-1] != r.scenario.args[0]) {
			begin = append(begin, r.expand(args[i]))
		}
	}
	begin = append(begin, r.client.terminal...)
	begin = append(begin, r.expandAll(r.scenario.args)...)
	if err := t.tmux(begin...); err != nil {
		return err
	}
	defer func() { _ = t.tmux("kill-server") }()
	if err := t.see(regexp.MustCompile(r.client.ready)); err != nil {
		return err
	}
	time.Sleep(settle)
	for _, action := range r.scenario.typed {
		if err := t.act(action); err != nil {
			return fmt.Errorf("%s: %w", action, err)
		}
	}
	time.Sleep(settle)
	return t.leave()
}

// leave ends the client as a person does, so that it writes what is still to be written.
func (t *terminal) leave() error {
	for range 2 {
		_ = t.tmux("send-keys", "C-c")
		time.Sleep(300 * time.Millisecond)
	}
	for range 30 {
		if t.tmux("has-session") != nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

func (t *terminal) act(action string) error {
	verb, rest, _ := strings.Cut(action, " ")
	switch verb {
	case ">", "type":
		if err := t.write(rest); err != nil {
			return err
		}
		if m := named.FindStringSubmatch(rest); m != nil && verb == ">" {
			return t.played(m[1])
		}
		return nil
	case "key":
		for key := range strings.FieldsSeq(rest) {
			if err := t.tmux("send-keys", key); err != nil {
				return err
			}
			time.Sleep(150 * time.Millisecond)
		}
		return nil
	case "see":
		pattern, err := regexp.Compile(rest)
		if err != nil {
			return err
		}
		return t.see(pattern)
	case "played":
		return t.played(rest)
	case "asked":
		n, err := strconv.Atoi(rest)
		if err != nil {
			return err
		}
		return t.until("asks nothing", func() bool {
			count, _ := t.server.Requests()
			return count >= t.typed+n
		})
	case "confirm":
		time.Sleep(2 * time.Second)
		screen, err := t.screen()
		if err == nil && regexp.MustCompile(`(?m)❯ 1\.`).MatchString(screen) {
			err = t.tmux("send-keys", "Enter")
			time.Sleep(settle)
		}
		return err
	case "quiet", "sleep":
		wait, err := time.ParseDuration(rest)
		if err != nil {
			return err
		}
		if verb == "sleep" {
			time.Sleep(wait)
			return nil
		}
		return t.quiet(wait)
	}
	return errors.New("is no action")
}

// write types a text and Enter.
func (t *terminal) write(text string) error {
	t.typed, _ = t.server.Requests()
	if err := t.tmux("send-keys", "-l", text); err != nil {
		return err
	}
	time.Sleep(700 * time.Millisecond) // or Enter chooses what the client proposes
	return t.tmux("send-keys", "Enter")
}

// played waits until every step of a script is answered and the client is quiet.
func (t *terminal) played(id string) error {
	if err := t.until("hangs: script "+id+" is not played", func() bool { return t.server.Played(id) }); err != nil {
		return err
	}
	return t.quiet(settle)
}

func (t *terminal) quiet(wait time.Duration) error {
	begin := time.Now()
	return t.until("hangs: it asks without end", func() bool {
		_, last := t.server.Requests()
		return time.Since(last) > wait && time.Since(begin) > wait
	})
}

func (t *terminal) see(pattern *regexp.Regexp) error {
	return t.until("hangs: the screen does not show "+pattern.String(), func() bool {
		screen, err := t.screen()
		return err == nil && pattern.MatchString(screen)
	})
}

// until asks every tenth of a second.
func (t *terminal) until(problem string, done func() bool) error {
	for end := time.Now().Add(t.limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if done() {
			return nil
		}
		if t.ctx.Err() != nil {
			return errors.New("stopped")
		}
	}
	screen, err := t.screen()
	if err != nil {
		return fmt.Errorf("dies: the terminal is closed: %w", err)
	}
	return fmt.Errorf("%s after %s; the screen:\n%s", problem, t.limit, strings.TrimSpace(screen))
}

func (t *terminal) screen() (string, error) {
	out, err := exec.Command("tmux", "-S", t.socket, "capture-pane", "-p").Output()
	return string(out), err
}

func (t *terminal) tmux(args ...string) error {
	cmd := exec.Command("tmux", append([]string{"-S", t.socket}, args...)...)
	cmd.Env = t.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("tmux %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}
