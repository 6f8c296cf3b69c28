package meta

// Upkeep is the work that no client asks for: hosts report about themselves, or about the data shards that they lead,
// and the leader of the meta shard proposes the reports. A report may be lost on its way, come late, or come twice.
// So a command either says what is true from every host and at every time, or names the term, the epoch, the version
// or the start of the process that it is about. A command is a batch, or some commands together are a batch. No host
// has more than a few batches under way, so that the log has room for clients; and clients have at most so many
// batches under way as to leave room for upkeep.

// upkeep is a command that hosts propose by themselves.
type upkeep struct {
	// run applies the command. Every run must answer once. The field is nil for requests, which have their own apply.
	run func(m *Machine, c *Command)

	// The texts are for people; DESIGN.md shows them. proposed says which host proposes the command, and when. late
	// says why a command that comes late or twice is harmless. lost says what follows if the command is lost, or the
	// log has no room. work says what bounds the work of one command.
	proposed, late, lost, work string
}

const (
	nextUpkeep = "again after a second, while it is not so"
	oneEntry   = "one entry of a list"
)

// upkeeps are all rows, by kind.
var upkeeps = [256]upkeep{
	CmdGraceConfirmed: {
		run:      (*Machine).graceConfirmed,
		proposed: "by the leader, when all hosts have seen a change of periods; up to 1,000 in a batch",
		late:     "it is about the past, which stays as it is; for a version that was overtaken it is refused",
		lost:     nextUpkeep,
		work:     oneEntry,
	},
	CmdNodeCleared: {
		run: (*Machine).nodeCleared,
		proposed: "by the leader of a data shard that has nothing left of a dropped node; up to 500 in a batch, " +
			"one batch a second",
		late: "an id never lives again",
		lost: nextUpkeep,
		work: oneEntry + ", with at most MaxDataShards shards",
	},
	CmdHostRegister: {
		run:      (*Machine).hostRegister,
		proposed: "by each host whose record is not what it is",
		late:     "one of before a restart is put right by the host, which says it again",
		lost:     nextUpkeep,
		work:     "the records of at most MaxHosts hosts",
	},
	CmdHostSeen: {
		run:      (*Machine).hostSeen,
		proposed: "by each host that has seen a change of periods",
		late:     "what a host has seen only grows",
		lost:     nextUpkeep,
		work:     oneEntry,
	},
	CmdClusterLevel: {
		run:      (*Machine).clusterLevel,
		proposed: "by the leader, when all hosts can follow a higher level",
		late:     "the level only rises, and never above what the hosts on record can follow",
		lost:     nextUpkeep,
		work:     "the records of at most MaxHosts hosts",
	},
	CmdDigestTake: {
		run:      func(m *Machine, _ *Command) { m.accept(0) },
		proposed: "by the leader, every ten minutes",
		late:     "it changes nothing; replicas go by the number of the latest",
		lost:     "the next one comes ten minutes later",
		work:     "none",
	},
	CmdDigestCompare: {
		run:      func(m *Machine, _ *Command) { m.accept(0) },
		proposed: "by the leader, when it has its own digest of that number",
		late:     "it changes nothing; a digest of one place of the log is the same whoever took it",
		lost:     "the next digest comes ten minutes later",
		work:     "none",
	},
	CmdLead: {
		run:      (*Machine).lead,
		proposed: "by each new leader, first of all; it carries the term",
		late:     "that of an earlier term is refused; the same term begins once",
		lost:     nextUpkeep,
		work:     "none",
	},
	CmdRoutingInit: {
		run:      (*Machine).routingInit,
		proposed: "by the leader, at the birth of the cluster",
		late:     "a cluster that was born is born once",
		lost:     nextUpkeep,
		work:     "at most MaxDataShards shards",
	},
	CmdHostsFound: {
		proposed: "by the leader, when the level has the records of hosts and all hosts have registered",
		late:     "a cluster is founded once",
		lost:     nextUpkeep,
		work:     "the records of the founders, in each shard",
	},
	CmdHostBoot: {
		proposed: "by the leader, for a host whose process has started",
		late:     "of another start it is refused; the same start is on record",
		lost:     "the host asks again, and is not ready before",
		work:     "the records of the hosts",
	},
	CmdHostReturn: {
		proposed: "by the leader, for a host that finds itself taken for failed",
		late:     "it names the epoch that the host has found",
		lost:     nextUpkeep,
		work:     "the record of one host",
	},
	CmdHostShutdown: {
		proposed: "by the leader, for a host whose process is to stop",
		late:     "of an earlier start it changes nothing",
		lost:     "the host asks again for as long as it waits, and stops all the same",
		work:     "the record of one host",
	},
	CmdHostRename: {
		proposed: "by the leader, for a host that is reached elsewhere than its record says",
		late:     "of another start it is refused",
		lost:     nextUpkeep,
		work:     "the records of the hosts",
	},
	CmdHostFailed: {
		proposed: "by the governor, for a step",
		late:     "it names the term, and the epoch of the target",
		lost:     "the step is still open, and the governor acts again",
		work:     "the record of one host",
	},
	CmdHostReach: {
		proposed: "by the governor, for a step",
		late:     "it names the term, and the target",
		lost:     "the step is still open, and the governor acts again",
		work:     "the record of one host, and those of expelled ones",
	},
	CmdReplicasKnown: {
		proposed: "by the governor, when a membership is not the one on record",
		late:     "one below that on record is refused",
		lost:     nextUpkeep,
		work:     "the replicas of one shard, and those of expelled hosts",
	},
	CmdReplicaCleared: {
		proposed: "by the leader, for a host that has deleted a replica which is no member any more",
		late:     "an id of a replica is given once",
		lost:     "the step is still open, and the governor asks the host again",
		work:     "the replicas of one shard",
	},
	CmdStepBegin: {
		proposed: "by the governor, one after the other",
		late:     "it names the term, and the revision of the plan",
		lost:     "the governor decides anew",
		work:     "the open steps, and the lists of hosts and shards",
	},
	CmdStepReport: {
		proposed: "by the governor, when it sees how far a step has come",
		late:     "it names the term, and how far the step had come",
		lost:     "the governor sees the same, and says it again",
		work:     "the open steps",
	},
	CmdBackupNote: {
		proposed: "by the leader, for a host from which a client saves the state of a shard",
		late:     "it is one more entry of the history",
		lost:     "the log of the host has who saves it",
		work:     "one entry of the history",
	},
	CmdActNote: {
		proposed: "by the leader, for a host through which a client has changed something and said why",
		late:     "it is one more entry of the history",
		lost:     "the log of the host has it",
		work:     "one entry of the history",
	},
}
