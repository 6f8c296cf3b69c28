package handle

import (
	"errors"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/watch"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Host is the handlers' interface to their host.
type Host struct {
	ID      shard.HostID
	Name    string
	Cluster string
	Version string

	Set     *replica.Set
	Meta    *replica.Meta // from the replica set
	Metrics *metrics.Metrics
	Gate    *caller.Gate
	Watches *watch.Budget
	Clock   func() time.Time

	// Refusal returns the reason why the host rejects changes in all shards, nil if it accepts changes.
	Refusal func() error
	// AboveLevel returns the answer to a request that needs a higher feature level than the cluster, or a shard, has
	// reached.
	AboveLevel func(needs level.Level) *protocol.Result
}

// NotUpToDate is the answer after a failed barrier.
var NotUpToDate = protocol.Result{
	Status: protocol.StatusUnavailable, Message: "the host cannot confirm that its data is up to date",
}

// MetaAway is the answer if the meta shard is unavailable.
var MetaAway = protocol.Result{
	Status: protocol.StatusUnavailable, Message: "the meta shard is unreachable at the moment",
}

// HomeAway is the answer if a session's home shard is unavailable.
var HomeAway = protocol.Result{
	Status: protocol.StatusUnavailable, Message: "the session's home shard is unreachable at the moment",
}

// MetaUnfilled is the answer if a node is unknown here but may exist.
var MetaUnfilled = protocol.Result{
	Status: protocol.StatusUnavailable, Message: "the host's meta shard replica is being filled",
	WaitMillis: uint64(replica.OverloadWait.Milliseconds()),
}

// Refuse returns an error with a status and a message.
func Refuse(s protocol.Status, message string) error {
	return &protocol.Result{Status: s, Message: message}
}

// BadRequest is Refuse with the status BAD_REQUEST.
func BadRequest(message string) error { return Refuse(protocol.StatusBadRequest, message) }

// Overloaded refuses a request because of a host limit.
func Overloaded(message string) error {
	return &protocol.Result{
		Status: protocol.StatusOverloaded, Message: message,
		WaitMillis: uint64(replica.OverloadWait.Milliseconds()),
	}
}

// TooManyWatches refuses a watch if the connection has too many.
func TooManyWatches() error { return Overloaded("too many open watches on the connection") }

// TooMuchWatched refuses a watch because of the budget shared by all clients.
func TooMuchWatched() error {
	return Overloaded("the open watches have reached the memory limit of the host (max-watch-memory)")
}

// QueueFull refuses a command because a pipeline is full.
func QueueFull() error { return Overloaded("the shard's queue is full") }

// Moved returns the refusal that contains the address of the shard's leader.
func (h *Host) Moved(rp *replica.Replica) error {
	result := h.Set.Moved(rp)
	return &result
}

// AdmitsWrites refuses a change in a shard the host leads, if the host currently rejects changes.
func (h *Host) AdmitsWrites(of interface{ Guard() error }) error {
	err := of.Guard()
	if err == nil {
		err = h.Refusal()
	}
	if err == nil {
		return nil
	}
	return &protocol.Result{Status: protocol.StatusStorageFull, Message: err.Error(), WaitMillis: 1000}
}

// Unfilled reports whether the local host's meta shard replica may lack the node. A host that has just received a
// meta shard replica may already lead a data shard.
func (h *Host) Unfilled(id shard.NodeID) bool { return h.Meta.Machine.NodeAlive(id) == meta.NodeLater }

// Consistency returns the requested consistency, or else the node's default.
func (h *Host) Consistency(asked protocol.Consistency, id shard.NodeID) protocol.Consistency {
	if asked != protocol.ConsistencyUnset {
		return asked
	}
	n, ok := h.Meta.Machine.NodeByID(id)
	if !ok {
		return protocol.ConsistencyStrict // the node may require strict reads
	}
	return n.Config.Effective().ReadConsistency
}

// Read returns the reply from a function that reads a replica at the requested consistency: immediately, or after a
// barrier. Every host answers reads. A relaxed read uses a replica that was recently proven up to date. A strict read
// waits for a barrier that began after the request; all waiting reads share the barrier. The function may run on
// another goroutine, after the request's bytes are invalid.
func (h *Host) Read(rp *replica.Replica, consistency protocol.Consistency, read Reader) (Reply, error) {
	if rp.MayAnswer(consistency) {
		return read()
	}
	if !rp.Holds() {
		return nil, h.Moved(rp)
	}
	return Later(func(t Ticket) {
		rp.Confirm(func(ok, _ bool) {
			if !ok {
				t.Fail(&NotUpToDate)
				return
			}
			t.Complete(read())
		})
	}), nil
}

// Reader answers a request after the read barrier.
type Reader func() (Reply, error)

// ConfirmMeta calls read after the host's meta shard replica has everything that was committed before the call.
func (h *Host) ConfirmMeta(read Reader) Reply {
	return Later(func(t Ticket) {
		h.Meta.Confirm(func(ok bool) {
			if !ok {
				t.Fail(&MetaAway)
				return
			}
			t.Complete(read())
		})
	})
}

// ConfirmLed calls read after the host has confirmed that it leads a shard.
func (h *Host) ConfirmLed(rp *replica.Replica, read Reader) Reply {
	return Later(func(t Ticket) {
		rp.Confirm(func(ok, led bool) {
			switch {
			case !ok:
				t.Fail(&NotUpToDate)
			case !led:
				t.Fail(h.Moved(rp))
			default:
				t.Complete(read())
			}
		})
	})
}

// LeadsMeta refuses a request, naming the leader, unless the host leads the meta shard.
func (h *Host) LeadsMeta() error {
	l := h.Meta.Leader()
	if l.Leader == h.ID {
		return nil
	}
	result := h.Set.MovedTo(replica.MetaShard, l.Leader)
	return &result
}

// ErrNotBootstrapped is the error, and the answer, while the meta shard has no host records. The records are created
// without intervention as soon as all hosts support them, so the client should retry.
var ErrNotBootstrapped error = &protocol.Result{
	Status: protocol.StatusUnavailable, WaitMillis: 50,
	Message: "the cluster has no host records yet: some hosts have not registered, or do not support the feature " +
		"level; see signalbox status",
}

// ErrNotGoverning is the error, and the answer, from a host that is not the governor or has not yet received reports
// from all other hosts.
var ErrNotGoverning error = &protocol.Result{
	Status: protocol.StatusUnavailable, WaitMillis: 200,
	Message: "the governor has no reports from the other hosts yet",
}

// ResultOf converts an error to a result. An error without a status means that the host cannot answer at the moment.
func ResultOf(err error) *protocol.Result {
	var result *protocol.Result
	if errors.As(err, &result) {
		return result
	}
	return &protocol.Result{Status: protocol.StatusUnavailable, Message: err.Error()}
}
