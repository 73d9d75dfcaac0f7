package cmd

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ctxkit/ctxkit/replay/price"
)

// priceOptions choose the table of models and prices.
type priceOptions struct {
	Prices string   `flag:"prices" usage:"take models and prices from <FILE> (as ctxkit prices --format json prints them); models it does not list keep theirs"`
	Models []string `flag:"models" usage:"state windows, limits, caches and prices of models as ctxkit.yaml does: <SETTINGS> such as 'acme-1: {window: 256k}' (repeatable)"`

	sys    *system
	config string // the configuration of which the models are; "": that of the folder, else of the user
}

// newPriceOptions are those of a command. Once they are checked, its table is that of the system.
func newPriceOptions(sys *system) *priceOptions { return &priceOptions{sys: sys} }

func (o *priceOptions) flags(cmd *cobra.Command) { declare(cmd, o) }

// words are the flags as they were given.
func (o *priceOptions) words() (words []string) {
	if o.Prices != "" {
		words = append(words, "--prices", o.Prices)
	}
	for _, m := range o.Models {
		words = append(words, "--models", m)
	}
	return words
}

// maxPrices is more than any table has, bytes.
const maxPrices = 16 << 20

// check makes the table: of the flags before the configuration, and of this before the embedded one.
func (o *priceOptions) check() error {
	stated, err := o.configured()
	if err != nil {
		return err
	}
	table, err := price.Default().With(stated)
	if err != nil {
		return err
	}
	var read []byte
	if stated != nil {
		if read, err = json.Marshal(stated); err != nil {
			return err
		}
	}
	if o.Prices != "" {
		data, err := o.sys.files.readLimited(rolePrices, o.Prices, maxPrices)
		if err != nil {
			return fmt.Errorf("%s: %w: check the path after --prices", o.Prices, bare(err))
		}
		own, err := price.ReadFile(o.Prices, data)
		if err != nil {
			return startHint(err, "ctxkit prices --format json")
		}
		table = own.Over(table)
		read = append(read, data...)
	}
	for _, text := range o.Models {
		own, err := price.ReadOwn("--models", []byte(text))
		if err == nil {
			table, err = table.With(own)
		}
		if err != nil {
			return err
		}
		read = append(read, text...)
	}
	o.sys.table = table
	o.sys.tableText = read
	return nil
}

// configured are the models of the configuration of the folder, else of the user's.
func (o *priceOptions) configured() (price.OwnModels, error) {
	files := configFiles()
	if o.config != "" {
		files = []string{o.config}
	}
	list, err := o.sys.readConfigs(files)
	for _, c := range list {
		if c.Models != nil {
			return c.Models, err
		}
	}
	return nil, err
}

// models is the table of models and prices of the command.
func (s *system) models() *price.Table {
	if s.table == nil {
		return price.Default()
	}
	return s.table
}
