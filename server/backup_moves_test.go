package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
)

// forgotten is how long a shard keeps the content of a slot after the move, at most.
const forgotten = 11 * time.Minute

// movedBackup is a cluster with two shards, whose backups are interrupted by moves of one slot with a semaphore.
type movedBackup struct {
	*mover
	client *client.Client
	slot   shard.Slot
}

func newMovedBackup(t *testing.T) *movedBackup {
	c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(2))
	cl, err := client.Open(t.Context(), c.Addresses(), client.WithDialer(c.Dial))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cl.Close() })
	node, err := cl.CreateNode(t.Context(), "/moves", client.NodeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	mb := &movedBackup{mover: newMover(t, c), client: cl}
	for i := 0; mb.slot == 0; i++ { // a name in shard 2, whose section comes later
		name := fmt.Sprint("s", i)
		if slot := shard.SlotOf(shard.NodeID(node.ID), []byte(name)); mb.owner(slot) == 2 {
			mb.slot = slot
			if err := cl.Node("/moves").Create(t.Context(), name, 1, []byte("data")); err != nil {
				t.Fatal(err)
			}
		}
	}
	return mb
}

// save saves a backup, and calls between after each section.
func (mb *movedBackup) save(between func(section int)) (admin.Backup, *bytes.Buffer, error) {
	var file bytes.Buffer
	sections, bytes := 0, int64(0)
	done, err := admin.New(mb.client).Backup(mb.t.Context(), &file, func(b admin.Backup) {
		if b.Bytes == bytes { // the end of a section: nothing was added
			sections++
			between(sections)
		}
		bytes = b.Bytes
	})
	return done, &file, err
}

// TestABackupHasASlotThatMovesBetweenItsSections: the section of the new owner is from before the move, and the old
// owner has forgotten the content. The new owner's section is read again.
func TestABackupHasASlotThatMovesBetweenItsSections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := newMovedBackup(t)
		done, file, err := mb.save(func(section int) {
			if section == 1 {
				mb.move(mb.slot)
				time.Sleep(forgotten)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		states, err := backup.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if done.Again != 1 || states.Data[1].Usage(0).Objects != 1 || states.Data[2].Usage(0).Objects != 0 {
			t.Errorf("%+v: %d and %d objects", done, states.Data[1].Usage(0).Objects, states.Data[2].Usage(0).Objects)
		}
	})
}

// TestABackupFailsIfASlotMovesAllTheTime: after three more sections, with the slot in the error.
func TestABackupFailsIfASlotMovesAllTheTime(t *testing.T) {
	if testing.Short() {
		t.Skip("plays an hour of a cluster")
	}
	synctest.Test(t, func(t *testing.T) {
		mb := newMovedBackup(t)
		done, _, err := mb.save(func(int) {
			mb.move(mb.slot)
			time.Sleep(forgotten)
		})
		if !errors.Is(err, client.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), fmt.Sprintf("slot %d to shard",
			mb.slot)) || done.Again != 3 {
			t.Errorf("%+v: %v", done, err)
		}
	})
}

// TestABackupHasTheShardsWithSlots: shard 2 was removed, shard 3 has slots, and shard 4 has none.
func TestABackupHasTheShardsWithSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(1))
		cl, err := client.Open(t.Context(), c.Addresses(), client.WithDialer(c.Dial))
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		node, err := cl.CreateNode(t.Context(), "/moves", client.NodeConfig{})
		if err != nil {
			t.Fatal(err)
		}
		var filled []shard.Slot
		for i := range names {
			name := fmt.Sprint("s", i)
			if err := cl.Node("/moves").Create(t.Context(), name, 1, nil); err != nil {
				t.Fatal(err)
			}
			filled = append(filled, shard.SlotOf(shard.NodeID(node.ID), []byte(name)))
		}
		s := shards{t, c}
		s.do(&meta.Rebalance{Action: protocol.RebalancePause})
		s.add(2, 1, 3)
		s.remove(2)
		s.add(3, 1, 3)
		s.move(3, filled[:names/2]...)
		s.add(4, 1, 3)
		var file bytes.Buffer
		done, err := admin.New(cl).Backup(t.Context(), &file, nil)
		if err != nil || done.Shards != 2 || done.Saved != 3 {
			t.Fatalf("%+v: %v", done, err)
		}
		states, err := backup.Load(&file)
		if err != nil {
			t.Fatal(err)
		}
		if got := states.Shards(); !slices.Equal(got, []meta.ShardID{1, 3}) {
			t.Errorf("the backup has the shards %d", got)
		}
		made, err := states.Regenerate(regeneration(states))
		if err != nil {
			t.Fatal(err)
		}
		if made.Objects != names || made.Left != 0 {
			t.Errorf("%d objects, %d left out", made.Objects, made.Left)
		}
	})
}

// backedUp is a cluster whose slots move all the time, by orders, while a client writes.
type backedUp struct {
	t       *testing.T
	c       *servertest.Cluster
	client  *client.Client
	node    uint64
	stop    context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex // guards the fields below
	data map[string]int
}

const backedUpShards = 3

