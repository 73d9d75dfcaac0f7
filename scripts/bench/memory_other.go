//go:build !unix

package main

import (
	"os"
	"time"
)

var started = time.Now()

// peakMemory is not known here.
func peakMemory(*os.ProcessState) float64 { return 0 }

// cpuTime is the time since the start, in seconds: that of the processor is not known here.
func cpuTime() float64 { return time.Since(started).Seconds() }
