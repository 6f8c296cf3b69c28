package shard

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// commandLevels has the level that brings each command. Numbers without a command have the level unknown. A later
// level sets the levels of its commands here; a field, flag or rule of a later level raises LevelOf.
var commandLevels = func() (levels [256]level.Level) {
	for kind, name := range commandNames {
		if levels[kind] = level.First; name == "" {
			levels[kind] = unknown
		}
	}
	return levels
}()

// unknown is above every level.
const unknown level.Level = 255

// LevelOf returns the lowest level at which a host may propose the command.
func LevelOf(c *Command) level.Level { return commandLevels[c.Kind] }

// Level returns the feature level of the shard. The level at the beginning of a batch counts for the whole batch.
func (m *Machine) Level() level.Level {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.level
}

// raise lets the level rise at the end of the batch, so that a batch is decoded at one level. The level never falls.
func (m *Machine) raise(c *Command) {
	if c.Count == 0 {
		m.answer(protocol.StatusBadRequest)
		return
	}
	assert.That(c.Count <= uint64(level.Newest), "a level that this build cannot follow stops its replica on decoding")
	m.nextLevel = max(m.nextLevel, level.Level(c.Count))
	m.answer(protocol.StatusSuccess)
}
