package cmd

import (
	_ "embed" // the notices
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/replay/check"
)

// version is set where the source has no history that Go could take the version from, as in action.yml:
// -ldflags "-X github.com/ctxkit/ctxkit/cmd.version=v1.2.3".
var version string

// notices are the license of the program and those of what is linked into it: see scripts/release/notices.
//
//go:embed notices.txt
var notices string

func newVersion(sys *system) *cobra.Command {
	licenses := false
	cmd := command(&cobra.Command{Use: "version", Short: "Print the version, or the licenses of what is in the program", Args: noArguments}, func() error {
		text := versionLine()
		if licenses {
			text = notices
		}
		_, err := fmt.Fprint(sys.out, text)
		return err
	})
	cmd.Flags().BoolVar(&licenses, "licenses", false, "print the licenses of the program, and of all modules and data in it")
	return cmd
}

// versionLine is what version and --version print.
func versionLine() string {
	return fmt.Sprintf("ctxkit %s %s %s/%s\n", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// exactBuild is the version, with a digest of the program where versions do not tell builds apart: of source that was
// changed, or whose revision the build does not know. A version that was set does.
func exactBuild() string {
	id := buildVersion()
	if id == version || id != develBuild && !strings.HasSuffix(id, "+dirty") {
		return id
	}
	if path, err := os.Executable(); err == nil {
		if program, err := os.ReadFile(path); err == nil {
			id += "-" + check.ContentHash(program)
		}
	}
	return id
}

const develBuild = "devel"

// buildVersion is what was set, else what the build recorded, as for releases, else "devel".
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return develBuild
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return develBuild + "-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return develBuild
}
