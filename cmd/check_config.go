package cmd

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/ctxkit/ctxkit/jsonl"
	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/preset"
	"github.com/ctxkit/ctxkit/policy/strict"
	"github.com/ctxkit/ctxkit/replay/check"
	"github.com/ctxkit/ctxkit/replay/tokens"
)

// newChecking reads the configuration and finds what it names.
func newChecking(sys *system, o *checkOptions) (*checking, error) {
	if st, err := os.Stat(o.File); err == nil && st.IsDir() {
		return nil, fmt.Errorf("%s: is a folder: name the file, such as %s", o.File, filepath.Join(o.File, check.DefaultFile))
	}
	data, err := sys.files.readLimited(roleConfig, o.File, maxCheckFile)
	if errors.Is(err, fs.ErrNotExist) && o.File == check.DefaultFile {
		return nil, fmt.Errorf("%s: no such file: `ctxkit check --init SESSIONS --policy NAME` writes one; or name another", check.DefaultFile)
	}
	if err != nil {
		return nil, pathError(o.File, err)
	}
	c := &checking{sys: sys, o: o, dir: filepath.Dir(o.File), checked: map[string]*checked{}}
	if c.config, err = check.Decode(filepath.Clean(o.File), data); err != nil {
		return nil, err
	}
	if err := c.settings(); err != nil {
		return nil, err
	}
	var errs policy.Errors
	for i := range c.config.Cases {
		errs = append(errs, c.policy(i)...)
		errs = append(errs, c.sessions(i)...)
	}
	if c.config.Baseline != "" {
		if taken := sys.files.taken(c.path(c.config.Baseline)); taken != "" {
			errs.Report(c.config.Places["baseline"], "baseline: "+c.path(c.config.Baseline)+" "+taken, "name another file")
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(c.in.list, func(a, b string) int { return strings.Compare(c.checked[a].name, c.checked[b].name) })
	return c, nil
}

// settings are those of all cases, checked as the flags of their names.
func (c *checking) settings() error {
	count := c.config.Counting
	r := &c.replays
	r.Counter = count.Tokens
	r.Agent = count.Agent
	r.Model = count.Model
	r.Jobs = c.o.Jobs
	r.Quiet = true
	r.Regret = count.Regret
	r.Cache = count.Cache
	var errs policy.Errors
	wrong := func(key, msg, hint string) {
		errs.Report(c.config.Places[key], key+": "+msg, hint)
	}
	for _, t := range []struct {
		key, text string
		to        pflag.Value
	}{{"window", count.Window, &r.Window}, {"overhead", count.Overhead, &r.Overhead}} {
		if t.text == "" {
			continue
		}
		if err := t.to.Set(t.text); err != nil {
			wrong(t.key, strconv.Quote(t.text)+" is not a number of tokens", err.Error())
		}
	}
	if !slices.Contains(tokens.Names(), count.Tokens) {
		wrong("tokens", "unknown counter "+strconv.Quote(count.Tokens), strict.Suggest(count.Tokens, tokens.Names()))
	}
	prices := c.o.prices
	prices.config = c.o.File
	key := "" // of what the options are
	if prices.Prices == "" && c.config.Prices != "" {
		key = "prices"
		prices.Prices = c.path(c.config.Prices)
	}
	if err := prices.check(); err != nil {
		errs.Add(c.config.Places[key], key, err)
	}
	if c.sys.tableText != nil {
		c.config.Counting.Prices = check.ContentHash(c.sys.tableText)
	}
	if err := errs.Err(); err != nil {
		return err
	}
	return r.inputOptions.check()
}

// path is the path of a file that the configuration names.
func (c *checking) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.dir, filepath.FromSlash(name))
}

// argument is a case's policy as --policy takes it here: a file is relative to the configuration.
func (c *checking) argument(i int) string {
	o := policyOptions{Policy: c.config.Cases[i].Policy.Text}.unfolded()
	if !policy.IsFile(o.Policy) {
		return c.config.Cases[i].Policy.Text
	}
	name := c.path(o.Policy)
	if !policy.IsFile(name) { // Join removed the slash that marks a file
		name = "." + string(filepath.Separator) + name
	}
	return strings.Join(append([]string{name}, o.Set...), ",")
}

// policy reads the policy of a case and tries its settings.
func (c *checking) policy(i int) (errs policy.Errors) {
	one := &c.config.Cases[i]
	base := replayOptions{policyOptions: policyOptions{Policy: c.argument(i)}}
	read, err := choosePolicy(c.sys, &base, func(...session.Warning) {})
	if err != nil {
		errs.Add(one.Policy.Position, "", err)
		return errs
	}
	choose := func(client preset.Client) (*policy.Policy, error) {
		p, err := read(client)
		if err != nil {
			return nil, err
		}
		p = p.Clone()
		which := ""
		if p.Chosen != "" {
			which = chosenText(base.unfolded().Policy, p.Name, p.Chosen)
		}
		var errs policy.Errors
		for _, s := range one.Set {
			if err := p.Set(s.Key, s.Value); err != nil {
				errs.Add(s.Position, which, err)
			}
		}
		return p, errs.Err()
	}
	c.chosen = append(c.chosen, choose)
	if base.bySession(c.sys) {
		return nil // which policy it is depends on the session
	}
	if _, err := choose(preset.Client{}); err != nil {
		errs.Add(one.Policy.Position, "", err)
	}
	return errs
}

// sessions finds the files of a case.
func (c *checking) sessions(i int) policy.Errors {
	var errs policy.Errors
	for _, p := range c.config.SessionsOf(i) {
		names := []string{p.Text}
		var err error
		if _, id, ok := session.InDatabase(c.path(p.Text)); !ok || id == "" {
			names, err = check.Files(c.dir, p.Text)
		}
		if err != nil {
			e := &policy.Error{Position: p.Position, Msg: "sessions: " + err.Error()}
			if !slices.ContainsFunc(errs, func(x *policy.Error) bool { return *x == *e }) {
				errs = append(errs, e)
			}
			continue
		}
		for _, name := range names {
			path := c.path(name)
			in := c.checked[path]
			if in == nil {
				in = &checked{name: name, hash: sync.OnceValues(func() (string, error) {
					if _, _, ok := session.InDatabase(path); ok {
						return storedHash(path)
					}
					return check.Input(path, c.replays.Agent != "main")
				})}
				c.checked[path] = in
				c.in.list = append(c.in.list, path)
				c.sys.files.readsSession(roleSession, path)
			}
			if !slices.Contains(in.cases, i) {
				in.cases = append(in.cases, i)
			}
		}
	}
	if i > 0 && c.config.Cases[i].Sessions == nil {
		return nil // reported with the first case
	}
	return errs
}

// storedHash is the content hash of a session of a database.
func storedHash(path string) (string, error) {
	src, err := session.Open(path, jsonl.InputLimits{})
	if err != nil {
		return "", err
	}
	defer src.Close()
	h := sha256.New()
	_, err = src.WriteTo(h)
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), err
}
