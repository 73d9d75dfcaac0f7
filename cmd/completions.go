package cmd

import (
	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy"
)

// completions offers the names of policies and of their parameters for the flags
// of a command and its subcommands that take them. The lists are made when a
// shell completes a word: they cost more than a start.
func completions(cmd *cobra.Command, sys *system) {
	policies := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return policyNames(sys.stages), cobra.ShellCompDirectiveDefault // files, too
	}
	keys := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return parameterKeys(sys.stages), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	for flag, f := range map[string]cobra.CompletionFunc{"policy": policies, "against": policies, "set": keys, "vary": keys} {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, f) // fails where the command has its own
		}
	}
	for _, c := range cmd.Commands() {
		completions(c, sys)
	}
}

// parameterKeys lists KEY=, each with its description, for every parameter a
// policy may have.
func parameterKeys(reg policy.Registry) []cobra.Completion {
	var keys []cobra.Completion
	add := func(owner string, params []policy.Param) {
		for _, p := range params {
			keys = append(keys, cobra.CompletionWithDesc(owner+"."+p.Name+"=", p.Doc))
		}
	}
	add("window", policy.WindowParameters())
	for _, f := range reg.Families() {
		add("window", f.Shared().Parameters())
	}
	add("cache", policy.CachingParameters())
	for _, d := range reg.Definitions() {
		add(d.Name, d.Parameters())
	}
	return keys
}
