package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDrawAndShow(t *testing.T) {
	d := drawing{folder: "../../testdata/sessions", policies: []string{"recorded", "sliding-window"}, seed: 1, count: 9, around: 100}
	var first, second bytes.Buffer
	if err := d.draw(&first); err != nil {
		t.Fatal(err)
	}
	if err := d.draw(&second); err != nil || first.String() != second.String() {
		t.Errorf("drawn again: %v\n%s\nthen\n%s", err, &first, &second)
	}
	lines := strings.Split(strings.TrimSpace(first.String()), "\n")
	by := map[string]int{}
	for _, line := range lines {
		var m drawn
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Line == 0 || m.UsedBy <= m.Line || m.Needed < m.Removed {
			t.Errorf("%s: %v", line, err)
		}
		by[m.Policy]++
	}
	if by["recorded"] < 4 || by["sliding-window"] < 4 {
		t.Errorf("drawn of each policy: %v", by)
	}
	in := filepath.Join(t.TempDir(), "drawn.jsonl")
	if err := os.WriteFile(in, first.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	d.whole = filepath.Join(t.TempDir(), "view.txt")
	var page bytes.Buffer
	if err := d.show(&page, in, len(lines)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"=== the removed block, line ", "=== the use, line ", "=== in view: parts of the evidence"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q in\n%s", want, &page)
		}
	}
	if info, err := os.Stat(d.whole); err != nil || info.Size() == 0 {
		t.Errorf("the view: %v", err)
	}
	if err := d.show(&page, in, len(lines)+1); err == nil {
		t.Error("a line that the file does not have is shown")
	}
}
