// Package node implements the handlers for requests about coordination nodes. Changes go to the meta shard leader.
// Every host answers reads, and looks a missing node up again after a barrier: a remote host may just have
// acknowledged its creation.
package node

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Handlers returns the handlers.
func Handlers(h *handle.Host) handle.Table {
	n := handlers{h}
	return handle.Table{
		protocol.KindNodeCreate:   n.create,
		protocol.KindNodeDescribe: n.describe,
		protocol.KindNodeAlter:    n.alter,
		protocol.KindNodeDrop:     n.drop,
		protocol.KindNodeList:     handle.Authorized(handle.Somewhere, n.list),
	}
}

type handlers struct{ *handle.Host }

func (h handlers) create(r *handle.Request) (handle.Reply, error) {
	path, err := meta.ParsePath(string(r.NodeCreate.Path))
	switch {
	case err != nil:
		return nil, handle.BadRequest(err.Error())
	case r.Caller.Permits(r.Kind, path, ""):
	case r.Caller.Permits(protocol.KindNodeDescribe, path, ""):
		return h.exists(r, path)
	default:
		return nil, handle.Authorize(r, path, "")
	}
	command := meta.Command{Kind: meta.CmdNodeCreate, Path: path, Config: meta.Config(r.NodeCreate.Config)}
	return h.MetaChange(r.Kind, command, &r.NodeCreate.Idempotency,
		func(e *meta.Effect, since uint64) protocol.AnswerMessage {
			return &protocol.NodeCreateAnswer{Node: wire(&e.Node), Existed: handle.Existed(e), Since: since}
		})
}

// exists answers a client that may read but not create nodes. If the node exists, nothing is created and exists
// returns the node; otherwise exists refuses.
func (h handlers) exists(r *handle.Request, path string) (handle.Reply, error) {
	kind, from, by := r.Kind, r.From(), r.Caller
	return h.find(path, 0, func(n *meta.Node) (handle.Reply, error) {
		if n == nil {
			return nil, by.Unauthorized(from, kind, path, "")
		}
		return &protocol.NodeCreateAnswer{Node: wire(n), Existed: true}, nil
	})
}

func (h handlers) alter(r *handle.Request) (handle.Reply, error) {
	m := &r.NodeAlter
	path, id, err := h.Named(r, m.Path, m.NodeID)
	if err != nil {
		return nil, err
	}
	return h.MetaChange(r.Kind, meta.Command{
		Kind: meta.CmdNodeAlter, Path: path, Node: id, Config: meta.Config(m.Config), Expected: m.ConfigVersion,
	}, &m.Idempotency, func(e *meta.Effect, since uint64) protocol.AnswerMessage {
		return &protocol.NodeAlterAnswer{Node: wire(&e.Node), Since: since}
	})
}

func (h handlers) drop(r *handle.Request) (handle.Reply, error) {
	m := &r.NodeDrop
	path, id, err := h.Named(r, m.Path, m.NodeID)
	if err != nil {
		return nil, err
	}
	return h.MetaChange(r.Kind, meta.Command{Kind: meta.CmdNodeDrop, Path: path, Node: id}, &m.Idempotency,
		func(_ *meta.Effect, since uint64) protocol.AnswerMessage {
			return &protocol.NodeDropAnswer{Since: since}
		})
}

func (h handlers) describe(r *handle.Request) (handle.Reply, error) {
	path, node, err := h.Named(r, r.NodeDescribe.Path, r.NodeDescribe.NodeID)
	if err != nil {
		return nil, err
	}
	return h.find(path, node, func(n *meta.Node) (handle.Reply, error) {
		if n == nil || node != 0 && n.ID != node {
			return nil, handle.Refuse(protocol.StatusNotFound, "the node does not exist")
		}
		return &protocol.NodeDescribeAnswer{Node: wire(n)}, nil
	})
}

// find answers with a node identified by its path, or else by its id: immediately if the node is known here, else
// after a barrier. answer gets nil if the node does not exist. A dropped node never returns.
func (h handlers) find(path string, id shard.NodeID, answer func(*meta.Node) (handle.Reply, error)) (
	handle.Reply, error,
) {
	look := func() (n meta.Node, ok bool) {
		if path != "" {
			return h.Meta.Machine.Node(path)
		}
		return h.Meta.Machine.NodeByID(id)
	}
	if n, ok := look(); ok {
		return answer(&n)
	}
	if path == "" && !h.Unfilled(id) {
		return answer(nil)
	}
	return h.ConfirmMeta(func() (handle.Reply, error) {
		if n, ok := look(); ok {
			return answer(&n)
		}
		return answer(nil)
	}), nil
}

func (h handlers) list(r *handle.Request) (handle.Reply, error) {
	m, by := &r.NodeList, r.Caller
	prefix, after, limit := meta.ParsePrefix(string(m.Prefix)), string(m.After), handle.ItemLimit(m.Limit)
	return h.ConfirmMeta(func() (handle.Reply, error) {
		var answer protocol.NodeListAnswer
		page, more := h.Meta.Machine.Nodes(prefix, after, limit)
		for i := range page {
			if by.Allows(page[i].Path, "", protocol.RightRead) {
				answer.Nodes.Append(wire(&page[i]))
			}
			if handle.EndsPage(answer.Nodes.Size(), i, len(page), more) {
				answer.Next = []byte(page[i].Path)
				break
			}
		}
		return &answer, nil
	}), nil
}

func wire(n *meta.Node) protocol.Node {
	return protocol.Node{
		ID: uint64(n.ID), Path: []byte(n.Path), Config: protocol.NodeConfig(n.Config), ConfigVersion: n.Version,
	}
}
