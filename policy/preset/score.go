package preset

import (
	_ "embed"
	"encoding/json"

	"github.com/ctxkit/ctxkit/policy"
)

// ScoreFile holds the scores of the built-in policies of products whose sessions can be read. A policy that stands for
// a range of releases is scored on the sessions that these releases recorded. A policy that is named after a product
// and stands for no release is scored on all sessions of the product.
type ScoreFile struct {
	MadeBy   string                   `json:"made_by"`  // program that writes the file
	Products map[string]*policy.Score `json:"products"` // by product: all its sessions, each scored with the policy of the release that recorded it
	Policies map[string]*policy.Score `json:"policies"` // by name of the policy
}

//go:embed scores.json
var scores []byte

// ReadScores returns the embedded scores, which scripts/genscores computes from recorded sessions.
func ReadScores() (s ScoreFile) {
	if err := json.Unmarshal(scores, &s); err != nil {
		return ScoreFile{}
	}
	return s
}
