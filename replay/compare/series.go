package compare

import "github.com/ctxkit/ctxkit/replay"

// SeriesPoints is the most points of a series.
const SeriesPoints = 160

// Series is the payload of a replay's main requests, in tokens: of each of up to SeriesPoints equal parts of the
// session the largest.
func Series(t *replay.Timeline) []int {
	all := t.Main()
	n := min(len(all), SeriesPoints)
	list := make([]int, n)
	for i := range list {
		for _, v := range all[i*len(all)/n : (i+1)*len(all)/n] {
			list[i] = max(list[i], v.Payload)
		}
	}
	return list
}
