// Package preset finds built-in policies, by the name of a policy or of a product. A bare name is the name of a product
// without a version, such as claude-code. Most built-in policies of a product stand for a range of its releases. An
// examined release is one whose rules the authors have read.
package preset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/strict"
)

const (
	maxBytes  = 1 << 20 // more than any policy may have
	extension = ".yaml"
)

// Library is the set of built-in policies of a registry. A Library reads each of their files once, when the policy is
// first used, and is safe for concurrent use.
type Library struct {
	reg    policy.Registry
	files  map[string]fs.FS // of the built-in policies, by name
	names  []string         // theirs, sorted
	alias  map[string]policy.Alias
	own    []string // names and aliases, sorted
	scores func() ScoreFile

	// OnRead, if set before the Library is first used, is called with the name of each file that is not built in and
	// that Resolve reads.
	OnRead func(path string)

	mu      sync.Mutex
	heads   map[string]*head          // by policy; guarded by mu
	decoded map[string]*policy.Policy // by policy; never changed, guarded by mu
}

// New returns the library of the policies in a registry.
func New(reg policy.Registry) *Library {
	l := &Library{
		reg: reg, files: map[string]fs.FS{}, alias: map[string]policy.Alias{}, scores: sync.OnceValue(ReadScores), heads: map[string]*head{}, decoded: map[string]*policy.Policy{},
	}
	for _, f := range reg.Families() {
		for _, a := range f.Aliases {
			l.alias[a.Name] = a
			l.heads[a.Name] = &head{product: a.Product, version: a.Version, valid: a.Valid}
		}
		if f.Presets == nil {
			continue
		}
		paths, err := fs.Glob(f.Presets, "*"+extension)
		if err != nil { // the pattern is sound
			continue
		}
		for _, path := range paths {
			if name := strings.TrimSuffix(path, extension); l.files[name] == nil {
				l.files[name] = f.Presets
			}
		}
	}
	l.names = slices.Sorted(maps.Keys(l.files))
	l.own = slices.Sorted(slices.Values(slices.AppendSeq(l.Names(), maps.Keys(l.alias))))
	return l
}

// Names is like Library.Names of a new Library, for a program that asks once.
func Names(reg policy.Registry) []string { return New(reg).Names() }

// Load is like Library.Load of a new Library, for a program that loads one policy.
func Load(nameOrFile string, reg policy.Registry) (*policy.Policy, error) {
	return New(reg).Load(nameOrFile)
}

// Resolve returns the method Resolve of a new Library, as an argument for one call of policy.Decode.
func Resolve(reg policy.Registry) policy.Resolve { return New(reg).Resolve }

// Names returns the sorted names of the built-in policies, without aliases and bare names.
func (l *Library) Names() []string { return slices.Clone(l.names) }

// Aliases returns the aliases of built-in policies, by name.
func (l *Library) Aliases() map[string]policy.Alias { return maps.Clone(l.alias) }

// head is what the file of a built-in policy says before it is decoded.
type head struct {
	text             []byte
	product, version string // "": it is no product's release
	valid            policy.Valid
}

// head reads the file of a built-in policy.
func (l *Library) head(name string) (*head, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.heads[name]; h != nil {
		return h, nil
	}
	files := l.files[name]
	if files == nil {
		return nil, fs.ErrNotExist
	}
	text, err := fs.ReadFile(files, name+extension)
	if err != nil {
		return nil, err
	}
	l.heads[name] = readHead(text)
	return l.heads[name], nil
}

// readHead reads what a built-in policy says of its product, which comes before extends and stages, each key on a line of
// its own and unquoted: each start reads several, and a YAML decoder takes ten times as long. See checkHead.
func readHead(text []byte) *head {
	h := &head{text: text}
	if !bytes.HasPrefix(text, []byte("product:")) && !bytes.Contains(text, []byte("\nproduct:")) {
		return h
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		value, _, _ = strings.Cut(value, " #")
		value = strings.TrimSpace(value)
		switch key {
		case "product":
			h.product = value
		case "version":
			h.version = value
		case "valid": // {from: DATE, until: DATE, source: TEXT}
			value, _, _ = strings.Cut(value, "source:")
			for part := range strings.SplitSeq(strings.Trim(value, "{}"), ",") {
				switch key, day, _ := strings.Cut(strings.TrimSpace(part), ": "); key {
				case "from":
					h.valid.From = day
				case "until":
					h.valid.Until = day
				case "read":
					h.valid.Read = day
				}
			}
		case "extends", "stages":
			return h
		}
	}
	return h
}

// checkHead returns an error where the head of a built-in policy was read as something else than the decoder read.
func (l *Library) checkHead(p *policy.Policy, name string) error {
	h, err := l.head(name)
	if err != nil || h.product == "" && p.Product == "" {
		return err
	}
	if h.product != p.Product || h.version != p.Version || h.valid.From != p.Valid.From || h.valid.Until != p.Valid.Until || h.valid.Read != p.Valid.Read {
		return fmt.Errorf("built-in policy %s: its product, version or time of validity is not found: write each on a line of its own, unquoted, before extends and stages", name)
	}
	return nil
}

