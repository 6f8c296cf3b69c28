package meta

import (
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// Host is a host as clients and other hosts see it. Until the hosts are bootstrapped, the machine keeps Host values and
// never removes any, so an id or a name never refers to a different host later. After the bootstrap, Host values are
// derived from the records.
type Host struct {
	ID            shard.HostID
	Name          string
	RaftAddress   string // for other hosts
	ClientAddress string // for clients
	AdminAddress  string // of its admin HTTP; may be empty
	Version       string // version of its program
	// Level is the highest feature level the host supports.
	Level level.Level

	// Filled in by the machine:
	Current protocol.HostState
	Target  protocol.HostState
	// Changed is the machine's version when the record last changed, not counting Seen. After the bootstrap, Changed is
	// the records' revision, which continues from the machine's version, at the last change relevant to client routing.
	Changed uint64
	// Seen is the newest machine version the host has reported as applied.
	Seen uint64
}

// checkForm validates a host's registration without the state.
func (h *Host) checkForm() error {
	if h.ID == 0 {
		return fmt.Errorf("a host id is needed; 0 stands for none")
	}
	for _, f := range []struct {
		name, value string
		least, most int
	}{
		{"name", h.Name, 1, MaxHostName},
		{"raft address", h.RaftAddress, 1, MaxAddress},
		{"client address", h.ClientAddress, 1, MaxAddress},
		{"admin address", h.AdminAddress, 0, MaxAddress},
		{"version", h.Version, 0, MaxHostVersion},
	} {
		if err := checkWord("the "+f.name+" of a host", f.value, f.least, f.most); err != nil {
			return err
		}
	}
	return nil
}

// checkWord checks that a text has only printable ASCII without spaces, and an allowed length.
func checkWord(what, s string, least, most int) error {
	if len(s) < least || len(s) > most {
		return fmt.Errorf("%s is %d bytes long; %d to %d are allowed", what, len(s), least, most)
	}
	if i := strings.IndexFunc(s, notGraphic); i >= 0 {
		return fmt.Errorf("%s (%s) has the byte %#02x; only printable ASCII without spaces is allowed",
			what, quoted(s), s[i])
	}
	return nil
}

func (m *Machine) hostRegister(c *Command) {
	next := c.Host
	if err := next.checkForm(); err != nil {
		m.refuse(protocol.StatusBadRequest, "%v", err)
		return
	}
	if m.topology != nil {
		m.refuse(protocol.StatusPreconditionFailed,
			"the hosts are bootstrapped: host %d says by host-boot and host-rename what it is", next.ID)
		return
	}
	flags := FlagExisted
	h := m.hosts.get(next.ID)
	if h == nil {
		flags = 0
		h = &Host{Current: protocol.HostOnline, Target: protocol.HostOnline}
		if len(m.hosts.entries) >= MaxHosts {
			m.refuse(protocol.StatusPreconditionFailed, "the cluster has its limit of %d hosts on record", MaxHosts)
			return
		}
		if other := m.hostNamed(next.Name); other != nil {
			m.refuse(protocol.StatusPreconditionFailed,
				"host %d is named %s already; give host %d another name", other.ID, other.Name, next.ID)
			return
		}
	} else if h.Name != next.Name {
		m.refuse(protocol.StatusPreconditionFailed,
			"host %d is named %s, not %s; a host keeps its name, and an id its host", h.ID, h.Name, next.Name)
		return
	}
	if next.Level < m.level {
		m.refuse(protocol.StatusPreconditionFailed, "the cluster is at feature level %d; "+
			"host %d can follow up to level %d: start a newer version of Signalbox there", m.level, next.ID, next.Level)
		return
	}
	next.Current, next.Target, next.Changed, next.Seen = h.Current, h.Target, h.Changed, h.Seen
	if next == *h {
		m.accept(flags)
		return
	}
	m.change(flags)
	next.Changed = m.version
	m.hosts.put(&next)
	m.emit(EffectHostsChanged)
}

func (m *Machine) hostSeen(c *Command) {
	id := c.Host.ID
	switch h, known := m.host(id); {
	case id == 0 || c.Expected == 0:
		m.refuse(protocol.StatusBadRequest, "a host id and a version are needed")
	case !known || m.topology != nil && h.Current == protocol.HostExpelled:
		m.refuse(protocol.StatusNotFound, "there is no host with id %d", id)
	case c.Expected > m.version:
		m.refuse(protocol.StatusPreconditionFailed,
			"the meta shard has version %d; host %d cannot have seen %d", m.version, id, c.Expected)
	case c.Expected <= h.Seen:
		m.accept(0)
	default:
		h.Seen = c.Expected
		m.putSeen(&h)
		m.change(0)
		m.emit(EffectHostObservation)
	}
}

// putSeen stores the version a host has seen.
func (c *content) putSeen(h *Host) {
	if c.topology != nil {
		c.topology.seen.put(&HostObservation{ID: h.ID, Version: h.Seen})
		return
	}
	c.hosts.put(h)
}

// host returns a host for readers.
func (c *content) host(id shard.HostID) (Host, bool) {
	if c.topology == nil {
		return value(c.hosts.get(id))
	}
	if h := c.topology.records.Host(id); h != nil {
		return c.topology.host(h), true
	}
	return Host{}, false
}

// hostList returns all hosts for readers, by id.
func (c *content) hostList() []Host {
	if c.topology == nil {
		return values(c.hosts.entries)
	}
	var list []Host
	for _, h := range c.topology.records.Hosts() {
		list = append(list, c.topology.host(h))
	}
	return list
}

// hostNamed returns the host with the name, or nil.
func (c *content) hostNamed(name string) *Host {
	for _, h := range c.hosts.entries {
		if h.Name == name {
			return h
		}
	}
	return nil
}
