package compare

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxkit/ctxkit/jsonl/session"
)

// NamedRows are rows and the name of the file they are from.
type NamedRows struct {
	Name string
	*Rows
}

// MergeRows puts rows together as one comparison of all of their inputs has them: first the inputs of the first rows,
// with all of their shards, then those of the next rows with other inputs. It is an error where rows do not belong
// together, where a shard is missing, and where a conversation is there twice.
func MergeRows(list []NamedRows) (*Rows, error) {
	if len(list) == 0 {
		return nil, errors.New("there are no rows")
	}
	first := &list[0]
	var groups [][]NamedRows // by inputs
	for i := range list {
		if err := belongs(first, &list[i]); err != nil {
			return nil, err
		}
		at := slices.IndexFunc(groups, func(g []NamedRows) bool { return g[0].Names == list[i].Names })
		if at < 0 {
			at = len(groups)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], list[i])
	}
	var wrong []error
	for _, g := range groups {
		wrong = append(wrong, whole(g))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	all := &Rows{Build: first.Build, Policies: first.Policies, Options: first.Options, Names: namesOf(groups), Shard: 1, Shards: 1}
	seen := map[Origin]string{}
	for _, g := range groups {
		for _, w := range g[0].Warnings { // each shard has those of all
			if !slices.Contains(all.Warnings, w) || len(groups) == 1 {
				all.Warnings = append(all.Warnings, w)
			}
		}
		begin := len(all.Outcomes)
		for _, rows := range g {
			all.Late = append(all.Late, rows.Late...)
			for _, o := range rows.Outcomes {
				for i := range o.Sessions {
					one := o.Sessions[i].Origin
					one.Malformed = 0
					if before, twice := seen[one]; twice && before != rows.Name {
						return nil, fmt.Errorf("%s: the session %s of %s is in %s as well: leave one out", rows.Name, one.Session, one.File, before)
					}
					seen[one] = rows.Name
				}
				o.Input += all.Inputs
				all.Outcomes = append(all.Outcomes, o)
			}
		}
		outcomes := all.Outcomes[begin:]
		slices.SortStableFunc(outcomes, func(a, b InputRows) int { return cmp.Compare(a.Input, b.Input) })
		for i := range outcomes {
			if outcomes[i].Input != all.Inputs+i {
				return nil, fmt.Errorf("%s: %d of the %d inputs are not there once: the rows are damaged", g[0].Name, g[0].Inputs-len(outcomes)+1, g[0].Inputs)
			}
		}
		if len(outcomes) != g[0].Inputs {
			return nil, fmt.Errorf("%s: there are rows of %d of %d inputs: the rows are damaged", g[0].Name, len(outcomes), g[0].Inputs)
		}
		all.Inputs += g[0].Inputs
	}
	all.Late = SortedOnce(all.Late)
	return all, nil
}

// namesOf is a digest of the names of all inputs.
func namesOf(groups [][]NamedRows) string {
	if len(groups) == 1 {
		return groups[0][0].Names
	}
	names := each(groups, func(g []NamedRows) string { return g[0].Names })
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(names, " "))))
}

// SortedOnce are warnings in an order of their own, each once.
func SortedOnce(list []session.Warning) []session.Warning {
	slices.SortFunc(list, func(a, b session.Warning) int {
		return cmp.Or(strings.Compare(a.Message, b.Message), strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code))
	})
	return slices.Compact(list)
}

// belongs is the error of rows that do not belong to those of a.
func belongs(a, b *NamedRows) error {
	differ := func(what, is, was, do string) error {
		return fmt.Errorf("%s: %s %s, but %s in %s: %s", b.Name, what, is, was, a.Name, do)
	}
	if a.Build != b.Build {
		return differ("the build is", b.Build, a.Build, "write all rows with one build of the program")
	}
	names := func(list []RowsPolicy) []string { return each(list, func(p RowsPolicy) string { return p.Name }) }
	if is, was := names(b.Policies), names(a.Policies); !slices.Equal(is, was) {
		return differ("the policies are", strings.Join(is, ", "), strings.Join(was, ", "), "compare the same policies, in one order")
	}
	for i, p := range b.Policies {
		if p.Digest != a.Policies[i].Digest {
			return fmt.Errorf("%s: the policy %s is another than in %s: use the same file", b.Name, p.Name, a.Name)
		}
	}
	both := map[string]string{}
	maps.Copy(both, a.Options)
	maps.Copy(both, b.Options)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		if is, was := b.Options[key], a.Options[key]; is != was {
			return differ("the option "+key+" is", cmp.Or(is, "not given"), cmp.Or(was, "not given"), "use the same options")
		}
	}
	return nil
}

// whole is the error of shards of the same inputs of which one is missing, or there twice.
func whole(g []NamedRows) error {
	first := &g[0]
	by := map[int]string{}
	for i := range g {
		r := &g[i]
		if r.Shards != first.Shards || r.Inputs != first.Inputs {
			return fmt.Errorf("%s: shard %d of %d, but %s is shard %d of %d of the same inputs: use one number of shards", r.Name, r.Shard, r.Shards, first.Name, first.Shard, first.Shards)
		}
		if before, twice := by[r.Shard]; twice {
			return fmt.Errorf("%s: %s has the same sessions%s: leave one out", r.Name, before, shardText(r.Rows))
		}
		by[r.Shard] = r.Name
	}
	var missing []string
	for n := 1; n <= first.Shards && len(missing) <= mostMissing; n++ {
		if by[n] == "" {
			missing = append(missing, strconv.Itoa(n))
		}
	}
	switch n := first.Shards - len(by); {
	case n > mostMissing:
		return fmt.Errorf("%s: %d of %d shards of its inputs are missing, %s first: name the files of all of them", first.Name, n, first.Shards, missing[0])
	case n > 0:
		return fmt.Errorf("%s: of the %d shards of its inputs, %s is missing: name the files of all of them; shards of other inputs do not belong to it", first.Name, first.Shards, strings.Join(missing, ", "))
	}
	return nil
}

// mostMissing is how many missing shards a message names.
const mostMissing = 10

func shardText(r *Rows) string {
	if r.Shards == 1 {
		return ""
	}
	return fmt.Sprintf(", shard %d of %d", r.Shard, r.Shards)
}
