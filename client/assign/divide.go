package assign

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// PartitionSource returns the partitions to divide. The coordinator calls the function in every round. If members
// return different partitions, the coordinator's list counts.
type PartitionSource = func() ([]string, error)

// Names are parts with names.
func Names(parts ...string) PartitionSource {
	return func() ([]string, error) { return parts, nil }
}

// Numbers are parts "0" to "n-1".
func Numbers(n int) PartitionSource {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strconv.Itoa(i)
	}
	return Names(parts...)
}

// Candidate is a member that may get partitions. A leaving member is not a candidate.
type Candidate struct {
	ID         uint64
	Name       string
	Attributes []byte
	// Has lists the partitions that the candidate currently works on. Work continues for each partition that the
	// candidate keeps.
	Has []string
	// Had lists free partitions that a member with the candidate's name had in the previous assignment, for example in
	// an earlier run of the program.
	Had []string
}

// Strategy assigns partitions to takers: the first list is for the first taker, and so on. takers has at least one
// element. A partition that is in no list has no owner.
type Strategy func(parts []string, takers []Candidate) [][]string

// Balance gives all takers equally many partitions, plus or minus one, and moves as few partitions as possible. Free
// partitions return to their former takers, if these have capacity.
func Balance(parts []string, takers []Candidate) [][]string {
	quotas := quotasOf(len(parts), takers)
	shares := make([][]string, len(takers))
	given := make(map[string]bool, len(parts))
	give := func(i int, part string) {
		if len(shares[i]) < quotas[i] && !given[part] {
			given[part] = true
			shares[i] = append(shares[i], part)
		}
	}
	for i, t := range takers {
		for _, part := range t.Has {
			give(i, part)
		}
	}
	for i, t := range takers {
		for _, part := range t.Had {
			give(i, part)
		}
	}
	next := 0
	for _, part := range parts {
		for !given[part] && next < len(takers) {
			give(next, part)
			if len(shares[next]) == quotas[next] {
				next++
			}
		}
	}
	return shares
}

// quotasOf returns each taker's number of partitions. Takers above the minimum quota are the first to get the remaining
// partitions, one per taker.
func quotasOf(parts int, takers []Candidate) []int {
	least, more := parts/len(takers), parts%len(takers)
	gain := func(i int) int {
		switch has, had := len(takers[i].Has), len(takers[i].Had); {
		case has > least:
			return 2
		case has+had > least:
			return 1
		}
		return 0
	}
	order := make([]int, len(takers))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(gain(b), gain(a)) })
	quotas := make([]int, len(takers))
	for at, i := range order {
		quotas[i] = least
		if at < more {
			quotas[i]++
		}
	}
	return quotas
}

// checkParts rejects a list with duplicate partitions.
func checkParts(parts []string) error {
	seen := make(map[string]bool, len(parts))
	for _, part := range parts {
		if seen[part] {
			return fmt.Errorf("the share %q is listed twice", part)
		}
		seen[part] = true
	}
	return nil
}

// checkShares rejects shares that do not divide the partitions among the takers.
func checkShares(parts []string, takers []Candidate, shares [][]string) error {
	if len(shares) != len(takers) {
		return fmt.Errorf("shares were divided among %d members, but there are %d members", len(shares), len(takers))
	}
	free := make(map[string]bool, len(parts))
	for _, part := range parts {
		free[part] = true
	}
	for i, share := range shares {
		for _, part := range share {
			if !free[part] {
				return fmt.Errorf("the share %q of %s was also given to another member, or does not exist", part,
					takers[i].Name)
			}
			free[part] = false
		}
	}
	return nil
}
