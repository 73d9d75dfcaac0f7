package cmd

import (
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/replay/compare"
)

// TestJoinProjects joins a hidden folder, and what is in it, to the folder with sessions that it is in, and no other.
func TestJoinProjects(t *testing.T) {
	sessions, got := []compare.ComparedSession{}, []string{}
	for _, p := range []string{"/w/cli", "/w/cli/.worktrees/1", "/w/cli/.worktrees/1/sub", "/w/cli2", "/x/cli", "/x/b/c", `C:\w`, `C:\w\.claude\sub`, "/home/u", "/home/u/w", ""} {
		sessions = append(sessions, compare.ComparedSession{Project: p})
	}
	joinProjects(sessions)
	for i := range sessions {
		got = append(got, sessions[i].Project)
	}
	want := []string{"/w/cli", "/w/cli", "/w/cli", "/w/cli2", "/x/cli", "/x/b/c", `C:\w`, `C:\w`, "/home/u", "/home/u/w", ""}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
