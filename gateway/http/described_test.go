package http

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/client/rollout"
)

const nodeA = "/a"

// begin starts a session with a description.
func (st *stage) begin(description string) *client.Session {
	st.Helper()
	s, err := st.client.Session(st.Context(), nodeA, client.Description(description))
	if err != nil {
		st.Fatal(err)
	}
	st.Cleanup(func() { _ = s.Close(context.WithoutCancel(st.Context())) })
	return s
}

// TestWhoOwnsAndWaitsIsDescribed: lists and semaphores show the sessions' descriptions beside their numbers.
func TestWhoOwnsAndWaitsIsDescribed(t *testing.T) {
	st := newStage(t, nil)
	st.node(nodeA)
	first := st.begin("backup, process 7 on box")
	if _, err := first.Semaphore("job", client.Limit(1)).Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := st.begin("report, process 8 on box")
	go func() { _, _ = second.Semaphore("job").Acquire(st.Context()) }()
	type described struct{ Description string }
	await(t, "a waiter", func() bool {
		var one struct{ Owners, Waiters []described }
		st.get("/v1/semaphore?node=/a&name=job").in(t, &one)
		var all struct {
			Items []struct{ Owner, Waiter described }
		}
		st.get("/v1/contention").in(t, &all)
		return len(one.Owners) == 1 && one.Owners[0].Description == "backup, process 7 on box" &&
			len(one.Waiters) == 1 && one.Waiters[0].Description == "report, process 8 on box" &&
			len(all.Items) == 1 && all.Items[0].Owner == one.Owners[0] && all.Items[0].Waiter == one.Waiters[0]
	})
}

// TestWhatProgramsLookUpIsNoLock: config and endpoints appear only in the list of lookups, unless sessions use them as
// locks.
func TestWhatProgramsLookUpIsNoLock(t *testing.T) {
	st := newStage(t, nil)
	st.node(nodeA)
	s := st.begin("x")
	for _, err := range []error{
		config.Put(t.Context(), st.client, nodeA, "limits", []byte("a=1")),
		config.Put(t.Context(), st.client, nodeA, "used", []byte("a=1")),
		st.client.Node(nodeA).Create(t.Context(), "lock", 1, nil),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Semaphore("used").Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := discovery.Register(t.Context(), s, "web", discovery.Endpoint{Address: "a:80"}); err != nil {
		t.Fatal(err)
	}
	names := func(address string) (list []string) {
		var all struct{ Items []struct{ Name, Kind string } }
		st.get(address).in(t, &all)
		for _, one := range all.Items {
			list = append(list, one.Kind+one.Name)
		}
		slices.Sort(list)
		return list
	}
	await(t, "all of it", func() bool {
		return fmt.Sprint(names("/v1/contention?include_uncontended=true")) == "[lock used]" &&
			len(names("/v1/contention")) == 0 &&
			fmt.Sprint(names("/v1/configs")) == "[limits used]" && fmt.Sprint(names("/v1/discovery")) == "[web]" &&
			fmt.Sprint(names("/v1/search?query=w")) == "[endpointsweb]"
	})
}

// TestTheHistoryOfARollout covers one location, or all.
func TestTheHistoryOfARollout(t *testing.T) {
	st := newStage(t, nil)
	st.node(nodeA)
	spec := rollout.Spec{Locations: []rollout.Location{{Name: "SAS"}, {Name: "MAN"}}}
	of := rollout.New(st.client, nodeA, "dns")
	if err := of.Create(t.Context(), spec, rollout.ChangeInfo{}); err != nil {
		t.Fatal(err)
	}
	if _, err := of.Publish(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, location := range []string{"SAS", "MAN"} {
		m, err := rollout.Join(t.Context(), st.begin("a"), "dns", rollout.Instance{Name: location, Location: location})
		if err != nil {
			t.Fatal(err)
		}
		for target, err := range m.Targets(t.Context()) {
			if err == nil && location == "SAS" {
				err = m.Reached(t.Context(), target)
			}
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	locations := func(address string) (list []string) {
		var all struct {
			Items []struct {
				Location, Version string
				Reached           struct{ Set bool }
			}
		}
		st.get(address).in(t, &all)
		for _, one := range all.Items {
			list = append(list, fmt.Sprint(one.Location, one.Version, one.Reached.Set))
		}
		return list
	}
	const address = "/v1/rollout/history?node=/a&name=dns"
	await(t, "the second location has it", func() bool { return len(locations(address)) == 2 })
	if got := fmt.Sprint(locations(address)); got != "[MAN1false SAS1true]" {
		t.Error(got)
	}
	if got := fmt.Sprint(locations(address + "&location=MAN")); got != "[MAN1false]" {
		t.Error(got)
	}
	if r := st.get("/v1/rollout/history?node=/a&name=none"); r.code != 404 {
		t.Errorf("%d %s", r.code, r.text)
	}
}
