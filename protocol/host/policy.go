package host

import (
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Policy is the governor's configuration, set by operators.
type Policy struct {
	// Voters is how many replicas vote in a shard, if the cluster has that many hosts: 1, 3 or 5. 0 lets the governor
	// choose by the number of hosts. For data shards Replicas overrides the number, unless Replicas is 0.
	Voters int `omit:"never"`
	// OfflineAfter is the time without contact after which a host is considered failed.
	OfflineAfter time.Duration `omit:"never"`
	// ReplaceAfter is the time after which a failed voter is replaced, if another host is available; 0 means never.
	ReplaceAfter time.Duration `omit:"never"`
	// StableFor is how long a learner must have been up to date before it votes.
	StableFor time.Duration `name:"stabilization" omit:"never"`
	// BalanceEvery is the minimum time between two leadership transfers that spread the load; 0 disables such
	// transfers.
	BalanceEvery time.Duration `name:"leader_rebalance" omit:"never"`
	// Copies is the maximum number of concurrent replica builds.
	Copies int `name:"max_replica_builds" omit:"never" wire:"max_replica_builds"`
	// Replicas is on how many hosts a data shard has a replica: 1, 3 or 5, and each replica votes. With 0 every host
	// has a replica of every shard. A cluster may have more than nine hosts only if Replicas is above 0.
	Replicas int `omit:"never"`
	// Tier is a failure domain label, such as "role=control": only hosts with the label vote in the meta shard. If the
	// text is empty, or no host in the cluster has the label, all hosts may vote.
	Tier string `name:"meta_voter_label" omit:"never" wire:"meta_voter_label 2*MaxLabel+1"`
}

// Check returns what is wrong with the policy. The text is part of the meta shard's state, which keeps answers, so
// every build must return the same text.
func (p *Policy) Check() error {
	voters := uint64(p.Voters)
	if voters != 0 && voters != 1 && voters != 3 && voters != 5 {
		return fmt.Errorf("%d voters; 1, 3 or 5 are allowed, and 0 for as many as fit", voters)
	}
	replicas := uint64(p.Replicas)
	if replicas != 0 && replicas != 1 && replicas != 3 && replicas != 5 {
		return fmt.Errorf("%d replicas; 1, 3 or 5 are allowed, and 0 for one on every host", replicas)
	}
	if d, err := ParseDomain(p.Tier); err != nil || len(d) > 1 || d.String() != p.Tier {
		return fmt.Errorf("the tier %q is not one label of failure domains, KEY=VALUE", p.Tier)
	}
	const day = 24 * 3600 * 1000
	for _, f := range []struct {
		what        string
		value       uint64
		least, most uint64
		never       bool
	}{
		{"offline after", field.MillisOf(p.OfflineAfter), 1_000, 10 * 60_000, false},
		{"replace after", field.MillisOf(p.ReplaceAfter), 10_000, 30 * day, true},
		{"stable for", field.MillisOf(p.StableFor), 1_000, 3600_000, false},
		{"balance every", field.MillisOf(p.BalanceEvery), 10_000, day, true},
		{"max_replica_builds", uint64(p.Copies), 1, 16, false},
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

// Text describes the policy in words, for the audit log. The method is not named String, because logs show a policy
// field by field, and fmt prefers String.
func (p Policy) Text() string {
	text := fmt.Sprintf("voters %d, offline after %d ms, replace after %d ms, stable for %d ms, balance every %d ms, "+
		"%d copies", p.Voters, field.MillisOf(p.OfflineAfter), field.MillisOf(p.ReplaceAfter),
		field.MillisOf(p.StableFor), field.MillisOf(p.BalanceEvery), p.Copies)
	if p.Replicas != 0 {
		text += fmt.Sprintf(", %d replicas", p.Replicas)
	}
	if p.Tier != "" {
		text += ", votes of the meta shard on " + p.Tier
	}
	return text
}
