package meta

import (
	"strconv"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
)

// CommandKind says what a command does. The numbers stand in logs on disk: they never change their
// meaning and are never used again.
type CommandKind uint8

const (
	// CmdNodeCreate makes a node. Uses Path, Config.
	CmdNodeCreate CommandKind = 1
	// CmdNodeAlter merges what is set in Config into a node's config. Uses Path and Node, Config, and
	// Expected: the config version that the node must have, where it is not zero.
	CmdNodeAlter CommandKind = 2
	// CmdNodeDrop drops a node. Uses Path and Node.
	CmdNodeDrop CommandKind = 3
	// CmdGraceConfirmed says that no host goes by a config of the node older than version Expected. Uses Node,
	// Expected.
	CmdGraceConfirmed CommandKind = 4
	// CmdNodeCleared says that data shard Shard has nothing left of the dropped node. Uses Node, Shard.
	CmdNodeCleared CommandKind = 5

	// CmdHostRegister puts a host on record or brings its record up to date. Uses Host, but for the
	// fields that the machine fills in.
	CmdHostRegister CommandKind = 16
	// CmdHostSeen says that a host goes by version Expected of this machine, or a later one, and will
	// never again go by an older one. Uses the id in Host, Expected.
	CmdHostSeen CommandKind = 17

	// CmdClusterLevel raises the feature level of the cluster, and so of this machine, from the next batch on. Uses
	// Raise.
	CmdClusterLevel CommandKind = 18
	// CmdDigestTake asks every replica for the digest of its state as it is after this batch. It changes nothing. Uses
	// Digest.
	CmdDigestTake CommandKind = 19
	// CmdDigestCompare gives the leader's digest of that number, which replicas compare with their own. It changes
	// nothing. Uses Digest, Sum.
	CmdDigestCompare CommandKind = 20

	// CmdLead is the first command of every new leader of the shard: its time goes on under that leader. Uses Term.
	CmdLead CommandKind = 21

	// CmdRoutingInit makes the slot table at the birth of the cluster. Uses Cluster, Shards.
	CmdRoutingInit CommandKind = 32
	// CmdSlotsAssign hands the slots First to Last, both included, from data shard From to To. Uses
	// Expected too: the version that the slot table must have, where it is not zero.
	CmdSlotsAssign CommandKind = 33
)

// The commands on hosts, replicas and steps. Each uses Origin, and Request, whose type says what it does.
const (
	CmdHostsFound     CommandKind = 40
	CmdHostJoin       CommandKind = 41
	CmdHostBoot       CommandKind = 42
	CmdHostReturn     CommandKind = 43
	CmdHostShutdown   CommandKind = 44
	CmdHostRename     CommandKind = 45
	CmdHostDrain      CommandKind = 46
	CmdHostUndrain    CommandKind = 47
	CmdHostCordon     CommandKind = 48
	CmdHostAlter      CommandKind = 49
	CmdHostExpel      CommandKind = 50
	CmdHostReplace    CommandKind = 51
	CmdShardTransfer  CommandKind = 52
	CmdPolicySet      CommandKind = 53
	CmdTokenCreate    CommandKind = 54
	CmdTokenRevoke    CommandKind = 55
	CmdHostFailed     CommandKind = 56
	CmdHostReach      CommandKind = 57
	CmdReplicasKnown  CommandKind = 58
	CmdReplicaCleared CommandKind = 59
	CmdStepBegin      CommandKind = 60
	CmdStepReport     CommandKind = 61
	CmdStepCancel     CommandKind = 62
	CmdStepForget     CommandKind = 63
)

// The commands on rights, which are requests too.
const (
	CmdAccessGrant       CommandKind = 64
	CmdAccessRevoke      CommandKind = 65
	CmdAccessRoleSet     CommandKind = 66
	CmdAccessRoleDelete  CommandKind = 67
	CmdAccessTokenCreate CommandKind = 68
	CmdAccessTokenRevoke CommandKind = 69
)

