package rollout

// Rejoin lets the member join again, as after a lagging host showed its rollout as gone.
func (m *Member) Rejoin() { m.rejoin() }
