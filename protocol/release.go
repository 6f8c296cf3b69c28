package protocol

// Release gives back all that the session owns of a semaphore, or ends its waiting.
type Release struct {
	Mutation
	NodeID uint64
	Name   []byte
	// OrderID, if it is not 0, is the fencing token: the release is refused unless the session owns or
	// waits under that order id.
	OrderID uint64
}

// Kind returns KindRelease.
func (*Release) Kind() Kind { return KindRelease }

func (m *Release) requestFields(c *codec) {
	c.mutation(&m.Mutation)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("order_id", &m.OrderID)
}

// ReleaseAnswer answers a Release.
type ReleaseAnswer struct {
	// Released: there was something to release.
	Released bool
}

// Kind returns the kind of the answer to a Release.
func (*ReleaseAnswer) Kind() Kind { return KindRelease.Answer() }

func (m *ReleaseAnswer) answerFields(c *codec) {
	c.bool("released", &m.Released)
}
