// Genranks packs the vocabularies of replay/tokens/bpe from the ranks of github.com/pkoukk/tiktoken-go-loader.
//
// Run it with go generate ./replay/tokens/bpe.
package main

import (
	"path/filepath"

	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/ctxkit/ctxkit/replay/tokens/bpe"
	"github.com/ctxkit/ctxkit/scripts/generator"
)

func main() { generator.Generator(generate).Main() }

// generate returns the packed vocabularies by path.
func generate(dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range bpe.Names() {
		ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
		if err != nil {
			return nil, err
		}
		if files[filepath.Join(dir, name+".ranks")], err = bpe.Pack(ranks); err != nil {
			return nil, err
		}
	}
	return files, nil
}
