package protocol

// In the messages of staged rollouts a seq is the number of a version, a generation that of a target. A
// moment is a time of the shard in milliseconds, which only the shard's log moves; 0 is never. Fields that end in
// "wall_ms" are milliseconds since 1970 by the wall clock of a host, for people; 0 is not known.

// RolloutPut makes a rollout, or gives the one that is there another spec.
type RolloutPut struct {
	Mutation
	NodeID uint64
	Name   []byte
	Mode   PutMode
	// ExpectedRevision, if it is not 0, is compared: the spec is refused unless the one that is in force has this
	// revision.
	ExpectedRevision uint64
	Spec             RolloutSpec
	// Author and Reason are kept for people, as in every act.
	Author []byte
	Reason []byte
}

// Kind returns KindRolloutPut.
func (*RolloutPut) Kind() Kind { return KindRolloutPut }

func (m *RolloutPut) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	enum(c, "mode", &m.Mode)
	c.uint("expected_revision", &m.ExpectedRevision)
	c.record("spec", m.Spec.fields)
	c.text("author", &m.Author, MaxRolloutTextBytes)
	c.text("reason", &m.Reason, MaxRolloutTextBytes)
}

// RolloutPutAnswer answers a RolloutPut.
type RolloutPutAnswer struct {
	// Revision is that of the spec: what a later RolloutPut may expect.
	Revision uint64
	Created  bool
}

// Kind returns the kind of the answer to a RolloutPut.
func (*RolloutPutAnswer) Kind() Kind { return KindRolloutPut.Answer() }

func (m *RolloutPutAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
	c.bool("created", &m.Created)
}

// RolloutDelete deletes a rollout.
type RolloutDelete struct {
	Mutation
	NodeID uint64
	Name   []byte
	// Force deletes it though instances have joined. They are notified.
	Force bool
}

// Kind returns KindRolloutDelete.
func (*RolloutDelete) Kind() Kind { return KindRolloutDelete }

func (m *RolloutDelete) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	c.bool("force", &m.Force)
}

// RolloutDeleteAnswer answers a RolloutDelete.
type RolloutDeleteAnswer struct{}

// Kind returns the kind of the answer to a RolloutDelete.
func (*RolloutDeleteAnswer) Kind() Kind { return KindRolloutDelete.Answer() }

func (*RolloutDeleteAnswer) answerFields(*codec) {}

// RolloutPublish adds a version.
type RolloutPublish struct {
	Mutation
	NodeID  uint64
	Name    []byte
	Payload []byte
	Label   []byte
	Author  []byte
	Reason  []byte
	// Compare: it is refused unless ExpectedSeq is the seq of the newest version there ever was, 0 for none.
	Compare     bool
	ExpectedSeq uint64
	// Fence, if it is not 0, is a fencing token, the order id of an acquire: the version is refused with FENCED where
	// one was published under a higher token.
	Fence uint64
}

// Kind returns KindRolloutPublish.
func (*RolloutPublish) Kind() Kind { return KindRolloutPublish }

func (m *RolloutPublish) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	c.bytes("payload", &m.Payload, MaxRolloutPayloadBytes)
	c.text("label", &m.Label, MaxRolloutTextBytes)
	c.text("author", &m.Author, MaxRolloutTextBytes)
	c.text("reason", &m.Reason, MaxRolloutTextBytes)
	c.bool("compare", &m.Compare)
	c.uint("expected_seq", &m.ExpectedSeq)
	c.uint("fence", &m.Fence)
}

// RolloutPublishAnswer answers a RolloutPublish.
type RolloutPublishAnswer struct {
	Seq uint64 // of the version
}

// Kind returns the kind of the answer to a RolloutPublish.
func (*RolloutPublishAnswer) Kind() Kind { return KindRolloutPublish.Answer() }

func (m *RolloutPublishAnswer) answerFields(c *codec) { c.uint("seq", &m.Seq) }

// RolloutSource gives the session the role of a source, or takes it back: one that makes versions when it is asked. The
// view "source" shows when it is.
type RolloutSource struct {
	Mutation
	NodeID uint64
	Name   []byte
	// Off takes the role back.
	Off bool
	// Source is what people know it by.
	Source []byte
}

// Kind returns KindRolloutSource.
func (*RolloutSource) Kind() Kind { return KindRolloutSource }

func (m *RolloutSource) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	c.bool("off", &m.Off)
	c.text("source", &m.Source, MaxRolloutTextBytes)
}

// RolloutSourceAnswer answers a RolloutSource.
type RolloutSourceAnswer struct {
	// SourceID is the number under which the session is asked.
	SourceID uint64
}

// Kind returns the kind of the answer to a RolloutSource.
func (*RolloutSourceAnswer) Kind() Kind { return KindRolloutSource.Answer() }

func (m *RolloutSourceAnswer) answerFields(c *codec) { c.uint("source_id", &m.SourceID) }

// RolloutOffer answers the question to a source, with a version or without.
type RolloutOffer struct {
	Mutation
	NodeID uint64
	Name   []byte
	Ticket uint64
	// Declined: there is no version now. Text says why.
	Declined bool
	Text     []byte
	Payload  []byte
	Label    []byte
	Author   []byte
}

// Kind returns KindRolloutOffer.
func (*RolloutOffer) Kind() Kind { return KindRolloutOffer }

func (m *RolloutOffer) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	c.uint("ticket", &m.Ticket)
	c.bool("declined", &m.Declined)
	c.text("text", &m.Text, MaxRolloutTextBytes)
	c.bytes("payload", &m.Payload, MaxRolloutPayloadBytes)
	c.text("label", &m.Label, MaxRolloutTextBytes)
	c.text("author", &m.Author, MaxRolloutTextBytes)
}

// RolloutOfferAnswer answers a RolloutOffer.
type RolloutOfferAnswer struct {
	Seq uint64 // of the version; 0 where it was declined
}

// Kind returns the kind of the answer to a RolloutOffer.
func (*RolloutOfferAnswer) Kind() Kind { return KindRolloutOffer.Answer() }

func (m *RolloutOfferAnswer) answerFields(c *codec) { c.uint("seq", &m.Seq) }
