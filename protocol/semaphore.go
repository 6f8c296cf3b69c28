package protocol

// SemaphoreCreate creates a persistent semaphore.
type SemaphoreCreate struct {
	Mutation
	NodeID uint64
	Name   []byte
	// Limit is how much may be owned at the same time; at least 1.
	Limit uint64
	Data  []byte
}

// Kind returns KindSemaphoreCreate.
func (*SemaphoreCreate) Kind() Kind { return KindSemaphoreCreate }

func (m *SemaphoreCreate) requestFields(c *codec) {
	c.mutation(&m.Mutation)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("limit", &m.Limit)
	c.data("data", &m.Data)
}

// SemaphoreCreateAnswer answers a SemaphoreCreate.
type SemaphoreCreateAnswer struct {
	Revision uint64
}

// Kind returns the kind of the answer to a SemaphoreCreate.
func (*SemaphoreCreateAnswer) Kind() Kind { return KindSemaphoreCreate.Answer() }

func (m *SemaphoreCreateAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
}

// SemaphoreUpdate replaces the data of a semaphore. It needs no ownership.
type SemaphoreUpdate struct {
	Mutation
	NodeID uint64
	Name   []byte
	Data   []byte
	// OrderID, if it is not 0, is the fencing token: the update is refused unless the session owns the
	// semaphore under that order id.
	OrderID uint64
	// ExpectedRevision, if it is not 0, is compared: the update is refused unless the semaphore has this
	// revision.
	ExpectedRevision uint64
}

// Kind returns KindSemaphoreUpdate.
func (*SemaphoreUpdate) Kind() Kind { return KindSemaphoreUpdate }

func (m *SemaphoreUpdate) requestFields(c *codec) {
	c.mutation(&m.Mutation)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.data("data", &m.Data)
	c.uint("order_id", &m.OrderID)
	c.uint("expected_revision", &m.ExpectedRevision)
}

// SemaphoreUpdateAnswer answers a SemaphoreUpdate.
type SemaphoreUpdateAnswer struct {
	// Revision is the semaphore's after the update. It has not grown where the data was the same.
	Revision uint64
}

// Kind returns the kind of the answer to a SemaphoreUpdate.
func (*SemaphoreUpdateAnswer) Kind() Kind { return KindSemaphoreUpdate.Answer() }

func (m *SemaphoreUpdateAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
}

// SemaphoreResize changes the limit of a persistent semaphore. A higher one grants those who wait and fit; a lower one
// takes nothing away, and takes effect as owners give back.
type SemaphoreResize struct {
	Mutation
	NodeID uint64
	Name   []byte
	// Limit is the new limit; at least 1.
	Limit uint64
	// ExpectedRevision, if it is not 0, is compared: the resize is refused unless the semaphore has this
	// revision.
	ExpectedRevision uint64
}

// Kind returns KindSemaphoreResize.
func (*SemaphoreResize) Kind() Kind { return KindSemaphoreResize }

func (m *SemaphoreResize) requestFields(c *codec) {
	c.mutation(&m.Mutation)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("limit", &m.Limit)
	c.uint("expected_revision", &m.ExpectedRevision)
}

// SemaphoreResizeAnswer answers a SemaphoreResize.
type SemaphoreResizeAnswer struct {
	// Revision is the semaphore's after the resize. It has not grown where the limit was the same.
	Revision uint64
}

// Kind returns the kind of the answer to a SemaphoreResize.
func (*SemaphoreResizeAnswer) Kind() Kind { return KindSemaphoreResize.Answer() }

func (m *SemaphoreResizeAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
}

// SemaphoreDelete deletes a persistent semaphore.
type SemaphoreDelete struct {
	Mutation
	NodeID uint64
	Name   []byte
	// Force deletes the semaphore though somebody owns or waits for it. They are told.
	Force bool
}

// Kind returns KindSemaphoreDelete.
func (*SemaphoreDelete) Kind() Kind { return KindSemaphoreDelete }

func (m *SemaphoreDelete) requestFields(c *codec) {
	c.mutation(&m.Mutation)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.bool("force", &m.Force)
}

// SemaphoreDeleteAnswer answers a SemaphoreDelete.
type SemaphoreDeleteAnswer struct{}

// Kind returns the kind of the answer to a SemaphoreDelete.
func (*SemaphoreDeleteAnswer) Kind() Kind { return KindSemaphoreDelete.Answer() }

func (*SemaphoreDeleteAnswer) answerFields(*codec) {}
