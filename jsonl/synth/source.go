package synth

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The words of the simulated code base.
var (
	verbs    = []string{"Reserve", "Allocate", "Release", "Merge", "Split", "Restock", "Reconcile", "Audit", "Expire", "Index", "Resolve", "Validate", "Normalize", "Forecast", "Dispatch", "Archive", "Replay", "Schedule", "Cancel", "Import"}
	nouns    = []string{"Batch", "Shipment", "Shelf", "Order", "Invoice", "Ledger", "Carrier", "Pallet", "Quota", "Supplier", "Route", "Manifest", "Return", "Bin", "Voucher", "Snapshot", "Lease", "Dock", "Container", "Tariff"}
	twists   = []string{"", "", "", "Once", "WithRetry", "ByRegion", "InWindow", "Partial", "Locked", "Strict", "Async", "Legacy"}
	packages = []string{"store", "ledger", "dispatch", "pricing", "httpapi", "worker", "audit", "carrier", "config", "metrics", "outbox", "forecast"}
	cjkNotes = []string{
		"在库数量必须在同一个事务里更新，否则重试会重复扣减。",
		"この関数は呼び出し側でロックを取得していることを前提とする。",
		"재시도할 때 같은 예약 번호를 써야 중복이 생기지 않는다.",
		"库存快照每小时生成一次 📦，历史数据保留九十天。",
		"出荷予定日が過去の場合は翌営業日に繰り越す 🚚。",
	}
)

// sourceFile is one file of the simulated project.
type sourceFile struct {
	path  string // relative to the project
	lines []string
	names []string // what it declares
}

func (f *sourceFile) text() string { return joinLines(f.lines) }
func (f *sourceFile) abs() string  { return root + "/" + f.path }

func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// newSource writes a file of about n lines.
func newSource(r *rand.Rand, path, pkg string, n int, cjk bool) *sourceFile {
	f := &sourceFile{path: path}
	switch {
	case strings.HasSuffix(path, ".md"):
		f.document(r, n, cjk)
	case strings.HasSuffix(path, ".sql"):
		f.schema(r, n)
	case strings.HasSuffix(path, "_test.go"):
		f.goFile(r, pkg, n, cjk, true)
	default:
		f.goFile(r, pkg, n, cjk, false)
	}
	return f
}

func (f *sourceFile) add(lines ...string) { f.lines = append(f.lines, lines...) }

func (f *sourceFile) addf(format string, args ...any) {
	f.lines = append(f.lines, fmt.Sprintf(format, args...))
}

func (f *sourceFile) goFile(r *rand.Rand, pkg string, n int, cjk, test bool) {
	f.addf("package %s", pkg)
	f.add("", "import (", "\t\"context\"", "\t\"errors\"", "\t\"fmt\"", "\t\"time\"", "")
	f.addf("\t\"example.com/harbor/internal/%s\"", pick(r, packages))
	f.add(")", "")
	if test {
		for len(f.lines) < n {
			f.testFunc(r)
		}
		return
	}
	typ := pick(r, nouns) + pick(r, []string{"Store", "Service", "Queue", "Planner", "Book"})
	f.names = append(f.names, typ)
	f.addf("// %s keeps track of every %s until it leaves the warehouse.", typ, lower(pick(r, nouns)))
	f.addf("type %s struct {", typ)
	for range 3 + r.IntN(4) {
		f.addf("\t%s%s %s // %s", lower(pick(r, nouns)), pick(r, []string{"Count", "Limit", "ByID", "Queue", "Clock"}),
			pick(r, []string{"int", "map[string]int64", "time.Duration", "chan struct{}", "*config.Limits"}), pick(r, remarks))
	}
	f.add("}", "")
	for len(f.lines) < n {
		f.function(r, typ, cjk)
	}
}

var remarks = []string{
	"guarded by mu", "zero means unlimited", "refilled by the nightly job", "in minor units", "never shrinks",
	"see docs/reservations.md", "only set while the lease is held", "kept for the audit trail", "hot path: no allocation here",
}

func (f *sourceFile) function(r *rand.Rand, typ string, cjk bool) {
	verb, noun := pick(r, verbs), pick(r, nouns)
	name := verb + noun + pick(r, twists)
	f.names = append(f.names, name)
	v := lower(noun)
	f.addf("// %s %ss the %s and reports how many units are left in it.", name, strings.ToLower(verb), v)
	if cjk && r.IntN(2) == 0 {
		f.add("// " + pick(r, cjkNotes))
	}
	f.addf("func (s *%s) %s(ctx context.Context, id string, qty int) (int, error) {", typ, name)
	f.addf("\tif qty <= 0 || qty > %d {", 10*(1+r.IntN(900)))
	f.addf("\t\treturn 0, fmt.Errorf(\"%s %%s: quantity %%d out of range\", id, qty)", strings.ToLower(verb+" "+noun))
	f.add("\t}")
	for range 1 + r.IntN(5) {
		f.statement(r, v)
	}
	f.addf("\treturn s.%sCount - qty, nil", v)
	f.add("}", "")
}

