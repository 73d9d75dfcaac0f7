package policy

// RoundQuarter is round(n/4) as JavaScript rounds it: half up. It is the
// token estimate the agents themselves use, n being UTF-16 units.
func RoundQuarter(n int) int {
	if n <= 0 {
		return 0
	}
	return (n + 2) / 4
}
