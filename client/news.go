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

// tellLocked changes the state and has the callback told. The session's lock is held.
func (s *Session) tellLocked(state State, why error) {
	s.state, s.err = state, why
	if s.config.onState == nil {
		return
	}
	s.news = append(s.news, state)
	if !s.busy {
		s.busy = true
		go s.tell()
	}
}

// tell calls the callback with what it has not been told, and ends. Nobody waits for it, so that the callback
// may do what it likes, close the session for example.
func (s *Session) tell() {
	for {
		s.mu.Lock()
		if len(s.news) == 0 {
			s.busy = false
			s.mu.Unlock()
			return
		}
		state := s.news[0]
		s.news = s.news[1:]
		s.mu.Unlock()
		s.config.onState(state)
	}
}
