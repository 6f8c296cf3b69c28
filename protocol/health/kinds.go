package health

import (
	"slices"
	"strconv"
)

// Kind identifies a kind of health issue for programs. A host with a later version may report kinds unknown to this
// version.
type Kind string

// The kinds, as constants for code. The table Kinds has the texts for every kind.
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
	HostSlow        Kind = "host-slow"

	HostNotReady        Kind = "host-not-ready"
	HostLagging         Kind = "host-lagging"
	HostStalled         Kind = "host-stalled"
	DiskFull            Kind = "disk-full"
	DiskLow             Kind = "disk-low"
	DiskSlow            Kind = "disk-slow"
	DataInMemory        Kind = "data-in-memory"
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

// Group is the kind of object that is unhealthy.
type Group string

// The groups, in display order.
const (
	Shards    Group = "shards"
	Hosts     Group = "hosts"
	Machines  Group = "machines"
	Rollouts  Group = "rollouts"
	Processes Group = "rounds"
	Locks     Group = "locks"
)

// Row describes a kind. Subject and Do may contain {node}, {name}, {host} and {shards}; New replaces these placeholders
// by the parts in About.
type Row struct {
	Kind     Kind
	Severity Severity
	Group    Group
	Means    string // when a host reports the kind
	Subject  string
	Do       string // the remedy, with a fitting command if there is one
}

const (
	ofShards  = "shards {shards}"
	ofHost    = "host {host}"
	ofRollout = "rollout {name} in {node}"
	ofProcess = "process {name} in {node}"
	rolloutDo = "signalbox rollout why {node} {name} shows the reason; "
	processDo = "signalbox process why {node} {name} names them; "
)

// DefaultLongWaitMinutes is the long-wait threshold for a node without a threshold in its config.
const DefaultLongWaitMinutes = 10

