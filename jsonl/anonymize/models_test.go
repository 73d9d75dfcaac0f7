package anonymize

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/foreign"
	"github.com/ctxkit/ctxkit/jsonl/must"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/replay/price"
)

// TestModelsStay holds that the name of each known model stays in sessions of each form: prices and windows follow from it.
func TestModelsStay(t *testing.T) {
	vocabularies := map[string]*vocabulary{"claude-code": newVocabulary(nil)}
	for _, form := range session.Forms() {
		vocabularies[form.Name] = newVocabulary(&form)
	}
	for name, v := range vocabularies {
		for _, m := range price.Default().Models {
			if !v.wordsOnly(m.ID, versionDigits) {
				t.Errorf("%s: %s does not stay", name, m.ID)
			}
		}
	}
}

// TestMembersStay holds that what readers look up stays: the name of each member that their code decodes, and each value
// of the format that it compares with.
func TestMembersStay(t *testing.T) {
	member, value := regexp.MustCompile("`json:\"([^\",`]+)"), regexp.MustCompile(`"([a-z]+(?:[-_][a-z]+)*)"`)
	compared := regexp.MustCompile(`\bcase ("[^:\n]*(?:,\n[^:\n]*)*):|[!=]= ("[^"\n]*")`)
	files, err := filepath.Glob("../internal/*/*.go")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "../session/node.go") {
		text := must.Get(os.ReadFile(file))(t)
		v := newVocabulary(nil)
		if words, err := os.ReadFile(filepath.Join(filepath.Dir(file), "words.txt")); err == nil {
			v = newVocabulary(&foreign.Form{Words: string(words)})
		} else if strings.Contains(file, "outline") {
			continue // it is no reader
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range member.FindAllSubmatch(text, -1) {
			if name := string(m[1]); !v.keys[name] && name != "-" {
				t.Errorf("%s: the member %s is renamed", file, name)
			}
		}
		for _, part := range compared.FindAll(text, -1) {
			for _, m := range value.FindAllSubmatch(part, -1) {
				if word := string(m[1]); !v.keys[word] && !v.tools[word] && !v.wordsOnly(word, 0) && word != "tool_use" { // a block that a reader made
					t.Errorf("%s: the value %s is replaced", file, word)
				}
			}
		}
	}
}
