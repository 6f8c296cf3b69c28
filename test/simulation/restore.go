package simulation

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// Restore is the schedule for a backup and for the replacement by the restored cluster.
type Restore struct {
	Save time.Duration
	// Pause is the pause after each shard's state, so that the states differ in time.
	Pause time.Duration
	At    time.Duration
	// Gap is the time without a cluster.
	Gap time.Duration
	// Shards is the new cluster's data shard count.
	Shards int
}

// calmBefore is the time before the restore without host faults: ending a fault would restart a host.
const calmBefore = 5 * time.Second

// furnishBefore is how long before the backup nodes are made.
const furnishBefore = 5 * time.Second

// faultsOfRestored are the faults around a restore. Membership changes have separate worlds.
var faultsOfRestored = []FaultKind{BadLinks, Isolation, Kill, Kill, PowerFailure, HostPause, Restart, Election, CutHost}

// DrawRestored draws the plan for a world whose cluster is backed up while running, and restored.
func DrawRestored(seed uint64) Plan {
	p := DrawMembers(seed)
	random := rand.New(rand.NewPCG(seed, 5))
	p.Operator = false // its knowledge of nodes becomes invalid
	p.Shards = 1 + random.IntN(3)
	p.Length = 3 * time.Minute
	save := 20*time.Second + workload.UpTo(random, 20*time.Second)
	p.Restore = &Restore{
		Save: save, Pause: workload.Pick(random, 0, time.Second, 5*time.Second),
		At:     save + 30*time.Second + workload.UpTo(random, 20*time.Second),
		Gap:    workload.Pick(random, 100*time.Millisecond, 2*time.Second, 15*time.Second),
		Shards: workload.Pick(random, p.Shards, 1+random.IntN(4)),
	}
	p.Faults = p.drawFaultsOfRestored(random)
	return p
}

// drawFaultsOfRestored draws the faults before and after the restore, and lets two hosts join the first.
func (p *Plan) drawFaultsOfRestored(random *rand.Rand) (faults []Fault) {
	back := p.Restore.At + p.Restore.Gap + 5*time.Second
	for at := 10 * time.Second; at < p.Length; at += time.Second + workload.UpTo(random, 10*time.Second) {
		f := Fault{
			Kind: workload.Pick(random, faultsOfRestored...), At: at, For: workload.UpTo(random, 5*time.Second),
			Host: shard.HostID(1 + random.IntN(p.Room.Ever)), Other: shard.HostID(1 + random.IntN(p.Room.Ever)),
			Client: random.IntN(len(p.Clients)), Shard: uint64(random.IntN(p.Shards + 1)), Amount: random.Float64(),
		}
		if random.IntN(4) == 0 {
			f.Kind = workload.Pick(random, clientFaults...)
		}
		if f.clientOnly() || f.At+f.For+calmBefore < p.Restore.At || f.At > back {
			faults = append(faults, f)
		}
	}
	for n := range 2 {
		faults = append(faults, Fault{Kind: Join, At: back + time.Duration(15*n)*time.Second})
	}
	return faults
}

// restore has the cluster saved and restored.
func (w *world) restore(ctx context.Context) {
	p, x := w.plan.Restore, &history.Restoration{}
	if !workload.Sleep(ctx, p.Save-furnishBefore) {
		return
	}
	c := workload.Open(ctx, w.addresses(), client.WithDialer(w.cluster.Dial))
	if c == nil {
		return
	}
	defer c.Close()
	furnishing, stop := context.WithCancel(ctx)
	w.background.Go(func() { w.furnish(furnishing, c) })
	workload.Sleep(ctx, furnishBefore)
	x.From = w.record.Now()
	states, err := w.bug.save(func() (*backup.States, error) { return w.save(ctx, c) })
	x.To = w.record.Now()
	if err != nil {
		w.record.Note("no backup could be saved: %v", err)
	}
	workload.Sleep(ctx, p.At-time.Since(w.began))
	stop()
	if err != nil || ctx.Err() != nil {
		return
	}
	w.checkBackup(states)
	w.replace(states, x)
	w.record.Restored(*x)
}

// save saves a backup, with any number of attempts.
func (w *world) save(ctx context.Context, c *client.Client) (*backup.States, error) {
	for {
		var file bytes.Buffer
		saved := 0
		_, err := admin.New(c).Backup(ctx, &file, func(b admin.Backup) {
			if b.Saved > saved {
				saved = b.Saved
				time.Sleep(w.plan.Restore.Pause)
			}
		})
		if err == nil {
			return backup.Load(&file)
		}
		if !workload.Sleep(ctx, time.Second) {
			return nil, err
		}
	}
}

// replace ends all hosts, and starts the replacement cluster.
func (w *world) replace(states *backup.States, x *history.Restoration) {
	p := w.plan.Restore
	over := w.record.Fault("the cluster is restored", -1)
	defer over()
	for _, id := range w.livingHosts() {
		w.leaves(id)
		w.cluster.Crash(id, false)
	}
	x.Down = w.record.Now()
	time.Sleep(p.Gap)
	w.times.forget()
	x.Saved = savedStates(states)
	x.Up = w.record.Now()
	made, err := w.bug.regenerate(states, meta.Regeneration{
		Draw: [16]byte{1}, Shards: p.Shards, Jump: machine.JumpOver(time.Since(states.Header.Begun)),
		Wall: uint64(time.Now().UnixMilli()), By: "simulation", First: servertest.InitialMember(states.NextHost()),
	})
	if err == nil {
		err = w.cluster.Remake(made)
	}
	if err != nil {
		w.record.Note("the cluster cannot be restored: %v", err)
		return
	}
	w.mu.Lock()
	w.data, w.savedFrom = len(made.Data), x.From
	w.mu.Unlock()
	if err := w.cluster.WaitReady(time.Minute); err != nil {
		w.record.Note("the restored cluster is not ready: %v", err)
	}
}

// savedStates are the programs' semaphores in a backup.
func savedStates(s *backup.States) (list []history.Final) {
	n, _ := s.Meta.Node(path)
	for _, t := range targets {
		f := history.Final{Semaphore: of(t.Name)}
		for _, m := range s.Data {
			var d shard.Description
			ref := shard.Ref{Kind: shard.KindSemaphore, Node: n.ID, Name: t.Name}
			if m.Describe(ref, shard.DescribeOptions{Owners: true, Waiters: true}, &d) {
				f.State = stateOf(&d)
			}
		}
		list = append(list, f)
	}
	return list
}

func stateOf(d *shard.Description) history.State {
	s := history.State{Exists: true, Limit: d.Limit, Data: d.Data, Revision: uint64(d.Revision)}
	for _, l := range d.Links {
		link := history.Link{Session: uint64(l.Session), Order: uint64(l.Order), Count: l.Count}
		if l.Owner {
			s.Owners = append(s.Owners, link)
		} else {
			s.Waiters = append(s.Waiters, link)
		}
	}
	return s
}
