package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/report"
)

// completing reports whether a shell asks for what completes a word. Cobra holds a function that completes a flag, and
// what that refers to, for as long as the process lives: only then are there any.
func completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// The annotations of flags that completions reads.
const (
	flagValues = "ctxkit_values"
	flagKeys   = "ctxkit_keys"
)

// complete has the shell offer the values of a flag.
func complete(cmd *cobra.Command, flag string, values []string) {
	annotate(cmd, flag, flagValues, values)
}

// completeKeys has the shell offer what stands before the = of a flag's values; after it files.
func completeKeys(cmd *cobra.Command, flag string, keys []string) {
	annotate(cmd, flag, flagKeys, keys)
}

func annotate(cmd *cobra.Command, flag, key string, values []string) {
	if err := cmd.Flags().SetAnnotation(flag, key, values); err != nil {
		panic(err) // the flag is not the command's
	}
}

// byWord is a completion that depends on the word alone.
func byWord(find func(word string) ([]cobra.Completion, cobra.ShellCompDirective)) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return find(word)
	}
}

// Directives to the shell: no files, and no space behind a key.
const (
	noFiles = cobra.ShellCompDirectiveNoFileComp
	noSpace = cobra.ShellCompDirectiveNoSpace | noFiles
)

// annotated offers the values that a flag is annotated with.
func annotated(cmd *cobra.Command, f *pflag.Flag) {
	if values, ok := f.Annotations[flagValues]; ok {
		_ = cmd.RegisterFlagCompletionFunc(f.Name, byWord(func(word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return beginning(word, values), noFiles
		}))
	}
	if keys, ok := f.Annotations[flagKeys]; ok {
		_ = cmd.RegisterFlagCompletionFunc(f.Name, byWord(func(word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if strings.Contains(word, "=") {
				return nil, cobra.ShellCompDirectiveDefault
			}
			var list []cobra.Completion
			for _, k := range keys {
				list = append(list, k+"=")
			}
			return beginning(word, list), noSpace
		}))
	}
}

// readAgain lets the flags of a command and its subcommands be read more than once, as cobra does to complete a word.
func readAgain(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if o, ok := f.Value.(*once); ok {
			o.again = true
		}
	})
	for _, c := range cmd.Commands() {
		readAgain(c)
	}
}

// beginning are the values that begin with word. Not every shell selects them itself.
func beginning(word string, values []cobra.Completion) (list []cobra.Completion) {
	for _, v := range values {
		if strings.HasPrefix(v, word) {
			list = append(list, v)
		}
	}
	return list
}

// completions offers what a shell can complete of arguments and flags, for a command and its subcommands, by the names
// of the flags and by what the command's use says of its arguments. The lists are made when a shell completes a word:
// they cost more than a start.
func completions(cmd *cobra.Command, sys *system) {
	policies := byWord(sys.policyNames)
	sides := byWord(func(word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		names, how := sys.policyNames(word)
		return append(beginning(word, []string{rawSide}), names...), how
	})
	keys := func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return beginning(word, parameterKeys(sys.stages, namedPolicies(cmd, sys))), noSpace
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { annotated(cmd, f) })
	for flag, f := range map[string]cobra.CompletionFunc{"policy": policies, "against": sides, "set": keys, "vary": keys} {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, f) // fails where the command has its own
		}
	}
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	switch words := strings.FieldsFunc(arguments, func(r rune) bool { return r < 'A' || r > 'Z' }); {
	case cmd.ValidArgsFunction != nil || len(words) == 0:
	case words[0] == "INPUT":
		cmd.ValidArgsFunction = byWord(func(word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return inputNames(sys, word), cobra.ShellCompDirectiveDefault
		})
	case words[0] == "DIR":
		cmd.ValidArgsFunction = byWord(func(word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return projectNames(sys, word), cobra.ShellCompDirectiveFilterDirs
		})
	case words[0] == "NAME" || words[0] == "A": // of a policy
		cmd.ValidArgsFunction = policies
	}
	for _, c := range cmd.Commands() {
		completions(c, sys)
	}
}

