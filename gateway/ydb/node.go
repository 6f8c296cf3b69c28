package ydb

import (
	"context"
	"errors"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"

	"github.com/signalbox/signalbox/protocol"
)

// alterTries is how often a config change is retried after a concurrent change.
const alterTries = 10

// pathRequest is a request about a path.
type pathRequest interface {
	GetOperationParams() *Ydb_Operations.OperationParams
	GetPath() string
}

// withCluster calls f with the client for the caller's ticket, and limits the call by its operation params.
func (g *Gateway) withCluster(
	ctx context.Context, p *Ydb_Operations.OperationParams, f func(ctx context.Context, c call, t *ticket) error,
) error {
	ctx, cancel := withTimeout(ctx, p)
	defer cancel()
	c, err := g.callOf(ctx)
	if err != nil {
		return err
	}
	t, leave, err := g.admit(ctx, &c, c.ticket)
	if err != nil {
		return err
	}
	defer leave()
	return f(ctx, c, t)
}

// onNode is withCluster for a call about a node; f gets the node path in the cluster's form. A missing node, or a node
// outside the database, is a scheme error.
func (g *Gateway) onNode(
	ctx context.Context, r pathRequest, f func(ctx context.Context, t *ticket, path string) error,
) error {
	return g.withCluster(ctx, r.GetOperationParams(), func(ctx context.Context, c call, t *ticket) error {
		path := pathOf(r.GetPath())
		if !c.below(path) {
			return &failed{Ydb.StatusIds_SCHEME_ERROR, "the path is not below the database " + c.database}
		}
		err := f(ctx, t, path)
		if errors.Is(err, protocol.ErrNotFound) {
			return &failed{Ydb.StatusIds_SCHEME_ERROR, "path does not exist: " + path}
		}
		return err
	})
}

// CreateNode creates a node. An existing node does not change.
func (g *Gateway) CreateNode(
	ctx context.Context, r *Ydb_Coordination.CreateNodeRequest,
) (*Ydb_Coordination.CreateNodeResponse, error) {
	err := g.withCluster(ctx, r.GetOperationParams(), func(ctx context.Context, c call, t *ticket) error {
		path := pathOf(r.Path)
		switch {
		case r.GetConfig().GetPath() != "":
			return &failed{Ydb.StatusIds_BAD_REQUEST, "config.path is not for requests"}
		case !c.below(path):
			return &failed{Ydb.StatusIds_BAD_REQUEST, "the path is not below the database " + c.database}
		case !isName(path):
			return &failed{Ydb.StatusIds_SCHEME_ERROR, "a part of the path is no name: " + path}
		}
		return t.raw.Do(ctx, &protocol.NodeCreate{Path: []byte(path), Config: configOf(askedOf(r.Config))}, nil)
	})
	return &Ydb_Coordination.CreateNodeResponse{Operation: operation(nil, err)}, nil
}

// maxPartBytes is the maximum length of a path component.
const maxPartBytes = 255

// isName returns whether all path components are valid YDB names.
func isName(path string) bool {
	for part := range strings.SplitSeq(path[1:], "/") {
		strange := func(r rune) bool { return r <= ' ' || r > '~' }
		if len(part) > maxPartBytes || strings.Trim(part, ".") == "" || strings.ContainsFunc(part, strange) {
			return false
		}
	}
	return true
}

// AlterNode changes the config fields that are set.
func (g *Gateway) AlterNode(
	ctx context.Context, r *Ydb_Coordination.AlterNodeRequest,
) (*Ydb_Coordination.AlterNodeResponse, error) {
	err := g.onNode(ctx, r, func(ctx context.Context, t *ticket, path string) error {
		if r.GetConfig().GetPath() != "" {
			return &failed{Ydb.StatusIds_BAD_REQUEST, "config.path is not for requests"}
		}
		for try := 1; ; try++ {
			before, err := describe(ctx, t, path)
			if err != nil {
				return err
			}
			err = t.raw.Do(ctx, &protocol.NodeAlter{
				NodeID: before.ID, ConfigVersion: before.ConfigVersion,
				Config: configOf(merge(shownOf(&before.Config), askedOf(r.Config))),
			}, nil)
			if !errors.Is(err, protocol.ErrPreconditionFailed) || try == alterTries {
				return err
			}
		}
	})
	return &Ydb_Coordination.AlterNodeResponse{Operation: operation(nil, err)}, nil
}

// DropNode drops a node.
func (g *Gateway) DropNode(
	ctx context.Context, r *Ydb_Coordination.DropNodeRequest,
) (*Ydb_Coordination.DropNodeResponse, error) {
	err := g.onNode(ctx, r, func(ctx context.Context, t *ticket, path string) error {
		n, err := describe(ctx, t, path)
		if err != nil {
			return err
		}
		return t.raw.Do(ctx, &protocol.NodeDrop{Path: []byte(path), NodeID: n.ID}, nil)
	})
	return &Ydb_Coordination.DropNodeResponse{Operation: operation(nil, err)}, nil
}

// DescribeNode describes a node, with its config as last requested.
func (g *Gateway) DescribeNode(
	ctx context.Context, r *Ydb_Coordination.DescribeNodeRequest,
) (*Ydb_Coordination.DescribeNodeResponse, error) {
	result := &Ydb_Coordination.DescribeNodeResult{}
	err := g.onNode(ctx, r, func(ctx context.Context, t *ticket, path string) error {
		n, err := describe(ctx, t, path)
		if err != nil {
			return err
		}
		result.Self, result.Config = entryOf(path, Ydb_Scheme.Entry_COORDINATION_NODE), configShown(shownOf(&n.Config))
		return nil
	})
	return &Ydb_Coordination.DescribeNodeResponse{Operation: operation(result, err)}, nil
}

func describe(ctx context.Context, t *ticket, path string) (n protocol.Node, err error) {
	err = t.raw.Do(ctx, &protocol.NodeDescribe{Path: []byte(path)}, func(a *protocol.Answer) {
		n = a.NodeDescribe.Node
		n.Path = nil // a view that is only valid here
	})
	return n, err
}
