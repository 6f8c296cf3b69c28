package hosts

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// Records are all that a cluster knows of its hosts.
type Records struct {
	cluster    string // its id
	generation Generation
	policy     Policy
	hosts      []*Host  // by id, those that are expelled included
	shards     []*Shard // by id, the meta shard first
	tokens     []*Token // by id
	audit      []Entry  // by number

	// Counters never go back.
	lastHost    shard.HostID
	lastReplica uint64
	lastAudit   uint64
	revision    uint64
}

// rules are the names of all rules that came after the records themselves.
var rules []string

// rule returns the level from which a rule holds.
func rule(name string) level.Level {
	rules = append(rules, name)
	return level.Of(level.MetaRule, name)
}

// At is when a command is carried out, and for whom.
type At struct {
	Now  uint64 // shard time in milliseconds
	Term uint64 // of the leader, by the machine's clock
	Wall uint64 // milliseconds; for people
	// Level is the feature level of the cluster.
	Level level.Level
	// By is who asked, Why is the reason that was given.
	By, Why string
}

// Answer is what a command comes to.
type Answer struct {
	Status protocol.Status
	Text   string // for people: what was wrong, and what to do instead
	// Host is the host that the command is about.
	Host shard.HostID
	// Existed is set where the command changed nothing because it is so already.
	Existed bool
}

func refuse(status protocol.Status, format string, args ...any) Answer {
	return Answer{Status: status, Text: fmt.Sprintf(format, args...)}
}

func badRequest(err error) Answer { return refuse(protocol.StatusBadRequest, "%v", err) }

// forbid is for what the state does not allow.
func forbid(format string, args ...any) Answer {
	return refuse(protocol.StatusPreconditionFailed, format, args...)
}

// New returns the records of a cluster that has no host yet. The meta shard has the id 0 and is added to the list.
func New(cluster string, data []ShardID) *Records {
	r := &Records{cluster: cluster, policy: DefaultPolicy(), lastReplica: FirstReplica - 1}
	for _, id := range append([]ShardID{Meta}, slices.Sorted(slices.Values(data))...) {
		r.shards = append(r.shards, &Shard{ID: id})
	}
	return r
}

// Clone returns a copy that can be changed by itself. Its cost is that of the lists.
func (r *Records) Clone() *Records {
	c := *r
	c.hosts, c.shards, c.tokens = slices.Clone(r.hosts), slices.Clone(r.shards), slices.Clone(r.tokens)
	c.audit = slices.Clip(r.audit)
	return &c
}

// Generation distinguishes a cluster from the one that it was made of by a recovery: hosts of one refuse those of
// another. It is all zero until the first recovery.
type Generation struct {
	Number uint64 // one more with each recovery
	Draw   [16]byte
}

// Generation returns the one that the cluster is in.
func (r *Records) Generation() Generation { return r.generation }

// BeginGeneration puts the cluster into another generation.
func (r *Records) BeginGeneration(g Generation) {
	if g != r.generation {
		r.generation = g
		r.revision++
	}
}

// Cluster is the id of the cluster.
func (r *Records) Cluster() string { return r.cluster }

// Revision grows with every command that changes anything.
func (r *Records) Revision() uint64 { return r.revision }

// ContinueFrom raises the revision to one that records of before these have had: all that changes from now on has a
// later one.
func (r *Records) ContinueFrom(revision uint64) { r.revision = max(r.revision, revision) }

// Policy is what operators have asked for.
func (r *Records) Policy() Policy { return r.policy }

// Hosts are all hosts by id, those that are expelled included. They are to be read.
func (r *Records) Hosts() []*Host { return r.hosts }

// Host returns the host of an id, nil where there is none.
func (r *Records) Host(id shard.HostID) *Host {
	if i, ok := r.hostIndex(id); ok {
		return r.hosts[i]
	}
	return nil
}

// LastHost is the last id that a host was given.
func (r *Records) LastHost() shard.HostID { return r.lastHost }

func (r *Records) hostIndex(id shard.HostID) (int, bool) {
	return slices.BinarySearchFunc(r.hosts, id, func(h *Host, id shard.HostID) int { return cmp.Compare(h.ID, id) })
}

// Named returns the living host of a name, nil where there is none.
func (r *Records) Named(name string) *Host {
	for _, h := range r.hosts {
		if h.Name == name && h.Living() {
			return h
		}
	}
	return nil
}

// Incarnated returns the host of an incarnation, expelled or not, nil where there is none.
func (r *Records) Incarnated(i Incarnation) *Host {
	for _, h := range r.hosts {
		if h.Incarnation == i && i != (Incarnation{}) {
			return h
		}
	}
	return nil
}

// find returns what an operator names: a living host by its name, or any by its id.
func (r *Records) find(ref string) (*Host, Answer) {
	if h := r.Named(ref); h != nil {
		return h, Answer{}
	}
	if id, err := strconv.ParseUint(ref, 10, 64); err == nil {
		if h := r.Host(shard.HostID(id)); h != nil {
			return h, Answer{}
		}
	}
	return nil, refuse(protocol.StatusNotFound, "there is no host %q", form.Cut(ref, MaxName))
}

// living returns how many hosts are not expelled.
func (r *Records) living() int {
	n := 0
	for _, h := range r.hosts {
		if h.Living() {
			n++
		}
	}
	return n
}

// put replaces the record of a host, or adds it.
func (r *Records) put(h *Host) {
	r.revision++
	h.Changed = r.revision
	i, found := r.hostIndex(h.ID)
	if found {
		r.hosts[i] = h
		return
	}
	r.hosts = slices.Insert(r.hosts, i, h)
	r.lastHost = max(r.lastHost, h.ID)
}

// aim gives a host another target. A target of Online begins a new epoch.
func (r *Records) aim(at At, h *Host, variant protocol.HostState, why Reason, text string) {
	next := *h
	epoch := h.Target.Epoch
	if variant == protocol.HostOnline {
		epoch++
	}
	next.Target = State{Variant: variant, Epoch: epoch, Reason: why, Text: form.Cut(text, MaxText),
		Since: clock.Moment(at.Now), Wall: at.Wall}
	r.put(&next)
	r.note(at, EventTarget, &next, "%s, %s", variant, why)
}