// Kinds is the table with all kinds. Rows are sorted by severity, worst first; within a severity the row order is the
// display order.
var Kinds = []Row{
	{NoQuorum, Critical, Shards, "a shard has lost its quorum: it refuses changes", ofShards,
		"start the missing hosts with their own data directories; if a majority is permanently lost: " +
			"signalbox shard recover, or for the meta shard signalbox cluster recover"},
	{NoLeader, Critical, Shards, "no leader of a shard is known: it refuses changes", ofShards,
		"wait for an election; if it fails, check the host logs and the network between hosts"},
	{DiskFull, Critical, Machines, "a host refuses changes: its disk, or a majority of disks, is nearly full",
		ofHost, "free disk space, but never in the data directory itself"},
	{MemoryFull, Critical, Machines,
		"a host refuses changes that need memory: its own or another replica's memory is nearly full",
		ofHost, "delete unused objects, or give the host more memory"},
	{HostNotReady, Critical, Machines, "a host started a while ago and is not ready", ofHost,
		"read its log and its page /health/ready?verbose"},
	{CertificateExpired, Critical, Machines, "a certificate has expired, or is not valid yet", ofHost, newCertificate},
	{StaleGeneration, Critical, Hosts, "a host serves the cluster from before a restore or a recovery",
		ofHost, "stop the host for good: its clients work in an outdated cluster"},

	{UnderReplicated, Warning, Shards, "a shard has fewer voters than configured", ofShards,
		"signalbox cluster why shows what the next step waits for"},
	{NoFailureTolerance, Warning, Shards, "a shard cannot tolerate the failure of another voter", ofShards,
		"restart the missing hosts, or replace them"},
	{LearnerDown, Warning, Shards, "a learner's host is unreachable: the shard has one replica less", ofShards,
		"restart {host}, or: signalbox host expel {host}"},
	{ReplicaMissing, Warning, Shards, "an online host has lacked its replica of a shard for minutes", ofShards,
		"signalbox cluster why shows what the next step waits for"},
	{ReplicaLagging, Warning, Shards, "a replica has been behind its leader for over a minute", ofShards,
		"the disk or the network of {host} is too slow for the write rate"},
	{ShardRebuilding, Warning, Shards, "a rebuilt shard grants nothing yet", ofShards,
		"wait: earlier owners need this time to notice that they have lost their units"},
	{TwoHosts, Warning, Hosts, "the cluster has two hosts: it refuses changes if the voter fails", "the cluster",
		grow},
	{HostUnreachable, Warning, Hosts, "a host that should be online is unreachable", ofHost, replacement},
	{HostFailed, Warning, Hosts, "a host was unreachable for so long that it counts as failed", ofHost, replacement},
	{HostStopped, Warning, Hosts, "a host was stopped and is expected to return", ofHost,
		"start the host; if it will not return: signalbox host expel {host}"},
	{HostNotStarted, Warning, Hosts, "a host has joined and was never started", ofHost,
		"start the host, or: signalbox host expel {host}"},
	{HostNotUpToDate, Warning, Hosts, "a host cannot confirm that it is up to date", ofHost,
		"check its log, its load and its network"},
	{HostNotJoined, Warning, Hosts, "a host was started and has not rejoined its cluster", ofHost,
		"read its log and its page /health/ready; if its latest data directory is lost, start a host with an empty " +
			"directory: signalbox serve --join HOST:PORT --name NAME --replace {host}"},
	{HostNotOnline, Warning, Hosts, "a host should be online, and has not been for minutes", ofHost,
		"signalbox cluster why shows what the host waits for"},
	{HostSlow, Warning, Hosts, "a host is many times slower than others and leads no shards until it recovers",
		ofHost, "check the disk, the processor and the network of {host}; signalbox host show {host} has the figures"},
	{UpgradeNotFinalized, Warning, Hosts, "hosts keep the feature level from rising", "the feature level",
		"upgrade the hosts with an older version, and start the stopped ones"},
	{MixedVersions, Warning, Hosts, "hosts run different versions", "the versions of the hosts",
		"finish the rolling upgrade, one host after the other"},
	{ClockSkew, Warning, Hosts, "hosts' wall clocks differ by seconds", "the clocks of the hosts",
		"synchronize the clocks by NTP: leases do not depend on them, but log timestamps and certificates do"},
	{HostLagging, Warning, Machines, "a host is far behind in the log of a shard", ofHost,
		"its disk or its network is too slow for the write rate"},
	{HostStalled, Warning, Machines,
		"within the last ten minutes, a host stalled for longer than its leases allow", ofHost,
		"the machine is overloaded or was suspended: give it more processor time or memory"},
	{DiskLow, Warning, Machines, "a host's free disk space is less than twice the minimum for changes",
		ofHost, "free disk space, but never in the data directory itself"},
	{MemoryLow, Warning, Machines, "a host uses more than seven eighths of the memory above which it refuses changes",
		ofHost, "delete unused objects, or give the host more memory"},
	{DiskSlow, Warning, Machines, "one batch of changes in a hundred takes long to commit", ofHost,
		"use a dedicated local SSD; signalbox check --disk DIR measures a disk"},
	{DataInMemory, Warning, Machines, "a host's data directory is in memory: a reboot loses it",
		ofHost, "use a data directory on a disk: signalbox host expel {host}, then let the host join with a new " +
			"directory there"},
	{FileDescriptorsLow, Warning, Machines, "a host uses most of its file descriptors, or may open only few",
		ofHost, "raise the limit with ulimit -n, or with LimitNOFILE= in a systemd unit: each client needs one"},
	{ConnectionsRejected, Warning, Machines, "a host refused or lost connections within the last ten minutes", ofHost,
		"raise --max-connections or the limit of open files, or use fewer clients"},
	{SlowWatchers, Warning, Machines, "watch clients read slower than objects change", ofHost,
		"check what these clients do; they get several changes in one message"},
	{CertificateExpiring, Warning, Machines, "a certificate expires within 14 days", ofHost, newCertificate},
	{QuotaNearlyUsed, Warning, Machines, "more than 80 % of a quota is used", "a quota in shard {shards}",
		"delete unused objects, or raise the quota: for a node with signalbox node alter, for shards with " +
			"--shard-quota-objects and --shard-quota-bytes"},
	{QuotaSettingsDiffer, Warning, Machines,
		"a host has another object quota, or too little memory for the byte quota in force",
		ofHost,
		"set the same --shard-quota-objects on all hosts: the shard leader's setting counts. The byte quota falls " +
			"to the smallest of all hosts with a replica"},
	{BackupOverdue, Warning, Machines, "the last backup is older than two days (not before the first)",
		"the backups", "check the backup job: its log, and whether its token is valid"},
	{RolloutHalted, Warning, Rollouts, "a rollout halted and waits for an operator", ofRollout,
		rolloutDo + "signalbox rollout resume {node} {name} continues it"},
	{RolloutBlocked, Warning, Rollouts, "neither time nor the present instances can help a rollout",
		ofRollout, rolloutDo + "the remedy depends on the reason: start instances or a source, answer a gate, " +
			"publish another version, or bypass the location"},
	{RolloutDeadlineExceeded, Warning, Rollouts, "a location missed the progress deadline for its target version",
		ofRollout, rolloutDo + "signalbox rollout instances {node} {name} shows the progress of each instance"},
	{ProcessMemberOverdue, Warning, Processes,
		"members have delayed a round for longer than the reply timeout, or a minute", ofProcess,
		processDo + "signalbox process evict {node} {name} MEMBER removes one"},
	{ProcessCoordinatorStalled, Warning, Processes,
		"for over a minute, a coordinator has neither completed its round nor waited for replies", ofProcess,
		processDo + "signalbox process evict {node} {name} MEMBER removes it"},
	{ProcessBlocked, Warning, Processes, "a process has had members and no round for over a minute", ofProcess,
		"start more members, or one that may coordinate; signalbox process why {node} {name} shows how many there are"},
	{LongWait, Warning, Locks, "a caller has waited for a semaphore for longer than the node's long-wait threshold " +
		"(signalbox node alter --long-wait-threshold). If no threshold is set, it is " +
		strconv.Itoa(DefaultLongWaitMinutes) + " minutes and the severity is info",
		"semaphore {name} in {node}", "signalbox who {name} shows the owners and the waiters"},

	{SingleHost, Info, Hosts, "the cluster has one host", "the cluster", grow},
	{HostDrained, Info, Hosts, "a host is drained", ofHost, "signalbox host undrain {host}"},
	{HostCordoned, Info, Hosts, "a host is cordoned: no more replicas, votes, leaderships", ofHost,
		"signalbox host uncordon {host}"},
	{HostExpelling, Info, Hosts, "a host is being expelled", ofHost,
		"signalbox cluster why shows what the expulsion waits for"},
	{NoDomainTolerance, Info, Shards, "a shard cannot tolerate the failure of a whole failure domain", ofShards,
		"spread the hosts over three or more failure domains: signalbox host alter HOST --failure-domain KEY=VALUE"},
	{RolloutPaused, Info, Rollouts, "an operator paused a rollout", ofRollout,
		"signalbox rollout resume {node} {name} continues it"},
}

const (
	replacement = "start the host again; if its machine or its disk is lost, start one with an empty data directory: " +
		"signalbox serve --join HOST:PORT --name NAME --replace {host}"
	grow           = "add hosts until there are three; signalbox host join-token create shows the command"
	newCertificate = "replace the certificate file: the host reloads it when it changes"
)

// place returns the kind's position in Kinds. Unknown kinds come after all known kinds.
func (k Kind) place() int {
	if i := slices.IndexFunc(Kinds, func(r Row) bool { return r.Kind == k }); i >= 0 {
		return i
	}
	return len(Kinds)
}

// Row returns the kind's row. A host with a later version may report an unknown kind: for such a kind Row returns a
// warning without texts and without a group.
func (k Kind) Row() Row {
	if i := k.place(); i < len(Kinds) {
		return Kinds[i]
	}
	return Row{Kind: k, Severity: Warning}
}

// Groups returns the groups in display order.
func Groups() []Group { return []Group{Shards, Hosts, Machines, Rollouts, Processes, Locks} }
