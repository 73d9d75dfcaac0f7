package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// endWithParent has the system end a program when ctxkit ends, however that ends.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// startedBy are the processes that a process has started, and those that these have, also where they left its group. One
// whose parent has ended is not among them.
func startedBy(pid int) (list []started) {
	names, _ := filepath.Glob("/proc/[0-9]*/stat") // it is no bad pattern
	children := map[int][]started{}
	for _, name := range names {
		var s started
		var parent int
		if text, err := os.ReadFile(name); err == nil {
			s.pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(name)))
			parent, s.began = parseStat(text)
			children[parent] = append(children[parent], s)
		}
	}
	for next := children[pid]; len(next) > 0; next = next[1:] {
		list = append(list, next[0])
		next = append(next, children[next[0].pid]...)
	}
	return list
}

// started is a process. Its number and the time of its start are those of no other.
type started struct {
	pid   int
	began string
}

// parseStat is the parent in the text of a stat file, and the time of the start.
func parseStat(text []byte) (parent int, began string) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // the name before may hold spaces
	if len(fields) < 20 {
		return 0, ""
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	return parent, string(fields[19])
}

// kill ends the process where it still runs.
func (s started) kill() {
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid)); err == nil {
		if _, began := parseStat(text); began == s.began {
			syscall.Kill(s.pid, syscall.SIGKILL) //nolint:errcheck // it has ended
		}
	}
}
