// Genranks writes the vocabularies of replay/tokens/bpe from the ranks of github.com/pkoukk/tiktoken-go-loader: the
// number of tokens (32 bits, little endian), the length of each in bytes, then their bytes; all by rank.
//
// Run it with go generate ./replay/tokens/bpe.
package main

import (
	"encoding/binary"
	"fmt"
	"path/filepath"

	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/ctxkit/ctxkit/scripts/generator"
)

// encodings are the vocabularies to write.
var encodings = []string{"o200k_base", "cl100k_base"}

func main() { generator.Generator(generate).Main() }

// generate returns the packed vocabularies by path.
func generate(dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range encodings {
		ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
		if err != nil {
			return nil, err
		}
		if files[filepath.Join(dir, name+".ranks")], err = pack(ranks); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return files, nil
}

// pack writes a vocabulary in the form the package reads.
func pack(ranks map[string]int) ([]byte, error) {
	byRank := make([]string, len(ranks))
	for token, r := range ranks {
		if r < 0 || r >= len(ranks) || byRank[r] != "" {
			return nil, fmt.Errorf("rank %d is out of order: ranks must be 0 to %d, each once", r, len(ranks)-1)
		}
		if len(token) == 0 || len(token) > 255 {
			return nil, fmt.Errorf("the token of rank %d has %d bytes: 1 to 255 can be written", r, len(token))
		}
		byRank[r] = token
	}
	for b := range 256 {
		if _, ok := ranks[string([]byte{byte(b)})]; !ok {
			return nil, fmt.Errorf("byte %#02x is no token: merging starts from all 256", b)
		}
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(len(byRank)))
	for _, token := range byRank {
		data = append(data, byte(len(token)))
	}
	for _, token := range byRank {
		data = append(data, token...)
	}
	return data, nil
}
