package protocol

import "github.com/signalbox/signalbox/protocol/host"

// The questions of operators about the hosts of a cluster, the governor and the history. Ages are in milliseconds, by
// the clock of the answering host.

// ClusterDescribe asks for everything known of the hosts, the replicas and the governor of a cluster. With STRICT, and
// where Consistency is 0, the leader of the meta shard answers, and all other hosts answer MOVED. With RELAXED every
// host answers from its memory, even without a majority.
type ClusterDescribe struct {
	Consistency Consistency
}

func (m *ClusterDescribe) requestFields(c *codec) { enum(c, "consistency", &m.Consistency) }

// ClusterDescribeAnswer answers a ClusterDescribe.
type ClusterDescribeAnswer struct {
	ClusterID  []byte
	Generation Generation
	// GovernorHostID is the host that leads the meta shard, 0 for none.
	GovernorHostID uint64
	// Observed: the answering host governs, and has heard from all other hosts. Otherwise all observations are missing.
	Observed bool
	Hosts    []host.Host
	Shards   []host.Shard
	Policy   host.Policy
	// Concerns are the troubles of the cluster, the worst first.
	Concerns ClusterConcerns
	// LastAudit is the number of the newest change in the history.
	LastAudit uint64
}

func (m *ClusterDescribeAnswer) answerFields(c *codec) {
	c.text("cluster_id", &m.ClusterID, MaxClusterIDBytes)
	c.record("generation", m.Generation.fields)
	c.uint("governor_host_id", &m.GovernorHostID)
	c.bool("observed", &m.Observed)
	values(c, "hosts", &m.Hosts, MaxPageItems, (*host.Host).Fields)
	values(c, "shards", &m.Shards, MaxPageItems, (*host.Shard).Fields)
	c.value("policy", &m.Policy)
	m.Concerns.list(c, "concerns")
	c.uint("last_audit", &m.LastAudit)
}

// ClusterPlan asks the governing host for the coming steps, step after step until nothing is left to do. Nothing is
// changed.
type ClusterPlan struct{}

func (*ClusterPlan) requestFields(*codec) {}

// ClusterPlanAnswer answers a ClusterPlan.
type ClusterPlanAnswer struct {
	Steps []host.Step
	// Reasons say why no step follows the last step; without any reason the cluster is as it should be.
	Reasons []host.Reason
	// Cut: the plan goes on behind the last of Steps.
	Cut bool
}

func (m *ClusterPlanAnswer) answerFields(c *codec) {
	values(c, "steps", &m.Steps, MaxPageItems, (*host.Step).Fields)
	values(c, "reasons", &m.Reasons, MaxPageItems, (*host.Reason).Fields)
	c.bool("cut", &m.Cut)
}

// ClusterWhy asks the governing host for the open steps, and why the governor waits.
type ClusterWhy struct{}

func (*ClusterWhy) requestFields(*codec) {}

// ClusterWhyAnswer answers a ClusterWhy.
type ClusterWhyAnswer struct {
	Steps []host.Step
	// Reasons say why no other step is open; without any reason the cluster is as it should be.
	Reasons []host.Reason
}

func (m *ClusterWhyAnswer) answerFields(c *codec) {
	values(c, "steps", &m.Steps, MaxPageItems, (*host.Step).Fields)
	values(c, "reasons", &m.Reasons, MaxPageItems, (*host.Reason).Fields)
}

// AuditRead asks for a page of the history of changes.
type AuditRead struct {
	// From is the number of the first change of the page; 0 asks for the newest changes.
	From uint64
	// Limit is the most changes that the page may have; 0 leaves the choice to the host.
	Limit uint64
}

func (m *AuditRead) requestFields(c *codec) {
	c.uint("from", &m.From)
	c.uint("limit", &m.Limit)
}

// AuditReadAnswer answers an AuditRead.
type AuditReadAnswer struct {
	Entries []host.Entry // by number
	// Next is the start of the next page; 0 on the last page.
	Next uint64
	// Oldest and Newest are the numbers of the oldest and the newest kept change; 0 without any change.
	Oldest uint64
	Newest uint64
}

func (m *AuditReadAnswer) answerFields(c *codec) {
	values(c, "entries", &m.Entries, MaxPageItems, (*host.Entry).Fields)
	c.uint("next", &m.Next)
	c.uint("oldest", &m.Oldest)
	c.uint("newest", &m.Newest)
}
