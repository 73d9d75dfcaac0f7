package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/replay/check"
	"github.com/ctxkit/ctxkit/report"
)

// configFiles are the configurations that every command reads: that of the working folder before that of the user.
func configFiles() []string {
	files := []string{check.DefaultFile}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(dir, "ctxkit", check.DefaultFile))
	}
	return files
}

// readConfigs reads the configurations that are there.
func (s *system) readConfigs(files []string) (list []*check.SharedConfig, err error) {
	for _, file := range files {
		data, err := s.files.readLimited(roleConfig, file, maxCheckFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return list, pathError(file, err)
		}
		c, err := check.DecodeShared(file, data)
		if err != nil {
			return list, err
		}
		list = append(list, c)
	}
	return list, nil
}

// defaults are the values of flags in configurations, of each flag the first. Files are relative to the configuration.
func defaults(list []*check.SharedConfig) (found check.Defaults) {
	for _, c := range list {
		for _, d := range c.Defaults {
			if slices.ContainsFunc(found, func(o check.ChangedSetting) bool { return o.Key == d.Key }) {
				continue
			}
			if file := d.Key == "prices" || d.Key == "policy" && policy.IsFile(d.Value); file && !filepath.IsAbs(d.Value) {
				d.Value = filepath.Join(filepath.Dir(c.File), filepath.FromSlash(d.Value))
			}
			found = append(found, d)
		}
	}
	return found
}

// applyDefaults gives flags that the command line leaves out their values in the configurations. A check follows its own
// file alone, and --policy has a default where that is the recorded session.
func applyDefaults(sys *system, cmd *cobra.Command) error {
	if cmd.Name() == "check" || !slices.ContainsFunc(check.DefaultNames(), func(name string) bool { return cmd.Flags().Lookup(name) != nil }) {
		return nil
	}
	list, err := sys.readConfigs(configFiles())
	if err != nil {
		return err
	}
	for _, d := range defaults(list) {
		f := cmd.Flags().Lookup(d.Key)
		if f == nil || f.Changed || d.Key == "policy" && f.DefValue != preset.Recorded {
			continue
		}
		err := f.Value.Set(d.Value)
		switch {
		case err != nil:
			err = fmt.Errorf("%s: %q: %w", d.Key, d.Value, err)
		case d.Key == "color":
			err = oneOf("--color", d.Value, colorModes)
		case d.Key == "policy":
			_, err = choosePolicy(sys, &replayOptions{policyOptions: policyOptions{Policy: d.Value}}, func(...session.Warning) {})
		case d.Key == "prices":
			if _, err = os.Stat(d.Value); err != nil {
				err = pathError(d.Value, err)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.Position, err)
		}
	}
	return nil
}

func newConfig(sys *system) *cobra.Command {
	return command(&cobra.Command{
		Use: "config", Short: "Show which defaults apply, and from where", Args: noArguments,
		Long: `Show the defaults that apply to flags that a command line leaves out, and where
each comes from: ctxkit.yaml in the working folder, else ctxkit/ctxkit.yaml in
the user's folder of configurations (Linux: ~/.config), else ctxkit itself. Then
the models that these files add to the table, and the files.

  defaults:
    policy: claude-code   # of commands whose default is recorded
    window: 200k
    prices: prices.json   # relative to the configuration
    color: never
    timezone: local       # UTC, or a name such as Europe/Berlin
    pager: true           # on a terminal

Flags come before the files. check uses its own file alone.`,
	}, func() error { return runConfig(sys) })
}

func runConfig(sys *system) error {
	files := configFiles()
	list, err := sys.readConfigs(files)
	if err != nil {
		return err
	}
	row := func(name, value, from string) {
		fmt.Fprintf(sys.out, "%-9s %-15s %s\n", name, report.Clean(value), report.Clean(from))
	}
	found := defaults(list)
	for i, value := range []string{preset.Recorded, "auto", "built in", "auto", "UTC", "false"} {
		d := check.ChangedSetting{Key: check.DefaultNames()[i], Value: value}
		from := "default of ctxkit"
		if at := slices.IndexFunc(found, func(o check.ChangedSetting) bool { return o.Key == d.Key }); at >= 0 {
			d = found[at]
			from = found[at].String()
		}
		row(d.Key, d.Value, from)
	}
	if at := slices.IndexFunc(list, func(c *check.SharedConfig) bool { return c.Models != nil }); at >= 0 {
		for _, m := range list[at].Models {
			row("model", m.ID, m.String())
		}
	}
	for _, file := range files {
		read := slices.ContainsFunc(list, func(c *check.SharedConfig) bool { return c.File == file })
		row("file", map[bool]string{true: "read", false: "not there"}[read], file)
	}
	return nil
}
