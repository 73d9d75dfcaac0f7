// Package generic has the policies that belong to no product.
package generic

import (
	"embed"

	"github.com/ctxkit/ctxkit/policy"
)

//go:embed *.yaml
var presets embed.FS

// Family is policies of no product.
func Family() policy.Family {
	return policy.Family{Name: "generic", Title: "Policies of no product", Presets: presets}
}
