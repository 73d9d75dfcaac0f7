package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set where the source has no history that Go could take the version from, as in action.yml:
// -ldflags "-X github.com/ctxkit/ctxkit/cmd.version=v1.2.3".
var version string

func newVersion(sys *system) *cobra.Command {
	return command(&cobra.Command{Use: "version", Short: "Print the version", Args: noArguments}, func() error {
		_, err := fmt.Fprint(sys.out, versionLine())
		return err
	})
}

// versionLine is what version and --version print.
func versionLine() string {
	return fmt.Sprintf("ctxkit %s %s %s/%s\n", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// buildVersion is what was set, else what the build recorded, as for releases, else "devel".
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}
