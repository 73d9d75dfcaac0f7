package session

import (
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestAlike(t *testing.T) {
	conv := &Conversation{alike: map[string]string{"read": "Read", "shell": "Bash", "apply_patch": "Edit", "edit": "Edit"}}
	must.Rows(t, `
# tool | alike | in | want
read        | Read | {"filePath":"a.go","limit":3} | {"filePath":"a.go","file_path":"a.go","limit":3}
read        | Read | {"path":"a.go"}             | {"file_path":"a.go","path":"a.go"}
edit        | Edit | {"filePath":"a","oldString":"x","newString":"y","replaceAll":true} | {"filePath":"a","file_path":"a","newString":"y","new_string":"y","oldString":"x","old_string":"x","replaceAll":true,"replace_all":true}
shell       | Bash | {"command":["bash","-lc","ls"]} | {"command":"ls"}
shell       | Bash | {"command":["rg","-n","x"]} | {"command":"rg -n x"}
apply_patch | Edit | "\"*** Begin Patch\\n*** Update File: a.go\\n\"" | {"file_path":"a.go","input":"*** Begin Patch\n*** Update File: a.go\n"}
apply_patch | Edit | "\"nothing\""               | "\"nothing\""
shell       | Bash | {"cmd":"ls"}                | {"cmd":"ls","command":"ls"}
apply_patch | Edit | {"input":"*** Begin Patch\n*** Update File: a/b.go\n@@\n"} | {"file_path":"a/b.go","input":"*** Begin Patch\n*** Update File: a/b.go\n@@\n"}
apply_patch | Edit | {"patchText":"*** Begin Patch\n*** Add File: b.go\n+x\n"} | {"file_path":"b.go","patchText":"*** Begin Patch\n*** Add File: b.go\n+x\n"}
apply_patch | Edit | {"input":"nothing"}         | {"input":"nothing"}
read        | Read | [1]                         | [1]
Grep        | Grep | {"path":"src"}              | {"path":"src"}
`, func(tool, alike, in, want string) {
		same(t, alike, conv.Alike(tool), tool)
		same(t, want, string(conv.AlikeInput(tool, []byte(in))), tool, in)
	})
}

// TestAlikeItself: a tool that is its own counterpart has that one's members as well.
func TestAlikeItself(t *testing.T) {
	conv := &Conversation{alike: map[string]string{"Read": "Read"}}
	if got, want := string(conv.AlikeInput("Read", []byte(`{"path":"a.go"}`))), `{"file_path":"a.go","path":"a.go"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
