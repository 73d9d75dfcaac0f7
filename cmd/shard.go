package cmd

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

const shardFlag = "shard"

// mostShards is more than any fleet has machines.
const mostShards = 1_000_000

// shard is one of several parts of the inputs on the command line: I/N. The zero value is all of them.
type shard struct{ I, Of int }

// String is the flag's value.
func (s *shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.I, s.Of)
}

// Type names the kind of value in help texts.
func (s *shard) Type() string { return "I/N" }

// Set reads the flag's value.
func (s *shard) Set(text string) error {
	i, n, ok := strings.Cut(text, "/")
	part, err := strconv.Atoi(i)
	of, errOf := strconv.Atoi(n)
	if !ok || err != nil || errOf != nil || part < 1 || part > of || of > mostShards {
		return fmt.Errorf("want I/N, the I-th of N parts, such as 1/4")
	}
	*s = shard{part, of}
	return nil
}

// take leaves the inputs of a shard. Which shard an input is in follows from its name alone: what is added to a folder
// moves nothing.
func (in *inputs) take(s shard) {
	names := sharedNames(in.list)
	h := sha256.New()
	for _, name := range names {
		fmt.Fprintf(h, "%q\n", name)
	}
	in.all, in.names = len(names), fmt.Sprintf("%x", h.Sum(nil))
	list := in.list
	in.list = nil
	in.at = nil
	for i, name := range names {
		if s.has(name) {
			in.list = append(in.list, list[i])
			in.at = append(in.at, i)
		}
	}
}

// has reports whether an input of this name is in the shard.
func (s shard) has(name string) bool {
	if s.Of < 2 {
		return true
	}
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint64(sum[:8])%uint64(s.Of) == uint64(s.I-1)
}

// sharedNames are the paths of inputs below the folder that all of them are in, with slashes: the same on every machine.
func sharedNames(paths []string) []string {
	names := make([]string, len(paths))
	var common []string // elements of the folder's path; nil: of none yet
	for i, path := range paths {
		if names[i] = path; path == "-" {
			continue
		}
		if abs, err := filepath.Abs(path); err == nil {
			names[i] = abs
		}
		names[i] = filepath.ToSlash(names[i])
		folder := strings.Split(names[i], "/")
		folder = folder[:len(folder)-1]
		if common == nil {
			common = folder
		}
		n := 0
		for n < min(len(common), len(folder)) && common[n] == folder[n] {
			n++
		}
		common = common[:n]
	}
	for i := range names {
		if names[i] != "-" {
			names[i] = strings.Join(strings.Split(names[i], "/")[len(common):], "/")
		}
	}
	return names
}
