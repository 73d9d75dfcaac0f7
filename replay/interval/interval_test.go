package interval

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ctxkit/ctxkit/replay/exact"
)

// TestSplitmix64 holds the generator to the values its authors publish for the seed 1234567.
func TestSplitmix64(t *testing.T) {
	s := splitmix64(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := s.next(); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
}

// TestGolden holds bounds that no architecture, no order and no release of Go may change.
func TestGolden(t *testing.T) {
	list := []Ratio{{-3, 100}, {5, 80}, {12, 140}, {1, 60}, {-8, 220}, {7, 90}, {0, 10}, {2, 55}, {-1, 35}}
	b := []Ratio{{1, 100}, {1, 80}, {1, 140}, {1, 60}, {1, 220}, {1, 90}, {1, 10}, {1, 55}, {1, 35}}
	check := func() {
		for _, c := range []struct {
			got  Interval
			want [3]string
		}{
			{Of(list), [3]string{"0.018987341", "-0.014054054", "0.056666666"}},
			{Difference(list, b), [3]string{"0.007594936", "-0.025", "0.042990655"}},
		} {
			if got := [3]string{c.got.Value.String(), c.got.Lower.String(), c.got.Upper.String()}; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		}
	}
	check()
	for range 20 {
		rand.Shuffle(len(list), func(i, j int) {
			list[i], list[j] = list[j], list[i]
			b[i], b[j] = b[j], b[i]
		})
		check()
	}
}

func TestEdges(t *testing.T) {
	if got := Of(nil); got.Value.Known || got.Lower.Known || got.Covers(exact.Whole(0)) {
		t.Errorf("nothing has the interval %+v", got)
	}
	if got := Of([]Ratio{{1, 0}, {2, 0}}); got.Value.Known {
		t.Errorf("a ratio by 0 is %+v", got)
	}
	if got := Of([]Ratio{{3, 2}}); got.Lower.String() != "1.5" || got.Upper.String() != "1.5" || !got.Covers(exact.Of(15, 1)) {
		t.Errorf("one cluster has the interval %+v", got)
	}
	if got := Of([]Ratio{{-1, 3}, {0, 0}}); got.Value.String() != "-0.333333333" || got.Lower != got.Value || got.Upper != got.Value {
		t.Errorf("draws without a denominator count: %+v", got) // they are left out
	}
	if got := Of([]Ratio{{0, 5}, {0, 0}, {0, 7}}); got.Value.String() != "0" || got.Lower.String() != "0" || got.Upper.String() != "0" {
		t.Errorf("no difference: %+v", got)
	}
	if got := Of([]Ratio{{1 << 62, 1}}); got.Value.Known {
		t.Errorf("a ratio that does not fit is %+v", got)
	}
}

// TestCoverage holds that nine in ten intervals contain the true ratio, about: fewer with few clusters.
func TestCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const runs, clusters = 300, 40
	covered := 0
	for range runs {
		list := make([]Ratio, clusters)
		for i := range list {
			den := 50 + r.Int64N(200)
			list[i] = Ratio{den/10 + r.Int64N(21) - 10, den} // true: 0.1, up to the rounding of den/10
		}
		i := Of(list)
		if i.Lower.Cmp(exact.Of(97, 3)) <= 0 && i.Upper.Cmp(exact.Of(97, 3)) >= 0 {
			covered++
		}
		if i.Value.Cmp(i.Lower) < 0 || i.Value.Cmp(i.Upper) > 0 {
			t.Errorf("the ratio is outside its interval: %+v", i)
		}
	}
	if covered < runs*80/100 || covered > runs*98/100 {
		t.Errorf("%d of %d intervals contain the true ratio", covered, runs)
	}
}

// TestScale holds that a ratio is the same in other units, and grows with its numerator.
func TestScale(t *testing.T) {
	list := []Ratio{{-3, 100}, {5, 80}, {12, 140}, {1, 60}}
	times := func(n, d int64) []Ratio {
		more := slices.Clone(list)
		for i := range more {
			more[i].Num, more[i].Den = more[i].Num*n, more[i].Den*d
		}
		return more
	}
	a, b, c := Of(list), Of(times(1000, 1000)), Of(times(2, 1))
	if a != b {
		t.Errorf("%+v in other units is %+v", a, b)
	}
	if d := c.Upper.Sub(a.Upper.Times(2)).Abs(); d.Cmp(exact.Of(1, Places)) > 0 {
		t.Errorf("twice the numerators: %+v, was %+v", c, a)
	}
}
