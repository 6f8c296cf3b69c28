package protocol

// RolloutDescribe asks for a part of a rollout: its head, and a page of its rows, both in the forms that watches have
// them in (rollout_view.go).
type RolloutDescribe struct {
	NodeID uint64
	Name   []byte
	// Part is a view, or one of those that are not watched: "history/LOCATION", "acts", "version/SEQ".
	Part []byte
	// After is the Next of the page before; 0 for the first.
	After uint64
	// Limit is the most rows that the page may have; 0 leaves it to the host.
	Limit uint64
	// Why asks why the rollout does not move. It takes a look at every instance.
	Why         bool
	Consistency Consistency
}

// Kind returns KindRolloutDescribe.
func (*RolloutDescribe) Kind() Kind { return KindRolloutDescribe }

func (m *RolloutDescribe) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.text("part", &m.Part, MaxViewBytes)
	c.uint("after", &m.After)
	c.uint("limit", &m.Limit)
	c.bool("why", &m.Why)
	enum(c, "consistency", &m.Consistency)
}

// RolloutDescribeAnswer answers a RolloutDescribe.
type RolloutDescribeAnswer struct {
	// Revision is that of the part where it is a view, else that of the rollout.
	Revision uint64
	// NowMillis is the time of the shard, which moments are compared with.
	NowMillis uint64
	Phase     RolloutPhase
	Head      []byte
	Rows      Rows
	// Next is where the next page begins; 0 where this is the last one.
	Next    uint64
	Reasons Reasons
}

// Kind returns the kind of the answer to a RolloutDescribe.
func (*RolloutDescribeAnswer) Kind() Kind { return KindRolloutDescribe.Answer() }

func (m *RolloutDescribeAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
	c.uint("now_ms", &m.NowMillis)
	enum(c, "phase", &m.Phase)
	c.bytes("head", &m.Head, MaxDataBytes)
	m.Rows.list(c, "rows")
	c.uint("next", &m.Next)
	m.Reasons.list(c, "reasons")
}

// RolloutPhase is how a rollout is as a whole.
type RolloutPhase uint8

// The phases. A later one goes before an earlier one where both fit.
const (
	PhaseIdle        RolloutPhase = 0 // every location has reached the newest version that it may have
	PhaseRolling     RolloutPhase = 1 // versions are on their way
	PhaseBlocked     RolloutPhase = 2 // something has to come from outside; the reasons say what
	PhaseRollingBack RolloutPhase = 3 // locations go back to a version
	PhasePaused      RolloutPhase = 4 // an operator paused it
	PhaseHalted      RolloutPhase = 5 // it halted, and waits for an operator
)

// String returns the phase as the docs write it.
func (p RolloutPhase) String() string {
	return nameOf(p, "PHASE", "IDLE", "ROLLING", "BLOCKED", "ROLLING_BACK", "PAUSED", "HALTED")
}

// Reason is why something of a rollout does not move.
type Reason struct {
	// Code is for programs, Text for people; Text says all of the rest.
	Code []byte
	Text []byte
	// Location is empty for the whole rollout.
	Location []byte
	// Blocked: neither time nor the instances that are there can do away with it.
	Blocked bool
	Seq     uint64 // the version that it is about
	// Waiting of Of leaders have not reached the target; Named are the first of them.
	Waiting uint64
	Of      uint64
	Named   Labels
	// Since is the moment from which it is so, Until the moment at which time alone ends it; 0 is not known.
	Since uint64
	Until uint64
}

func (r *Reason) item(c *codec) { c.record("", r.fields) }

func (r *Reason) fields(c *codec) {
	c.text("code", &r.Code, MaxWordBytes)
	c.text("text", &r.Text, MaxReasonBytes)
	c.text("location", &r.Location, MaxWordBytes)
	c.bool("blocked", &r.Blocked)
	c.uint("seq", &r.Seq)
	c.uint("waiting", &r.Waiting)
	c.uint("of", &r.Of)
	r.Named.list(c, "named")
	c.uint("since", &r.Since)
	c.uint("until", &r.Until)
}

// Reasons is a list of reasons.
type Reasons = List[Reason, *Reason]

