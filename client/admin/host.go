package admin

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// The methods below accept a host name or a host id in decimal digits. Each method returns whether the call changed
// anything; if the requested state was already recorded, changed is false. If the cluster's state does not allow an
// order, the call fails with client.ErrPreconditionFailed, and the error text says what to do instead.

// Drain makes a host hand over its leaderships and votes and go offline, so that the host can be stopped. Drain is
// rejected if a shard would lose its quorum.
func (a *Admin) Drain(ctx context.Context, host string, by ChangeInfo) (changed bool, err error) {
	return a.host(ctx, &protocol.HostUpdate{Action: protocol.HostDrain}, host, by)
}

// Undrain takes a drain back.
func (a *Admin) Undrain(ctx context.Context, host string, by ChangeInfo) (changed bool, err error) {
	return a.host(ctx, &protocol.HostUpdate{Action: protocol.HostUndrain}, host, by)
}

// Cordon keeps a host from getting more replicas, votes and leaderships than the host has.
func (a *Admin) Cordon(ctx context.Context, host string, by ChangeInfo) (changed bool, err error) {
	return a.host(ctx, &protocol.HostUpdate{Action: protocol.HostCordon}, host, by)
}

// Uncordon takes a cordon back.
func (a *Admin) Uncordon(ctx context.Context, host string, by ChangeInfo) (changed bool, err error) {
	return a.host(ctx, &protocol.HostUpdate{Action: protocol.HostUncordon}, host, by)
}

// Alter changes a host's failure domain, for example to "dc=a,rack=1".
func (a *Admin) Alter(ctx context.Context, host, domain string, by ChangeInfo) (changed bool, err error) {
	return a.host(ctx, &protocol.HostUpdate{Action: protocol.HostAlter, Domain: protocol.View(domain)}, host, by)
}

// SetWeight sets a host's weight, from 0 to 1000. Default: 100. If data shards have replicas on only some hosts, each
// host gets replicas in proportion to its weight. A host with weight 0 gives its replicas away.
func (a *Admin) SetWeight(ctx context.Context, host string, weight int, by ChangeInfo) (changed bool, err error) {
	return a.host(ctx, &protocol.HostUpdate{Action: protocol.HostSetWeight, Weight: uint64(weight)}, host, by)
}

// Expel permanently removes a host and all its replicas. With force, Expel also accepts a host that is online.
// Expelling an expelled host again, by name or by id, is not an error. Hosts only look up live hosts by name, so the
// client looks up expelled hosts.
func (a *Admin) Expel(ctx context.Context, host string, force bool, by ChangeInfo) (changed bool, err error) {
	changed, err = a.host(ctx, &protocol.HostUpdate{Action: protocol.HostExpel, Force: force}, host, by)
	if errors.Is(err, client.ErrNotFound) {
		if c, failed := a.Describe(ctx); failed == nil && c.Expelled(host) != nil {
			return false, nil
		}
	}
	return changed, err
}

// Replace makes the host successor take over from the host old, which must be permanently lost, and expels old. The
// call is rejected while old is still in contact with the cluster.
func (a *Admin) Replace(ctx context.Context, old, successor string, by ChangeInfo) (changed bool, err error) {
	m := &protocol.HostUpdate{Action: protocol.HostReplace, Successor: protocol.View(successor)}
	return a.host(ctx, m, old, by)
}

func (a *Admin) host(ctx context.Context, m *protocol.HostUpdate, host string, by ChangeInfo) (changed bool,
	err error) {
	m.Operation, m.Host = by.operation(), protocol.View(host)
	err = a.change(ctx, OpHost, host, m, &m.Operation, func(a *protocol.Answer) uint64 {
		changed = !a.HostUpdate.Existed
		return a.HostUpdate.Since
	})
	return changed, err
}

// TransferLeader moves a shard's leadership to the given host; shard 0 is the meta shard. The governor keeps trying for
// one minute.
func (a *Admin) TransferLeader(ctx context.Context, shard uint64, host string, by ChangeInfo) (changed bool,
	err error) {
	m := &protocol.ShardTransferLeader{Operation: by.operation(), ShardID: shard, Host: protocol.View(host)}
	err = a.change(ctx, OpTransfer, number(shard), m, &m.Operation, func(a *protocol.Answer) uint64 {
		changed = !a.ShardTransferLeader.Existed
		return a.ShardTransferLeader.Since
	})
	return changed, err
}

// RecoverShard rebuilds a data shard that permanently lost its quorum. It expels the hosts of the lost voters, which is
// final. The survivor with the most complete log continues alone, and the governor adds replicas. If no remaining host
// has data for the shard, set empty to start the shard without content.
//
// The call is rejected while a lost voter may come back: every lost voter must have been silent for the policy's host
// failure timeout.
func (a *Admin) RecoverShard(ctx context.Context, shard uint64, empty bool, by ChangeInfo) (Recovery, error) {
	return a.recover(ctx, &protocol.ShardRecover{Operation: by.operation(), ShardID: shard, Empty: empty})
}

// AcceptOverlap ends the waiting period of a rebuilt shard. The shard grants at once, although clients may still
// believe that they hold grants from before, and other shards release everything held by the rebuilt shard's sessions.
func (a *Admin) AcceptOverlap(ctx context.Context, shard uint64, by ChangeInfo) error {
	_, err := a.recover(ctx, &protocol.ShardRecover{Operation: by.operation(), ShardID: shard, AcceptOverlap: true})
	return err
}

// Recovery describes how a rebuilt shard continues.
type Recovery struct {
	Host uint64 // id of the surviving host
	// Wait is the minimum time during which the shard grants nothing: until the expulsion of the lost hosts is final
	// and every earlier session must have expired on the client side. Session is the session with the longest timeout,
	// Longest; Session is 0 if unknown.
	Wait, Longest time.Duration
	Session       uint64
}

func (a *Admin) recover(ctx context.Context, m *protocol.ShardRecover) (r Recovery, err error) {
	err = a.change(ctx, OpRecover, number(m.ShardID), m, &m.Operation, func(a *protocol.Answer) uint64 {
		is := &a.ShardRecover
		r = Recovery{Host: is.HostID, Wait: time.Duration(is.WaitMillis) * time.Millisecond,
			Longest: time.Duration(is.LongestMillis) * time.Millisecond, Session: is.LongestSession}
		return is.Since
	})
	return r, err
}
