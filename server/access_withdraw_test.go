package server_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/access"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// part is a grant limited to some object names.
func part(role, path, object string) access.Grant {
	return access.Grant{Role: role, Path: path, Object: object}
}

// narrow revokes from the token ci its rights to objects named lost-*.
func (k *keeping) narrow() {
	k.Helper()
	k.root.must(k.root.ask(&protocol.AccessChange{Action: protocol.AccessRevokeRole, Principal: []byte("token:ci"),
		Grants: []access.Grant{part("operator", "/prod", "lost-")}}))
}

// halves is a token ci with operator rights on objects in /prod named lost-* and kept-*.
func (k *keeping) halves() (node uint64, ci *speaker) {
	k.Helper()
	node = k.root.node("/prod")
	k.create(k.root, "ci", 0, part("operator", "/prod", "lost-"), part("operator", "/prod", "kept-"))
	return node, k.enterAt(k.Leader(1), "ci")
}

// TestANarrowedTokenLosesWhatItHasOpen: if a token loses its rights to some objects of a node, and its session stays,
// all open activities on these objects end, and no others.
func TestANarrowedTokenLosesWhatItHasOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepRights(t, 1)
		node, ci := k.halves()
		mine, other := ci.session("/prod", time.Minute), k.root.session("/prod", time.Minute)
		type open struct{ stream, once, waits, member uint64 }
		has := map[string]open{}
		for _, half := range []string{"lost-", "kept-"} {
			for _, name := range []string{half + "sem", half + "own"} {
				k.root.must(k.root.ask(&protocol.SemaphoreCreate{NodeID: node, Name: []byte(name), Limit: 1}))
			}
			mine.acquire(half+"own", 1, 0, false)
			other.acquire(half+"sem", 1, 0, false)
			var x open
			x.stream = ci.say(&protocol.Watch{NodeID: node, Name: []byte(half + "sem"), Data: true})
			ci.must(ci.await(x.stream, protocol.KindWatch.Answer()))
			ci.await(x.stream, protocol.KindWatchSnapshot)
			x.once = ci.say(&protocol.SemaphoreDescribe{SessionID: mine.id, NodeID: node, Name: []byte(half + "own"),
				WatchData: true})
			ci.must(ci.await(x.once, protocol.KindSemaphoreDescribe.Answer()))
			x.waits, _ = mine.acquire(half+"sem", 1, -1, false)
			x.member = ci.must(ci.ask(&protocol.ProcessJoin{Mutation: mine.mutation(), NodeID: node,
				Name: []byte(half + "proc"), Arrival: arrivalOf("m")})).ProcessJoin.MemberID
			ci.must(ci.ask(&protocol.InboxOpen{SessionID: mine.id, NodeID: node, Name: []byte(half + "proc"),
				MemberID: x.member}))
			has[half] = x
		}
		k.narrow()
		lost, kept := has["lost-"], has["kept-"]
		want(t, "the watch", ci.await(lost.stream, protocol.KindWatchEnd).WatchEnd.Result.Status,
			protocol.StatusUnauthorized)
		ci.await(lost.once, protocol.KindWatchChanged)
		want(t, "what waits", ci.await(lost.waits, protocol.KindAborted).Aborted.Result.Status,
			protocol.StatusUnauthorized)
		for {
			end := ci.await(0, protocol.KindInbox).Inbox
			want(t, "an inbox that ends is of the member", end.End != (protocol.Result{}), end.MemberID == lost.member)
			if end.MemberID == lost.member {
				want(t, "the inbox", end.End.Status, protocol.StatusUnauthorized)
				break
			}
		}
		d := k.root.must(k.root.ask(&protocol.SemaphoreDescribe{NodeID: node, Name: []byte("lost-sem"),
			Consistency: protocol.ConsistencyStrict})).SemaphoreDescribe
		want(t, "waiters in the queue", d.Semaphore.Waiters, 0)
		want(t, "another acquire", ci.ask(&protocol.Acquire{Mutation: mine.mutation(), NodeID: node,
			Name: []byte("lost-own"), Count: 1}).Result.Status, protocol.StatusUnauthorized)
		want(t, "giving back what it has", mine.release("lost-own"), true)
		want(t, "what it has not", ci.ask(&protocol.Release{Mutation: mine.mutation(), NodeID: node,
			Name: []byte("lost-own")}).Result.Status, protocol.StatusUnauthorized)

		want(t, "what may wait", other.release("kept-sem"), true)
		ci.await(kept.waits, protocol.KindGranted)
		k.root.must(k.root.ask(&protocol.SemaphoreUpdate{NodeID: node, Name: []byte("kept-sem"), Data: []byte("new")}))
		k.root.must(k.root.ask(&protocol.SemaphoreUpdate{NodeID: node, Name: []byte("kept-own"), Data: []byte("new")}))
		ci.await(kept.stream, protocol.KindWatchDelta)
		ci.await(kept.once, protocol.KindWatchChanged)
		want(t, "one-shot watches", metric(t, k.Cluster, `signalbox_shard_one_shot_watches{shard="1"}`), 0)
		want(t, "inboxes", ci.ask(&protocol.InboxOpen{SessionID: mine.id, NodeID: node, Name: []byte("kept-proc"),
			MemberID: kept.member}).Result.Status, protocol.StatusSuccess)
	})
}

