package overview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

const (
	// patienceMillis is the time limit for every step: a host's start after its join, then coming online, then
	// getting its replicas and keeping up with the leaders.
	patienceMillis = 60_000
	// lateBackup is the age of the last backup above which an issue is listed, if the cluster has ever saved a
	// backup.
	lateBackup = 48 * time.Hour
)

// Issues returns the issues with hosts, shards, replicas and backups, worst first.
func (c *Cluster) Issues() []kind.Issue {
	var list []kind.Issue
	for _, h := range c.Records.Hosts() {
		if x := c.ofHost(h); x != nil {
			list = append(list, *x)
		}
	}
	list = append(list, c.ofShards()...)
	list = append(list, c.ofCopies()...)
	for _, x := range []*kind.Issue{c.ofSize(), c.ofVersions(), c.ofBackups()} {
		if x != nil {
			list = append(list, *x)
		}
	}
	slices.SortStableFunc(list, kind.Compare)
	return list
}

// issue returns an issue with a host, or with the cluster if the host is nil.
func issue(k kind.Kind, h *hosts.Host, format string, args ...any) *kind.Issue {
	about := kind.About{}
	if h != nil {
		about.Host = h.Name
	}
	x := kind.New(k, about, fmt.Sprintf(format, args...))
	return &x
}

// since converts a timestamp to wall clock time. The result is zero if the wall clock is unknown.
func (c *Cluster) since(moment uint64) time.Time { return c.ago(c.age(moment)) }

// ago returns the wall clock time the given number of milliseconds ago.
func (c *Cluster) ago(millis uint64) time.Time {
	if c.Wall.IsZero() {
		return time.Time{}
	}
	return c.Wall.Add(-time.Duration(min(millis, 1<<53)) * time.Millisecond)
}

// ofHost returns the most important issue with a host, nil for a healthy host. An expelled host has no issue, because
// it has left the cluster.
func (c *Cluster) ofHost(h *hosts.Host) *kind.Issue {
	var x *kind.Issue
	since := c.since(h.Target.Since)
	switch {
	case h.Current.Variant == protocol.HostExpelled:
		return nil
	case !h.Living():
		x = issue(kind.HostExpelling, h, "host %s is being expelled", h.Name)
	case h.Target.Reason == hosts.ReasonJoined:
		if c.age(h.Target.Since) < patienceMillis {
			return nil
		}
		x = issue(kind.HostNotStarted, h, "host %s has joined, but was never started", h.Name)
	case !h.Wanted():
		x = c.ofOffline(h)
	default:
		if x = c.ofOnline(h); x != nil {
			return x
		}
		if h.IsSlow() {
			x = issue(kind.HostSlow, h, "host %s is many times slower than the other hosts, and leads no shards: %s",
				h.Name, h.Slow.Text)
			x.Since = c.since(h.Slow.Since)
			return x
		}
		if !h.Cordoned {
			return nil
		}
		return issue(kind.HostCordoned, h, "host %s is cordoned: it gets no more replicas, votes and leaderships",
			h.Name)
	}
	x.Since = since
	return x
}

// ofOffline returns the issue with a host whose target state is not online.
func (c *Cluster) ofOffline(h *hosts.Host) *kind.Issue {
	switch {
	case h.Target.Reason == hosts.ReasonDrained && !h.Reached():
		return issue(kind.HostDrained, h, "host %s is being drained", h.Name)
	case h.Target.Reason == hosts.ReasonDrained:
		return issue(kind.HostDrained, h, "host %s is drained", h.Name)
	case h.Target.Reason.Failed() && c.full(h):
		x := issue(kind.HostFailed, h, "host %s accepts no log entries: its disk is nearly full", h.Name)
		x.Do = kind.DiskFull.Row().Do
		return x
	case h.Target.Reason.Failed():
		return c.replaceable(issue(kind.HostFailed, h, "host %s counts as failed: %s", h.Name, cmp.Or(h.Target.Text,
			h.Target.Reason.String())), h)
	}
	return issue(kind.HostStopped, h, "host %s is stopped", h.Name)
}

// full reports whether a host's disk is nearly full.
func (c *Cluster) full(h *hosts.Host) bool {
	return c.Seen != nil && slices.ContainsFunc(c.Seen.Hosts, func(seen governor.HostObservation) bool {
		return seen.Host == h.ID && seen.Full
	})
}

