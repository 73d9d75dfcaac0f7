package compare

import "github.com/ctxkit/ctxkit/replay"

// SeriesPoints is the most points of a series.
const SeriesPoints = 160

// mainSize is the size of a main request, in tokens: as sent, and of the model view.
type mainSize struct{ payload, model int }

func mainSizes(t *replay.Timeline) (list []mainSize) {
	for _, r := range t.Requests.Main() {
		list = append(list, mainSize{r.Payload, r.Tokens})
	}
	return list
}

// Series is the payload of a replay's main requests, in tokens: of each of up to SeriesPoints equal parts of the
// session the largest.
func Series(t *replay.Timeline) []int { return series(mainSizes(t)) }

func series(all []mainSize) []int {
	n := min(len(all), SeriesPoints)
	list := make([]int, n)
	for i := range list {
		for _, v := range all[i*len(all)/n : (i+1)*len(all)/n] {
			list[i] = max(list[i], v.payload)
		}
	}
	return list
}
