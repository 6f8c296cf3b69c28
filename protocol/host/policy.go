package host

import (
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Policy is what operators ask of the governor.
type Policy struct {
	// Voters is how many replicas of a shard vote in a cluster with as many hosts: 1, 3 or 5. With 0 the governor
	// chooses by the number of hosts. Of a data shard as many vote as Replicas says, unless Replicas is 0.
	Voters int
	// OfflineAfter is how long a host is silent before the host counts as failed.
	OfflineAfter time.Duration
	// ReplaceAfter is how long a failed voter keeps its vote while another host could have the vote; 0 is for ever.
	ReplaceAfter time.Duration
	// StableFor is how long a learner must have been up to date before the learner votes.
	StableFor time.Duration `name:"stabilization"`
	// BalanceEvery is how long a leadership rests after a handover that spreads the load; 0 leaves leaders alone.
	BalanceEvery time.Duration `name:"leader_rebalance"`
	// Copies is how many new replicas may be filled at once.
	Copies int `name:"max_replica_builds"`
	// Replicas is on how many hosts a data shard has a replica: 1, 3 or 5, and each of the replicas votes. With 0 every
	// host has a replica of every shard. Only above 0 may a cluster have more than nine hosts.
	Replicas int
	// Tier is a label of failure domains, such as "role=control": only hosts with the label vote in the meta shard. All
	// hosts may vote with an empty text, and while no host of the cluster has the label.
	Tier string `name:"meta_voter_label"`
}

// Fields implements field.Value.
func (p *Policy) Fields(c field.Coder) {
	c.Count("voters", &p.Voters)
	c.Millis("offline_after_ms", &p.OfflineAfter)
	c.Millis("replace_after_ms", &p.ReplaceAfter)
	c.Millis("stable_for_ms", &p.StableFor)
	c.Millis("balance_every_ms", &p.BalanceEvery)
	c.Count("max_replica_builds", &p.Copies)
	c.Count("replicas", &p.Replicas)
	c.Text("meta_voter_label", &p.Tier, 2*MaxLabel+1)
}

// Check returns what is wrong with the policy. The text is part of the state of the meta shard, which keeps answers, so
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

// Text returns the policy in words, for the audit history. The name is not String, because logs show a policy field by
// field, and fmt prefers String.
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
