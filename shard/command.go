package shard

import (
	"bytes"
	"strings"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/clock"
)

// CommandKind identifies a command. The numbers are stored in logs on disk: they never change their meaning and are
// never reused. Each object kind's numbers are in kinds.go.
type CommandKind uint8

const (
	// CmdLead is every new leader's first command. It invalidates time-driven commands (such as SessionsExpire) from
	// all earlier terms. Uses Term.
	CmdLead CommandKind = 1
	// CmdSessionCreate creates a session at its home shard. Uses Slot, Node, Timeout (ms), Data (its details), Key,
	// Time and Client.
	CmdSessionCreate CommandKind = 2
	// CmdSessionUpdate changes a session's timeout and details on attaching. Uses Session, Key, Timeout (ms), Data (its
	// details), Client.
	CmdSessionUpdate CommandKind = 3
	// CmdSessionEnd ends a session at once, at its home shard. Uses Session, and Flags&FlagOperator if an operator ends
	// the session instead of its own client.
	CmdSessionEnd CommandKind = 4
	// CmdSessionsExpire ends sessions that were silent for too long, at their home shard. Uses Term, Sessions, and
	// Count: the change count of the shard's slots, under which the leader found the sessions silent.
	CmdSessionsExpire CommandKind = 5
	// CmdSessionsForget releases all holdings of the listed sessions in a shard that is not their home, after the
	// session directory has reported their end. Uses Sessions.
	CmdSessionsForget CommandKind = 6
	// CmdNodeDrop removes up to Count (at most MaxList) objects and sessions in a dropped node. FlagMore in the answer
	// means that some are left; the leader then proposes the command again. Uses Node, Count.
	CmdNodeDrop CommandKind = 8

	// CmdLevel raises the shard's feature level to Count, from the next batch on. Uses Count.
	CmdLevel CommandKind = 9
	// CmdDigestTake asks every replica for a digest of its state right after the batch, and changes nothing. Uses
	// Count: the digest number.
	CmdDigestTake CommandKind = 10
	// CmdDigestCompare distributes the leader's digest under a number, for replicas to compare with theirs. It changes
	// nothing. Uses Count, Sum.
	CmdDigestCompare CommandKind = 11

	// CmdContinue continues work that was too much for one command: ended sessions, deleted semaphores, waiters to be
	// granted. FlagMore in the answer means that there is more work; the leader proposes CmdContinue until all work is
	// done.
	CmdContinue CommandKind = 12

	// CmdNodeLimits sets a node's quotas in the shard, or, for Node 0, the shard's own quotas. Zeros mean the defaults.
	// Uses Node, Count (objects, for a node at most MaxSemaphoresPerNode), Bytes.
	CmdNodeLimits CommandKind = 13

	// CmdDue does the work that is due by shard time: it handles expired object alarms, and ends waits. A leader
	// proposes the command when it estimates that an alarm has expired, and periodically while there are alarms, so
	// shard time is not far behind if the leader dies. FlagMore in the answer means that more is due; the leader
	// proposes the command again. Uses Term, Time.
	CmdDue CommandKind = 14

	// CmdSessionNumbers issues a number space for a session's mutations, on attaching. The space is above all spaces
	// issued before, above all numbers the session has used here, and no lower than Count. Number in the answer is the
	// number before the first number in the space. Uses Session, Key, Count.
	CmdSessionNumbers CommandKind = 15

	// CmdGroupWait begins a rebuilt shard's wait: the leader knows that no host acts for an earlier group any more. The
	// wait lasts for Timeout (ms), but at least for the group's longest timeout. With FlagOperator the command ends the
	// wait, by an operator's order. Uses Term, Count (the group), Timeout, Flags.
	CmdGroupWait CommandKind = 22

	// The following commands move a slot between shards. Package slots defines their rules. Each command uses Slot and
	// Count. Count is the generation that the meta shard assigned to the attempt.

	// CmdSlotSeal takes a slot's content out of the shard, to be offered to another shard. Its Level must be the
	// shard's. With FlagForce the slot may be large. Uses Number: the other shard, Flags.
	CmdSlotSeal CommandKind = 23
	// CmdSlotOpen merges the content that another shard has sealed. Uses Number: the other shard, Body: the encoded
	// slots.Snapshot.
	CmdSlotOpen CommandKind = 24
	// CmdSlotRefuse ensures that the generation's content is never merged here. Uses Number: the sealing shard.
	CmdSlotRefuse CommandKind = 25
	// CmdSlotCancel ends an attempt after the other shard's refusal: the sealing shard takes the content back.
	CmdSlotCancel CommandKind = 26
	// CmdSlotRelease ends an attempt after the other shard has merged the content. With FlagForget the sealing shard
	// drops its copy too. Uses Flags.
	CmdSlotRelease CommandKind = 27
	// CmdSlotReturn takes back the copy of a released slot's content: the other shard has lost its majority, and its
	// survivor never merged the content. Uses Number: the new generation.
	CmdSlotReturn CommandKind = 28
	// CmdSlotSupersede drops a slot's content in a shard without majority, because another shard has opened the
	// generation. Uses Number: the other shard.
	CmdSlotSupersede CommandKind = 29
)

