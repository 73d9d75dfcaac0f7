//go:build ci

package bpe

import (
	"errors"
	"maps"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

// TestRanks holds the embedded vocabularies against the loader's: each token has its rank, and nothing else is a
// token.
func TestRanks(t *testing.T) {
	for _, name := range Names() {
		want, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
		if err != nil {
			t.Fatal(err)
		}
		e := encoding(t, name)
		have := maps.Collect(tokens(e))
		if got := len(have) + 256; got != len(want) {
			t.Errorf("%s: %d tokens, the loader has %d", name, got, len(want))
		}
		var m merger
		for token, rank := range want {
			if len(token) == 1 {
				continue // never looked up: every byte is a token
			}
			if got, ok := have[token]; !ok || got != rank {
				t.Fatalf("%s: %q has rank %d (%v), the loader has %d", name, token, got, ok, rank)
			}
			if got := e.lookup(m.padded([]byte(token)), 0, len(token)); int(got) != rank+1 {
				t.Fatalf("%s: %q has rank %d, the loader has %d", name, token, int(got)-1, rank)
			}
			for _, near := range []string{token + "\x00", token + "a", token[:len(token)-1] + string([]byte{token[len(token)-1] ^ 1}), token[1:] + token[:1]} {
				r, ok := want[near]
				if got := e.lookup(m.padded([]byte(near)), 0, len(near)); ok != (got != 0) || ok && int(got) != r+1 {
					t.Fatalf("%s: %q has rank %d, the loader has %d, %v", name, near, int(got)-1, r, ok)
				}
			}
		}
	}
}

// TestNoNetwork denies the network: counting neither asks for it nor holds a package that could.
func TestNoNetwork(t *testing.T) {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	http.DefaultTransport = denied{t}
	resolver := net.DefaultResolver
	defer func() { net.DefaultResolver = resolver }()
	net.DefaultResolver = nil // a look-up panics
	for _, name := range Names() {
		if got := encoding(t, name).NewCounter().Count("hello world"); got != 2 {
			t.Errorf("%s: %d tokens, want 2", name, got)
		}
	}

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

type denied struct{ t *testing.T }

func (d denied) RoundTrip(r *http.Request) (*http.Response, error) {
	d.t.Errorf("a request for %s", r.URL)
	return nil, errors.New("there is no network")
}