// TestARightRevokedWhileAWatchIsOpenedEndsTheWatch: the watch was allowed when the request arrived.
func TestARightRevokedWhileAWatchIsOpenedEndsTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepRights(t, 1)
		node, ci := k.halves()
		for _, name := range []string{"lost-sem", "kept-sem"} {
			k.root.must(k.root.ask(&protocol.SemaphoreCreate{NodeID: node, Name: []byte(name), Limit: 1}))
		}
		watch := func(name string) uint64 {
			return ci.say(&protocol.Watch{NodeID: node, Name: []byte(name), Data: true})
		}
		release := k.Host(1).HoldOpenings()
		lost, kept := watch("lost-sem"), watch("kept-sem")
		synctest.Wait()
		k.narrow()
		within(t, "the loss of the right", time.Minute, func() bool {
			return ci.ask(&protocol.SemaphoreDescribe{NodeID: node, Name: []byte("lost-sem")}).Result.Status ==
				protocol.StatusUnauthorized
		})
		release()
		ci.must(ci.await(kept, protocol.KindWatch.Answer()))
		ci.await(kept, protocol.KindWatchSnapshot) // or it could contain the change below
		want(t, "the watch of what the token may not see", ci.await(lost, protocol.KindWatchEnd).WatchEnd.Result.Status,
			protocol.StatusUnauthorized)
		k.root.must(k.root.ask(&protocol.SemaphoreUpdate{NodeID: node, Name: []byte("kept-sem"), Data: []byte("new")}))
		ci.await(kept, protocol.KindWatchDelta)
	})
}

// TestAClientSeesWhatItsSessionHolds: a client sees its session's holdings, even in objects that it may no longer see,
// because clients treat unlisted holdings as lost. On a connection that does not act for the session, nothing more is
// visible.
func TestAClientSeesWhatItsSessionHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keepRights(t, 1)
		node, ci := k.halves()
		mine := ci.session("/prod", time.Minute)
		k.root.must(k.root.ask(&protocol.SemaphoreCreate{NodeID: node, Name: []byte("lost-own"), Limit: 1}))
		mine.acquire("lost-own", 1, 0, false)
		k.narrow()
		describe := &protocol.SemaphoreDescribe{NodeID: node, Name: []byte("lost-own")}
		within(t, "the loss of the right", time.Minute, func() bool {
			return ci.ask(describe).Result.Status != protocol.StatusSuccess
		})
		for of, held := range map[*speaker]int{ci: 1, k.enterAt(k.Leader(1), "ci"): 0} {
			a := of.must(of.ask(&protocol.SessionHoldings{SessionID: mine.id, ShardID: 1}))
			want(t, "holdings", a.SessionHoldings.Holdings.Len(), held)
		}
	})
}