// ofOnline returns the issue with a host whose target state is online.
func (c *Cluster) ofOnline(h *hosts.Host) *kind.Issue {
	if c.Seen == nil {
		return nil
	}
	takesPart := governor.TakesPart(c.view(), h)
	for _, seen := range c.Seen.Hosts {
		switch {
		case seen.Host != h.ID:
		case !c.Seen.MayLive(h.ID):
			x := issue(kind.HostUnreachable, h, "host %s is unreachable", h.Name)
			x.Since = c.ago(seen.SilentFor)
			return c.replaceable(x, h)
		case h.Online() && !takesPart:
			return issue(kind.HostNotUpToDate, h, "host %s cannot confirm that its data is up to date", h.Name)
		case !takesPart:
			return c.replaceable(issue(kind.HostNotJoined, h,
				"host %s is reachable, but has not rejoined the cluster: it cannot confirm that its data is up "+
					"to date", h.Name), h)
		case !h.Online() && c.age(h.Target.Since) > patienceMillis:
			x := issue(kind.HostNotOnline, h, "host %s should be online, but is not online yet", h.Name)
			x.Since = c.since(h.Target.Since)
			return x
		}
	}
	return nil
}

// replaceable completes an issue's remedy if h may have to be replaced: an online host's address replaces HOST:PORT
// in the join command.
func (c *Cluster) replaceable(x *kind.Issue, h *hosts.Host) *kind.Issue {
	for _, other := range c.Records.Hosts() {
		if other.Online() && other.ID != h.ID {
			x.Do = strings.Replace(x.Do, "HOST:PORT", other.Addresses.Raft, 1)
			break
		}
	}
	return x
}

// ofShards returns the issues with shards. Shards with the same issue share an entry, to keep the list short.
func (c *Cluster) ofShards() (list []kind.Issue) {
	for _, r := range c.Redundancies() {
		if x := c.ofShard(&r); x != nil {
			list = addShard(list, x, r.Shard)
		}
	}
	for i := range list {
		if x := &list[i]; len(x.Shards) == 1 {
			x.Do = strings.ReplaceAll(x.Do, "SHARD", x.Shards[0])
		}
	}
	return list
}

// addShard adds an issue with a shard. If the list already contains an issue that is equal except for its shards, the
// shard is added to that issue instead.
func addShard(list []kind.Issue, x *kind.Issue, id hosts.ShardID) []kind.Issue {
	shards := []string{strconv.FormatUint(uint64(id), 10)}
	i := slices.IndexFunc(list, func(other kind.Issue) bool {
		return other.Kind == x.Kind && other.Text == x.Text && other.Host == x.Host &&
			other.WaitsFor == x.WaitsFor && other.Do == x.Do
	})
	if i >= 0 {
		shards = append(list[i].Shards, shards...)
	} else {
		i, list = len(list), append(list, *x)
	}
	about := x.About
	about.Shards = shards
	since := list[i].Since
	if !x.Since.IsZero() && x.Since.Before(since) {
		since = x.Since
	}
	list[i] = kind.New(x.Kind, about, x.Text)
	list[i].WaitsFor, list[i].Do, list[i].Since = x.WaitsFor, x.Do, since
	return list
}

// ofShard returns the worst issue with a shard, nil for a healthy shard: a lost quorum, a missing leader, missing
// voters, or no failure tolerance.
func (c *Cluster) ofShard(r *governor.Redundancy) *kind.Issue {
	switch {
	case r.Tolerated < 0:
		return c.withoutMajority(r)
	case c.LeaderOf(r.Shard) == 0:
		return issue(kind.NoLeader, nil, "no leader is known")
	case r.Voters < r.Wanted:
		x := issue(kind.UnderReplicated, nil, "%d of %d voters exist", r.Voters, r.Wanted)
		x.Since = c.shortSince(r.Shard)
		return x
	case r.Tolerated == 0 && r.Voters > 1:
		x := issue(kind.NoFailureTolerance, nil,
			"%d of %d voters are live: another failure stops changes", r.Live, r.Voters)
		x.Since = c.lostSince(r.Shard, r.Voters-hosts.Majority(r.Voters))
		return x
	}
	return c.ofDomains(r)
}

