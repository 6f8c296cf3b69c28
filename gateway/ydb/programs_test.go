package ydb_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination/options"
)

// open opens the SDK, as programs do.
func (r *rig) open() *sdk.Driver {
	r.t.Helper()
	db, err := sdk.Open(r.t.Context(), "grpc://"+r.address+database)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = db.Close(context.Background()) })
	return db
}

// sessionOf starts a session that survives a machine that stands still.
func sessionOf(t *testing.T, db *sdk.Driver) coordination.Session {
	t.Helper()
	s, err := db.Coordination().Session(t.Context(), nodePath, options.WithSessionTimeout(5*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestALockOfPrograms is the SDK's example of a lock: programs take turns, and only the owner changes the guarded
// value.
func TestALockOfPrograms(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	const programs, turns = 4, 5
	var inside, total atomic.Int64
	var all sync.WaitGroup
	for range programs {
		s := sessionOf(t, r.open())
		all.Go(func() {
			for range turns {
				lease, err := s.AcquireSemaphore(t.Context(), "lock", coordination.Exclusive,
					options.WithEphemeral(true), options.WithAcquireInfiniteTimeout())
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 || lease.Context().Err() != nil {
					t.Errorf("%d programs have the lock; the lease: %v", n, lease.Context().Err())
				}
				total.Add(1)
				inside.Add(-1)
				if err := lease.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := total.Load(); n != programs*turns {
		t.Errorf("the lock was taken %d times, want %d", n, programs*turns)
	}
}

// TestWorkersShareTasks is the SDK's example of workers: each task is a semaphore with one owner at a time. Other
// workers take over tasks left by a worker.
func TestWorkersShareTasks(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	const workers, tasks = 3, 9
	leases := make(map[string]coordination.Lease)
	var sessions []coordination.Session
	for range workers {
		sessions = append(sessions, sessionOf(t, r.open()))
	}
	try := func(worker int, task string) (coordination.Lease, error) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return sessions[worker].AcquireSemaphore(ctx, task, coordination.Exclusive, options.WithEphemeral(true),
			options.WithAcquireTimeout(0))
	}
	for i := range tasks {
		task := fmt.Sprintf("task-%d", i)
		lease, err := try(i%workers, task)
		if err != nil {
			t.Fatalf("%s: %v", task, err)
		}
		leases[task] = lease
		if _, err := try((i+1)%workers, task); err == nil {
			t.Errorf("%s has two workers", task)
		}
	}
	for i := 0; i < tasks; i += workers { // the first worker leaves its tasks
		task := fmt.Sprintf("task-%d", i)
		if err := leases[task].Release(); err != nil {
			t.Fatal(err)
		}
		if _, err := try(1, task); err != nil {
			t.Errorf("%s is not taken over: %v", task, err)
		}
	}
	d, err := sessions[2].DescribeSemaphore(t.Context(), "task-0", options.WithDescribeOwners(true))
	if err != nil || len(d.Owners) != 1 || d.Owners[0].SessionID != sessions[1].SessionID() {
		t.Errorf("task-0 is %v, %v; want an owner of session %d", d, err, sessions[1].SessionID())
	}
}
