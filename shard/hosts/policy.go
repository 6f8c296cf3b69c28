package hosts

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
)

// Policy has the settings of the governor by operators. Times are in milliseconds.
type Policy struct {
	// Voters is how many replicas of a shard vote: 1, 3 or 5, if there are enough hosts. 0 chooses by the number of
	// hosts.
	Voters uint64
	// OfflineAfter is how long a host is silent before it counts as failed.
	OfflineAfter uint64
	// ReplaceAfter is how long a failed voter keeps its vote while a learner could have the vote; 0 is for ever.
	ReplaceAfter uint64
	// StableFor is how long a learner must have been up to date before it votes.
	StableFor uint64
	// BalanceEvery is how long a shard's leadership rests after it was handed over to spread the load; 0 turns the
	// spreading of leaders off.
	BalanceEvery uint64
	// Copies is how many new replicas may be filled at once.
	Copies uint64
}

// DefaultPolicy is the policy of a new cluster.
func DefaultPolicy() Policy {
	return Policy{OfflineAfter: 5_000, ReplaceAfter: 10 * 60_000, StableFor: 10_000, BalanceEvery: 5 * 60_000,
		Copies: 2}
}

func (p *Policy) check() error {
	if p.Voters != 0 && p.Voters != 1 && p.Voters != 3 && p.Voters != 5 {
		return fmt.Errorf("%d voters; 1, 3 or 5 are allowed, and 0 for as many as fit", p.Voters)
	}
	const day = 24 * 3600 * 1000
	for _, f := range []struct {
		what        string
		value       uint64
		least, most uint64
		never       bool
	}{
		{"offline after", p.OfflineAfter, 1_000, 10 * 60_000, false},
		{"replace after", p.ReplaceAfter, 10_000, 30 * day, true},
		{"stable for", p.StableFor, 1_000, 3600_000, false},
		{"balance every", p.BalanceEvery, 10_000, day, true},
		{"copies", p.Copies, 1, 16, false},
	} {
		if (f.value < f.least || f.value > f.most) && (!f.never || f.value != 0) {
			return fmt.Errorf("%s is %d; %d to %d are allowed", f.what, f.value, f.least, f.most)
		}
	}
	if p.ReplaceAfter != 0 && p.ReplaceAfter < p.OfflineAfter {
		return fmt.Errorf("hosts would be replaced before they are taken for failed")
	}
	return nil
}

// SetPolicy puts a new policy in force. The command names the policy that the new policy was made from, so that no
// change is lost if two are made at once.
func (r *Records) SetPolicy(at At, from, to Policy) Answer {
	if err := to.check(); err != nil {
		return badRequest(err)
	}
	switch {
	case r.policy == to:
		return Answer{Existed: true}
	case r.policy != from:
		return refuse(protocol.StatusFenced, "the policy was changed meanwhile")
	}
	r.policy = to
	r.revision++
	r.note(at, EventPolicy, nil, "%s", to)
	return Answer{}
}

// String returns the policy in words.
func (p Policy) String() string {
	return fmt.Sprintf("voters %d, offline after %d ms, replace after %d ms, stable for %d ms, balance every %d ms, "+
		"%d copies", p.Voters, p.OfflineAfter, p.ReplaceAfter, p.StableFor, p.BalanceEvery, p.Copies)
}

// WantedVoters is how many replicas of a shard should vote with so many hosts that belong to the cluster: an odd
// number.
func (p *Policy) WantedVoters(hosts int) int {
	wanted := 5
	switch {
	case hosts < 3:
		wanted = 1
	case hosts < 5:
		wanted = 3
	}
	if p.Voters != 0 {
		wanted = min(wanted, int(p.Voters))
	}
	return wanted
}
