package cmd

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/policy/strict"
)

//go:embed policy_new.yaml
var startingPolicy string

// policyNewOptions are the options of `ctxkit policy new`.
type policyNewOptions struct {
	outputOptions
	Name string
}

func newPolicyNew(sys *system) *cobra.Command {
	o := &policyNewOptions{}
	return command(&cobra.Command{
		Use: "new [NAME]", Short: "Print a commented policy file to start from",
		Long: `Print a policy file to start from: valid as it is, with the generic stages,
a condition and named numbers as comments. NAME is the policy's name.`,
		Example: `  ctxkit policy new mine -o policies/mine.yaml
  ctxkit policy lint policies/mine.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return nil
			case 1:
				o.Name = args[0]
				return nil
			}
			return fmt.Errorf("%s takes one name: leave out %q", cmd.CommandPath(), args[1])
		},
	}, func() error {
		text, err := newPolicyText(o.Name)
		if err != nil {
			return err
		}
		return o.printText(sys, []byte(text))
	}, own(&o.outputOptions, "output"))
}

// newPolicyText is the starting file of a policy.
func newPolicyText(name string) (string, error) {
	if name == "" {
		return startingPolicy, nil
	}
	base := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	if strings.ContainsAny(name, "/\\\n\r") || strings.TrimSpace(base) == "" {
		return "", fmt.Errorf("%s is no name for a policy: give a name, and the file with -o", strict.Quote(name))
	}
	return strings.Replace(startingPolicy, "name: mine\n", "name: "+strict.Flow(strict.Text(base))+"\n", 1), nil
}
