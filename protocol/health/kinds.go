package health

import "slices"

// Kind names a sort of trouble in a word for programs. A host of a later version may report kinds that this version
// does not know.
type Kind string

// The kinds, as constants for code. The table Kinds has a row with the texts of every kind.
const (
	NoQuorum            Kind = "no-quorum"
	NoLeader            Kind = "no-leader"
	UnderReplicated     Kind = "under-replicated"
	NoFailureTolerance  Kind = "no-failure-tolerance"
	NoDomainTolerance   Kind = "no-domain-tolerance"
	LearnerDown         Kind = "learner-down"
	ReplicaMissing      Kind = "replica-missing"
	ReplicaLagging      Kind = "replica-lagging"
	ShardRebuilding     Kind = "shard-rebuilding"
	SingleHost          Kind = "single-host"
	TwoHosts            Kind = "two-hosts"
	UpgradeNotFinalized Kind = "upgrade-not-finalized"
	MixedVersions       Kind = "mixed-versions"
	StaleGeneration     Kind = "stale-generation"
	ClockSkew           Kind = "clock-skew"

	HostUnreachable Kind = "host-unreachable"
	HostFailed      Kind = "host-failed"
	HostStopped     Kind = "host-stopped"
	HostDrained     Kind = "host-drained"
	HostCordoned    Kind = "host-cordoned"
	HostExpelling   Kind = "host-expelling"
	HostNotStarted  Kind = "host-not-started"
	HostNotUpToDate Kind = "host-not-up-to-date"
	HostNotJoined   Kind = "host-not-joined"
	HostNotOnline   Kind = "host-not-online"

	HostNotReady        Kind = "host-not-ready"
	HostLagging         Kind = "host-lagging"
	HostStalled         Kind = "host-stalled"
	DiskFull            Kind = "disk-full"
	DiskLow             Kind = "disk-low"
	DiskSlow            Kind = "disk-slow"
	MemoryFull          Kind = "memory-full"
	MemoryLow           Kind = "memory-low"
	FileDescriptorsLow  Kind = "file-descriptors-low"
	ConnectionsRejected Kind = "connections-rejected"
	SlowWatchers        Kind = "slow-watchers"
	CertificateExpired  Kind = "certificate-expired"
	CertificateExpiring Kind = "certificate-expiring"
	QuotaNearlyUsed     Kind = "quota-nearly-used"
	QuotaSettingsDiffer Kind = "quota-settings-differ"
	BackupOverdue       Kind = "backup-overdue"

	RolloutHalted             Kind = "rollout-halted"
	RolloutBlocked            Kind = "rollout-blocked"
	RolloutDeadlineExceeded   Kind = "rollout-deadline-exceeded"
	RolloutPaused             Kind = "rollout-paused"
	ProcessMemberOverdue      Kind = "process-member-overdue"
	ProcessCoordinatorStalled Kind = "process-coordinator-stalled"
	ProcessBlocked            Kind = "process-blocked"
	LongWait                  Kind = "long-wait"
)

// Group is the sort of thing that is in trouble.
type Group string

// The groups, in the order of display.
const (
	Shards    Group = "shards"
	Hosts     Group = "hosts"
	Machines  Group = "machines"
	Rollouts  Group = "rollouts"
	Processes Group = "rounds"
	Locks     Group = "locks"
)

// Row describes a kind. Subject and Do may contain {node}, {name}, {host} and {shards}; New replaces these placeholders
// by the parts of About.
type Row struct {
	Kind     Kind
	Severity Severity
	Group    Group
	Means    string // when a host reports the kind
	Subject  string
	Do       string // the remedy, with a command if the tool has a fitting command
}

const (
	ofShards  = "shards {shards}"
	ofHost    = "host {host}"
	ofRollout = "rollout {name} in {node}"
	ofProcess = "process {name} in {node}"
	rolloutDo = "signalbox rollout why {node} {name} says why; "
	processDo = "signalbox process why {node} {name} names all; "
)

