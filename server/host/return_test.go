package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// operate makes the governing host perform an operator's request.
func operate(t *testing.T, all []*Host, r meta.Request) {
	t.Helper()
	var refused []string
	for end := within(t, time.Minute); ; {
		refused = refused[:0]
		for _, h := range all {
			e, err := h.core.Load().Do(end, r, "test", "")
			if err == nil && e.Status == protocol.StatusSuccess {
				return
			}
			refused = append(refused, fmt.Sprint(e.Status, e.Message, err))
		}
		select {
		case <-end.Done():
			t.Fatalf("no host carries out %#v: %q", r, refused)
		case <-time.After(readyPoll):
		}
	}
}

// hurry reduces the governor's wait before a promotion to one second.
func hurry(t *testing.T, all ...*Host) {
	t.Helper()
	to := hosts.DefaultPolicy()
	to.StableFor, to.BalanceEvery = time.Second, 0
	operate(t, all, &meta.PolicySet{From: hosts.DefaultPolicy(), To: to})
}

// hasNothing reports whether a host is offline on record and has no replica.
func hasNothing(name string) func(*hosts.Records) bool {
	return func(r *hosts.Records) bool {
		h := r.Named(name)
		return h.Current.Variant == protocol.HostOffline && h.Reached() &&
			!slices.ContainsFunc(r.Shards(), func(s *hosts.Shard) bool { return s.On(h.ID) != nil })
	}
}

// TestADrainedHostThatHasNoReplicaLeftComesBack: however the host became a member, and however its process ended. No
// replica's records name another host, so it finds the others through its address book.
func TestADrainedHostThatHasNoReplicaLeftComesBack(t *testing.T) {
	for name, make := range map[string]func(t *testing.T) (first []settings.Settings, running []*Host){
		"of a cluster that began with one": func(t *testing.T) ([]settings.Settings, []*Host) {
			a := newFirst(t, func(*settings.Settings) {})
			hurry(t, a)
			all := []settings.Settings{a.settings}
			for _, joiner := range []string{"b", "c"} {
				all = append(all, joining(t, joiner, a))
			}
			return all, append([]*Host{a}, startSome(t, all[1:]...)...)
		},
		"of a cluster that began with three": func(t *testing.T) ([]settings.Settings, []*Host) {
			all := newClusterSettings(t, "a", "b", "c")
			running := startSome(t, all...)
			awaitReady(t, running...)
			hurry(t, running...)
			return all, running
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // mostly waiting
			of, running := make(t)
			awaitReady(t, running...)
			awaitRecords(t, running[0], "of three voters", allVote(3))
			spare := joining(t, "d", running[0])
			spare.RaftSecretFile = of[0].RaftSecretFile
			of, running = append(of, spare), append(running, startSome(t, spare)...)
			awaitReady(t, running...)
			for i, end := range []func(h *Host){
				func(h *Host) {
					if err := h.Stop(within(t, time.Minute)); err != nil && !errors.Is(err, context.Canceled) {
						t.Fatal(err)
					}
				},
				(*Host).Close,
			} {
				others := slices.Delete(slices.Clone(running), i, i+1)
				awaitRecords(t, others[0], "of three voters and a spare", votersAndSpares(3, 1))
				operate(t, running, &meta.HostDrain{Host: of[i].Name})
				awaitRecords(t, others[0], "of a host without replicas", hasNothing(of[i].Name))
				end(running[i])
				running[i] = startSome(t, of[i])[0]
				awaitReady(t, running[i])
			}
		})
	}
}

// votersAndSpares reports whether the given numbers of hosts vote and learn in every shard, all online.
func votersAndSpares(voters, spares int) func(*hosts.Records) bool {
	return func(r *hosts.Records) bool {
		for _, s := range r.Shards() {
			if s.Voters() != voters || len(s.Replicas) != voters+spares {
				return false
			}
		}
		return !slices.ContainsFunc(r.Hosts(), func(h *hosts.Host) bool { return h.Living() && !h.Online() })
	}
}
