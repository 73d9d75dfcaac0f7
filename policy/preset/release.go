package preset

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/ctxkit/ctxkit/jsonl/session"
	"github.com/ctxkit/ctxkit/policy"
	"github.com/ctxkit/ctxkit/policy/strict"
)

// Words that can stand in place of a version after the @, as in claude-code@latest.
const (
	// RecordedVersion after an @ has the same effect as no version: NAME@recorded-version is the same as the bare name
	// NAME (Library.For). In a session that another product recorded, both mean the release of NAME that was current at
	// the time of the session.
	RecordedVersion = "recorded-version"
	// Latest after an @ stands for the newest built-in policy of the product: NAME@latest.
	Latest = "latest"
)

// Recorded is the name of the policy that repeats what the client really did. Commands use it if no policy is named;
// compare and thresholds use the policies in Default instead.
const Recorded = "recorded"

// Release is a built-in policy, or an alias of one, that stands for a range of releases of a product: from the release
// Version up to, and without, the Version of the next Release in Library.Releases.
type Release struct {
	Policy  string // name of the policy or alias
	Version string // first release of the range
	Valid   policy.Valid
}

// Releases returns the built-in policies that stand for releases of a product, oldest first. It returns none if product
// is not the name of a product.
func (l *Library) Releases(product string) (list []Release) {
	for _, name := range l.own {
		if !strings.HasPrefix(name, product) {
			continue
		}
		if h, err := l.head(name); err == nil && h.product == product && product != "" { // a test checks the files
			list = append(list, Release{name, h.version, h.valid})
		}
	}
	slices.SortFunc(list, func(a, b Release) int { return compareVersions(a.Version, b.Version) })
	return list
}

