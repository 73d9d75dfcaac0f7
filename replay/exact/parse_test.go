package exact

import "testing"

// FuzzParse: the short form is read as the general one reads it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"0", "00", "007", "1.50", "0.000000000000001", "0.0000000000000010", "1.", ".5", "-1", "+1", "1e3", "1.2.3", "", ".", "12a", "1.0x0",
		"999999999999999999", "1000000000000000000", "9223372036854775807", "123456789.123456789", "0.1234567890123456", "18.75", "0.30",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, ok := short(s); ok {
			if want, known := parse(s); !known || d != want {
				t.Errorf("%q: %+v, want %+v, %v", s, d, want, known)
			}
		}
	})
}
