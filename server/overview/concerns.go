package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

const (
	// patienceMillis is how long a host may take to be started after it has joined, and to be online after that.
	patienceMillis = 60_000
	// freshMillis is how long a host that became online may take to confirm that it is up to date.
	freshMillis = 10_000
)

// Concerns returns what is not as it should be, the worst first.
func (c *Cluster) Concerns() []protocol.Concern {
	var list []protocol.Concern
	for _, h := range c.Records.Hosts() {
		if x := c.ofHost(h); x != nil {
			x.HostID = uint64(h.ID)
			list = append(list, *x)
		}
	}
	list = append(list, c.ofShards()...)
	if x := c.ofSize(); x != nil {
		list = append(list, *x)
	}
	slices.SortStableFunc(list, func(a, b protocol.Concern) int { return cmp.Compare(b.Severity, a.Severity) })
	return list
}

func concern(s protocol.Severity, code, mend, format string, args ...any) *protocol.Concern {
	return &protocol.Concern{
		Severity: s, Code: []byte(code), Mend: clip(mend), Text: clip(fmt.Sprintf(format, args...)),
	}
}

// ofHost returns what is not as it should be with one host, nil for nothing.
func (c *Cluster) ofHost(h *hosts.Host) *protocol.Concern {
	switch {
	case h.Current.Variant == protocol.HostExpelled:
		return nil
	case !h.Living():
		return concern(protocol.SeverityNote, "expelling", "signalbox cluster why says what it waits for",
			"host %s is being expelled", h.Name)
	case h.Target.Reason == hosts.ReasonJoined:
		if c.age(h.Target.Since) < patienceMillis {
			return nil
		}
		return concern(protocol.SeverityWarning, "not-started", "start it, or: signalbox host expel "+h.Name,
			"host %s has joined and was not started since", h.Name)
	case !h.Wanted():
		return c.ofOffline(h)
	}
	if x := c.ofOnline(h); x != nil {
		return x
	}
	if h.Cordoned {
		return concern(protocol.SeverityNote, "cordoned", "signalbox host uncordon "+h.Name,
			"host %s is cordoned: it gets no more replicas, votes and leaderships", h.Name)
	}
	return nil
}

// ofOffline is about a host that is not to be online.
func (c *Cluster) ofOffline(h *hosts.Host) *protocol.Concern {
	since := round(c.age(h.Target.Since))
	switch {
	case h.Target.Reason == hosts.ReasonDrained:
		return concern(protocol.SeverityNote, "drained", "signalbox host undrain "+h.Name,
			"host %s is drained, for %v", h.Name, since)
	case h.Target.Reason.Failed():
		return concern(protocol.SeverityWarning, "failed", c.replacement(h),
			"host %s is taken for failed since %v: %s", h.Name, since, reasonOf(&h.Target))
	}
	return concern(protocol.SeverityWarning, "stopped",
		"start it again; if it is not to come back: signalbox host expel "+h.Name, "host %s is stopped, since %v",
		h.Name, since)
}

// ofOnline is about a host that is to be online.
func (c *Cluster) ofOnline(h *hosts.Host) *protocol.Concern {
	if c.Seen == nil {
		return nil
	}
	for _, seen := range c.Seen.Hosts {
		switch {
		case seen.Host != h.ID:
		case !c.Seen.Alive(h.ID):
			return concern(protocol.SeverityWarning, "silent", c.replacement(h), "host %s is not heard, for %v", h.Name,
				round(seen.SilentFor))
		case h.Online() && seen.FreshFor == 0 && c.age(h.Current.Since) > freshMillis:
			return concern(protocol.SeverityWarning, "not-fresh", "look at its log, its load and its network",
				"host %s does not confirm that it is up to date", h.Name)
		case !h.Online() && c.age(h.Target.Since) > patienceMillis:
			return concern(protocol.SeverityWarning, "not-online", "signalbox cluster why says what it waits for",
				"host %s is to be online since %v, and is not yet", h.Name, round(c.age(h.Target.Since)))
		}
	}
	return nil
}

