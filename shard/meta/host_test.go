package meta

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

func host(id shard.HostID, name string) Host {
	return Host{ID: id, Name: name, RaftAddress: name + ":1", ClientAddress: name + ":2", AdminAddress: name + ":3",
		Version: "1.0", Level: level.First}
}

func register(h Host) Command { return Command{Kind: CmdHostRegister, Host: h} }

func TestAHostRegistersOnceAndIsOnline(t *testing.T) {
	m := New()
	h := host(2, "b")
	if list := run(m, register(h)); kinds(list) != "result hosts-changed " || list[0].Flags != FlagChanged {
		t.Fatalf("%+v", list)
	}
	h.Current, h.Target, h.Changed = protocol.HostOnline, protocol.HostOnline, 1
	if got, found := m.Host(2); !found || got != h {
		t.Errorf("the record is %+v, want %+v", got, h)
	}
	if list := run(m, register(host(2, "b"))); kinds(list) != "result " || list[0].Flags != FlagExisted {
		t.Errorf("the same once more: %+v", list)
	}
	ok(t, m, register(host(1, "a")))
	if list := m.Hosts(); len(list) != 2 || list[0].ID != 1 || list[1].ID != 2 {
		t.Errorf("Hosts() = %+v", list)
	}
}

func TestAHostMayChangeItsAddressesAndVersion(t *testing.T) {
	m := New()
	ok(t, m, register(host(1, "a")))
	for i, change := range []func(*Host){
		func(h *Host) { h.RaftAddress = "x:1" },
		func(h *Host) { h.ClientAddress = "x:2" },
		func(h *Host) { h.AdminAddress = "" },
		func(h *Host) { h.Version = "2.0" },
	} {
		h, _ := m.Host(1)
		change(&h)
		list := run(m, register(h))
		if kinds(list) != "result hosts-changed " || list[0].Flags != FlagExisted|FlagChanged {
			t.Errorf("change %d: %+v", i, list)
		}
		h.Changed = m.Version()
		if got, _ := m.Host(1); got != h || h.Changed != uint64(i+2) {
			t.Errorf("change %d: the record is %+v, want %+v", i, got, h)
		}
	}
}

func TestAHostCannotSayWhatItsStateIs(t *testing.T) {
	m := New()
	h := host(1, "a")
	h.Current, h.Target, h.Changed = protocol.HostExpelled, protocol.HostOffline, 99
	ok(t, m, register(h))
	if got, _ := m.Host(1); got.Current != protocol.HostOnline || got.Target != protocol.HostOnline ||
		got.Changed != 1 {
		t.Errorf("%+v", got)
	}
}

func TestHostRules(t *testing.T) {
	m := New()
	ok(t, m, register(host(1, "a")))
	with := func(change func(*Host)) Command {
		h := host(2, "b")
		change(&h)
		return register(h)
	}
	for _, c := range []struct {
		status  protocol.Status
		command Command
		message string
	}{
		{protocol.StatusBadRequest, with(func(h *Host) { h.ID = 0 }), "host id is needed"},
		{protocol.StatusBadRequest, with(func(h *Host) { h.Name = "" }), "the name of a host is 0 bytes long"},
		{protocol.StatusBadRequest, with(func(h *Host) { h.Name = "b c" }),
			`the name of a host ("b c") has the byte 0x20`},
		{protocol.StatusBadRequest, with(func(h *Host) { h.RaftAddress = "" }), "raft address"},
		{protocol.StatusBadRequest, with(func(h *Host) { h.ClientAddress = "" }), "client address"},
		{protocol.StatusBadRequest, with(func(h *Host) { h.AdminAddress = strings.Repeat("x", MaxAddress+1) }),
			"admin address"},
		{protocol.StatusBadRequest, with(func(h *Host) { h.Version = strings.Repeat("x", MaxHostVersion+1) }),
			"version"},
		{protocol.StatusPreconditionFailed, with(func(h *Host) { h.Name = "a" }), "host 1 is named a already"},
		{protocol.StatusPreconditionFailed, with(func(h *Host) { h.ID = 1 }), "host 1 is named a, not b"},
	} {
		if e := want(t, m, c.status, c.command); !strings.Contains(e.Message, c.message) {
			t.Errorf("the message %q does not have %q", e.Message, c.message)
		}
	}
}

func TestThereIsALimitOfHosts(t *testing.T) {
	m := New()
	for i := range MaxHosts {
		do(m, register(host(shard.HostID(i+1), fmt.Sprint("h", i+1))))
	}
	want(t, m, protocol.StatusPreconditionFailed, register(host(MaxHosts+1, "x")))
	if n := len(m.Hosts()); n != MaxHosts {
		t.Errorf("%d hosts", n)
	}
	mustEqual(t, copyOf(t, m), m)
	h := host(1, "h1")
	h.Version = "2.0"
	ok(t, m, register(h))
}

func seen(id shard.HostID, version uint64) Command {
	return Command{Kind: CmdHostObservation, Host: Host{ID: id}, Expected: version}
}

func TestAHostSaysWhatItHasSeenAndNeverTakesItBack(t *testing.T) {
	m := New()
	ok(t, m, register(host(1, "a")))
	ok(t, m, register(host(2, "b")))
	want(t, m, protocol.StatusBadRequest, seen(0, 1))
	want(t, m, protocol.StatusBadRequest, seen(1, 0))
	want(t, m, protocol.StatusNotFound, seen(3, 1))
	want(t, m, protocol.StatusPreconditionFailed, seen(1, 3))
	for _, step := range []struct {
		version, seen, machine uint64
	}{{1, 1, 3}, {1, 1, 3}, {3, 3, 4}, {2, 3, 4}, {4, 4, 5}} {
		ok(t, m, seen(1, step.version))
		if h, _ := m.Host(1); h.Seen != step.seen || m.Version() != step.machine || h.Changed != 1 {
			t.Fatalf("after %+v: %+v, version %d", step, h, m.Version())
		}
	}
	moved := host(1, "a")
	moved.ClientAddress = "elsewhere:1"
	ok(t, m, register(moved))
	if h, _ := m.Host(1); h.Seen != 4 || h.ClientAddress != "elsewhere:1" {
		t.Errorf("after registering again: %+v", h)
	}
}

func TestANodeTellsSinceWhenItsTimingIsWhatItIs(t *testing.T) {
	m := New()
	ok(t, m, register(host(1, "a")))
	ok(t, m, create("/a", cfg(0, 5_000)))
	for _, step := range []struct {
		command Command
		timed   uint64
	}{
		{create("/b", Config{}), 2},
		{alter("/a", Config{ReadConsistency: protocol.ConsistencyStrict}), 2},
		{alter("/a", cfg(0, 20_000)), 5},
		{confirmed(1, 3), 5},
		{alter("/a", cfg(2_000, 0)), 7},
	} {
		ok(t, m, step.command)
		if n, _ := m.Node("/a"); n.Timed != step.timed {
			t.Fatalf("after %+v: timed %d, want %d", step.command, n.Timed, step.timed)
		}
	}
}
