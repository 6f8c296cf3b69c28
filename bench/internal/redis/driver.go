package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

// lease is the time until an unreleased lock is free.
const lease = 30 * time.Second

// unlock deletes a lock if the value is still the owner's token.
var unlock = rueidis.NewLuaScript(
	`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`)

// ErrNotLocked: a caller's own lock was taken, or lost before its release.
var ErrNotLocked = errors.New("the lock is another one's")

// Drive runs one workload on a server: lock, in which every caller locks and unlocks its own lock.
func Drive(ctx context.Context, endpoints []string, plan load.Plan) (*report.Report, error) {
	if plan.Workload != "lock" {
		return nil, fmt.Errorf("workload %q: there is none with Redis", plan.Workload)
	}
	if len(endpoints) != 1 {
		return nil, fmt.Errorf("%d servers: Redis is one", len(endpoints))
	}
	client, err := dial(endpoints[0], plan.Connections)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	operations, err := load.Prepare(plan.Callers, func(i int) (load.Operation, error) {
		l := lock{client: client, key: fmt.Sprintf("bench:lock:%d", i), token: fmt.Sprint("token of ", i)}
		cycle := new(load.Exclusion).Cycle(l.lock, l.unlock)
		return cycle, cycle(ctx)
	})
	if err != nil {
		return nil, err
	}
	return load.Loop(ctx, plan, operations)
}

// lock is a key.
type lock struct {
	client rueidis.Client
	key    string
	token  string
}

func (l *lock) lock(ctx context.Context) error {
	set := l.client.B().Set().Key(l.key).Value(l.token).Nx().Px(lease).Build()
	err := l.client.Do(ctx, set).Error()
	if rueidis.IsRedisNil(err) {
		return fmt.Errorf("lock %s: %w", l.key, ErrNotLocked)
	}
	return err
}

func (l *lock) unlock(ctx context.Context) error {
	deleted, err := unlock.Exec(ctx, l.client, []string{l.key}, []string{l.token}).AsInt64()
	if err == nil && deleted != 1 {
		return fmt.Errorf("unlock %s: %w", l.key, ErrNotLocked)
	}
	return err
}