// RolloutList asks for the rollouts of a node that one shard holds and whose name begins with Prefix, ordered by name.
// All rollouts of a node are the lists of all data shards.
type RolloutList struct {
	NodeID  uint64
	ShardID uint64
	Prefix  []byte
	// After is the Next of the page before; empty for the first page.
	After []byte
	// Limit is the most rollouts that the page may have; 0 leaves it to the host.
	Limit       uint64
	Consistency Consistency
}

// Kind returns KindRolloutList.
func (*RolloutList) Kind() Kind { return KindRolloutList }

func (m *RolloutList) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.uint("shard_id", &m.ShardID)
	c.text("prefix", &m.Prefix, MaxNameBytes)
	c.text("after", &m.After, MaxNameBytes)
	c.uint("limit", &m.Limit)
	enum(c, "consistency", &m.Consistency)
}

// RolloutListAnswer answers a RolloutList.
type RolloutListAnswer struct {
	Rollouts RolloutSummaries
	// Next is where the next page begins; empty where this is the last one.
	Next []byte
}

// Kind returns the kind of the answer to a RolloutList.
func (*RolloutListAnswer) Kind() Kind { return KindRolloutList.Answer() }

func (m *RolloutListAnswer) answerFields(c *codec) {
	m.Rollouts.list(c, "rollouts")
	c.text("next", &m.Next, MaxNameBytes)
}

// RolloutSummary is a rollout in a list.
type RolloutSummary struct {
	Name      []byte
	Revision  uint64
	Phase     RolloutPhase
	Locations uint64
	// Reached is how many locations have reached their target, and have the newest version.
	Reached   uint64
	Instances uint64
	LastSeq   uint64 // of the newest version
	Label     []byte // of the newest version
}

func (s *RolloutSummary) item(c *codec) { c.record("", s.fields) }

func (s *RolloutSummary) fields(c *codec) {
	c.text("name", &s.Name, MaxNameBytes)
	c.uint("revision", &s.Revision)
	enum(c, "phase", &s.Phase)
	c.uint("locations", &s.Locations)
	c.uint("reached", &s.Reached)
	c.uint("instances", &s.Instances)
	c.uint("last_seq", &s.LastSeq)
	c.text("label", &s.Label, MaxRolloutTextBytes)
}

// RolloutSummaries is a list of rollouts.
type RolloutSummaries = List[RolloutSummary, *RolloutSummary]

// RolloutPlan is a dry run: it asks who would get what when, if every leader reached each target after TakesMillis,
// every gate passed then, and nothing else happened. Nothing is changed.
type RolloutPlan struct {
	NodeID      uint64
	Name        []byte
	TakesMillis uint64
	// Publish: as if a version was published now.
	Publish bool
	// Act, if its verb is not unknown, is carried out first.
	Act         Act
	Consistency Consistency
}

// Kind returns KindRolloutPlan.
func (*RolloutPlan) Kind() Kind { return KindRolloutPlan }

func (m *RolloutPlan) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("takes_ms", &m.TakesMillis)
	c.bool("publish", &m.Publish)
	c.record("act", m.Act.fields)
	enum(c, "consistency", &m.Consistency)
}

// RolloutPlanAnswer answers a RolloutPlan.
type RolloutPlanAnswer struct {
	NowMillis uint64
	Steps     PlannedSteps
}

// Kind returns the kind of the answer to a RolloutPlan.
func (*RolloutPlanAnswer) Kind() Kind { return KindRolloutPlan.Answer() }

func (m *RolloutPlanAnswer) answerFields(c *codec) {
	c.uint("now_ms", &m.NowMillis)
	m.Steps.list(c, "steps")
}

// PlannedStep is one step of a dry run: a location gets a version.
type PlannedStep struct {
	AtMillis uint64 // time of the shard
	Location []byte
	Seq      uint64
	Cause    TargetCause
}

func (s *PlannedStep) item(c *codec) { c.record("", s.fields) }

func (s *PlannedStep) fields(c *codec) {
	c.uint("at_ms", &s.AtMillis)
	c.text("location", &s.Location, MaxWordBytes)
	c.uint("seq", &s.Seq)
	enum(c, "cause", &s.Cause)
}

// PlannedSteps is a list of steps.
type PlannedSteps = List[PlannedStep, *PlannedStep]
