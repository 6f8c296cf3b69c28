package meta

import (
	"encoding/binary"
	"math"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// The records of snapshots; some parts of records are parts of commands too. A record ends with its last field, so
// records stand one behind the other.

// maxSlotNumber is the largest value of the type of a slot. The users of a slot check whether the slot exists.
const maxSlotNumber = math.MaxUint16

// appendConfig writes a config in the form of the level of a command or a snapshot.
func appendConfig(dst []byte, c Config, at level.Level) []byte {
	dst = binary.AppendUvarint(dst, c.SelfCheckPeriodMillis)
	dst = binary.AppendUvarint(dst, c.SessionGracePeriodMillis)
	dst = append(dst, byte(c.ReadConsistency), byte(c.AttachConsistency), byte(c.RateLimiterCountersMode))
	if at >= QuotaLevel {
		dst = binary.AppendUvarint(dst, c.QuotaObjects)
		dst = binary.AppendUvarint(dst, c.QuotaBytes)
	}
	if at >= AskedLevel {
		dst = appendAsked(dst, &c.Asked)
	}
	if at >= LongestWaitLevel {
		dst = binary.AppendUvarint(dst, c.LongestWaitMillis)
	}
	return dst
}

// appendAsked writes the count of the numbers, 0 for an empty AskedConfig, and the numbers.
func appendAsked(dst []byte, a *protocol.AskedConfig) []byte {
	if *a == (protocol.AskedConfig{}) {
		return append(dst, 0)
	}
	return appendNumbers(dst, []uint64{
		a.SelfCheckPeriodMillis, a.SessionGracePeriodMillis, a.ReadConsistency, a.AttachConsistency,
		a.RateLimiterCountersMode,
	})
}

func readAsked(r *fieldReader) (a protocol.AskedConfig) {
	into := []*uint64{
		&a.SelfCheckPeriodMillis, &a.SessionGracePeriodMillis, &a.ReadConsistency, &a.AttachConsistency,
		&a.RateLimiterCountersMode,
	}
	list := numbers[uint64](r, "asked")
	if len(list) != 0 && len(list) != len(into) {
		r.fail("asked: %d numbers, %d are known", len(list), len(into))
		return a
	}
	for i, n := range list {
		*into[i] = n
	}
	return a
}

func readConfig(r *fieldReader, at level.Level) Config {
	c := Config{
		SelfCheckPeriodMillis:    r.number("self_check_period_ms"),
		SessionGracePeriodMillis: r.number("session_grace_period_ms"),
		ReadConsistency:          protocol.Consistency(r.octet("read_consistency")),
		AttachConsistency:        protocol.Consistency(r.octet("attach_consistency")),
		RateLimiterCountersMode:  protocol.CountersMode(r.octet("rate_limiter_counters_mode")),
	}
	if at >= QuotaLevel {
		c.QuotaObjects = r.number("quota_objects")
		c.QuotaBytes = r.number("quota_bytes")
	}
	if at >= AskedLevel {
		c.Asked = readAsked(r)
	}
	if at >= LongestWaitLevel {
		c.LongestWaitMillis = r.number("longest_wait_ms")
	}
	return c
}

func appendNode(dst []byte, n *Node, at level.Level) []byte {
	dst = appendText(dst, n.Path)
	dst = binary.AppendUvarint(dst, uint64(n.ID))
	dst = appendConfig(dst, n.Config, at)
	dst = binary.AppendUvarint(dst, n.Version)
	dst = binary.AppendUvarint(dst, n.Timing.Since)
	dst = binary.AppendUvarint(dst, n.Timing.GraceFloorMillis)
	dst = binary.AppendUvarint(dst, n.Timing.GraceCeilingMillis)
	dst = binary.AppendUvarint(dst, n.Timing.SelfCheckCeilingMillis)
	return binary.AppendUvarint(dst, n.Timed)
}

func readNode(r *fieldReader, at level.Level) Node {
	return Node{
		Path:    r.text("path"),
		ID:      shard.NodeID(r.number("id")),
		Config:  readConfig(r, at),
		Version: r.number("config version"),
		Timing: Timing{
			Since:                  r.number("timing since"),
			GraceFloorMillis:       r.number("grace floor"),
			GraceCeilingMillis:     r.number("grace ceiling"),
			SelfCheckCeilingMillis: r.number("self-check ceiling"),
		},
		Timed: r.number("timed"),
	}
}

func appendDropped(dst []byte, d *Dropped) []byte {
	dst = binary.AppendUvarint(dst, uint64(d.ID))
	dst = binary.AppendUvarint(dst, d.Version)
	return appendNumbers(dst, d.Pending)
}

func readDropped(r *fieldReader) Dropped {
	return Dropped{
		ID:      shard.NodeID(r.number("id")),
		Version: r.number("version"),
		Pending: numbers[ShardID](r, "pending"),
	}
}

// appendHostForm writes the fields that a host registers.
func appendHostForm(dst []byte, h *Host) []byte {
	dst = binary.AppendUvarint(dst, uint64(h.ID))
	dst = appendText(dst, h.Name)
	dst = appendText(dst, h.RaftAddress)
	dst = appendText(dst, h.ClientAddress)
	dst = appendText(dst, h.AdminAddress)
	return appendText(dst, h.Version)
}

func readHostForm(r *fieldReader) Host {
	return Host{
		ID:            shard.HostID(r.number("host id")),
		Name:          r.text("host name"),
		RaftAddress:   r.text("raft address"),
		ClientAddress: r.text("client address"),
		AdminAddress:  r.text("admin address"),
		Version:       r.text("host version"),
	}
}

func appendHost(dst []byte, h *Host) []byte {
	dst = appendHostForm(dst, h)
	dst = append(dst, byte(h.Current), byte(h.Target))
	dst = binary.AppendUvarint(dst, h.Changed)
	dst = binary.AppendUvarint(dst, h.Seen)
	return append(dst, byte(h.Level))
}

// readHostBeforeLevel reads the record of a host of snapshots of before the levels.
func readHostBeforeLevel(r *fieldReader) Host {
	h := readHostForm(r)
	h.Current = protocol.HostState(r.octet("current state"))
	h.Target = protocol.HostState(r.octet("target state"))
	h.Changed = r.number("changed")
	h.Seen = r.number("seen")
	return h
}

func readHost(r *fieldReader) Host {
	h := readHostBeforeLevel(r)
	h.Level = level.Level(r.octet("level"))
	return h
}

func appendRouting(dst []byte, t *Routing) []byte {
	dst = binary.AppendUvarint(dst, t.Version)
	dst = appendText(dst, t.Cluster)
	dst = appendNumbers(dst, t.Shards)
	dst = binary.AppendUvarint(dst, uint64(len(t.Ranges)))
	for _, g := range t.Ranges {
		dst = binary.AppendUvarint(dst, uint64(g.First))
		dst = binary.AppendUvarint(dst, uint64(g.Last))
		dst = binary.AppendUvarint(dst, uint64(g.Shard))
	}
	return dst
}

func readRouting(r *fieldReader) Routing {
	t := Routing{
		Version: r.number("routing version"),
		Cluster: r.text("cluster"),
		Shards:  numbers[ShardID](r, "shards"),
	}
	for range r.count("ranges") {
		t.Ranges = append(t.Ranges, SlotRange{
			First: shard.Slot(r.upTo("first slot", maxSlotNumber)),
			Last:  shard.Slot(r.upTo("last slot", maxSlotNumber)),
			Shard: ShardID(r.number("shard")),
		})
		if r.err != nil {
			break
		}
	}
	return t
}