// lostSince returns when a shard had lost the given number of voters, the zero time if unknown. If the shard never had
// more voters than it needs, lostSince returns when the last voter was added.
func (c *Cluster) lostSince(id hosts.ShardID, lost int) time.Time {
	var ages []uint64
	var added uint64
	for _, p := range c.Records.Shard(id).Replicas {
		if p.Role != hosts.RoleVoter {
			continue
		}
		added = max(added, p.Since)
		if h := c.Records.Host(p.Host); h != nil && !c.Seen.MayLive(h.ID) {
			ages = append(ages, c.silence(h))
		}
	}
	switch slices.Sort(ages); {
	case lost == 0:
		return c.since(added)
	case lost > len(ages):
		return time.Time{}
	}
	return c.ago(ages[len(ages)-lost])
}

// silence returns for how long a host has been silent, in milliseconds: the longer time by the governor's observation
// and by the records, which outlast a governor.
func (c *Cluster) silence(h *hosts.Host) (age uint64) {
	for _, seen := range c.Seen.Hosts {
		if seen.Host == h.ID {
			age = seen.SilentFor
		}
	}
	if !h.Wanted() {
		age = max(age, c.age(h.Target.Since))
	}
	return age
}

// shortSince returns when a shard began to have fewer voters than configured: when a voter was removed, or when a host
// came that will get a vote.
func (c *Cluster) shortSince(id hosts.ShardID) time.Time {
	s, began := c.Records.Shard(id), uint64(0)
	for _, p := range s.Replicas {
		if p.Role == hosts.RoleRemoved {
			began = max(began, p.Since)
		}
	}
	for _, h := range c.Records.Hosts() {
		if on := s.On(h.ID); h.Online() && (on == nil || on.Role != hosts.RoleVoter) {
			began = max(began, h.Current.Since)
		}
	}
	if began == 0 {
		return time.Time{}
	}
	return c.since(began)
}

// withoutMajority returns the issue for a shard that has lost its quorum. The remedy depends on the silent voters: a
// host being expelled does not come back.
func (c *Cluster) withoutMajority(r *governor.Redundancy) *kind.Issue {
	x := issue(kind.NoQuorum, nil, "%d of %d voters are live", r.Live, r.Voters)
	x.Since = c.lostSince(r.Shard, r.Voters-hosts.Majority(r.Voters)+1)
	var all, away, gone []string
	for _, h := range c.Records.Hosts() {
		switch on := c.Records.Shard(r.Shard).On(h.ID); {
		case on == nil || on.Role != hosts.RoleVoter || c.Seen.MayLive(h.ID):
			continue
		case h.Living():
			away = append(away, h.Name)
		default:
			gone = append(gone, h.Name)
		}
		all = append(all, h.Name)
	}
	x.WaitsFor = strings.Join(all, ", ")
	if len(gone) == 0 || r.Shard == hosts.Meta {
		return x
	}
	x.Do = strings.Join(gone, ", ") + " was expelled by the recovery of another shard and will not return: "
	if r.Live+len(away) >= hosts.Majority(r.Voters) {
		x.Do += "start " + strings.Join(away, ", ") + " with its own data directory; if the directory is " +
			"permanently lost: "
	}
	x.Do += "signalbox shard recover SHARD for this shard too"
	return x
}

