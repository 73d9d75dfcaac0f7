package policy

// RoundQuarter is round(n/4) as JavaScript rounds it: half up. It is the token estimate the agents themselves use, n
// being UTF-16 units.
func RoundQuarter(n int) int {
	if n <= 0 {
		return 0
	}
	return (n + 2) / 4
}

// WholeList is the client's estimate of a whole list of messages, from the sum of theirs: four thirds of it, rounded
// up.
func WholeList(sum int) int { return (sum*4 + 2) / 3 }
