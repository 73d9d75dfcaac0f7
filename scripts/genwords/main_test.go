//go:build ci

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/tokens/bpe"
)

// TestWords checks that the list has only words of one token, in the order in which this program writes them.
func TestWords(t *testing.T) {
	const path = "../../jsonl/anonymize/words.txt"
	data := must.Get(os.ReadFile(path))(t)
	encoding := must.Get(bpe.Load(bpe.O200K))(t)
	words := strings.Fields(string(data))
	if len(words) < 10000 {
		t.Errorf("%s: only %d words", path, len(words))
	}
	must.Equal(t, lines(pick(words, leaveOut(nil), encoding.NewCounter().Count)), string(data), path)
}

func TestPick(t *testing.T) {
	encoding := must.Get(bpe.Load(bpe.O200K))(t)
	got := pick(strings.Fields("zebra house an house Paris naïve antidisestablishmentarianism curse cursed nude"), leaveOut([]string{"curse"}), encoding.NewCounter().Count)
	if want := "house zebra"; strings.Join(got, " ") != want {
		t.Errorf("picked %q, want %s", got, want)
	}
	long := strings.Split(strings.TrimSuffix(lines(strings.Fields(strings.Repeat("abcdefghi ", 30)+"abcdefghij")), "\n"), "\n")
	if len(long) != 4 || len(long[0]) > 120 || long[3] != "abcdefghij" {
		t.Errorf("lines %q", long)
	}
}
