package client_test

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// applyMeta applies a command to the meta shard and returns its result.
func (f *fakeCluster) applyMeta(c meta.Command) meta.Effect {
	var out meta.Effects
	c.Level = meta.LevelOf(&c)
	f.metaMachine.Apply(&meta.Batch{Commands: []meta.Command{c}}, &out)
	for _, e := range out.List[1:] {
		n := wireNode(&e.Node)
		switch e.Kind {
		case meta.EffectNodeChanged:
			f.nodes[e.Node.Path], f.ids[n.ID] = &n, e.Node.Path
		case meta.EffectNodeDropped:
			delete(f.nodes, e.Node.Path)
			delete(f.ids, n.ID)
			for _, s := range f.shards {
				s.apply(shard.Command{Kind: shard.CmdNodeDrop, Node: shard.NodeID(n.ID), Count: shard.MaxList}, nil)
				s.endWatches(n.ID)
			}
		}
	}
	return out.List[0]
}

func wireNode(n *meta.Node) protocol.Node {
	return protocol.Node{
		ID: uint64(n.ID), Path: []byte(n.Path), Config: protocol.NodeConfig(n.Config), ConfigVersion: n.Version,
	}
}

// change carries out and answers a node's change.
func (c *fakeConn) change(
	r *protocol.Request, command meta.Command, n *protocol.Idempotency,
	done func(n protocol.Node, existed bool, since uint64) protocol.AnswerMessage,
) {
	f := c.host.cluster
	command.Numbered = meta.Numbered{Number: n.Sequence, Since: n.Since}
	copy(command.Numbered.Client[:], n.Client)
	e := f.applyMeta(command)
	since := f.metaMachine.NextAnswer()
	if e.Status != protocol.StatusSuccess {
		c.fail(r.ID, r.Kind, &protocol.Result{Status: e.Status, Message: e.Message, Since: since})
		return
	}
	c.answer(r.ID, done(wireNode(&e.Node), e.Flags&meta.FlagExisted != 0, since))
}

// node serves node requests, at the meta shard's leader.
func (c *fakeConn) node(r *protocol.Request) {
	f := c.host.cluster
	if f.hosts[f.meta] != c.host {
		leader := f.hosts[f.meta]
		c.fail(r.ID, r.Kind, &protocol.Result{Status: protocol.StatusMoved, Moved: protocol.Moved{
			LeaderHostID: leader.id, LeaderAddress: leader.address, RoutingVersion: f.version,
		}})
		return
	}
	switch r.Kind {
	case protocol.KindNodeCreate:
		m := &r.NodeCreate
		c.change(r, meta.Command{Kind: meta.CmdNodeCreate, Path: string(m.Path), Config: meta.Config(m.Config)},
			&m.Idempotency, func(n protocol.Node, existed bool, since uint64) protocol.AnswerMessage {
				return &protocol.NodeCreateAnswer{Node: n, Existed: existed, Since: since}
			})
	case protocol.KindNodeDescribe:
		if n := f.nodes[string(r.NodeDescribe.Path)]; n != nil {
			c.answer(r.ID, &protocol.NodeDescribeAnswer{Node: *n})
		} else {
			c.refuse(r, protocol.StatusNotFound)
		}
	case protocol.KindNodeAlter:
		m := &r.NodeAlter
		c.change(r, meta.Command{
			Kind: meta.CmdNodeAlter, Path: string(m.Path), Config: meta.Config(m.Config), Expected: m.ConfigVersion,
		}, &m.Idempotency, func(n protocol.Node, _ bool, since uint64) protocol.AnswerMessage {
			return &protocol.NodeAlterAnswer{Node: n, Since: since}
		})
	case protocol.KindNodeDrop:
		m := &r.NodeDrop
		c.change(r, meta.Command{Kind: meta.CmdNodeDrop, Path: string(m.Path), Node: shard.NodeID(m.NodeID)},
			&m.Idempotency, func(_ protocol.Node, _ bool, since uint64) protocol.AnswerMessage {
				return &protocol.NodeDropAnswer{Since: since}
			})
	case protocol.KindNodeList:
		var paths []string
		for path := range f.nodes {
			if path > string(r.NodeList.After) && len(path) >= len(r.NodeList.Prefix) &&
				path[:len(r.NodeList.Prefix)] == string(r.NodeList.Prefix) {
				paths = append(paths, path)
			}
		}
		slices.Sort(paths)
		var a protocol.NodeListAnswer
		for i, path := range paths {
			if i == 2 { // small pages
				a.Next = []byte(paths[i-1])
				break
			}
			a.Nodes.Append(*f.nodes[path])
		}
		c.answer(r.ID, &a)
	}
}
