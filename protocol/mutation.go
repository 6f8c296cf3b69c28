package protocol

// Mutation is what makes a change happen exactly once, however often its request is sent. Every request
// that changes a semaphore begins with it.
type Mutation struct {
	// SessionID is the session that acts. 0 is nobody: allowed for creating, updating and deleting a
	// semaphore, with Number 0, and then nothing tells a request that is sent again from a new one.
	SessionID uint64
	// Number grows with every mutation of the session, whichever semaphore and shard it is for.
	Number uint64
	// Acknowledged is a number up to which, itself included, the client has all answers.
	Acknowledged uint64
}

func (c *codec) mutation(m *Mutation) {
	c.uint("session_id", &m.SessionID)
	c.uint("number", &m.Number)
	c.uint("acknowledged", &m.Acknowledged)
}
