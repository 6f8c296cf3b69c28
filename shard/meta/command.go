package meta

import (
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
)

// CommandKind says what a command does. The numbers stand in logs on disk: they never change their meaning and are
// never used again.
type CommandKind uint8

const (
	// CmdNodeCreate makes a node. Uses Path, Config.
	CmdNodeCreate CommandKind = 1
	// CmdNodeAlter merges the fields set in Config into a node's config. Uses Path and Node, Config, and Expected:
	// the config version that the node must have, or zero for any.
	CmdNodeAlter CommandKind = 2
	// CmdNodeDrop drops a node. Uses Path and Node.
	CmdNodeDrop CommandKind = 3
	// CmdGraceConfirmed says that no host goes by a config of the node older than version Expected. Uses Node,
	// Expected.
	CmdGraceConfirmed CommandKind = 4
	// CmdNodeCleared says that data shard Shard has nothing left of the dropped node. Uses Node, Shard.
	CmdNodeCleared CommandKind = 5

	// CmdHostRegister puts a host on record or updates its record. Uses Host, without the fields that the machine
	// fills in.
	CmdHostRegister CommandKind = 16
	// CmdHostObservation says that a host goes by version Expected of the machine, or a later version, and will never
	// again go by an older version. Uses the id in Host, Expected.
	CmdHostObservation CommandKind = 17

	// CmdClusterLevel raises the feature level of the cluster, and so of this machine, from the next batch on. Uses
	// Raise.
	CmdClusterLevel CommandKind = 18
	// CmdDigestTake asks every replica for the digest of its state right after the batch, and changes nothing. Uses
	// Digest.
	CmdDigestTake CommandKind = 19
	// CmdDigestCompare gives the leader's digest of a number, and replicas compare their own. It changes nothing.
	// Uses Digest, Sum.
	CmdDigestCompare CommandKind = 20

	// CmdLead is the first command of every new leader of the shard: the shard's time continues under the leader.
	// Uses Term.
	CmdLead CommandKind = 21

	// CmdRoutingInit makes the slot table at the bootstrap of the cluster. Uses Cluster, Shards.
	CmdRoutingInit CommandKind = 32
	// CmdSlotsAssign hands the slots First to Last, both included, from data shard From to To. Uses Expected too: the
	// version that the slot table must have, or zero for any.
	CmdSlotsAssign CommandKind = 33
)

// The commands on hosts, replicas and steps. Each command uses Origin, and Request; the type of the request says what
// the command does.
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

// The commands on rights, which are requests too.
const (
	CmdAccessGrant       CommandKind = 64
	CmdAccessRevoke      CommandKind = 65
	CmdAccessRoleSet     CommandKind = 66
	CmdAccessRoleDelete  CommandKind = 67
	CmdAccessTokenCreate CommandKind = 68
	CmdAccessTokenRevoke CommandKind = 69
)

// The commands that only write into the history: the host from which a client saves a backup, and a change through a
// host, with its reason.
const (
	CmdBackupNote CommandKind = 70
	CmdActNote    CommandKind = 71
)

// The commands on the groups of replicas of a shard, which are requests too.
const (
	CmdShardRecover  CommandKind = 72
	CmdShardsCounted CommandKind = 73
	CmdHostWeigh     CommandKind = 74
	CmdShardOverlap  CommandKind = 75
	CmdShardGrants   CommandKind = 76
	CmdShardBound    CommandKind = 77
)

// CmdAccessImport sets many roles and principals.
const CmdAccessImport CommandKind = 78

// ShardID names a Raft group. Among data shards zero stands for no shard.
type ShardID = hosts.ShardID

// Command is one operation. Kind says which fields count.
type Command struct {
	// Level is the level of the command's form and rules. A host stamps the level of the cluster, which must not be
	// below LevelOf. If DecodeBatch finds a level above the machine's, no other field is set.
	Level level.Level
	Kind  CommandKind
	// Numbered, if set, makes sure that the command is applied at most once.
	Numbered Numbered

	// A node is named by its path, by its id, or by both; both must then be of the same node. The id makes a
	// repetition of a drop or an alter safe: a repetition cannot hit a newer node of the same path.
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

// Batch is the content of one proposal: commands that are applied one after the other. The proposing host chooses
// Proposer and Sequence, and recognises its own batch by them on applying.
type Batch struct {
	Proposer uint64
	Sequence uint64
	// Stamp has the term and the time of the leader's proposal.
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
	CmdSlotsAssign:     "slots-assign",

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
	CmdShardBound: "shard-bound",
}

// String returns the name of the kind in logs and errors.
func (k CommandKind) String() string {
	return nameOf(k, "command", commandNames[:])
}
