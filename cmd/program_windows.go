package cmd

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// leadGroup makes a program the first of a group of processes, which Ctrl-C does not reach.
func leadGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup ends a program and what it started.
func killGroup(p *os.Process) {
	if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run() != nil {
		p.Kill() //nolint:errcheck // it has ended
	}
}
