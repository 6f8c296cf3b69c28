package shard

import (
	"bytes"
	"strconv"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/clock"
)

// CommandKind says what a command does. The numbers stand in logs on disk: they never change their
// meaning and are never used again. Those of a kind of objects stand in a file of the kind.
type CommandKind uint8

const (
	// CmdLead is the first command of every new leader: it makes the time-driven commands
	// (such as SessionsExpire) of all earlier terms void. Uses Term.
	CmdLead CommandKind = 1
	// CmdSessionCreate makes a session whose home this shard is. Uses Slot, Node, Timeout (ms), Data
	// (the description), Key, and from level 2 on Time and Client.
	CmdSessionCreate CommandKind = 2
	// CmdSessionUpdate changes timeout and description of a session on attaching. Uses Session, Key,
	// Timeout (ms), Data (the description), and from level 2 on Client.
	CmdSessionUpdate CommandKind = 3
	// CmdSessionEnd ends a session at once, at its home shard. Uses Session, and Flags&FlagOperator
	// when it is not the session's own client that asks.
	CmdSessionEnd CommandKind = 4
	// CmdSessionsExpire ends the sessions that were silent for too long, at their home shard. Uses
	// Term, Sessions.
	CmdSessionsExpire CommandKind = 5
	// CmdSessionsForget releases all that the named sessions have in this shard, which is not their
	// home: the session directory says that they are dead. Uses Sessions.
	CmdSessionsForget CommandKind = 6
	// CmdNodeDrop removes up to Count (at the most MaxList) objects and sessions of a dropped node.
	// The answer says with FlagMore that there are more; the leader proposes it again. Uses Node, Count.
	CmdNodeDrop CommandKind = 8

	// CmdLevel raises the feature level of the shard to Count, from the next batch on. Uses Count.
	CmdLevel CommandKind = 9
	// CmdDigestTake asks every replica for the digest of its state as it is after this batch. It changes nothing. Uses
	// Count: the number of the digest.
	CmdDigestTake CommandKind = 10
	// CmdDigestCompare gives the leader's digest of that number, which replicas compare with their own. It changes
	// nothing. Uses Count, Sum.
	CmdDigestCompare CommandKind = 11

	// CmdContinue goes on with what commands have begun and were too much for one: sessions that ended, semaphores that
	// were deleted, waiters that are to be granted. The answer says with FlagMore that there is more; the leader
	// proposes it until there is not.
	CmdContinue CommandKind = 12

	// CmdNodeLimits sets the quotas of a node in this shard, or those of the shard itself where Node is 0. Zeros mean
	// the defaults. Uses Node, Count (objects, for a node at the most MaxSemaphoresPerNode), Bytes.
	CmdNodeLimits CommandKind = 13

	// CmdDue does what is due for the objects whose alarms are over, by the time of the shard. A leader proposes it
	// when it estimates that one is, and now and then while there is any alarm, so that the shard's time is not far
	// behind where its leader dies. The answer says with FlagMore that more is due; the leader proposes it
	// again. Uses Term, Time.
	CmdDue CommandKind = 14

	// CmdSessionNumbers draws a space of numbers for the mutations of a session, on attaching: one above all that were
	// drawn before and that have numbers which the session has used here, and no lower than Count. The answer has the
	// number before the first one of the space as Number. Uses Session, Key, Count.
	CmdSessionNumbers CommandKind = 15
)

// CommandFlags modify a command.
type CommandFlags uint8

const (
	// FlagEphemeral on acquire: the semaphore is made by its first acquire and goes with its last
	// release.
	FlagEphemeral CommandFlags = 1 << 0
	// FlagForce on delete: even if it has owners or waiters.
	FlagForce CommandFlags = 1 << 1
	// FlagOperator on session end: an operator ends it, not its client.
	FlagOperator CommandFlags = 1 << 2
	// FlagFailed on a reply: who replies could not do what it was asked, and Data is a text that says why.
	FlagFailed CommandFlags = 1 << 3
)

// flagNames are the names of the flags in the table of levels, by bit.
var flagNames = [...]string{"ephemeral", "force", "operator", "failed"}

