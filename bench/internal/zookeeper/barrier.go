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

// barrier has every caller go through rounds of a double barrier, with parties that have a session each.
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

// readyNode is what a barrier has beside a node for each party, while it is open.
const readyNode = "ready"

// doubleBarrier is one party of a double barrier, by the recipe of ZooKeeper's documentation. That leaves open who
// removes the ready node: here it is the last party to leave, together with its own node.
type doubleBarrier struct {
	session *zk.Conn
	path    string // of the barrier
	own     string // the node of this party
}

// newBarrier makes the node of barrier i, if it is not there, for its party k.
func newBarrier(session *zk.Conn, i, k int) (*doubleBarrier, error) {
	b := &doubleBarrier{session: session, path: fmt.Sprintf("/bench/barrier/%d", i), own: fmt.Sprint(k)}
	for _, path := range []string{"/bench", "/bench/barrier", b.path} {
		if err := b.create(path, 0); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// create makes a node, if it is not there.
func (b *doubleBarrier) create(path string, flags int32) error {
	_, err := b.session.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// parties returns the nodes of the parties, in order.
func (b *doubleBarrier) parties() ([]string, error) {
	nodes, _, err := b.session.Children(b.path)
	nodes = slices.DeleteFunc(nodes, func(node string) bool { return node == readyNode })
	slices.Sort(nodes)
	return nodes, err
}

// enter makes the node of this party, and the ready node where all parties are there, or waits for that.
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

// leave waits until all parties have left. The lowest one waits for the others, from the highest down, and the others
// remove their nodes and wait for the lowest.
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

// close removes the ready node and that of the last party.
func (b *doubleBarrier) close() error {
	_, err := b.session.Multi(
		&zk.DeleteRequest{Path: b.path + "/" + readyNode, Version: -1},
		&zk.DeleteRequest{Path: b.path + "/" + b.own, Version: -1},
	)
	return err
}

// await waits for what is watched to change.
func await(ctx context.Context, change <-chan zk.Event) error {
	select {
	case e := <-change:
		return e.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