// The commands that only write something into the history: from which host a client saves a backup, and what was asked
// for through a host with a reason.
const (
	CmdBackupNote CommandKind = 70
	CmdActNote    CommandKind = 71
)

// ShardID names a Raft group. Among data shards zero stands for "none".
type ShardID = hosts.ShardID

// Command is one operation. Which fields count depends on Kind.
type Command struct {
	// Level is the level that the command is written at. It must not be below LevelOf; a host stamps the level of the
	// cluster. Where DecodeBatch finds it above the machine's, nothing else is set.
	Level level.Level
	Kind  CommandKind
	// Numbered, if it is set, sees to it that the command is carried out once.
	Numbered Numbered

	// A node is named by its path, by its id, or by both; both must then be of the same node. An id makes it safe to
	// send a drop or an alter again: it cannot hit a node of the same path that was created in between.
	Path     string
	Node     shard.NodeID
	Config   Config
	Expected uint64
	Shard    ShardID

	Host Host

	Cluster     string
	Shards      []ShardID
	First, Last shard.Slot
	From, To    ShardID

	Raise       level.Level
	Digest, Sum uint64
	Term        uint64

	Origin  Origin
	Request Request // nil for all other commands
}

// Batch is what one proposal carries: commands that are applied one after the other. Proposer and
// Sequence are chosen by the host that proposes, so that it knows its own batch again on applying.
type Batch struct {
	Proposer uint64
	Sequence uint64
	// Stamp says in which term the leader proposed the batch, and when. It is zero below the level of stamps, before
	// the leader's first command was applied, and on a batch that was forwarded.
	Stamp    clock.Stamp
	Commands []Command
}

var commandNames = [...]string{
	CmdNodeCreate:     "node-create",
	CmdNodeAlter:      "node-alter",
	CmdNodeDrop:       "node-drop",
	CmdGraceConfirmed: "settle-grace",
	CmdNodeCleared:    "node-cleared",
	CmdHostRegister:   "host-register",
	CmdHostSeen:       "host-seen",
	CmdClusterLevel:   "cluster-level",
	CmdDigestTake:     "digest-take",
	CmdDigestCompare:  "digest-compare",
	CmdLead:           "lead",
	CmdRoutingInit:    "routing-init",
	CmdSlotsAssign:    "slots-assign",

	CmdHostsFound: "hosts-found", CmdHostJoin: "host-join", CmdHostBoot: "host-boot", CmdHostReturn: "host-return",
	CmdHostShutdown: "host-shutdown", CmdHostRename: "host-rename", CmdHostDrain: "host-drain",
	CmdHostUndrain: "host-undrain", CmdHostCordon: "host-cordon", CmdHostAlter: "host-alter",
	CmdHostExpel: "host-expel", CmdHostReplace: "host-replace", CmdShardTransfer: "shard-transfer",
	CmdPolicySet: "policy-set", CmdTokenCreate: "token-create", CmdTokenRevoke: "token-revoke",
	CmdHostFailed: "host-failed", CmdHostReach: "host-reach", CmdReplicasKnown: "replicas-known",
	CmdReplicaCleared: "replica-cleared", CmdStepBegin: "step-begin", CmdStepReport: "step-report",
	CmdStepCancel: "step-cancel", CmdStepForget: "step-forget",

	CmdAccessGrant: "access-grant", CmdAccessRevoke: "access-revoke", CmdAccessRoleSet: "access-role-set",
	CmdAccessRoleDelete: "access-role-delete", CmdAccessTokenCreate: "access-token-create",
	CmdAccessTokenRevoke: "access-token-revoke",

	CmdBackupNote: "backup-note", CmdActNote: "act-note",
}

// String returns the kind as logs and errors write it.
func (k CommandKind) String() string {
	if int(k) < len(commandNames) && commandNames[k] != "" {
		return commandNames[k]
	}
	return "command-" + strconv.Itoa(int(k))
}
