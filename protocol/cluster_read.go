package protocol

import (
	"github.com/signalbox/signalbox/protocol/host"
)

// Operators' queries about a cluster's hosts, the governor and the audit log. Ages are in milliseconds, by the
// answering host's clock.

// ClusterDescribe asks for everything known about a cluster's hosts, replicas and governor. With STRICT, and if
// Consistency is 0, the meta shard's leader answers, and all other hosts answer MOVED. With RELAXED every host answers
// from its memory, even without a majority.
type ClusterDescribe struct {
	Consistency Consistency
}

// ClusterDescribeAnswer answers a ClusterDescribe.
type ClusterDescribeAnswer struct {
	ClusterID  []byte `wire:"text MaxClusterIDBytes"`
	Generation Generation
	// GovernorHostID is the meta shard's leader, 0 for none.
	GovernorHostID uint64
	// Observed is set if the answering host governs, and has heard from all other hosts. Otherwise all observations are
	// missing.
	Observed bool
	Hosts    []host.Host  `wire:"most MaxPageItems"`
	Shards   []host.Shard `wire:"most MaxPageItems"`
	Policy   host.Policy
	// HealthIssues are the cluster's health issues, worst first.
	HealthIssues HealthIssues
	// LastAudit is the newest audit entry's id.
	LastAudit uint64
}

// ClusterPlan asks the governing host for the coming steps, until nothing is left to do. Nothing is changed.
type ClusterPlan struct{}

// ClusterPlanAnswer answers a ClusterPlan.
type ClusterPlanAnswer struct {
	Steps []host.Step `wire:"most MaxPageItems"`
	// Reasons explain why no step follows the last step; without any reason the cluster is healthy.
	Reasons []host.Reason `wire:"most MaxPageItems"`
	// Truncated is set if the plan continues after the last step in Steps.
	Truncated bool
}

// ClusterWhy asks the governing host for the open steps, and why the governor waits.
type ClusterWhy struct{}

// ClusterWhyAnswer answers a ClusterWhy.
type ClusterWhyAnswer struct {
	Steps []host.Step `wire:"most MaxPageItems"`
	// Reasons explain why no other step is open; without any reason the cluster is healthy.
	Reasons []host.Reason `wire:"most MaxPageItems"`
}

// SlotList asks for a page with the owner of each slot, and with the unfinished moves, ordered by operators or begun by
// rebalancing. The leader of the meta shard answers, and all other hosts answer MOVED.
type SlotList struct {
	// ShardID restricts the answer to one shard's slots, and to moves from or to the shard; 0 asks for all shards.
	ShardID uint64
	// From is the page's first slot.
	From uint64
}

// SlotListAnswer answers a SlotList.
type SlotListAnswer struct {
	// Version is the routing version.
	Version uint64
	// Ranges are the page's slots, in ascending order.
	Ranges SlotRanges
	// Moves are the unfinished moves of the page's slots, by slot.
	Moves []host.SlotMove `wire:"most host.MaxSlotMoves"`
	// Next is the next page's first slot; 0 on the last page.
	Next uint64
}

// RebalanceDescribe asks how the slots follow the shards' weights. The leader of the meta shard answers, and all other
// hosts answer MOVED.
type RebalanceDescribe struct{}

// RebalanceDescribeAnswer answers a RebalanceDescribe.
type RebalanceDescribeAnswer struct {
	// Shards are the data shards, by id.
	Shards []host.ShardSlots `wire:"most MaxPageItems"`
	// Planned are the moves that the weights still want, from shard to shard, in the governor's order.
	Planned []host.PlannedMoves `wire:"most MaxPageItems"`
	// Paused is set if no further move begins by the weights, NoPacing if the moves ignore pacing.
	Paused   bool
	NoPacing bool
	// Author and Reason belong to the last order, AgeMillis is its age.
	Author    []byte `wire:"text MaxOperatorTextBytes"`
	Reason    []byte `wire:"text MaxOperatorTextBytes"`
	AgeMillis uint64
}

// AuditRead asks for an audit log page.
type AuditRead struct {
	// From is the id of the page's first entry; 0 asks for the newest entries.
	From uint64
	// Limit is the maximum number of entries on the page; 0 lets the host choose.
	Limit uint64
}

// AuditReadAnswer answers an AuditRead.
type AuditReadAnswer struct {
	Entries []host.Entry `wire:"most MaxPageItems"` // by id
	// Next is the start of the next page; 0 on the last page.
	Next uint64
	// Oldest and Newest are the ids of the oldest and the newest kept entry; 0 if there are none.
	Oldest uint64
	Newest uint64
}

// Records in a ClusterDescribeAnswer.

// Generation distinguishes a cluster from the cluster before a recovery. Before the first recovery both fields are
// zero.
type Generation struct {
	Number uint64
	Nonce  []byte `wire:"bytes MaxIncarnationBytes"` // 16 random bytes
}
