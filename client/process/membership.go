package process

import "context"

// Membership is a member from a join to the end of it: until it leaves, is removed, or its session is over. A member
// whose session is renewed has another one then. It is safe for use by many goroutines.
type Membership part

// Context returns a context that ends with the membership, with the reason as its cause.
//
// Where the session is over it ends before the others go on without the member, as long as this process runs. A process
// that was stopped meanwhile may see it end too late; Err looks at the clock.
func (m *Membership) Context() context.Context { return m.ctx }

// Err returns nil while the session is a member, by the clock of this moment, and why it is none after that.
func (m *Membership) Err() error {
	if err := m.in.Err(); err != nil && m.ctx.Err() == nil {
		return err
	}
	return context.Cause(m.ctx)
}
