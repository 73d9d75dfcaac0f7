//go:build !linux

package cmd

// widen does nothing: only Linux is asked for huge pages.
func widen([]string) {}