// CommandFlags modify a command.
type CommandFlags uint8

const (
	// FlagEphemeral on acquire: the first acquire creates the semaphore, and the last release removes it.
	FlagEphemeral CommandFlags = 1 << 0
	// FlagForce on delete: even with owners or waiters. On slot seal: even if the slot is large.
	FlagForce CommandFlags = 1 << 1
	// FlagOperator on session end: an operator ends the session, not its client. On group wait: an operator ends the
	// wait.
	FlagOperator CommandFlags = 1 << 2
	// FlagFailed on a reply: the member could not serve the request. Data is a text with the reason.
	FlagFailed CommandFlags = 1 << 3
	// FlagForget on slot release: drop the slot's content, which every voter of the other shard has.
	FlagForget CommandFlags = 1 << 4

	knownFlags = FlagEphemeral | FlagForce | FlagOperator | FlagFailed | FlagForget
)

// Command is one decoded operation. Which fields count depends on Kind. Name, Data, Key, Client, Body and the lists are
// views into the decoded bytes; the machine copies the parts that stay in its state.
type Command struct {
	// Level is the level of the command's encoding and rules. A host stamps the shard's level, which must not be below
	// LevelOf. The machine follows the rules for the command's level, so a replayed log has the same effects as before.
	// If DecodeBatch finds a level above the shard's, no other field is set.
	Level level.Level
	Kind  CommandKind
	Flags CommandFlags `log:"byte"`
	Slot  Slot         `log:"short"`
	Node  NodeID

	// The mutation fields: the session, the command number, and the number up to which the session has seen answers.
	// Session and Number are zero together, for create, update, delete and resize without a session.
	Session SessionID `log:"word"`
	Number  uint64
	Acked   uint64

	Name     []byte
	Data     []byte
	Key      []byte
	Count    uint64 `log:"next"`
	Timeout  uint64 `log:"next"`
	Order    OrderID
	Term     uint64
	Sessions []SessionID `log:"own"`
	// Revision, if not zero, is the revision an update or a resize requires.
	Revision Revision
	// Sum is a digest.
	Sum uint64 `log:"word"`
	// Time is the proposing host's wall clock, in milliseconds since 1970, or 0. It is set on commands that create
	// sessions or holdings, or may grant ownership: the machine keeps it as "since when", for people. No rule depends
	// on Time, and Time may go back.
	Time uint64
	// Client describes the client that created a session, for people.
	Client ClientRef `log:"own"`
	// Bytes is a byte quota.
	Bytes uint64
	// Body has the further fields for an object kind's command, in the kind's encoding.
	Body []byte `log:"filled"`
}

// Clone returns a copy with its own texts and bytes, for a command with fields that are views into a buffer about to be
// overwritten. The copy shares c's lists.
func (c *Command) Clone() Command {
	out := *c
	out.Name, out.Data, out.Key = bytes.Clone(c.Name), bytes.Clone(c.Data), bytes.Clone(c.Key)
	out.Body = bytes.Clone(c.Body)
	return out
}

// ClientRef has the address of a session's client, and the name and version the client reports.
type ClientRef struct {
	Address []byte
	Name    []byte
	Version []byte
}

// Size is the total length of the texts, in bytes.
func (c *ClientRef) Size() int { return len(c.Address) + len(c.Name) + len(c.Version) }

// IsZero reports whether nothing is known about the client.
func (c *ClientRef) IsZero() bool { return c.Size() == 0 }

// Fits reports whether the texts are within their limits.
func (c *ClientRef) Fits() bool {
	return len(c.Address) <= MaxClientAddress && len(c.Name) <= MaxClientName && len(c.Version) <= MaxClientVersion
}

// State copies the client into one new string.
func (c *ClientRef) State() ClientState {
	var all strings.Builder
	all.Grow(c.Size())
	for _, b := range [...][]byte{c.Address, c.Name, c.Version} {
		all.Write(b)
	}
	text, name := all.String(), len(c.Address)
	version := name + len(c.Name)
	return ClientState{Address: text[:name], Name: text[name:version], Version: text[version:]}
}

// WaiterRef names one waiting acquire. The number distinguishes a re-acquire from the timed acquire.
type WaiterRef struct {
	Node    NodeID
	Name    []byte
	Session SessionID
	Order   OrderID
	Number  uint64
}

// Batch is one proposal's content: commands applied in order. The proposing host chooses Proposer and Sequence, and
// uses them to recognise its own batch on applying.
type Batch struct {
	Proposer uint64
	Sequence uint64
	// Stamp has the proposal's term and time. It is zero if the proposer does not lead the shard.
	Stamp    clock.Stamp
	Commands []Command

	// Backing memory for the decoded lists, reused between batches.
	sessions []SessionID
}
