package server_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// TestListsAreCompleteWhileSlotsMove: lists contain each lasting semaphore, session, rollout, process, and holding once
// and in order. Meanwhile, other names are created and deleted, and leaders change.
func TestListsAreCompleteWhileSlotsMove(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts lists in seconds, and the race detector slows them down")
	}
	const path, semaphores, others = "/lists", 2500, 200
	c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(2))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cl, err := client.Open(ctx, c.Addresses(), client.WithDialer(c.Dial))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	node, err := cl.CreateNode(ctx, path, client.NodeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	name := func(kind string, i int) string { return fmt.Sprintf("%s-%06d", kind, i) }
	slotOf := func(name string) shard.Slot { return shard.SlotOf(shard.NodeID(node.ID), []byte(name)) }

	wanted := make(map[string][]string) // by kind
	var mu sync.Mutex
	want := func(kind, name string) {
		mu.Lock()
		wanted[kind] = append(wanted[kind], name)
		mu.Unlock()
	}
	var making sync.WaitGroup
	for w := range 16 {
		making.Go(func() {
			s, err := cl.Session(ctx, path, client.SessionTimeout(time.Minute))
			if err != nil {
				t.Error(err)
				return
			}
			want("session", fmt.Sprintf("%020d", s.ID()))
			for i := w; i < semaphores && err == nil; i += 16 {
				if err = s.Semaphore(name("semaphore", i)).Create(ctx, 1, nil); err == nil {
					want("semaphore", name("semaphore", i))
				}
			}
			for i := w; i < others && err == nil; i += 16 {
				spec := rollout.Spec{Locations: []rollout.Location{{Name: "here"}}}
				if _, err = rollout.New(cl, path, name("rollout", i)).Put(ctx, spec, rollout.ChangeInfo{}); err != nil {
					break
				}
				want("rollout", name("rollout", i))
				p := process.New(cl, path, name("process", i))
				if _, err = p.Put(ctx, process.Spec{}, process.ChangeInfo{}); err == nil {
					want("process", name("process", i))
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	making.Wait()
	owner, err := cl.Session(ctx, path, client.SessionTimeout(time.Minute))
	if err != nil || t.Failed() {
		t.Fatal(err)
	}
	want("session", fmt.Sprintf("%020d", owner.ID()))
	for i := range others {
		if _, err := owner.Semaphore(name("semaphore", i)).Acquire(ctx); err != nil {
			t.Fatal(err)
		}
		want("holding", name("semaphore", i))
	}

	lists := map[string]func() iter.Seq2[string, error]{
		"semaphore": func() iter.Seq2[string, error] {
			return named(cl.Node(path).Semaphores(ctx), func(s *client.SemaphoreInfo) string { return s.Name })
		},
		"session": func() iter.Seq2[string, error] {
			return named(cl.Node(path).Sessions(ctx), func(s *client.SessionInfo) string {
				return fmt.Sprintf("%020d", s.ID)
			})
		},
		"rollout": func() iter.Seq2[string, error] {
			return named(rollout.List(ctx, cl, path), func(s *rollout.Summary) string { return s.Name })
		},
		"process": func() iter.Seq2[string, error] {
			return named(process.List(ctx, cl, path), func(s *process.Summary) string { return s.Name })
		},
		"holding": func() iter.Seq2[string, error] {
			return named(cl.Holdings(ctx, owner.ID()), func(h *client.Holding) string { return h.Name })
		},
	}
	stop := make(chan struct{})
	var running sync.WaitGroup
	var counts []*atomic.Int64
	for kind, list := range lists {
		count := &atomic.Int64{}
		counts = append(counts, count)
		slices.Sort(wanted[kind])
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := checkList(list(), wanted[kind], kind == "holding"); err != nil {
					t.Errorf("the list of %ss: %v", kind, err)
					return
				}
				count.Add(1)
			}
		})
	}
	running.Go(func() { // names that come and go
		n := cl.Node(path)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			// When a leader leaves, clients do not repeat changes without a session, and the outcome is unknown.
			brief := name("semaphore", i%semaphores) + "-brief"
			if err := n.Create(ctx, brief, 1, nil); err != nil && !errors.Is(err, client.ErrUnavailable) &&
				!errors.Is(err, client.ErrAlreadyExists) {
				t.Errorf("create: %v", err)
				return
			}
			if i < 10 {
				continue
			}
			err := n.Delete(ctx, name("semaphore", (i-10)%semaphores)+"-brief")
			if err != nil && !errors.Is(err, client.ErrUnavailable) && !errors.Is(err, client.ErrNotFound) {
				t.Errorf("delete: %v", err)
				return
			}
		}
	})
	m, random, moved := newMover(t, c), rand.New(rand.NewPCG(1, 2)), 0
	enough := func() bool {
		return !slices.ContainsFunc(counts, func(n *atomic.Int64) bool { return n.Load() < 5 })
	}
	for moved < 300 || !enough() {
		if ctx.Err() != nil || t.Failed() {
			break
		}
		of := "semaphore"
		if kinds := []string{"session", "rollout", "process"}; random.IntN(2) == 0 {
			of = kinds[random.IntN(len(kinds))]
		}
		slot := slotOf(name(of, random.IntN(others)))
		if of == "session" {
			var id uint64
			_, _ = fmt.Sscan(strings.TrimLeft(wanted[of][random.IntN(len(wanted[of]))], "0"), &id)
			slot = shard.SessionID(id).Slot()
		}
		if m.move(slot) == protocol.SlotOpened {
			moved++
		}
		if moved%50 == 0 {
			_ = c.Elect(uint64(1+random.IntN(2)), shard.HostID(1+random.IntN(3)))
		}
	}
	close(stop)
	running.Wait()
	var total int64
	for _, n := range counts {
		total += n.Load()
	}
	t.Logf("%d moves and %d lists", moved, total)
	if !enough() {
		t.Error("some list took too long")
	}
}

// named returns the names of a loop's items.
func named[T any](loop iter.Seq2[T, error], name func(T) string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for item, err := range loop {
			if err != nil {
				yield("", err)
				return
			}
			if !yield(name(item), nil) {
				return
			}
		}
	}
}

// checkList compares a list with the sorted lasting names. Unsorted lists are sorted first.
func checkList(list iter.Seq2[string, error], want []string, unsorted bool) error {
	var got []string
	for name, err := range list {
		if err != nil {
			return err
		}
		got = append(got, name)
	}
	if unsorted {
		slices.Sort(got)
	}
	for i := 1; i < len(got); i++ {
		if got[i] <= got[i-1] {
			return fmt.Errorf("%s after %s", got[i], got[i-1])
		}
	}
	lasting := slices.DeleteFunc(got, func(name string) bool { return strings.HasSuffix(name, "-brief") })
	for i, name := range lasting {
		if i == len(want) || name != want[i] {
			return fmt.Errorf("name %d is %s", i, name)
		}
	}
	if len(lasting) < len(want) {
		return fmt.Errorf("%d names of %d, first missing is %s", len(lasting), len(want), want[len(lasting)])
	}
	return nil
}
