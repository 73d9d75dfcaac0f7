package session

import "testing"

func TestAlike(t *testing.T) {
	conv := &Conversation{alike: map[string]string{"read": "Read", "shell": "Bash", "apply_patch": "Edit", "edit": "Edit"}}
	for _, tt := range []struct{ tool, alike, in, want string }{
		{"read", "Read", `{"filePath":"a.go","limit":3}`, `{"filePath":"a.go","file_path":"a.go","limit":3}`},
		{"read", "Read", `{"path":"a.go"}`, `{"file_path":"a.go","path":"a.go"}`},
		{"edit", "Edit", `{"filePath":"a","oldString":"x","newString":"y","replaceAll":true}`, `{"filePath":"a","file_path":"a","newString":"y","new_string":"y","oldString":"x","old_string":"x","replaceAll":true,"replace_all":true}`},
		{"shell", "Bash", `{"command":["bash","-lc","ls"]}`, `{"command":"ls"}`},
		{"shell", "Bash", `{"command":["rg","-n","x"]}`, `{"command":"rg -n x"}`},
		{"apply_patch", "Edit", `"*** Begin Patch\n*** Update File: a.go\n"`, `{"file_path":"a.go","input":"*** Begin Patch\n*** Update File: a.go\n"}`},
		{"apply_patch", "Edit", `"nothing"`, `"nothing"`},
		{"shell", "Bash", `{"cmd":"ls"}`, `{"cmd":"ls","command":"ls"}`},
		{"apply_patch", "Edit", `{"input":"*** Begin Patch\n*** Update File: a/b.go\n@@\n"}`, `{"file_path":"a/b.go","input":"*** Begin Patch\n*** Update File: a/b.go\n@@\n"}`},
		{"apply_patch", "Edit", `{"patchText":"*** Begin Patch\n*** Add File: b.go\n+x\n"}`, `{"file_path":"b.go","patchText":"*** Begin Patch\n*** Add File: b.go\n+x\n"}`},
		{"apply_patch", "Edit", `{"input":"nothing"}`, `{"input":"nothing"}`},
		{"read", "Read", `[1]`, `[1]`},
		{"Grep", "Grep", `{"path":"src"}`, `{"path":"src"}`},
	} {
		same(t, tt.alike, conv.Alike(tt.tool), tt.tool)
		same(t, tt.want, string(conv.AlikeInput(tt.tool, []byte(tt.in))), tt.tool, tt.in)
	}
}

// TestAlikeItself: a tool that is its own counterpart has that one's members as well.
func TestAlikeItself(t *testing.T) {
	conv := &Conversation{alike: map[string]string{"Read": "Read"}}
	if got, want := string(conv.AlikeInput("Read", []byte(`{"path":"a.go"}`))), `{"file_path":"a.go","path":"a.go"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
