package cmd

import (
	"bytes"
	"strings"
	"testing"
)

// TestNamedCommand holds the tree that is built for a command line which names a command against the whole one.
func TestNamedCommand(t *testing.T) {
	sys := func() *system { return newSystem(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}) }
	all := newRoot(sys())
	if n := len(all.Commands()) - len(subcommands); n != 0 {
		t.Errorf("%d commands are in no list", n)
	}
	for name := range subcommands {
		one := newRoot(sys(), name, "x").Commands()
		if len(one) != 1 || one[0].Name() != name {
			t.Fatalf("%s: builds %d commands", name, len(one))
		}
		want, _, err := all.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := one[0].UsageString(), want.UsageString(); got != want {
			t.Errorf("%s: usage\n%s\nwant\n%s", name, got, want)
		}
	}
	for _, args := range [][]string{nil, {"help"}, {"--no-cache", "replay"}, {"replya"}} {
		if n := len(newRoot(sys(), args...).Commands()); n < len(subcommands) {
			t.Errorf("%q: %d commands", args, n)
		}
	}
}