// Products returns the bare names. Which policy a bare name stands for depends on the session (Library.For).
func (l *Library) Products() (list []string) {
	for _, name := range l.own {
		if h, err := l.head(name); err == nil && h.product != "" {
			list = append(list, h.product)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Client describes the client that recorded a session. The zero value means that nothing is known of the session.
type Client struct {
	Product  string    // bare name, such as claude-code
	Version  string    // version of the product; "": unknown
	Provider string    // provider of the models; "": unknown
	Time     time.Time // time of the session; zero: unknown
	Cleared  bool      // the session records cleared tool results
}

// ClientOf returns the Client of a conversation.
func ClientOf(conv *session.Conversation) Client {
	c := Client{Product: conv.Product, Version: conv.Version, Provider: conv.Provider, Cleared: len(conv.Micro) > 0}
	for i := range conv.Messages {
		if c.Time = conv.Messages[i].Time; !c.Time.IsZero() {
			break
		}
	}
	return c
}

// Chosen is the built-in policy that a name stands for.
type Chosen struct {
	Policy  string // name of the policy
	Version string // release that the name asks for or that recorded the session; "": the policy's own version
	Why     string // why the name stands for the policy, with the note in Newer; "": there is nothing to explain
	Older   bool   // the session is older than every release for which there is a built-in policy; Policy is that of the oldest of these releases
	Newer   string // a note that Version is newer than every examined release, or that a newer policy of the product exists; else ""
}

// BySession reports whether the argument name can stand for different policies in different sessions.
func (l *Library) BySession(name string) bool {
	list, _, version, at := l.cut(name)
	return len(list) > 0 && (!at || version == RecordedVersion)
}

// cut splits PRODUCT@VERSION and finds the releases of the product. The name of its only release stands for it, too:
// copilot-cli@1.0.90.
func (l *Library) cut(name string) (list []Release, product, version string, at bool) {
	product, version, at = strings.Cut(name, "@")
	if h, err := l.head(product); at && err == nil {
		if list = l.Releases(h.product); len(list) == 1 {
			return list, h.product, version, at
		}
	}
	return l.Releases(product), product, version, at
}

// For finds the built-in policy for the argument name, in a session that the client c recorded:
//
//   - a bare name, for a session that the product recorded: the product's policy for the session's provider, if there
//     is one; otherwise the policy whose range of releases contains the version that recorded the session
//   - a bare name, for any other session, or if that version is unknown: the policy of the release that was current at
//     the time of the session, or the newest policy if the time is unknown
//   - NAME@latest: the newest policy of the product
//   - NAME@VERSION or NAME-VERSION: the policy whose range of releases contains that version
//   - any other name: the policy with that name. For does not check that such a policy exists.
//
// For a name with an @, For returns an error if the part before the @ is not a product or the part after it is not a
// version.
func (l *Library) For(name string, c Client) (Chosen, error) {
	chosen, err := l.choose(name, c)
	if a, ok := l.alias[chosen.Policy]; ok {
		chosen.Policy = a.Policy
	}
	return chosen, err
}

// pruning is the reason for a policy's prunes where the recorded session has some.
const pruning = ", and what it pruned"

// choose is For, which may choose an alias.
func (l *Library) choose(name string, c Client) (Chosen, error) {
	list, product, version, at := l.cut(name)
	switch {
	case name == Recorded:
		newer := l.Unread(c)
		return Chosen{Policy: name, Why: newer, Newer: newer}, nil
	case len(list) == 0 && !at:
		return l.named(name), nil
	case len(list) == 0 && version == Latest && l.files[product] != nil: // it has one release
		return Chosen{Policy: product}, nil
	case len(list) == 0:
		return Chosen{}, fmt.Errorf("no versions of %q are known: %s", product, strict.Suggest(product, l.Products()))
	case version == Latest:
		ended := ended(product, list)
		return Chosen{Policy: list[len(list)-1].Policy, Why: ended, Newer: ended}, nil
	case at && version != RecordedVersion:
		if !isVersion(version) {
			return Chosen{}, fmt.Errorf("%q is no version of %s: write it as %s@%s, or %s@latest", version, product, product, list[0].Version, product)
		}
		return asked(product, list, version), nil
	}
	if c.Product == product {
		if other := policy.RecorderOf(product, l.reg.Families()).Elsewhere; other != nil && other(c.Provider) != "" {
			return Chosen{Policy: other(c.Provider), Why: fmt.Sprintf("%s recorded the session with models of %q", product, c.Provider)}, nil
		}
	}
	last := list[len(list)-1]
	chosen := Chosen{Policy: last.Policy, Why: "the newest " + product + " known"}
	day := c.Time.UTC().Format(time.DateOnly)
	switch {
	case c.Product == product && isVersion(c.Version):
		r := ofVersion(list, c.Version)
		chosen = Chosen{r.Policy, c.Version, fmt.Sprintf("%s %s recorded the session", product, c.Version), compareVersions(c.Version, r.Version) < 0, newerThan(product, list, c.Version)}
		if chosen.Older {
			chosen.Why += ", older than any known"
		}
		if c.Cleared && policy.RecorderOf(product, l.reg.Families()).Clears != "" {
			chosen.Why += pruning
		}
	case c.Time.IsZero():
	case day < list[0].Valid.From:
		chosen = Chosen{Policy: list[0].Policy, Why: fmt.Sprintf("the oldest %s known; the session, of %s, is older", product, day), Older: true}
	default:
		i := len(list) - 1
		for list[i].Valid.From > day {
			i--
		}
		chosen = Chosen{Policy: list[i].Policy, Why: product + " as of " + day}
	}
	switch {
	case chosen.Newer != "":
	case chosen.Policy != last.Policy:
		chosen.Newer = last.Policy + " is newer: for it, write " + product + "@" + Latest
	case c.Time.IsZero() || day > last.Valid.Until:
		chosen.Newer = ended(product, list)
	}
	if chosen.Newer != "" {
		chosen.Why += "; " + chosen.Newer
	}
	return chosen, nil
}

// named is the policy of that name, else, where the name is a product's and a version (claude-code-2.1.99), that of the
// version.
func (l *Library) named(name string) Chosen {
	if _, err := l.head(name); err == nil {
		return Chosen{Policy: name}
	}
	for i := strings.LastIndex(name, "-"); i > 0; i = strings.LastIndex(name[:i], "-") {
		if list := l.Releases(name[:i]); len(list) > 0 && isVersion(name[i+1:]) {
			return asked(name[:i], list, name[i+1:])
		}
	}
	return Chosen{Policy: name}
}

// asked is the release of a product that is asked for by its version.
func asked(product string, list []Release, version string) Chosen {
	for _, r := range slices.Backward(list) {
		if strings.HasPrefix(r.Version, version+".") { // the newest of a line: opencode@2
			return Chosen{Policy: r.Policy, Version: r.Version}
		}
	}
	newer := newerThan(product, list, version)
	return Chosen{Policy: ofVersion(list, version).Policy, Version: version, Why: newer, Newer: newer}
}

// ended says of a product whose newest release has an end that nothing after it was read; "": it is current.
func ended(product string, list []Release) string {
	last := list[len(list)-1]
	if last.Valid.Until == "" {
		return ""
	}
	return fmt.Sprintf("no %s of after %s was read: the rules of %s are assumed", product, last.Valid.Until, last.Policy)
}

// Unread returns a note if the client that recorded a session is newer than every examined release of its product, else
// "".
func (l *Library) Unread(c Client) string {
	list := l.Releases(c.Product)
	if len(list) == 0 || !isVersion(c.Version) {
		return ""
	}
	return newerThan(c.Product, list, c.Version)
}

// newerThan says that a version of a product is newer than the newest that was read, or that was read of its line; "":
// it is not.
func newerThan(product string, list []Release, version string) string {
	r := ofVersion(list, version)
	what := "any that was read of its line"
	read := r.Valid.Read
	if last := list[len(list)-1]; r == last {
		what = "any that was read"
		read = cmp.Or(read, last.Version)
	}
	if read == "" || compareVersions(version, read) <= 0 {
		return ""
	}
	return fmt.Sprintf("%s %s is newer than %s (%s): the rules of %s are assumed", product, version, what, read, r.Policy)
}

// ofVersion is the newest release that is not later than a version, else the oldest.
func ofVersion(list []Release, version string) Release {
	for _, r := range slices.Backward(list) {
		if compareVersions(r.Version, version) <= 0 {
			return r
		}
	}
	return list[0]
}

// parseVersion reads 2.1.14; what follows a - or + does not count.
func parseVersion(s string) (numbers []int, ok bool) {
	if i := strings.IndexAny(s, "-+"); i >= 0 {
		s = s[:i]
	}
	for part := range strings.SplitSeq(s, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, true
}

func compareVersions(a, b string) int {
	x, _ := parseVersion(a)
	y, _ := parseVersion(b)
	return slices.Compare(x, y)
}

func isVersion(s string) bool {
	_, ok := parseVersion(s)
	return ok
}

// Default has the names of the policies that ctxkit compare and ctxkit thresholds use if no policy is named.
type Default struct {
	Compare    []string // for ctxkit compare
	Thresholds string   // for ctxkit thresholds
}

//go:embed defaults.yaml
var defaults []byte

// Defaults returns the embedded defaults.
func Defaults() (d Default) {
	if err := yaml.Load(defaults, &d, yaml.WithKnownFields()); err != nil {
		return Default{}
	}
	return d
}
