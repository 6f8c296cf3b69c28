package protocol

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
	Hosts    ClusterHosts
	Shards   ClusterShards
	Policy   GovernorPolicy
	// Concerns is what is not as it should be, the worst first.
	Concerns Concerns
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
	m.Hosts.list(c, "hosts")
	m.Shards.list(c, "shards")
	c.record("policy", m.Policy.fields)
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
	Steps ClusterSteps
	// Reasons say why nothing is done after the last step; without any all is as it should be.
	Reasons GovernorReasons
	// Cut: there are more steps.
	Cut bool
}

// Kind returns the kind of the answer to a ClusterPlan.
func (*ClusterPlanAnswer) Kind() Kind { return KindClusterPlan.Answer() }

func (m *ClusterPlanAnswer) answerFields(c *codec) {
	m.Steps.list(c, "steps")
	m.Reasons.list(c, "reasons")
	c.bool("cut", &m.Cut)
}

// ClusterWhy asks the host that governs which steps are open, and what it waits for.
type ClusterWhy struct{}

// Kind returns KindClusterWhy.
func (*ClusterWhy) Kind() Kind { return KindClusterWhy }

func (*ClusterWhy) requestFields(*codec) {}

// ClusterWhyAnswer answers a ClusterWhy.
type ClusterWhyAnswer struct {
	Steps ClusterSteps
	// Reasons say why nothing else is done; without any all is as it should be.
	Reasons GovernorReasons
}

// Kind returns the kind of the answer to a ClusterWhy.
func (*ClusterWhyAnswer) Kind() Kind { return KindClusterWhy.Answer() }

func (m *ClusterWhyAnswer) answerFields(c *codec) {
	m.Steps.list(c, "steps")
	m.Reasons.list(c, "reasons")
}

// ClusterSteps is a list of steps.
type ClusterSteps = List[ClusterStep, *ClusterStep]

// ClusterStep is a step of the governor: one that is open, or one that would be begun.
type ClusterStep struct {
	ID   uint64 // 0 for one that is not open
	Kind []byte // a word, such as promote
	Text []byte // all of it in words
	// Rule is the one that wants it; of an open step it is not kept.
	Rule []byte
	// Subject is what no other step may be about meanwhile.
	Subject []byte
	ShardID uint64
	HostID  uint64 // 0 for none
	// InMillis is after how much waiting it would be begun.
	InMillis uint64
	// Of an open step: for how long it has been, how often it has failed, the error of the last time, and for how
	// long it is not tried again.
	AgeMillis  uint64
	Failures   uint64
	LastError  []byte
	WaitMillis uint64
}

func (s *ClusterStep) item(c *codec) { c.record("", s.fields) }

func (s *ClusterStep) fields(c *codec) {
	c.uint("id", &s.ID)
	c.text("kind", &s.Kind, MaxWordBytes)
	c.text("text", &s.Text, MaxReasonBytes)
	c.text("rule", &s.Rule, MaxWordBytes)
	c.text("subject", &s.Subject, MaxSubjectBytes)
	c.uint("shard_id", &s.ShardID)
	c.uint("host_id", &s.HostID)
	c.uint("in_ms", &s.InMillis)
	c.uint("age_ms", &s.AgeMillis)
	c.uint("failures", &s.Failures)
	c.text("last_error", &s.LastError, MaxOperatorTextBytes)
	c.uint("wait_ms", &s.WaitMillis)
}

// GovernorReasons is a list of reasons.
type GovernorReasons = List[GovernorReason, *GovernorReason]

// GovernorReason is why the governor does not do something.
type GovernorReason struct {
	// Code is for programs, Text for people; Text says all of the rest.
	Code []byte
	Text []byte
	Rule []byte // that says it
	// Subjects are what it is about: shard/3, host/2.
	Subjects Subjects
	// AgeMillis is since when it is so, LeftMillis after how much time it ends by itself; 0 is not known.
	AgeMillis  uint64
	LeftMillis uint64
}

func (r *GovernorReason) item(c *codec) { c.record("", r.fields) }

func (r *GovernorReason) fields(c *codec) {
	c.text("code", &r.Code, MaxWordBytes)
	c.text("text", &r.Text, MaxReasonBytes)
	c.text("rule", &r.Rule, MaxWordBytes)
	r.Subjects.list(c, "subjects")
	c.uint("age_ms", &r.AgeMillis)
	c.uint("left_ms", &r.LeftMillis)
}

// Subjects is a list of what steps are about.
type Subjects = List[Subject, *Subject]

// Subject is what a step is about.
type Subject []byte

func (s *Subject) item(c *codec) { c.text("", (*[]byte)(s), MaxSubjectBytes) }

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
	Entries AuditEntries // by number
	// Next is where the next page begins; 0 where this is the last one.
	Next uint64
	// Oldest and Newest are the numbers of the changes that are kept; 0 where there are none.
	Oldest uint64
	Newest uint64
}

// Kind returns the kind of the answer to an AuditRead.
func (*AuditReadAnswer) Kind() Kind { return KindAuditRead.Answer() }

func (m *AuditReadAnswer) answerFields(c *codec) {
	m.Entries.list(c, "entries")
	c.uint("next", &m.Next)
	c.uint("oldest", &m.Oldest)
	c.uint("newest", &m.Newest)
}

// AuditEntries is a list of changes.
type AuditEntries = List[AuditEntry, *AuditEntry]

// AuditEntry is one change that is in the history.
type AuditEntry struct {
	Number   uint64
	Event    []byte // a word, such as target
	HostID   uint64 // 0 for none
	HostName []byte // as it was then
	Text     []byte
	By       []byte // an operator, a host, or the governor
	Why      []byte
	// WallMillis is the wall clock of the host that proposed the change.
	WallMillis uint64
}

func (e *AuditEntry) item(c *codec) { c.record("", e.fields) }

func (e *AuditEntry) fields(c *codec) {
	c.uint("number", &e.Number)
	c.text("event", &e.Event, MaxWordBytes)
	c.uint("host_id", &e.HostID)
	c.text("host_name", &e.HostName, MaxHostNameBytes)
	c.text("text", &e.Text, MaxOperatorTextBytes)
	c.text("by", &e.By, MaxOperatorTextBytes)
	c.text("why", &e.Why, MaxOperatorTextBytes)
	c.uint("wall_ms", &e.WallMillis)
}
