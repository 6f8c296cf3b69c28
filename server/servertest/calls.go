package servertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/test/memlog"
)

// callDelay is how long a call takes each way. In a bubble it costs no time.
const callDelay = time.Millisecond

// errHostDown is returned for a call of a host that does not run.
var errHostDown = errors.New("servertest: that host does not run")

// callsOf are the calls of one host. They pass where the network of the logs lets messages pass, both ways. It
// implements executor.Calls.
type callsOf struct {
	cluster *Cluster
	from    shard.HostID
}

// Call implements executor.Calls. One that does not pass has no answer.
func (c callsOf) Call(ctx context.Context, to shard.HostID, request []byte) ([]byte, error) {
	if err := c.pass(ctx, to); err != nil {
		return nil, err
	}
	other := c.cluster.Host(to)
	if other == nil {
		return nil, errHostDown
	}
	if err := c.cluster.admit(other, c.from); err != nil {
		return nil, err
	}
	answer, err := other.Answer(ctx, c.from, request)
	if err != nil {
		return nil, err
	}
	return answer, c.pass(ctx, to)
}

// pass lets a message pass, or waits for the end of the context.
func (c callsOf) pass(ctx context.Context, to shard.HostID) error {
	select {
	case <-time.After(callDelay):
	case <-ctx.Done():
		return ctx.Err()
	}
	if !c.cluster.network.Connected(c.from, to) {
		<-ctx.Done()
		return fmt.Errorf("servertest: host %d does not reach host %d: %w", c.from, to, ctx.Err())
	}
	return nil
}

// Incarnation is that of a host's data directory.
func Incarnation(id shard.HostID) hosts.Incarnation { return hosts.Incarnation{byte(id), 's', 't'} }

// replicasOf are the replicas that come to a host while it runs. It implements replica.Replicas.
type replicasOf struct {
	cluster *Cluster
	host    shard.HostID
}

// Join implements replica.Replicas.
func (r replicasOf) Join(id, replica uint64, machine shard.StateMachine) (shard.Log, error) {
	group := memlog.GroupID(id + 1)
	l, err := r.cluster.network.Join(r.host, group, replica, machine)
	if err != nil {
		return nil, err
	}
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	r.cluster.joined[place{r.host, id}] = replica
	return l, nil
}

// Discard implements replica.Replicas.
func (r replicasOf) Discard(_ context.Context, id, replica uint64) error {
	r.cluster.mu.Lock()
	if at := (place{r.host, id}); r.cluster.joined[at] == replica {
		delete(r.cluster.joined, at)
	}
	r.cluster.mu.Unlock()
	return r.cluster.network.Discard(r.host, memlog.GroupID(id+1), replica)
}

// place is where a host has a replica that has joined.
type place struct {
	host  shard.HostID
	shard uint64
}

// openLog starts the replica that a host has of a shard.
func (c *Cluster) openLog(host shard.HostID, id uint64, machine shard.StateMachine) (shard.Log, error) {
	c.mu.Lock()
	replica, joined := c.joined[place{host, id}]
	c.mu.Unlock()
	if joined {
		l, err := c.network.Join(host, memlog.GroupID(id+1), replica, machine)
		if errors.Is(err, shard.ErrMembershipRule) {
			err = fmt.Errorf("%w: %w", shard.ErrNotMember, err) // it was removed while the host was down
		}
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	return c.network.Open(host, memlog.GroupID(id+1), machine)
}
