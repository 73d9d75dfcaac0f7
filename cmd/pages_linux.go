package cmd

import "syscall"

// hugePages asks the system to back memory that was not touched yet with huge pages.
func hugePages(b []byte) bool { return syscall.Madvise(b, syscall.MADV_HUGEPAGE) == nil }
