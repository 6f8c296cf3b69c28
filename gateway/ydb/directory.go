package ydb

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"

	"github.com/signalbox/signalbox/protocol"
)

// A cluster has nodes and no directories. A directory exists as long as a node visible for the caller lies below the
// path, and the root of a database always exists. So creating a node makes the directories above, and dropping the
// last node removes them.

// place is the entry at a path, as far as visible for the caller.
type place struct {
	path     string
	root     bool // of the database
	node     bool // at the path itself
	children []*Ydb_Scheme.Entry
}

// at calls f with the place at a path in the caller's database.
func (g *Gateway) at(ctx context.Context, r pathRequest, f func(p *place) error) error {
	return g.withCluster(ctx, r.GetOperationParams(), func(ctx context.Context, c call, t *ticket) error {
		p := &place{path: pathOf(r.GetPath())}
		p.root = p.path == pathOf(c.database)
		switch {
		case !p.root && !c.below(p.path):
			return &failed{Ydb.StatusIds_SCHEME_ERROR, "the path is not below the database " + c.database}
		case !p.root && !isName(p.path):
			return &failed{Ydb.StatusIds_SCHEME_ERROR, "a part of the path is no name: " + p.path}
		}
		if err := p.read(ctx, t); err != nil {
			return err
		}
		return f(p)
	})
}

// read reads the place from the cluster.
func (p *place) read(ctx context.Context, t *ticket) error {
	var hidden error // the caller may see nodes below the path only
	if !p.root {
		_, err := describe(ctx, t, p.path)
		p.node = err == nil
		switch {
		case errors.Is(err, protocol.ErrUnauthorized):
			hidden = err
		case err != nil && !errors.Is(err, protocol.ErrNotFound):
			return err
		}
	}
	below := strings.TrimSuffix(p.path, "/") + "/"
	m := &protocol.NodeList{Prefix: []byte(below)}
	for {
		var next string
		err := t.raw.Do(ctx, m, func(a *protocol.Answer) {
			for n := range a.NodeList.Nodes.All() {
				p.add(strings.TrimPrefix(string(n.Path), below))
			}
			next = string(a.NodeList.Next)
		})
		switch {
		case err != nil:
			return err
		case next == "" && len(p.children) == 0:
			return hidden
		case next == "":
			return nil
		}
		if n := len(p.children); n > 0 {
			// Further nodes below a child do not change the child's entry.
			if child := below + p.children[n-1].Name + "/"; strings.HasPrefix(next, child) {
				next = child + behindAll
			}
		}
		m.After = []byte(next)
	}
}

// behindAll is behind every name.
const behindAll = "\U0010FFFF"

// add adds a node by its path below the place. Nodes must be sorted by path.
func (p *place) add(path string) {
	name, _, deeper := strings.Cut(path, "/")
	known := func(e *Ydb_Scheme.Entry) bool { return e.Name == name }
	switch {
	case !deeper:
		p.children = append(p.children, entryOf(name, Ydb_Scheme.Entry_COORDINATION_NODE))
	case !slices.ContainsFunc(p.children, known):
		p.children = append(p.children, entryOf(name, Ydb_Scheme.Entry_DIRECTORY))
	}
}

// entry returns the place's own entry; it fails if nothing exists at the path.
func (p *place) entry() (*Ydb_Scheme.Entry, error) {
	switch {
	case p.node:
		return entryOf(p.path, Ydb_Scheme.Entry_COORDINATION_NODE), nil
	case p.root || len(p.children) > 0:
		return entryOf(p.path, Ydb_Scheme.Entry_DIRECTORY), nil
	}
	return nil, &failed{Ydb.StatusIds_SCHEME_ERROR, "path does not exist: " + p.path}
}

func entryOf(p string, is Ydb_Scheme.Entry_Type) *Ydb_Scheme.Entry {
	return &Ydb_Scheme.Entry{Name: path.Base(p), Type: is}
}

// DescribePath says whether a path is a coordination node, a directory, or nothing.
func (g *Gateway) DescribePath(
	ctx context.Context, r *Ydb_Scheme.DescribePathRequest,
) (*Ydb_Scheme.DescribePathResponse, error) {
	result := &Ydb_Scheme.DescribePathResult{}
	err := g.at(ctx, r, func(p *place) (err error) {
		result.Self, err = p.entry()
		return err
	})
	return &Ydb_Scheme.DescribePathResponse{Operation: operation(result, err)}, nil
}

// ListDirectory lists the nodes and the directories in a directory.
func (g *Gateway) ListDirectory(
	ctx context.Context, r *Ydb_Scheme.ListDirectoryRequest,
) (*Ydb_Scheme.ListDirectoryResponse, error) {
	result := &Ydb_Scheme.ListDirectoryResult{}
	err := g.at(ctx, r, func(p *place) (err error) {
		result.Self, err = p.entry()
		result.Children = p.children
		return err
	})
	return &Ydb_Scheme.ListDirectoryResponse{Operation: operation(result, err)}, nil
}

// MakeDirectory succeeds if the path may be a directory, and stores nothing.
func (g *Gateway) MakeDirectory(
	ctx context.Context, r *Ydb_Scheme.MakeDirectoryRequest,
) (*Ydb_Scheme.MakeDirectoryResponse, error) {
	err := g.at(ctx, r, (*place).notANode)
	return &Ydb_Scheme.MakeDirectoryResponse{Operation: operation(nil, err)}, nil
}

// RemoveDirectory succeeds if the path has no node.
func (g *Gateway) RemoveDirectory(
	ctx context.Context, r *Ydb_Scheme.RemoveDirectoryRequest,
) (*Ydb_Scheme.RemoveDirectoryResponse, error) {
	err := g.at(ctx, r, func(p *place) error {
		switch {
		case p.root:
			return &failed{Ydb.StatusIds_SCHEME_ERROR, "the root of a database cannot be removed"}
		case len(p.children) > 0 && !p.node:
			return &failed{Ydb.StatusIds_PRECONDITION_FAILED, "the directory is not empty: " + p.path}
		}
		return p.notANode()
	})
	return &Ydb_Scheme.RemoveDirectoryResponse{Operation: operation(nil, err)}, nil
}

// notANode rejects a node's path.
func (p *place) notANode() error {
	if p.node {
		return &failed{Ydb.StatusIds_SCHEME_ERROR, "the path is a coordination node and no directory: " + p.path}
	}
	return nil
}
