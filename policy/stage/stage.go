// Package stage lists the families of stages. Each folder below it holds one family, which belongs to one product,
// library or provider: the stages of the family (each with a file and a function defineX), their texts and limits, and
// built-in policies (*.yaml).
//
// Three packages serve the families. Package measure has the lengths and estimates that several families use; package
// summarize makes the texts of summaries; package stagetest helps to test stages.
package stage

import (
	"embed"
	"io/fs"

	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/stage/anthropic"
	"github.com/ctxkit/ctxkit/policy/stage/claude"
	"github.com/ctxkit/ctxkit/policy/stage/cline"
	"github.com/ctxkit/ctxkit/policy/stage/codex"
	"github.com/ctxkit/ctxkit/policy/stage/crush"
	"github.com/ctxkit/ctxkit/policy/stage/gemini"
	"github.com/ctxkit/ctxkit/policy/stage/generic"
	"github.com/ctxkit/ctxkit/policy/stage/goose"
	"github.com/ctxkit/ctxkit/policy/stage/langchain"
	"github.com/ctxkit/ctxkit/policy/stage/openclaw"
	"github.com/ctxkit/ctxkit/policy/stage/opencode"
	"github.com/ctxkit/ctxkit/policy/stage/openhands"
	"github.com/ctxkit/ctxkit/policy/stage/pi"
	"github.com/ctxkit/ctxkit/policy/stage/program"
	"github.com/ctxkit/ctxkit/policy/stage/qwen"
	"github.com/ctxkit/ctxkit/policy/stage/roo"
	"github.com/ctxkit/ctxkit/policy/stage/strands"
	"github.com/ctxkit/ctxkit/policy/stage/sweagent"
	"github.com/ctxkit/ctxkit/policy/stage/threelayer"
	"github.com/ctxkit/ctxkit/policy/stage/vercel"
)

// presets holds the built-in policies of all families.
//
//go:embed */*.yaml
var presets embed.FS

// Registry returns a registry of the stages of all families. The error is that of policy.NewRegistry.
func Registry() (policy.Registry, error) { return policy.NewRegistry(Families()...) }

// Families returns the families of stages, sorted by name. Each has the built-in policies of its folder.
func Families() []policy.Family {
	list := []policy.Family{
		anthropic.Family(),
		claude.Family(),
		cline.Family(),
		codex.Family(),
		crush.Family(),
		gemini.Family(),
		generic.Family(),
		goose.Family(),
		langchain.Family(),
		openclaw.Family(),
		opencode.Family(),
		openhands.Family(),
		pi.Family(),
		program.Family(),
		qwen.Family(),
		roo.Family(),
		strands.Family(),
		sweagent.Family(),
		threelayer.Family(),
		vercel.Family(),
	}
	for i := range list {
		list[i].Presets, _ = fs.Sub(presets, list[i].Name) // a name of a folder is a valid path
	}
	return list
}
