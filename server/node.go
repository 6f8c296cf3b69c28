package server

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Requests about coordination nodes. Changes go to the leader of the meta shard. Every host answers reads, and looks
// a missing node up once more behind a barrier: another host may have answered its creation a moment ago.

// path reads the path of a request, and answers if the path is malformed or the client may not use it.
func (c *conn) path(r *protocol.Request, raw []byte) (string, bool) {
	path, err := meta.ParsePath(string(raw))
	if err != nil {
		c.failure(r, protocol.StatusBadRequest, err.Error())
		return "", false
	}
	return path, c.authorize(r, path, "")
}

// named reads how a request names a node: by path, by id, or by both.
func (c *conn) named(r *protocol.Request, raw []byte, node uint64) (path string, id shard.NodeID, ok bool) {
	id = shard.NodeID(node)
	if len(raw) == 0 && id != 0 {
		return "", id, c.authorizeIn(r, id, nil)
	}
	path, ok = c.path(r, raw)
	return path, id, ok
}

// takesRoom reports whether a change of the meta shard is refused when disks are full. Dropping a node frees room,
// and an operator's act on hosts may be the remedy.
func takesRoom(k protocol.Kind) bool {
	return k == protocol.KindNodeCreate || k == protocol.KindNodeAlter
}

// metaChange proposes a command on nodes, under the number in the request, and answers with the message that done
// makes from the result.
func (c *conn) metaChange(
	r *protocol.Request, command meta.Command, number *protocol.Numbered,
	done func(e *meta.Effect, since uint64) protocol.AnswerMessage,
) {
	h := c.host
	if n := len(number.Client); n != 0 && n != len(command.Numbered.Client) {
		c.failure(r, protocol.StatusBadRequest, "the id of a client has 16 bytes")
		return
	}
	command.Numbered = meta.Numbered{Number: number.Number, Since: number.Since}
	copy(command.Numbered.Client[:], number.Client)
	if !c.leadsMeta(r) {
		return
	}
	if takesRoom(r.Kind) && !h.admitsWrites(c, r.ID, r.Kind, h.meta) {
		return
	}
	if needs := meta.LevelOf(&command); needs > h.meta.Machine.Level() {
		c.Fail(r.ID, r.Kind, h.aboveLevel(needs))
		return
	}
	if command.Request != nil && !h.meta.Machine.Founded() {
		c.Fail(r.ID, r.Kind, &notFounded)
		return
	}
	id, kind := r.ID, r.Kind
	h.meta.Propose(command, func(e *meta.Effect, failed protocol.Status) {
		switch {
		case e == nil:
			c.Fail(id, kind, pipeline.Why(failed))
		case e.Status != protocol.StatusSuccess:
			c.Fail(id, kind, &protocol.Result{
				Status: e.Status, Message: clip(e.Message), Since: h.meta.Machine.NextAnswer(),
			})
		default:
			c.Answer(id, done(e, h.meta.Machine.NextAnswer()))
		}
		c.flush()
	})
}

func (c *conn) nodeCreate(r *protocol.Request) {
	path, err := meta.ParsePath(string(r.NodeCreate.Path))
	switch {
	case err != nil:
		c.failure(r, protocol.StatusBadRequest, err.Error())
		return
	case c.permits(r.Kind, path, ""):
	case c.permits(protocol.KindNodeDescribe, path, ""):
		c.nodeExists(r, path)
		return
	default:
		c.authorize(r, path, "")
		return
	}
	id := r.ID
	c.metaChange(r, meta.Command{Kind: meta.CmdNodeCreate, Path: path, Config: meta.Config(r.NodeCreate.Config)},
		&r.NodeCreate.Numbered, func(e *meta.Effect, since uint64) protocol.AnswerMessage {
			existed := e.Flags&meta.FlagExisted != 0
			if existed {
				c.dropAct(id)
			}
			return &protocol.NodeCreateAnswer{Node: wireNode(&e.Node), Existed: existed, Since: since}
		})
}

