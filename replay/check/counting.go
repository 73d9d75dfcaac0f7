package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Counting is all that changes figures besides sessions, policies and the
// version of ctxkit.
type Counting struct {
	Tokens   string `yaml:"tokens" form:"line"` // this and the next four: as the options of a replay of those names
	Agent    string `yaml:"agent" form:"line"`
	Model    string `yaml:"model" form:"line"`
	Window   string `yaml:"window" form:"line"`
	Overhead string `yaml:"overhead" form:"line"`
	Prices   string `yaml:"-"`      // ContentHash of the file of models and prices; "": the built-in ones
	Regret   bool   `yaml:"regret"` // misses are computed
}

// ContentHash tells one content from another.
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
		{pricesKey, c.Prices}, {regretKey, regret},
	}
}

const (
	pricesKey = "prices"
	regretKey = "regret"
)

// String names what is set, so that two ways of counting can be told apart.
func (c Counting) String() string {
	var parts []string
	for _, kv := range c.settings() {
		if kv[1] != "" {
			parts = append(parts, kv[0]+" "+kv[1])
		}
	}
	return strings.Join(parts, ", ")
}

// change says in words what has changed since what a baseline says of its own
// counting, a String.
func (c Counting) change(before string) string {
	old := map[string]string{}
	for part := range strings.SplitSeq(before, ", ") {
		key, value, _ := strings.Cut(part, " ")
		old[key] = value
	}
	var list []string
	for _, kv := range c.settings() {
		if old[kv[0]] != kv[1] {
			list = append(list, settingChange(kv[0], old[kv[0]], kv[1]))
		}
	}
	if len(list) == 0 { // a String of another version
		return fmt.Sprintf("%q before, %q now", before, c)
	}
	return strings.Join(list, "; ")
}

func settingChange(key, before, after string) string {
	switch {
	case key == pricesKey && before == "":
		return "prices are those of a file, and were the built-in ones"
	case key == pricesKey && after == "":
		return "prices are the built-in ones, and were those of a file"
	case key == pricesKey:
		return "the file of prices holds something else"
	case key == regretKey && after == "":
		return "misses are not looked for any more (regret)"
	case key == regretKey:
		return "misses are looked for now (regret)"
	case before == "":
		return key + " is " + after + ", and was not given"
	case after == "":
		return key + " is not given any more, and was " + before
	}
	return key + " is " + after + ", and was " + before
}
