package shard

import (
	"math/bits"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
)

// The parts of a command by the level of their introduction, from the table of levels.
var (
	commandLevels = levelsOfCommands()
	flagLevels    [8]level.Level
	fieldLevels   [64]level.Level

	// availableFlags and availableFields are the flags and fields that the build can follow.
	availableFlags  CommandFlags
	availableFields uint64 = moreBytes
	// laterFlags and laterFields did not come with the first level.
	laterFlags  CommandFlags
	laterFields uint64
)

func init() {
	for i, name := range flagNames {
		flagLevels[i] = level.Of(level.Flag, name)
		if flagLevels[i] <= level.Newest {
			availableFlags |= 1 << i
		}
		if flagLevels[i] > level.First {
			laterFlags |= 1 << i
		}
	}
	for i, name := range fieldNames {
		if name == "" {
			continue
		}
		fieldLevels[i] = level.Of(level.Field, name)
		if fieldLevels[i] <= level.Newest {
			availableFields |= 1 << i
		}
		if fieldLevels[i] > level.First {
			laterFields |= 1 << i
		}
	}
}

// levelsOfCommands returns the levels of the commands of no kind of objects; addKind adds the commands of kinds.
func levelsOfCommands() (levels [256]level.Level) {
	for kind, name := range commandNames {
		levels[kind] = unknown
		if name != "" {
			levels[kind] = level.Of(level.Command, name)
		}
	}
	return levels
}

// TimeLevel is the level from which commands have Time and Client, and sessions and links keep them.
var TimeLevel = level.Of(level.Field, "time")

// bodyLevel is the level from which commands have a Body.
var bodyLevel = level.Of(level.Field, "body")

// StampLevel is the level from which batches have a stamp, and have no effect without the stamp of the leader.
var StampLevel = batchesOfTheLeader

// The levels from which commands follow a rule.
var (
	answersEndWithOwnership = rule("answers-end-with-ownership")
	boundedWork             = rule("bounded-work")
	linksPerSession         = rule("links-per-session")
	quotas                  = rule("quotas")
	batchesOfTheLeader      = rule("batches-of-the-leader")
	answerBytesBounded      = rule("answer-bytes")
	numberOfOneRequest      = rule("number-of-one-request")
	pendingTakesBackNothing = rule("pending-takes-back-nothing")
	orderClasses            = rule("order-classes")
	gatheredOpens           = rule("gathered-opens")

	pendingRecorded = level.Of(level.Record, "State.Pending")
	bodiesRecorded  = level.Of(level.Record, "AnswerState.Body")
	limitsRecorded  = level.Of(level.Record, "State.ByteLimit")
	timeRecorded    = level.Of(level.Record, "State.Now")

	linkBodyRecorded    = level.Of(level.Record, "LinkState.Body")
	askedRecorded       = level.Of(level.Record, "AnswerState.Asked")
	answerSlotRecorded  = level.Of(level.Record, "AnswerState.Slot")
	numberSpaceRecorded = level.Of(level.Record, "SessionState.NumberSpace")
	lossesRecorded      = level.Of(level.Record, "SessionState.Losses")
	groupRecorded       = level.Of(level.Record, "State.Group")
)

// rules are the names of all rules from after the first level.
var rules []string

func rule(name string) level.Level {
	rules = append(rules, name)
	return level.Of(level.Rule, name)
}

// unknown is above every level. It is the level of parts that are not in the table.
const unknown level.Level = 255

// LevelOf returns the level that a command needs: the lowest level with its kind, its flags and its fields. A host
// proposes no command above the level of the shard.
func LevelOf(c *Command) level.Level { return levelOf(c, fieldsOf(c)) }

func levelOf(c *Command, fields uint64) level.Level {
	at := commandLevels[c.Kind]
	if fields&laterFields == 0 && c.Flags&laterFlags == 0 {
		return at
	}
	for i, of := range flagLevels {
		if c.Flags&(1<<i) != 0 {
			at = max(at, of)
		}
	}
	for later := fields & laterFields; later != 0; later &= later - 1 {
		at = max(at, fieldLevels[bits.TrailingZeros64(later)])
	}
	return at
}

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
	assert(c.Count <= uint64(level.Newest), "a level that this build cannot follow stops its replica on decoding")
	m.nextLevel = max(m.nextLevel, level.Level(c.Count))
	m.answer(protocol.StatusSuccess)
}
