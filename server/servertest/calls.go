package servertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// callDelay is the duration of a call in each direction. In a bubble it costs no time.
const callDelay = time.Millisecond

// errHostDown: the called host does not run.
var errHostDown = errors.New("servertest: that host does not run")

// callsOf are one host's calls. They succeed if the network passes log messages in both directions. It implements
// executor.Calls.
type callsOf struct {
	cluster *Cluster
	from    shard.HostID
}

// Call implements executor.Calls. A blocked call has no answer.
func (c callsOf) Call(ctx context.Context, to shard.HostID, request []byte) ([]byte, error) {
	if err := c.pass(ctx, to); err != nil {
		return nil, err
	}
	other := c.cluster.Host(to)
	if other == nil {
		return nil, errHostDown
	}
	if err := c.cluster.admit(to, other, c.from); err != nil {
		return nil, err
	}
	answer, err := other.Answer(ctx, c.from, request)
	if err != nil {
		return nil, err
	}
	if c.cluster.Host(to) != other {
		return nil, errHostDown // it ended before answering
	}
	return answer, c.pass(ctx, to)
}

// announce announces a host's leaderships to all reachable hosts.
func (c *Cluster) announce(from shard.HostID) {
	own := c.Host(from)
	if own == nil {
		return // not yet: open announces
	}
	for _, id := range c.Members() {
		if id == from {
			continue
		}
		c.announcing.Go(func() {
			ctx, cancel := context.WithTimeout(c.ctx, time.Second)
			defer cancel()
			if other := c.Host(id); other != nil && (callsOf{c, from}).pass(ctx, id) == nil {
				other.NoteLed(from, own.Led())
			}
		})
	}
}

// pass lets a message pass, or waits for the end of the context.
func (c callsOf) pass(ctx context.Context, to shard.HostID) error {
	select {
	case <-time.After(callDelay):
	case <-ctx.Done():
		return ctx.Err()
	}
	if !c.cluster.logs.Connected(c.from, to) {
		<-ctx.Done()
		return fmt.Errorf("servertest: host %d does not reach host %d: %w", c.from, to, ctx.Err())
	}
	return nil
}

// Incarnation is the incarnation of a host's data directory.
func Incarnation(id shard.HostID) hosts.Incarnation { return hosts.Incarnation{byte(id), 's', 't'} }

// replicasOf are replicas added to a running host. It implements replica.Replicas.
type replicasOf struct {
	cluster *Cluster
	host    shard.HostID
}

// Join implements replica.Replicas.
func (r replicasOf) Join(id, replica uint64, machine shard.StateMachine) (shard.Log, error) {
	return r.cluster.logs.JoinLog(r.host, id, replica, machine)
}

// Discard implements replica.Replicas. A removed shard's voters may be discarded.
func (r replicasOf) Discard(ctx context.Context, id, replica uint64) error {
	if logs, inMemory := r.cluster.logs.(*inMemory); inMemory && r.retired(id) {
		logs.Retire(id)
	}
	return r.cluster.logs.DiscardLog(ctx, r.host, id, replica)
}

// retired reports whether the host knows that a shard was removed.
func (r replicasOf) retired(id uint64) bool {
	own := r.cluster.Host(r.host)
	if own == nil {
		return false
	}
	t, ok := own.Topology()
	if !ok {
		return false
	}
	on := t.Records.Shard(hosts.ShardID(id))
	return on == nil || on.Phase == hosts.ShardRetired
}

// Renew implements replica.Replicas.
func (r replicasOf) Renew(
	ctx context.Context, id, to, group uint64, before shard.StateMachine, renew func() (shard.Saver, error),
) error {
	return r.cluster.logs.RenewLog(ctx, r.host, Renewal{id, to, group, before, renew})
}

// Recorded implements replica.Replicas.
func (r replicasOf) Recorded() []uint64 { return r.cluster.logs.Recorded(r.host) }

// Last implements replica.Replicas.
func (r replicasOf) Last(id uint64) (term, index uint64) { return r.cluster.logs.Last(r.host, id) }
