package cache

import (
	_ "embed"
	"time"
)

// lossesJSON is measured on recorded sessions: go test ./replay/backtest -run TestCorpusLosses -update.
//
//go:embed losses.json
var lossesJSON []byte

// Losses is how much less a client's requests to the models of some families read than the simulation has them read,
// where it has none: cache misses that no line shows.
type Losses struct {
	Client   string     `json:"client,omitempty"` // a product; "": any other
	Families []string   `json:"families"`         // as CacheKind's; "": any other
	Sessions int        `json:"sessions"`         // measured
	Authors  int        `json:"authors"`          // of these
	Lower    int        `json:"lower"`            // bounds: the authors of 90 % of what was read lost between these, % of the shares
	Upper    int        `json:"upper"`
	Idle     []IdleLoss `json:"idle"` // ascending; none where the cost of authors left out is nearer to the recorded one without
}

// IdleLoss is that of requests after some time.
type IdleLoss struct {
	Seconds  int `json:"seconds,omitempty"` // since the response before, less than this; 0: any longer
	Requests int `json:"requests"`          // measured
	Share    int `json:"share"`             // of what the simulation reads, in millionths
}

// LossesOf finds the losses of a client's requests to a model by its normalized id: the first that apply.
func (k *KindTable) LossesOf(client, id string) *Losses {
	for i := range k.Losses {
		if l := &k.Losses[i]; (l.Client == "" || l.Client == client) && familyOf(l.Families, id) >= 0 {
			return l
		}
	}
	return &Losses{}
}

// After is the share that is lost some time after the response before, in millionths.
func (l *Losses) After(idle time.Duration) int {
	for _, i := range l.Idle {
		if i.Seconds == 0 || idle < time.Duration(i.Seconds)*time.Second {
			return i.Share
		}
	}
	return 0
}
