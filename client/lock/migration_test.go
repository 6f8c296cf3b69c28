package lock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/lock"
)

// The code between the two marks is also in docs/guides/migrate.md.

// OldLock is a lock of the service that the programs leave.
type OldLock interface {
	// Lock waits for the lock. The context held ends with ctx, and when the lock is lost.
	Lock(ctx context.Context) (held context.Context, token uint64, err error)
	Unlock(ctx context.Context) error
}

// Phase says which locks a program takes. Phases next to each other may run at the same time.
type Phase int

const (
	OldOnly Phase = iota
	Both
	NewOnly
)

// Tokens are the fencing tokens of the locks that are held; 0 without the lock.
type Tokens struct{ Old, New uint64 }

// Guarded runs fn under the locks of the phase: the old lock first, then the new lock.
func Guarded(
	ctx context.Context, phase Phase, old OldLock, s *client.Session, name string,
	fn func(ctx context.Context, tokens Tokens) error,
) (err error) {
	held, token := ctx, uint64(0)
	if phase != NewOnly {
		if held, token, err = old.Lock(ctx); err != nil {
			return err
		}
		defer func() {
			bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			err = errors.Join(err, old.Unlock(bye))
		}()
	}
	if phase == OldOnly {
		return fn(held, Tokens{Old: token})
	}
	return lock.Do(held, s, name, func(ctx context.Context, fence uint64) error {
		return fn(ctx, Tokens{Old: token, New: fence}) // ctx ends if either lock is lost
	})
}

// The end of the code in docs/guides/migrate.md.

// oldService is an old lock of several programs, in memory.
type oldService struct {
	turn  chan struct{} // has one element while the lock is free
	token atomic.Uint64
}

func newOldService() *oldService {
	o := &oldService{turn: make(chan struct{}, 1)}
	o.turn <- struct{}{}
	return o
}

func (o *oldService) Lock(ctx context.Context) (context.Context, uint64, error) {
	select {
	case <-o.turn:
		return ctx, o.token.Add(1), nil
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
}

func (o *oldService) Unlock(context.Context) error {
	o.turn <- struct{}{}
	return nil
}

// fencedStore remembers the highest token of each service.
type fencedStore struct {
	mu      sync.Mutex
	highest Tokens
}

func (f *fencedStore) write(t Tokens) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.Old != 0 && t.Old < f.highest.Old || t.New != 0 && t.New < f.highest.New {
		return fmt.Errorf("%+v after %+v", t, f.highest)
	}
	f.highest = Tokens{max(t.Old, f.highest.Old), max(t.New, f.highest.New)}
	return nil
}

// migrate runs programs that lock the same name all the time, and moves them one by one through the phases. The result
// is how often two programs were inside at the same time, and how often the store refused a write.
func migrate(t *testing.T, phases ...Phase) (together, refused int64) {
	g := newStage(t)
	const programs = 5
	old, store := newOldService(), &fencedStore{}
	var inside atomic.Int32
	var overlaps, refusals atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var phase [programs]atomic.Int64
	var rounds [programs]atomic.Int64
	var all sync.WaitGroup
	for i := range programs {
		s := g.Session()
		all.Go(func() {
			for ctx.Err() == nil {
				err := Guarded(ctx, Phase(phase[i].Load()), old, s, "job", func(_ context.Context, of Tokens) error {
					if inside.Add(1) != 1 {
						overlaps.Add(1)
					}
					time.Sleep(time.Millisecond)
					if store.write(of) != nil {
						refusals.Add(1)
					}
					inside.Add(-1)
					return nil
				})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				rounds[i].Add(1)
			}
		})
	}
	for _, next := range phases {
		for i := range programs {
			time.Sleep(100 * time.Millisecond) // all programs work beside the one that changes
			phase[i].Store(int64(next))
		}
	}
	time.Sleep(100 * time.Millisecond)
	stop()
	all.Wait()
	for i := range programs {
		if n := rounds[i].Load(); n < 10 {
			t.Errorf("program %d worked %d times", i, n)
		}
	}
	return overlaps.Load(), refusals.Load()
}

func TestRollingMigrationNeverLetsTwoProgramsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// There, and back again as in a rollback.
		together, refused := migrate(t, Both, NewOnly, Both, OldOnly)
		if together != 0 || refused != 0 {
			t.Errorf("two programs were inside %d times, %d writes were refused", together, refused)
		}
	})
}

func TestMigrationWithoutBothLocksLetsTwoProgramsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if together, _ := migrate(t, NewOnly); together == 0 {
			t.Error("the programs never overlapped, so the test of a rolling migration shows nothing")
		}
	})
}

func TestMigrationStopsIfTheNewLockIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		s := g.Session()
		err := Guarded(t.Context(), Both, newOldService(), s, "nightly", func(ctx context.Context, _ Tokens) error {
			if err := g.Client.DestroySession(t.Context(), s.ID()); err != nil {
				t.Fatal(err)
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if !errors.Is(err, lock.ErrLost) {
			t.Errorf("it ends with %v", err)
		}
	})
}

// TestTheMigrationGuideHasTheTestedCode: a reader of the guide copies what the tests above test.
func TestTheMigrationGuideHasTheTestedCode(t *testing.T) {
	const end = "// The end of the code in docs/guides/migrate.md.\n"
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	source, page := read("migration_test.go"), read("../../docs/guides/migrate.md")
	_, code, ok := strings.Cut(source, "docs/guides/migrate.md.\n\n")
	code, _, closed := strings.Cut(code, "\n"+end)
	if !ok || !closed || !strings.Contains(page, "```go\n"+code+"```\n") {
		t.Errorf("docs/guides/migrate.md does not have this code:\n%s", code)
	}
}
