package protocol

// GoingAway is pushed, with id 0, before the host closes the connection. Its result says why, and how
// long to wait before coming back:
//
//   - StatusUnavailable: the host stops; other hosts take over.
//   - StatusTimeout: the client was silent for too long.
//   - StatusOverloaded: there are too many connections, or the client reads too slowly.
//   - StatusBadRequest: the client broke the protocol.
//   - StatusUnauthorized: the client's token is not good, or no longer.
type GoingAway struct {
	Result Result
}

// Kind returns KindGoingAway.
func (*GoingAway) Kind() Kind { return KindGoingAway }

func (m *GoingAway) pushFields(c *codec) {
	c.result(&m.Result)
}
