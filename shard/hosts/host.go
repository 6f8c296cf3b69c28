package hosts

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// Reason is why a host is in a state.
type Reason uint8

// The reasons.
const (
	ReasonBootstrap Reason = 1 + iota // the host is an initial member
	ReasonJoined                      // the host has joined, and has not booted
	ReasonStarted                     // its process has started
	ReasonReturned                    // the host was wrongly considered failed
	ReasonShutdown                    // its process is stopping
	ReasonDrained                     // an operator drained the host
	ReasonUndrained
	ReasonSilent   // there was no contact with the host
	ReasonStuck    // the host answers, but makes no progress
	ReasonExpelled // an operator expelled the host
	ReasonReplaced // a new host replaced it
	reasons
)

var reasonNames = [reasons]string{
	ReasonBootstrap: "bootstrap", ReasonJoined: "joined", ReasonStarted: "started", ReasonReturned: "returned",
	ReasonShutdown: "shutdown", ReasonDrained: "drained", ReasonUndrained: "undrained", ReasonSilent: "no-contact",
	ReasonStuck: "stalled", ReasonExpelled: "expelled", ReasonReplaced: "replaced",
}

// String returns the reason's name for people.
func (r Reason) String() string { return reasonNames[r] }

// Failed reports whether a host with this reason was considered failed, as opposed to stopped or drained on purpose.
func (r Reason) Failed() bool { return r == ReasonSilent || r == ReasonStuck }

// State is either a host's target, or its current state, to which the cluster has brought the host.
type State struct {
	Variant protocol.HostState
	// Epoch counts how often the host got the target Online. A restart that did not count as a failure begins a new
	// epoch, so the current state differs from the target even then.
	Epoch  uint64
	Reason Reason
	Text   string
	Since  uint64 // shard time
	Wall   uint64 // the proposing host's wall clock, in milliseconds; informational
}

// same compares two states without their times and reasons.
func (s *State) same(other *State) bool { return s.Variant == other.Variant && s.Epoch == other.Epoch }

// Addresses are a host's network addresses. They are not part of its identity.
type Addresses struct {
	Raft   string // for other hosts
	Client string // by clients
	Admin  string // for its admin pages; may be empty
}

// Host is one host's record. Records are replaced, never modified: a record held by a caller does not change.
type Host struct {
	ID          shard.HostID
	Name        string
	Incarnation Incarnation
	Start       Start // the latest reported start
	Domain      Domain
	Addresses   Addresses
	Version     string
	Level       level.Level // the highest level the host supports
	Current     State
	Target      State
	Cordoned    bool
	// Weighs is one more than the weight set by an operator, 0 for a host with DefaultWeight.
	Weighs uint64

	// Failures counts how often in a row the host was considered failed. The host does not return before ReturnAfter,
	// in shard time.
	Failures    uint64
	ReturnAfter uint64
	// Replaces is the host this host replaced, 0 for none.
	Replaces shard.HostID
	// Grace is the longest grace period that a node may have at the host's expulsion, in milliseconds. Bare is when the
	// expelled host ceased to have replicas, 0 while the host has a replica.
	Grace, Bare uint64
	// Lost is set if a shard lost its majority with the host: peers refuse the host from the order on.
	Lost bool
	Slow Slow
	// Changed is the revision of the last change relevant to client routing: the host's name, client address or current
	// state, or the shards with a replica on the host.
	Changed uint64
}

// routedAs reports whether clients see no difference between two records of the host.
func (h *Host) routedAs(other *Host) bool {
	return h.Name == other.Name && h.Addresses.Client == other.Addresses.Client &&
		h.Current.Variant == other.Current.Variant
}

// Weight is the host's share of data shard replicas, if data shards have replicas on only some hosts.
func (h *Host) Weight() int {
	if h.Weighs == 0 {
		return DefaultWeight
	}
	return int(h.Weighs - 1)
}

// Living reports whether the host belongs to the cluster: it is neither expelled nor being expelled.
func (h *Host) Living() bool { return h.Target.Variant != protocol.HostExpelled }

// Refused reports whether the other hosts refuse the host permanently. A host that is being expelled, and was not lost,
// is admitted until its expulsion is final: removing its own votes may require it.
func (h *Host) Refused() bool { return h.Lost || h.Current.Variant == protocol.HostExpelled }

// Wanted reports whether the host should be online.
func (h *Host) Wanted() bool { return h.Target.Variant == protocol.HostOnline }

// Online reports whether the host is online and should be.
func (h *Host) Online() bool { return h.Wanted() && h.Current.same(&h.Target) }

// Reached reports whether the host's current state is its target.
func (h *Host) Reached() bool { return h.Current.same(&h.Target) }

// Domain is a host's failure domain. Package protocol/host declares the type once, for hosts and clients.
type Domain = host.Domain

func (a *Addresses) check() error {
	for _, f := range []struct {
		what, value string
		least       int
	}{{"Raft address", a.Raft, 1}, {"client address", a.Client, 1}, {"admin address", a.Admin, 0}} {
		if err := host.CheckWord("the "+f.what, f.value, f.least, MaxAddress); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys checks that a domain has every key used by the living hosts' domains, because a host without a key would
// count as far from all others.
func (r *Records) checkKeys(d Domain, except *Host) error {
	for _, h := range r.hosts {
		if h == except || !h.Living() {
			continue
		}
		for _, l := range h.Domain {
			if d.Value(l.Key) == "" {
				return fmt.Errorf("the failure domain lacks the key %s, which host %s has: give it by --failure-domain",
					l.Key, h.Name)
			}
		}
	}
	return nil
}
