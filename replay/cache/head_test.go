package cache

import "testing"

func TestHeadOf(t *testing.T) {
	for _, tt := range []struct {
		version  string
		overhead int
		want     Head
	}{
		{"", 40000, Head{14000, 14000}},
		{"1.0.17", 14300, Head{14000, 14000}},
		{"2.1.5", 40000, Head{33500, 33500}},
		{"2.1.5", 20000, Head{20000, 20000}}, // never more than the overhead
		{"2.1.5", -1, Head{33500, 33500}},    // which is not known
		{"2.1.5", 0, Head{}},
		{"2.1.14", 40000, Head{28000, 28000}},
		{"2.1.19", 40000, Head{28000, 10950}},
		{"2.1.38", 29999, Head{18000, 18000}},
		{"2.1.38", 30000, Head{25500, 25500}}, // a larger one by its overhead
		{"2.1.42", 45000, Head{27700, 0}},     // which nobody shares
		{"2.1.100", 45000, Head{12000, 12000}},
		{"2.1.117", 37999, Head{14900, 14900}},
		{"2.1.117", 38000, Head{29000, 0}},
		{"2.1.150", 50000, Head{7650, 7650}},
		{"2.1.239", 50000, Head{15550, 0}},
	} {
		if got := HeadOf(tt.version, tt.overhead); got != tt.want {
			t.Errorf("client %q, overhead %d: %+v, want %+v", tt.version, tt.overhead, got, tt.want)
		}
	}
}
