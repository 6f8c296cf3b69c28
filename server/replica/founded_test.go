package replica

import (
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/meta"
)

// TestHostRecordsCountOnceHostsAreBootstrapped: hosts no longer register, and a host missing in the records but present
// in a host's own list blocks nothing.
func TestHostRecordsCountOnceHostsAreBootstrapped(t *testing.T) {
	h := standaloneAt(t, 1, level.Newest)
	m := h.Meta.Machine
	until(t, "the cluster is of the newest level, and its leader has begun", h, h.Meta.upkeep,
		func() bool { return m.Level() == level.Newest && m.Clock().Term != 0 })
	found := meta.NewCommand(&meta.HostsBootstrap{InitialMembers: []meta.InitialMember{{ID: 1}}},
		meta.Origin{By: "host-1"})
	until(t, "the hosts are bootstrapped", h, func() { h.Meta.request(found) }, m.Bootstrapped)

	h.config.Hosts = append(h.config.Hosts, 9)
	h.config.Self.ClientAddress = "elsewhere:1"
	_, cluster := counting(h)
	metaBatches(t, h, []meta.Command{{Kind: meta.CmdNodeCreate, Path: "/jobs"}})
	metaBatches(t, h, []meta.Command{{Kind: meta.CmdNodeAlter, Path: "/jobs",
		Config: meta.Config{SessionGracePeriodMillis: 20_000}}})
	until(t, "the new grace is confirmed", h, h.Meta.upkeep, func() bool {
		n, _ := m.Node("/jobs")
		return n.Confirmed()
	})
	if n := cluster.commands["host-register"]; n > 0 {
		t.Errorf("the host registered %d times beside its record", n)
	}
}
