package meta

import (
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
)

// CommandKind identifies a command. The numbers are stored in logs on disk: they never change their meaning and are
// never reused.
type CommandKind uint8

const (
	// CmdNodeCreate creates a node. Uses Path, Config.
	CmdNodeCreate CommandKind = 1
	// CmdNodeAlter merges the fields set in Config into a node's config. Uses Path and Node, Config, and Expected: the
	// config version the node must have, or zero for any.
	CmdNodeAlter CommandKind = 2
	// CmdNodeDrop drops a node. Uses Path and Node.
	CmdNodeDrop CommandKind = 3
	// CmdGraceConfirmed confirms that all hosts use version Expected, or later, of the node's config. Uses Node,
	// Expected.
	CmdGraceConfirmed CommandKind = 4
	// CmdNodeCleared confirms that data shard Shard has nothing left of the dropped node. Uses Node, Shard.
	CmdNodeCleared CommandKind = 5

	// CmdHostRegister creates or updates a host's record. Uses Host, without the fields the machine fills in.
	CmdHostRegister CommandKind = 16
	// CmdHostObservation reports that a host has applied the machine's version Expected, or later, and will never again
	// act on an older version. Uses the id in Host, Expected.
	CmdHostObservation CommandKind = 17

	// CmdClusterLevel raises the cluster's feature level, which is also this machine's level, from the next batch on.
	// Uses Raise.
	CmdClusterLevel CommandKind = 18
	// CmdDigestTake asks every replica for a digest of its state right after the batch, and changes nothing. Uses
	// Digest.
	CmdDigestTake CommandKind = 19
	// CmdDigestCompare distributes the leader's digest under a number, for replicas to compare with theirs. It changes
	// nothing. Uses Digest, Sum.
	CmdDigestCompare CommandKind = 20

	// CmdLead is every new leader's first command in the shard: shard time continues under the leader. Uses Term.
	CmdLead CommandKind = 21

	// CmdRoutingInit creates the slot table when the cluster is bootstrapped. Uses Cluster, Shards.
	CmdRoutingInit CommandKind = 32
)