// replacement says what to do about a host that is away.
func (c *Cluster) replacement(h *hosts.Host) string {
	address := "HOST:PORT"
	for _, other := range c.Records.Hosts() {
		if other.Online() && other.ID != h.ID {
			address = other.Addresses.Raft
			break
		}
	}
	return fmt.Sprintf("start it again; if its machine or its disk is lost, start one with an empty data directory: "+
		"signalbox serve --join %s --name NAME --replace %s", address, h.Name)
}

func reasonOf(s *hosts.State) string {
	if s.Text == "" {
		return s.Reason.String()
	}
	return s.Text
}

// ofShards returns what is not as it should be with shards: those of which the same is to be said stand together.
func (c *Cluster) ofShards() (list []protocol.Concern) {
	for _, r := range c.Redundancies() {
		x := c.ofShard(&r)
		if x == nil {
			continue
		}
		i := slices.IndexFunc(list, func(other protocol.Concern) bool {
			return string(other.Code) == string(x.Code) && string(other.Text) == string(x.Text)
		})
		if i < 0 {
			i = len(list)
			list = append(list, *x)
		}
		list[i].Shards.Append(protocol.ShardID(r.Shard))
	}
	return list
}

// ofShard returns the worst that is to be said of a shard, nil for nothing.
func (c *Cluster) ofShard(r *governor.Redundancy) *protocol.Concern {
	switch {
	case r.Tolerated < 0:
		return concern(protocol.SeverityFailure, "quorum",
			"start the hosts that are away; changes are refused until a majority of the voters is there",
			"%d of %d voters are alive", r.Live, r.Voters)
	case c.LeaderOf(r.Shard) == 0:
		return concern(protocol.SeverityFailure, "leader",
			"changes are refused until one is elected: look at the logs of the hosts and at the network between them",
			"no leader is known")
	case r.Voters < r.Wanted:
		return concern(protocol.SeverityWarning, "few-voters", "signalbox cluster why says what that waits for",
			"%d replicas vote, and %d are to", r.Voters, r.Wanted)
	case r.Tolerated == 0 && r.Voters > 1:
		return concern(protocol.SeverityWarning, "tolerance", "bring back the hosts that are away, or replace them",
			"%d of %d voters are alive: when one more fails, changes are refused", r.Live, r.Voters)
	}
	return c.ofDomains(r)
}

// ofDomains is about labels that too many voters share.
func (c *Cluster) ofDomains(r *governor.Redundancy) *protocol.Concern {
	var bad []string
	for _, d := range r.Domains {
		if !d.Tolerated && r.Voters > 2 {
			bad = append(bad, d.Key+"="+d.Value)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return concern(protocol.SeverityNote, "domains", "spread the hosts over three or more values of each key, and say "+
		"so: signalbox host alter HOST --domain KEY=VALUE",
		"when all of %s fails, changes are refused", strings.Join(bad, ", or all of "))
}

// ofSize is about clusters that are too small to lose a host.
func (c *Cluster) ofSize() *protocol.Concern {
	var living []*hosts.Host
	for _, h := range c.Records.Hosts() {
		if h.Living() {
			living = append(living, h)
		}
	}
	const grow = "add hosts until there are three: signalbox host join-token says how"
	switch len(living) {
	case 1:
		return concern(protocol.SeverityNote, "one-host", grow, "one host: while it is away, no client is served")
	case 2:
		voter, learner := living[0], living[1]
		if on := c.Records.Shard(hosts.Meta).On(voter.ID); on == nil || on.Role != hosts.RoleVoter {
			voter, learner = learner, voter
		}
		return concern(protocol.SeverityWarning, "two-hosts", grow,
			"two hosts: %s votes and %s learns; while %s is away, changes are refused", voter.Name, learner.Name,
			voter.Name)
	}
	return nil
}

// round is a time for people.
func round(millis uint64) time.Duration {
	d := time.Duration(min(millis, 1<<53)) * time.Millisecond
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}
