package protocol

// The messages of a host about itself to the leader of the meta shard. A host that does not lead the meta shard answers
// MOVED, with the leader if known, and does nothing else.

// HostBoot says that the process of a host has started.
type HostBoot struct {
	HostID      uint64
	Incarnation []byte `wire:"bytes MaxIncarnationBytes"` // of its data directory
	// StartNumber grows by one with each start on the directory. StartNonce is random, one for each process.
	StartNumber uint64
	StartNonce  uint64
	// RaftAddress, ClientAddress and AdminAddress are the addresses of the host. The last may be empty.
	RaftAddress   []byte `wire:"text MaxAddressBytes"`
	ClientAddress []byte `wire:"text MaxAddressBytes"`
	AdminAddress  []byte `wire:"text MaxAddressBytes"`
	Version       []byte `wire:"text MaxVersionBytes"` // of the host's program
	Level         uint64 // the highest feature level that the host can follow
	// Domain is the host's failure domain, as KEY=VALUE,KEY=VALUE. The domain counts only for a host without a domain
	// on record.
	Domain []byte `wire:"text MaxDomainBytes"`
}

// HostBootAnswer answers a HostBoot that is on record.
type HostBootAnswer struct{}

// HostNotify reports something else about a host.
type HostNotify struct {
	Event       HostEvent
	HostID      uint64
	Incarnation []byte `wire:"bytes MaxIncarnationBytes"`
	StartNumber uint64
	StartNonce  uint64
	// Epoch is the epoch of the target that a returning host has found.
	Epoch uint64
	// RaftAddress, ClientAddress and AdminAddress are the new addresses of a renamed host.
	RaftAddress   []byte `wire:"text MaxAddressBytes"`
	ClientAddress []byte `wire:"text MaxAddressBytes"`
	AdminAddress  []byte `wire:"text MaxAddressBytes"`
	// ShardID and Bytes describe a backup: the shard, and how many bytes of its state the client has received.
	ShardID uint64
	Bytes   uint64
	// Asked is the client request that the host serves or has served.
	Asked ClientRequest
	// Commands are commands of the meta shard, in the form of its log, for the leader to propose.
	Commands []byte `wire:"bytes MaxReportBytes"`
}

// ClientRequest describes a client request in the audit log.
type ClientRequest struct {
	Author []byte `wire:"text MaxOperatorTextBytes"`
	// Operation is the requested operation and Reason its reason. Both are empty for a backup.
	Operation []byte `wire:"text MaxOperatorTextBytes"`
	Reason    []byte `wire:"text MaxOperatorTextBytes"`
}

// HostNotifyAnswer answers a HostNotify that is on record.
type HostNotifyAnswer struct{}

// HostEvent says what a HostNotify is about.
type HostEvent uint8

const (
	// HostStopping: the process of the host is about to stop.
	HostStopping HostEvent = 1
	// HostReturned: the host counts as failed, and is not.
	HostReturned HostEvent = 2
	// HostAddressChanged: the host has new addresses.
	HostAddressChanged HostEvent = 3
	// HostBackupStarted: a client has started a backup of a shard on the host.
	HostBackupStarted HostEvent = 4
	// HostBackupSaved: the client of HostBackupStarted has received the whole shard state.
	HostBackupSaved HostEvent = 5
	// HostBackupFailed: the backup of HostBackupStarted failed before its end.
	HostBackupFailed HostEvent = 6
	// HostAuditNote: the host carried out a client's change that has a reason for the audit log.
	HostAuditNote HostEvent = 7
	// HostUpkeep: the host registers, confirms a change of the meta shard, or sends a report for a data shard that it
	// leads.
	HostUpkeep HostEvent = 8
)

// String returns the event as the docs write it, or the number of an unknown event.
func (h HostEvent) String() string {
	return nameOf(h, "HOST_EVENT", "HOST_EVENT_0", "STOPPING", "RETURNED", "ADDRESS_CHANGED", "BACKUP_STARTED",
		"BACKUP_SAVED", "BACKUP_FAILED", "AUDIT_NOTE", "UPKEEP")
}
