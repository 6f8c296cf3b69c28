package protocol

import "github.com/signalbox/signalbox/protocol/host"

// What operators ask about the hosts of a cluster, its governor and its history. Ages are in milliseconds, by the host
// that answers.

// ClusterDescribe asks for all that is known of the hosts, the replicas and the governor of a cluster. With STRICT, and
// where Consistency is 0, the leader of the meta shard answers, and all others MOVED. With RELAXED every host answers
// from its memory: also where no majority is left.
type ClusterDescribe struct {
	Consistency Consistency
}

// Kind returns KindClusterDescribe.
func (*ClusterDescribe) Kind() Kind { return KindClusterDescribe }

func (m *ClusterDescribe) requestFields(c *codec) { enum(c, "consistency", &m.Consistency) }

// ClusterDescribeAnswer answers a ClusterDescribe.
type ClusterDescribeAnswer struct {
	ClusterID  []byte
	Generation Generation
	// GovernorHostID is the host that leads the meta shard, 0 for none.
	GovernorHostID uint64
	// Observed: the host that answers governs, and has heard from all others. Otherwise all that is observed is
	// missing.
	Observed bool
	Hosts    []host.Host
	Shards   []host.Shard
	Policy   host.Policy
	// Concerns is what is not as it should be, the worst first.
	Concerns ClusterConcerns
	// LastAudit is the number of the newest change in the history.
	LastAudit uint64
}

// Kind returns the kind of the answer to a ClusterDescribe.
func (*ClusterDescribeAnswer) Kind() Kind { return KindClusterDescribe.Answer() }

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

// ClusterPlan asks the host that governs what would be done next, one step after the other until nothing is left to do.
// Nothing is changed.
type ClusterPlan struct{}

// Kind returns KindClusterPlan.
func (*ClusterPlan) Kind() Kind { return KindClusterPlan }

func (*ClusterPlan) requestFields(*codec) {}

// ClusterPlanAnswer answers a ClusterPlan.
type ClusterPlanAnswer struct {
	Steps []host.Step
	// Reasons say why nothing is done after the last step; without any all is as it should be.
	Reasons []host.Reason
	// Cut: there are more steps.
	Cut bool
}

// Kind returns the kind of the answer to a ClusterPlan.
func (*ClusterPlanAnswer) Kind() Kind { return KindClusterPlan.Answer() }

func (m *ClusterPlanAnswer) answerFields(c *codec) {
	values(c, "steps", &m.Steps, MaxPageItems, (*host.Step).Fields)
	values(c, "reasons", &m.Reasons, MaxPageItems, (*host.Reason).Fields)
	c.bool("cut", &m.Cut)
}

// ClusterWhy asks the host that governs which steps are open, and what it waits for.
type ClusterWhy struct{}

// Kind returns KindClusterWhy.
func (*ClusterWhy) Kind() Kind { return KindClusterWhy }

func (*ClusterWhy) requestFields(*codec) {}

// ClusterWhyAnswer answers a ClusterWhy.
type ClusterWhyAnswer struct {
	Steps []host.Step
	// Reasons say why nothing else is done; without any all is as it should be.
	Reasons []host.Reason
}

// Kind returns the kind of the answer to a ClusterWhy.
func (*ClusterWhyAnswer) Kind() Kind { return KindClusterWhy.Answer() }

func (m *ClusterWhyAnswer) answerFields(c *codec) {
	values(c, "steps", &m.Steps, MaxPageItems, (*host.Step).Fields)
	values(c, "reasons", &m.Reasons, MaxPageItems, (*host.Reason).Fields)
}

// AuditRead asks for a page of the history of changes.
type AuditRead struct {
	// From is the number of the first change of the page; 0 asks for the newest ones.
	From uint64
	// Limit is the most changes that the page may have; 0 leaves it to the host.
	Limit uint64
}

// Kind returns KindAuditRead.
func (*AuditRead) Kind() Kind { return KindAuditRead }

func (m *AuditRead) requestFields(c *codec) {
	c.uint("from", &m.From)
	c.uint("limit", &m.Limit)
}

// AuditReadAnswer answers an AuditRead.
type AuditReadAnswer struct {
	Entries []host.Entry // by number
	// Next is where the next page begins; 0 where this is the last one.
	Next uint64
	// Oldest and Newest are the numbers of the changes that are kept; 0 where there are none.
	Oldest uint64
	Newest uint64
}

// Kind returns the kind of the answer to an AuditRead.
func (*AuditReadAnswer) Kind() Kind { return KindAuditRead.Answer() }

func (m *AuditReadAnswer) answerFields(c *codec) {
	values(c, "entries", &m.Entries, MaxPageItems, (*host.Entry).Fields)
	c.uint("next", &m.Next)
	c.uint("oldest", &m.Oldest)
	c.uint("newest", &m.Newest)
}
