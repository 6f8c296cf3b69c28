package rollout

// Rejoin has the member join again, as where a host that lags shows that its rollout has gone.
func (m *Member) Rejoin() { m.rejoin() }
