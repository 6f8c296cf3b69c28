package meta

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/hosts"
)

// unknown is above every level. It is the level of parts that are not in the table of levels.
const unknown level.Level = 255

var commandLevels = func() (list [len(commandNames)]level.Level) {
	for kind, name := range commandNames {
		list[kind] = unknown
		if name != "" {
			list[kind] = level.Of(level.MetaCommand, name)
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

// QuotaLevel is the level from which the config of a node has quotas.
var QuotaLevel = max(level.Of(level.MetaRecord, "Config.QuotaObjects"), level.Of(level.MetaRecord, "Config.QuotaBytes"))

// AskedLevel is the level from which the config of a node has the settings that clients asked for.
var AskedLevel = level.Of(level.MetaRecord, "Config.Asked")

// LongestWaitLevel is the level from which the config of a node bounds how long a session waits without a word.
var LongestWaitLevel = level.Of(level.MetaRecord, "Config.LongestWaitMillis")

// StampLevel is the level from which the shard has a time, and batches may have a stamp.
var StampLevel = level.Of(level.MetaRecord, "State.Now")

// GroupLevel is the level from which a shard can be made anew, and the counters of shards are noted.
var GroupLevel = level.Of(level.MetaCommand, "shard-recover")

// LevelOf returns the level that a command needs. A host proposes no command above the level of the cluster.
func LevelOf(c *Command) level.Level {
	needs := max(commandLevel(c.Kind), c.Config.level())
	if c.Numbered != (Numbered{}) {
		needs = max(needs, NumbersLevel)
	}
	if ps, ok := c.Request.(*PolicySet); ok {
		if ps.spreads() {
			needs = max(needs, hosts.SpreadLevel)
		}
		if ps.tiers() {
			needs = max(needs, hosts.WeightLevel)
		}
	}
	return needs
}

// level returns the level that the config needs.
func (c Config) level() level.Level {
	if c.LongestWaitMillis != 0 {
		return LongestWaitLevel
	}
	if c.Asked != (protocol.AskedConfig{}) {
		return AskedLevel
	}
	if c.QuotaObjects != 0 || c.QuotaBytes != 0 {
		return QuotaLevel
	}
	return level.First
}

// Level returns the feature level of the cluster.
func (m *Machine) Level() level.Level {
	return look(m, func(c *content) level.Level { return c.level })
}

// LevelHolders returns the highest level that all hosts on record can follow, and the hosts that can follow no higher
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

// clusterLevel raises the level when every host can follow.
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
