package preset

import (
	_ "embed"

	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/policy"
)

// ScoreFile holds the scores of the built-in policies of products whose sessions are recorded: a release is scored on
// the sessions that it recorded, a policy of the same family that is no release on all of them.
type ScoreFile struct {
	Products map[string]*policy.Score // by product: its releases together
	Policies map[string]*policy.Score // by name
}

//go:embed scores.yaml
var scores []byte

// ReadScores reads the scores, which scripts/genscores makes; a test checks them.
func ReadScores() (s ScoreFile) {
	if err := yaml.Load(scores, &s, yaml.WithKnownFields()); err != nil {
		return ScoreFile{}
	}
	return s
}
