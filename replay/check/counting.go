package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Counting is all that changes figures apart from sessions, policies and the version of ctxkit.
type Counting struct {
	Tokens   string `yaml:"tokens" form:"line"` // this and the next four: as the options of a replay of those names
	Agent    string `yaml:"agent" form:"line"`
	Model    string `yaml:"model" form:"line"`
	Window   string `yaml:"window" form:"line"`
	Overhead string `yaml:"overhead" form:"line"`
	Cache    string `yaml:"cache" enum:"equal,own,none"` // whose prompt cache: replay.CacheMode
	Prices   string `yaml:"-"`                           // ContentHash of the file of models and prices; "": the built-in ones
	Regret   bool   `yaml:"regret"`                      // content needed later is computed
}

// ContentHash identifies the content of a file.
func ContentHash(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:8])
}

// settings are the keys and values of String, in order.
func (c Counting) settings() [][2]string {
	regret := ""
	if c.Regret {
		regret = "on"
	}
	return [][2]string{
		{"tokens", c.Tokens}, {"agent", c.Agent}, {"model", c.Model}, {"window", c.Window}, {"overhead", c.Overhead},
		{"cache", c.Cache}, {pricesKey, c.Prices}, {"regret", regret},
	}
}

const pricesKey = "prices"

// String lists what is set; two Countings are equal if their Strings are.
func (c Counting) String() string {
	var parts []string
	for _, kv := range c.settings() {
		if kv[1] != "" {
			parts = append(parts, kv[0]+" "+kv[1])
		}
	}
	return strings.Join(parts, ", ")
}

// change lists the settings that differ from those of a baseline, whose String is before.
func (c Counting) change(before string) string {
	old := map[string]string{}
	for part := range strings.SplitSeq(before, ", ") {
		key, value, _ := strings.Cut(part, " ")
		old[key] = value
	}
	var list []string
	for _, kv := range c.settings() {
		if old[kv[0]] != kv[1] {
			list = append(list, fmt.Sprintf("%s: %s -> %s", kv[0], settingText(kv[0], old[kv[0]]), settingText(kv[0], kv[1])))
		}
	}
	if len(list) == 0 { // a String of another version
		return fmt.Sprintf("%q -> %q", before, c)
	}
	return strings.Join(list, "; ")
}

func settingText(key, value string) string {
	switch {
	case key == pricesKey && value == "":
		return "built-in"
	case key == pricesKey:
		return "file with content hash " + value
	case value == "":
		return "not set"
	}
	return value
}
