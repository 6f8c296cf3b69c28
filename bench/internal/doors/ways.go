package doors

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/signalbox/signalbox/bench/internal/load"
)

// The node, and the TTL of etcd leases: leases are not renewed during the measurement.
const (
	node         = "/bench"
	leaseSeconds = 3600
)

var errNotAcquired = errors.New("the lock was not acquired")

// Signalbox returns the operations for Signalbox.
func Signalbox() map[string]Way {
	return map[string]Way{
		Lock: lockAtSignalbox,
		Echo: func(_ context.Context, d *Door, _ int) (load.Operation, error) {
			return func(context.Context) error {
				return d.ask("/v1/logout", struct{}{}, new(struct{}))
			}, nil
		},
	}
}

// lockAtSignalbox locks and unlocks the caller's own semaphore, as in docs/http.md: each change with a number.
func lockAtSignalbox(_ context.Context, d *Door, caller int) (load.Operation, error) {
	if err := d.ask("/v1/node/create", map[string]any{"node": node}, new(struct{})); err != nil {
		return nil, err
	}
	var s struct{ Session string }
	if err := d.ask("/v1/session/create", map[string]any{"node": node}, &s); err != nil {
		return nil, err
	}
	type request struct {
		Node string `json:"node"`
		Name string `json:"name"`
	}
	q := request{node, fmt.Sprintf("lock-%d", caller)}
	create := map[string]any{"node": node, "name": q.Name, "limit": 1}
	if err := d.ask("/v1/semaphore/create", create, new(struct{})); err != nil {
		return nil, err
	}
	number := 0
	change := func(path string, answer any) error {
		number++
		return d.ask(path, q, answer, "Signalbox-Session", s.Session, "Signalbox-Sequence", strconv.Itoa(number))
	}
	var own load.Exclusion
	return own.Cycle(func(context.Context) error {
		var got struct{ Outcome, Fence string }
		if err := change("/v1/semaphore/acquire", &got); err != nil {
			return err
		}
		if got.Outcome != "acquired" {
			return errNotAcquired
		}
		return nil
	}, func(context.Context) error {
		var gave struct{ Released bool }
		if err := change("/v1/semaphore/release", &gave); err != nil {
			return err
		}
		if !gave.Released {
			return errNotAcquired
		}
		return nil
	}), nil
}

// Etcd returns the operations for etcd: the lock service in its JSON gateway.
func Etcd() map[string]Way { return map[string]Way{Lock: lockAtEtcd} }

func lockAtEtcd(_ context.Context, d *Door, caller int) (load.Operation, error) {
	var lease struct{ ID string }
	if err := d.ask("/v3/lease/grant", map[string]any{"TTL": leaseSeconds}, &lease); err != nil {
		return nil, err
	}
	type lock struct {
		Name  []byte `json:"name"`
		Lease string `json:"lease"`
	}
	type owned struct {
		Key []byte `json:"key"`
	}
	q := lock{fmt.Appendf(nil, "lock-%d", caller), lease.ID}
	var held owned
	var own load.Exclusion
	return own.Cycle(func(context.Context) error {
		held = owned{}
		if err := d.ask("/v3/lock/lock", q, &held); err != nil {
			return err
		}
		if len(held.Key) == 0 {
			return errNotAcquired
		}
		return nil
	}, func(context.Context) error { return d.ask("/v3/lock/unlock", held, new(struct{})) }), nil
}
