package meta

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
)

// unknown is above every level.
const unknown level.Level = 255

// commandLevels has the introducing level for each command. Numbers without a command have the level unknown. A later
// level adds commands here.
var commandLevels = func() (list [len(commandNames)]level.Level) {
	for kind, name := range commandNames {
		if list[kind] = level.First; name == "" {
			list[kind] = unknown
		}
	}
	return list
}()

func commandLevel(k CommandKind) level.Level {
	if int(k) < len(commandLevels) {
		return commandLevels[k]
	}
	return unknown
}

// LevelOf returns the lowest level at which a host may propose the command.
func LevelOf(c *Command) level.Level { return commandLevel(c.Kind) }

// Level returns the cluster's feature level.
func (m *Machine) Level() level.Level {
	return look(m, func(c *content) level.Level { return c.level })
}

// LevelHolders returns the highest level supported by all hosts on record, and the hosts without support for a higher
// level. Expelled hosts do not count. Without hosts the level is 0.
func (m *Machine) LevelHolders() (lowest level.Level, holders []Host) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, h := range m.hostList() {
		if h.Current == protocol.HostExpelled {
			continue
		}
		if len(holders) == 0 || h.Level < lowest {
			lowest, holders = h.Level, holders[:0]
		}
		if h.Level == lowest {
			holders = append(holders, h)
		}
	}
	return lowest, holders
}

// clusterLevel raises the level once every host supports the new level.
func (m *Machine) clusterLevel(c *Command) {
	switch {
	case c.Raise == 0:
		m.refuse(protocol.StatusBadRequest, "a level is needed")
		return
	case c.Raise <= m.level:
		m.accept(FlagExisted)
		return
	}
	some := false
	for _, h := range m.hostList() {
		if h.Current == protocol.HostExpelled {
			continue
		}
		if some = true; h.Level < c.Raise {
			m.refuse(protocol.StatusPreconditionFailed, "host %s can follow up to level %d, not %d", h.Name, h.Level,
				c.Raise)
			return
		}
	}
	if !some {
		m.refuse(protocol.StatusPreconditionFailed, "no host has said which level it can follow")
		return
	}
	assert(c.Raise <= level.Newest, "a level that this build cannot follow stops its replica on decoding")
	m.level = c.Raise
	m.change(0)
	m.emit(EffectLevelChanged)
}
