package restore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol/backupfile"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/restore"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
)

// semaphores is the semaphore count in a test's states.
const semaphores = 20

// saved are a two-shard cluster's states, as saved from a running cluster: without the cluster name.
func saved(t *testing.T) *backup.States {
	t.Helper()
	bootstrap := identity.NewBootstrap("prod", 2, nil)
	s := backup.NewStates(backupfile.Header{Cluster: bootstrap.Cluster, Begun: time.Now().Add(-time.Hour), Shards: 2,
		Level: level.Newest, Version: "1"})
	s.Meta = meta.New()
	var done meta.Effects
	for _, c := range []meta.Command{
		{Kind: meta.CmdRoutingInit, Cluster: bootstrap.Cluster, Shards: []meta.ShardID{1, 2}},
		{Kind: meta.CmdHostRegister, Host: meta.Host{ID: 1, Name: "a", RaftAddress: "a:1", ClientAddress: "a:2",
			Version: "1", Level: level.Newest}},
		{Kind: meta.CmdClusterLevel, Raise: level.Newest}, {Kind: meta.CmdNodeCreate, Path: "/n"},
	} {
		s.Meta.Apply(&meta.Batch{Commands: []meta.Command{c}}, &done)
	}
	for _, g := range s.Meta.Routing().Ranges {
		var slots shard.SlotSet
		slots.Add(g.First, g.Last)
		m := machine.New(kinds.All(), machine.Options{Slots: slots})
		var out shard.Effects
		m.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdLevel, Count: uint64(level.Newest)}}}, &out)
		for i := range semaphores { // no semaphore is created in other slots
			m.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdSemaphoreCreate, Level: 1, Node: 1,
				Name: fmt.Append(nil, "s", i), Count: 1, Data: fmt.Append(nil, "data", i)}}}, &out)
		}
		s.Data[g.Shard] = m
		s.Sections[g.Shard] = backupfile.Section{Shard: uint64(g.Shard), Term: 3, Index: 100}
	}
	return s
}

// made creates a cluster from states in a new directory, and reads its first host's initial state.
func made(t *testing.T, s *backup.States, o restore.Options) (*restore.Made, *backup.States) {
	t.Helper()
	o.Dir, o.HostName = filepath.Join(t.TempDir(), "data"), "b"
	m, err := restore.Make(t.Context(), o, s)
	if err != nil {
		t.Fatal(err)
	}
	read, err := restore.Read(t.Context(), o.Dir, filepath.Join(t.TempDir(), "scratch"), "1")
	if err != nil {
		t.Fatal(err)
	}
	return m, read
}

// checkSemaphores checks that each semaphore exists once, with its data.
func checkSemaphores(t *testing.T, s *backup.States) {
	t.Helper()
	there := make(map[string]string)
	for _, id := range s.Shards() {
		for _, x := range s.Data[id].State().Semaphores {
			if _, twice := there[x.Name]; twice {
				t.Errorf("%s is there twice", x.Name)
			}
			there[x.Name] = x.Data
		}
	}
	for i := range semaphores {
		if got := there[fmt.Sprint("s", i)]; got != fmt.Sprint("data", i) {
			t.Errorf("s%d has %q", i, got)
		}
	}
}

// least returns the minimum among the shards' new counters.
func least(s *backup.States) (order shard.OrderID, revision shard.Revision, session uint64) {
	order, revision, session = 1<<62, 1<<62, 1<<62
	for _, id := range s.Shards() {
		x := s.Data[id].State()
		order, revision, session = min(order, x.LastOrder), min(revision, x.LastRevision), min(session, x.LastSession)
	}
	return order, revision, session
}

// TestAClusterIsMadeWithOtherShards: with equally many, fewer, and more shards. Every shard's counters start above all
// old counters.
func TestAClusterIsMadeWithOtherShards(t *testing.T) {
	for asked, want := range map[int]int{0: 2, 1: 1, 3: 3} {
		t.Run(fmt.Sprint(asked), func(t *testing.T) {
			m, read := made(t, saved(t), restore.Options{Shards: asked})
			if len(read.Shards()) != want || m.Identity.Shards != want || m.Objects != semaphores || m.Left != 0 ||
				m.Nodes != 1 || m.Identity.HostID != 2 {
				t.Errorf("%d shards: %+v", len(read.Shards()), m)
			}
			checkSemaphores(t, read)
			if order, revision, session := least(read); order < 1<<40 || revision < 1<<40 || session < 1<<36 {
				t.Errorf("counters begin at %d, %d, %d", order, revision, session)
			}
		})
	}
}

