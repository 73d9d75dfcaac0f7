package claude

import "testing"

func TestReadPositive(t *testing.T) {
	for in, want := range map[string]string{
		"8000": "8000", " 8000": "8000", "+8000": "8000", "8000abc": "8000", "8e3": "8", "0x10": "", "0": "", "-5": "", "abc": "", "99999999999999999999": "",
	} {
		got, ok := readPositive(in)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s, %t", in, got, ok)
		}
	}
}
