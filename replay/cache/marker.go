package cache

import _ "embed"

// markersJSON has counts of recorded sessions: go test ./replay/backtest -run TestCorpusLosses -update.
//
//go:embed markers.json
var markersJSON []byte

// Marker is a sign on the lines after which the requests of some versions of a client have a cache miss.
type Marker struct {
	Cause    BreakCause `json:"cause"`            // of the cache miss
	Client   string     `json:"client"`           // a product
	From     string     `json:"from,omitempty"`   // its first version of which this holds; "": any
	Before   string     `json:"before,omitempty"` // its first version of which it holds no longer; "": none
	Requests int        `json:"requests"`         // with the marker, in recorded sessions
	Misses   int        `json:"misses"`           // of these
	Authors  int        `json:"authors"`          // of these sessions
	LeftOut  int        `json:"left_out"`         // % of requests with a cache miss, at least, without those of one author; 0 for one author
	Source   string     `json:"source"`
}

// Marker finds what is known of a sign of a client; nil: nothing, or a cache miss follows less often than not.
func (k *KindTable) Marker(client string, cause BreakCause) *Marker {
	for i := range k.Markers {
		if m := &k.Markers[i]; m.Client == client && m.Cause == cause && 2*m.Misses >= m.Requests {
			return m
		}
	}
	return nil
}
