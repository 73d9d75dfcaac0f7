// Genman writes a manual page for ctxkit and for each of its commands into a folder, which must exist:
//
//	go run ./scripts/genman DIR
//
// Pages are made for a release and not kept in the repository. The same commands give the same bytes.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctxkit/ctxkit/cmd"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "genman:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("name one folder for the pages")
	}
	return write(args[0], cmd.Commands())
}

// write writes the pages of a command and of those below it.
func write(dir string, c *cobra.Command) error {
	name := pageName(c)
	if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(page(c)), 0o644); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			if err := write(dir, sub); err != nil {
				return err
			}
		}
	}
	return nil
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page is the manual page of a command, as roff with the macros of man(7).
func page(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s \"User Commands\"\n", text(strings.ToUpper(pageName(c))), text(c.Root().Name()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", text(pageName(c)), text(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", text(c.UseLine()))
	block(&b, "DESCRIPTION", c.Long)
	if c.HasAvailableLocalFlags() {
		b.WriteString(".SH OPTIONS\n")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			value, usage := pflag.UnquoteUsage(f)
			short := ""
			if f.Shorthand != "" {
				short = "-" + f.Shorthand + ", "
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", text(strings.TrimSpace(short+"--"+f.Name+" "+value)), text(usage))
		})
	}
	block(&b, "EXAMPLES", c.Example)
	var also []string
	if c.HasParent() {
		also = append(also, pageName(c.Parent())+"(1)")
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			also = append(also, pageName(sub)+"(1)")
		}
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", text(strings.Join(also, ", ")))
	}
	return b.String()
}

// block is a section whose lines stay as they are.
func block(b *strings.Builder, title, lines string) {
	if lines == "" {
		return
	}
	fmt.Fprintf(b, ".SH %s\n.nf\n", title)
	for line := range strings.SplitSeq(lines, "\n") {
		fmt.Fprintln(b, text(line))
	}
	b.WriteString(".fi\n")
}

// text is text for roff: nothing in it is a request or an escape.
func text(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	s = b.String()
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
