package protocol

// RolloutAct is what an operator does with a rollout. It is kept in the rollout, with who and why.
type RolloutAct struct {
	Mutation
	NodeID uint64
	Name   []byte
	Act    Act
}

// Kind returns KindRolloutAct.
func (*RolloutAct) Kind() Kind { return KindRolloutAct }

func (m *RolloutAct) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	c.record("act", m.Act.fields)
}

// RolloutActAnswer answers a RolloutAct.
type RolloutActAnswer struct {
	// Generation is the last one that was given to a target.
	Generation uint64
}

// Kind returns the kind of the answer to a RolloutAct.
func (*RolloutActAnswer) Kind() Kind { return KindRolloutAct.Answer() }

func (m *RolloutActAnswer) answerFields(c *codec) { c.uint("generation", &m.Generation) }

// Act is one act of an operator.
type Act struct {
	Verb RolloutVerb
	// Locations are those that it is about; none are all.
	Locations Words
	// Seq is the version that it is about, where it is about one.
	Seq uint64
	// Fast makes a roll-back reach all its locations at once.
	Fast   bool
	Author []byte
	Reason []byte
}

func (a *Act) fields(c *codec) {
	enum(c, "verb", &a.Verb)
	a.Locations.list(c, "locations")
	c.uint("seq", &a.Seq)
	c.bool("fast", &a.Fast)
	c.text("author", &a.Author, MaxRolloutTextBytes)
	c.text("reason", &a.Reason, MaxRolloutTextBytes)
}

// RolloutVerb is what an act does.
type RolloutVerb uint8

// The verbs. The first two are in the list of acts only: RolloutPut does them.
const (
	VerbUnknown  RolloutVerb = 0
	VerbCreate   RolloutVerb = 1
	VerbAlter    RolloutVerb = 2
	VerbPause    RolloutVerb = 3
	VerbResume   RolloutVerb = 4
	VerbPromote  RolloutVerb = 5
	VerbAbort    RolloutVerb = 6
	VerbRollback RolloutVerb = 7
	VerbBypass   RolloutVerb = 8
	VerbUnbypass RolloutVerb = 9
	VerbWithdraw RolloutVerb = 10
	VerbRetry    RolloutVerb = 11
)

// String returns the verb as the docs write it.
func (v RolloutVerb) String() string {
	return nameOf(v, "VERB", "UNKNOWN", "CREATE", "ALTER", "PAUSE", "RESUME", "PROMOTE", "ABORT", "ROLLBACK", "BYPASS",
		"UNBYPASS", "WITHDRAW", "RETRY")
}

// RolloutGate is what a checker says of a target at a gate.
type RolloutGate struct {
	Mutation
	NodeID   uint64
	Name     []byte
	Location []byte
	Gate     []byte
	// Seq is the version that was checked, Generation the target; 0 is the present target of that version.
	Seq        uint64
	Generation uint64
	Verdict    Verdict
	// By is who checked, Text what was found, for people.
	By   []byte
	Text []byte
}

// Kind returns KindRolloutGate.
func (*RolloutGate) Kind() Kind { return KindRolloutGate }

func (m *RolloutGate) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	c.text("location", &m.Location, MaxWordBytes)
	c.text("gate", &m.Gate, MaxWordBytes)
	c.uint("seq", &m.Seq)
	c.uint("generation", &m.Generation)
	enum(c, "verdict", &m.Verdict)
	c.text("by", &m.By, MaxRolloutTextBytes)
	c.text("text", &m.Text, MaxRolloutTextBytes)
}

// RolloutGateAnswer answers a RolloutGate.
type RolloutGateAnswer struct{}

// Kind returns the kind of the answer to a RolloutGate.
func (*RolloutGateAnswer) Kind() Kind { return KindRolloutGate.Answer() }

func (*RolloutGateAnswer) answerFields(*codec) {}

// Verdict is what a checker says of a target.
type Verdict uint8

// The verdicts. A gate begins as pending: what no checker has passed is not passed.
const (
	VerdictPending      Verdict = 0
	VerdictPassed       Verdict = 1
	VerdictFailed       Verdict = 2
	VerdictInconclusive Verdict = 3
)

// String returns the verdict as the docs write it.
func (v Verdict) String() string {
	return nameOf(v, "VERDICT", "PENDING", "PASSED", "FAILED", "INCONCLUSIVE")
}
