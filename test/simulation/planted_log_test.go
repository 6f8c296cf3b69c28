package simulation_test

import (
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/simulation"
)

// faultyLog is a data shard log with a bug, between the host and the real log.
type faultyLog struct {
	shard.Log
	alter   func(*shard.Command) // what is proposed
	barrier func(l shard.Log, done func(error)) error
}

func (f *faultyLog) Propose(batch []byte, done func(shard.Outcome)) error {
	if f.alter == nil {
		return f.Log.Propose(batch, done)
	}
	var b shard.Batch
	if err := shard.DecodeBatch(batch, &b, level.Newest); err != nil {
		panic(err)
	}
	for i := range b.Commands {
		f.alter(&b.Commands[i])
	}
	return f.Log.Propose(shard.AppendBatch(nil, &b), done)
}

func (f *faultyLog) Barrier(done func(error)) error {
	if f.barrier == nil {
		return f.Log.Barrier(done)
	}
	return f.barrier(f.Log, done)
}

// faultyMachine is a data shard's state machine that misses parts of its log.
type faultyMachine struct {
	shard.StateMachine
	host  shard.HostID
	apply func(m *faultyMachine, e shard.Entry) error

	mu     sync.Mutex // guards what follows
	leader shard.HostID
	count  int
}

func (f *faultyMachine) Apply(entries []shard.Entry) error {
	for _, e := range entries {
		if err := f.apply(f, e); err != nil {
			return err
		}
	}
	return nil
}

func (f *faultyMachine) LeadershipChanged(l shard.Leadership) {
	f.mu.Lock()
	f.leader = l.Leader
	f.mu.Unlock()
	f.StateMachine.LeadershipChanged(l)
}

// withLog plants a bug into the logs of all data shards.
func withLog(plant func(*faultyLog)) *simulation.Bug {
	return &simulation.Bug{Config: func(c *server.Config) {
		open := c.Logs
		c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
			l, err := open(id, sm)
			if err != nil || id == 0 {
				return l, err
			}
			x := &faultyLog{Log: l}
			plant(x)
			return x, nil
		}
	}}
}

// withMachine plants a bug between log and machine of all data shards.
func withMachine(apply func(m *faultyMachine, e shard.Entry) error) *simulation.Bug {
	return &simulation.Bug{Config: func(c *server.Config) {
		open, host := c.Logs, c.ID
		c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
			if id != 0 {
				sm = &faultyMachine{StateMachine: sm, host: host, apply: apply}
			}
			return open(id, sm)
		}
	}}
}

// withCommand plants a bug into proposed commands.
func withCommand(kind shard.CommandKind, alter func(*shard.Command)) *simulation.Bug {
	return withLog(func(l *faultyLog) {
		l.alter = func(c *shard.Command) {
			if c.Kind == kind {
				alter(c)
			}
		}
	})
}

// numbersOfNoRequest: an acquire that reuses the number of another acquire is executed as the earlier one, and gets its
// cached response.
func numbersOfNoRequest() *simulation.Bug {
	type number struct {
		session shard.SessionID
		number  uint64
	}
	var mu sync.Mutex
	first := make(map[number]shard.Command)
	return withCommand(shard.CmdAcquire, func(c *shard.Command) {
		mu.Lock()
		defer mu.Unlock()
		of := number{c.Session, c.Number}
		if before, used := first[of]; used {
			before.Level, before.Acked = c.Level, c.Acked
			*c = before
			return
		}
		first[of] = c.Clone()
	})
}

// freshnessOff: every barrier passes, whether or not a majority would agree.
func freshnessOff() *simulation.Bug {
	return withLog(func(l *faultyLog) {
		l.barrier = func(_ shard.Log, done func(error)) error {
			go done(nil)
			return nil
		}
	})
}

// graceOff: a new leader expires sessions after their timeout, without grace. Its clock is advanced by a grace period
// after the start of its leadership.
func graceOff() *simulation.Bug {
	var mu sync.Mutex
	leaps := make(map[shard.HostID]time.Duration)
	bug := withMachine(func(m *faultyMachine, e shard.Entry) error {
		var b shard.Batch
		if err := shard.DecodeBatch(e.Data, &b, level.Newest); err != nil {
			return err
		}
		leads := false
		for i := range b.Commands {
			leads = leads || b.Commands[i].Kind == shard.CmdLead
		}
		err := m.StateMachine.Apply([]shard.Entry{e})
		m.mu.Lock()
		mine := m.leader == m.host
		m.mu.Unlock()
		if leads && mine {
			// In steps too small for the stall detector, up to a full grace period of 10 seconds.
			for n := range 25 {
				time.AfterFunc(time.Duration(n)*60*time.Millisecond, func() {
					mu.Lock()
					defer mu.Unlock()
					leaps[m.host] += 400 * time.Millisecond
				})
			}
		}
		return err
	})
	logs := bug.Config
	bug.Config = func(c *server.Config) {
		logs(c)
		clock, host := c.Clock, c.ID
		c.Clock = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return clock().Add(leaps[host])
		}
	}
	return bug
}

// fastClocks: host clocks run at double speed.
func fastClocks() *simulation.Bug {
	return &simulation.Bug{Config: func(c *server.Config) {
		began := time.Now()
		c.Clock = func() time.Time { return began.Add(2 * time.Since(began)) }
	}}
}

// noDedupe: a repeated change is executed again.
func noDedupe() *simulation.Bug {
	type number struct {
		session shard.SessionID
		number  uint64
	}
	var mu sync.Mutex
	seen := make(map[number]bool)
	return withLog(func(l *faultyLog) {
		l.alter = func(c *shard.Command) {
			mu.Lock()
			defer mu.Unlock()
			n := number{c.Session, c.Number}
			switch c.Kind {
			case shard.CmdSemaphoreCreate, shard.CmdSemaphoreUpdate, shard.CmdSemaphoreDelete:
				if seen[n] {
					c.Session, c.Number, c.Acked = 0, 0, 0
				}
				seen[n] = true
			}
		}
	})
}

// wrongSession: a session other than the silent one expires.
func wrongSession() *simulation.Bug {
	return withLog(func(l *faultyLog) {
		var mu sync.Mutex
		var lively shard.SessionID
		l.alter = func(c *shard.Command) {
			mu.Lock()
			defer mu.Unlock()
			if c.Session != 0 {
				lively = c.Session
			}
			if c.Kind == shard.CmdSessionsExpire && lively != 0 {
				c.Sessions = append([]shard.SessionID{lively}, c.Sessions...)
			}
		}
	})
}

// staleRelease: a release frees the latest requester's holding, not the holding of its token.
func staleRelease() *simulation.Bug {
	var mu sync.Mutex
	latest := make(map[string]shard.SessionID)
	return withLog(func(l *faultyLog) {
		l.alter = func(c *shard.Command) {
			mu.Lock()
			defer mu.Unlock()
			switch c.Kind {
			case shard.CmdAcquire:
				latest[string(c.Name)] = c.Session
			case shard.CmdRelease:
				if other := latest[string(c.Name)]; other != 0 && other != c.Session {
					c.Session, c.Order, c.Number, c.Acked = other, 0, c.Number+1<<40, 0
				}
			}
		}
	})
}

// lostChange: a follower occasionally misses a batch.
func lostChange() *simulation.Bug {
	return withMachine(func(m *faultyMachine, e shard.Entry) error {
		m.mu.Lock()
		m.count++
		lose := m.leader != m.host && m.count%50 == 0
		m.mu.Unlock()
		if lose {
			return nil
		}
		return m.StateMachine.Apply([]shard.Entry{e})
	})
}
