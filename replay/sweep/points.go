package sweep

import (
	"errors"
	"fmt"
	"slices"
)

// MaxPoints is how many points a grid may have.
const MaxPoints = 100_000

// ErrGridTooLarge is wrapped by the error of a grid of more than MaxPoints.
var ErrGridTooLarge = errors.New("the grid is too large")

// Point is one choice of a value for each axis.
type Point []string

// Cross lists all points, the last axis varying fastest.
func Cross(axes []Axis) ([]Point, error) {
	n := 1
	for _, a := range axes {
		if n *= len(a.Values); n > MaxPoints {
			return nil, fmt.Errorf("%w: more than %d points", ErrGridTooLarge, MaxPoints)
		}
	}
	return pick(axes, n), nil
}

// Sample draws n different points of the grid, in the order of the grid; all of them where it has no more. draw gives
// a number from 0 to below its argument.
func Sample(axes []Axis, n int, draw func(below int) int) []Point {
	total := 1.0
	for _, a := range axes {
		total *= float64(len(a.Values))
	}
	if total <= float64(n) {
		return pick(axes, int(total))
	}
	seen := map[string]bool{}
	var drawn [][]int
	for len(drawn) < n {
		at := make([]int, len(axes))
		for i, a := range axes {
			at[i] = draw(len(a.Values))
		}
		if key := fmt.Sprint(at); !seen[key] {
			seen[key] = true
			drawn = append(drawn, at)
		}
	}
	slices.SortFunc(drawn, slices.Compare[[]int])
	points := make([]Point, n)
	for i, at := range drawn {
		for j, a := range axes {
			points[i] = append(points[i], a.Values[at[j]])
		}
	}
	return points
}

func pick(axes []Axis, n int) []Point {
	points := make([]Point, n)
	for i := range points {
		points[i] = make(Point, len(axes))
		at := i
		for j, a := range slices.Backward(axes) {
			points[i][j] = a.Values[at%len(a.Values)]
			at /= len(a.Values)
		}
	}
	return points
}