func (f *sourceFile) statement(r *rand.Rand, v string) {
	other := lower(pick(r, nouns))
	switch r.IntN(6) {
	case 0:
		f.addf("\t%s, err := s.load%s(ctx, id)", v, pick(r, nouns))
		f.add("\tif err != nil {")
		f.addf("\t\treturn 0, fmt.Errorf(\"load %s %%s: %%w\", id, err)", v)
		f.add("\t}")
	case 1:
		f.addf("\tfor i, %s := range s.%sQueue {", other, other)
		f.addf("\t\tif %s.expires.Before(s.now()) {", other)
		f.addf("\t\t\ts.%sQueue = append(s.%sQueue[:i], s.%sQueue[i+1:]...)", other, other, other)
		f.add("\t\t\tcontinue", "\t\t}", "\t\tqty -= "+other+".units", "\t}")
	case 2:
		f.addf("\ts.mu.Lock() // %s", pick(r, remarks))
		f.addf("\ts.%sLimit += qty * %d", other, 1+r.IntN(48))
		f.add("\ts.mu.Unlock()")
	case 3:
		f.addf("\tdeadline := s.now().Add(%d * time.%s)", 2+r.IntN(90), pick(r, []string{"Second", "Minute", "Millisecond"}))
		f.addf("\tif err := s.%s.publish(ctx, \"%s.%s\", id, deadline); err != nil {", pick(r, packages), v, strings.ToLower(pick(r, verbs)))
		f.addf("\t\treturn 0, errors.Join(err, Err%s%s)", pick(r, nouns), pick(r, []string{"Gone", "Busy", "Stale", "Unknown"}))
		f.add("\t}")
	case 4:
		f.addf("\tswitch s.%sState {", other)
		for _, st := range []string{"Open", "Sealed", "Draining"} {
			f.addf("\tcase %s%s:", other, st)
			f.addf("\t\tqty = min(qty, s.%sLimit-%d)", v, r.IntN(64))
		}
		f.add("\t}")
	default:
		f.addf("\t// %s: %s", pick(r, []string{"NOTE", "TODO", "Why"}), pick(r, remarks))
		f.addf("\ts.metrics.Observe(\"%s_%s_total\", float64(qty))", v, strings.ToLower(pick(r, verbs)))
	}
}

func (f *sourceFile) testFunc(r *rand.Rand) {
	name := "Test" + pick(r, verbs) + pick(r, nouns) + pick(r, twists)
	f.names = append(f.names, name)
	f.addf("func %s(t *testing.T) {", name)
	f.add("\tfor _, tc := range []struct {", "\t\tname string", "\t\tqty  int", "\t\twant int", "\t}{")
	for range 2 + r.IntN(5) {
		f.addf("\t\t{%q, %d, %d},", strings.ToLower(pick(r, verbs))+" "+strings.ToLower(pick(r, nouns))+" "+pick(r, remarks), r.IntN(500), r.IntN(500))
	}
	f.add("\t} {", "\t\tt.Run(tc.name, func(t *testing.T) {")
	f.addf("\t\t\tgot, err := newFixture(t).%s(t.Context(), %q, tc.qty)", strings.TrimPrefix(name, "Test"), fmt.Sprintf("id-%04x", r.IntN(65536)))
	f.add("\t\t\tif err != nil || got != tc.want {", "\t\t\t\tt.Fatalf(\"got %d, %v; want %d\", got, err, tc.want)", "\t\t\t}", "\t\t})", "\t}", "}", "")
}

func (f *sourceFile) document(r *rand.Rand, n int, cjk bool) {
	f.addf("# %s", pick(r, []string{"Reservations", "Shipping", "The outbox", "Pricing rules", "Running the workers"}))
	for len(f.lines) < n {
		f.add("", fmt.Sprintf("## %s a %s", pick(r, verbs), strings.ToLower(pick(r, nouns))), "")
		for range 2 + r.IntN(3) {
			f.addf("When a %s is %sd, the %s keeps its place until the %s has been written; %s.", strings.ToLower(pick(r, nouns)),
				strings.ToLower(pick(r, verbs)), strings.ToLower(pick(r, nouns)), strings.ToLower(pick(r, nouns)), pick(r, remarks))
		}
		if cjk {
			f.add("", pick(r, cjkNotes)+pick(r, cjkNotes))
		}
		f.names = append(f.names, strings.ToLower(pick(r, nouns)))
	}
}

func (f *sourceFile) schema(r *rand.Rand, n int) {
	for len(f.lines) < n {
		t := strings.ToLower(pick(r, nouns)) + "s"
		f.names = append(f.names, t)
		f.addf("CREATE TABLE %s (", t)
		f.add("    id          text PRIMARY KEY,")
		for range 2 + r.IntN(5) {
			f.addf("    %s_%s  %s NOT NULL DEFAULT %d,", strings.ToLower(pick(r, nouns)), pick(r, []string{"id", "count", "limit", "at"}), pick(r, []string{"bigint", "integer"}), r.IntN(9))
		}
		f.add("    created_at  timestamptz NOT NULL", ");", "")
	}
}

func joinLines(lines []string) string { return strings.Join(lines, "\n") }