// Commands on hosts, replicas and steps. Each uses Origin, and Request; the request's type determines the command.
const (
	CmdHostsBootstrap CommandKind = 40
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

// Commands on rights, which are requests too.
const (
	CmdAccessGrant       CommandKind = 64
	CmdAccessRevoke      CommandKind = 65
	CmdAccessRoleSet     CommandKind = 66
	CmdAccessRoleDelete  CommandKind = 67
	CmdAccessTokenCreate CommandKind = 68
	CmdAccessTokenRevoke CommandKind = 69
)

// Commands that only write an audit entry: the host from which a client saves a backup, and a change through a host,
// with its reason.
const (
	CmdBackupNote CommandKind = 70
	CmdActNote    CommandKind = 71
)

// Commands on a shard's replica groups, which are requests too.
const (
	CmdShardRecover  CommandKind = 72
	CmdShardsCounted CommandKind = 73
	CmdHostWeigh     CommandKind = 74
	CmdShardOverlap  CommandKind = 75
	CmdShardGrants   CommandKind = 76
	CmdShardBound    CommandKind = 77
)

// Commands on slots, which are requests too.
const (
	CmdSlotMove   CommandKind = 80
	CmdSlotAssign CommandKind = 81
)

// Commands on data shards at run time, and on rebalancing, which are requests too.
const (
	CmdShardAdd     CommandKind = 82
	CmdShardRemove  CommandKind = 83
	CmdShardWeigh   CommandKind = 84
	CmdShardServe   CommandKind = 85
	CmdShardRetire  CommandKind = 86
	CmdShardRestart CommandKind = 87
	CmdRebalance    CommandKind = 88
)

// CmdHostSlow records that a host is slow, or has recovered. It is a request too.
const CmdHostSlow CommandKind = 79

// CmdAccessImport sets many roles and principals.
const CmdAccessImport CommandKind = 78

// ShardID names a Raft group. Among data shards zero means no shard.
type ShardID = hosts.ShardID

// Command is one operation. Kind determines which fields count.
type Command struct {
	// Level is the level of the command's encoding and rules. A host stamps the cluster's level, which must not be
	// below LevelOf. If DecodeBatch finds a level above the machine's, no other field is set.
	Level level.Level
	Kind  CommandKind
	// Numbered, if set, ensures that the command is applied at most once.
	Numbered Numbered

	// A node is named by its path, by its id, or by both; both must then refer to the same node. The id makes it safe
	// to repeat a drop or an alter: the repetition cannot hit a newer node with the same path.
	Path     string
	Node     shard.NodeID
	Config   Config
	Expected uint64
	Shard    ShardID

	Host Host

	Cluster string
	Shards  []ShardID

	Raise       level.Level
	Digest, Sum uint64
	Term        uint64

	Origin  Origin
	Request Request // nil for all other commands
}

// Batch is one proposal's content: commands applied in order. The proposing host chooses Proposer and Sequence, and
// uses them to recognise its own batch on applying.
type Batch struct {
	Proposer uint64
	Sequence uint64
	// Stamp has the term and time of the leader's proposal.
	Stamp    clock.Stamp
	Commands []Command
}

var commandNames = [...]string{
	CmdNodeCreate:      "node-create",
	CmdNodeAlter:       "node-alter",
	CmdNodeDrop:        "node-drop",
	CmdGraceConfirmed:  "settle-grace",
	CmdNodeCleared:     "node-cleared",
	CmdHostRegister:    "host-register",
	CmdHostObservation: "host-seen",
	CmdClusterLevel:    "cluster-level",
	CmdDigestTake:      "digest-take",
	CmdDigestCompare:   "digest-compare",
	CmdLead:            "lead",
	CmdRoutingInit:     "routing-init",

	CmdHostsBootstrap: "hosts-bootstrap", CmdHostJoin: "host-join", CmdHostBoot: "host-boot",
	CmdHostReturn:   "host-return",
	CmdHostShutdown: "host-shutdown", CmdHostRename: "host-rename", CmdHostDrain: "host-drain",
	CmdHostUndrain: "host-undrain", CmdHostCordon: "host-cordon", CmdHostAlter: "host-alter",
	CmdHostExpel: "host-expel", CmdHostReplace: "host-replace", CmdShardTransfer: "shard-transfer",
	CmdPolicySet: "policy-set", CmdTokenCreate: "token-create", CmdTokenRevoke: "token-revoke",
	CmdHostFailed: "host-failed", CmdHostReach: "host-reach", CmdReplicasKnown: "replicas-known",
	CmdReplicaCleared: "replica-cleared", CmdStepBegin: "step-begin", CmdStepReport: "step-report",
	CmdStepCancel: "step-cancel", CmdStepForget: "step-forget",

	CmdAccessGrant: "access-grant", CmdAccessRevoke: "access-revoke", CmdAccessRoleSet: "access-role-set",
	CmdAccessRoleDelete: "access-role-delete", CmdAccessTokenCreate: "access-token-create",
	CmdAccessTokenRevoke: "access-token-revoke", CmdAccessImport: "access-import",

	CmdBackupNote: "backup-note", CmdActNote: "act-note",

	CmdShardRecover: "shard-recover", CmdShardsCounted: "shards-counted", CmdHostWeigh: "host-weigh",
	CmdShardOverlap: "shard-overlap", CmdShardGrants: "shard-grants",
	CmdShardBound: "shard-bound", CmdHostSlow: "host-slow",
	CmdSlotMove: "slot-move", CmdSlotAssign: "slot-assign",
	CmdShardAdd: "shard-add", CmdShardRemove: "shard-remove", CmdShardWeigh: "shard-weigh",
	CmdShardServe: "shard-serve", CmdShardRetire: "shard-retire", CmdShardRestart: "shard-restart",
	CmdRebalance: "rebalance",
}

// String returns the kind's name in logs and errors.
func (k CommandKind) String() string {
	return nameOf(k, "command", commandNames[:])
}
