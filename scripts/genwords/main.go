// Genwords writes jsonl/anonymize/words.txt: English words, and any three letters, that are one token of o200k_base,
// alone or after a space. Anonymizing replaces words by them. The words come from a dictionary, a JSON array of words
// in lower case (such as that of the npm package an-array-of-english-words), without the words of a second list, one
// a line (such as that of @coffeeandfun/google-profanity-words), and their inflections:
//
//	go run ./scripts/genwords -dictionary index.json -leave en.txt jsonl/anonymize/words.txt
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ctxkit/ctxkit/replay/tokens/bpe"
)

func main() {
	dictionary := flag.String("dictionary", "", "a JSON array of words")
	leave := flag.String("leave", "", "words to leave out, one a line")
	flag.Parse()
	if err := write(flag.Arg(0), *dictionary, *leave); err != nil {
		fmt.Fprintln(os.Stderr, "genwords:", err)
		os.Exit(1)
	}
}

func write(path, dictionary, leave string) error {
	data, err := os.ReadFile(dictionary)
	if err != nil {
		return err
	}
	var words []string
	if err := json.Unmarshal(data, &words); err != nil {
		return fmt.Errorf("%s: %w", dictionary, err)
	}
	if data, err = os.ReadFile(leave); err != nil {
		return err
	}
	encoding, err := bpe.Load(bpe.O200K)
	if err != nil {
		return err
	}
	list := pick(append(words, threes()...), leaveOut(strings.Fields(strings.ToLower(string(data)))), encoding.NewCounter().Count)
	return os.WriteFile(path, []byte(lines(list)), 0o644)
}

// shortest is the length of the shortest word that is replaced.
const shortest = 3

// pick returns the words that are one token, by length and alphabet.
func pick(words []string, out func(string) bool, count func(string) int) []string {
	var list []string
	for _, w := range words {
		small := strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") == ""
		if small && len(w) >= shortest && !out(w) && (count(w) == 1 || count(" "+w) == 1) {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(list)
}

// threes returns all texts of three letters: a dictionary has too few.
func threes() []string {
	var list []string
	const letters = "abcdefghijklmnopqrstuvwxyz"
	for _, a := range letters {
		for _, b := range letters {
			for _, c := range letters {
				list = append(list, string([]rune{a, b, c}))
			}
		}
	}
	return list
}

// sensitive lists beginnings of words that do not belong in a fixture.
var sensitive = strings.Fields(`
abortion anal anus ass boob breast cancer christ cock corpse cum cunt dead death die drug dying erot fag fuck gay gender genital genocid gun homo horny
incest islam jew kill lesb molest murder muslim naked nazi negro nigg nipple nude orgas orgy pedo penis piss poop porn prostitut queer racis rape rapi rapist
sex shit slave slut suicid terror testic tits trans vagin viol virgin whor
`)

// leaveOut reports whether a word is one of a list, or an inflection of one.
func leaveOut(list []string) func(string) bool {
	bad := map[string]bool{}
	for _, w := range list {
		bad[w] = true
	}
	return func(w string) bool {
		for _, s := range sensitive {
			if strings.HasPrefix(w, s) {
				return true
			}
		}
		for _, end := range []string{"", "s", "es", "ed", "er", "ers", "ing", "y", "d"} {
			if stem, ok := strings.CutSuffix(w, end); ok && bad[stem] {
				return true
			}
		}
		return false
	}
}

// lines joins words to lines of up to 120 bytes, each of words of one length.
func lines(words []string) string {
	var b strings.Builder
	n := 0
	for i, w := range words {
		switch {
		case i == 0:
		case n+1+len(w) > 120 || len(w) > len(words[i-1]):
			b.WriteByte('\n')
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(w)
		n += len(w)
	}
	b.WriteByte('\n')
	return b.String()
}
