//go:build !windows

package cmd

import (
	"os"
	"os/exec"
	"syscall"
)

// leadGroup makes a program the first of a group of processes, which a signal to the group of ctxkit does not reach.
func leadGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(c.SysProcAttr)
}

// killGroup ends a program, the processes of its group, and those that left it.
func killGroup(p *os.Process) {
	for _, s := range startedBy(p.Pid) {
		defer s.kill()
	}
	syscall.Kill(-p.Pid, syscall.SIGKILL) //nolint:errcheck // it has ended
}
