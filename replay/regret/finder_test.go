package regret

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

// FuzzFinder: every occurrence of every needle is found, and nothing else.
func FuzzFinder(f *testing.F) {
	f.Add("abcdefghabcdefgh", "abcdefgh", "bcdefghab")
	f.Add("aaaaaaaaaaaa", "aaaaaaaa", "aaaaaaaaa")
	f.Fuzz(func(t *testing.T, text, a, b string) {
		needles := []string{a, b}
		if len(a) < prefix || len(b) < prefix {
			return
		}
		s := newFinder()
		got := make([][]int, 2)
		for i, n := range needles {
			s.add(n, i)
		}
		s.each([]byte(text), func(id, from int) bool {
			got[id] = append(got[id], from)
			return true
		})
		for i, n := range needles {
			var want []int
			for at := range len(text) {
				if strings.HasPrefix(text[at:], n) {
					want = append(want, at)
				}
			}
			must.Equal(t, got[i], want, n, text)
		}
	})
}

// TestFinderForgets: a needle that found refuses is not found again, and no other one is lost.
func TestFinderForgets(t *testing.T) {
	s := newFinder()
	for i, n := range []string{"aaaaaaaaaa", "aaaaaaaa", "aaaaaaaa", "aaaaaaaab"} {
		s.add(n, i)
	}
	var got [4]int
	for range 2 {
		s.each([]byte("aaaaaaaaaab"), func(id int, _ int) bool {
			got[id]++
			return id > 1
		})
	}
	must.Equal(t, got, [4]int{1, 1, 6, 2})
}

// TestFinderGrows: where needles that begin alike each stand in the text, one place costs the logarithm of their number.
func TestFinderGrows(t *testing.T) {
	for _, n := range []int{1, 100, 4000, 64000} {
		var text []byte
		s := newFinder()
		for i := range n {
			text = fmt.Appendf(text, "workspacemodule%06dvalue", i*7919%n)
			s.add(fmt.Sprintf("workspacemodule%06dvalue", i), i)
		}
		found := 0
		s.each(text, func(int, int) bool {
			found++
			return true
		})
		if found != n {
			t.Fatalf("%d of %d found", found, n)
		}
		if most := n * (bits.Len(uint(n)) + 1); s.looked == 0 || s.looked > most {
			t.Errorf("%d needles: %d comparisons, want at most %d", n, s.looked, most)
		}
	}
}

// FuzzNames: a name stands where it is said to, and has one hash in all its forms.
func FuzzNames(f *testing.F) {
	f.Add("run --all-targets on src/fooBarBaz_9.go, then some-other-name")
	f.Add("0123456789→generated_identifier")
	f.Fuzz(func(t *testing.T, text string) {
		eachName([]byte(text), func(found []byte, from int) {
			name := string(found)
			if text[from:from+len(name)] != name || !named(found) || len(foldString(name)) < minName {
				t.Errorf("%q at %d of %q", name, from, text)
			}
			must.Equal(t, hashName(found), hashName([]byte(strings.ToUpper(strings.ReplaceAll(name, "_", "")))), name)
		})
	})
}

func TestFold(t *testing.T) {
	for _, c := range [][2]string{
		{"     1→func Foo() {\n    12→\treturn nil\n", "funcfooreturnnil"},
		{"1\tone_two\r\n2\tThree", "onetwothree"},
		{"a 12 b", "a12b"},
		{"12 monkeys", "12monkeys"},
		{`"x\"y"`, "xy"},
		{"仓库 Ledger", "仓库ledger"},
		{"", ""},
	} {
		must.Equal(t, foldString(c[0]), c[1])
	}
}
