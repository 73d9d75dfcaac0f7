// Package price holds what is publicly known of models: context windows,
// output limits and prices, each row with its source and date.
package price

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

//go:embed models.json
var embedded []byte

// Model is one row of the table. Prices are USD per million tokens, Context
// and MaxOutput tokens.
type Model struct {
	ID           string  `json:"id"`
	Input        float64 `json:"input"`
	CacheWrite5m float64 `json:"cache_write_5m"`
	CacheWrite1h float64 `json:"cache_write_1h"`
	CacheRead    float64 `json:"cache_read"`
	Output       float64 `json:"output"`
	Context      int     `json:"context"`
	MaxOutput    int     `json:"max_output"`
	MinCacheable int     `json:"min_cacheable"`
	Tokenizer    string  `json:"tokenizer"` // "old" or "new"
	Source       string  `json:"source"`
	Confidence   string  `json:"confidence"`
}

// Table finds models by id.
type Table struct {
	AsOf   string  `json:"as_of"`
	Unit   string  `json:"unit"`
	Models []Model `json:"models"`
}

// Default is the embedded table.
func Default() (*Table, error) { return Read(embedded) }

// Read decodes a table in the form of the embedded one.
func Read(data []byte) (*Table, error) {
	var t Table
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, fmt.Errorf("reading the price table: %w", err)
	}
	// Longest ids first, so that the first prefix that fits is the longest.
	sort.SliceStable(t.Models, func(i, j int) bool { return len(t.Models[i].ID) > len(t.Models[j].ID) })
	return &t, nil
}

// Find looks a model up by its longest known prefix, provider prefixes and
// marks removed; ok is false for an unknown model.
func (t *Table) Find(id string) (m Model, ok bool) {
	id = Normalize(id)
	for _, m := range t.Models {
		if id == m.ID || strings.HasPrefix(id, m.ID) && strings.ContainsAny(id[len(m.ID):len(m.ID)+1], "-@:") {
			return m, true
		}
	}
	return Model{}, false
}

// Normalize removes provider prefixes and "[1m]" from a model id.
func Normalize(id string) string {
	id = strings.ToLower(strings.TrimSpace(id))
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		id = id[i+1:]
	}
	if i := strings.Index(id, "claude"); i > 0 {
		id = id[i:]
	}
	if i := strings.IndexByte(id, '['); i >= 0 {
		id = id[:i]
	}
	return id
}
