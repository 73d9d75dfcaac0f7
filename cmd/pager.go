package cmd

import (
	"bytes"
	"cmp"
	"os/exec"
	"strings"
)

// pager is an output that the user's $PAGER, or less, shows once it is complete. Without such a program it is printed.
func (s *system) pager() *output {
	var text bytes.Buffer
	return &output{Writer: &text, end: func() error {
		words := strings.Fields(cmp.Or(strings.TrimSpace(s.env("PAGER")), "less"))
		run := exec.Command(words[0], words[1:]...)
		run.Stdin = bytes.NewReader(text.Bytes())
		run.Stdout = s.out.w
		run.Stderr = s.err
		run.Env = append(run.Environ(), "LESS="+cmp.Or(s.env("LESS"), "FRX"))
		s.finishes.Store(true) // Ctrl-C is for the pager
		if text.Len() > 0 && run.Start() == nil {
			_ = run.Wait() // the user left it
			return nil
		}
		_, err := text.WriteTo(s.out)
		return err
	}}
}
