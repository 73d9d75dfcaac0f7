package compare

import "github.com/ctxkit/ctxkit/replay"

// SeriesPoints is the most points of a series.
const SeriesPoints = 160

func mainSizes(t *replay.Timeline) []replay.MainSize {
	return appendMainSizes(make([]replay.MainSize, 0, t.Requests.Len()), t)
}

func appendMainSizes(list []replay.MainSize, t *replay.Timeline) []replay.MainSize {
	for payload, model := range t.Requests.MainSizes() {
		list = append(list, replay.MainSize{Payload: payload, Model: model})
	}
	return list
}

// Series is the payload of a replay's main requests, in tokens: of each of up to SeriesPoints equal parts of the
// session the largest.
func Series(t *replay.Timeline) []int { return series(mainSizes(t)) }

func series(all []replay.MainSize) []int {
	n := min(len(all), SeriesPoints)
	list := make([]int, n)
	for i := range list {
		for _, v := range all[i*len(all)/n : (i+1)*len(all)/n] {
			list[i] = max(list[i], v.Payload)
		}
	}
	return list
}