// nodeExists answers a client that may read a node, but not create nodes, if the node exists: then nothing is
// created. If the node does not exist nodeExists refuses.
func (c *conn) nodeExists(r *protocol.Request, path string) {
	id, kind, from := r.ID, r.Kind, c.from()
	c.host.findNode(path, 0, func(n meta.Node, ok, sure bool) {
		switch {
		case ok:
			c.dropAct(id)
			c.Answer(id, &protocol.NodeCreateAnswer{Node: wireNode(&n), Existed: true})
		case sure:
			message := c.lacking(from, kind, path, "")
			c.Fail(id, kind, &protocol.Result{Status: protocol.StatusUnauthorized, Message: message})
		default:
			c.Fail(id, kind, &protocol.Result{Status: protocol.StatusUnavailable, Message: metaAway})
		}
		c.flush()
	})
}

func (c *conn) nodeAlter(r *protocol.Request) {
	m := &r.NodeAlter
	path, id, ok := c.named(r, m.Path, m.NodeID)
	if !ok {
		return
	}
	c.metaChange(r, meta.Command{
		Kind: meta.CmdNodeAlter, Path: path, Node: id, Config: meta.Config(m.Config), Expected: m.ConfigVersion,
	}, &m.Numbered, func(e *meta.Effect, since uint64) protocol.AnswerMessage {
		return &protocol.NodeAlterAnswer{Node: wireNode(&e.Node), Since: since}
	})
}

func (c *conn) nodeDrop(r *protocol.Request) {
	path, id, ok := c.named(r, r.NodeDrop.Path, r.NodeDrop.NodeID)
	if !ok {
		return
	}
	c.metaChange(r, meta.Command{Kind: meta.CmdNodeDrop, Path: path, Node: id}, &r.NodeDrop.Numbered,
		func(_ *meta.Effect, since uint64) protocol.AnswerMessage {
			return &protocol.NodeDropAnswer{Since: since}
		})
}

func (c *conn) nodeDescribe(r *protocol.Request) {
	path, node, ok := c.named(r, r.NodeDescribe.Path, r.NodeDescribe.NodeID)
	if !ok {
		return
	}
	id, kind := r.ID, r.Kind
	c.host.findNode(path, node, func(n meta.Node, ok, sure bool) {
		switch {
		case ok && (node == 0 || n.ID == node):
			c.Answer(id, &protocol.NodeDescribeAnswer{Node: wireNode(&n)})
		case sure:
			c.Fail(id, kind, &protocol.Result{Status: protocol.StatusNotFound, Message: "no such node"})
		default:
			c.Fail(id, kind, &protocol.Result{Status: protocol.StatusUnavailable, Message: metaAway})
		}
		c.flush()
	})
}

// findNode finds a node by its path, or else by its id: at once if the node is known here, else behind a barrier. sure
// reports whether a node that was not found does not exist. A dropped node is known not to come back.
func (h *Host) findNode(path string, id shard.NodeID, done func(n meta.Node, ok, sure bool)) {
	look := func() (meta.Node, bool) {
		if path != "" {
			return h.meta.Machine.Node(path)
		}
		return h.meta.Machine.NodeByID(id)
	}
	if n, ok := look(); ok || path == "" && !h.unfilled(id) {
		done(n, ok, true)
		return
	}
	h.meta.Confirm(func(sure bool) {
		n, ok := look()
		done(n, ok, sure)
	})
}

func (c *conn) nodeList(r *protocol.Request) {
	m := &r.NodeList
	prefix, id, after, limit := meta.ParsePrefix(string(m.Prefix)), r.ID, string(m.After), itemLimit(m.Limit)
	c.confirmMeta(r, func() {
		var answer protocol.NodeListAnswer
		page, more := c.host.meta.Machine.Nodes(prefix, after, limit)
		for i := range page {
			if c.rights.Allows(page[i].Path, "", protocol.RightSee) {
				node := wireNode(&page[i])
				answer.Nodes.Append(node)
			}
			if endsPage(answer.Nodes.Size(), i, len(page), more) {
				answer.Next = []byte(page[i].Path)
				break
			}
		}
		c.Answer(id, &answer)
	})
}

func wireNode(n *meta.Node) protocol.Node {
	return protocol.Node{
		ID: uint64(n.ID), Path: []byte(n.Path), Config: protocol.NodeConfig(n.Config), ConfigVersion: n.Version,
	}
}
