package compare

import "strings"

// JoinProjects makes a project of a folder and the hidden folders in it, such as .worktrees/a, where both have sessions,
// and of the folders of one repository, which are worktrees and copies of it. Other folders below are projects of their
// own: sessions are recorded in home folders, too.
func JoinProjects(sessions []ComparedSession) {
	folders := map[string]bool{}
	for i := range sessions {
		folders[sessions[i].Project] = true
	}
	for i := range sessions {
		path := sessions[i].Project
		for at := len(path) - 1; at > 0; at-- { // the topmost folder remains
			if (path[at] == '/' || path[at] == '\\') && strings.HasPrefix(path[at+1:], ".") && folders[path[:at]] {
				sessions[i].Project = path[:at]
			}
		}
	}
	joinRepositories(sessions)
}

// joinRepositories gives sessions one project whose folders have a repository in common, or whose repositories have a
// folder in common, as after a renaming. Where these are several folders the repository is its name.
func joinRepositories(sessions []ComparedSession) {
	// By folder and by repository: the least repository that it is joined to.
	names, least := map[string]string{}, map[string]string{}
	for changed := true; changed; {
		changed = false
		for i := range sessions {
			s := &sessions[i]
			if s.Repository == "" {
				continue
			}
			name := s.Repository
			for _, other := range []string{names[s.Project], least[s.Repository]} {
				if other != "" && other < name {
					name = other
				}
			}
			changed = changed || names[s.Project] != name || least[s.Repository] != name
			names[s.Project], least[s.Repository] = name, name
		}
	}
	count := map[string]map[string]bool{} // folders by name
	for folder, name := range names {
		if count[name] == nil {
			count[name] = map[string]bool{}
		}
		count[name][folder] = true
	}
	for i := range sessions {
		if name := names[sessions[i].Project]; len(count[name]) > 1 {
			sessions[i].Project = name
		}
	}
}
