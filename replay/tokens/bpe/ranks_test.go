package bpe

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/ctxkit/ctxkit/jsonl/must"
)

func TestDamagedRanks(t *testing.T) {
	data := must.Get(pack([]string{"ab", "abc", "漢字"}))(t)
	good := string(data)
	var v vocabulary
	must.Do(t, v.fill(good))
	must.Say(t, "true false", v.joins([]byte("漢字")), v.joins([]byte("漢漢")))
	starts := tableBytes - 2*(1<<bucketBits+1) // about: one of the starts of buckets
	mixed := good[:starts+2000] + "\xff\xff" + good[starts+2002:]
	for _, bad := range []string{mixed, "", good[:tableBytes-1], good[:len(good)-1], good + "x", "\xff\xff\xff\xff" + good[4:], "\x04" + good[1:], good[:12] + "\x00" + good[13:]} {
		if err := new(vocabulary).fill(bad); !errors.Is(err, errRanks) {
			t.Errorf("%.20q of %d bytes: %v, not an error about a damaged vocabulary", bad, len(bad), err)
		}
	}
}

func TestUnknownEncoding(t *testing.T) {
	must.Fail(Load("p50k_base"))(t, "use o200k_base or cl100k_base")
}

// TestTokensMergeToThemselves: merging the bytes of a token gives the token, so that a part of a piece that no merge
// leaves may be looked up as a whole.
func TestTokensMergeToThemselves(t *testing.T) {
	for _, name := range Names() {
		e := encoding(t, name)
		var m merger
		for token, r := range tokens(e) {
			m.padded([]byte(token))
			if n := m.scan(&e.vocabulary, len(token)); n != 1 {
				t.Fatalf("%s: %q, rank %d, merges to %d tokens", name, token, r, n)
			}
		}
	}
}

// TestNoNetwork: counting holds no package that could ask a network.
func TestNoNetwork(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 5 {
		t.Fatalf("go list names %d packages", len(deps))
	}
	for _, dep := range deps {
		if first, _, _ := strings.Cut(dep, "/"); first == "net" || dep == "crypto/tls" || dep == "syscall/js" || strings.Contains(first, ".") && !strings.HasPrefix(dep, "github.com/ctxkit/ctxkit/") {
			t.Errorf("counting needs package %s", dep)
		}
	}
}
