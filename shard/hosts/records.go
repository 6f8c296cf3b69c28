package hosts

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
	table "github.com/signalbox/signalbox/shard/slots"
)

// Records are what a cluster knows about its hosts.
type Records struct {
	cluster    string // cluster id
	generation Generation
	policy     host.Policy
	hosts      []*Host      // by id, including expelled hosts
	shards     []*Shard     // by id, the meta shard first
	tokens     []*Token     // by id
	audit      []Entry      // by number
	slots      *table.Table // never modified, only replaced
	orders     []*SlotOrder // by slot
	rebalance  Rebalance
	held       MovesHold
	past       past

	// Counters never go back.
	lastHost    shard.HostID
	lastShard   ShardID
	lastReplica uint64
	lastAudit   uint64
	revision    uint64
}

// At is when a command is executed, and for whom.
type At struct {
	Now  uint64 // shard time in milliseconds
	Term uint64 // the leader's term, by the machine's clock
	Wall uint64 // milliseconds; informational
	// Version is the meta machine's version that includes the command's change.
	Version uint64
	// Level is the cluster's feature level.
	Level level.Level
	// By is the author, Why is the given reason.
	By, Why string
}

// Answer is the answer to a command.
type Answer struct {
	Status protocol.Status
	Text   string // for people: the error, and what to do instead
	// Host is the host the command concerns.
	Host shard.HostID
	// Shard is the first shard that the command added.
	Shard ShardID
	// Existed is set if the command changed nothing because the requested state already existed.
	Existed bool
}

func refuse(status protocol.Status, format string, args ...any) Answer {
	return Answer{Status: status, Text: fmt.Sprintf(format, args...)}
}

func badRequest(err error) Answer { return refuse(protocol.StatusBadRequest, "%v", err) }

// forbid is for commands the state does not allow.
func forbid(format string, args ...any) Answer {
	return refuse(protocol.StatusPreconditionFailed, format, args...)
}

// New returns the records for a cluster that has no host yet. The meta shard has id 0 and is added to the list. The
// data shards own equal shares of the slots.
func New(cluster string, data []ShardID) *Records {
	r := &Records{cluster: cluster, policy: DefaultPolicy(), lastReplica: FirstReplica - 1}
	var owners []uint64
	for _, id := range append([]ShardID{Meta}, slices.Sorted(slices.Values(data))...) {
		r.shards = append(r.shards, &Shard{ID: id})
		owners, r.lastShard = append(owners, uint64(id)), id
	}
	r.slots = table.NewTable(owners[1:])
	return r
}

// Clone returns an independent copy, at the cost of copying the lists.
func (r *Records) Clone() *Records {
	c := *r
	c.hosts, c.shards, c.tokens = slices.Clone(r.hosts), slices.Clone(r.shards), slices.Clone(r.tokens)
	c.audit, c.orders = slices.Clip(r.audit), slices.Clone(r.orders)
	return &c
}

// Generation distinguishes a recovered cluster from the cluster whose state it was created from: the hosts in each
// refuse the hosts in the other. The generation is all zero until the first recovery.
type Generation struct {
	Number uint64 // one more with each recovery
	Draw   [16]byte
}

// Generation returns the cluster's generation.
func (r *Records) Generation() Generation { return r.generation }

// BeginGeneration puts the cluster into a new generation.
func (r *Records) BeginGeneration(g Generation) {
	if g != r.generation {
		r.generation = g
		r.revision++
	}
}

// Cluster is the cluster id.
func (r *Records) Cluster() string { return r.cluster }

// Revision grows with every command that changes anything.
func (r *Records) Revision() uint64 { return r.revision }

// ContinueFrom raises the revision to a number that earlier records have reached: all later changes get higher
// revisions.
func (r *Records) ContinueFrom(revision uint64) { r.revision = max(r.revision, revision) }

// Policy returns the policy set by operators.
func (r *Records) Policy() host.Policy { return r.policy }

// Hosts are all hosts by id, including expelled hosts. Callers must not modify the list.
func (r *Records) Hosts() []*Host { return r.hosts }

// Host returns the host with an id, or nil.
func (r *Records) Host(id shard.HostID) *Host {
	if i, ok := r.hostIndex(id); ok {
		return r.hosts[i]
	}
	return nil
}

// LastHost is the last host id issued.
func (r *Records) LastHost() shard.HostID { return r.lastHost }

func (r *Records) hostIndex(id shard.HostID) (int, bool) {
	return slices.BinarySearchFunc(r.hosts, id, func(h *Host, id shard.HostID) int { return cmp.Compare(h.ID, id) })
}

// Named returns the living host with a name, or nil.
func (r *Records) Named(name string) *Host {
	return r.first(func(h *Host) bool { return h.Name == name && h.Living() })
}

// Incarnated returns the host with an incarnation, expelled or not, or nil.
func (r *Records) Incarnated(i Incarnation) *Host {
	return r.first(func(h *Host) bool { return h.Incarnation == i && i != (Incarnation{}) })
}

func (r *Records) first(is func(*Host) bool) *Host {
	if i := slices.IndexFunc(r.hosts, is); i >= 0 {
		return r.hosts[i]
	}
	return nil
}

// find returns the host named in an operator's command: a living host by its name, or any host by its id.
func (r *Records) find(ref string) (*Host, Answer) {
	if h := r.Named(ref); h != nil {
		return h, Answer{}
	}
	if id, err := strconv.ParseUint(ref, 10, 64); err == nil {
		if h := r.Host(shard.HostID(id)); h != nil {
			return h, Answer{}
		}
	}
	return nil, refuse(protocol.StatusNotFound, "there is no host %q", codec.Cut(ref, MaxName))
}

// Living returns how many hosts are not expelled.
func (r *Records) Living() (n int) {
	for _, h := range r.hosts {
		n += count(h.Living())
	}
	return n
}

// put adds or replaces a host's record.
func (r *Records) put(h *Host) {
	r.revision++
	i, found := r.hostIndex(h.ID)
	if !found {
		h.Changed = r.revision
		r.hosts = slices.Insert(r.hosts, i, h)
		r.lastHost = max(r.lastHost, h.ID)
		return
	}
	h.Changed = r.hosts[i].Changed
	if !h.routedAs(r.hosts[i]) {
		h.Changed = r.revision
	}
	r.hosts[i] = h
}

// aim sets a host's target. The target Online begins a new epoch.
func (r *Records) aim(at At, h *Host, variant protocol.HostState, why Reason, text string) Answer {
	next := *h
	epoch := h.Target.Epoch
	if variant == protocol.HostOnline {
		epoch++
	}
	next.Target = State{Variant: variant, Epoch: epoch, Reason: why, Text: codec.Cut(text, MaxText),
		Since: clock.Moment(at.Now), Wall: at.Wall}
	r.put(&next)
	r.note(at, EventTarget, &next, "%s, %s", variant, why)
	return Answer{Host: h.ID}
}

// alter replaces a host's record by a changed record.
func (r *Records) alter(at At, next *Host, format string, args ...any) Answer {
	r.put(next)
	r.note(at, EventAlter, next, format, args...)
	return Answer{Host: next.ID}
}