func newBackedUp(t *testing.T) *backedUp {
	ctx, stop := context.WithCancel(t.Context())
	b := &backedUp{t: t, stop: stop, data: make(map[string]int),
		c: servertest.Start(t, servertest.Hosts(3), servertest.Shards(backedUpShards), servertest.Room(4))}
	var err error
	if b.client, err = client.Open(ctx, b.c.Addresses(), client.WithDialer(b.c.Dial)); err != nil {
		t.Fatal(err)
	}
	n, err := b.client.CreateNode(ctx, "/moves", client.NodeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	b.node = n.ID
	b.running.Go(func() { b.write(ctx) })
	b.running.Go(func() { b.order(ctx) })
	return b
}

func (b *backedUp) end() {
	b.stop()
	b.running.Wait()
	_ = b.client.Close()
}

// names is the number of semaphores.
const names = 60

// write creates semaphores, and changes their data to higher and higher numbers.
func (b *backedUp) write(ctx context.Context) {
	for i := 1; ctx.Err() == nil; i++ {
		name := fmt.Sprint("s", i%names)
		err := b.client.Node("/moves").Create(ctx, name, 1, fmt.Append(nil, i))
		if errors.Is(err, client.ErrAlreadyExists) {
			err = b.client.Node("/moves").Update(ctx, name, fmt.Append(nil, i))
		}
		if err == nil {
			b.mu.Lock()
			b.data[name] = i
			b.mu.Unlock()
		} else if ctx.Err() == nil {
			b.t.Errorf("%s: %v", name, err)
			return
		}
	}
}

// order orders moves of the slots in use.
func (b *backedUp) order(ctx context.Context) {
	random := rand.New(rand.NewPCG(1, 2))
	for ctx.Err() == nil {
		slot := shard.SlotOf(shard.NodeID(b.node), fmt.Append(nil, "s", random.IntN(names)))
		_, _ = b.c.Do(&meta.SlotMove{Slot: slot, To: hosts.ShardID(1 + random.IntN(backedUpShards))})
		time.Sleep(5 * time.Millisecond)
	}
}

// acknowledged returns the acknowledged data.
func (b *backedUp) acknowledged() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.data)
}

// moved returns how many moves have ended.
func (b *backedUp) moved() (n uint64) {
	for slot := range shard.Slot(shard.Slots) {
		n += b.c.Records().Slots().Of(slot).Generation
	}
	return n
}

// check checks that machines have what was acknowledged before, once.
func (b *backedUp) check(what string, before map[string]int, of []*machine.Machine) {
	b.t.Helper()
	there := make(map[string]int)
	for _, m := range of {
		for _, s := range m.State().Semaphores {
			if _, twice := there[s.Name]; twice {
				b.t.Errorf("%s: %s is there twice", what, s.Name)
			}
			n := 0
			_, _ = fmt.Sscan(s.Data, &n)
			there[s.Name] = n
		}
	}
	for name, n := range before {
		if there[name] < n {
			b.t.Errorf("%s: %s has the data %d, and %d was acknowledged before", what, name, there[name], n)
		}
	}
}

// TestBackupsAreCompleteWhileSlotsMove: backups are saved all the time. Each is restored. The last one becomes a
// cluster, and its clients find everything.
func TestBackupsAreCompleteWhileSlotsMove(t *testing.T) {
	b := newBackedUp(t)
	var last *backup.States
	var before map[string]int
	const backups, moves = 12, 100
	for n := 0; n < backups || b.moved() < moves; n++ {
		began := b.moved()
		awaitThat(t, "slots move", func() bool { return b.moved() > began || t.Failed() })
		before = b.acknowledged()
		var file bytes.Buffer
		_, err := admin.New(b.client).Backup(t.Context(), &file, nil)
		if err == nil {
			last, err = backup.Load(&file)
		}
		if err != nil {
			t.Fatalf("backup %d: %v", n, err)
		}
		made, err := last.Regenerate(regeneration(last))
		if err != nil {
			t.Fatalf("backup %d: %v", n, err)
		}
		b.check(fmt.Sprint("backup ", n), before, made.Data)
	}
	t.Logf("%d moves", b.moved())
	b.end()
	if t.Failed() {
		return
	}
	made, err := last.Regenerate(regeneration(last))
	if err == nil {
		err = b.c.Remake(made)
	}
	if err == nil {
		err = b.c.WaitReady(time.Minute)
	}
	if err != nil {
		t.Fatal(err)
	}
	cl, err := client.Open(t.Context(), b.c.Addresses(), client.WithDialer(b.c.Dial))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for name, n := range before {
		d, err := cl.Node("/moves").Describe(t.Context(), name)
		got := 0
		if err == nil {
			_, err = fmt.Sscan(string(d.Data), &got)
		}
		if err != nil || got < n {
			t.Errorf("%s has the data %d after the restore, and %d was acknowledged before: %v", name, got, n, err)
		}
	}
}

// regeneration makes a cluster with the same shards.
func regeneration(s *backup.States) meta.Regeneration {
	return meta.Regeneration{Draw: [16]byte{1}, Jump: machine.JumpOver(time.Since(s.Header.Begun)), By: "test",
		Cluster: "test", First: servertest.InitialMember(s.NextHost())}
}

// TestABackupHoldsMovesInACluster: between the first section and the end no slot moves.
func TestABackupHoldsMovesInACluster(t *testing.T) {
	b := newBackedUp(t)
	defer b.end()
	awaitThat(t, "slots move", func() bool { return b.moved() > 20 || t.Failed() })
	first, last, sections := uint64(0), uint64(0), 0
	_, err := admin.New(b.client).Backup(t.Context(), new(bytes.Buffer), func(s admin.Backup) {
		if sections == s.Saved || s.Saved > backedUpShards { // after the last section the hold ends
			return
		}
		if sections = s.Saved; sections == 1 {
			first = b.moved()
		}
		for before := b.c.Records().Revision(); b.c.Records().Revision() < before+20; { // orders go on
			time.Sleep(time.Millisecond)
		}
		last = b.moved()
	})
	if err != nil || sections != backedUpShards {
		t.Fatalf("%d sections: %v", sections, err)
	}
	if first != last {
		t.Errorf("%d moves during the backup", last-first)
	}
	awaitThat(t, "slots move again", func() bool { return b.moved() > last || t.Failed() })
}
