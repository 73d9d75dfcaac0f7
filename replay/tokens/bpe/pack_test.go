package bpe

import "testing"

func TestPackRefuses(t *testing.T) {
	whole := func() map[string]int {
		ranks := map[string]int{}
		for b := range 256 {
			ranks[string([]byte{byte(b)})] = b
		}
		return ranks
	}
	if _, err := Pack(whole()); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(map[string]int)
	}{
		{"a gap", func(r map[string]int) { r["ab"] = 300 }},
		{"a rank twice", func(r map[string]int) { r["b"] = r["a"] }},
		{"a byte missing", func(r map[string]int) { r["ab"] = r["a"]; delete(r, "a") }},
		{"an empty token", func(r map[string]int) { r[""] = 256 }},
		{"a token too long", func(r map[string]int) { r[string(make([]byte, 256))] = 256 }},
	}
	for _, tt := range tests {
		ranks := whole()
		tt.change(ranks)
		if _, err := Pack(ranks); err == nil {
			t.Errorf("%s is packed", tt.name)
		}
	}
}
