package policy

import "testing"

func TestRoundQuarter(t *testing.T) {
	for n, want := range map[int]int{-4: 0, 0: 0, 1: 0, 2: 1, 3: 1, 4: 1, 5: 1, 6: 2, 7: 2, 8: 2, 80002: 20001} {
		same(t, want, RoundQuarter(n), n)
	}
}
