package admin

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// Hosts are named by their names, or by their ids in decimal digits. Each of the methods returns whether it changed
// anything: if all was so before, changed is false. An order that the state of the cluster does not allow is refused
// with client.ErrPreconditionFailed, and the text says what to do instead.

// Drain has a host hand over its leaderships and votes, and go offline, so that the host can be stopped. A drain that
// would cost a shard its majority is refused.
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

// Alter gives a host a new failure domain, such as "dc=a,rack=1".
func (a *Admin) Alter(ctx context.Context, host, domain string, by ChangeInfo) (changed bool, err error) {
	return a.host(ctx, &protocol.HostUpdate{Action: protocol.HostAlter, Domain: protocol.View(domain)}, host, by)
}

// SetWeight gives a host a new weight, from 0 to 1000. Where data shards have replicas on a part of the hosts, each
// host gets replicas by its weight beside the weights of the other hosts. The weight is 100 at first. With 0 the host
// gives its own replicas away.
func (a *Admin) SetWeight(ctx context.Context, host string, weight int, by ChangeInfo) (changed bool, err error) {
	return a.host(ctx, &protocol.HostUpdate{Action: protocol.HostSetWeight, Weight: uint64(weight)}, host, by)
}

// Expel makes a host leave for ever: its replicas are removed everywhere. With force the host may be online. An
// expelled host is no error, called by name or by id. Hosts find only living hosts by a name; the client looks for
// expelled hosts.
func (a *Admin) Expel(ctx context.Context, host string, force bool, by ChangeInfo) (changed bool, err error) {
	changed, err = a.host(ctx, &protocol.HostUpdate{Action: protocol.HostExpel, Force: force}, host, by)
	if errors.Is(err, client.ErrNotFound) {
		if c, failed := a.Describe(ctx); failed == nil && c.Expelled(host) != nil {
			return false, nil
		}
	}
	return changed, err
}

// Replace has a host, the successor, take the place of an old host that is gone, and expels the old host. The call is
// refused while the old host is heard.
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

// TransferLeader asks for a new leader of a shard; 0 is the meta shard. The governor tries for a minute.
func (a *Admin) TransferLeader(ctx context.Context, shard uint64, host string, by ChangeInfo) (changed bool,
	err error) {
	m := &protocol.ShardTransferLeader{Operation: by.operation(), ShardID: shard, Host: protocol.View(host)}
	err = a.change(ctx, OpTransfer, number(shard), m, &m.Operation, func(a *protocol.Answer) uint64 {
		changed = !a.ShardTransferLeader.Existed
		return a.ShardTransferLeader.Since
	})
	return changed, err
}

// RecoverShard makes a data shard anew whose majority is lost for good. The hosts of the lost voters are expelled,
// which is final; the survivor with most of the log goes on alone, and the governor adds replicas. With empty, where no
// host is left that has anything of the shard, the shard begins without content.
//
// The call is refused while a voter may come back: each has to be silent for as long as the policy takes to call a
// host failed.
func (a *Admin) RecoverShard(ctx context.Context, shard uint64, empty bool, by ChangeInfo) (Recovery, error) {
	return a.recover(ctx, &protocol.ShardRecover{Operation: by.operation(), ShardID: shard, Empty: empty})
}

// AcceptOverlap ends the wait of a shard that was made anew: it grants at once, though clients may still believe in
// what they held there, and other shards release what sessions of the shard had.
func (a *Admin) AcceptOverlap(ctx context.Context, shard uint64, by ChangeInfo) error {
	_, err := a.recover(ctx, &protocol.ShardRecover{Operation: by.operation(), ShardID: shard, AcceptOverlap: true})
	return err
}

// Recovery is how a shard goes on that was made anew.
type Recovery struct {
	Host uint64 // the id of the host that goes on
	// Wait is for how long the shard grants nothing at the least: until the lost hosts are expelled for good, and no
	// session of before can be believed in any more. Session has the longest timeout, Longest; it is 0 if it is not
	// known.
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
