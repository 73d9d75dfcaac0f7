package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// command is a process to measure.
type command struct {
	name string
	args []string // the program first
	env  []string // more of the environment, NAME=VALUE
	dir  string
	in   string // its standard input
}

// figures are what a process, or a part of one, took.
type figures struct {
	CPU   float64 `json:"cpu,omitempty"`   // seconds, user and system
	Wall  float64 `json:"wall,omitempty"`  // seconds
	First float64 `json:"first,omitempty"` // seconds to the first byte of output
	MiB   float64 `json:"mib,omitempty"`   // resident memory at its peak
}

// measure runs a process to its end.
func (c *command) measure() (figures, error) {
	p := exec.Command(c.args[0], c.args[1:]...)
	p.Dir = c.dir
	if c.in != "" {
		p.Stdin = strings.NewReader(c.in)
	}
	p.Env = append(os.Environ(), c.env...)
	var said bytes.Buffer
	p.Stderr = &said
	out, err := p.StdoutPipe()
	if err != nil {
		return figures{}, err
	}
	begin := time.Now()
	if err := p.Start(); err != nil {
		return figures{}, err
	}
	var f figures
	one := make([]byte, 1)
	if n, _ := io.ReadFull(out, one); n == 1 {
		f.First = time.Since(begin).Seconds()
	}
	_, err = io.Copy(io.Discard, out)
	err = errors.Join(err, p.Wait())
	f.Wall = time.Since(begin).Seconds()
	if err != nil {
		return f, fmt.Errorf("%s: %w: %s", strings.Join(c.args, " "), err, said.String())
	}
	f.CPU = (p.ProcessState.UserTime() + p.ProcessState.SystemTime()).Seconds()
	f.MiB = peakMemory(p.ProcessState)
	return f, nil
}

// interleaved measures commands in turns, times times, and returns the medians by name.
func interleaved(list []command, times int) (map[string]figures, error) {
	all := map[string][]figures{}
	for range times {
		for k := range list {
			c := &list[k]
			f, err := c.measure()
			if err != nil {
				return nil, err
			}
			all[c.name] = append(all[c.name], f)
		}
	}
	medians := map[string]figures{}
	for name, list := range all {
		medians[name] = middle(list)
	}
	return medians, nil
}

// middle has the median of each figure.
func middle(list []figures) figures {
	of := func(value func(f figures) float64) float64 { return median(list, value) }
	return figures{
		CPU:   of(func(f figures) float64 { return f.CPU }),
		Wall:  of(func(f figures) float64 { return f.Wall }),
		First: of(func(f figures) float64 { return f.First }),
		MiB:   of(func(f figures) float64 { return f.MiB }),
	}
}

// median is the middle value, or the mean of the two in the middle.
func median[T any, F cmp.Ordered](list []T, value func(T) F) F {
	var zero F
	if len(list) == 0 {
		return zero
	}
	values := make([]F, len(list))
	for i, v := range list {
		values[i] = value(v)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