// TestWhatIsListedIsWhatIsAllowed: lists contain exactly the objects visible to the client, for every kind.
func TestWhatIsListedIsWhatIsAllowed(t *testing.T) {
	k := keepRights(t, 1)
	node, ci := k.halves()
	k.root.node("/hidden")
	k.root.node("/prod/below")
	own := k.root.session("/prod", time.Minute)
	locations := locations([]string{"one"})
	for _, name := range []string{"kept-1", "kept-2", "other"} {
		k.root.must(k.root.ask(&protocol.SemaphoreCreate{NodeID: node, Name: []byte(name), Limit: 1}))
		own.acquire(name, 1, 0, false)
		k.root.must(k.root.ask(&protocol.RolloutPut{NodeID: node, Name: []byte(name + "-r"),
			Put: kind.Put{Spec: locations}}))
		k.root.must(k.root.ask(&protocol.ProcessPut{NodeID: node, Name: []byte(name + "-p")}))
	}
	const strict = protocol.ConsistencyStrict
	lists := map[string]func(s *speaker) []string{
		"nodes": func(s *speaker) (list []string) {
			for n := range s.must(s.ask(&protocol.NodeList{})).NodeList.Nodes.All() {
				list = append(list, string(n.Path))
			}
			return list
		},
		"semaphores": func(s *speaker) (list []string) {
			a := s.must(s.ask(&protocol.SemaphoreList{NodeID: node, ShardID: 1, Consistency: strict}))
			for x := range a.SemaphoreList.Semaphores.All() {
				list = append(list, string(x.Name))
			}
			return list
		},
		"rollouts": func(s *speaker) (list []string) {
			a := s.must(s.ask(&protocol.RolloutList{ListRequest: protocol.ListRequest{
				NodeID: node, ShardID: 1, Consistency: strict,
			}}))
			for x := range a.RolloutList.Rollouts.All(0) {
				list = append(list, x.Name)
			}
			return list
		},
		"processes": func(s *speaker) (list []string) {
			a := s.must(s.ask(&protocol.ProcessList{ListRequest: protocol.ListRequest{
				NodeID: node, ShardID: 1, Consistency: strict,
			}}))
			for x := range a.ProcessList.Processes.All(0) {
				list = append(list, string(x.Name))
			}
			return list
		},
		"holdings": func(s *speaker) (list []string) {
			a := s.must(s.ask(&protocol.SessionHoldings{SessionID: own.id, ShardID: 1, Consistency: strict}))
			for x := range a.SessionHoldings.Holdings.All() {
				list = append(list, string(x.Name))
			}
			return list
		},
	}
	for what, of := range map[string]struct{ all, seen string }{
		"nodes":      {"/hidden /prod /prod/below", "/prod /prod/below"},
		"semaphores": {"kept-1 kept-2 other", "kept-1 kept-2"},
		"rollouts":   {"kept-1-r kept-2-r other-r", "kept-1-r kept-2-r"},
		"processes":  {"kept-1-p kept-2-p other-p", "kept-1-p kept-2-p"},
		"holdings":   {"kept-1 kept-2 other", "kept-1 kept-2"},
	} {
		for s, names := range map[*speaker]string{k.root: of.all, ci: of.seen} {
			got := lists[what](s)
			slices.Sort(got)
			want(t, what, strings.Join(got, " "), names)
		}
	}
}

// aim sets a request's node and, if present, its session.
func aim(m protocol.RequestMessage, node, session uint64) {
	fields := reflect.ValueOf(m).Elem()
	for name, v := range map[string]any{"NodeID": node, "SessionID": session, "Path": []byte("/prod"),
		"Name": []byte("x"), "ShardID": uint64(1), "StepID": uint64(1), "Hash": make([]byte, protocol.MaxHashBytes)} {
		if f := fields.FieldByName(name); f.IsValid() && f.Type() == reflect.TypeOf(v) {
			f.Set(reflect.ValueOf(v))
		}
	}
	if action := fields.FieldByName("Action"); action.IsValid() && action.CanUint() {
		action.SetUint(1)
	}
}

// TestATokenWithoutRolesMayDoNothing: checks every request kind, to detect one without a permission rule.
func TestATokenWithoutRolesMayDoNothing(t *testing.T) {
	k := keepRights(t, 1)
	node := k.root.node("/prod")
	own := k.root.session("/prod", time.Minute)
	k.create(k.root, "none", 0)
	none := k.enterAt(1, "none")
	open := []protocol.Kind{protocol.KindHello, protocol.KindPing, protocol.KindRouting, protocol.KindWatchStop,
		protocol.KindForwardedFor}
	// Answers about sessions are equal whether or not a session exists.
	ofSessions := []protocol.Kind{protocol.KindSessionAttach, protocol.KindSessionBind, protocol.KindSessionStop,
		protocol.KindSessionDetach, protocol.KindSessionDescribe, protocol.KindSessionHoldings}
	refused := uint64(0)
	for kind := range protocol.Kind(protocol.MaxRequestKind + 1) {
		if !kind.IsRequest() || !kind.IsKnown() || kind.BetweenHosts() || slices.Contains(open, kind) {
			continue
		}
		m := (&protocol.Request{Kind: kind}).Message()
		aim(m, node, own.id)
		got := none.ask(m).Result.Status
		switch {
		case slices.Contains(ofSessions, kind):
			if got == protocol.StatusSuccess && kind != protocol.KindSessionHoldings {
				t.Errorf("%v: %v", kind, got)
			}
		case got != protocol.StatusUnauthorized:
			t.Errorf("%v: %v", kind, got)
		default:
			refused++
		}
	}
	denials := k.root.must(k.root.ask(&protocol.AccessDenials{})).AccessDenials
	want(t, "refusals that are remembered", denials.Total, refused)
	want(t, "counted", uint64(metric(t, k.Cluster, "signalbox_requests_denied_total")), denials.Total)
}
