//go:build race

package cmd

// raced says that the race detector is on: nothing costs what it does without.
const raced = true
