//go:build !windows

package cmd

import (
	"os"
	"os/exec"
	"syscall"
)

// leadGroup makes a program the first of a group of processes, which a signal to the group of ctxkit does not reach.
func leadGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a program and the processes of its group.
func killGroup(p *os.Process) {
	syscall.Kill(-p.Pid, syscall.SIGKILL) //nolint:errcheck // it has ended
}
