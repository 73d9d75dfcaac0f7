package preset

import (
	_ "embed"
	"encoding/json"

	"github.com/ctxkit/ctxkit/policy"
)

// ScoreFile holds the scores of the built-in policies of products whose sessions are recorded: a release is scored on
// the sessions that it recorded, a policy of the same family that is no release on all of them.
type ScoreFile struct {
	MadeBy   string                   `json:"made_by"`  // the program that writes the file
	Products map[string]*policy.Score `json:"products"` // by product: its releases together
	Policies map[string]*policy.Score `json:"policies"` // by name
}

//go:embed scores.json
var scores []byte

// ReadScores reads the scores, which scripts/genscores makes from recorded sessions; a test checks them. They are JSON,
// because each start reads them, and YAML takes ten times as long.
func ReadScores() (s ScoreFile) {
	if err := json.Unmarshal(scores, &s); err != nil {
		return ScoreFile{}
	}
	return s
}
