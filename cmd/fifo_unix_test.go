//go:build unix

package cmd

import "syscall"

func makeFIFO(path string) error { return syscall.Mkfifo(path, 0o600) }
