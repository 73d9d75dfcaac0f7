package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakes are clients that are shell scripts: one that plays, and those that fail, each in its own way.
var fakes = map[string]string{
	"plays":   "ask /v1/messages; session",
	"hangs":   "ask /v1/messages; session; sleep 98761 & echo waiting; wait",
	"dies":    "echo last words; exit 3",
	"strange": "ask /v1/messages; ask /v1/embeddings; session",
	"silent":  "ask /v1/messages",
	"mute":    "session",
}

// fakeScript is what fakes have in common. The ids of answers count up, so that a session can name the first.
const fakeScript = `#!/bin/bash
prompt='{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"'$1'"}]}],"tools":[{"name":"sh"}]}'
ask() {
  exec 3<>"/dev/tcp/127.0.0.1/${URL##*:}"
  printf 'POST %s HTTP/1.1\r\nHost: lab\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' "$1" "${#prompt}" "$prompt" >&3
  cat <&3 >/dev/null
}
session() {
  echo '{"type":"assistant","uuid":"u1","timestamp":"2026-01-01T00:00:00Z","message":{"id":"msg_00000000000000000001"}}' >"$HOME/session.jsonl"
}
`

// playFakes makes the lab know the fakes instead of its clients.
func playFakes() {
	clients, scenarios = nil, []scenario{{name: "one", scripts: map[string]string{"s1": "say hello"}, turns: []turn{{prompt: "go @@s1@@"}}}}
	for name := range fakes {
		scenarios[0].clients = append(scenarios[0].clients, name)
	}
	slices.Sort(scenarios[0].clients)
	for _, name := range scenarios[0].clients {
		clients = append(clients, client{
			name: name, label: name, pkg: name, bin: name, pins: []string{"1.0"}, env: []string{"URL=$URL"},
			first: []string{"$PROMPT"}, session: []string{"session.jsonl"},
		})
	}
}

// A client that hangs, dies, asks for an unknown path, asks nothing or writes no session is named, and ended with its
// children; the others are run, and the exit code is 2.
func TestFailingClients(t *testing.T) {
	for _, name := range []string{"bash", "git"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	folder, answers := t.TempDir(), t.TempDir()
	t.Setenv("HOME", folder)
	t.Setenv("XDG_CACHE_HOME", folder)
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	executable(t, filepath.Join(folder, "npm"), "#!/bin/sh\nexit 1\n")
	executable(t, filepath.Join(packageFolder("node", fmt.Sprint(newestNode)), "node_modules", "none"), "")
	for name, body := range fakes {
		executable(t, clientBin(&client{pkg: name, bin: name}, "1.0"), fakeScript+body+"\n")
	}
	write(t, filepath.Join(answers, "replay.json"), `{"totals":{"requests":1},"requests":[{"n":1,"uuid":"u1"}]}`)
	write(t, filepath.Join(answers, "1.json"), `{"model":"m","messages":[{"role":"user","content":"go @@s1@@"}]}`)
	lab := func(code int, args ...string) string {
		cmd := exec.Command(os.Args[0], append([]string{"run", "-ctxkit", os.Args[0], "-jobs", "3", "-limit", "2s"}, args...)...)
		cmd.Env = append(os.Environ(), "LAB_FAKES=1", "LAB_ANSWERS="+answers)
		text, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != code {
			t.Errorf("%s: exit %v, not %d: %s", args, err, code, text)
		}
		return string(text)
	}
	const played = "plays-1.0-one                              1/1        1    1"
	out := lab(2, "-versions", "1.0")
	for name, problem := range map[string]string{
		"hangs": "turn 1: hangs: killed after 2s: waiting", "dies": "turn 1: dies: exit status 3: last words", "strange": "asks for an unknown path: POST /v1/embeddings",
		"silent": "writes no session", "mute": "turn 1: asks the model nothing",
	} {
		if !strings.Contains(out, problem) || !strings.Contains(out, name+"-1.0-one ") {
			t.Errorf("%s: no %q", name, problem)
		}
	}
	if !strings.Contains(out, played) {
		t.Error("the client that plays is not compared")
	}
	if t.Failed() {
		t.Log(out)
	}
	lab(3, "-versions", "latest", "-clients", "plays,silent")
	executable(t, filepath.Join(folder, "npm"), "#!/bin/sh\n[ \"$2\" = plays ] && echo 1.0\n")
	if out := lab(2, "-versions", "latest", "-clients", "plays,silent"); !strings.Contains(out, played) || !strings.Contains(out, "silent latest is left out: npm is out of reach: npm view silent") {
		t.Error("one package that npm does not know:", out)
	}
	running, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range running {
		if command, _ := os.ReadFile(file); bytes.HasPrefix(command, []byte("sleep\x0098761\x00")) {
			t.Errorf("a child lives: %q (%s)", command, file)
		}
	}
}

// executable writes a script.
func executable(t *testing.T, file, text string) {
	t.Helper()
	write(t, file, text)
	if err := os.Chmod(file, 0o755); err != nil {
		t.Fatal(err)
	}
}
