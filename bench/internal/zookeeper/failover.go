package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/signalbox/signalbox/bench/internal/failover"
	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

// FailOver kills the leader again and again while callers lock and unlock, each with a session that knows all servers.
func FailOver(ctx context.Context, c *Cluster, plan failover.Plan, callers int) (*report.Report, error) {
	// The sessions end with the ensemble.
	all, err := load.Prepare(callers, func(i int) (failover.Caller, error) { return c.caller(ctx, i) })
	if err != nil {
		return nil, err
	}
	return failover.Run(ctx, plan, c, all)
}

func (c *Cluster) caller(ctx context.Context, i int) (failover.Caller, error) {
	session, err := connect(ctx, c.Endpoints...)
	if err != nil {
		return failover.Caller{}, err
	}
	context.AfterFunc(ctx, session.Close)
	l := &ownLock{session: session, path: fmt.Sprintf("/bench/failover/%d", i)}
	l.lock = zk.NewLock(session, l.path, zk.WorldACL(zk.PermAll))
	return failover.Caller{
		Lock:   func(context.Context) error { return l.acquire() },
		Unlock: func(context.Context) error { return l.release() },
	}, nil
}

// ownLock is one caller's lock. If the client's recipe fails after creating its node, the node is left behind and the
// next attempt waits for it. So ownLock first deletes leftover nodes.
type ownLock struct {
	session *zk.Conn
	path    string
	lock    *zk.Lock
	unclear bool // an attempt has failed: a node may be left
}

func (l *ownLock) acquire() error {
	if l.unclear {
		if err := l.clear(); err != nil {
			return err
		}
	}
	err := l.lock.Lock()
	l.unclear = err != nil
	return err
}

// release releases the lock. If an earlier attempt took effect, the node is gone.
func (l *ownLock) release() error {
	err := l.lock.Unlock()
	if errors.Is(err, zk.ErrNoNode) {
		return l.clear()
	}
	return err
}

// clear deletes leftover nodes, and creates a new lock.
func (l *ownLock) clear() error {
	left, _, err := l.session.Children(l.path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	for _, name := range left {
		if err := l.session.Delete(l.path+"/"+name, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	l.lock, l.unclear = zk.NewLock(l.session, l.path, zk.WorldACL(zk.PermAll)), false
	return nil
}