// Command is one decoded operation. Which fields count depends on Kind. Name, Data, Key, Client, Body and the lists are
// views into the bytes that the command was decoded from; the machine copies what it keeps.
type Command struct {
	// Level is the level that the command is written at. It must not be below LevelOf; a host stamps the level of the
	// shard. The rules that the command follows are those of its level, so that a log replays to what it did. Where
	// DecodeBatch finds it above the shard's, nothing else is set.
	Level level.Level
	Kind  CommandKind
	Flags CommandFlags
	Slot  Slot
	Node  NodeID

	// The mutation fields: who asks, under which number, and up to which number it has seen answers.
	// Session and Number are zero together, for create, update, delete and resize outside of any session.
	Session SessionID
	Number  uint64
	Acked   uint64

	Name    []byte
	Data    []byte
	Key     []byte
	Count   uint64
	Timeout uint64
	Order   OrderID
	Term    uint64
	// Revision, if it is not zero, is the one that an update or a resize asks for.
	Revision Revision
	// Sum is a digest.
	Sum uint64
	// Time is the wall clock of the host that proposes, in milliseconds since 1970, or 0. Commands carry it that make
	// sessions or links, or let waiters own: it is kept as "since when", for people. Nothing is decided by it, and it
	// may go back.
	Time uint64
	// Client says who made a session, for people.
	Client ClientRef
	// Bytes is a quota of bytes.
	Bytes uint64
	// Body has what a command of a kind of objects says beside these fields, in the kind's own form.
	Body []byte

	Sessions []SessionID
	Waiters  []WaiterRef
}

// Clone returns a copy that keeps its own texts and bytes, for one whose are views into what is about to be
// overwritten. Its lists are those of c.
func (c *Command) Clone() Command {
	out := *c
	out.Name, out.Data, out.Key = bytes.Clone(c.Name), bytes.Clone(c.Data), bytes.Clone(c.Key)
	out.Body = bytes.Clone(c.Body)
	return out
}

// ClientRef says of a session's client from which address it speaks, and what it calls itself.
type ClientRef struct {
	Address []byte
	Name    []byte
	Version []byte
}

func (c *ClientRef) isZero() bool { return len(c.Address)+len(c.Name)+len(c.Version) == 0 }

func (c *ClientRef) fits() bool {
	return len(c.Address) <= MaxClientAddress && len(c.Name) <= MaxClientName && len(c.Version) <= MaxClientVersion
}

func (c *ClientRef) state() ClientState {
	return ClientState{Address: string(c.Address), Name: string(c.Name), Version: string(c.Version)}
}

// WaiterRef names one waiting acquire: by the number a re-acquire differs from the one that was timed.
type WaiterRef struct {
	Node    NodeID
	Name    []byte
	Session SessionID
	Order   OrderID
	Number  uint64
}

// Batch is what one proposal carries: commands that are applied one after the other. Proposer and
// Sequence are chosen by the host that proposes, so that it knows its own batch again on applying.
type Batch struct {
	Proposer uint64
	Sequence uint64
	// Stamp says in which term the batch was proposed, and when. It is zero below level 4.
	Stamp    clock.Stamp
	Commands []Command

	// Backing of the decoded lists, kept from one use of the batch to the next.
	sessions []SessionID
	waiters  []WaiterRef
}

// commandNames are the names of the commands in the table of levels, by number.
var commandNames = [256]string{
	CmdLead:           "lead",
	CmdSessionCreate:  "session-create",
	CmdSessionUpdate:  "session-update",
	CmdSessionEnd:     "session-end",
	CmdSessionsExpire: "sessions-expire",
	CmdSessionsForget: "sessions-forget",
	CmdNodeDrop:       "node-drop",
	CmdLevel:          "level",
	CmdDigestTake:     "digest-take",
	CmdDigestCompare:  "digest-compare",
	CmdContinue:       "continue",
	CmdNodeLimits:     "node-limits",
	CmdDue:            "due",
	CmdSessionNumbers: "session-numbers",
}

// String returns the kind as logs and golden scripts write it.
func (k CommandKind) String() string {
	if name := commandNames[k]; name != "" {
		return name
	}
	return "command-" + strconv.Itoa(int(k))
}

// TakesTime reports whether commands of the kind carry the Time at which they were proposed: those that make a session
// or a link, may let a waiter own, or do what a rollout remembers.
func (k CommandKind) TakesTime() bool { return takesTime[k] }

var takesTime = [256]bool{
	CmdSessionCreate: true, CmdSessionEnd: true, CmdSessionsExpire: true, CmdSessionsForget: true, CmdContinue: true,
	CmdDue: true,
}
