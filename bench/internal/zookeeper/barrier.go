package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

// barrier runs double barrier rounds in every caller, with one session per party.
func (d *Driver) barrier(ctx context.Context) (*report.Report, error) {
	operations, err := load.Prepare(d.plan.Callers, func(i int) (load.Operation, error) {
		parties := make([]load.Party, load.Parties)
		for k := range parties {
			session, err := d.connect(ctx, i*load.Parties+k)
			if err != nil {
				return nil, err
			}
			b, err := newBarrier(session, i, k)
			if err != nil {
				return nil, err
			}
			parties[k] = load.Party{Enter: b.enter, Leave: b.leave}
		}
		round := load.Rounds(parties)
		return round, round(ctx)
	})
	if err != nil {
		return nil, err
	}
	plan := d.plan
	plan.Connections = plan.Callers * load.Parties
	return load.Loop(ctx, plan, operations)
}

// readyNode is the extra node, besides one per party, that an open barrier has.
const readyNode = "ready"

// doubleBarrier is one party in a double barrier, by the recipe in ZooKeeper's documentation. The recipe does not say
// who removes the ready node: here the last leaving party does, together with its own node.
type doubleBarrier struct {
	session *zk.Conn
	path    string // of the barrier
	own     string // this party's node
}

// newBarrier creates the node for barrier i if absent, for party k.
func newBarrier(session *zk.Conn, i, k int) (*doubleBarrier, error) {
	b := &doubleBarrier{session: session, path: fmt.Sprintf("/bench/barrier/%d", i), own: fmt.Sprint(k)}
	for _, path := range []string{"/bench", "/bench/barrier", b.path} {
		if err := b.create(path, 0); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// create creates a node if absent.
func (b *doubleBarrier) create(path string, flags int32) error {
	_, err := b.session.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// parties returns the parties' nodes, in order.
func (b *doubleBarrier) parties() ([]string, error) {
	nodes, _, err := b.session.Children(b.path)
	nodes = slices.DeleteFunc(nodes, func(node string) bool { return node == readyNode })
	slices.Sort(nodes)
	return nodes, err
}

// enter creates this party's node. The last party to enter creates the ready node, and all other parties wait for the
// ready node.
func (b *doubleBarrier) enter(ctx context.Context) error {
	ready := b.path + "/" + readyNode
	isReady, _, change, err := b.session.ExistsW(ready)
	if err != nil {
		return err
	}
	if err := b.create(b.path+"/"+b.own, zk.FlagEphemeral); err != nil {
		return err
	}
	nodes, err := b.parties()
	switch {
	case err != nil:
		return err
	case len(nodes) == load.Parties:
		return b.create(ready, 0)
	case isReady:
		return nil
	}
	return await(ctx, change)
}

// leave waits until all parties have left. The lowest party waits for the other parties, from the highest down; every
// other party removes its node and waits for the lowest party.
func (b *doubleBarrier) leave(ctx context.Context) error {
	left := false
	for {
		nodes, err := b.parties()
		if err != nil || len(nodes) == 0 {
			return err
		}
		if len(nodes) == 1 && nodes[0] == b.own {
			return b.close()
		}
		other := nodes[len(nodes)-1]
		if nodes[0] != b.own {
			if !left {
				if err := b.session.Delete(b.path+"/"+b.own, -1); err != nil {
					return err
				}
				left = true
			}
			other = nodes[0]
		}
		there, _, change, err := b.session.ExistsW(b.path + "/" + other)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		if err := await(ctx, change); err != nil {
			return err
		}
	}
}

// close removes the ready node and the last party's node.
func (b *doubleBarrier) close() error {
	_, err := b.session.Multi(
		&zk.DeleteRequest{Path: b.path + "/" + readyNode, Version: -1},
		&zk.DeleteRequest{Path: b.path + "/" + b.own, Version: -1},
	)
	return err
}

// await waits for a change to a watched node.
func await(ctx context.Context, change <-chan zk.Event) error {
	select {
	case e := <-change:
		return e.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
