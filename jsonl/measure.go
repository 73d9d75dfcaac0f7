package jsonl

// Measure returns the lengths of a decoded text.
func Measure(s string) Metrics {
	m := Metrics{Bytes: len(s), JSON: 2}
	for _, r := range s {
		n := 1
		if r > 0xFFFF {
			n = 2
		}
		m.UTF16 += n
		switch {
		case r == '"' || r == '\\' || r == '\b' || r == '\f' || r == '\n' || r == '\r' || r == '\t':
			n = 2
		case r < 0x20:
			n = 6
		}
		m.JSON += n
	}
	return m
}
