package client

// notify takes a change of a life's state in. The life's lock is held.
func (s *Session) notify(x *life, state State, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == x {
		s.tellLocked(state, why)
	}
}

// failing notes why a life cannot be attached.
func (s *Session) failing(x *life, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == x && s.state == Detached {
		s.err = why
	}
}

// tellLocked changes the state and has it reported to the callbacks. The session's lock is held.
func (s *Session) tellLocked(state State, why error) {
	s.state, s.err = state, why
	if s.config.onState == nil && s.client.config.hooks == nil {
		return
	}
	c := SessionChange{Node: s.path, State: state, Err: why}
	if s.life != nil {
		c.SessionID = s.life.id
	}
	s.news = append(s.news, c)
	if !s.busy {
		s.busy = true
		go s.tell()
	}
}

// tell calls the callbacks with the changes that they have not seen, and ends. No goroutine waits for it, so that the
// callbacks may do what they like, close the session for example.
func (s *Session) tell() {
	for {
		s.mu.Lock()
		if len(s.news) == 0 {
			s.busy = false
			s.mu.Unlock()
			return
		}
		c := s.news[0]
		s.news = s.news[1:]
		s.mu.Unlock()
		if hooks := s.client.config.hooks; hooks != nil {
			hooks.SessionChanged(c)
		}
		if s.config.onState != nil {
			s.config.onState(c.State)
		}
	}
}
