package session_test

import (
	"encoding/json"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// TestUUID holds that a uuid is the text that it was, and that the same texts are the same uuid.
func TestUUID(t *testing.T) {
	for text, short := range map[string]bool{
		"": false, "u1": false, "00000000-0000-0000-0000-000000000000": true, "0a1b2c3d-4e5f-6789-abcd-ef0123456789": true,
		"ffffffff-ffff-ffff-0000-000000000001": true, "ffffffff-ffff-ffff-ffff-ffffffffffff": true,
		"0A1B2C3D-4E5F-6789-ABCD-EF0123456789": false, "0a1b2c3d4e5f-6789-abcd-ef01234567890": false, "0a1b2c3d-4e5f-6789-abcd-ef012345678g": false,
	} {
		u := session.NewUUID(text)
		bytes, ok := u.Short()
		if u.String() != text || ok != short || ok && session.ShortUUID(bytes) != u || (u == session.UUID{}) != (text == "") {
			t.Errorf("%q is %q, short %t", text, u, ok)
		}
		b, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		var back session.UUID
		if err := json.Unmarshal(b, &back); err != nil || back != u {
			t.Errorf("%q is read back as %q, %v", text, back, err)
		}
	}
}
