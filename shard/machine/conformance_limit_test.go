package machine_test

import (
	"strconv"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	processkind "github.com/signalbox/signalbox/protocol/process"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/process"
	"github.com/signalbox/signalbox/shard/rollout"
)

// A node's limit is a million objects, too many for the twin: here the machine runs alone.

// fill applies commands sequentially, a thousand per batch, all of which must succeed.
func fill(t *testing.T, m *machine.Machine, times int, command func(i int) shard.Command) {
	t.Helper()
	var b shard.Batch
	var out shard.Effects
	for i := range times {
		b.Commands = append(b.Commands, command(i))
		if len(b.Commands) < 1000 && i < times-1 {
			continue
		}
		out.Reset()
		m.Apply(&b, &out)
		for _, e := range out.List {
			if e.Kind == shard.EffectResult && e.Status != protocol.StatusSuccess {
				t.Fatalf("command %d: %v", i, e.Status)
			}
		}
		b.Commands = b.Commands[:0]
	}
}

// resultOf applies one command and returns its result.
func resultOf(t *testing.T, m *machine.Machine, c shard.Command) shard.Effect {
	t.Helper()
	var out shard.Effects
	m.Apply(&shard.Batch{Commands: []shard.Command{c}}, &out)
	for _, e := range out.List {
		if e.Kind == shard.EffectResult {
			return e
		}
	}
	t.Fatal("no result")
	return shard.Effect{}
}

// TestNodeHasALimitOfSemaphores: a million objects per node, including ephemeral ones.
func TestNodeHasALimitOfSemaphores(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a million semaphores")
	}
	m := machine.New(machine.TestKinds, machine.Options{})
	session := resultOf(t, m, shard.Command{Kind: shard.CmdSessionCreate, Node: homeNode}).Session
	fill(t, m, shard.MaxSemaphoresPerNode-1, func(i int) shard.Command {
		return shard.Command{Kind: shard.CmdSemaphoreCreate, Node: homeNode, Name: strconv.AppendInt(nil, int64(i), 10),
			Count: 1}
	})
	acquire := func(name string, number uint64) shard.Command {
		return shard.Command{
			Kind: shard.CmdAcquire, Node: homeNode, Name: []byte(name), Count: 1, Flags: shard.FlagEphemeral,
			Session: session, Number: number,
		}
	}
	create := func(name string, node shard.NodeID) shard.Command {
		return shard.Command{Kind: shard.CmdSemaphoreCreate, Node: node, Name: []byte(name), Count: 1}
	}
	stages := rolloutkind.Spec{Locations: []rolloutkind.Location{{Name: "a"}}}.WithDefaults()
	for _, step := range []struct {
		what    string
		command shard.Command
		want    protocol.Status
	}{
		{"acquire that makes the last one", acquire("last", 1), protocol.StatusSuccess},
		{"acquire that would make one more", acquire("more", 2), protocol.StatusQuotaExceeded},
		{"create of one more", create("more", homeNode), protocol.StatusQuotaExceeded},
		{"a rollout more", shard.Command{
			Kind: shard.CmdRolloutPut, Node: homeNode, Name: []byte("more"),
			Body: rollout.Append(nil, &rolloutkind.Put{Spec: stages}),
		}, protocol.StatusQuotaExceeded},
		{"a process more", shard.Command{
			Kind: shard.CmdProcessPut, Node: homeNode, Name: []byte("more"),
			Body: process.Append(nil, &processkind.Put{Spec: processkind.Spec{}.WithDefaults()}),
		}, protocol.StatusQuotaExceeded},
		{"create of one that exists", create("7", homeNode), protocol.StatusAlreadyExists},
		{"create in another node", create("more", 2), protocol.StatusSuccess},
	} {
		if got := resultOf(t, m, step.command).Status; got != step.want {
			t.Errorf("%s: %v, not %v", step.what, got, step.want)
		}
	}
}

// TestNodeHasALimitOfSessions: a million sessions in a node; remote sessions count. Only the limit at their homes
// bounds remote sessions.
func TestNodeHasALimitOfSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a million sessions")
	}
	slots := lowerHalf()
	m := machine.New(machine.TestKinds, machine.Options{Slots: slots})
	name := []byte((&scene{slots: slots}).name(true))
	remote := func(counter uint64) shard.SessionID { return shard.NewSessionID(shard.Slots-1, counter) }
	acquire := func(counter, number uint64) shard.Command {
		return shard.Command{
			Kind: shard.CmdAcquire, Node: homeNode, Name: name, Count: 1, Flags: shard.FlagEphemeral,
			Session: remote(counter), Number: number,
		}
	}
	start := func(node shard.NodeID) shard.Command { return shard.Command{Kind: shard.CmdSessionCreate, Node: node} }
	fill(t, m, 1, func(int) shard.Command { return acquire(1, 1) })
	fill(t, m, shard.MaxSessionsPerNode-2, func(int) shard.Command { return start(homeNode) })
	forget := shard.Command{Kind: shard.CmdSessionsForget, Sessions: []shard.SessionID{remote(1), remote(2)}}
	for _, step := range []struct {
		what    string
		command shard.Command
		want    protocol.Status
	}{
		{"the last session", start(homeNode), protocol.StatusSuccess},
		{"one session more", start(homeNode), protocol.StatusPreconditionFailed},
		{"one remote session more", acquire(2, 1), protocol.StatusSuccess},
		{"the remote session that is known", acquire(1, 2), protocol.StatusSuccess},
		{"a session of another node", start(2), protocol.StatusSuccess},
		{"the remote sessions go", forget, protocol.StatusSuccess},
		{"a session in its place", start(homeNode), protocol.StatusSuccess},
	} {
		if got := resultOf(t, m, step.command).Status; got != step.want {
			t.Errorf("%s: %v, not %v", step.what, got, step.want)
		}
	}
}

// TestNodeHasADefaultQuotaOfObjects: a node without its own quota has the previous node limit.
func TestNodeHasADefaultQuotaOfObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a million semaphores")
	}
	m := machine.New(machine.TestKinds, machine.Options{})
	create := func(i int) shard.Command {
		return shard.Command{
			Kind: shard.CmdSemaphoreCreate, Node: homeNode, Name: strconv.AppendInt(nil, int64(i),
				10), Count: 1, Level: level.Newest,
		}
	}
	fill(t, m, shard.DefaultNodeObjects, create)
	got := resultOf(t, m, create(shard.DefaultNodeObjects))
	if got.Status != protocol.StatusQuotaExceeded || got.Quota != shard.QuotaNodeObjects {
		t.Errorf("%v %v", got.Status, got.Quota)
	}
	if most := m.FullestNodes(0.5, 3, nil); len(most) != 1 || most[0].Node != homeNode || most[0].Share() != 1 {
		t.Errorf("the fullest nodes are %+v", most)
	}
}
