package compare_test

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/replay/compare"
)

// TestJoinProjects joins a hidden folder, and what is in it, to the folder with sessions that it is in, and no other. It joins
// the folders of one repository, and the repositories of one folder, and names what has several folders by its repository.
func TestJoinProjects(t *testing.T) {
	for _, list := range [][][3]string{ // folder, repository and project
		{
			{"/w/cli", "", "/w/cli"}, {"/w/cli/.worktrees/1", "", "/w/cli"}, {"/w/cli/.worktrees/1/sub", "", "/w/cli"}, {"/w/cli2", "", "/w/cli2"},
			{"/x/cli", "", "/x/cli"}, {"/x/b/c", "", "/x/b/c"}, {`C:\w`, "", `C:\w`}, {`C:\w\.claude\sub`, "", `C:\w`}, {"/home/u", "", "/home/u"},
			{"/home/u/w", "", "/home/u/w"}, {"", "", ""},
		},
		{
			{"/u/.codex/worktrees/1/mise", "h/j/mise", "h/j/mise"}, {"/u/.codex/worktrees/2/mise", "h/j/mise", "h/j/mise"},
			{"/u/.codex/worktrees/2/mise", "", "h/j/mise"}, {"/w/sync", "h/new/sync", "/w/sync"}, {"/w/sync", "h/old/sync", "/w/sync"},
			{"/x/hk", "h/j/hk", "/x/hk"}, {"/x/other", "", "/x/other"},
			{"/a", "h/3", "h/1"}, {"/b", "h/3", "h/1"}, {"/b", "h/2", "h/1"}, {"/c", "h/2", "h/1"}, {"/c", "h/1", "h/1"},
		},
	} {
		var sessions []compare.ComparedSession
		for _, s := range list {
			sessions = append(sessions, compare.ComparedSession{Project: s[0], Repository: s[1]})
		}
		compare.JoinProjects(sessions)
		for i, s := range list {
			must.Equal(t, sessions[i].Project, s[2], s)
		}
	}
}
