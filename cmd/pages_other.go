//go:build !linux

package cmd

// hugePages does nothing: only Linux is asked.
func hugePages([]byte) bool { return false }
