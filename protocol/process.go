package protocol

// In the messages of coordination processes a member is known by the order id of its joining, and an epoch by a number
// that stands above every one before it: the fencing token of its round. Moments are as in the messages of rollouts.

// ProcessPut makes a process, or gives the one that is there another spec.
type ProcessPut struct {
	Mutation
	NodeID uint64
	Name   []byte
	Mode   PutMode
	// ExpectedRevision, if it is not 0, is compared: the spec is refused unless the one that is in force has this
	// revision.
	ExpectedRevision uint64
	Spec             ProcessSpec
	// Author and Reason are kept for people, as in every act.
	Author []byte
	Reason []byte
}

// Kind returns KindProcessPut.
func (*ProcessPut) Kind() Kind { return KindProcessPut }

func (m *ProcessPut) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	enum(c, "mode", &m.Mode)
	c.uint("expected_revision", &m.ExpectedRevision)
	c.record("spec", m.Spec.fields)
	c.text("author", &m.Author, MaxProcessTextBytes)
	c.text("reason", &m.Reason, MaxProcessTextBytes)
}

// ProcessPutAnswer answers a ProcessPut.
type ProcessPutAnswer struct {
	// Revision is that of the spec: what a later ProcessPut may expect.
	Revision uint64
	Created  bool
}

// Kind returns the kind of the answer to a ProcessPut.
func (*ProcessPutAnswer) Kind() Kind { return KindProcessPut.Answer() }

func (m *ProcessPutAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
	c.bool("created", &m.Created)
}

// ProcessSpec is what an operator says of a process.
type ProcessSpec struct {
	// OpenMillis is for how long nothing has changed before the next epoch opens, OpenMostMillis how long that is
	// waited for at the most. 0 stands for 100 and 2,000.
	OpenMillis     uint64
	OpenMostMillis uint64
	// MinMembers is how many members an epoch has at the least; 0 stands for one.
	MinMembers uint64
	// ReplyMillis is how long a member has to be prepared, and to reply; 0 is for ever. OnTimeout says what becomes of
	// one that has not.
	ReplyMillis uint64
	OnTimeout   OnTimeout
	// PayloadBytes is how long a request, a reply and a result may be, KeepResults how many results are kept. 0 stands
	// for 65,536 and 16.
	PayloadBytes uint64
	KeepResults  uint64
}

func (s *ProcessSpec) fields(c *codec) {
	c.uint("open_ms", &s.OpenMillis)
	c.uint("open_most_ms", &s.OpenMostMillis)
	c.uint("min_members", &s.MinMembers)
	c.uint("reply_ms", &s.ReplyMillis)
	enum(c, "on_timeout", &s.OnTimeout)
	c.uint("payload_bytes", &s.PayloadBytes)
	c.uint("keep_results", &s.KeepResults)
}

// OnTimeout says what becomes of members that have not answered in time.
type OnTimeout uint8

// They are waited for and named, they are put out, or their exchange ends without them.
const (
	TimeoutWait OnTimeout = 0
	TimeoutKick OnTimeout = 1
	TimeoutFail OnTimeout = 2
)

// String returns the setting as the docs write it.
func (o OnTimeout) String() string { return nameOf(o, "ON_TIMEOUT", "WAIT", "KICK", "FAIL") }

// ProcessDelete deletes a process.
type ProcessDelete struct {
	Mutation
	NodeID uint64
	Name   []byte
	// Force deletes it though sessions have joined. They are notified.
	Force bool
}

// Kind returns KindProcessDelete.
func (*ProcessDelete) Kind() Kind { return KindProcessDelete }

func (m *ProcessDelete) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	c.bool("force", &m.Force)
}

// ProcessDeleteAnswer answers a ProcessDelete.
type ProcessDeleteAnswer struct{}

// Kind returns the kind of the answer to a ProcessDelete.
func (*ProcessDeleteAnswer) Kind() Kind { return KindProcessDelete.Answer() }

func (*ProcessDeleteAnswer) answerFields(*codec) {}

// ProcessAct is what an operator does with a process. It is kept in the process, with who and why.
type ProcessAct struct {
	Mutation
	NodeID uint64
	Name   []byte
	// Verb is ProcessKick or ProcessRestart.
	Verb     ProcessVerb
	MemberID uint64 // of ProcessKick
	Author   []byte
	Reason   []byte
}

// Kind returns KindProcessAct.
func (*ProcessAct) Kind() Kind { return KindProcessAct }

func (m *ProcessAct) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	enum(c, "verb", &m.Verb)
	c.uint("member_id", &m.MemberID)
	c.text("author", &m.Author, MaxProcessTextBytes)
	c.text("reason", &m.Reason, MaxProcessTextBytes)
}

// ProcessActAnswer answers a ProcessAct.
type ProcessActAnswer struct{}

// Kind returns the kind of the answer to a ProcessAct.
func (*ProcessActAnswer) Kind() Kind { return KindProcessAct.Answer() }

func (*ProcessActAnswer) answerFields(*codec) {}

// ProcessVerb is what was done to a process.
type ProcessVerb uint8

// The verbs. The first two are of ProcessPut, and ProcessFailed is of members: they are in the list of acts only.
const (
	ProcessUnknown ProcessVerb = 0
	ProcessCreated ProcessVerb = 1
	ProcessAltered ProcessVerb = 2
	ProcessKick    ProcessVerb = 3 // a member is put out; its session may join again
	ProcessRestart ProcessVerb = 4 // the round ends, and another epoch opens
	ProcessFailed  ProcessVerb = 5 // a member gave the round up
)

// String returns the verb as the docs write it.
func (v ProcessVerb) String() string {
	return nameOf(v, "PROCESS_VERB", "UNKNOWN", "CREATED", "ALTERED", "KICK", "RESTART", "FAILED")
}