// ofCopies returns the issues with missing replicas, silent learners, and replicas far behind the leader. Replicas
// that are new, or on a new host, get patienceMillis to catch up.
func (c *Cluster) ofCopies() (list []kind.Issue) {
	if c.Seen == nil {
		return nil
	}
	for _, s := range c.Records.Shards() {
		if s.Phase == hosts.ShardRetired {
			continue // its replicas are only to be deleted
		}
		seen := c.seenShard(s.ID)
		for _, h := range c.Records.Hosts() {
			on := s.On(h.ID)
			switch {
			case !h.Online() || !h.Wanted():
			case c.Records.Spread() && s.ID != hosts.Meta && (on == nil || !on.Member()): // replicas are elsewhere
			case on == nil || !on.Member():
				if !h.Cordoned && c.age(h.Current.Since) > patienceMillis &&
					(on == nil || c.age(on.Since) > patienceMillis) {
					x := issue(kind.ReplicaMissing, h, "host %s has no replica", h.Name)
					x.Since = c.since(h.Current.Since)
					if on != nil {
						x.Since = c.since(max(h.Current.Since, on.Since))
					}
					x.WaitsFor = h.Name
					list = addShard(list, x, s.ID)
				}
			case on.Role == hosts.RoleLearner && !c.Seen.MayLive(h.ID):
				x := issue(kind.LearnerDown, h, "learner host %s is unreachable", h.Name)
				x.Since = c.ago(c.silence(h))
				x.WaitsFor = h.Name
				list = addShard(list, x, s.ID)
			case seen != nil:
				i := slices.IndexFunc(seen.Replicas, func(r governor.ReplicaSeen) bool { return r.ID == on.ID })
				if i >= 0 && c.Seen.MayLive(h.ID) && seen.Replicas[i].BehindFor > patienceMillis {
					x := issue(kind.ReplicaLagging, h, "the replica on host %s is behind", h.Name)
					x.Since = c.ago(seen.Replicas[i].BehindFor)
					x.WaitsFor = h.Name
					list = addShard(list, x, s.ID)
				}
			}
		}
	}
	return list
}

// ofDomains returns an issue that names the failure domain labels shared by too many voters: if all hosts with a
// named label fail together, the shard loses its quorum. The policy may require one label (the tier) for voters, so
// that label is ignored.
func (c *Cluster) ofDomains(r *governor.Redundancy) *kind.Issue {
	var bad []string
	for _, d := range r.Domains {
		if !d.Tolerated && r.Voters > 2 && d.Label != c.Records.Policy().Tier {
			bad = append(bad, d.Label)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return issue(kind.NoDomainTolerance, nil, "the failure of %s stops changes",
		strings.Join(bad, ", or of "))
}

// ofSize returns an issue if the cluster has one or two living hosts, and so cannot tolerate a host failure.
func (c *Cluster) ofSize() *kind.Issue {
	var living []*hosts.Host
	for _, h := range c.Records.Hosts() {
		if h.Living() {
			living = append(living, h)
		}
	}
	switch len(living) {
	case 1:
		return issue(kind.SingleHost, nil, "one host: no other host can serve clients")
	case 2:
		return issue(kind.TwoHosts, nil, "two hosts: %s", c.votesOf(living))
	}
	return nil
}

// votesOf describes which of two hosts vote in any shard, and what is lost if one fails.
func (c *Cluster) votesOf(two []*hosts.Host) string {
	var voters []string
	for _, h := range two {
		if slices.ContainsFunc(c.Records.Shards(), func(s *hosts.Shard) bool {
			on := s.On(h.ID)
			return on != nil && on.Role == hosts.RoleVoter
		}) {
			voters = append(voters, h.Name)
		}
	}
	if len(voters) == 1 {
		return fmt.Sprintf("only %s votes: its failure stops changes", voters[0])
	}
	return fmt.Sprintf("%s and %s vote: the failure of either stops changes", two[0].Name, two[1].Name)
}

// ofVersions returns an issue if living hosts run different versions, as during a rolling upgrade.
func (c *Cluster) ofVersions() *kind.Issue {
	versions := make(map[string]bool)
	for _, h := range c.Records.Hosts() {
		if h.Living() && h.Version != "" {
			versions[h.Version] = true
		}
	}
	if len(versions) < 2 {
		return nil
	}
	return issue(kind.MixedVersions, nil, "versions: %s",
		strings.Join(slices.Sorted(maps.Keys(versions)), ", "))
}

// wasSaved is part of every audit entry for a completely saved state. Entries without it are about states being saved
// or were given up.
const wasSaved = " was saved, "

// ofBackups returns an issue if backups have stopped. The audit log records, by wall clock, when a state was last
// saved.
func (c *Cluster) ofBackups() *kind.Issue {
	entries := c.Records.Audit(1, hosts.MaxAudit)
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		if e.Event != hosts.EventBackup || !strings.Contains(e.Text, wasSaved) {
			continue
		}
		last := time.UnixMilli(int64(e.Wall))
		if c.Wall.IsZero() || c.Wall.Sub(last) < lateBackup {
			return nil
		}
		x := issue(kind.BackupOverdue, nil, "the last backup was saved at %s", last.UTC().Format(time.DateTime+" UTC"))
		x.Since = last.Add(lateBackup)
		return x
	}
	return nil
}