// policyNames lists built-in policies; behind a policy and a comma the parameters that it has.
func (s *system) policyNames(word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	at := strings.LastIndex(word, ",")
	if at < 0 {
		names := s.presets.Known()
		for i, name := range names {
			if a, ok := s.presets.Aliases()[name]; ok {
				names[i] = cobra.CompletionWithDesc(name, sameAs(a))
			}
		}
		return beginning(word, names), cobra.ShellCompDirectiveDefault // files, too
	}
	var list []cobra.Completion
	for _, key := range parameterKeys(s.stages, readable(s, word[:at])) {
		list = append(list, word[:at+1]+key)
	}
	return beginning(word, list), noSpace
}

// readable are the policies of these names that can be read.
func readable(sys *system, names ...string) (list []*policy.Policy) {
	for _, name := range names {
		if p, err := sys.presets.Load((policyOptions{Policy: name}).unfolded().Policy); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// mostRecent is how many sessions are offered as last, last~1 …
const mostRecent = 5

// inputNames lists what names sessions and begins with word: last, projects and ids.
func inputNames(sys *system, word string) []cobra.Completion {
	if _, recent, err := ago(word); word != "" && (len(beginning(word, []string{"last"})) > 0 || recent || err != nil) {
		return append(recentNames(sys, word), sessionIDs(sys, word)...)
	}
	return append(projectNames(sys, word), sessionIDs(sys, word)...)
}

// recentNames lists last, last~1 …, each with the session that it is.
func recentNames(sys *system, word string) (list []cobra.Completion) {
	dirs, err := defaultFolders(sys)
	if err != nil {
		return nil
	}
	for n, i := range known(sys, dirs) {
		name := "last"
		if n > 0 {
			name = fmt.Sprintf("last~%d", n)
		}
		if n == mostRecent {
			break
		}
		if strings.HasPrefix(name, word) {
			list = append(list, cobra.CompletionWithDesc(name, report.Headline(&i)))
		}
	}
	return list
}

// projectNames lists the folders of projects that begin with word. It is empty where word is: there are many.
func projectNames(sys *system, word string) (list []cobra.Completion) {
	dirs, err := defaultFolders(sys)
	if err != nil || word == "" {
		return nil
	}
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir) // it need not be there
		for _, e := range entries {
			if e.IsDir() && strings.HasPrefix(e.Name(), word) && printable(e.Name()) {
				list = append(list, e.Name())
			}
		}
	}
	return list
}

// sessionIDs lists the ids in the default folders that begin with word, each with its project's folder. It is empty
// where word is, or where a file here begins so: then the shell offers files.
func sessionIDs(sys *system, word string) []cobra.Completion {
	if word == "" || !session.IsID(word) {
		return nil
	}
	entries, _ := os.ReadDir(".") // without one there are no files to offer
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), word) {
			return nil
		}
	}
	dirs, err := defaultFolders(sys)
	if err != nil {
		return nil
	}
	var list []cobra.Completion
	for _, dir := range dirs {
		paths, _, _ := session.Find(dir, word) // a folder need not be there
		for _, path := range paths {
			id, _ := session.SessionID(filepath.Base(path))
			list = append(list, cobra.CompletionWithDesc(id, report.Clean(filepath.Base(filepath.Dir(path)))))
		}
	}
	if len(list) > 0 {
		return sorted(list)
	}
	for _, i := range known(sys, dirs) { // other agents name files otherwise
		if strings.HasPrefix(i.ID, word) {
			list = append(list, cobra.CompletionWithDesc(i.ID, report.Headline(&i)))
		}
	}
	return sorted(list)
}

// namedPolicies are the policies on the command line that can be read.
func namedPolicies(cmd *cobra.Command, sys *system) []*policy.Policy {
	f := cmd.Flags().Lookup("policy")
	if f == nil || !f.Changed {
		return nil
	}
	names := []string{f.Value.String()}
	if several, ok := f.Value.(pflag.SliceValue); ok {
		names = several.GetSlice()
	}
	return readable(sys, names...)
}

// parameterKeys lists KEY=, each with its description, for every parameter that one of the policies has; without a
// policy, that a policy may have.
func parameterKeys(reg policy.Registry, policies []*policy.Policy) []cobra.Completion {
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
		if len(policies) == 0 || slices.ContainsFunc(policies, func(p *policy.Policy) bool { return p.Has(d.Name) }) {
			add(d.Name, d.Parameters())
		}
	}
	return keys
}