// Read returns the YAML of a built-in policy, and in canonical the policy's own name. The argument name is any name
// that Library.For accepts; a bare name stands for the newest policy of the product. The caller must not modify data.
func (l *Library) Read(name string) (data []byte, canonical string, err error) {
	c, err := l.For(name, Client{})
	if err != nil {
		return nil, "", err
	}
	h, err := l.head(c.Policy)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, c.Policy, fmt.Errorf("unknown policy %q: %s (a file's name has a / in it or ends in .yaml)", name, strict.Suggest(name, l.Known()))
	case err != nil:
		return nil, c.Policy, err
	}
	return h.text, c.Policy, nil
}

// Known returns the sorted names of all built-in policies, aliases and products.
func (l *Library) Known() []string {
	return slices.Sorted(slices.Values(slices.Concat(l.own, l.Products())))
}

// Load reads a policy from a file, or a built-in policy by any name that Library.For accepts. A bare name stands for
// the newest policy of the product. Load returns an error for an unknown name or an invalid file.
func (l *Library) Load(nameOrFile string) (*policy.Policy, error) {
	return l.LoadFor(nameOrFile, Client{})
}

// LoadFor is like Load, but a bare name, as the argument or under extends in a file, stands for the policy that
// Library.For chooses for client.
func (l *Library) LoadFor(nameOrFile string, client Client) (*policy.Policy, error) {
	if policy.IsFile(nameOrFile) {
		p, err := l.decode(nameOrFile, client)
		if err != nil || p.Moving() == "" {
			return p, err
		}
		base, err := l.For(p.Moving(), client) // again: it was found
		return p.As(base.Version, base.Policy+policy.Extended+base.Why, base.Newer, base.Older), err
	}
	chosen, err := l.For(nameOrFile, client)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	p := l.decoded[chosen.Policy]
	l.mu.Unlock()
	if p == nil {
		if p, err = l.decode(chosen.Policy, Client{}); err != nil {
			return nil, err
		}
		if err = l.checkHead(p, chosen.Policy); err != nil {
			return nil, err
		}
		p.Score = l.scores().Policies[p.Name]
		l.mu.Lock()
		l.decoded[chosen.Policy] = p
		l.mu.Unlock()
	}
	clears := policy.RecorderOf(p.Product, l.reg.Families()).Clears
	if slices.ContainsFunc(p.Stages, func(s policy.StageConfig) bool { return s.Definition.Name == clears && s.Lacks() != "" }) { // an older release pruned
		chosen.Why = strings.Replace(chosen.Why, pruning, "", 1)
	}
	p = p.Clone().As(chosen.Version, chosen.Why, chosen.Newer, chosen.Older)
	if strings.Contains(chosen.Why, pruning) {
		truth, score := p.Truth, p.Score // what its user set is as released, too
		if err := p.Set(clears+".auto", "true"); err != nil {
			return nil, err
		}
		p.Truth = truth
		p.Score = score
	}
	if chosen.Version != "" && p.Newer == chosen.Why && p.Newer != "" && !p.Recorded { // it was asked for: nothing is evidence for it
		p.Truth = policy.TruthOwn
		p.Score = nil
	}
	if l.alias[nameOrFile].Former {
		p.Former = append(p.Former, nameOrFile)
	}
	return p, nil
}

// decode reads a policy; the bare names that it extends mean the releases for the session of a client.
func (l *Library) decode(nameOrFile string, client Client) (*policy.Policy, error) {
	resolve := func(name string) ([]byte, string, error) {
		if !l.BySession(name) {
			return l.Resolve(name)
		}
		chosen, err := l.For(name, client)
		if err != nil {
			return nil, "", err
		}
		return l.Read(chosen.Policy)
	}
	data, shown, err := l.Resolve(nameOrFile)
	if err != nil {
		return nil, err
	}
	return policy.Decode(shown, data, l.reg, resolve)
}

// Resolve is a policy.Resolve that finds built-in policies and files.
func (l *Library) Resolve(nameOrFile string) (data []byte, shown string, err error) {
	if !policy.IsFile(nameOrFile) {
		return l.Read(nameOrFile)
	}
	if l.OnRead != nil {
		l.OnRead(nameOrFile)
	}
	return readFile(nameOrFile)
}

func readFile(nameOrFile string) (data []byte, shown string, err error) {
	f, err := jsonl.OpenFile(nameOrFile)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, "", fmt.Errorf("reading policy %s: %w: check the path, or name a built-in policy", nameOrFile, err)
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil {
		return nil, "", fmt.Errorf("reading policy %s: %w: check that it is a plain file", nameOrFile, err)
	}
	return data, filepath.Clean(nameOrFile), nil
}
