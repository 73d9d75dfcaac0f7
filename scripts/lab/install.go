package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cacheFolder is where clients are installed and recordings are kept, in the user's cache folder.
func cacheFolder() string {
	folder, err := os.UserCacheDir()
	if err != nil {
		folder = os.TempDir()
	}
	return filepath.Join(folder, "ctxkit", "lab")
}

func packageFolder(pkg, version string) string {
	return filepath.Join(cacheFolder(), "npm", strings.ReplaceAll(strings.TrimPrefix(pkg, "@"), "/", "+")+"@"+version)
}

func clientBin(c *client, version string) string {
	return filepath.Join(packageFolder(c.pkg, version), "node_modules", ".bin", c.bin)
}

// newestNode is the major version of Node that the newest releases of the clients need.
const newestNode = 22

// clientPath is the folder of a Node that is new enough, or "" where the one of PATH is.
func clientPath() string {
	out, err := exec.Command("node", "--version").Output()
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, _ := strconv.Atoi(major); err == nil && n > newestNode {
		return ""
	}
	return filepath.Join(packageFolder("node", strconv.Itoa(newestNode)), "node_modules", ".bin")
}

// errNoNpm is returned where npm is not there or reaches no registry.
var errNoNpm = errors.New("npm is out of reach")

// latest asks npm for the newest release of a package.
func latest(pkg string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "npm", "view", pkg, "version").Output()
	if err != nil {
		return "", fmt.Errorf("%w: npm view %s: %w", errNoNpm, pkg, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// install installs a package once into the cache folder.
func install(pkg, version string) error {
	folder := packageFolder(pkg, version)
	if _, err := os.Stat(filepath.Join(folder, "node_modules")); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	making, err := os.MkdirTemp(filepath.Dir(folder), "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(making)
	if err := os.WriteFile(filepath.Join(making, "package.json"), []byte(`{"private":true}`), 0o644); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", pkg+"@"+version)
	npm.Dir = making
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install %s@%s: %w: %s", pkg, version, err, tail(string(out)))
	}
	return os.Rename(making, folder)
}
