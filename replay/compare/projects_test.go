package compare_test

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
	compare.JoinProjects(sessions)
	for i := range sessions {
		got = append(got, sessions[i].Project)
	}
	want := []string{"/w/cli", "/w/cli", "/w/cli", "/w/cli2", "/x/cli", "/x/b/c", `C:\w`, `C:\w`, "/home/u", "/home/u/w", ""}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestJoinRepositories joins the folders of one repository, and the repositories of one folder, and names what has
// several folders by its repository.
func TestJoinRepositories(t *testing.T) {
	sessions, got := []compare.ComparedSession{}, []string{}
	for _, s := range [][2]string{
		{"/u/.codex/worktrees/1/mise", "h/j/mise"}, {"/u/.codex/worktrees/2/mise", "h/j/mise"}, {"/u/.codex/worktrees/2/mise", ""},
		{"/w/sync", "h/new/sync"}, {"/w/sync", "h/old/sync"}, {"/x/hk", "h/j/hk"}, {"/x/other", ""},
		{"/a", "h/3"}, {"/b", "h/3"}, {"/b", "h/2"}, {"/c", "h/2"}, {"/c", "h/1"},
	} {
		sessions = append(sessions, compare.ComparedSession{Project: s[0], Repository: s[1]})
	}
	compare.JoinProjects(sessions)
	for i := range sessions {
		got = append(got, sessions[i].Project)
	}
	want := []string{"h/j/mise", "h/j/mise", "h/j/mise", "/w/sync", "/w/sync", "/x/hk", "/x/other", "h/1", "h/1", "h/1", "h/1", "h/1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
