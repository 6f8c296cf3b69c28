package protocol

// Messages from a host about itself to the meta shard's leader. A host that does not lead the meta shard answers MOVED,
// with the leader if known, and does nothing else.

// HostBoot reports that a host's process has started.
type HostBoot struct {
	HostID      uint64
	Incarnation []byte `wire:"bytes MaxIncarnationBytes"` // of its data directory
	// StartNumber grows by one with each start on the directory. StartNonce is random, one per process.
	StartNumber uint64
	StartNonce  uint64
	// RaftAddress, ClientAddress and AdminAddress are the host's addresses. The last may be empty.
	RaftAddress   []byte `wire:"text MaxAddressBytes"`
	ClientAddress []byte `wire:"text MaxAddressBytes"`
	AdminAddress  []byte `wire:"text MaxAddressBytes"`
	Version       []byte `wire:"text MaxVersionBytes"` // program version
	Level         uint64 // the highest feature level the host supports
	// Domain is the host's failure domain, as KEY=VALUE,KEY=VALUE. It counts only if the host has no domain on record.
	Domain []byte `wire:"text MaxDomainBytes"`
}

// HostBootAnswer answers a HostBoot that is on record.
type HostBootAnswer struct{}

// HostNotify reports another event on a host.
type HostNotify struct {
	Event       HostEvent
	HostID      uint64
	Incarnation []byte `wire:"bytes MaxIncarnationBytes"`
	StartNumber uint64
	StartNonce  uint64
	// Epoch is the target's epoch, as known to a returning host.
	Epoch uint64
	// RaftAddress, ClientAddress and AdminAddress are a host's new addresses, for HostAddressChanged.
	RaftAddress   []byte `wire:"text MaxAddressBytes"`
	ClientAddress []byte `wire:"text MaxAddressBytes"`
	AdminAddress  []byte `wire:"text MaxAddressBytes"`
	// ShardID and Bytes describe a backup: the shard, and how many state bytes the client has received.
	ShardID uint64
	Bytes   uint64
	// Asked is the client request the host serves or has served.
	Asked ClientRequest
	// Commands are meta shard commands, in log encoding, for the leader to propose.
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

// HostEvent is the event a HostNotify reports.
type HostEvent uint8

const (
	// HostStopping: the host's process is about to stop.
	HostStopping HostEvent = 1
	// HostReturned: the host is wrongly considered failed.
	HostReturned HostEvent = 2
	// HostAddressChanged: the host has new addresses.
	HostAddressChanged HostEvent = 3
	// HostBackupStarted: a client has started a shard backup on the host.
	HostBackupStarted HostEvent = 4
	// HostBackupSaved: the client from HostBackupStarted has received the whole shard state.
	HostBackupSaved HostEvent = 5
	// HostBackupFailed: the backup from HostBackupStarted failed before its end.
	HostBackupFailed HostEvent = 6
	// HostAuditNote: the host carried out a client's change with a reason for the audit log.
	HostAuditNote HostEvent = 7
	// HostUpkeep: the host registers, confirms a meta shard change, or sends a report for a data shard it leads.
	HostUpkeep HostEvent = 8
	// HostBackupContinues: the client from HostBackupStarted still reads the shard state.
	HostBackupContinues HostEvent = 9
)

// String returns the event as the docs write it, or the number if unknown.
func (h HostEvent) String() string {
	return nameOf(h, "HOST_EVENT", "HOST_EVENT_0", "STOPPING", "RETURNED", "ADDRESS_CHANGED", "BACKUP_STARTED",
		"BACKUP_SAVED", "BACKUP_FAILED", "AUDIT_NOTE", "UPKEEP", "BACKUP_CONTINUES")
}
