package server

import (
	"errors"
	"fmt"
)

// What Ready may say.
var (
	errNotSettled = errors.New("server: the host has not joined its cluster yet")
	errForeign    = errors.New("server: the cluster has another id or another number of shards than this host is configured for")
	ErrNotReady   = errors.New("not ready")
)

func errNoLeader(id uint64) error {
	return fmt.Errorf("server: shard %d has no leader that this host knows of: %w", id, ErrNotReady)
}

func errNotServing(id uint64) error {
	return fmt.Errorf("server: this host begins to lead shard %d: %w", id, ErrNotReady)
}

func errNotFresh(id uint64) error {
	return fmt.Errorf("server: this host has not made sure lately that its copy of shard %d is up to date: %w", id, ErrNotReady)
}