// Kinds is the table of all kinds. Rows are sorted by severity, the worst first; within a severity the order of rows is
// the order of display.
var Kinds = []Row{
	{NoQuorum, Critical, Shards, "too few voters of a shard are alive: changes are refused", ofShards,
		"start the hosts that are away, with their own data directories; where a majority is lost for good: " +
			"signalbox shard recover, or for the meta shard signalbox cluster recover"},
	{NoLeader, Critical, Shards, "no leader of a shard is known: changes are refused", ofShards,
		"changes are refused until one is elected: look at the logs of the hosts and at the network between them"},
	{DiskFull, Critical, Machines, "a host refuses changes: its disk is nearly full, or those of too many others are",
		ofHost, "make room on the disk, never in the data directory itself"},
	{MemoryFull, Critical, Machines,
		"a host refuses what takes memory: its memory is nearly full, or that of another host with a replica is",
		ofHost, "delete what is not needed, or give that host more memory"},
	{HostNotReady, Critical, Machines, "a host that has been up for a while is not ready", ofHost,
		"its log and its page /health/ready?verbose say why"},
	{CertificateExpired, Critical, Machines, "a certificate has ended, or is not valid yet", ofHost, newCertificate},
	{StaleGeneration, Critical, Hosts, "a host answers for the cluster as it was before a restore or a recovery",
		ofHost, "stop it for good: clients that reach it work in another cluster"},

	{UnderReplicated, Warning, Shards, "fewer replicas of a shard vote than are to", ofShards,
		"signalbox cluster why says what that waits for"},
	{NoFailureTolerance, Warning, Shards, "when one more voter of a shard fails, changes are refused", ofShards,
		"bring back the hosts that are away, or replace them"},
	{LearnerDown, Warning, Shards, "the host of a learner is not heard: the shard has one copy less", ofShards,
		"bring {host} back, or: signalbox host expel {host}"},
	{ReplicaMissing, Warning, Shards, "a host that is online has had no copy of a shard for minutes", ofShards,
		"signalbox cluster why says what that waits for"},
	{ReplicaLagging, Warning, Shards, "a copy has been behind the leader for over a minute", ofShards,
		"the disk of {host}, or the network to it, is too slow for what is written"},
	{ShardRebuilding, Warning, Shards, "a shard was made anew and grants nothing yet", ofShards,
		"wait: who owned something there needs the time to notice that it is lost"},
	{TwoHosts, Warning, Hosts, "there are two hosts: while one that votes is away, changes are refused", "the cluster",
		grow},
	{HostUnreachable, Warning, Hosts, "a host that is to be online is not heard", ofHost, replacement},
	{HostFailed, Warning, Hosts, "a host was silent for so long that it is taken for failed", ofHost, replacement},
	{HostStopped, Warning, Hosts, "a host was stopped and is expected back", ofHost,
		"start it again; if it is not to come back: signalbox host expel {host}"},
	{HostNotStarted, Warning, Hosts, "a host has joined and was not started since", ofHost,
		"start it, or: signalbox host expel {host}"},
	{HostNotUpToDate, Warning, Hosts, "a host cannot make sure that it is up to date", ofHost,
		"look at its log, its load and its network"},
	{HostNotJoined, Warning, Hosts, "a host was started and has not joined its cluster since", ofHost,
		"its log and its page /health/ready say why; if its data directory is not the one that it ran on last, start " +
			"one with an empty directory: signalbox serve --join HOST:PORT --name NAME --replace {host}"},
	{HostNotOnline, Warning, Hosts, "a host is to be online, and has not been for minutes", ofHost,
		"signalbox cluster why says what it waits for"},
	{UpgradeNotFinalized, Warning, Hosts, "hosts keep the feature level from rising", "the feature level",
		"upgrade the hosts that cannot follow, and start those that are away"},
	{MixedVersions, Warning, Hosts, "hosts run different versions", "the versions of the hosts",
		"finish the upgrade, one host after the other"},
	{ClockSkew, Warning, Hosts, "the clocks of hosts differ by seconds", "the clocks of the hosts",
		"no lease depends on it, but times in logs and the ends of certificates do: let the machines keep their " +
			"clocks by NTP"},
	{HostLagging, Warning, Machines, "a host is far behind in the log of a shard", ofHost,
		"its disk, or its network, is too slow for what is written"},
	{HostStalled, Warning, Machines,
		"a host stood still within the last ten minutes, for longer than it could vouch for " +
			"its clients", ofHost, "the machine is overloaded or was paused: give it more processor or memory"},
	{DiskLow, Warning, Machines, "the disk of a host has less than twice the room below which changes are refused",
		ofHost, "make room on the disk, never in the data directory itself"},
	{MemoryLow, Warning, Machines, "the memory of a host is used to more than seven eighths of the mark above which " +
		"changes are refused", ofHost, "delete what is not needed, or give the host more memory"},
	{DiskSlow, Warning, Machines, "one batch of changes in a hundred takes long to be made durable", ofHost,
		"use a local SSD that others do not use as well; signalbox check --disk DIR measures one"},
	{FileDescriptorsLow, Warning, Machines, "a host has opened most of the files that it may open, or may open few",
		ofHost, "every client needs one: raise the limit with ulimit -n, or LimitNOFILE= in a unit of systemd"},
	{ConnectionsRejected, Warning, Machines, "a host refused or lost connections within the last ten minutes", ofHost,
		"there are more clients than --max-connections, or the limit of open files, allows"},
	{SlowWatchers, Warning, Machines, "watches do not read as fast as things change", ofHost,
		"they get what happened in larger pieces: look at what those clients do"},
	{CertificateExpiring, Warning, Machines, "a certificate ends within 14 days", ofHost, newCertificate},
	{QuotaNearlyUsed, Warning, Machines, "more than 80 % of a quota is used", "a quota in shard {shards}",
		"free what is not " +
			"needed, or raise the quota: of a node with signalbox node alter, " +
			"of shards with --shard-quota-objects and " +
			"--shard-quota-bytes"},
	{QuotaSettingsDiffer, Warning, Machines,
		"a host has another quota of objects than the one in force, or less memory for a shard than the quota of " +
			"bytes in force", ofHost,
		"give all hosts the same --shard-quota-objects: that of the host that leads a shard counts. The quota of " +
			"bytes " +
			"falls to the least of the hosts with a replica"},
	{BackupOverdue, Warning, Machines,
		"the last backup is older than two days; a cluster that never saved one is not " +
			"spoken of", "the backups", "look at what saves them: at its log, and whether its token is still good"},
	{RolloutHalted, Warning, Rollouts, "a rollout halted and waits for an operator", ofRollout,
		rolloutDo + "signalbox rollout resume {node} {name} lets it go on"},
	{RolloutBlocked, Warning, Rollouts, "a rollout waits for what neither time nor its instances can bring", ofRollout,
		rolloutDo + "signalbox rollout gate {node} {name} --location LOCATION --gate GATE --pass VERSION answers a " +
			"gate"},
	{RolloutDeadlineExceeded, Warning, Rollouts, "a location has not reached its target within the progress deadline",
		ofRollout, rolloutDo + "signalbox rollout instances {node} {name} how they get on"},
	{ProcessMemberOverdue, Warning, Processes,
		"members have kept a round waiting for longer than the reply timeout, or a minute", ofProcess,
		processDo + "signalbox process evict {node} {name} MEMBER puts one out"},
	{ProcessCoordinatorStalled, Warning, Processes,
		"the coordinator of a round has stood still for over a minute: it neither " +
			"completes the round nor waits for replies", ofProcess,
		processDo + "signalbox process evict {node} {name} MEMBER puts it out"},
	{ProcessBlocked, Warning, Processes, "a process has had members and no round for over a minute", ofProcess,
		"members have to join, or one that may coordinate; signalbox process why {node} {name} says how many there " +
			"are"},
	{LongWait, Warning, Locks, "somebody has waited for a semaphore for longer than the node allows; " +
		"signalbox node alter --long-wait-threshold sets that", "semaphore {name} in {node}",
		"signalbox who {name} says who owns it and who waits"},

	{SingleHost, Info, Hosts, "there is one host", "the cluster", grow},
	{HostDrained, Info, Hosts, "a host is drained", ofHost, "signalbox host undrain {host}"},
	{HostCordoned, Info, Hosts, "a host is cordoned: it gets no more replicas, votes and leaderships", ofHost,
		"signalbox host uncordon {host}"},
	{HostExpelling, Info, Hosts, "a host is being expelled", ofHost, "signalbox cluster why says what it waits for"},
	{NoDomainTolerance, Info, Shards, "when all hosts of one failure domain fail, changes are refused", ofShards,
		"spread the hosts over three or more values of each key, and say so: signalbox host alter HOST " +
			"--failure-domain " +
			"KEY=VALUE"},
	{RolloutPaused, Info, Rollouts, "an operator paused a rollout", ofRollout,
		"signalbox rollout resume {node} {name} lets it go on"},
}

const (
	replacement = "start it again; if its machine or its disk is lost, start one with an empty data directory: " +
		"signalbox serve --join HOST:PORT --name NAME --replace {host}"
	grow           = "add hosts until there are three: signalbox host join-token create says how"
	newCertificate = "put a new one in the place of the old one: the host reads it again when the file changes"
)

// place returns the position of the kind in Kinds. Unknown kinds come after all known kinds.
func (k Kind) place() int {
	if i := slices.IndexFunc(Kinds, func(r Row) bool { return r.Kind == k }); i >= 0 {
		return i
	}
	return len(Kinds)
}

// Row returns the row of the kind. A host of a later version may report an unknown kind: for such a kind
// Row returns a warning without texts and without a group.
func (k Kind) Row() Row {
	if i := k.place(); i < len(Kinds) {
		return Kinds[i]
	}
	return Row{Kind: k, Severity: Warning}
}

// Groups returns the groups in the order of display.
func Groups() []Group { return []Group{Shards, Hosts, Machines, Rollouts, Processes, Locks} }
