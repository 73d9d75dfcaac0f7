// Package roo has the stages and policies of Roo Code, and of Kilo Code as long as it was a fork of that.
package roo

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is Roo Code and Kilo Code.
func Family() policy.Family {
	return policy.Family{Name: "roo", Title: "Roo Code", Stages: stages(), Presets: presets}
}
