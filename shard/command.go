package shard

import (
	"bytes"
	"strings"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/clock"
)

// CommandKind says what a command does. The numbers stand in logs on disk: they never change their meaning and are
// never used again. The numbers of a kind of objects stand in a file of the kind.
type CommandKind uint8

const (
	// CmdLead is the first command of every new leader. It makes the time-driven commands (such as SessionsExpire) of
	// all earlier terms void. Uses Term.
	CmdLead CommandKind = 1
	// CmdSessionCreate makes a session at its home shard. Uses Slot, Node, Timeout (ms), Data (its details), Key,
	// Time and Client.
	CmdSessionCreate CommandKind = 2
	// CmdSessionUpdate changes timeout and details of a session on attaching. Uses Session, Key,
	// Timeout (ms), Data (its details), Client.
	CmdSessionUpdate CommandKind = 3
	// CmdSessionEnd ends a session at once, at its home shard. Uses Session, and Flags&FlagOperator if an operator
	// ends the session and not its own client.
	CmdSessionEnd CommandKind = 4
	// CmdSessionsExpire ends the sessions that were silent for too long, at their home shard. Uses
	// Term, Sessions.
	CmdSessionsExpire CommandKind = 5
	// CmdSessionsForget releases all links of the named sessions in a shard that is not their home, after the session
	// directory has reported their death. Uses Sessions.
	CmdSessionsForget CommandKind = 6
	// CmdNodeDrop removes up to Count (at the most MaxList) objects and sessions of a dropped node. FlagMore in the
	// answer says that some are left; the leader proposes the command again. Uses Node, Count.
	CmdNodeDrop CommandKind = 8

	// CmdLevel raises the feature level of the shard to Count, from the next batch on. Uses Count.
	CmdLevel CommandKind = 9
	// CmdDigestTake asks every replica for the digest of its state right after the batch, and changes nothing. Uses
	// Count: the number of the digest.
	CmdDigestTake CommandKind = 10
	// CmdDigestCompare gives the leader's digest of a number, and replicas compare their own. It changes nothing.
	// Uses Count, Sum.
	CmdDigestCompare CommandKind = 11

	// CmdContinue continues work that was too much for one command: sessions that ended, semaphores that were
	// deleted, waiters to be granted. FlagMore in the answer says that there is more work; the leader proposes
	// CmdContinue until all is done.
	CmdContinue CommandKind = 12

	// CmdNodeLimits sets the quotas of a node in the shard, or, for Node 0, the quotas of the shard itself. Zeros
	// mean the defaults. Uses Node, Count (objects, for a node at the most MaxSemaphoresPerNode), Bytes.
	CmdNodeLimits CommandKind = 13

	// CmdDue does what is due by the time of the shard: it does the work of objects whose alarms are over, and ends
	// waits. A leader proposes the command when it estimates that an alarm is over, and now and then while there are
	// alarms, so that the shard's time is not far behind when the leader dies. FlagMore in the answer says that more
	// is due; the leader proposes the command again. Uses Term, Time.
	CmdDue CommandKind = 14

	// CmdSessionNumbers draws a space of numbers for the mutations of a session, on attaching. The space is above all
	// spaces drawn before, above all numbers that the session has used here, and no lower than Count. Number in the
	// answer is the number before the first of the space. Uses Session, Key, Count.
	CmdSessionNumbers CommandKind = 15

	// CmdGroupWait begins the wait of a shard that was made anew: the leader knows that no host acts for an earlier
	// group any more. The wait lasts for Timeout (ms), and no shorter than the longest timeout of the group. With
	// FlagOperator the command ends the wait, by an operator's order. Uses Term, Count (the group), Timeout, Flags.
	CmdGroupWait CommandKind = 22
)

// CommandFlags modify a command.
type CommandFlags uint8

const (
	// FlagEphemeral on acquire: the first acquire makes the semaphore, and the last release removes it.
	FlagEphemeral CommandFlags = 1 << 0
	// FlagForce on delete: even with owners or waiters.
	FlagForce CommandFlags = 1 << 1
	// FlagOperator on session end: an operator ends the session, not its client. On group wait: an operator ends the
	// wait.
	FlagOperator CommandFlags = 1 << 2
	// FlagFailed on a reply: the member could not do what the request asked for. Data is a text with the reason.
	FlagFailed CommandFlags = 1 << 3

	knownFlags = FlagEphemeral | FlagForce | FlagOperator | FlagFailed
)

// Command is one decoded operation. Which fields count depends on Kind. Name, Data, Key, Client, Body and the lists
// are views into the bytes that were decoded; the machine copies the parts that stay in its state.
type Command struct {
	// Level is the level of the command's form and rules. A host stamps the level of the shard, which must not be
	// below LevelOf. The machine follows the rules of the command's level, so that a replayed log has the same
	// effects as at first. If DecodeBatch finds a level above the shard's, no other field is set.
	Level level.Level
	Kind  CommandKind
	Flags CommandFlags `log:"byte"`
	Slot  Slot         `log:"short"`
	Node  NodeID

	// The mutation fields: the session, the number of the command, and the number up to which the session has seen
	// answers. Session and Number are zero together, for create, update, delete and resize outside of any session.
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
	// Revision, if not zero, is the revision that an update or a resize requires.
	Revision Revision
	// Sum is a digest.
	Sum uint64 `log:"word"`
	// Time is the wall clock of the proposing host, in milliseconds since 1970, or 0. Commands that make sessions or
	// links, or let waiters own, have a Time: the machine keeps it as "since when", for people. No rule depends on
	// Time, and Time may go back.
	Time uint64
	// Client describes the client that made a session, for people.
	Client ClientRef `log:"own"`
	// Bytes is a quota of bytes.
	Bytes uint64
	// Body has the further fields of a command of a kind of objects, in the kind's own form.
	Body []byte `log:"filled"`
}

// Clone returns a copy with its own texts and bytes, for a command whose fields are views into a buffer about to be
// overwritten. The copy shares the lists of c.
func (c *Command) Clone() Command {
	out := *c
	out.Name, out.Data, out.Key = bytes.Clone(c.Name), bytes.Clone(c.Data), bytes.Clone(c.Key)
	out.Body = bytes.Clone(c.Body)
	return out
}

// ClientRef has the address of a session's client, and the client's name and version in its own words.
type ClientRef struct {
	Address []byte
	Name    []byte
	Version []byte
}

// Size is how many bytes the texts have.
func (c *ClientRef) Size() int { return len(c.Address) + len(c.Name) + len(c.Version) }

// IsZero reports whether nothing is known of the client.
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

// WaiterRef names one waiting acquire. The number distinguishes a re-acquire from the acquire that was timed.
type WaiterRef struct {
	Node    NodeID
	Name    []byte
	Session SessionID
	Order   OrderID
	Number  uint64
}

// Batch is the content of one proposal: commands that are applied one after the other. The proposing host chooses
// Proposer and Sequence, and recognises its own batch by them on applying.
type Batch struct {
	Proposer uint64
	Sequence uint64
	// Stamp has the term and the time of the proposal. It is zero if the proposer does not lead the shard.
	Stamp    clock.Stamp
	Commands []Command

	// Backing of the decoded lists, kept from one use of the batch to the next.
	sessions []SessionID
}