// TestAShardThatNothingIsLeftOfBeginsEmpty: the other shards keep their state, and all counters start above the lost
// shard's counters as reported by its leader, which may exceed all other counters.
func TestAShardThatNothingIsLeftOfBeginsEmpty(t *testing.T) {
	_, s := made(t, saved(t), restore.Options{})
	lost := s.Data[2].Usage(0).Objects
	var done meta.Effects
	for _, c := range []meta.Command{{Kind: meta.CmdLead, Term: 1}, {Kind: meta.CmdShardsCounted, Level: level.Newest,
		Request: &meta.ShardsCounted{Term: 1, List: []hosts.Count{{Shard: 2,
			Counters: shard.Counters{LastOrder: 1 << 55, LastRevision: 1 << 54, LastSession: 1 << 50}}}}}} {
		s.Meta.Apply(&meta.Batch{Stamp: clock.Stamp{Term: 1}, Commands: []meta.Command{c}}, &done)
	}
	delete(s.Data, 2)
	delete(s.Sections, 2)
	if missing := s.Missing(); len(missing) != 1 || strings.Join(s.Holders(2), ",") != "b" {
		t.Fatalf("%v is missing, and is on %v", missing, s.Holders(2))
	}
	m, read := made(t, s, restore.Options{})
	if len(read.Shards()) != 2 || read.Data[2].Usage(0).Objects != 0 || m.Objects != semaphores-int(lost) || lost == 0 {
		t.Errorf("%+v, %d were in the lost shard", m, lost)
	}
	if order, revision, session := least(read); order <= 1<<55 || revision <= 1<<54 || session <= 1<<50 {
		t.Errorf("counters begin at %d, %d, %d", order, revision, session)
	}
	clear(s.Data)
	if _, err := restore.Make(t.Context(), restore.Options{Dir: t.TempDir(), HostName: "b"}, s); err == nil {
		t.Error("a cluster is made of no data shard at all")
	}
	early := saved(t)
	delete(early.Data, 2)
	if _, err := restore.Make(t.Context(), restore.Options{Dir: t.TempDir(), HostName: "b"}, early); err == nil {
		t.Error("a shard begins empty whose numbers nothing knows")
	}
}

// TestEachRestoreMovesTheCounters: a second restore from the same file, one second later, has higher counters, and so
// does a restore of the restored cluster.
func TestEachRestoreMovesTheCounters(t *testing.T) {
	s := saved(t)
	_, first := made(t, s, restore.Options{})
	s.Header.Begun = s.Header.Begun.Add(-time.Second) // as if now were a second later
	_, second := made(t, s, restore.Options{})
	_, next := made(t, second, restore.Options{})
	o1, r1, _ := least(first)
	o2, r2, s2 := least(second)
	o3, r3, s3 := least(next)
	if o2 < o1+1<<24 || r2 < r1+1<<24 || o3 < o2+1<<40 || r3 < r2+1<<40 || s3 <= s2 {
		t.Errorf("order ids %d, %d, %d; revisions %d, %d, %d; sessions %d, %d", o1, o2, o3, r1, r2, r3, s2, s3)
	}
	if number := identity.Generation(next.Header.Generation).Number(); number != 2 {
		t.Errorf("the second generation has the number %d", number)
	}
	checkSemaphores(t, next)
}

// TestADirectoryThatWasNotFinishedIsUsedAgain: an unfinished directory contains no host, and a finished directory is
// not created again.
func TestADirectoryThatWasNotFinishedIsUsedAgain(t *testing.T) {
	s, o := saved(t), restore.Options{Dir: filepath.Join(t.TempDir(), "data"), HostName: "b"}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := restore.Make(ended, o, s); !errors.Is(err, context.Canceled) {
		t.Fatalf("it is %v", err)
	}
	if id, err := identity.Read(o.Dir); err != nil || id.Bootstrapped() {
		t.Errorf("a host would start in it: %v, %+v", err, id)
	}
	m, err := restore.Make(t.Context(), o, s)
	if err != nil || m.Objects != semaphores {
		t.Fatalf("%v: %+v", err, m)
	}
	_, err = restore.Make(t.Context(), o, s)
	if err == nil || !strings.Contains(err.Error(), "give an empty directory") {
		t.Errorf("over a host that is there: %v", err)
	}
}

// TestWhatAHostHasIsAsOldAsItsLog: the log determines the age, and the read does not. A clock that was ahead makes
// nothing younger.
func TestWhatAHostHasIsAsOldAsItsLog(t *testing.T) {
	o := restore.Options{Dir: filepath.Join(t.TempDir(), "data"), HostName: "b"}
	if _, err := restore.Make(t.Context(), o, saved(t)); err != nil {
		t.Fatal(err)
	}
	for name, written := range map[string]time.Time{
		"an hour ago": time.Now().Add(-time.Hour), "in an hour": time.Now().Add(time.Hour),
	} {
		touch := func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Chtimes(path, written, written))
		}
		if err := filepath.WalkDir(filepath.Join(o.Dir, identity.LogName), touch); err != nil {
			t.Fatal(err)
		}
		s, err := restore.Read(t.Context(), o.Dir, filepath.Join(t.TempDir(), "scratch"), "1")
		if err != nil {
			t.Fatal(err)
		}
		want := written
		if now := time.Now(); now.Before(want) {
			want = now
		}
		if d := want.Sub(s.Header.Begun); d < -time.Second || d > time.Minute {
			t.Errorf("%s: it is of %v", name, s.Header.Begun)
		}
	}
}

// TestTheIdOfTheOldClusterIsKeptWithItsName: hosts are started with their old cluster name.
func TestTheIdOfTheOldClusterIsKeptWithItsName(t *testing.T) {
	s := saved(t)
	kept, _ := made(t, s, restore.Options{KeepID: true})
	if kept.Identity.Cluster != s.Header.Cluster || kept.Identity.ClusterName != "prod" {
		t.Errorf("cluster %q, named %q", kept.Identity.Cluster, kept.Identity.ClusterName)
	}
	if name := identity.ClusterName(identity.NewBootstrap("", 2, nil).Cluster); name != "" {
		t.Errorf("a cluster without a name is named %q", name)
	}
	other, _ := made(t, s, restore.Options{Cluster: "drill"})
	if other.Identity.Cluster == s.Header.Cluster || other.Identity.ClusterName != "drill" {
		t.Errorf("cluster %q, named %q", other.Identity.Cluster, other.Identity.ClusterName)
	}
}
