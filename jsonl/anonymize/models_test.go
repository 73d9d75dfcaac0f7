package anonymize

import (
	"testing"

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
