package servertest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// bed is a cluster with a fast governor.
func bed(t *testing.T, initialMembers int, halt func(shard.HostID, error)) *Cluster {
	c := Start(t, Hosts(initialMembers), Room(5), Config(func(c *server.Config) {
		id := c.ID
		c.Halt = func(err error) { halt(id, err) }
	}))
	until(t, "the hosts have records", func() bool { return c.Records() != nil })
	if err := c.Policy(func(p *kind.Policy) { p.StableFor, p.BalanceEvery = time.Second, 0 }); err != nil {
		t.Fatal(err)
	}
	return c
}

func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}

func (c *Cluster) mustJoin(t *testing.T, id shard.HostID, replace string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Join(ctx, id, replace); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) mustDo(t *testing.T, r meta.Request) {
	t.Helper()
	if e, err := c.Do(r); err != nil || e.Status != protocol.StatusSuccess {
		t.Fatalf("%#v: %v %s %v", r, e.Status, e.Message, err)
	}
}

// votesIn returns a shard's voters, and its learner count.
func (c *Cluster) votesIn(id uint64) (voters map[shard.HostID]bool, learners int) {
	voters = make(map[shard.HostID]bool)
	for _, m := range c.Replicas(id) {
		if m.Voter {
			voters[m.Host] = true
		} else {
			learners++
		}
	}
	return voters, learners
}

func noHalt(t *testing.T) func(shard.HostID, error) {
	return func(id shard.HostID, err error) { t.Errorf("host %d cannot go on: %v", id, err) }
}

// TestHostsJoinOneThatIsAlone: from one host to two, with one voter, to three, with three voters.
func TestHostsJoinOneThatIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := bed(t, 1, noHalt(t))
		c.mustJoin(t, 2, "")
		until(t, "the second host learns", func() bool {
			voters, learners := c.votesIn(1)
			return len(voters) == 1 && learners == 1 && c.Host(2).Ready() == nil
		})
		c.mustJoin(t, 3, "")
		until(t, "three hosts vote in both shards", func() bool {
			of, _ := c.votesIn(0)
			in, _ := c.votesIn(1)
			return len(of) == 3 && len(in) == 3
		})
	})
}

// TestAHostTakesThePlaceOfOneThatLostItsDirectory: the old host is expelled, and cannot return.
func TestAHostTakesThePlaceOfOneThatLostItsDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := make(chan error, 10)
		c := bed(t, 3, func(_ shard.HostID, err error) { refused <- err })
		c.Crash(3, false)
		c.mustJoin(t, 4, Name(3))
		until(t, "the new host votes in the place of the old one", func() bool {
			voters, learners := c.votesIn(1)
			return len(voters) == 3 && voters[4] && learners == 0
		})
		until(t, "the old one is expelled", func() bool {
			return c.Records().Host(3).Current.Variant == protocol.HostExpelled
		})
		if err := c.Restart(3); err != nil {
			t.Fatal(err)
		}
		if err := <-refused; !errors.Is(err, server.ErrRefused) {
			t.Errorf("it is not refused: %v", err)
		}
	})
}

// TestReportsToTheMetaShardAreOfMembersAboutThemselves: the leader accepts a host's repeated reports. The leader
// refuses reports from an expelled host, from a different data directory, about another host, and requests reserved for
// clients and the leader.
func TestReportsToTheMetaShardAreOfMembersAboutThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := bed(t, 3, func(shard.HostID, error) {})
		c.Crash(3, false)
		c.mustJoin(t, 4, Name(3))
		until(t, "the old host is expelled", func() bool {
			return c.Records().Host(3).Current.Variant == protocol.HostExpelled
		})
		leader := c.Leader(0)
		seen := func(id shard.HostID) meta.Command {
			return meta.Command{Kind: meta.CmdHostObservation, Host: meta.Host{ID: id}, Expected: 1}
		}
		bound := func(id shard.HostID) meta.Command {
			return meta.NewCommand(&meta.ShardBound{Shard: 1, Host: id, Bound: hosts.TimeoutBound{
				Term: 1 << 40, Number: 1, Longest: shard.Longest{Timeout: 60_000, Session: 9},
			}}, meta.Origin{})
		}
		create := meta.Command{Kind: meta.CmdNodeCreate, Path: "/a"}
		confirm := meta.Command{Kind: meta.CmdGraceConfirmed, Node: 1, Expected: 1}
		for _, x := range []struct {
			name        string
			at, from    shard.HostID
			incarnation shard.HostID // whose
			commands    []meta.Command
			want        protocol.Status
		}{
			{"of a member", leader, 4, 4, []meta.Command{seen(4)}, protocol.StatusSuccess},
			{"a second time", leader, 4, 4, []meta.Command{seen(4)}, protocol.StatusSuccess},
			{"at a host that does not lead", leader%2 + 1, 4, 4, []meta.Command{seen(4)}, protocol.StatusMoved},
			{"of a stranger", leader, 0, 4, []meta.Command{seen(4)}, protocol.StatusUnauthorized},
			{"of an expelled host", leader, 3, 3, []meta.Command{seen(3)}, protocol.StatusBadRequest},
			{"of a replaced directory", leader, 4, 3, []meta.Command{seen(4)}, protocol.StatusBadRequest},
			{"about another host", leader, 4, 4, []meta.Command{seen(4), seen(1)}, protocol.StatusBadRequest},
			{"a bound of another host", leader, 4, 4, []meta.Command{bound(1)}, protocol.StatusBadRequest},
			{"what clients ask for", leader, 4, 4, []meta.Command{create}, protocol.StatusBadRequest},
			{"what the leader says", leader, 4, 4, []meta.Command{confirm}, protocol.StatusBadRequest},
			{"of nothing", leader, 4, 4, nil, protocol.StatusBadRequest},
		} {
			commands, err := meta.AppendBatch(nil, &meta.Batch{Commands: x.commands})
			if err != nil {
				t.Fatal(err)
			}
			i := Incarnation(x.incarnation)
			payload, err := c.Host(x.at).Answer(t.Context(), x.from, peerrpc.Request(&protocol.HostNotify{
				Event: protocol.HostUpkeep, HostID: uint64(x.from), Incarnation: i[:], Commands: commands,
			}))
			if err != nil {
				t.Fatal(err)
			}
			a, err := peerrpc.Result(protocol.KindHostNotify, payload)
			if err != nil || a.Result.Status != x.want {
				t.Errorf("%s: %v %s, %v; want %v", x.name, a.Result.Status, a.Result.Message, err, x.want)
			}
		}
	})
}

// TestExpelledHostsLearnOfIt: a running expelled host has no replicas any more, and so no replica traffic with other
// hosts.
func TestExpelledHostsLearnOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := make(chan error, 1)
		c := bed(t, 3, func(_ shard.HostID, err error) {
			select {
			case refused <- err:
			default: // refused before
			}
		})
		c.mustDo(t, &meta.HostExpel{Host: Name(2), Force: true})
		until(t, "it is expelled", func() bool {
			return c.Records().Host(2).Current.Variant == protocol.HostExpelled
		})
		select {
		case err := <-refused:
			if !errors.Is(err, server.ErrRefused) {
				t.Errorf("it is refused with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("it is not refused")
		}
	})
}
