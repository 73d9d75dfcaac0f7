// Package pi has the stages and policies of Pi.
package pi

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is Pi.
func Family() policy.Family {
	return policy.Family{Name: "pi", Title: "Pi", Stages: stages(), Presets: presets}
}
