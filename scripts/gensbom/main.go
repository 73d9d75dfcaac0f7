// Gensbom writes the software bill of materials of a Go program, as CycloneDX 1.6 in JSON:
//
//	go run ./scripts/gensbom PROGRAM FILE
//
// Everything in it is from the build information inside the program and from its bytes, so the same program has the
// same bill, whoever makes it.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"runtime/debug"
	"strings"
)

// license is that of the program itself.
const license = "MIT"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gensbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("name a program and the file to write")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	bill, err := newBill(info, sha256.Sum256(data))
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	text, err := json.MarshalIndent(bill, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], append(text, '\n'), 0o644)
}

type bill struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"` // of the commit
	Component component `json:"component"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licenses   []licenses `json:"licenses,omitempty"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"` // hexadecimal
}

type licenses struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// newBill lists the modules of a program and the standard library. Which module needs which is not in the build
// information: the program depends on all of them.
func newBill(info *debug.BuildInfo, sum [sha256.Size]byte) (*bill, error) {
	program, err := newComponent("application", &info.Main)
	if err != nil {
		return nil, err
	}
	program.Name = path.Base(info.Path)
	program.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	program.Licenses = make([]licenses, 1)
	program.Licenses[0].License.ID = license
	b := &bill{Format: "CycloneDX", SpecVersion: "1.6", Version: 1}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.time":
			b.Metadata.Timestamp = s.Value
		case "GOOS", "GOARCH", "CGO_ENABLED":
			program.Properties = append(program.Properties, property{"cdx:gomod:build:env:" + s.Key, s.Value})
		}
	}
	b.Metadata.Component = program
	modules := []*debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	needs := dependency{Ref: program.Ref}
	for _, m := range append(modules, info.Deps...) {
		if m.Replace != nil {
			m = m.Replace
		}
		c, err := newComponent("library", m)
		if err != nil {
			return nil, err
		}
		b.Components = append(b.Components, c)
		needs.DependsOn = append(needs.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{needs}
	for _, c := range b.Components {
		b.Dependencies = append(b.Dependencies, dependency{Ref: c.Ref})
	}
	return b, nil
}

// newComponent describes a module. Its hash is the one of go.sum, which is of the list of its files.
func newComponent(kind string, m *debug.Module) (component, error) {
	purl := "pkg:golang/" + m.Path + "@" + url.QueryEscape(m.Version)
	c := component{Ref: purl, Type: kind, Name: m.Path, Version: m.Version, PURL: purl}
	if sum, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
		raw, err := base64.StdEncoding.DecodeString(sum)
		if err != nil {
			return c, fmt.Errorf("checksum of %s: %w", m.Path, err)
		}
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
	}
	return c, nil
}
