//go:build ci

package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/ctxkit/ctxkit/replay/regret"
)

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	if err := write(&b, []string{"../../testdata/sessions"}); err != nil {
		t.Fatal(err)
	}
	var f floor
	if err := json.Unmarshal(b.Bytes(), &f); err != nil || f.Conversations == 0 || f.Projects == 0 || f.Counts.Blocks == 0 {
		t.Errorf("%s: %v", &b, err)
	}
	if err := write(&b, []string{t.TempDir()}); err == nil {
		t.Error("a folder without sessions is counted")
	}
}

// TestFloor: the shipped file is one that genfloor writes.
func TestFloor(t *testing.T) {
	c, err := regret.Floor()
	if err != nil || c.Blocks == 0 || c.Misses() == 0 {
		t.Errorf("%+v: %v", c, err)
	}
	if got := c.Expected([regret.Bands]int{}); got != 0 {
		t.Errorf("%d misses expected of nothing", got)
	}
	if got := c.Expected(c.Requests); got != int64(1000*c.Misses()) {
		t.Errorf("%d expected of the blocks counted, want %d", got, 1000*c.Misses())
	}
}
